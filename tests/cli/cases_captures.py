"""Captures whose packets no transfer makes: what they may cost in time and memory (promise P13,
limits in include/flow/tightlink/flow/packets.h)."""
import json
import os
import resource
import struct
import subprocess

from harness import Skip, case, is_sanitized

SYN, ACK = 2, 16
MEMORY_MB = 450  # 256 of detail, 125 of a million connections, and the program
ROOM_MB = 3000   # a program without limits fails then, and leaves the machine alone
SECONDS = 20     # beside what else runs; a second and more where nothing does


class Packets:
    """A raw IPv4 capture of many connections, written as fast as Python can."""

    def __init__(self):
        self.parts = [struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 262144, 101)]
        self.time_ns = 0

    def add(self, flow, sender, flags, seq, ack, length=0, sacks=(), window=60000):
        self.time_ns += 10_000
        options = b""
        if sacks:
            options = struct.pack(">BBBB", 1, 1, 5, 2 + 8 * len(sacks))
            options += b"".join(struct.pack(">II", begin & 0xffffffff, end & 0xffffffff)
                                for begin, end in sacks)
        header = 20 + len(options)
        ends = ((1024 + flow % 60000, 10 << 24 | 1 + flow // 60000), (443, 10 << 24 | 255))
        (port, address), (to_port, to_address) = ends if sender == 0 else reversed(ends)
        packet = struct.pack(">BBHHHBBHIIHHIIBBHHH", 0x45, 0, 20 + header + length,
                             self.time_ns // 10_000 & 0xffff, 0x4000, 64, 6, 0, address, to_address,
                             port, to_port, seq & 0xffffffff, ack & 0xffffffff, header // 4 << 4,
                             flags, window, seq & 0xffff, 0) + options
        self.parts.append(struct.pack("<IIII", 1700000000 + self.time_ns // 10**9,
                                      self.time_ns % 10**9, len(packet), len(packet) + length))
        self.parts.append(packet)

    def write(self, machine, name):
        path = os.path.join(machine.folder, name)
        with open(path, "wb") as file:
            file.write(b"".join(self.parts))
        return path


def judge(machine, path, *options):
    """pcap of a file: its output, seconds of processor, and MB that were resident at most."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
        if not is_sanitized(machine.tightlink):
            resource.setrlimit(resource.RLIMIT_AS, (ROOM_MB << 20, ROOM_MB << 20))

    child = subprocess.Popen([machine.tightlink, "pcap", path, *options], preexec_fn=limit,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    with child.stdout:
        text = child.stdout.read().decode()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, text, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def without_sanitizer(machine):
    """For what takes seconds as it is, and is read the same way by fuzz-capture."""
    if is_sanitized(machine.tightlink):
        raise Skip("costs are not those of a program with sanitizers")


def check_costs(machine, path, *options):
    code, text, seconds, mb = judge(machine, path, *options)
    print(f"    {os.path.basename(path)}: {os.path.getsize(path) / 1e6:.1f} MB, {seconds:.2f} s, {mb:.0f} MB resident")
    assert code in (0, 2, 4) and "Flow " in text or "flows" in text, (code, text[-300:])
    if not is_sanitized(machine.tightlink):
        assert mb < MEMORY_MB, f"{mb:.0f} MB"
        assert seconds < SECONDS, f"{seconds:.1f} s"
    return text


@case("pcap")
def jumps_of_connections_without_a_segment_size_cost_little(machine):
    """a byte, and another 16 MB further on, 16 million segments of that size later"""
    packets = Packets()
    for flow in range(3000):
        packets.add(flow, 0, ACK, 1000, 1, 1)
        packets.add(flow, 0, ACK, 1000 + (15 << 20), 1, 1)
        packets.add(flow, 1, ACK, 1, 1000)
    check_costs(machine, packets.write(machine, "jumps.pcap"))


@case("pcap")
def jumps_of_connections_that_hold_much_cost_little(machine):
    """each connection holds as many packets in flight as two packets can claim"""
    packets = Packets()
    for flow in range(12000):
        packets.add(flow, 0, ACK, 1000, 1, 1448)
        packets.add(flow, 0, ACK, 1000 + (15 << 20), 1, 1448)
        packets.add(flow, 1, ACK, 1, 1000)
    check_costs(machine, packets.write(machine, "holds.pcap"))


@case("pcap")
def blocks_that_cut_a_long_flight_in_pieces_cost_little(machine):
    """60,000 packets in flight, and then acknowledgements that report parts of them near the first"""
    packets = Packets()
    for i in range(60000):
        packets.add(0, 0, ACK, 1000 + 100 * i, 1, 100)
    for i in range(30000):
        at = 1000 + 100 * (4 * i % 50000)
        packets.add(0, 1, ACK, 1, 1000, sacks=[(at + 3 + 100 * k, at + 47 + 100 * k) for k in range(4)])
    check_costs(machine, packets.write(machine, "blocks.pcap"))


@case("pcap")
def bytes_sent_again_all_at_once_cost_little(machine):
    """60,000 packets of a byte, then packets that send all of them again"""
    without_sanitizer(machine)
    packets = Packets()
    for i in range(60000):
        packets.add(0, 0, ACK, 1000 + i, 1, 1)
    for _ in range(20000):
        packets.add(0, 0, ACK, 1000, 1, 60000)
    check_costs(machine, packets.write(machine, "again.pcap"))


@case("pcap")
def a_list_of_many_connections_ends(machine):
    """the largest are judged, the list says so, and any other can be asked for by its number"""
    without_sanitizer(machine)
    packets = Packets()
    for flow in range(21000):
        packets.add(flow, 0, SYN, 999, 0)
        packets.add(flow, 1, SYN | ACK, 0, 1000)
        packets.add(flow, 0, ACK, 1000, 1, 1448)
        packets.add(flow, 1, ACK, 1, 2448)
    path = packets.write(machine, "many.pcap")
    text = check_costs(machine, path, "--all")
    assert "and 1000 smaller ones" in text and "the first 1000 are judged" in text, text[-500:]
    flows = json.loads(check_costs(machine, path, "--all", "--json"))["flows"]
    assert len(flows) == 20000 and "verdict" in flows[999] and "verdict" not in flows[1000], flows[999:1001]
    assert "Flow 2000:" in check_costs(machine, path, "--flow", "2000")


@case("pcap")
def many_connections_fill_no_memory(machine):
    without_sanitizer(machine)
    packets = Packets()
    for flow in range(400000):
        packets.add(flow, 0, SYN, 999, 0)
    check_costs(machine, packets.write(machine, "scan.pcap"))
