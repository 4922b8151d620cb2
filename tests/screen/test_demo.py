#!/usr/bin/env python3
"""tightlink demo on a terminal: the run on the screen, the verdict, the fix tried with its HIT, and
after leaving the text with the truth. Arguments: tightlink, tightlinkd, print-fixture."""
import glob
import os
import re
import subprocess
import sys

from terminal import HOME, TIGHTLINK, Tmux

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir, "realtime"))
import policy  # noqa: E402 (it lies beside)


def play():
    """The whole run; exits with a sentence where something else stands on the screen."""
    terminal = Tmux("demo", "--link", "rate=100M delay=20ms near.rmem=128KiB", rows=40, cols=120)
    try:
        terminal.expect("emulated path")
        terminal.expect("stream, download", 40)
        terminal.expect("The stream waits for", 40)
        terminal.expect("[3 Verdict]", 90)
        terminal.expect("receive buffer")
        terminal.keys("v")
        terminal.expect("[running]", 10)
        terminal.expect("HIT: the prediction came true", 60)
        terminal.keys("q")
        terminal.ended("q after a demo")
    except SystemExit as wrong:
        # A shell's exit code above 128 is a signal's.
        if re.search(r"ended 1(29|[3-9]\d)", str(wrong)):
            raise policy.Broken(wrong) from wrong
        return [str(wrong)]
    finally:
        terminal.command("kill-server", check=False)
    return []


def main():
    doctor = subprocess.run([TIGHTLINK, "doctor"], stdout=subprocess.PIPE, check=False).stdout
    if not re.search(rb"^ok +demo ", doctor, re.M):
        print("skipped: no emulated path on this machine:", doctor.decode())
        sys.exit(77)
    gate = policy.Gate()
    gate.run("a demo is seen on the screen, and its fix is tried there", play)
    if glob.glob(HOME + "/data/tightlink/history*"):
        sys.exit("a demo went into the history")
    sys.exit(gate.exit_code())


main()
