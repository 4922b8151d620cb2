#!/usr/bin/env python3
"""Runs every fuzz target of a build again and again, with seeds that no run had before, as many side
by side as there are processors. The first that fails ends it, and its seed is told.

    hour.py FOLDER SECONDS     FOLDER holds the targets, fuzz-*
"""
import concurrent.futures
import itertools
import os
import pathlib
import secrets
import subprocess
import sys
import time

MUTATIONS = 50000  # some seconds to two minutes for each target
OVER_SOCKETS = {"fuzz-session": 20000, "fuzz-client": 2000}


def run(target, seed):
    """What it said, when it failed."""
    count = OVER_SOCKETS.get(target.name, MUTATIONS)
    done = subprocess.run([target, str(count), str(seed)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return f"{target} {count} {seed}: exit code {done.returncode}\n{done.stdout}" \
        if done.returncode else ""


def main():
    folder, seconds = pathlib.Path(sys.argv[1]), float(sys.argv[2])
    targets = sorted(path for path in folder.glob("fuzz-*")
                     if path.is_file() and os.access(path, os.X_OK))
    if not targets:
        sys.exit(f"no fuzz target is in {folder}")
    os.nice(19)  # what runs beside it waits for nobody
    until, runs = time.monotonic() + seconds, 0
    turns = itertools.cycle(targets)
    processors = os.cpu_count() or 1
    with concurrent.futures.ThreadPoolExecutor(processors) as pool:
        while time.monotonic() < until:
            batch = [(next(turns), secrets.randbits(32)) for _ in range(processors)]
            failures = [said for said in pool.map(lambda job: run(*job), batch) if said]
            runs += len(batch)
            if failures:
                sys.exit("\n".join(failures))
    print(f"{runs} runs of {len(targets)} targets, up to {MUTATIONS} mutations each, no fault")


if __name__ == "__main__":
    main()
