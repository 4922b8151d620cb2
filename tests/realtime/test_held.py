#!/usr/bin/env python3
"""What a machine takes of a program's time is told: one that is stopped stands for a machine that is."""
import signal
import time

from held import Held

with Held() as held:
    before = held.seconds()
    held.process.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    meanwhile = held.seconds() - before
    held.process.send_signal(signal.SIGCONT)
    time.sleep(0.2)
    after = held.seconds() - before
    assert meanwhile > 0.4, f"{meanwhile:.2f} s while it stands still"
    assert after > 0.4, f"{after:.2f} s when it goes on"
print(f"held up for 0.5 s: {meanwhile:.2f} s, {after:.2f} s afterwards")
