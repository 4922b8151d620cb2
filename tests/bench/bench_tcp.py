"""TCP rows. The client sends (as iperf3, nuttcp and neper do by themselves), the receiver's
count over the receiver's time is the rate; processor time is user and system time of both
programs, which on loopback and veth contains the softirq work done in their name."""
import json
import os
import sys

from common import Contestant, Failure, Program, Row, Run, find_tool, free_port

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import wire  # noqa: E402  (a client of tightlinkd, from doc/wire.md)

PATIENCE = 15  # beyond the seconds of a run


def pair(network, server_argv, port, client_argv, seconds, server_ends):
    """Runs a server and its client; both ended, their outputs and times known."""
    server = Program(network.server, server_argv)
    client = None
    try:
        server.wait_listening(port)
        client = Program(network.client, client_argv)
        client.wait(seconds + PATIENCE)
        if client.status != 0:
            raise Failure(client.text()[-200:].strip())
        if server_ends:
            server.wait(PATIENCE)
    finally:
        if client:
            client.end()
        server.end()
    return server, client


def run_of(server, client, mbps, received_bytes, note="", rss=None):
    return Run(rate=mbps, cost=(server.cpu_s + client.cpu_s) / (received_bytes / 1e9),
               rss_mib=rss, note=note)


# --- Contestants ------------------------------------------------------------------------

def tightlink(options, name="tightlink", serve=(), **load):
    def run(network, seconds):
        port = free_port(network.server)
        server, client = pair(
            network, [options.tightlinkd, "--open", "--port", port, *serve], port,
            [options.engine_load, network.server.address, port, f"seconds={seconds}",
             *[f"{key}={value}" for key, value in load.items()]], seconds, False)
        result = json.loads(client.text())
        return run_of(server, client, result["mbps"], result["received_bytes"],
                      f"{result['path']} {result['call_bytes'] // 1024} KiB"
                      + (", discards" if result["discarded"] else ""))
    return Contestant(name, run)


def iperf3(program, name, *more, counts=True):
    def run(network, seconds):
        port = free_port(network.server)
        server, client = pair(
            network, [program, "-s", "-1", "-p", port], port,
            [program, "-c", network.server.address, "-p", port, "-t", seconds, "-J", *more],
            seconds, True)
        end = json.loads(client.text())["end"]["sum_received"]
        return run_of(server, client, end["bits_per_second"] / 1e6, end["bytes"])
    return Contestant(name, run, counts)


def nuttcp(program, *more):
    def run(network, seconds):
        port, data_port = free_port(network.server), free_port(network.server)
        server, client = pair(
            network, [program, "-1", "--nofork", "-P", port], port,
            [program, f"-T{seconds}", "-fparse", f"-P{port}", f"-p{data_port}", *more,
             network.server.address], seconds, True)
        fields = dict(word.split("=", 1) for word in client.text().split() if "=" in word)
        return run_of(server, client, float(fields["rate_Mbps"]),
                      float(fields["megabytes"]) * 2**20)
    return Contestant("nuttcp", run)


def neper(program, flows, *more, name="neper tcp_stream"):
    def run(network, seconds):
        control, data = free_port(network.server), free_port(network.server)
        common = ["--nolog", "-C", control, "-P", data, "-l", seconds, "-F", flows, "-T", flows, *more]
        server, client = pair(network, [program, *common], control,
                              [program, "-c", "-H", network.server.address, *common],
                              seconds, True)
        fields = dict(line.split("=", 1) for line in server.text().splitlines() if "=" in line)
        if fields.get("throughput_units") != "Mbit/s":
            raise Failure("no throughput in Mbit/s")
        mbps = float(fields["throughput"])
        return run_of(server, client, mbps, mbps * 1e6 / 8 * seconds)
    return Contestant(name, run)


def bare(options, streams, send_kib, recv_kib):
    """send() and recv() without an engine."""
    def run(network, seconds):
        port = free_port(network.server)
        server, client = pair(
            network, [options.bare_loop, "serve", port, streams, recv_kib * 1024], port,
            [options.bare_loop, network.server.address, port, streams, seconds, send_kib * 1024],
            seconds, True)
        bps, received_bytes = map(float, server.text().split())
        return run_of(server, client, bps / 1e6, received_bytes)
    return Contestant(f"bare loop {send_kib}/{recv_kib} KiB", run, counts=False, bare=True)


def bare_loops(options, streams):
    if not options.bare_loop:
        return []
    return [bare(options, streams, *sizes) for sizes in ((128, 128), (256, 256), (1024, 1024))]


def version(program):
    words = os.popen(f"'{program}' --version 2>/dev/null").read().split()
    return words[1] if len(words) > 1 else "?"


class Peers:
    """The peers that are here, and the names of those that are not."""

    def __init__(self, options):
        self.missing = []
        self.iperf3s = []
        for given in (options.iperf3 or "").split(",") if options.iperf3 else [None]:
            program = find_tool(given, ["iperf3"])
            if program:
                self.iperf3s.append((program, f"iperf3 {version(program)}"))
            else:
                self.missing.append(given or "iperf3")
        self.nuttcp = find_tool(options.nuttcp, ["nuttcp"])
        self.neper = find_tool(options.tcp_stream, ["tcp_stream"])
        self.missing += [name for name, program in (("nuttcp", self.nuttcp),
                                                    ("neper tcp_stream", self.neper))
                         if not program]

    def all(self, streams):
        many = ["-P", streams] if streams > 1 else []
        found = [iperf3(program, name, *many) for program, name in self.iperf3s]
        if self.nuttcp:
            found.append(nuttcp(self.nuttcp, *([f"-N{streams}"] if streams > 1 else [])))
        if self.neper:
            found.append(neper(self.neper, streams))
        return found

    def tuned(self, streams):
        """iperf3 as who knows it would set it."""
        many = ["-P", streams] if streams > 1 else []
        return [iperf3(program, f"{name} {' '.join(best)}", *best, *many, counts=False)
                for program, name in self.iperf3s for best in (("-Z",), ("-l", "1M"))]

    def discarding(self):
        """Those that can drop what they receive."""
        found = []
        for program, name in self.iperf3s:
            if "--skip-rx-copy" in os.popen(f"'{program}' --help").read():
                found.append(iperf3(program, f"{name} --skip-rx-copy", "--skip-rx-copy"))
        if self.neper:
            found.append(neper(self.neper, 1, "--skip-rx-copy",
                               name="neper --skip-rx-copy"))
        return found


# --- Memory -----------------------------------------------------------------------------

def client_memory(options, streams):
    def run(network, seconds):
        port = free_port(network.server)
        server, client = pair(
            network, [options.tightlinkd, "--open", "--port", port], port,
            [options.engine_load, network.server.address, port, f"seconds={seconds}",
             f"streams={streams}", "direction=down"], seconds, False)
        return Run(rate=client.rss_mib, note=f"responder {server.rss_mib:.1f} MiB")
    return Contestant("tightlink", run)


def responder_memory(options, sessions):
    """Sessions from as many addresses and networks as that needs, one of them in a test of
    32 streams."""
    def run(network, seconds):
        port = free_port(network.server)
        server = Program(network.server, [options.tightlinkd, "--open", "--port", port])
        opened = []
        try:
            server.wait_listening(port)
            with InNamespace(network.client):
                opened = [wire.Session(port, source=f"127.0.{1 + i // 8}.{1 + i // 2}")
                          for i in range(sessions - 1)]
            for session in opened:
                session.send(wire.frame(wire.HOST_QUERY))
                session.expect(wire.HOST_END, skip=(wire.HOST,))
            load = Program(network.client, [options.engine_load, "127.0.0.1", port,
                                            f"seconds={seconds}", "streams=32"])
            while not load._reap(os.WNOHANG):
                for session in opened:
                    session.ping()
                    session.expect(wire.PONG)
            if load.status != 0:
                raise Failure(load.text()[-200:])
        finally:
            for session in opened:
                session.close()
            server.end()
        return Run(rate=server.rss_mib, note=f"{sessions} sessions, a test of 32 streams")
    return Contestant("tightlinkd", run)


class InNamespace:
    """This thread in a place's namespace, and back."""

    def __init__(self, place):
        self.place = place

    def __enter__(self):
        self.back = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self.place.enter()

    def __exit__(self, *_):
        from common import _enter
        _enter(self.back)
        os.close(self.back)


# --- Rows -------------------------------------------------------------------------------

def rows(options):
    peers = Peers(options)
    return [
        Row("tcp-1-copy", "TCP, 1 stream, the receiver copies", "Mb/s", 1.25,
            [tightlink(options, direction="up"), *peers.all(1), *peers.tuned(1),
             *bare_loops(options, 1)], peers.missing),
        Row("tcp-1-discard", "TCP, 1 stream, the receiver discards", "Mb/s", 1.10,
            [tightlink(options, direction="up", discard=1), *peers.discarding()], peers.missing),
        Row("tcp-4-copy", "TCP, 4 streams, the receiver copies", "Mb/s", 1.10,
            [tightlink(options, direction="up", streams=4), *peers.all(4), *peers.tuned(4),
             *bare_loops(options, 4)], peers.missing),
        Row("tcp-client-memory", "resident memory of a client of 32 streams", "MiB", None,
            [client_memory(options, 32)], networks=("lo",), limit=32),
        Row("tcp-responder-memory", "resident memory of the responder, 64 sessions", "MiB", None,
            [responder_memory(options, 64)], networks=("lo",), limit=64),
    ]
