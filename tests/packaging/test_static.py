#!/usr/bin/env python3
"""packaging/build-static makes one file that needs no other, locks itself in and serves this client.

    test_static.py SOURCE-ROOT TIGHTLINK [SOURCES]

SOURCES: a folder with the sources of its libraries; otherwise Debian's are fetched.
"""
import pathlib
import subprocess
import sys
import tempfile

from old_and_new import SKIPPED, measure


def interpreter(program):
    """Whether the program asks for a dynamic linker: a segment PT_INTERP (elf(5)), 64 bits."""
    head = program.read_bytes()[:4096]
    assert head[:5] == b"\x7fELF\x02", head[:5]
    begin = int.from_bytes(head[32:40], "little")
    size, count = (int.from_bytes(head[at:at + 2], "little") for at in (54, 56))
    types = [int.from_bytes(head[begin + i * size:begin + i * size + 4], "little") for i in range(count)]
    return 3 in types


def main():
    root, tightlink, *sources = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as work:
        made = subprocess.run([root / "packaging/build-static", work, *sources], text=True,
                              capture_output=True, check=False)
        lacks = [line for line in made.stderr.splitlines() if line.startswith("E: ")]
        if made.returncode != 0 and lacks:
            print(f"skipped: the sources of its libraries cannot be had here: {lacks[0]}")
            return SKIPPED
        assert made.returncode == 0, made.stderr
        program = pathlib.Path(work, "tightlinkd")
        assert not interpreter(program) and interpreter(tightlink)
        protected = subprocess.run([program, "--open", "--check"], text=True, capture_output=True,
                                   check=False)
        assert protected.returncode == 0, protected.stdout + protected.stderr
        print(measure(tightlink, program, pathlib.Path(work, "run.json")))
        print(f"one file of {program.stat().st_size} bytes, protected and measured against")
    return 0


sys.exit(main())
