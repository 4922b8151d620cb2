#!/usr/bin/env python3
"""Grows the kept corpora with libFuzzer and minimises them.

    grow.py FUZZERS BUILD SECONDS [--jobs N] [--wall] [TARGET ...]

FUZZERS: a build by clang with -Dfuzzers=true and sanitizers; BUILD: an ordinary one, whose targets
print their seeds. Each target runs for that many seconds of processor time, however long it has to
wait for a processor, from its seeds and its corpus; with --wall, for as many on the clock: `client`
waits for its far end most of the time. What reaches a branch that nothing smaller reaches is written
to corpora/<target>.hex, one input a line. A target that fails leaves its input and what
it printed in FUZZERS, and ends this with code 1.

    CC=clang meson setup build/fuzz -Dfuzzers=true -Db_sanitize=address,undefined -Db_lundef=false
    ninja -C build/fuzz fuzz && ninja -C build/test fuzz
    tests/fuzz/grow.py build/fuzz build/test 3600
"""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CORPORA = pathlib.Path(__file__).resolve().parent / "corpora"
KEPT_MAX = 4096  # bytes of one kept input; libFuzzer tries up to what the driver takes
INPUT_MAX = 8192
SLICE_S = 300  # one run of libFuzzer, which knows the time on the wall alone


def unpack(lines, folder):
    for line in lines:
        data = bytes.fromhex(line)
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def pack(folder, path):
    inputs = {file.read_bytes() for file in folder.iterdir()}
    kept = sorted((data for data in inputs if 0 < len(data) <= KEPT_MAX),
                  key=lambda data: (len(data), data))
    path.write_text("".join(data.hex() + "\n" for data in kept))
    return len(kept), path.stat().st_size // 2


def libfuzzer(program, folder, *arguments):
    """Its exit code, what it printed and the processor time that it took, in seconds."""
    command = [program, "-max_len=%d" % INPUT_MAX, "-timeout=30", "-print_final_stats=1",
               "-use_value_profile=0", "-artifact_prefix=%s/" % folder, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as child:
        printed = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, printed, usage.ru_utime + usage.ru_stime


def number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def fuzz(program, folder, grown, seconds, wall):
    """What a target's failing run printed, else "", the inputs that it tried and its seconds of a processor."""
    tried = spent_s = passed_s = 0
    while passed_s < seconds:
        slice_s = min(SLICE_S, int(seconds - passed_s) + 1)
        code, printed, slice_spent_s = libfuzzer(program, folder, f"-max_total_time={slice_s}",
                                                 str(grown))
        if code:
            program.with_suffix(".log").write_text(printed)
            return f"exit code {code}, see {program}.log\n{printed[-3000:]}", tried, spent_s
        tried += number(r"number_of_executed_units:\s*(\d+)", printed)
        spent_s += slice_spent_s
        passed_s += slice_s if wall else slice_spent_s
    return "", tried, spent_s


def grow(name, fuzzers, build, seconds, wall):
    """One target: the line that tells of it, and whether it held."""
    program, path = fuzzers / f"fuzz-{name}", CORPORA / f"{name}.hex"
    with tempfile.TemporaryDirectory() as temporary:
        grown, merged = (pathlib.Path(temporary) / part for part in ("grown", "merged"))
        grown.mkdir()
        merged.mkdir()
        seeds = subprocess.run([build / f"fuzz-{name}", "--seeds"], capture_output=True, text=True,
                               check=True).stdout
        unpack(seeds.split() + (path.read_text().split() if path.exists() else []), grown)
        failed, tried, spent_s = fuzz(program, fuzzers, grown, seconds, wall)
        if failed:
            return f"{name}: {failed}", False
        # By branches alone: how often each is taken would keep ten times as many.
        code, printed, _ = libfuzzer(program, fuzzers, "-merge=1", "-use_counters=0", str(merged),
                                     str(grown))
        if code:
            return f"{name}: merging ended with code {code}\n{printed[-2000:]}", False
        edges = number(r"cov: (\d+)", printed)
        count, size = pack(merged, path)
    return (f"{name}: {tried} inputs in {spent_s:.0f} s of a processor, {edges} edges, no fault; "
            f"{count} kept, {size} bytes"), True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fuzzers", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("seconds", type=int)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--wall", action="store_true")
    parser.add_argument("target", nargs="*")
    asked = parser.parse_intermixed_args()
    fuzzers, build = (folder.resolve() / "tests" / "fuzz" for folder in (asked.fuzzers, asked.build))
    names = asked.target or sorted(path.name[len("fuzz-"):] for path in fuzzers.glob("fuzz-*")
                                   if path.is_file() and os.access(path, os.X_OK))
    if not names:
        sys.exit(f"no fuzz target is in {fuzzers}")
    held = True
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        for said, good in pool.map(
                lambda name: grow(name, fuzzers, build, asked.seconds, asked.wall), names):
            print(said, flush=True)
            held &= good
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
