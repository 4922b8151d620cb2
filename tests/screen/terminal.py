"""tightlink as the child of a pseudo-terminal that a test holds, and a slow responder. Imported by
the tests of this directory; their arguments: tightlink, tightlinkd, print-fixture."""
import atexit
import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

# Absolute, because the program runs in a directory of its own.
TIGHTLINK, RESPONDER, FIXTURE = [os.path.abspath(path) for path in sys.argv[1:4]]
# What nohup takes from a program that it starts, and from those that the program starts.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
LEAVE = b"\x1b[?1049l"  # rmcup of xterm
ENTER = b"\x1b[?1049h"
# The history of who runs the tests stays as it is.
HOME = tempfile.mkdtemp(prefix="tightlink-screen-")
atexit.register(shutil.rmtree, HOME, True)


class Terminal:
    """tightlink as the child of a terminal that this test holds."""

    program = [TIGHTLINK]

    def __init__(self, *arguments, rows=24, cols=80, **environment):
        self.master, slave = pty.openpty()
        self.slave = slave  # held open, so that its settings can be read afterwards
        self.resize(rows, cols, None)
        self.before = termios.tcgetattr(slave)
        self.seen = b""
        env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL")}
        env.update({"TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_CTYPE": "C.UTF-8"})
        env.update({"HOME": HOME, "XDG_DATA_HOME": HOME + "/data", "XDG_STATE_HOME": HOME + "/state",
                    "XDG_CONFIG_HOME": HOME + "/config"})
        env.update(environment)
        self.child = subprocess.Popen([*self.program, *arguments], stdin=slave, stdout=slave,
                                      stderr=slave, env=env, cwd=HOME,
                                      preexec_fn=self.own_terminal)

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
                raise AssertionError(
                    f"{text!r} did not come; the end of what came: {self.seen[-3000:]!r}")
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
            raise AssertionError(f"it did not end; the last that came: {self.seen[-2000:]!r}")
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


def start_responder(*mode):
    """Slow, so that the test is light; on a port that the system chooses. mode: instead of --open."""
    read_end, write_end = os.pipe()
    daemon = subprocess.Popen([RESPONDER, *(mode or ["--open"]), "--port", "0", "--bind", "127.0.0.1",
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


def save_fixture(path, name="limited"):
    with open(path, "wb") as file:
        subprocess.run([FIXTURE, name, "json"], stdout=file, check=True)


class Tmux:
    """The same inside of tmux, which knows what stands on the screen."""

    count = 0

    def __init__(self, *arguments, rows=24, cols=80):
        if not shutil.which("tmux"):
            print("skipped: tmux is not installed, so nobody knows what stands on the screen")
            sys.exit(77)
        Tmux.count += 1
        self.socket = f"{HOME}/tmux-{Tmux.count}"
        env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL", "TMUX")}
        env.update({"LANG": "C.UTF-8", "LC_CTYPE": "C.UTF-8", "HOME": HOME, "TERM": "xterm-256color",
                    "XDG_DATA_HOME": HOME + "/data", "XDG_STATE_HOME": HOME + "/state",
                    "XDG_CONFIG_HOME": HOME + "/config"})
        self.env = env
        self.command("-f", "/dev/null", "-u", "new-session", "-d", "-x", str(cols), "-y", str(rows),
                     "-c", HOME, shlex.join([TIGHTLINK, *arguments]) + f"; echo ended $? ; sleep 60")
        self.command("set-option", "-g", "escape-time", "0")
        atexit.register(self.command, "kill-server", check=False)

    def command(self, *words, check=True):
        return subprocess.run(["tmux", "-S", self.socket, *words], env=self.env, check=check,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()

    def screen(self):
        return self.command("capture-pane", "-p", "-J")

    def expect(self, text, seconds=20):
        end = time.monotonic() + seconds
        while text not in self.screen():
            if time.monotonic() > end:
                sys.exit(f"{text!r} did not come; there is:\n{self.screen()}")
            time.sleep(0.05)

    def keys(self, text):
        """Characters as a keyboard sends them; Escape alone, so that it is no Alt."""
        for part in re.split("(\x1b)", text):
            if part == "\x1b":
                time.sleep(0.2)
            if part:
                self.command("send-keys", "-l", part.replace("\b", "\x7f"))
            if part == "\x1b":
                time.sleep(0.2)

    def ended(self, what):
        """It has left, and the report stands where the screen was."""
        self.expect("ended ", 15)
        if "? help" in self.screen():
            sys.exit(f"{what}: the screen is still there")
        self.command("kill-server", check=False)
