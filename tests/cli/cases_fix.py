"""tightlink fix: the one command that changes a setting. Every case runs in a network namespace
of its own, so that the settings of this machine stay as they are."""
import hashlib
import hmac
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile

from harness import Skip, case, is_plain

RUN = pathlib.Path(__file__).parent / "data" / "receive-window.json"
BEFORE, AFTER = "4096 131072 262144", "4096 131072 4194304"
PROBE = f"""
set -u
echo {BEFORE} > /proc/sys/net/ipv4/tcp_rmem || exit 77
value() {{ tr '\\t' ' ' < /proc/sys/net/ipv4/tcp_rmem; }}
"""


class Host:
    """A namespace's worth of settings, and a state directory of its own."""

    def __init__(self, machine):
        if os.geteuid() != 0 or not shutil.which("unshare"):
            raise Skip("needs root and unshare: a network namespace for the settings")
        self.machine = machine
        self.state = tempfile.mkdtemp(prefix="tightlink-fix-", dir=machine.folder)

    def sh(self, script, code=0):
        """Runs a script in a fresh namespace; $T is the program, $F the saved run, which was
        made on another host."""
        environment = dict(os.environ, XDG_STATE_HOME=self.state, T=self.machine.tightlink,
                           F=f"--other-host {RUN}", R=str(RUN),
                           LC_ALL="C.UTF-8")
        run = subprocess.run(["unshare", "-n", "bash", "-c", PROBE + script], env=environment,
                             capture_output=True, text=True, timeout=60)
        if run.returncode == 77:
            raise Skip("the settings of a namespace cannot be changed here")
        assert run.returncode == code, (run.returncode, run.stdout, run.stderr)
        assert is_plain(run.stdout) and is_plain(run.stderr), run
        return run

    def undo_files(self):
        folder = pathlib.Path(self.state, "tightlink")
        return sorted(folder.glob("*")) if folder.is_dir() else []


@case("fix")
def a_dry_run_changes_nothing(machine):
    host = Host(machine)
    run = host.sh("$T fix --dry-run $F; code=$?; value; exit $code")
    assert AFTER in run.stdout and run.stdout.rstrip().endswith(BEFORE), run.stdout
    assert host.undo_files() == []


@case("fix")
def what_is_applied_is_set_back(machine):
    host = Host(machine)
    run = host.sh("$T fix --apply $F; code=$?; value; exit $code")
    assert "set " in run.stdout and "restored" in run.stdout, run.stdout
    assert run.stdout.rstrip().endswith(BEFORE), run.stdout
    assert host.undo_files() == []


@case("fix")
def a_run_that_is_handed_over_is_applied(machine):
    """As doc/guide-help-desk.md has it: root has a history of its own."""
    host = Host(machine)
    run = host.sh("$T explain $R --json | $T fix --apply --keep --other-host - > /dev/null || exit 1; value")
    assert run.stdout.rstrip() == AFTER, run.stdout


@case("fix")
def what_is_kept_can_be_undone(machine):
    host = Host(machine)
    run = host.sh("$T fix --apply --keep $F > /dev/null || exit 1; value; "
                  "stat -c %a $XDG_STATE_HOME/tightlink/*; "
                  "$T fix --undo > /dev/null || exit 1; value")
    assert run.stdout.split("\n")[:3] == [AFTER, "600", BEFORE], run.stdout
    assert host.undo_files() == []
    assert "nothing is to be undone" in host.sh("$T fix --undo", code=2).stderr


@case("fix")
def a_signal_changes_nothing_for_good(machine):
    host = Host(machine)
    for number in ("INT", "TERM", "HUP"):
        run = host.sh(f"$T fix --apply $F > /dev/null & pid=$!; kill -{number} $pid; wait $pid; "
                      "value")
        assert run.stdout.strip() == BEFORE, (number, run.stdout)
    assert host.undo_files() == []


@case("fix")
def a_kill_at_any_moment_can_be_undone(machine):
    """SIGKILL at random times: what is set afterwards is what was there, or --undo restores."""
    host = Host(machine)
    seed = random.randrange(1 << 30)
    print(f"         seed {seed}")
    delays = random.Random(seed)
    touched = 0
    for _ in range(25):
        delay = delays.uniform(0.0, 0.12)
        run = host.sh(f"$T fix --apply --keep $F > /dev/null 2>&1 & pid=$!; sleep {delay:.4f}; "
                      "kill -KILL $pid 2> /dev/null; wait $pid 2> /dev/null; value; "
                      "$T fix --undo > /dev/null 2>&1; value")
        now, then = run.stdout.split("\n")[:2]
        touched += now == AFTER
        assert now in (BEFORE, AFTER) and then == BEFORE, (seed, run.stdout)
        assert not [p for p in host.undo_files() if p.suffix == ".undo"], host.undo_files()
    print(f"         {touched} of 25 were killed after the change")


@case("fix")
def what_nobody_can_agree_to_is_refused_before_the_change(machine):
    host = Host(machine)
    run = host.sh("$T fix --apply --measure $F < /dev/null; code=$?; value; exit $code", code=2)
    assert "nothing was changed" in run.stderr and "--yes" in run.stderr, run.stderr
    assert "set " not in run.stdout and run.stdout.rstrip().endswith(BEFORE), run.stdout


@case("fix")
def a_measurement_that_fails_is_told_by_the_exit_code(machine):
    host = Host(machine)
    run = host.sh("$T fix --apply --measure --yes $F; code=$?; value; exit $code", code=3)
    assert "restored" in run.stdout and run.stdout.rstrip().endswith(BEFORE), run.stdout
    assert host.undo_files() == []


@case("fix")
def others_changes_are_left_alone(machine):
    host = Host(machine)
    run = host.sh("$T fix --apply --keep $F > /dev/null || exit 1; "
                  "echo 4096 131072 8388608 > /proc/sys/net/ipv4/tcp_rmem; "
                  "$T fix --undo; code=$?; value; exit $code", code=4)
    assert "left alone" in run.stderr and "8388608" in run.stdout, run
    assert len(host.undo_files()) == 1


@case("fix")
def only_root_applies(machine):
    host = Host(machine)
    run = host.sh("setpriv --reuid 65534 --regid 65534 --clear-groups "
                  "bash -c '$T fix --apply --other-host - < $R' < $R; code=$?; value; exit $code"
                  if shutil.which("setpriv") else "exit 77", code=2)
    assert "root" in run.stderr and run.stdout.rstrip().endswith(BEFORE), run


@case("fix")
def wrong_words_change_nothing(machine):
    host = Host(machine)
    for words, code in (("", 2), ("--apply", 2), ("--dry-run --apply $F", 2), ("--undo $F", 2),
                        ("--keep --dry-run $F", 2), ("--apply --cause nope $F", 2),
                        ("--apply /nowhere", 2), ("--apply --far-end $F", 4),
                        ("--apply --cause shallow-buffer $F", 4)):
        run = host.sh(f"$T fix {words}; code=$?; value; exit $code", code=code)
        assert run.stdout.rstrip().endswith(BEFORE) and run.stderr, (words, run)


@case("fix")
def hostile_rules_run_nothing(machine):
    """A rule of one's own that names commands: none is run, nothing is set."""
    host = Host(machine)
    rules = pathlib.Path(host.state, "config/tightlink/rules")
    rules.mkdir(parents=True)
    marker = pathlib.Path(host.state, "ran")
    for command in (f"touch {marker}", f"sysctl -w net.ipv4.tcp_sack=1; touch {marker}",
                    f"sysctl -w net.ipv4.tcp_sack=$(touch {marker})",
                    "sysctl -w kernel.core_pattern=|/bin/sh",
                    "sysctl -w net.ipv4.tcp_rmem=\\\"1 1 1\\\""):
        (rules / "receive-window.json").write_text(
            '{"format": "tightlink.rule/1", "id": "receive-window", "cause": "receive-window", '
            '"segment": "receiver", "title": "t", "severity": "limits", "when": {"id": "one", '
            '"test": ["flow.goodput_bps", ">", "1bps"]}, "ceiling": {"bps": "flow.goodput_bps", '
            '"label": "l"}, "sentence": {"found": "f", "ruled_out": "r", "unsure": "u"}, '
            '"remedies": [{"where": "receiver", "os": "linux", "needs": "root", "do": "'
            + command + '"}]}')
        run = host.sh("XDG_CONFIG_HOME=$XDG_STATE_HOME/config $T fix --apply --keep $F; "
                      "code=$?; value; exit $code", code=4)
        assert run.stdout.rstrip().endswith(BEFORE), (command, run)
        assert not marker.exists(), command


def marked(machine, key):
    """The run as a machine of that id has made it."""
    document = json.loads(RUN.read_text())
    message = f"tightlink run {document['run']['id']}".encode()
    document["run"]["host_mark"] = hmac.new(key.encode(), message, hashlib.sha256).hexdigest()[:32]
    path = pathlib.Path(machine.folder, "marked.json")
    path.write_text(json.dumps(document))
    return path


@case("fix")
def a_run_of_another_host_is_not_applied(machine):
    """A help desk's file, or an attacker's: without a mark, and with another machine's."""
    host = Host(machine)
    for path, why in ((RUN, "does not say which host"), (marked(machine, "5" * 32), "another host")):
        for action in ("--apply --keep", "--dry-run"):
            run = host.sh(f"$T fix {action} {path}; code=$?; value; exit $code", code=2)
            assert why in run.stderr and "--other-host" in run.stderr, run.stderr
            assert run.stdout.rstrip().endswith(BEFORE) and "set " not in run.stdout, run.stdout
    assert host.undo_files() == []


@case("fix")
def a_run_of_this_host_needs_no_word(machine):
    identity = pathlib.Path("/etc/machine-id")
    own = identity.read_text().strip() if identity.is_file() else ""
    if len(own) != 32:
        raise Skip("this machine has no /etc/machine-id")
    host = Host(machine)
    run = host.sh(f"$T fix --apply {marked(machine, own)}; code=$?; value; exit $code")
    assert "restored" in run.stdout and run.stdout.rstrip().endswith(BEFORE), run.stdout
