#!/usr/bin/env python3
"""The program on a pseudo-terminal: the screen comes, a run goes from key to verdict, and the
terminal is as it was after every way out. Arguments: tightlink, tightlinkd, print-fixture."""
import fcntl
import os
import pty
import random
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

TIGHTLINK, RESPONDER, FIXTURE = sys.argv[1:4]
LEAVE = b"\x1b[?1049l"  # rmcup of xterm
ENTER = b"\x1b[?1049h"


class Terminal:
    """tightlink as the child of a terminal that this test holds."""

    def __init__(self, *arguments, rows=24, cols=80, **environment):
        self.master, slave = pty.openpty()
        self.slave = slave  # held open, so that its settings can be read afterwards
        self.resize(rows, cols, None)
        self.before = termios.tcgetattr(slave)
        self.seen = b""
        env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL")}
        env.update({"TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_CTYPE": "C.UTF-8"})
        env.update(environment)
        self.child = subprocess.Popen([TIGHTLINK, *arguments], stdin=slave, stdout=slave,
                                      stderr=slave, env=env, preexec_fn=self.own_terminal)

    def own_terminal(self):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, rows, cols, child):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        if child:
            child.send_signal(signal.SIGWINCH)

    def read(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.master], [], [], left)[0]:
                self.seen += os.read(self.master, 65536)
            elif self.child.poll() is not None:
                return

    def expect(self, text, seconds=20):
        end = time.monotonic() + seconds
        while text not in self.seen:
            if time.monotonic() > end:
                self.child.kill()
                sys.exit(f"{text!r} did not come; the end of what came: {self.seen[-3000:]!r}")
            self.read(0.05)
        self.seen = self.seen[self.seen.index(text) + len(text):]

    def keys(self, text):
        os.write(self.master, text)

    def wait(self, seconds=15):
        end = time.monotonic() + seconds
        while self.child.poll() is None and time.monotonic() < end:
            self.read(0.05)
        if self.child.poll() is None:
            self.child.kill()
            sys.exit(f"it did not end; the last that came: {self.seen[-2000:]!r}")
        self.read(0.1)
        return self.child.returncode

    def restored(self, what):
        after = termios.tcgetattr(self.slave)
        if after != self.before:
            sys.exit(f"{what}: the terminal's settings are not as before")
        if LEAVE not in self.seen:
            sys.exit(f"{what}: the alternate screen was not left: {self.seen[-500:]!r}")
        os.close(self.slave)
        os.close(self.master)


def expect_equal(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found}, wanted {wanted}")


def start_responder():
    """Slow, so that the test is light; on a port that the system chooses."""
    read_end, write_end = os.pipe()
    daemon = subprocess.Popen([RESPONDER, "--open", "--port", "0", "--bind", "127.0.0.1",
                               "--rate-cap", "20M", "--ready-fd", str(write_end)],
                              pass_fds=[write_end], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    os.close(write_end)
    line = os.read(read_end, 200).decode()
    os.close(read_end)
    numbers = re.findall(r"\d+", line)
    if not numbers:
        daemon.kill()
        sys.exit(f"the responder said {line!r}")
    return daemon, numbers[-1]


def a_saved_run_is_shown_and_left(path):
    terminal = Terminal("show", path)
    terminal.expect(ENTER)
    terminal.expect(b"3 Verdict")
    terminal.keys(b"4")
    terminal.expect(b"under load")
    terminal.keys(b"q")
    code = terminal.wait()
    terminal.restored("q")
    if code not in (0, 1, 4):
        sys.exit(f"show ended with {code}")
    if b"Disturbances" not in terminal.seen.split(LEAVE)[-1]:
        sys.exit("after q the verdict is not in the scrollback as text")


def a_signal_restores(path, number):
    terminal = Terminal("show", path)
    terminal.expect(b"3 Verdict")
    terminal.child.send_signal(number)
    terminal.wait()
    terminal.restored(f"signal {number}")


def a_crash_restores(path):
    terminal = Terminal("show", path)
    terminal.expect(b"3 Verdict")
    terminal.child.send_signal(signal.SIGSEGV)
    code = terminal.wait()
    terminal.restored("a crash")
    # Under a sanitizer the report ends the program; else the signal does.
    if code not in (-signal.SIGSEGV, 1):
        sys.exit(f"a crash ended with {code}")


def stopping_and_coming_back(path):
    terminal = Terminal("show", path)
    terminal.expect(b"3 Verdict")
    terminal.read(0.2)
    terminal.child.send_signal(signal.SIGTSTP)
    terminal.expect(LEAVE)
    pid, status = os.waitpid(terminal.child.pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        sys.exit("Ctrl-Z did not stop it")
    expect_equal("settings while stopped", termios.tcgetattr(terminal.slave), terminal.before)
    terminal.child.send_signal(signal.SIGCONT)
    terminal.expect(b"3 Verdict")
    terminal.keys(b"q")
    terminal.wait()
    terminal.restored("q after Ctrl-Z")


def sizes_at_random(path, seconds):
    terminal = Terminal("show", path)
    terminal.expect(b"3 Verdict")
    chance, end = random.Random(1), time.monotonic() + seconds
    while time.monotonic() < end:
        terminal.resize(chance.randint(1, 70), chance.randint(1, 200), terminal.child)
        terminal.keys(chance.choice([b"?", b"4", b"3", b"j", b"f", b" "]))
        terminal.read(0.03)
        if terminal.child.poll() is not None:
            sys.exit(f"it died while the terminal changed: {terminal.child.returncode}")
    terminal.resize(24, 80, terminal.child)
    terminal.keys(b"  ")  # closes an overlay
    terminal.seen = b""
    terminal.keys(b"3")
    terminal.expect(b"3 Verdict")
    terminal.keys(b"q")
    terminal.wait()
    terminal.restored("q after many sizes")


def a_run_from_start_to_verdict(port):
    terminal = Terminal("127.0.0.1", "--port", port, "--stages", "stream", "--time-budget", "5s")
    terminal.expect(b"Other end")
    terminal.expect(b"hosts")  # the plan has come
    terminal.keys(b"\r")
    terminal.expect(b"Load the path?", 30)
    terminal.keys(b"y")
    terminal.expect(b"waiting for")
    terminal.keys(b"q")
    terminal.expect(b"A diagnosis is running")
    terminal.keys(b"n")
    terminal.expect(b"10 GB file", 60)
    terminal.keys(b"q")
    code = terminal.wait()
    terminal.restored("q after a run")
    if code not in (0, 4):
        sys.exit(f"the run ended with {code}")


def a_run_that_is_ended_by_a_signal(port):
    terminal = Terminal("127.0.0.1", "--port", port, "--yes")
    terminal.expect(b"hosts")
    terminal.keys(b"\r")
    terminal.expect(b"waiting for", 30)
    terminal.child.send_signal(signal.SIGTERM)
    code = terminal.wait()
    terminal.restored("SIGTERM in a run")
    expect_equal("exit code", code, 130)


def without_a_screen(path):
    terminal = Terminal("show", path, TERM="dumb")
    terminal.wait()
    if ENTER in terminal.seen or b"Disturbances" not in terminal.seen:
        sys.exit("TERM=dumb does not give the plain text")
    done = subprocess.run([TIGHTLINK, "show", path], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, check=False)
    if b"\x1b" in done.stdout or b"Disturbances" not in done.stdout:
        sys.exit("without a terminal it does not print the plain text")


def main():
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/run.json"
        with open(path, "wb") as file:
            subprocess.run([FIXTURE, "limited", "json"], stdout=file, check=True)
        a_saved_run_is_shown_and_left(path)
        for number in (signal.SIGTERM, signal.SIGHUP):
            a_signal_restores(path, number)
        a_crash_restores(path)
        stopping_and_coming_back(path)
        without_a_screen(path)
        sizes_at_random(path, 10)
        daemon, port = start_responder()
        try:
            a_run_from_start_to_verdict(port)
            a_run_that_is_ended_by_a_signal(port)
        finally:
            daemon.terminate()
            daemon.wait()
    print("the screen comes, and the terminal is restored")


main()
