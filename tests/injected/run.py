#!/usr/bin/env python3
"""The Nth call failing: allocations, files, sockets, threads, clocks (fail_call.c), of each kind.

Arguments: the shim, tightlink, tightlinkd, a saved run; --all for every N and every errno. Whatever
fails, a command ends by itself, says what is wrong in one plain sentence, and prints either the whole
of what it prints without a failure or says that it did not; tightlinkd lives on and serves the next.
"""
import errno
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import wire

SHIM, TIGHTLINK, TIGHTLINKD, RUN = (os.path.abspath(path) for path in sys.argv[1:5])
ALL = "--all" in sys.argv[5:]
# What the manual pages name, those first that a healthy machine shows.
ERRNOS = {"alloc": [errno.ENOMEM], "open": [errno.EMFILE, errno.EACCES, errno.ENOENT, errno.EINTR],
          "read": [errno.EIO, errno.EINTR], "write": [errno.ENOSPC, errno.EIO, errno.EINTR],
          "recv": [errno.ECONNRESET, errno.EINTR, errno.ENOMEM],
          "send": [errno.EPIPE, errno.EINTR, errno.ENOBUFS],
          "accept": [errno.EMFILE, errno.ECONNABORTED, errno.ENOBUFS], "poll": [errno.EINTR],
          "thread": [errno.EAGAIN], "clock": [errno.EINVAL]}
MOST = 2000 if ALL else 6  # of the calls of a kind, evenly over all of them


def environment(folder, call, at, number):
    return {**os.environ, "LD_PRELOAD": SHIM, "TL_FAIL_CALL": call, "TL_FAIL_AT": str(at),
            "TL_FAIL_ERRNO": str(number), "TL_FAIL_COUNT": os.path.join(folder, "count"),
            "HOME": folder, "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder,
            "XDG_DATA_HOME": folder, "LC_ALL": "C.UTF-8"}


def run(folder, command, call, at=0, number=0):
    return subprocess.run([TIGHTLINK, *command], env=environment(folder, call, at, number),
                          capture_output=True, timeout=60, stdin=subprocess.DEVNULL)


def count_of(folder):
    with open(os.path.join(folder, "count")) as file:
        return int(file.read())


def points(count):
    step = max(1, count // MOST)
    return range(1, count + 1, step)


def judge(what, baseline, done):
    """None, or what is wrong with how it ended."""
    if done.returncode < 0:
        return f"{what}: killed by signal {-done.returncode}: {done.stderr[-300:]!r}"
    if done.returncode == baseline.returncode and done.stdout == baseline.stdout:
        return None  # it did without, or tried again
    if not done.stderr.strip() and done.returncode == 0:
        return f"{what}: other output, and nothing is said"
    if done.returncode != 0 and not done.stderr.strip():
        return f"{what}: exit {done.returncode} and not a word"
    return None


def walk(folder, command, calls):
    """Every chosen call of a command, failing once; faults found, and how many were tried."""
    faults, tried, seen = [], 0, []
    for call in calls:
        baseline = run(folder, command, call)
        count = count_of(folder)
        seen.append(f"{call} {count}")
        for number in ERRNOS[call] if ALL else ERRNOS[call][:1]:
            for at in points(count):
                done = run(folder, command, call, at, number)
                tried += 1
                fault = judge(f"{command[0]}: {call} {at} of {count}, {errno.errorcode[number]}",
                              baseline, done)
                faults += [fault] if fault else []
    print(f"  {' '.join(command[:1])} calls: {', '.join(seen)}")
    return faults, tried


def use(port):
    """One session with a short test; True when the responder served it to its end."""
    try:
        session = wire.Session(port, timeout=5)
        _, end, *_ = session.run(ms=200)
        return end["reason"] == wire.END_TIME
    except (OSError, wire.Closed, AssertionError, TimeoutError):
        return False


def walk_responder(folder, calls):
    """tightlinkd with a call failing: it may lose that session; it serves the next and ends well."""
    faults, tried = [], 0
    for call in calls:
        os.environ.update(environment(folder, call, 0, 0))
        with wire.Daemon(TIGHTLINKD, "--no-sandbox") as daemon:  # it writes the count
            assert use(daemon.port), "it does not serve without a failure"
            daemon.stop()
        count, few = count_of(folder), MOST if ALL else 3
        for at in range(1, count + 1, max(1, count // few)):
            os.environ.update(environment(folder, call, at, ERRNOS[call][0]))
            what = f"tightlinkd: {call} {at} of {count}"
            tried += 1
            try:
                daemon = wire.Daemon(TIGHTLINKD, "--no-sandbox")
            except SystemExit as why:  # told on stderr, which the sentence quotes
                faults += [] if "tightlinkd:" in str(why) else [f"{what}: {why}"]
                continue
            with daemon:
                use(daemon.port)
                if not use(daemon.port) and not use(daemon.port):
                    faults.append(f"{what}: serves nobody behind it: {daemon.text()[-300:]}")
                elif daemon.stop()[1] != 0:
                    faults.append(f"{what}: does not end well: {daemon.text()[-300:]}")
    for name in ("LD_PRELOAD", "TL_FAIL_CALL", "TL_FAIL_AT", "TL_FAIL_ERRNO", "TL_FAIL_COUNT"):
        os.environ.pop(name, None)
    return faults, tried


def walk_diagnosis(folder, calls):
    """A whole run over loopback with a call of the client failing; a crash or silence is a fault."""
    faults, tried = [], 0
    with wire.Daemon(TIGHTLINKD) as daemon:
        command = ("run", "127.0.0.1", "--port", str(daemon.port), "--yes", "--json", "--time", "6")
        for call in calls:
            baseline = run(folder, command, call)
            count, few = count_of(folder), 200
            for at in range(1, count + 1, max(1, count // few)):
                done = run(folder, command, call, at, ERRNOS[call][0])
                tried += 1
                what = f"run: {call} {at} of {count}"
                if done.returncode < 0:
                    faults.append(f"{what}: signal {-done.returncode}: {done.stderr[-300:]!r}")
                elif not done.stdout and not done.stderr:
                    faults.append(f"{what}: exit {done.returncode} and not a word")
                elif done.stdout:
                    json.loads(done.stdout)
        assert baseline.stdout, baseline.stderr
    return faults, tried


def report(what, faults, tried):
    print(f"{what}: {tried} failures, {len(faults)} of them wrong", flush=True)
    for fault in faults[:10]:
        print("  " + fault)
    return len(faults)


def main():
    failed = 0
    calls = ("alloc", "open", "read", "write", "poll", "thread", "clock")
    with tempfile.TemporaryDirectory(prefix="tightlink-injected-") as folder:
        for command in (("explain", RUN), ("explain", RUN, "--json"), ("why", RUN),
                        ("compare", RUN, RUN), ("export", RUN, "--format", "html", "--unmask"),
                        ("fix", RUN, "--dry-run", "--other-host"), ("rules", "list")):
            failed += report(command[0], *walk(folder, command, calls))
        calls = ("alloc", "read", "recv", "send", "accept", "thread", "clock")
        failed += report("tightlinkd", *walk_responder(folder, calls))
        if ALL:
            failed += report("a diagnosis", *walk_diagnosis(folder, (*calls[:4], "poll", "thread")))
    sys.exit(1 if failed else 0)


main()
