#!/usr/bin/env python3
"""Calls that fail: allocations, files, sockets, threads, clocks (fail_call.c), of each kind.

Arguments: the shim, tightlink, tightlinkd, a saved run; --all for every place from which such a call is
made (the calls it came through, so that a loop is one place, and once for all commands) with every errno,
then how many places of each kind in the responder and in a diagnosis, whose errors take turns (200), and
parts of it (commands, responder, diagnosis; none: all). Whatever fails, a command ends by itself, says what is wrong in one
plain sentence, and prints either the whole of what it prints without a failure or says that it did not;
tightlinkd lives on and serves the next.
"""
import concurrent.futures
import contextlib
import errno
import json
import os
import queue
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import wire

SHIM, TIGHTLINK, TIGHTLINKD, RUN = (os.path.abspath(path) for path in sys.argv[1:5])
ALL = "--all" in sys.argv[5:]
PLACES = int(sys.argv[6]) if len(sys.argv) > 6 else 200
PARTS = sys.argv[7:] or ["commands", "responder", "diagnosis"]
# What the manual pages name (man 2 open, read, write and fsync, recv, send, accept, poll and
# epoll_wait, clock_gettime, socket; 3 malloc, pthread_create; 7 ip, tcp, udp for errors that wait at a
# socket), those first that a healthy machine shows. Not EBADF and EFAULT, by which a program is told of
# its own mistake.
NAMES = {
    "alloc": "ENOMEM",
    "open": "EMFILE EACCES ENOENT EINTR EBUSY EDQUOT EEXIST EFBIG EINVAL EISDIR ELOOP ENAMETOOLONG ENFILE "
            "ENODEV ENOMEM ENOSPC ENOTDIR ENXIO EOPNOTSUPP EOVERFLOW EPERM EROFS ETXTBSY EAGAIN",
    "read": "EIO EINTR EAGAIN EINVAL EISDIR ENXIO EOPNOTSUPP EOVERFLOW ESPIPE",
    "write": "ENOSPC EIO EINTR EAGAIN EDESTADDRREQ EDQUOT EFBIG EINVAL EPERM EPIPE EROFS ESPIPE",
    "recv": "ECONNRESET EINTR ENOMEM EAGAIN ECONNREFUSED EINVAL ENOTCONN ENOTSOCK ETIMEDOUT EHOSTUNREACH "
            "ENETUNREACH EMSGSIZE EPROTO",
    "send": "EPIPE EINTR ENOBUFS EACCES EAGAIN EALREADY ECONNRESET EDESTADDRREQ EINVAL EISCONN EMSGSIZE "
            "ENOMEM ENOTCONN ENOTSOCK EOPNOTSUPP ENETUNREACH EHOSTUNREACH EPERM ETIMEDOUT ECONNREFUSED",
    "accept": "EMFILE ECONNABORTED ENOBUFS EAGAIN EINTR EINVAL ENFILE ENOMEM ENOTSOCK EOPNOTSUPP EPERM "
              "EPROTO ENOSR ESOCKTNOSUPPORT EPROTONOSUPPORT ETIMEDOUT ENETDOWN ENOPROTOOPT EHOSTDOWN "
              "ENONET EHOSTUNREACH ENETUNREACH",
    "poll": "EINTR ENOMEM EINVAL", "epoll": "EINTR", "thread": "EAGAIN EINVAL EPERM",
    "clock": "EINVAL EPERM EACCES ENODEV EOPNOTSUPP",
    "make": "EMFILE EACCES EAFNOSUPPORT EINVAL ENFILE ENOBUFS ENOMEM EPROTONOSUPPORT ENODEV EPERM"}
ERRNOS = {call: [getattr(errno, name) for name in names.split()] for call, names in NAMES.items()}
SIDE_BY_SIDE = 6  # diagnoses, with --all
MOST = 6  # of the calls of a kind, evenly over all of them
NONE = {"TL_FAIL_AT": "0"}


def environment(folder, call, where, number):
    """where: as fail_call.c is told, NONE counts alone."""
    return {**os.environ, "LD_PRELOAD": SHIM, "TL_FAIL_CALL": call, "TL_FAIL_ERRNO": str(number),
            "HOME": folder, "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder,
            "XDG_DATA_HOME": folder, "LC_ALL": "C.UTF-8", **where}


def run(folder, command, call, where, number=0):
    return subprocess.run([TIGHTLINK, *command], env=environment(folder, call, where, number),
                          capture_output=True, timeout=60, stdin=subprocess.DEVNULL)


def counting(folder):
    told = {"TL_FAIL_COUNT": os.path.join(folder, "count")}
    return {**told, "TL_FAIL_SITES": os.path.join(folder, "sites")} if ALL else told


def read(folder, name):
    with open(os.path.join(folder, name)) as file:
        return [line.split() for line in file]


def places(folder, known=None):
    """How many calls there were, and where they may fail: from each place that is not known yet, by its
    first call where the program makes the same calls each time, or some of them."""
    count = int(read(folder, "count")[0][0])
    if not ALL:
        return count, [{"TL_FAIL_AT": str(at)} for at in range(1, count + 1, max(1, count // MOST))]
    sites = sorted(read(folder, "sites"))
    if known is None:
        return count, [{"TL_FAIL_SITE": site} for site, _ in sites]
    new = [(site, at) for site, at in sites if site not in known]
    known.update(site for site, _ in new)
    return count, [{"TL_FAIL_AT": at} for _, at in new]


def words(where):
    return " ".join(where.values())


def judge(what, baselines, done):
    """None, or what is wrong with how it ended. baselines: what it prints, and what it prints where there
    is no memory for a locale."""
    if done.returncode < 0:
        return f"{what}: killed by signal {-done.returncode}: {done.stderr[-300:]!r}"
    if any(done.returncode == one.returncode and done.stdout == one.stdout for one in baselines):
        return None  # it did without, or tried again
    if "EPIPE" in what:
        return None  # its reader has gone, and with him who would be told
    if not done.stderr.strip() and done.returncode == 0:
        return f"{what}: other output, and nothing is said"
    if done.returncode != 0 and not done.stderr.strip():
        return f"{what}: exit {done.returncode} and not a word"
    return None


def turns(wheres, most, call):
    """At most so many of them, evenly, and with what they fail: the errors take turns."""
    numbers = ERRNOS[call]
    chosen = wheres[::max(1, -(-len(wheres) // most))]
    return [(where, numbers[i % len(numbers)]) for i, where in enumerate(chosen)]


KNOWN = {call: set() for call in NAMES}


def walk(folder, command, calls):
    """Every chosen call of a command, failing once; faults found, and how many were tried."""
    faults, tried, seen = [], 0, []
    plain = run(folder, command, calls[0], {**NONE, "LC_ALL": "C"})
    for call in calls:
        baselines = [plain, run(folder, command, call, {**NONE, **counting(folder)})]
        count, wheres = places(folder, KNOWN[call])
        seen.append(f"{call} {count}" + (f" from {len(wheres)} new places" if ALL else ""))

        def one(trial):
            where, number = trial
            what = f"{command[0]}: {call} {words(where)}, {errno.errorcode[number]}"
            try:
                return judge(what, baselines, run(folder, command, call, where, number))
            except subprocess.TimeoutExpired:
                return f"{what}: does not end"

        trials = [(where, number) for number in (ERRNOS[call] if ALL else ERRNOS[call][:1])
                  for where in wheres]
        with concurrent.futures.ThreadPoolExecutor(2 if ALL else 1) as pool:
            faults += [fault for fault in pool.map(one, trials) if fault]
        tried += len(trials)
    print(f"  {' '.join(command[:1])} calls: {', '.join(seen)}", flush=True)
    return faults, tried


def use(port):
    """One session with a short test; True when the responder served it to its end."""
    try:
        session = wire.Session(port, timeout=5)
        _, end, *_ = session.run(ms=200)
        return end["reason"] == wire.END_TIME
    except (OSError, wire.Closed, AssertionError, TimeoutError):
        return False


@contextlib.contextmanager
def failing(folder, call, where, number):
    """What is started here has such a call failing."""
    before = dict(os.environ)
    os.environ.update(environment(folder, call, where, number))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def walk_responder(folder, calls):
    """tightlinkd with a call failing: it may lose that session; it serves the next and ends well."""
    faults, tried = [], 0
    for call in calls:
        with failing(folder, call, {**NONE, **counting(folder)}, 0):
            with wire.Daemon(TIGHTLINKD, "--no-sandbox") as daemon:  # it writes the count
                assert use(daemon.port), "it does not serve without a failure"
                daemon.stop()
        count, wheres = places(folder)
        for where, number in turns(wheres, PLACES if ALL else 3, call):
            what = f"tightlinkd: {call} {words(where)}, {errno.errorcode[number]}"
            tried += 1
            try:
                with failing(folder, call, where, number):
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
        print(f"  tightlinkd: {call} {count} calls", flush=True)
    return faults, tried


def walk_accept(folder):
    """What fails for good while a stranger waits is no busy loop: the listener stays readable."""
    faults, wrong = [], ("EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "EPERM")
    for name in wrong:
        where = {"TL_FAIL_AT": "2", "TL_FAIL_ON": "1"}
        with failing(folder, "accept", where, getattr(errno, name)):
            daemon = wire.Daemon(TIGHTLINKD, "--no-sandbox")
        with daemon:
            session = wire.Session(daemon.port)
            stranger = wire.Connection(daemon.port)
            before, begin = daemon.cpu_s(), time.monotonic()
            while time.monotonic() < begin + 0.5:
                session.ping()
                time.sleep(0.05)
            used = (daemon.cpu_s() - before) / (time.monotonic() - begin)
            stranger.close()
            if used > 0.2:
                faults.append(f"accept, {name}, for good: {used * 100:.0f} % of a core")
    return faults, len(wrong)


def judge_diagnosis(done):
    """What is wrong with how a diagnosis ended, None if nothing: it has a document with a sentence for
    what it could not do, or says why it has none."""
    said = done.stderr.decode(errors="replace")
    if done.returncode < 0:
        return f"signal {-done.returncode}: {said[-300:]}"
    if any(line.rstrip().endswith(":") for line in said.splitlines() if line.startswith("tightlink")):
        return f"a sentence without its reason: {said[-300:]}"
    if not done.stdout:
        return None if said.strip() and done.returncode else f"exit {done.returncode} and not a word"
    try:
        document = json.loads(done.stdout)
    except ValueError as why:
        return f"the document is cut: {why}"
    quality = document["run"]["quality"]
    if quality["status"] != "valid" and not any(reason.strip() for reason in quality["reasons"]):
        return f"{quality['status']} without a reason"
    if done.returncode == 0 and document["verdict"]["state"] == "invalid":
        return "invalid, and exit code 0"
    return None


def walk_diagnosis(folder, calls, options=("--time", "6"), first=None):
    """A whole run over loopback with a call of the client failing, the first ones or some of all; a
    crash or silence is a fault. A run waits most of its time: some go side by side, each with a
    responder of its own."""
    faults, tried = [], 0
    with contextlib.ExitStack() as stack:
        free = queue.SimpleQueue()
        for _ in range(SIDE_BY_SIDE if ALL else 1):
            free.put(stack.enter_context(wire.Daemon(TIGHTLINKD)))
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(free.qsize()))

        def diagnose(call, where, number):
            daemon = free.get()
            try:
                command = ("run", "127.0.0.1", "--port", str(daemon.port), "--yes", "--json", *options)
                return run(folder, command, call, where, number)
            finally:
                free.put(daemon)

        def one(call, where, number):
            try:
                fault = judge_diagnosis(diagnose(call, where, number))
            except subprocess.TimeoutExpired:
                fault = "does not end"
            return f"run: {call} {words(where)}, {errno.errorcode[number]}: {fault}" if fault else None

        for call in calls:
            baseline = diagnose(call, {**NONE, **counting(folder)}, 0)
            assert baseline.stdout, baseline.stderr
            count, wheres = places(folder)
            chosen = turns([{"TL_FAIL_AT": str(at + 1)} for at in range(min(first, count))] if first
                           else wheres, first or PLACES, call)
            wrong = list(filter(None, pool.map(lambda trial, call=call: one(call, *trial), chosen)))
            faults += wrong
            tried += len(chosen)
            print(f"  run: {call} {count} calls, {len(chosen)} of them failed, {len(wrong)} wrong", flush=True)
    return faults, tried


def report(what, faults, tried):
    print(f"{what}: {tried} failures, {len(faults)} of them wrong", flush=True)
    for fault in faults[:10]:
        print("  " + fault)
    return len(faults)


def main():
    failed = 0
    calls = ("alloc", "open", "read", "write", "poll", "thread", "clock", "make")
    with tempfile.TemporaryDirectory(prefix="tightlink-injected-") as folder:
        for command in (("explain", RUN), ("explain", RUN, "--json"), ("why", RUN),
                        ("compare", RUN, RUN), ("export", RUN, "--format", "html", "--unmask"),
                        ("fix", RUN, "--dry-run", "--other-host"), ("rules", "list")):
            if "commands" in PARTS:
                failed += report(command[0], *walk(folder, command, calls))
        if "responder" in PARTS:
            failed += report("tightlinkd", *walk_responder(folder, tuple(NAMES)))
            failed += report("a listener", *walk_accept(folder))
        if not ALL:  # the wake-ups of a run begin with consent, which nobody gives twice
            failed += report("the first writes of a diagnosis",
                             *walk_diagnosis(folder, ("write",), ("--stages", "mtu"), 3))
        elif "diagnosis" in PARTS:
            calls = tuple(call for call in NAMES if call not in ("accept", "epoll"))
            failed += report("a diagnosis", *walk_diagnosis(folder, calls))
    sys.exit(1 if failed else 0)


main()
