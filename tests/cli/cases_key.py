"""Key mode: who gets in, with what exit code, and that no secret is ever shown."""
import json
import os
import resource
import shutil
import signal
import subprocess

from harness import Daemon, case, is_plain, is_sanitized, tightlink, until, validate

QUICK = ("--yes", "--data-budget", "20MB", "--time-budget", "3s")


def make_key(machine, name, file):
    path = os.path.join(machine.folder, file)
    tightlink(machine, "key", name, "--out", path).check(0, name)
    assert os.stat(path).st_mode & 0o777 == 0o600, "a key file that others may read"
    return path


def secret_of(path):
    with open(path) as file:
        return file.read().split()[1]


@case("key")
def the_same_key_at_both_ends_runs(machine):
    path = make_key(machine, "lab-1", "both.key")
    with Daemon(machine, "--key", path, mode=None) as daemon:
        result = tightlink(machine, "run", "127.0.0.1", "--port", daemon.port, "--key", path,
                           *QUICK, "--json")
        # What the programs were given, and what they keep, never shows the secret.
        with open(f"/proc/{daemon.popen.pid}/cmdline", "rb") as cmdline:
            assert secret_of(path).encode() not in cmdline.read()
    assert result.code in (0, 4), result
    document = json.loads(result.out)
    validate(machine, document)
    facts = document["facts"]
    assert facts["far.kernel"].get("value"), "key mode tells the whole audit"
    secret = secret_of(path)
    assert secret not in result.out and secret not in result.err, "a secret was printed"


@case("key")
def a_key_is_wanted(machine):
    path = make_key(machine, "lab-1", "wanted.key")
    with Daemon(machine, "--key", path, mode=None) as daemon:
        result = tightlink(machine, "run", "127.0.0.1", "--port", daemon.port, *QUICK)
    result.check(5, "key", "--key FILE")
    assert result.out == "" and is_plain(result.err), result


@case("key")
def another_secret_under_the_same_name(machine):
    ours = make_key(machine, "lab-1", "ours.key")
    theirs = make_key(machine, "lab-1", "theirs.key")
    with Daemon(machine, "--key", theirs, mode=None) as daemon:
        result = tightlink(machine, "run", "127.0.0.1", "--port", daemon.port, "--key", ours,
                           *QUICK)
    result.check(5, "does not take the key lab-1")
    assert secret_of(ours) not in result.err and secret_of(theirs) not in result.err


@case("key")
def a_key_for_an_open_far_end(machine):
    path = make_key(machine, "lab-1", "needless.key")
    with Daemon(machine) as daemon:
        tightlink(machine, "run", "127.0.0.1", "--port", daemon.port, "--key", path, *QUICK).check(
            5, "leave out --key")


@case("key")
def a_key_file_that_others_may_read(machine):
    path = make_key(machine, "lab-1", "loose.key")
    os.chmod(path, 0o644)
    tightlink(machine, "run", "127.0.0.1", "--key", path, *QUICK).check(5, "chmod 600")
    served = subprocess.run([machine.tightlinkd, "--key", path, "--port", "0"], timeout=10,
                            capture_output=True, text=True)
    assert served.returncode == 2 and "chmod 600" in served.stderr, served


@case("key")
def key_options_that_make_no_sense(machine):
    path = make_key(machine, "lab-1", "names.key")
    tightlink(machine, "run", "127.0.0.1", "--key", "/nowhere", *QUICK).check(
        5, "no key file /nowhere")
    tightlink(machine, "run", "127.0.0.1", "--key-name", "lab-1", *QUICK).check(2, "--key FILE")
    tightlink(machine, "run", "127.0.0.1", "--key", path, "--key-name", "lab-2", *QUICK).check(
        5, "no key of the name lab-2")
    tightlink(machine, "key").check(2, "one name")
    tightlink(machine, "key", "a b").check(2, "name")
    before = secret_of(path)
    tightlink(machine, "key", "lab-1", "--out", path).check(6, "stays as it is; this name is free")
    assert secret_of(path) == before


@case("key")
def a_process_with_keys_may_not_be_dumped(machine):
    """The kernel gives the files of such a process to root: no core, no debugger."""
    path = make_key(machine, "lab-1", "core.key")
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    with Daemon(machine, "--key", path, mode=None) as daemon:
        daemon.popen.send_signal(signal.SIGABRT)
        _, status, _ = os.wait4(daemon.popen.pid, 0)
    assert os.WIFSIGNALED(status) and not os.WCOREDUMP(status), "a core was dumped"


@case("key")
def two_responders_are_tested_against_each_other(machine):
    """Asked for by a third program; each end must have named the other one."""
    path = make_key(machine, "lab-1", "between.key")
    with Daemon(machine, "--key", path, "--bind", "127.0.0.1", "--third-party", "127.0.0.1",
                mode=None) as one, \
            Daemon(machine, "--key", path, "--bind", "127.0.0.2", "--port", str(one.port),
                   "--third-party", "127.0.0.1", mode=None):
        unasked = tightlink(machine, "between", "127.0.0.1", "127.0.0.2", "--port", one.port,
                            "--key", path)
        unasked.check(2, "loads the path and no terminal is here to ask; add --yes")
        refused = tightlink(machine, "between", "127.0.0.1", "127.0.0.2", "--port", one.port,
                            "--key", path, "--time", "3s", "--yes")
        refused.check(4, "127.0.0.1", "--third-party")
        done = tightlink(machine, "between", "127.0.0.2", "127.0.0.1", "--port", one.port,
                         "--key", path, "--time", "3s", "--json", "--yes")
    done.check(0)
    numbers = json.loads(done.out)
    assert numbers["whole_bps"] > 1e6 and numbers["received_bytes"] > 1e6, numbers
    assert numbers["streams"] == 1 and numbers["rtt_min_ns"] > 0, numbers
    tightlink(machine, "between", "127.0.0.1").check(2, "two hosts")
    tightlink(machine, "between", "127.0.0.1", "127.0.0.2").check(2, "--key FILE")


@case("key")
def a_hangup_reads_the_keys_again(machine):
    """By a process that may still read them, where root has become somebody else."""
    old, new = make_key(machine, "old", "old.key"), make_key(machine, "new", "new.key")
    served = os.path.join(machine.folder, "served.key")
    shutil.copy(old, served)
    os.chmod(served, 0o600)
    with Daemon(machine, "--key", served, mode=None) as daemon:
        def ping(key):
            return tightlink(machine, "run", "127.0.0.1", "--port", daemon.port, "--key", key,
                             *QUICK).code
        assert ping(old) in (0, 4) and ping(new) == 5
        os.replace(new, served)
        shutil.copy(served, new)
        os.chmod(new, 0o600)
        daemon.popen.send_signal(signal.SIGHUP)
        until(20, lambda: ping(old) == 5, "the old key is refused")
        assert ping(new) in (0, 4)


@case("key")
def what_is_protected_and_served_can_be_asked(machine):
    path = make_key(machine, "lab-1", "asked.key")
    def responder(*options):
        return subprocess.run([machine.tightlinkd, *options], timeout=20, capture_output=True,
                              text=True)
    checked = responder("--key", path, "--check")
    lines = checked.stdout.splitlines()
    off = [line for line in lines if line.startswith("OFF")]
    assert len(lines) == 9 and (checked.returncode == 0) == (not off), checked
    if not is_sanitized(machine.tightlinkd):  # such a program has no filter
        assert all("ordinary user" in line for line in off), checked
    bare = responder("--key", path, "--no-sandbox", "--check")
    assert bare.returncode == 1 and bare.stdout.count("OFF") >= 5, bare
    with Daemon(machine, "--key", path, mode=None) as daemon:
        told = responder("--status", "--port", str(daemon.port))
        assert told.returncode == 0 and "keys in force: 1" in told.stdout, told
        if os.geteuid() == 0 and shutil.which("setpriv"):
            stranger = subprocess.run(["setpriv", "--reuid", "65533", "--clear-groups",
                                       machine.tightlinkd, "--status", "--port", str(daemon.port)],
                                      timeout=20, capture_output=True, text=True)
            assert stranger.returncode == 3 and stranger.stdout == "", stranger
    assert responder("--status", "--port", str(daemon.port)).returncode == 3
