#!/usr/bin/env python3
"""How long this machine kept a program waiting that wanted to run: told by a process of its own, which
sleeps and wakes, and has nothing to do with what is tested. A test that holds something to a time adds
what the machine took of it."""
import mmap
import os
import struct
import subprocess
import sys
import time

TICK_S = 0.01
LATE_S = 0.02  # that any machine may be late


def watch(shared, parent):
    """Until the parent is gone: adds up by how much each tick was late."""
    total, ticked = 0.0, time.monotonic()
    while os.getppid() == parent:
        time.sleep(TICK_S)
        now = time.monotonic()  # the only one of a tick: no moment lies between two
        late = now - ticked - TICK_S
        total += late if late > LATE_S else 0
        ticked = now
        shared[:16] = struct.pack("dd", total, ticked)


class Held:
    """with Held() as held: ... held.seconds() so far; what is under way counts, too."""

    def __enter__(self):
        fd = os.memfd_create("held")
        os.ftruncate(fd, mmap.PAGESIZE)
        self.shared = mmap.mmap(fd, mmap.PAGESIZE)
        self.process = subprocess.Popen([sys.executable, "-I", os.path.abspath(__file__), str(fd),
                                         str(os.getpid())], pass_fds=[fd])
        os.close(fd)
        while self.read()[1] == 0:  # until it ticks
            assert self.process.poll() is None, "nobody watches the machine"
            time.sleep(TICK_S)
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()
        self.shared.close()

    def read(self):
        return struct.unpack("dd", self.shared[:16])

    def seconds(self):
        total, ticked = self.read()
        return total + max(0.0, time.monotonic() - ticked - TICK_S - LATE_S)


if __name__ == "__main__":
    watch(mmap.mmap(int(sys.argv[1]), mmap.PAGESIZE), int(sys.argv[2]))
