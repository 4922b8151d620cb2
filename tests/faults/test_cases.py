#!/usr/bin/env python3
"""The runner of cases itself: a name that is none, a case that fails, one that cannot be tried."""
import os
import subprocess
import sys

PROGRAM = """
import sys
import threading
from cases import Skipped, case, run, slow, waits

met = threading.Barrier(2, timeout=5)

@case
def holds():
    pass

@case
def fails():
    assert not sys.argv[1:], "as it should"

@waits
def meets_its_like():
    met.wait()

@waits
def meets_another():
    met.wait()

@slow
def cannot_be_tried():
    raise Skipped("not here")

run(sys.argv[1:])
"""
WANTED = (
    (["holds"], 0, "ok holds"),
    (["fails"], 1, "FAILED fails"),
    ([], 0, "ok fails"),
    (["--slow"], 77, "skipped cannot_be_tried: not here"),
    (["holds", "cannot_be_tried"], 0, "ok holds"),
    (["hold"], 2, "no case is called hold"),
    (["meets_its_like", "meets_another"], 0, "ok meets_another"),
    (["meets_its_like"], 1, "FAILED meets_its_like"),
    (["holds", "--long"], 2, "no case is called --long"),
)

for arguments, code, words in WANTED:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True,
                          cwd=os.path.dirname(os.path.abspath(__file__)), timeout=20)
    said = done.stdout + done.stderr
    assert done.returncode == code and words in said, (arguments, done.returncode, said)
print(f"{len(WANTED)} ways to choose cases")
