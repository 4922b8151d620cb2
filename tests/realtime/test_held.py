#!/usr/bin/env python3
"""What a machine takes of a program's time is told: one that is stopped stands for a machine that is."""
import itertools
import signal
import struct
import time
from unittest import mock

import held

TURNS = 5


class Clock:
    """Stands for half a second before one of its readings."""

    def __init__(self, late_reading):
        self.now, self.late_reading, self.readings = 0.0, late_reading, itertools.count(1)

    def monotonic(self):
        self.now += 0.5 if next(self.readings) == self.late_reading else 0
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def watched(clock):
    """What is told of a few turns by that clock."""
    shared = bytearray(16)
    with mock.patch.object(held, "time", clock), \
            mock.patch.object(held.os, "getppid", side_effect=[1] * TURNS + [0]):
        held.watch(shared, parent=1)
    return struct.unpack("dd", shared)[0]


for reading in range(2, 2 + TURNS):
    told = watched(Clock(reading))
    assert abs(told - 0.5) < 0.01, f"{told:.2f} s where it stood before reading {reading} of the clock"

with held.Held() as watcher:
    before = watcher.seconds()
    watcher.process.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    meanwhile = watcher.seconds() - before
    watcher.process.send_signal(signal.SIGCONT)
    time.sleep(0.2)
    after = watcher.seconds() - before
    assert meanwhile > 0.4, f"{meanwhile:.2f} s while it stands still"
    assert after > 0.4, f"{after:.2f} s when it goes on"
print(f"held up for 0.5 s: {meanwhile:.2f} s, {after:.2f} s afterwards")
