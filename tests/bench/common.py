"""What every family of benchmarks shares: networks of our own, programs that run in them,
processor time taken the same way for all, rounds in turns, ratios of medians (with cpu_alone: of the
least processor times).

A family (bench_tcp.py ...) offers rows(tools) -> list of Row. A Row has contestants; the first
is tightlink. Contestants of a row do the same work. Standard library only."""
import ctypes
import dataclasses
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


class Failure(Exception):
    """A contestant could not run; the text says why."""


# --- Networks ---------------------------------------------------------------------------

def _in_child(work):
    """Runs work() in a forked child and waits; for what only a new process may do."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def _enter(fd):
    if LIBC.setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def _new_namespace():
    """A descriptor that keeps a new network namespace alive; nothing is left when we end."""
    to_parent, from_child = os.pipe()
    to_child, from_parent = os.pipe()
    pid = os.fork()
    if pid == 0:
        ok = LIBC.unshare(CLONE_NEWNET) == 0
        os.write(from_child, b"y" if ok else b"n")
        os.read(to_child, 1)
        os._exit(0)
    try:
        if os.read(to_parent, 1) != b"y":
            raise Failure("network namespaces need root")
        return os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.write(from_parent, b"x")
        os.waitpid(pid, 0)
        for fd in (to_parent, from_child, to_child, from_parent):
            os.close(fd)


@dataclasses.dataclass
class Place:
    """Where a program runs; namespace None is this machine's own."""
    namespace: int | None
    address: str

    def enter(self):
        if self.namespace is not None:
            _enter(self.namespace)

    def call(self, *argv):
        subprocess.run(argv, check=True, preexec_fn=self.enter, stdout=subprocess.DEVNULL)

    def set(self, setting, value):
        def write():
            self.enter()
            with open("/proc/sys/" + setting.replace(".", "/"), "w") as file:
                file.write(value)
        if not _in_child(write):
            raise Failure(f"{setting} = {value} is not permitted in a namespace")


@dataclasses.dataclass
class Network:
    name: str
    client: Place
    server: Place
    congestion: str  # of all contestants


def _own_congestion():
    with open("/proc/sys/net/ipv4/tcp_congestion_control") as file:
        return file.read().strip()


def make_network(name, congestion):
    """"lo": loopback; "veth": a pair between two namespaces. Both in namespaces of their own,
    so that every contestant gets the same congestion control without a setting of this
    machine being touched. congestion "host": as this machine has it."""
    if name == "lo" and congestion == "host":
        place = Place(None, "127.0.0.1")
        return Network(name, place, place, _own_congestion())
    if name == "lo":
        client = server = Place(_new_namespace(), "127.0.0.1")
        client.call("ip", "link", "set", "lo", "up")
    else:
        client, server = Place(_new_namespace(), "10.97.1.1"), Place(_new_namespace(), "10.97.1.2")
        holder = f"/proc/{os.getpid()}/fd/{server.namespace}"
        client.call("ip", "link", "add", "bench0", "type", "veth", "peer", "name", "bench1",
                    "netns", holder)
        for place, device in ((client, "bench0"), (server, "bench1")):
            place.call("ip", "address", "add", place.address + "/24", "dev", device)
            place.call("ip", "link", "set", device, "up")
            place.call("ip", "link", "set", "lo", "up")
    if congestion != "host":
        for place in {id(client): client, id(server): server}.values():
            place.set("net.ipv4.tcp_congestion_control", congestion)
    return Network(name, client, server, _own_congestion() if congestion == "host" else congestion)


# --- Programs ---------------------------------------------------------------------------

class Program:
    """A started program whose processor time and memory are known after its end."""

    def __init__(self, place, argv):
        self.argv = [str(arg) for arg in argv]
        self.output = tempfile.TemporaryFile("w+")
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=self.errors, preexec_fn=place.enter)
        self.ended = False
        self.cpu_s = self.rss_mib = 0.0
        self.status = None

    def _reap(self, flags):
        pid, status, used = os.wait4(self.process.pid, flags)
        if pid == 0:
            return False
        self.ended = True
        self.status = self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_s = used.ru_utime + used.ru_stime
        self.rss_mib = used.ru_maxrss / 1024
        return True

    def wait(self, seconds):
        limit = time.monotonic() + seconds
        while not self.ended and not self._reap(os.WNOHANG):
            if time.monotonic() > limit:
                self.end()
                raise Failure(f"{os.path.basename(self.argv[0])} did not end: {self.text()[-200:]}")
            time.sleep(0.005)

    def end(self, patience=5):
        """Ends it as a user would, and by force where that does not help."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.ended:
                return
            self.process.send_signal(number)
            limit = time.monotonic() + patience
            while not self._reap(os.WNOHANG) and time.monotonic() < limit:
                time.sleep(0.005)

    def text(self):
        self.output.seek(0)
        self.errors.seek(0)
        return self.output.read() or self.errors.read()

    def wait_listening(self, port, seconds=5):
        """Until a TCP socket of its namespace listens on the port."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            for table in ("tcp", "tcp6"):
                with open(f"/proc/{self.process.pid}/net/{table}") as lines:
                    for line in lines:
                        fields = line.split()
                        if fields[3] == "0A" and int(fields[1].rsplit(":")[-1], 16) == port:
                            return
            if self._reap(os.WNOHANG):
                break
            time.sleep(0.005)
        raise Failure(f"{os.path.basename(self.argv[0])} does not listen: {self.text()[-200:]}")


# --- Rows -------------------------------------------------------------------------------

@dataclasses.dataclass
class Run:
    """What one contestant did in one round."""
    rate: float               # in the row's unit; larger is better
    cost: float | None = None  # CPU seconds of all its processes per GB; smaller is better
    rss_mib: float | None = None
    note: str = ""


@dataclasses.dataclass
class Contestant:
    name: str
    run: object  # run(network, seconds) -> Run; raises Failure
    counts: bool = True  # False: shown, not compared with (other work than the row's)
    bare: bool = False   # the kernel without an engine: what the row can reach at all


@dataclasses.dataclass
class Row:
    id: str
    title: str
    unit: str                   # of the rates
    target: float | None        # rate of tightlink over the best peer's, at least; None: shown
    contestants: list
    missing: list = dataclasses.field(default_factory=list)  # peers that are not here
    networks: tuple = ("lo", "veth")  # () for rows without a network
    cost_target: float | None = 1.0   # CPU per GB over the best peer's, at most
    limit: float | None = None        # a plain limit on the first contestant's rate, at most
    turns: int = 1                    # rounds for each one asked: more where rates scatter


def find_tool(given, names):
    """The program named by an option, or the first on the PATH; None when missing."""
    if given:
        return shutil.which(given)
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    return None


def _least(values):
    return min((value for value in values if value is not None), default=None)


def _median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def measure(row, network, rounds, seconds, progress, cpu_alone=False):
    """Rounds in turns A B A B; returns the row's result as plain data. cpu_alone: rates are shown and
    judge nothing, since others use this machine."""
    runs = {contestant.name: [] for contestant in row.contestants}
    errors = {}
    rounds *= row.turns
    for number in range(rounds):
        # Every second round backwards: none is always behind the same other.
        order = row.contestants if number % 2 == 0 else row.contestants[::-1]
        for contestant in order:
            if contestant.name in errors:
                continue
            progress(f"{row.id} {network.name if network else ''} round {number + 1} of {rounds}: "
                     f"{contestant.name}")
            try:
                runs[contestant.name].append(contestant.run(network, seconds))
            except (Failure, AssertionError, OSError, ValueError, KeyError) as error:
                errors[contestant.name] = f"{type(error).__name__}: {error}"
    result = {"row": row.id, "title": row.title, "unit": row.unit, "rounds": rounds,
              "cpu_alone": cpu_alone, "network": network.name if network else None,
              "congestion": network.congestion if network else None,
              "target": row.target, "cost_target": row.cost_target, "limit": row.limit,
              "missing": row.missing, "contestants": []}
    # What others do beside a round only adds to its processor time.
    cost_of = _least if cpu_alone else _median
    for contestant in row.contestants:
        mine = runs[contestant.name]
        result["contestants"].append({
            "name": contestant.name, "counts": contestant.counts, "bare": contestant.bare,
            "rate": _median([run.rate for run in mine]),
            "rates": [round(run.rate, 6) for run in mine],
            "cost": cost_of([run.cost for run in mine]),
            "rss_mib": _median([run.rss_mib for run in mine]),
            "note": mine[-1].note if mine else "",
            "error": errors.get(contestant.name)})
    return judge(result)


def _ratios(own, others):
    """Rate over the fastest of the others, processor time for a byte over the cheapest; None: unknown."""
    rates = [item["rate"] for item in others]
    costs = [item["cost"] for item in others if item["cost"]]
    return (own["rate"] / max(rates) if own["rate"] and rates else None,
            own["cost"] / min(costs) if own["cost"] and costs else None)


def judge(result):
    """Ratios of medians, tightlink over the best peer of each kind."""
    own, *others = result["contestants"]
    others = [item for item in others if item["rate"]]
    peers = [item for item in others if item["counts"]]
    tuned = [item for item in others if not item["counts"] and not item["bare"]]
    bare = [item for item in others if item["bare"]]
    result["ratio"] = None
    result["share"], result["cost_share"] = _ratios(own, bare)
    result["tuned_ratio"], result["tuned_cost_ratio"] = _ratios(own, tuned)
    result["cost_ratio"] = _ratios(own, peers)[1]
    if own["rate"] and peers:
        result["best"] = max(peers, key=lambda peer: peer["rate"])["name"]
        result["ratio"] = own["rate"] / max(peer["rate"] for peer in peers)
    verdicts = []
    if own["error"]:
        verdicts.append("FAILED")
    if result["target"] and result["ratio"] and not result["cpu_alone"]:
        verdicts.append(result["ratio"] >= result["target"])
    if result["cost_target"] and result["cost_ratio"]:
        verdicts.append(result["cost_ratio"] <= result["cost_target"])
    if result["limit"] and own["rate"] is not None:
        verdicts.append(own["rate"] <= result["limit"])
    result["met"] = None if not verdicts else all(verdict is True for verdict in verdicts)
    return result


# --- Showing ----------------------------------------------------------------------------

def _number(value, digits=3):
    return "-" if value is None else f"{value:.{digits}f}"


def show(result):
    where = f", {result['network']}, {result['congestion']}" if result["network"] else ""
    lines = [f"{result['row']}: {result['title']}{where}, {result['rounds']} rounds"]
    for item in result["contestants"]:
        if item["error"]:
            lines.append(f"  {item['name']:<26} failed: {item['error'][:160]}")
            continue
        cost = f"  {item['cost']:.3f} CPU s/GB" if item["cost"] is not None else ""
        rss = f"  {item['rss_mib']:.1f} MiB" if item["rss_mib"] is not None else ""
        other = "" if item["counts"] else "  (for comparison)"
        note = f"  {item['note']}" if item["note"] else ""
        lines.append(f"  {item['name']:<26}{item['rate']:>12.1f} {result['unit']}{cost}{rss}"
                     f"{note}{other}")
    for name in result["missing"]:
        lines.append(f"  {name:<26} missing: not on the PATH and not named by an option")
    parts = []
    if result["ratio"] is not None:
        wanted = f" (wanted >= {result['target']})" if result["target"] else ""
        parts.append(f"rate {_number(result['ratio'])} of {result['best']}{wanted}")
    if result["cost_ratio"] is not None:
        wanted = f" (wanted <= {result['cost_target']})" if result["cost_target"] else ""
        parts.append(f"CPU per GB {_number(result['cost_ratio'])} of the best{wanted}")
    for what, key in (("of the peers' best settings", "tuned_ratio"), ("of the best bare loop", "share")):
        if result[key] is not None:
            cost = result["cost_share" if key == "share" else "tuned_cost_ratio"]
            parts.append(f"{_number(result[key])} {what}, CPU {_number(cost)}")
    if result["limit"] is not None:
        parts.append(f"limit {result['limit']} {result['unit']}")
    met = {True: "met", False: "MISSED", None: "shown"}[result["met"]]
    lines.append(f"  -> {'; '.join(parts) if parts else 'nothing to compare with'}: {met}")
    return "\n".join(lines)


def _cell(item):
    """Medians of a contestant: its rate and, where known, CPU seconds per GB."""
    if item["error"] or item["rate"] is None:
        return f"{item['name']} failed"
    digits = 1 if item["rate"] >= 100 else 3
    cost = f" ({item['cost']:.3f})" if item["cost"] is not None else ""
    return f"{item['name']} {item['rate']:.{digits}f}{cost}"


def markdown(results):
    """The table of doc/speed.md."""
    lines = ["| work | tightlink (CPU s per GB) | peers | rate | CPU per GB | wanted | | peers' best settings, CPU "
             "| bare loop, CPU |", "|---|---|---|---|---|---|---|---|---|"]
    for result in results:
        own, *peers = [_cell(item) for item in result["contestants"]]
        where = f", {result['network']}" if result["network"] else ""
        wanted = f"<= {result['limit']} {result['unit']}" if result["limit"] is not None else \
            f">= {result['target']}" if result["target"] else ""
        met = {True: "met", False: "missed", None: ""}[result["met"]]
        lines.append(f"| {result['title']}{where} | {own.split(' ', 1)[1]} {result['unit']} "
                     f"| {', '.join(peers)} | {_number(result['ratio'], 2)} "
                     f"| {_number(result['cost_ratio'], 2)} | {wanted} | {met} "
                     f"| {_number(result['tuned_ratio'], 2)}, {_number(result['tuned_cost_ratio'], 2)} "
                     f"| {_number(result['share'], 2)}, {_number(result['cost_share'], 2)} |")
    return "\n".join(lines) + "\n"


def save(path, results):
    document = {"schema": 1, "host": {"cores": os.cpu_count(), "kernel": os.uname().release},
                "taken": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "rows": results}
    with open(path, "w") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def free_port(place):
    """A TCP port that nobody uses in the place's namespace just now."""
    to_parent, from_child = os.pipe()

    def work():
        place.enter()
        with socket.socket() as probe:
            probe.bind(("", 0))
            os.write(from_child, str(probe.getsockname()[1]).encode())
    ok = _in_child(work)
    os.close(from_child)
    with os.fdopen(to_parent) as pipe:
        text = pipe.read()
    if not ok:
        raise Failure("no free port")
    return int(text)
