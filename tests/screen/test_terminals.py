#!/usr/bin/env python3
"""Terminals of every kind, slow ones, and hostile text: the screen comes, keys are answered, only
printable text reaches the terminal (promise P12), and all is as it was afterwards.
Arguments: tightlink, tightlinkd, print-fixture; then optionally seconds of random sizes."""
import base64
import json
import os
import random
import re
import select
import subprocess
import sys
import time

from terminal import HOME, TIGHTLINK, Terminal, expect_equal, save_fixture, start_responder

# What a far end, a file or a name server could put into a text.
EVIL = "A\x1b]0;EVIL\x07\x1b[2J\x1b[31m\x9b31m\u202e\u200b\ufeff\x0e\x08\x7fZ"
RAW = [b"EVIL\x07", b"\x1b]0;", b"\xc2\x9b", "\u202e".encode(), "\u200b".encode(), "\ufeff".encode(),
       b"\x0e", b"\x7f"]
COPY = rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07"  # OSC 52: to the clipboard


def every_terminal_type(path):
    for term, alternate in (("xterm-256color", True), ("screen", True), ("screen-256color", True),
                            ("tmux", True), ("tmux-256color", True), ("linux", False),
                            ("vt100", False), ("vt220", False), ("ansi", False), ("dumb", None),
                            ("no-such-terminal", None), ("", None)):
        if subprocess.run(["infocmp", term or "dumb"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode and alternate is not None:
            print(f"skipped: this system does not know the terminal {term}")
            continue
        terminal = Terminal("show", path, TERM=term)
        if alternate is None:
            terminal.wait()
            if b"Disturbances" not in terminal.seen and b"not known" not in terminal.seen:
                sys.exit(f"TERM={term!r} gives neither text nor a reason: {terminal.seen!r}")
        else:
            terminal.expect(b"3 Verdict")
            terminal.keys(b"4")
            terminal.expect(b"under load")
            # As PuTTY and xterm send them, whatever the terminal is said to be: none of their bytes
            # is a key, and the screen is still that of the path.
            terminal.keys(b"\x1b[1;5C\x1b[1~")
            terminal.keys(b"\x1bOP")
            terminal.expect(b"another router")
            terminal.expect(b"Everywhere")
            terminal.keys(b" \x1b[21~")
            terminal.wait()
        settings_are_back(terminal, f"TERM={term}")


def terminals_that_this_system_does_not_know(path):
    """As over ssh from a terminal whose description is not installed here."""
    for term in ("xterm-kitty", "xterm-ghostty", "tmux-new", "screen.future"):
        terminal = Terminal("show", path, TERM=term)
        terminal.expect(b"3 Verdict")
        terminal.keys(b"q")
        terminal.wait()
        settings_are_back(terminal, f"TERM={term}")


def settings_are_back(terminal, what):
    import termios
    expect_equal(what + ": settings", termios.tcgetattr(terminal.slave), terminal.before)
    os.close(terminal.slave)
    os.close(terminal.master)


def without_colour_and_in_ascii(path):
    terminal = Terminal("show", path, NO_COLOR="1")
    terminal.expect(b"3 Verdict")
    terminal.read(0.3)
    if re.search(rb"\x1b\[[0-9;]*3[1-7]m", terminal.seen):
        sys.exit("NO_COLOR is set, and yet there is colour")
    terminal.keys(b"q")
    terminal.wait()
    settings_are_back(terminal, "NO_COLOR")
    terminal = Terminal("show", path, rows=40, cols=120, LANG="C", LC_CTYPE="C", LC_ALL="C")
    terminal.expect(b"|#")  # curses may repeat the rest (REP)
    terminal.expect(b"F10 quit")
    for key in b"x\x1bw\r\x1b\x1b4c2\r\x1b56":
        terminal.keys(bytes([key]))
        terminal.read(0.1)
    screen = terminal.seen
    terminal.keys(b"q")
    terminal.wait()
    if any(byte > 126 for byte in screen):
        sys.exit("in an ASCII locale other bytes were sent")
    if b"\\" in screen:
        sys.exit("in an ASCII locale something was drawn by its number")
    settings_are_back(terminal, "ASCII")


def only_printable_copies(seen):
    """What went to the clipboard (OSC 52): a shell that pastes it must not be steered either."""
    copies = re.findall(COPY, seen)
    for copy in copies:
        text = base64.b64decode(copy).decode("utf-8")
        bad = [hex(ord(c)) for c in text if not c.isprintable() and c not in "\n\t"]
        if bad or "EVIL\x07" in text or any(raw in text.encode() for raw in RAW):
            sys.exit(f"the clipboard was given {bad[:5]}: {text[:200]!r}")
    return len(copies)


def only_printable_text(path):
    """Each text of a saved run made hostile, those that the reader takes all at once."""
    with open(path, encoding="utf-8") as file:
        run = json.load(file)
    places = []

    def visit(node, where):
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in items:
            if isinstance(value, str):
                places.append(where + [key])
            elif isinstance(value, (dict, list)):
                visit(value, where + [key])

    def put(document, where, value):
        for key in where[:-1]:
            document = document[key]
        document[where[-1]] = value

    def taken(document):
        with open(evil_path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        done = subprocess.run([TIGHTLINK, "explain", evil_path], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        for raw in RAW + [b"\x1b"]:
            if raw in done.stdout + done.stderr:
                sys.exit(f"explain let {raw!r} through")
        return done.returncode in (0, 1, 4)

    evil_path = HOME + "/evil.json"
    visit(run, [])
    kept = []
    for where in places:
        copy = json.loads(json.dumps(run))
        put(copy, where, EVIL)
        if taken(copy):
            kept.append(where)
    for where in kept:
        put(run, where, EVIL)
    if len(kept) < 5 or not taken(run):
        sys.exit(f"of {len(places)} texts only {len(kept)} could be made hostile")
    copied = 0
    for rows, cols in ((24, 80), (40, 120), (9, 30)):
        terminal = Terminal("show", evil_path, rows=rows, cols=cols)
        terminal.expect(b"\x1b[?1049h")
        for key in ["x", "x", "\x1b", "w", "\r", "\x1b", "\x1b", "\r", "\x1b", "n", "\x1b", "G", "4", "\r",
                    "\x1b", "g", "2", "\r", "\x1b", "3", "5", "6", "M", "\x1b", "3", "y", " "]:
            terminal.keys(key.encode())
            terminal.read(0.12)
        shown = terminal.seen  # expect() begins anew
        if rows > 10:
            terminal.keys(b"\x1b")
            terminal.read(0.3)
            terminal.keys(b"3e")
            terminal.expect(b"This is what leaves")
            terminal.keys(b"y")
            until = time.monotonic() + 10
            while b"sent to the clipboard" not in terminal.seen and time.monotonic() < until:
                terminal.read(0.1)
        terminal.keys(b"q")
        terminal.wait()
        shown += terminal.seen
        for raw in RAW:
            if raw in re.sub(COPY, b"", shown):
                sys.exit(f"{raw!r} reached the terminal at {cols}x{rows}")
        copied += only_printable_copies(shown)
        if rows > 10 and b"\\u{1b}" not in shown:
            sys.exit("no hostile text was shown at all: the test tests nothing")
        settings_are_back(terminal, f"hostile text at {cols}x{rows}")
    if copied == 0:
        sys.exit("nothing went to the clipboard: the test tests nothing of it")
    print(f"{len(kept)} hostile texts of {len(places)}, {copied} texts in the clipboard")


class SlowTerminal(Terminal):
    """Takes 2000 bytes a second, as a bad line does."""

    def crawl(self, seconds, until=None):
        """Returns how long it took until the text came, None when it did not."""
        begun = time.monotonic()
        while time.monotonic() - begun < seconds:
            if select.select([self.master], [], [], 0)[0]:
                self.seen += os.read(self.master, 100)
            if until and until in self.seen:
                return time.monotonic() - begun
            time.sleep(0.05)
        return None


def leave(terminal):
    """Ends it whenever the run has: F10 asks while it is being stopped, and Esc drops the question."""
    until = time.monotonic() + 60
    while terminal.child.poll() is None and time.monotonic() < until:
        terminal.keys(b"\x1b[21~")
        terminal.crawl(3)
        if terminal.child.poll() is None:
            terminal.keys(b"\x1b")
            terminal.crawl(1)
    terminal.wait(0)


def a_slow_line(port):
    # Both ways, and stages that nothing makes worth it: the run outlasts the keys, whose answers
    # would wait behind the whole verdict.
    stages = "stream,streams,window,udp"
    terminal = SlowTerminal("127.0.0.1", "--port", port, "--yes", "--direction", "both", "--stages",
                            stages, "--force", stages, "--time-budget", "60s",
                            SSH_CONNECTION="192.0.2.1 1 192.0.2.2 22")
    if terminal.crawl(20, b"hosts") is None:
        sys.exit("on a slow line the start screen does not come")
    terminal.crawl(1.5)
    terminal.keys(b"\r")
    if terminal.crawl(40, b"receive window") is None:
        sys.exit("on a slow line the run does not come")
    terminal.crawl(2)
    slowest = 0
    for number in range(3):
        terminal.seen = b""
        terminal.keys(b"?")
        took = terminal.crawl(5, b"\xe2\x94\x8c")  # the corner of the box
        if took is None:
            sys.exit("on a slow line help does not come")
        slowest = max(slowest, took)
        terminal.crawl(1.5)
        terminal.keys(b" ")
        terminal.crawl(2)
    terminal.keys(b"\x03")
    leave(terminal)
    settings_are_back(terminal, "a slow line")
    print(f"at 2 kB/s the slowest key was answered after {slowest:.2f} s")
    if slowest > 2.5:  # 1 s is the promise; this machine may be busy
        sys.exit("on a slow line keys wait too long")


def a_child_that_is_killed(path):
    """Nobody can restore then; what is left must be what `stty sane` mends: no file, no child."""
    terminal = Terminal("show", path)
    terminal.expect(b"3 Verdict")
    terminal.child.kill()
    terminal.child.wait()
    subprocess.run(["stty", "sane"], stdin=terminal.slave, check=True)
    import termios
    after = termios.tcgetattr(terminal.slave)
    if not (after[3] & termios.ICANON and after[3] & termios.ECHO and after[1] & termios.OPOST):
        sys.exit("stty sane does not mend the terminal")
    os.close(terminal.slave)
    os.close(terminal.master)


def sizes_at_random(path, seconds):
    terminal = Terminal("show", path)
    terminal.expect(b"3 Verdict")
    chance, end = random.Random(7), time.monotonic() + seconds
    keys = [b"?", b"1", b"2", b"3", b"4", b"5", b"6", b"j", b"k", b"f", b" ", b"\r", b"\x1b", b"w", b"x", b"n",
            b"c", b"/", b"G", b"g", b"l"]
    while time.monotonic() < end:
        terminal.resize(chance.randint(1, 90), chance.randint(1, 260), terminal.child)
        terminal.keys(chance.choice(keys))
        terminal.read(0.02)
        if terminal.child.poll() is not None:
            sys.exit(f"it died while the terminal changed: {terminal.child.returncode}")
    terminal.child.terminate()
    terminal.wait()
    settings_are_back(terminal, "many sizes")
    print(f"{seconds} s of random sizes and keys")


def main():
    path = HOME + "/run.json"
    save_fixture(path)
    if len(sys.argv) > 4:
        sizes_at_random(path, float(sys.argv[4]))
        return
    every_terminal_type(path)
    terminals_that_this_system_does_not_know(path)
    without_colour_and_in_ascii(path)
    only_printable_text(path)
    a_child_that_is_killed(path)
    daemon, port = start_responder()
    try:
        a_slow_line(port)
    finally:
        daemon.terminate()
        daemon.wait()
    print("every terminal is left as it was")


main()
