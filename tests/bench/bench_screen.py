#!/usr/bin/env python3
"""What the screen costs while the engine runs at full speed: the rate of one stream over loopback
with the screen and without it (tightlink run, on a terminal too), in turns of changing order; the
share of a core that the screen's thread takes; the
time from a key to its first cells. Prints medians and judges nothing.
Arguments: tightlink, tightlinkd, print-fixture; then optionally how many turns (5)."""
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "screen"))
from terminal import HOME, RESPONDER, TIGHTLINK, Terminal  # noqa: E402

TARGETS = {"share of a core": 0.03, "latency": 0.050}


def start_responder():
    read_end, write_end = os.pipe()
    daemon = subprocess.Popen([RESPONDER, "--open", "--port", "0", "--bind", "127.0.0.1",
                               "--ready-fd", str(write_end)], pass_fds=[write_end],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(write_end)
    line = os.read(read_end, 200).decode()
    os.close(read_end)
    return daemon, re.findall(r"\d+", line)[-1]


def goodput(run):
    facts = run["facts"]
    fact = facts["download.goodput_bps"] if isinstance(facts, dict) else next(
        fact for fact in facts if fact["id"] == "download.goodput_bps")
    return fact["value"]


def arguments(port):
    return ["--port", port, "--yes", "--stages", "stream", "--time-budget", "8s", "--data-budget", "60GB"]


def without_screen(port):
    """The same in all but the screen: a terminal of its own, which is read, and a history."""
    path = HOME + "/plain.tightlink"
    terminal = Terminal("run", "127.0.0.1", *arguments(port), "--save", path, rows=40, cols=120)
    terminal.wait(60)
    os.close(terminal.slave)
    os.close(terminal.master)
    done = subprocess.run([TIGHTLINK, "explain", path, "--json"], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    os.unlink(path)
    return goodput(json.loads(done.stdout))


def thread_seconds(pid):
    """Processor time of the main thread, which is the screen's."""
    with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def key_latency(terminal, key, text):
    terminal.seen = b""
    begun = time.monotonic()
    terminal.keys(key)
    while text not in terminal.seen:
        if time.monotonic() - begun > 5:
            sys.exit(f"{text!r} did not come")
        terminal.seen += os.read(terminal.master, 65536)
    return time.monotonic() - begun


def with_screen(port):
    terminal = Terminal("127.0.0.1", *arguments(port), rows=40, cols=120)
    terminal.expect(b"hosts")
    terminal.keys(b"\r")
    terminal.expect(b"The stream waits for", 60)
    pid = terminal.child.pid
    before, begun, latencies = thread_seconds(pid), time.monotonic(), []
    while time.monotonic() - begun < 2.5:
        terminal.read(0.1)
    share = (thread_seconds(pid) - before) / (time.monotonic() - begun)
    for _ in range(5):
        latencies.append(key_latency(terminal, b"?", "┌".encode()))
        terminal.keys(b" ")
        terminal.read(0.15)
    terminal.expect("↓ more".encode(), 60)
    terminal.keys(b"3s")
    terminal.expect(b"saved as", 20)
    terminal.keys(b"q")
    terminal.wait()
    os.close(terminal.slave)
    os.close(terminal.master)
    (path,) = glob.glob(HOME + "/tightlink-*.json")
    with open(path, encoding="utf-8") as file:
        run = json.load(file)
    os.unlink(path)
    return goodput(run), share, latencies


def main():
    turns = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    plain, drawn, shares, latencies = [], [], [], []
    daemon, port = start_responder()
    try:
        for turn in range(turns):
            if turn % 2 == 0:
                plain.append(without_screen(port))
            rate, share, some = with_screen(port)
            if turn % 2:
                plain.append(without_screen(port))
            drawn.append(rate)
            shares.append(share)
            latencies += some
    finally:
        daemon.terminate()
        daemon.wait()
    a, b = statistics.median(plain), statistics.median(drawn)
    print(f"one stream over loopback, medians of {turns}: {a / 1e9:.2f} Gb/s without the screen "
          f"({min(plain) / 1e9:.2f} to {max(plain) / 1e9:.2f}), {b / 1e9:.2f} Gb/s with it "
          f"({min(drawn) / 1e9:.2f} to {max(drawn) / 1e9:.2f}): {100 * (b / a - 1):+.1f} %")
    print(f"the screen's thread: {100 * statistics.median(shares):.2f} % of a core (most "
          f"{100 * max(shares):.2f} %; target {100 * TARGETS['share of a core']:.0f} %)")
    print(f"key to first cells: {1000 * statistics.median(latencies):.1f} ms (most "
          f"{1000 * max(latencies):.1f} ms; target {1000 * TARGETS['latency']:.0f} ms)")


main()
