#!/usr/bin/env python3
"""tightlink demo on a terminal: the run on the screen, the verdict, the fix tried with its HIT, and
after leaving the text with the truth. Arguments: tightlink, tightlinkd, print-fixture."""
import glob
import re
import subprocess
import sys

from terminal import HOME, TIGHTLINK, Tmux


def main():
    doctor = subprocess.run([TIGHTLINK, "doctor"], stdout=subprocess.PIPE, check=False).stdout
    if not re.search(rb"^ok +demo ", doctor, re.M):
        print("skipped: no emulated path on this machine:", doctor.decode())
        sys.exit(77)
    terminal = Tmux("demo", "--link", "rate=100M delay=20ms near.rmem=128KiB", rows=40, cols=120)
    terminal.expect("emulated path")
    terminal.expect("stream, download", 40)
    terminal.expect("The stream waits for", 40)
    terminal.expect("[3 Verdict]", 90)
    terminal.expect("receive buffer")
    terminal.keys("v")
    terminal.expect("[running]", 10)
    terminal.expect("HIT: the prediction came true", 40)
    terminal.keys("q\x1bq")
    terminal.ended("q after a demo")
    if glob.glob(HOME + "/data/tightlink/history*"):
        sys.exit("a demo went into the history")
    print("a demo is seen on the screen, and its fix is tried there")


main()
