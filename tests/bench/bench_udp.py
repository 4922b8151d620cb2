"""UDP rows. The client sends; payload counted by the receiver over its own time is the rate,
whatever was sent. Processor time is user and system time of both programs, which on loopback
and veth contains the softirq work done in their name. Pacing rows show how far the achieved
rate is off, and how much of a core the sender's thread took."""
import json
import os

from bench_tcp import Peers, pair, run_of
from common import Contestant, Row, Run, free_port

DATAGRAM = 1448


def driver(options):
    return os.path.join(os.path.dirname(options.engine_load), "bench-engine-load-udp")


def measure(options, network, seconds, **load):
    """One test; the two programs and what the driver printed."""
    port = free_port(network.server)
    server, client = pair(
        network, [options.tightlinkd, "--open", "--port", port], port,
        [driver(options), network.server.address, port, f"seconds={seconds}",
         *[f"{key}={value}" for key, value in load.items()]], seconds, False)
    return server, client, json.loads(client.text())


def tightlink(options, **load):
    def run(network, seconds):
        server, client, result = measure(options, network, seconds, **load)
        lost = 100 * result["missing"] / max(result["sent_count"], 1)
        note = f"{lost:.0f} % did not arrive"
        if result["head_crc"]:
            note += ", CRC of heads"
        return run_of(server, client, result["mbps"], result["received_bytes"],
                      " ".join([note, result["note"]]).strip())
    return Contestant("tightlink", run)


def iperf3(program, name, *more):
    def run(network, seconds):
        port = free_port(network.server)
        server, client = pair(
            network, [program, "-s", "-1", "-p", port], port,
            [program, "-c", network.server.address, "-p", port, "-t", seconds, "-J", "-u",
             "-b", "0", "-l", DATAGRAM, *more], seconds, True)
        end = json.loads(client.text())["end"]["sum_received"]
        return run_of(server, client, end["bits_per_second"] / 1e6, end["bytes"],
                      f"{end['lost_percent']:.0f} % did not arrive")
    return Contestant(name, run)


def nuttcp(program):
    def run(network, seconds):
        port, data_port = free_port(network.server), free_port(network.server)
        server, client = pair(
            network, [program, "-1", "--nofork", "-P", port], port,
            [program, "-u", "-Ru", f"-l{DATAGRAM}", f"-T{seconds}", "-fparse", f"-P{port}",
             f"-p{data_port}", network.server.address], seconds, True)
        fields = dict(word.split("=", 1) for word in client.text().split() if "=" in word)
        return run_of(server, client, float(fields["rate_Mbps"]),
                      float(fields["megabytes"]) * 2**20,
                      f"{float(fields['data_loss']):.0f} % did not arrive")
    return Contestant("nuttcp", run)


def pacing(options, rate):
    """Percent off the offered rate: smaller is better, so the row has a limit."""
    def run(network, seconds):
        _, _, result = measure(options, network, seconds, rate=rate)
        return Run(rate=100 * abs(1 - result["achieved_ratio"]),
                   note=f"largest burst {result['largest_burst']:.0f}, sender "
                        f"{100 * result['sender_cpu_ratio']:.0f} % and receiver "
                        f"{100 * result['receiver_cpu_ratio']:.0f} % of a core")
    return Contestant("tightlink", run)


def sender_core(options, rate):
    def run(network, seconds):
        _, _, result = measure(options, network, seconds, rate=rate)
        return Run(rate=100 * result["sender_cpu_ratio"])
    return Contestant("tightlink", run)


def largest_burst(options, rate):
    def run(network, seconds):
        _, _, result = measure(options, network, seconds, rate=rate)
        return Run(rate=result["largest_burst"])
    return Contestant("tightlink", run)


def with_gsro(program):
    return "--gsro" in os.popen(f"'{program}' --help 2>&1").read()


def rows(options):
    peers = Peers(options)
    plain = [iperf3(program, name) for program, name in peers.iperf3s]
    gsro = [iperf3(program, f"{name} --gsro", "--gsro") for program, name in peers.iperf3s
            if with_gsro(program)]
    found = [
        Row("udp-plain-nuttcp", f"datagrams of {DATAGRAM} B without offload, against nuttcp",
            "Mb/s", 1.25,
            [tightlink(options)] + ([nuttcp(peers.nuttcp)] if peers.nuttcp else []),
            missing=[] if peers.nuttcp else ["nuttcp"]),
        Row("udp-plain-iperf3", f"datagrams of {DATAGRAM} B without offload, against iperf3",
            "Mb/s", 2.0, [tightlink(options)] + plain, missing=[] if plain else ["iperf3"]),
        Row("udp-offload", f"datagrams of {DATAGRAM} B with GSO and GRO", "Mb/s", 1.25,
            [tightlink(options, gso=45, gro=1)] + gsro,
            missing=[] if gsro else ["iperf3 with --gsro (3.21)"]),
    ]
    for text, rate in (("1M", 1e6), ("10M", 1e7), ("100M", 1e8), ("1G", 1e9), ("2G", 2e9)):
        found.append(Row(f"udp-pacing-{text}", f"pacing error at {text}b/s", "% off", None,
                         [pacing(options, rate)], networks=("lo",), cost_target=None, limit=0.5))
    found.append(Row("udp-pacing-core", "the sender's share of a core at 10 Mb/s", "%", None,
                     [sender_core(options, 1e7)], networks=("lo",), cost_target=None, limit=30))
    found.append(Row("udp-pacing-burst", "largest burst at 1 Gb/s", "datagrams", None,
                     [largest_burst(options, 1e9)], networks=("lo",), cost_target=None, limit=4))
    return found
