"""tightlink demo: its exit codes, a link that dies, nothing left behind, no root."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

from harness import (NOBODY, Daemon, Process, Skip, case, is_plain, json_lines, judged, start,
                     tightlink, until, validate)


def need_lab(machine):
    """The lab's own reason why it cannot be, as `doctor` gives it."""
    doctor = tightlink(machine, "doctor")
    line = re.search(r"^(ok|--) +demo +(.*)$", doctor.out, re.M)
    assert line, doctor
    if line[1] != "ok":
        raise Skip(line[2])


@case("demo")
def verdict_and_truth(machine):
    need_lab(machine)
    result = judged(
        "verdict and truth",
        lambda run: run.check(0, out="The truth is capacity at path; the verdict says the same"),
        [machine.tightlink, "demo", "capacity"])
    assert result.err == "" and is_plain(result.out), result
    assert machine.processes() == [], "processes are left"


@case("demo")
def goal_missed(machine):
    need_lab(machine)

    def limited(run):
        verdict = run.check(1).document()["verdict"]
        assert verdict["state"] == "limited", verdict

    document = judged("goal missed", limited,
                      [machine.tightlink, "demo", "--link", "rate=20M delay=5ms", "--goal", "500M",
                       "--json"]).document()
    validate(machine, document)
    assert document["run"]["goal"]["rate_bps"] == 500e6, document["run"]


@case("demo")
def goal_met(machine):
    need_lab(machine)

    def met(run):
        verdict = run.check(0).document()["verdict"]
        assert verdict["state"] == "goal-met", verdict

    document = judged("goal met", met,
                      [machine.tightlink, "demo", "--link", "rate=20M delay=5ms", "--goal", "5M",
                       "--json", "--time-budget", "5s"]).document()
    validate(machine, document)


def dies(machine, direction):
    """The link goes down for the rest of the run."""
    result = tightlink(machine, "demo", "--link", "rate=50M delay=10ms outage=4s-300s",
                       "--direction", direction, "--json")
    result.check(4, r"(stopped answering|died|went dead|does not answer)", "dead|died|down")
    document = result.document()
    validate(machine, document)
    assert document["run"]["quality"]["status"] == "aborted", document["run"]
    assert document["verdict"]["state"] == "invalid", document["verdict"]
    told = json.dumps([document["verdict"], document["run"]["quality"], document["stages"]])
    told += result.err
    assert "slow" not in told.lower(), told
    when = re.search(r"(\d+(?:\.\d+)?) s (?:into|after)", document["verdict"]["sentence"])
    assert when and 1 < float(when[1]) < 5, document["verdict"]
    print(f"         {document['verdict']['sentence']}")
    # Twelve seconds of them are dialling again.
    assert result.seconds < 37, result
    assert document["facts"]["near.tcp_rmem_max_bytes"]["state"] == "known"


@case("demo-down")
def link_down_in_a_download(machine):
    need_lab(machine)
    dies(machine, "download")


@case("demo-down")
def link_down_in_an_upload(machine):
    need_lab(machine)
    dies(machine, "upload")


# --- What is left behind ------------------------------------------------------------------


def namespaces(pids=None):
    """Network namespaces that processes are in."""
    found = set()
    for pid in pids if pids is not None else filter(str.isdigit, os.listdir("/proc")):
        try:
            found.add(os.readlink(f"/proc/{pid}/ns/net"))
        except OSError:
            continue
    return found


def links():
    with open("/proc/net/dev") as table:
        return sorted(line.split(":")[0].strip() for line in table if ":" in line)


def cgroups():
    found = []
    for folder, _, _ in os.walk("/sys/fs/cgroup"):
        if "tightlink" in os.path.basename(folder):
            found.append(folder)
    return found


def leaves_nothing(machine, number, *demo):
    links_before, mounts_before = links(), open("/proc/self/mountinfo").read()
    run = start(machine, "demo", *demo, "--json-lines", "--data-budget", "50MB")
    run.await_stream()
    lab_pids = machine.processes()
    lab_namespaces = namespaces(lab_pids) - namespaces([os.getpid()])
    groups = [path for path in cgroups() if any(str(pid) in path for pid in lab_pids)]
    assert len(lab_pids) >= 3 and len(lab_namespaces) >= 2, (lab_pids, lab_namespaces)
    run.send(number)
    result = run.result(20)
    until(8, lambda: machine.processes() == [], "every process has ended")
    until(2, lambda: not lab_namespaces & namespaces(), "nobody is in its namespaces")
    assert links() == links_before and open("/proc/self/mountinfo").read() == mounts_before
    until(2, lambda: not any(os.path.exists(path) for path in groups), "its cgroups are gone")
    return result, groups


@case("demo")
def killed_in_the_middle_leaves_nothing(machine):
    need_lab(machine)
    result, _ = leaves_nothing(machine, signal.SIGKILL, "capacity")
    assert result.code == -signal.SIGKILL, result


@case("demo")
def killed_with_control_groups_leaves_nothing(machine):
    need_lab(machine)
    try:
        _, groups = leaves_nothing(machine, signal.SIGKILL, "--link",
                                   "rate=50M delay=5ms near.cpu=50%")
    except AssertionError as error:
        if "control group" in str(error):
            raise Skip("no control group may be made here") from error
        raise
    assert groups, "the demo made no control group that this test knows"


@case("demo")
def killed_at_any_instant_leaves_nothing(machine):
    need_lab(machine)
    links_before = links()
    for wait in (0.005, 0.02, 0.05, 0.08, 0.12, 0.2, 0.4, 0.8):
        run = start(machine, "demo", "capacity", "--data-budget", "50MB")
        time.sleep(wait)
        run.send(signal.SIGKILL)
        assert run.result(20).code == -signal.SIGKILL
        until(8, lambda: machine.processes() == [], f"nothing runs after a kill at {wait} s")
    assert links() == links_before


@case("demo")
def ctrl_c_leaves_nothing(machine):
    need_lab(machine)
    result, _ = leaves_nothing(machine, signal.SIGINT, "capacity")
    result.check(130, "stopping; what was measured is kept")
    _, document = json_lines(result)
    validate(machine, document)
    assert document["run"]["quality"]["reasons"][0] == "stopped by you", document["run"]


@case("demo")
def ctrl_c_while_the_lab_is_made(machine):
    need_lab(machine)
    for wait in (0.01, 0.05, 0.1, 0.2):
        run = start(machine, "demo", "capacity")
        time.sleep(wait)
        run.send(signal.SIGINT)
        result = run.result(20)
        assert result.code in (130, -signal.SIGINT), result
        until(8, lambda: machine.processes() == [], "every process has ended")


# --- Without root -------------------------------------------------------------------------


def as_nobody():
    """The words before a command that take all privilege from it."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        raise Skip("setpriv (util-linux) is missing: privileges cannot be dropped for a test")
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
            "--bounding-set=-all", "--inh-caps=-all"]


def check_powerless(words):
    status = subprocess.run([*words, "grep", "CapEff", "/proc/self/status"], check=True,
                            capture_output=True, text=True).stdout
    assert int(status.split()[1], 16) == 0, status


@case("nobody")
def loopback_without_privileges(machine):
    words = as_nobody()
    check_powerless(words)
    with Daemon(machine, "--rate-cap", "50M") as daemon:
        result = Process([*words, machine.tightlink, "run", "127.0.0.1", "--port",
                          str(daemon.port), "--yes", "--json", "--data-budget", "30MB",
                          "--time-budget", "4s"]).result(30)
    assert result.code in (0, 4) and result.err == "", result
    document = result.document()
    validate(machine, document)
    assert document["run"]["quality"]["status"] in ("valid", "degraded"), document["run"]
    assert document["facts"]["download.goodput_bps"]["state"] == "known", document["verdict"]


@case("nobody")
def demo_without_privileges(machine):
    words = as_nobody()
    check_powerless(words)
    doctor = Process([*words, machine.tightlink, "doctor"]).result(10).check(0)
    demo = [*words, machine.tightlink, "demo", "capacity", "--json"]
    if not re.search(r"^ok +demo", doctor.out, re.M):
        result = Process(demo).result(60).check(4, "namespace|permi")
        raise Skip(result.err.strip())

    def is_capacity(run):
        verdict = run.check(0).document()["verdict"]
        assert verdict["cause"] == "capacity", verdict

    result = judged("demo without privileges", is_capacity, demo)
    until(8, lambda: machine.processes() == [], "every process has ended")
    validate(machine, result.document())


@case("nobody")
def demo_where_user_namespaces_are_forbidden(machine):
    """A user namespace of our own in which no further one may be made."""
    words = as_nobody()
    drop = "setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all"
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces"
    made = subprocess.run([*words, "unshare", "-Ur", "sh", "-c", f"{forbid} && {drop} true"],
                          capture_output=True, check=False)
    if made.returncode != 0:
        raise Skip("user namespaces, unshare or setpriv are missing")
    result = Process([*words, "unshare", "-Ur", "sh", "-c",
                      f"{forbid} && exec {drop} {machine.tightlink} demo capacity"]).result(20)
    result.check(4, "needs network namespaces", "CAP_SYS_ADMIN", "max_user_namespaces is 0",
                 "run as root or allow")
    assert result.out == "", result


def emulators(machine):
    """Process ids of the emulators that this test started."""
    found = []
    for pid in machine.processes():
        try:
            name = pathlib.Path(f"/proc/{pid}/comm").read_text()
        except OSError:
            continue
        if name.strip() == "tightlink-emu":
            found.append(int(pid))
    return found


@case("demo")
def an_emulator_that_was_late_degrades_the_run(machine):
    """Stopped for a moment again and again, it lets far more than one packet in a hundred wait."""
    need_lab(machine)
    run = start(machine, "demo", "--link", "rate=20M delay=5ms", "--json", "--time-budget", "8s")
    until(8, lambda: emulators(machine), "the emulator runs")
    emulator = emulators(machine)[0]
    while run.popen.poll() is None:
        try:
            os.kill(emulator, signal.SIGSTOP)
            time.sleep(0.06)
            os.kill(emulator, signal.SIGCONT)
        except ProcessLookupError:
            break
        time.sleep(0.4)
    document = run.result(30).document()
    validate(machine, document)
    quality = document["run"]["quality"]
    assert quality["status"] == "degraded", document["run"]
    assert any("too busy to emulate that path" in reason for reason in quality["reasons"]), quality
    with tempfile.NamedTemporaryFile("w", suffix=".json") as saved:
        saved.write(json.dumps(document))
        saved.flush()
        text = " ".join(tightlink(machine, "explain", saved.name).out.split())
    assert "Disturbed: " in text, text
    assert "degraded this machine was too busy to emulate that path" in text, text
