#!/usr/bin/env python3
"""How fast a capture is read, beside tcptrace, tshark and capinfos, from the page cache.

    bench_pcap.py TIGHTLINK [MEGABYTES [ROUNDS]]

Makes two captures of four flows, 96 bytes a packet and whole packets, reads each once to warm the
cache, then times every program on it in turns, and tells medians of the rounds, by the wall clock and by processor
time (user and system, of all threads); the peak resident set of tightlink is told for the file and for one of a quarter
of its length."""
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

MSS, CLIENT, SERVER, FLOWS = 1448, 1, 2, 4


def packet(flow, sender, number, seq, ack, length, time_us, snap):
    ports = (40000 + flow, 443) if sender == CLIENT else (443, 40000 + flow)
    options = struct.pack(">BBBBII", 1, 1, 8, 10, time_us // 1000 & 0xffffffff,
                          time_us // 1000 - 20 & 0xffffffff)
    tcp = struct.pack(">HHIIBBHHH", *ports, seq & 0xffffffff, ack & 0xffffffff, 0x80, 0x10, 5000, 0, 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 52 + length, number & 0xffff, 0x4000, 64, 6, 0,
                     bytes((10, 0, 0, sender)), bytes((10, 0, 0, 3 - sender)))
    frame = b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + tcp + options + bytes(length)
    kept = frame[:snap] if snap else frame
    return struct.pack("<IIII", *divmod(time_us, 10**6), len(kept), len(frame)) + kept


def write(path, megabytes, snap):
    """Two data packets, one acknowledgement, flow after flow."""
    seqs, number, time_us = [1000] * FLOWS, 0, 1_700_000_000_000_000
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
        while file.tell() < megabytes << 20:
            for flow in range(FLOWS):
                for _ in range(2):
                    file.write(packet(flow, SERVER, number, seqs[flow], 1000, MSS, time_us, snap))
                    seqs[flow] += MSS
                    number += 1
                    time_us += 12
                file.write(packet(flow, CLIENT, number, 1000, seqs[flow] - 40 * MSS, 0, time_us, snap))
                number += 1


def timed(argv):
    """Seconds of wall clock and of processors, and the peak resident set in MB; None where it failed."""
    begin = time.monotonic()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - begin
    if process.returncode not in (0, 4):
        return None
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    tightlink = sys.argv[1]
    megabytes = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    programs = [("tightlink", [tightlink, "pcap"]), ("capinfos", ["capinfos", "-c"]),
                ("tcptrace", ["tcptrace", "-l"]),
                ("tshark", ["tshark", "-q", "-z", "conv,tcp", "-r"])]
    with tempfile.TemporaryDirectory(prefix="tightlink-pcap-") as folder:
        for name, snap in (("96 bytes a packet", 96), ("whole packets", 0)):
            path, part = folder + "/whole.pcap", folder + "/part.pcap"
            write(path, megabytes, snap)
            write(part, megabytes // 4, snap)
            size = os.path.getsize(path)
            with open(path, "rb") as file:
                while file.read(1 << 20):
                    pass
            results = {program: [] for program, _ in programs}
            for _ in range(rounds):
                for program, argv in programs:
                    if shutil.which(argv[0]):
                        results[program].append(timed(argv + [path]))
            for program, rows in results.items():
                if not rows:
                    print(f"{name}: {program} skipped: not installed")
                elif None in rows:
                    print(f"{name}: {program} failed")
                else:
                    seconds, processors, megabytes_resident = map(statistics.median, zip(*rows))
                    print(f"{name}: {program:10s} {size / seconds / 1e9:7.3f} GB/s, {size / processors / 1e9:7.3f} GB "
                          f"a second of processors, {megabytes_resident:6.0f} MB resident")
            small = timed(programs[0][1] + [part])
            print(f"{name}: tightlink on a quarter of it: {small[2]:.0f} MB resident")


main()
