#!/usr/bin/env python3
"""The program on a pseudo-terminal: the screen comes, a run goes from key to verdict, and the
terminal is as it was after every way out. Arguments: tightlink, tightlinkd, print-fixture."""
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
from cases_pcap import window_limited
from terminal import (ENTER, HOME, LEAVE, TIGHTLINK, Terminal, expect_equal, save_fixture,
                      start_responder)

F10 = b"\x1b[21~"


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
    left = terminal.seen.split(LEAVE)[-1]
    if b"All of it: tightlink explain" not in left or not 4 < left.count(b"\n") <= 12:
        sys.exit(f"after q the first lines are not in the scrollback: {left!r}")


def the_mouse_is_taken_and_given_back(path):
    """SGR reports, as xterm sends them: button 0 at 4 Path, the wheel, then a crash."""
    terminal = Terminal("show", path)
    terminal.expect(b"\x1b[?1006;1000h")
    terminal.expect(b"3 Verdict")
    terminal.keys(b"\x1b[<0;41;1M\x1b[<0;41;1m")
    terminal.expect(b"under load")
    terminal.keys(b"\x1b[<65;10;10M")
    terminal.keys(b"\x1b[<0;65;24M")
    terminal.expect(b"Everywhere")
    terminal.child.send_signal(signal.SIGSEGV)
    terminal.wait()
    end = terminal.seen.rfind(b"1000l")
    if end < 0 or end < terminal.seen.rfind(b"1000h"):
        sys.exit("after a crash the terminal still reports the mouse")
    terminal.restored("a crash with the mouse")
    for arguments, environment in ((["--no-mouse"], {}), ([], {"TIGHTLINK_NO_MOUSE": "1"}),
                                   ([], {"TERM": "vt100"})):
        terminal = Terminal("show", path, *arguments, **environment)
        terminal.expect(b"3 Verdict")
        terminal.keys(b"q")
        terminal.wait()
        if b"1000h" in terminal.seen:
            sys.exit(f"{arguments} {environment} does not leave the mouse alone")


def what_stays_after_leaving(path):
    """Some ten lines: headline, fix and where the run is kept; with --full all of the report."""
    for options, least, most in ((), 4, 14), (("--full",), 30, 400):
        terminal = Terminal("show", path, *options)
        terminal.expect(b"3 Verdict")
        terminal.seen = b""
        terminal.keys(b"q")
        terminal.wait()
        left = re.sub(rb"\x1b\[[0-9;]*m", b"", terminal.seen.rsplit(LEAVE, 1)[1])
        left = re.sub(rb"\x1b[^a-zA-Z]*[a-zA-Z]", b"", left).decode()
        lines = [line for line in left.splitlines() if line.strip()]
        if not least <= len(lines) <= most:
            sys.exit(f"{options}: {len(lines)} lines stay, not {least} to {most}:\n{left}")
        if "96.1 Mb/s" not in lines[0] or "tightlink run srv-b.example.net" not in left:
            sys.exit(f"{options}: headline or what to do is not among what stays:\n{left}")
        if ("Disturbances" in left) != bool(options):
            sys.exit(f"{options}: not the part of the report that was asked for:\n{left}")
    terminal = Terminal("show", path, rows=10, cols=40)
    terminal.expect(b"96.1 Mb/s")
    terminal.seen = b""
    terminal.keys(b"q")
    terminal.wait()
    left = terminal.seen.rsplit(LEAVE, 1)[1]
    left = re.sub(rb"\x1b[^a-zA-Z>]*[a-zA-Z>]", b"", left).decode().splitlines()
    # A command stays whole, to be copied; so does a path.
    if any(len(line) > 40 and "tightlink " not in line for line in left):
        sys.exit(f"what stays is broken by a narrow terminal: {left}")


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
    terminal.keys(F10)  # leaves whatever is open
    terminal.wait()
    terminal.restored("F10 after many sizes")


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
    terminal.expect(b"round trip", 60)
    terminal.keys(b"q")
    code = terminal.wait()
    terminal.restored("q after a run")
    if code not in (0, 4):
        sys.exit(f"the run ended with {code}")


def yes_holds_for_the_far_end_that_it_was_given_for(port):
    """Another one, typed after that run, is asked about like any other."""
    terminal = Terminal("127.0.0.1", "--port", port, "--stages", "stream", "--time-budget", "5s",
                        "--yes", "--no-history")
    terminal.expect(b"hosts")
    terminal.keys(b"\r")
    terminal.expect(b"round trip", 60)
    terminal.keys(b"1")
    terminal.expect(b"What hurts?")
    terminal.keys(b"\x7f" * len("127.0.0.1") + b"localhost\r")
    terminal.expect(b"Load the path?", 30)
    terminal.keys(b"n")
    terminal.read(0.3)
    terminal.keys(F10)
    terminal.wait(30)
    terminal.restored("--yes and another far end")


def a_run_that_is_ended_by_a_signal(port):
    terminal = Terminal("127.0.0.1", "--port", port, "--yes")
    terminal.expect(b"hosts")
    terminal.keys(b"\r")
    terminal.expect(b"waiting for", 30)
    terminal.child.send_signal(signal.SIGTERM)
    code = terminal.wait()
    terminal.restored("SIGTERM in a run")
    expect_equal("exit code", code, 130)


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names)


def a_hangup_leaves_no_file(path, port):
    """The terminal goes while it measures, and while it shows: the history has the run, and nothing
    else lies in the home directory or where it was started."""
    home = HOME + "/hangup"
    os.mkdir(home)
    plain = {"HOME": home, "XDG_DATA_HOME": "", "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": ""}
    here = [name for name in os.listdir(HOME) if name != "hangup"]
    for arguments, sign in ((("127.0.0.1", "--port", port, "--yes"), b"waiting for"),
                            (("show", path), b"3 Verdict")):
        terminal = Terminal(*arguments, **plain)
        if sign != b"3 Verdict":
            terminal.expect(b"hosts")
            terminal.keys(b"\r")
        terminal.expect(sign, 30)
        terminal.child.send_signal(signal.SIGHUP)
        code = terminal.wait()
        terminal.restored(f"SIGHUP: {arguments}")
        if sign != b"3 Verdict":
            expect_equal("exit code after SIGHUP in a run", code, 130)
        kept = files_below(home)
        if any("history" not in os.path.basename(name) for name in kept):
            sys.exit(f"SIGHUP left files: {kept}")
        expect_equal("files where it was started",
                     sorted(name for name in os.listdir(HOME) if name != "hangup"), sorted(here))
    listed = subprocess.run([TIGHTLINK, "history"], env={**os.environ, **plain}, check=True,
                            stdout=subprocess.PIPE).stdout
    if listed.count(b"127.0.0.1") != 1:
        sys.exit(f"the history has not the one run that was measured: {listed!r}")


def a_run_that_nobody_wants_kept_goes_with_its_terminal(port):
    """With --no-history no file of it is in the home directory after the terminal was closed."""
    home = HOME + "/gone"
    os.mkdir(home)
    terminal = Terminal("127.0.0.1", "--port", port, "--yes", "--no-history", HOME=home,
                        XDG_DATA_HOME="", XDG_STATE_HOME="", XDG_CONFIG_HOME="")
    terminal.expect(b"hosts")
    terminal.keys(b"\r")
    terminal.expect(b"waiting for", 30)
    os.close(terminal.master)
    terminal.child.wait(60)
    kept = [name for name in files_below(home) if "history" not in os.path.basename(name)]
    expect_equal("files of a run that is not to be kept", kept, [])


class Traced(Terminal):
    """The same under strace, which notes what is connected or sent to."""

    trace = HOME + "/trace"

    def __init__(self, *arguments, **options):
        Terminal.program = ["strace", "-f", "-qq", "-o", self.trace, "-e",
                            "trace=connect,sendto,sendmsg,sendmmsg", TIGHTLINK]
        super().__init__(*arguments, **options)
        Terminal.program = [TIGHTLINK]

    def sent_to(self):
        with open(self.trace, encoding="utf-8", errors="replace") as file:
            return [line for line in file if "AF_INET" in line]


def a_saved_run_sends_nothing_without_asking(path):
    """Each screen and page, and v. That v asks where there is something to try, test-screen shows
    (trying_the_fix_of_a_kept_run_asks_first)."""
    if not shutil.which("strace"):
        print("skipped: strace is not installed, so nobody sees what is sent")
        return
    terminal = Traced("show", path)
    terminal.expect(b"3 Verdict", 30)
    for key in ("x", "x", "\x1b", "w", "\r", "\x1b", "\x1b", "n", "\x1b", "2", "\r", "\x1b", "4", "\r", "\x1b",
                "5", "6", "t", "3", "y", " ", "v", "\r", "n", "3", "1", "7"):
        terminal.keys(key.encode())
        terminal.read(0.15)
    terminal.keys(F10)
    terminal.wait(30)
    expect_equal("sent while a saved run was looked at", terminal.sent_to(), [])
    os.close(terminal.slave)
    os.close(terminal.master)
    terminal = Traced("run", "127.0.0.1", "--port", "9", "--yes", "--no-history")
    terminal.wait(30)
    if not terminal.sent_to():
        sys.exit("a run that connects was not seen to: the test tests nothing")
    os.close(terminal.slave)
    os.close(terminal.master)


def transfers_that_run_are_listed_and_judged():
    """A connection of this test over loopback, some 10 kB a second for as long as it looks."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    client = socket.create_connection(("127.0.0.1", port))
    server, _ = listener.accept()
    terminal = Terminal("live", f":{port}")
    terminal.expect(ENTER)
    terminal.expect(b"Transfers that run now")
    terminal.expect(b"moved anything")  # in the last ten seconds: nothing yet
    end = time.monotonic() + 4
    while time.monotonic() < end:
        client.sendall(bytes(1000))
        server.recv(65536)
        terminal.read(0.1)
    terminal.expect(f"127.0.0.1:{port}".encode())
    terminal.keys(b"\r")
    terminal.expect(b"verdict  r diagnose")
    terminal.keys(b"\r")
    terminal.expect(b"x plain")
    terminal.keys(b"7q")
    code = terminal.wait()
    terminal.restored("q from transfers that run")
    if code not in (0, 4):
        sys.exit(f"live ended with {code}")
    if b"waits for: w" not in terminal.seen.split(LEAVE)[-1]:
        sys.exit("after q the transfers are not in the scrollback")
    for each in (client, server, listener):
        each.close()


def a_capture_is_looked_through(folder):
    """Its flows, one over time, the time-sequence graphs, its verdict; the text stays behind."""
    path = folder + "/two.pcap"
    with open(path, "wb") as file:
        file.write(window_limited())
    terminal = Terminal("pcap", path)
    terminal.expect(ENTER)
    terminal.expect(b"1 flow, by size")
    terminal.expect(b"receive buffer")
    terminal.keys(b"\r")
    terminal.expect(b"g graph  left")
    terminal.keys(b"g")
    terminal.expect(b"Stevens: ")
    terminal.keys(b"g\x1bOA\x1bOC")
    terminal.expect(b"tcptrace, from")
    terminal.keys(b"\r")
    terminal.expect(b"x plain")
    terminal.keys(b"8q")
    code = terminal.wait()
    terminal.restored("q from a capture")
    if code != 0 or b"explain receive-window" not in terminal.seen.split(LEAVE)[-1]:
        sys.exit(f"pcap ended with {code}, or its text is not in the scrollback")
    terminal = Terminal("pcap", path, "--no-screen")
    terminal.wait()
    if ENTER in terminal.seen or b"explain receive-window" not in terminal.seen:
        sys.exit("--no-screen does not print the text")


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
        save_fixture(path)
        a_saved_run_is_shown_and_left(path)
        what_stays_after_leaving(path)
        the_mouse_is_taken_and_given_back(path)
        for number in (signal.SIGTERM, signal.SIGHUP):
            a_signal_restores(path, number)
        a_crash_restores(path)
        stopping_and_coming_back(path)
        without_a_screen(path)
        a_saved_run_sends_nothing_without_asking(path)
        transfers_that_run_are_listed_and_judged()
        a_capture_is_looked_through(directory)
        sizes_at_random(path, 10)
        daemon, port = start_responder()
        try:
            a_run_from_start_to_verdict(port)
            yes_holds_for_the_far_end_that_it_was_given_for(port)
            a_run_that_is_ended_by_a_signal(port)
            a_hangup_leaves_no_file(path, port)
            a_run_that_nobody_wants_kept_goes_with_its_terminal(port)
        finally:
            daemon.terminate()
            daemon.wait()
    print("the screen comes, and the terminal is restored")


main()
