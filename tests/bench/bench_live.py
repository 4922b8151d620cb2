#!/usr/bin/env python3
"""What watching costs: processor time of `tightlink live` beside 1,000 connections over loopback,
and of `ss -tin` once a second beside the same ones. Prints medians of the rounds.

    bench_live.py TIGHTLINK [CONNECTIONS] [ROUNDS]
"""
import resource
import socket
import statistics
import subprocess
import sys
import time

SECONDS = 10


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def live_for(tightlink, seconds):
    before = children_cpu()
    subprocess.run([tightlink, "live", "--all", "--for", f"{seconds}s", "--json-lines"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return children_cpu() - before


def live(tightlink):
    """What going on costs: a long run less a short one, both with their start and end."""
    return (live_for(tightlink, SECONDS + 2) - live_for(tightlink, 2)) / SECONDS


def ss():
    before, end = children_cpu(), time.monotonic() + SECONDS
    while time.monotonic() < end:
        subprocess.run(["ss", "-tin"], stdout=subprocess.DEVNULL)
        time.sleep(1)
    return (children_cpu() - before) / SECONDS


def main():
    tightlink = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 2 * count + 100), most))
    listener = socket.create_server(("127.0.0.1", 0), backlog=count)
    pairs = []
    for _ in range(count // 2):  # each has both its ends here
        client = socket.create_connection(listener.getsockname())
        pairs.append((client, listener.accept()[0]))
    for client, _ in pairs[:20]:
        client.sendall(bytes(1000))
    shares = {"tightlink live": [], "ss -tin at 1 Hz": []}
    for _ in range(rounds):
        shares["tightlink live"].append(live(tightlink))
        shares["ss -tin at 1 Hz"].append(ss())
    for name, values in shares.items():
        print(f"{name:16} {100 * statistics.median(values):5.2f} % of a core beside "
              f"{2 * len(pairs)} connections ({len(values)} rounds of {SECONDS} s)")


main()
