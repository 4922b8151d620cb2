"""What the command line's tests share: the programs under test, a responder, processes
with their output, a register of cases. Standard library only.

As root the whole driver moves into a network namespace of its own: then the counters of
`lo` are those of the test alone, and other users' ports do not matter."""
import concurrent.futures
import contextlib
import ctypes
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir, "realtime"))
import policy  # noqa: E402 (it lies beside)

# What nohup takes from a program that it starts, and from those that the program starts.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
CLONE_NEWNET = 0x40000000
NOBODY = 65534


class Skip(Exception):
    """This machine does not permit the case; the sentence says what is missing."""


def is_sanitized(program):
    """Its allocator keeps what is freed, and it takes its time."""
    with open(program, "rb") as file:
        return b"__asan_init" in file.read()


class Machine:
    """The programs, copied to a folder that every user may enter. Every process of a test
    runs from there, so that what is left over can be found by its path."""

    def __init__(self, tightlink, tightlinkd):
        self.folder = tempfile.mkdtemp(prefix="tightlink-cli-")
        os.chmod(self.folder, 0o755)
        # Its own history, which every user may make.
        os.environ["XDG_DATA_HOME"] = os.path.join(self.folder, "data")
        os.mkdir(os.environ["XDG_DATA_HOME"], 0o755)
        os.chmod(os.environ["XDG_DATA_HOME"], 0o777)
        # Through a proxy of this machine nobody here is reached.
        for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            os.environ.pop(name, None)
        self.tightlink = shutil.copy(tightlink, self.folder)
        self.tightlinkd = shutil.copy(tightlinkd, self.folder)
        helper = os.path.join(os.path.dirname(tightlink), "../capture/tightlink-capture")
        if os.path.exists(helper):  # not without libpcap
            shutil.copy(helper, self.folder)
        self.isolated = isolate()
        self.schema = json.loads(subprocess.run([self.tightlink, "schema"], check=True,
                                                capture_output=True).stdout)

    def processes(self):
        """Pids of our programs that still run, whoever started them."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                path = os.readlink(f"/proc/{pid}/exe")
            except OSError:
                continue
            if path.startswith(self.folder):
                found.append(int(pid))
        return found

    def close(self):
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def isolate():
    if os.geteuid() != 0 or ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        ifreq = bytearray(struct.pack("16sH22x", b"lo", 1 | 64))  # IFF_UP | IFF_RUNNING
        fcntl.ioctl(control, 0x8914, ifreq)  # SIOCSIFFLAGS
    return True


def lo_bytes():
    """Bytes that went over loopback so far, headers included."""
    with open("/proc/net/dev") as table:
        for line in table:
            name, _, counters = line.partition(":")
            if name.strip() == "lo":
                return int(counters.split()[0])
    raise Skip("no loopback interface is here")


def resent_segments():
    """Segments that TCP of this network namespace sent again so far."""
    with open("/proc/net/snmp") as table:
        names, values = (line.split() for line in table if line.startswith("Tcp:"))
    return int(dict(zip(names, values))["RetransSegs"])


def until(seconds, condition, what):
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < seconds, f"not within {seconds} s: {what}"
        time.sleep(0.02)


class Result:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def __str__(self):
        return (f"exit {self.code} after {self.seconds:.1f} s\n--- stdout\n{self.out[:6000]}\n"
                f"--- stderr\n{self.err}")

    __repr__ = __str__

    def document(self):
        return json.loads(self.out)

    def check(self, code, *says, out=None):
        """The exit code, and patterns that stderr must hold."""
        assert self.code == code, f"exit {code} was expected:\n{self}"
        for pattern in says:
            assert re.search(pattern, self.err), f"stderr lacks /{pattern}/:\n{self}"
        if out is not None:
            assert re.search(out, self.out), f"stdout lacks /{out}/:\n{self}"
        return self


class Process:
    """A running tightlink; its output is read by threads, so that nothing ever blocks."""

    def __init__(self, argv, **options):
        self.begin = time.monotonic()
        self.popen = subprocess.Popen(argv, stdin=options.pop("stdin", subprocess.DEVNULL),
                                      stdout=options.pop("stdout", subprocess.PIPE),
                                      stderr=options.pop("stderr", subprocess.PIPE), **options)
        self.lines = []
        self.pool = concurrent.futures.ThreadPoolExecutor(2)
        self.out = self.pool.submit(self.read, self.popen.stdout, self.lines)
        self.err = self.pool.submit(self.read, self.popen.stderr, [])

    @staticmethod
    def read(stream, lines):
        if stream is None:
            return ""
        for line in iter(stream.readline, b""):
            lines.append(line.decode())
        return "".join(lines)

    def send(self, number):
        self.popen.send_signal(number)

    def await_line(self, pattern, seconds=60):
        """Until stdout (--json-lines) has such a line."""
        def seen():
            return any(re.search(pattern, line) for line in list(self.lines))
        until(seconds, lambda: seen() or self.popen.poll() is not None, f"a line /{pattern}/")
        assert seen(), f"it ended before a line /{pattern}/:\n{self.result()}"

    def await_stream(self):
        """Until the stream stage has been running for half a second."""
        self.await_line(r'"event":"live".*"stage":"stream".*"elapsed_ns":([5-9]\d{8}|\d{10})')

    def result(self, seconds=60):
        try:
            self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            raise AssertionError(f"it did not end within {seconds} s:\n{self.result()}")
        took = time.monotonic() - self.begin
        result = Result(self.popen.returncode, self.out.result(), self.err.result(), took)
        self.pool.shutdown()
        return result


class Daemon:
    """tightlinkd on a free port; open to everybody unless another mode (or None) is given."""

    def __init__(self, machine, *options, mode="--open"):
        ready, write = os.pipe()
        self.popen = subprocess.Popen(
            [machine.tightlinkd, *([mode] if mode else []), "--port", "0", "--ready-fd",
             str(write), *options],
            pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(ready) as pipe:
            line = pipe.read()
        assert line.startswith("listening on port "), "tightlinkd did not start"
        self.port = int(line.split()[-1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGCONT)
            self.popen.terminate()
        self.popen.wait(10)


class Suite:
    """Cases by group. Each is a function of the machine; its name is what it shows."""

    def __init__(self):
        self.groups = {}

    def case(self, group):
        def register(function):
            self.groups.setdefault(group, []).append(function)
            return function
        return register

    def run(self, group, machine, only):
        """Exit code: 0 all passed, 1 one failed, 77 all skipped."""
        failed = passed = 0
        for function in self.groups[group]:
            name = function.__name__.replace("_", " ")
            if only and function.__name__ not in only:
                continue
            begin = time.monotonic()
            try:
                function(machine)
                passed += 1
                print(f"ok       {name} ({time.monotonic() - begin:.1f} s)", flush=True)
            except Skip as skip:
                print(f"skipped  {name}: {skip}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED   {name}\n{traceback.format_exc(limit=-3)}", flush=True)
        return 1 if failed else 0 if passed else 77


suite = Suite()
case = suite.case


def tightlink(machine, *arguments, seconds=60, **options):
    """Runs tightlink to its end."""
    return Process([machine.tightlink, *map(str, arguments)], **options).result(seconds)


def on_terminal(machine, *arguments, columns=80, **environment):
    """Runs tightlink on a terminal of that width; what that shows, and the exit code."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {name: value for name, value in os.environ.items()
           if name not in ("PAGER", "TIGHTLINK_PAGER", "LESS", "LV", "NO_COLOR")}
    env.update({"TERM": "xterm", "LANG": "C.UTF-8", **environment})
    child = subprocess.Popen([machine.tightlink, *map(str, arguments)], stdin=slave, stdout=slave,
                             stderr=slave, env=env)
    os.close(slave)
    seen = b""
    while True:
        try:
            some = os.read(master, 65536)
        except OSError:  # the last one has closed it
            break
        if not some:
            break
        seen += some
    os.close(master)
    return seen.decode().replace("\r\n", "\n"), child.wait(20)


def judged(name, check, argv, seconds=60):
    """A run on an emulated path whose verdict must be right, as tests/realtime/policy.py says."""
    results = []

    def attempt():
        results.append(Process(list(map(str, argv))).result(seconds))
        if results[-1].code < 0:
            raise policy.Broken(results[-1])
        try:
            check(results[-1])
        except AssertionError as error:
            return [str(error)]
        return []

    gate = policy.Gate()
    outcome = gate.run(name, attempt)
    if outcome == policy.SKIPPED:
        raise Skip("this machine keeps no time")
    assert outcome != policy.FAILED, results[-1] if results else outcome
    return results[-1]


def start(machine, *arguments, **options):
    return Process([machine.tightlink, *map(str, arguments)], **options)


def validate(machine, document):
    """Against tightlink schema, where python3-jsonschema is installed."""
    try:
        import jsonschema
    except ImportError:
        print("         (not validated: python3-jsonschema is not installed)")
        return
    jsonschema.Draft202012Validator(machine.schema).validate(document)


def json_lines(result):
    """Every line parses, the last one is the document."""
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert lines, f"no line came:\n{result}"
    assert all("event" in line for line in lines[:-1]), result
    assert lines[-1]["format"] == "tightlink.findings/1", result
    return lines[:-1], lines[-1]


@contextlib.contextmanager
def closed_port():
    """A port of loopback that refuses, and goes on to: a port that was only just free may be somebody
    else's before it is tried."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def is_plain(text):
    """Nothing that could steer a terminal."""
    return all(character == "\n" or character.isprintable() for character in text)
