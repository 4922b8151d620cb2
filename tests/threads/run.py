#!/usr/bin/env python3
"""Short tests of every kind between the engine's drivers and tightlinkd, all built with
ThreadSanitizer: any report of a data race fails. Criterion's runner cannot live with that
sanitizer, so that the unit tests do not serve here.

  meson setup build/threads --buildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false
  meson test -C build/threads --suite threads

run.py TIGHTLINKD ENGINE-LOAD ENGINE-LOAD-UDP TIGHTLINK"""
import glob
import os
import signal
import subprocess
import sys
import tempfile

TCP = ("streams=4 direction=up", "streams=8 direction=down", "streams=2 direction=both",
       "discard=1 direction=up path=splice", "direction=up path=zerocopy")
UDP = ("direction=up", "direction=down", "direction=up gso=20 gro=1 seconds=1",
       "direction=down rate=20000000", "direction=down trains=5 length=50")


def run(*argv, seconds=60):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=seconds)
    if done.returncode not in (0, 4, 66):  # 4: a verdict that is not sure, 66: of the sanitizer
        sys.exit(f"{' '.join(map(str, argv))}: exit {done.returncode}\n{done.stderr[-2000:]}")


def make_key(folder):
    path = os.path.join(folder, "lab.key")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as key:
        key.write("lab " + "0123456789abcdef" * 4 + "\n")
    return path


def start_responder(program, disk):
    ready, write = os.pipe()
    daemon = subprocess.Popen([program, "--open", "--key", make_key(disk), "--no-sandbox", "--bind", "127.0.0.1", "--port",
                               "0", "--rate-cap", "2G", "--disk", disk, "--ready-fd", str(write)],
                              pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(ready) as pipe:
        line = pipe.read()
    if not line.startswith("listening on port "):
        sys.exit("tightlinkd did not start")
    return daemon, line.split()[-1]


def work(tightlinkd, load, load_udp, tightlink, folder):
    daemon, port = start_responder(tightlinkd, folder)
    try:
        for how in TCP:
            run(load, "127.0.0.1", port, "seconds=1", *how.split())
        for how in UDP:
            run(load_udp, "127.0.0.1", port, "seconds=0.5", *how.split())
        run(tightlink, "run", "127.0.0.1", "--port", port, "--yes", "--json", "--stages",
            "stream,streams,udp,disk,disk-to-disk", "--disk", folder, "--far-disk",
            "--time-budget", "40s", seconds=120)
        # Echoes in a thread of their own say tokens of the channel, and the keys are read again.
        daemon.send_signal(signal.SIGHUP)
        run(tightlink, "run", "127.0.0.1", "--port", port, "--key", os.path.join(folder, "lab.key"),
            "--yes", "--json", "--stages", "stream,udp", "--time-budget", "15s", seconds=120)
    finally:
        daemon.terminate()
        daemon.wait(20)


def main():
    programs = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="tightlink-threads-", dir="/var/tmp") as folder:
        os.environ["XDG_DATA_HOME"] = folder
        os.environ["TSAN_OPTIONS"] = f"log_path={folder}/report"
        work(*programs, folder)
        reports = [open(name, encoding="utf-8").read() for name in glob.glob(f"{folder}/report*")]
    print("\n".join(reports)[:20000] or "no data race was seen")
    return 1 if reports else 0


if __name__ == "__main__":
    sys.exit(main())
