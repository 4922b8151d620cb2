#!/usr/bin/env python3
"""P15: SIGKILL at random instants. Whatever is killed, and when, behind it is no process of its own,
no file, no link or control group, and no setting of the machine is changed.

    test_kills.py TIGHTLINKD TIGHTLINK CAPTURE [KILLS]     KILLS of each program, 8 without

Runs in a network namespace of its own where it may make one, so that nobody else's links come and go
there."""
import contextlib
import ctypes
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import wire
from cases import Skipped, case, run

DAEMON, TIGHTLINK, CAPTURE = (os.path.abspath(path) for path in sys.argv[1:4])
KILLS = int(sys.argv[4]) if len(sys.argv) > 4 else 8
PR_SET_CHILD_SUBREAPER = 36
GONE_S = 5
KEPT = set()  # processes that are to live on


def settings():
    """Every setting of this network namespace that can be read."""
    told = {}
    for path in glob.glob("/proc/sys/net/core/*") + glob.glob("/proc/sys/net/ipv4/*"):
        with contextlib.suppress(OSError), open(path) as file:
            told[path] = file.read()
    return told


def orphaned_groups():
    """Control groups of a lab whose process is no more; those of others' labs live on."""
    groups = []
    for path in glob.glob("/sys/fs/cgroup/**/tightlink-lab-*", recursive=True):
        pid = re.search(r"tightlink-lab-(\d+)", path)[1]
        groups += [] if os.path.exists(f"/proc/{pid}") else [path]
    return sorted(groups)


def machine():
    """What must be the same afterwards."""
    return {"links": sorted(os.listdir("/sys/class/net")), "settings": settings(),
            "groups": orphaned_groups()}


def children():
    """Processes that are ours, or became ours when their parent was killed."""
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split() if int(pid) not in KEPT]


def wait_for_children():
    until = time.monotonic() + GONE_S
    while time.monotonic() < until:
        for pid in children():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if not children():
            return
        time.sleep(0.02)
    names = []
    for pid in children():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as file:
            names.append(file.read().replace("\0", " "))
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    raise AssertionError(f"still there {GONE_S} s behind the kill: {names}")


def kill_each(what, begin, longest_s, places):
    """begin(): the program's process; killed at KILLS instants of its first longest_s."""
    rng, before = random.Random(what), machine()
    files = {place: sorted(os.listdir(place)) for place in places}
    early = 0
    for number in range(KILLS):
        process, wait_s = begin(), rng.uniform(0, longest_s)
        time.sleep(wait_s)
        early += process.poll() is not None
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.returncode = process.returncode or 0
        wait_for_children()
        after = machine()
        for kind, state in before.items():
            assert after[kind] == state, f"kill {number} of {what} at {wait_s:.3f} s: {kind}"
        for place, names in files.items():
            assert sorted(os.listdir(place)) == names, \
                f"kill {number} of {what} at {wait_s:.3f} s left {os.listdir(place)}"
    assert early < KILLS, f"{what} never ran when it was killed"
    print(f"  {what}: {KILLS} kills, {KILLS - early} of them while it ran: nothing is left")


def environment(home, temporary):
    return {**os.environ, "HOME": home, "XDG_STATE_HOME": home, "XDG_DATA_HOME": home,
            "XDG_CONFIG_HOME": home, "TMPDIR": temporary}


@contextlib.contextmanager
def folders(count):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(count)]


def quiet(arguments, env):
    return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, env=env)


@case
def a_diagnosis():
    """And the history, which it keeps at its end, can still be read."""
    with folders(2) as (home, temporary), wire.Daemon(DAEMON) as daemon:
        KEPT.add(daemon.process.pid)
        env = environment(home, temporary)
        kill_each("tightlink run", lambda: quiet(
            [TIGHTLINK, "run", "127.0.0.1", "--port", str(daemon.port), "--yes", "--stages", "stream",
             "--time", "3"], env), 2.5, [temporary])
        KEPT.discard(daemon.process.pid)
        subprocess.run([TIGHTLINK, "history"], env=env, check=True, stdout=subprocess.DEVNULL)


@case
def a_responder():
    """In the middle of a session's test."""
    with folders(2) as (disk, temporary):
        os.chmod(disk, 0o777)  # started by root, it becomes another user
        def begin():
            daemon = wire.Daemon(DAEMON, "--disk", disk)
            with contextlib.suppress(OSError, AssertionError, wire.Closed):
                session = wire.Session(daemon.port)
                session.start(session.ask(ms=1000))
            return daemon.process
        kill_each("tightlinkd", begin, 0.3, [disk, temporary])


@case
def a_demonstration():
    """It makes four hosts in namespaces, and a control group."""
    with folders(2) as (home, temporary):
        kill_each("tightlink demo", lambda: quiet([TIGHTLINK, "demo", "satellite-64k", "--yes"],
                                                  environment(home, temporary)), 3, [temporary])


@case
def a_capture():
    if os.geteuid() != 0 or not os.path.exists(CAPTURE):
        raise Skipped("only root may capture here, or there is no helper")
    with folders(2) as (home, temporary):
        names = (f"{home}/{number}.pcap" for number in range(KILLS))
        kill_each("tightlink capture", lambda: quiet(
            [TIGHTLINK, "capture", "127.0.0.1", "--for", "60s", "-o", next(names)],
            environment(home, temporary)), 0.3, [temporary])


if os.geteuid() == 0 and shutil.which("unshare") and not os.environ.get("TIGHTLINK_KILLS"):
    os.execvpe("unshare", ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh",
                           sys.executable, *sys.argv], {**os.environ, "TIGHTLINK_KILLS": "apart"})
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
run([])
