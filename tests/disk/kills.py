#!/usr/bin/env python3
"""Promise P8: disk tests touch nothing that exists and leave nothing, whenever they are killed.

    kills.py PROGRAM [KILLS]

PROGRAM is disk-load: it tests the directory that it is given, over and over. The directory
holds files, a link and a pipe; all of it is hashed before and after. PROGRAM is killed with
SIGKILL at KILLS instants (50 unless told otherwise) spread over its work; after each no file
more may be there and no byte of the disk may be missing. Where files have to have a name (--named) a kill
within the call that makes one leaves the name, of a file without a byte: between open(2) and unlink(2)
nobody but the killed could take it away. Standard library only."""
import hashlib
import os
import pathlib
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time


def fill(folder):
    (folder / "mine").write_bytes(os.urandom(100_000))
    (folder / "sub").mkdir()
    (folder / "sub" / ".tightlink-0000000000000000").write_text("mine too\n")
    (folder / "link").symlink_to("mine")
    os.mkfifo(folder / "pipe")


def tree(folder):
    """Name, kind, mode, size, time of change and content of everything in it."""
    seen = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        seen.update(repr((str(path.relative_to(folder)), stat.filemode(state.st_mode),
                          state.st_size, state.st_mtime_ns, state.st_nlink)).encode())
        if stat.S_ISREG(state.st_mode):
            seen.update(path.read_bytes())
        elif stat.S_ISLNK(state.st_mode):
            seen.update(os.readlink(path).encode())
    return seen.hexdigest()


def take_empty_name(folder):
    """Removes the name that a kill left between making and unlinking; whether there was one."""
    left = [path for path in folder.glob(".tightlink-*") if path.lstat().st_size == path.lstat().st_blocks == 0]
    for path in left:
        path.unlink()
    assert len(left) <= 1, left
    return len(left)


def deleted_files(folder):
    """Descriptors of any process that still hold a file without a name in it."""
    held = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        for link, target in descriptors(process):
            if target.startswith(str(folder)) and "(deleted)" in target:
                held.append(f"{link} -> {target}")
    return held


def descriptors(process):
    """What a process holds open, as (link, target); nothing of one that has ended meanwhile."""
    try:
        links = list((process / "fd").iterdir())
    except OSError:
        return
    for link in links:
        try:
            yield link, os.readlink(link)
        except OSError:
            continue


def kill_once(program, folder, wait_s, arguments):
    child = subprocess.Popen([program, str(folder), *arguments], stdout=subprocess.DEVNULL)
    time.sleep(wait_s)
    ended = child.poll()
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert ended is None, f"{program} ended by itself with {ended}"


def main():
    program, kills = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 50
    chance = random.Random(5411)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tightlink-kills-", dir="/var/tmp"))
    try:
        fill(folder)
        before = tree(folder)
        names = 0
        for number in range(kills):
            # Most of them in the first moments: opening, unlinking, reserving.
            wait_s = chance.uniform(0, 0.05) if number % 2 else chance.uniform(0, 0.5)
            named = ["--named"] if number % 3 == 0 else []
            kill_once(program, folder, wait_s, named)
            names += take_empty_name(folder) if named else 0
            assert tree(folder) == before, f"kill {number} after {wait_s:.3f} s left a trace"
            held = deleted_files(folder)
            assert not held, f"kill {number}: {held}"
        # A few instants of a loop are within that call; a program that keeps its names leaves one each time.
        assert names <= max(1, kills // 20), f"{names} names were left by {kills} kills"
        print(f"{kills} kills: {names} names of empty files, 0 bytes, nothing changed")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
