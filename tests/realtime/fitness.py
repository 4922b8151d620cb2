#!/usr/bin/env python3
"""Whether this machine keeps time just now, measured without the programs under test.

A case that measures real time asks before it begins: what was seen afterwards could be the
case's own doing. Three figures are looked at, each of which spoils an emulated path by itself:
how late a sleeper is woken, what share of a core a busy program gets, and what a hypervisor
took (proc_stat(5), "steal").

    fitness.py [SECONDS]   waits up to that long; exit 0 when fit, 77 when not, with the figures
"""
import dataclasses
import os
import sys
import threading
import time

SLEEPS, SLEEP_S = 100, 0.002
SPIN_S = 0.1
# An emulator that is woken a millisecond late adds that to a round trip of 10 to 600 ms, and calls
# itself too busy when 1 % of its packets left over 2 ms late.
LATE_S = 0.001
# A sender and a receiver of 100 Mb/s need less than half a core on any machine of the last decade.
SHARE = 0.7
STEAL = 0.05
BETWEEN_S = 2

# Threads of one program look one after another: two that look at once take the interpreter from
# each other and see half a core each, whatever the machine does.
ONE_AT_A_TIME = threading.Lock()


@dataclasses.dataclass
class Figures:
    late_s: float  # 95 of 100 sleepers were woken earlier than that
    share: float   # of one core, for a program that only computes
    steal: float   # of one core

    def fit(self):
        return self.late_s <= LATE_S and self.share >= SHARE and self.steal <= STEAL

    def __str__(self):
        return (f"a sleeper was woken {self.late_s * 1e3:.1f} ms late (limit {LATE_S * 1e3:.0f}), "
                f"a busy program got {self.share:.0%} of a core (at least {SHARE:.0%}), "
                f"a hypervisor took {self.steal:.0%} (at most {STEAL:.0%})")


def stolen_s():
    """Seconds that a hypervisor gave to others since the start, on all cores."""
    try:
        with open("/proc/stat") as table:
            return int(table.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0


def look():
    """One look: 0.3 s."""
    with ONE_AT_A_TIME:
        return look_alone()


def look_alone():
    begin, stolen = time.monotonic(), stolen_s()
    late = []
    for _ in range(SLEEPS):
        due = time.monotonic() + SLEEP_S
        time.sleep(SLEEP_S)
        late.append(time.monotonic() - due)
    spin, cpu = time.monotonic(), time.thread_time()
    while time.monotonic() < spin + SPIN_S:
        pass
    share = (time.thread_time() - cpu) / (time.monotonic() - spin)
    steal = (stolen_s() - stolen) / (time.monotonic() - begin)
    return Figures(sorted(late)[len(late) * 95 // 100], share, steal)


def wait(seconds):
    """The figures of the first look that was fit, else those of the last one within the time."""
    until = time.monotonic() + seconds
    figures = look()
    while not figures.fit() and time.monotonic() < until:
        time.sleep(min(BETWEEN_S, max(0, until - time.monotonic())))
        figures = look()
    return figures


def main():
    figures = wait(float(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print("fit:" if figures.fit() else "not fit:", figures)
    return 0 if figures.fit() else 77


if __name__ == "__main__":
    sys.exit(main())
