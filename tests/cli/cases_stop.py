"""Runs that end early: a responder that dies or hangs, a user who stops, a question that
is answered with no."""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import termios
import time

from harness import (Daemon, case, is_plain, json_lines, lo_bytes, start, tightlink, until,
                     validate)

SLOW = ("--rate-cap", "50M")  # a stream that lasts, and leaves the machine to others


@contextlib.contextmanager
def streaming(machine, *options, direction="download"):
    """A run in the middle of its stream stage: the responder and the process."""
    with Daemon(machine, *SLOW) as daemon:
        run = start(machine, "run", "127.0.0.1", "--port", daemon.port, "--yes", "--json-lines",
                    "--data-budget", "100MB", "--direction", direction, *options)
        run.await_stream()
        yield daemon, run


def check_kept(machine, result, quality, reason):
    """The document after an early end: valid, says why, has what came before."""
    _, document = json_lines(result)
    validate(machine, document)
    judged = document["run"]["quality"]
    assert judged["status"] in quality, judged
    assert any(re.search(reason, text) for text in judged["reasons"]), judged
    assert document["verdict"]["state"] == "invalid", document["verdict"]
    assert "slow" not in document["verdict"]["sentence"], document["verdict"]
    assert "measured_bps" not in document["verdict"], document["verdict"]
    facts = document["facts"]
    assert facts["near.tcp_rmem_max_bytes"]["state"] == "known", "the host's facts are lost"
    assert facts["path.rtt_idle_ns"]["state"] == "known", "the path's facts are lost"
    stages = {stage["id"]: stage for stage in document["stages"]}
    assert stages["path"]["state"] == "done", stages
    assert stages["stream"]["received_bytes"] + stages["stream"]["sent_bytes"] > 0, stages
    return document, stages["stream"]


@case("stop")
def responder_killed_in_a_download(machine):
    with streaming(machine) as (daemon, run):
        daemon.popen.kill()
        result = run.result(20).check(4, "closed the connection|broke")
    assert result.seconds < 10, result
    _, stream = check_kept(machine, result, ("invalid", "aborted"), r"far end broke off .* into")
    assert stream["state"] == "failed", stream


@case("stop")
def responder_killed_in_an_upload(machine):
    with streaming(machine, direction="upload") as (daemon, run):
        daemon.popen.kill()
        result = run.result(20).check(4, "closed the connection|broke")
    check_kept(machine, result, ("invalid", "aborted"), r"far end broke off .* into")


@case("stop")
def responder_that_hangs(machine):
    with streaming(machine) as (daemon, run):
        daemon.popen.send_signal(signal.SIGSTOP)
        result = run.result(90).check(4, "said nothing for .* while its host acknowledged")
    # Five seconds of silence, then twelve in which it is dialled again: 24 s with all else, and no more
    # than a busy machine makes of them.
    assert result.seconds < 60, result
    check_kept(machine, result, ("aborted",), "went dead .* into the transfer")


def await_silence(machine):
    """Seconds until nothing more goes over the wire; None where others use it too."""
    if not machine.isolated:
        return None
    begin = time.monotonic()
    before = lo_bytes()
    while True:
        time.sleep(0.1)
        now = lo_bytes()
        if now - before < 4000:
            return time.monotonic() - begin
        before = now
        assert time.monotonic() - begin < 5, "the wire does not fall silent"


def stopped_by(machine, number, again=0, direction="download"):
    with streaming(machine, direction=direction) as (_, run):
        run.send(number)
        for _ in range(again):
            time.sleep(0.03)
            with contextlib.suppress(ProcessLookupError):
                run.send(number)
        silent = await_silence(machine)
        assert silent is None or silent < 1, f"silent only after {silent} s"
        result = run.result(10).check(130, "stopping; what was measured is kept")
    document, stream = check_kept(machine, result, ("aborted",), "stopped by you")
    assert stream["state"] == "skipped" and stream["reason"] == "stopped by you", stream
    assert document["run"]["duration_ns"] < 8e9, document["run"]


@case("stop")
def ctrl_c_in_a_download(machine):
    stopped_by(machine, signal.SIGINT)


@case("stop")
def ctrl_c_in_an_upload(machine):
    stopped_by(machine, signal.SIGINT, direction="upload")


@case("stop")
def an_impatient_second_ctrl_c(machine):
    stopped_by(machine, signal.SIGINT, again=20)


@case("stop")
def termination(machine):
    stopped_by(machine, signal.SIGTERM)


def await_bytes(daemon, count):
    """Until the responder has had a stream, its sampler beside it, and so many bytes went over loopback
    from then on: what this host alone can do is measured over loopback, too, before."""
    threads = f"/proc/{daemon.popen.pid}/task"
    until(20, lambda: len(os.listdir(threads)) > 2, "the responder streams")
    before = lo_bytes()
    until(20, lambda: lo_bytes() > before + count, f"{count:.0f} bytes on loopback")


@case("stop")
def ctrl_c_as_text(machine):
    with Daemon(machine, *SLOW) as daemon:
        run = start(machine, "run", "127.0.0.1", "--port", daemon.port, "--yes",
                    "--data-budget", "100MB")
        await_bytes(daemon, 3e6)
        run.send(signal.SIGINT)
        result = run.result(10).check(130, "stopping; what was measured is kept", out="stopped by you")
    assert is_plain(result.out) and "You stopped the measurement" in result.out, result


def waiting_in(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


@case("stop")
def ctrl_c_while_nobody_reads(machine):
    """A pipe that is full: the signal counts all the same, and the document still comes."""
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 8192)
    with Daemon(machine, *SLOW) as daemon:
        run = start(machine, "run", "127.0.0.1", "--port", daemon.port, "--yes", "--json-lines",
                    "--data-budget", "100MB", stdout=write)
        os.close(write)
        await_bytes(daemon, 12e6)
        until(10, lambda: waiting_in(read) >= 4000, "a pipe that is full")
        run.send(signal.SIGINT)
        took = time.monotonic() - run.begin
        silent = await_silence(machine)
        assert silent is None or silent < 1, f"silent only after {silent} s"
        with os.fdopen(read) as pipe:
            lines = [json.loads(line) for line in pipe]
        run.result(10).check(130)
    validate(machine, lines[-1])
    assert lines[-1]["run"]["received_bytes"] > 10e6, lines[-1]["run"]
    assert lines[-1]["run"]["duration_ns"] < (took + 1.5) * 1e9, lines[-1]["run"]


@case("stop")
def a_stopped_program_gives_no_verdict(machine):
    """SIGSTOP and SIGCONT of tightlink itself: no rate, and the far end is not blamed."""
    with streaming(machine) as (_, run):
        run.send(signal.SIGSTOP)
        time.sleep(2.5)
        run.send(signal.SIGCONT)
        result = run.result(20)
    _, document = json_lines(result)
    validate(machine, document)
    assert result.code == 4, result
    assert document["verdict"]["state"] == "invalid", document["verdict"]
    # A busy machine wakes it a little later than it is told to.
    assert re.search(r"held up for (2\.[5-9]|[3-9]\.)", document["verdict"]["sentence"]), document["verdict"]
    assert document["stages"][-1]["id"] == "stream", "it went on measuring for nothing"


@case("stop")
def ctrl_c_while_connecting(machine):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        run = start(machine, "run", "127.0.0.1", "--port", silent.getsockname()[1], "--yes",
                    "--json")
        silent.settimeout(20)
        connected, _ = silent.accept()  # it waits to be greeted
        with connected:
            run.send(signal.SIGINT)
            result = run.result(10).check(130)
    validate(machine, result.document())


@case("stop")
def nohup_is_respected(machine):
    with Daemon(machine, *SLOW) as daemon:
        run = start(machine, "run", "127.0.0.1", "--port", daemon.port, "--yes", "--json-lines",
                    "--data-budget", "100MB", "--time-budget", "4s",
                    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        run.await_stream()
        run.send(signal.SIGHUP)
        result = run.result(20)
    _, document = json_lines(result)
    assert result.code in (0, 4) and document["run"]["quality"]["status"] != "aborted", result


# --- The question before the path is loaded -----------------------------------------------


@case("stop")
def nobody_to_ask(machine):
    before = lo_bytes()
    result = tightlink(machine, "run", "127.0.0.1", "--port", "9").check(
        2, "loads the path and no terminal is here", "--yes")
    assert result.out == "" and (not machine.isolated or lo_bytes() == before), result


class Terminal:
    """tightlink on a terminal of its own: standard input, output and error."""

    def __init__(self, machine, *arguments, **environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(machine.tightlink, [machine.tightlink, *map(str, arguments)],
                      {**os.environ, "TERM": "xterm", "LANG": "C", **environment})
        self.text = ""

    def read(self, seconds):
        """What comes within that time; "" at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return None
        try:
            piece = os.read(self.fd, 65536).decode()
        except OSError:  # EIO: the program has closed its end
            piece = ""
        self.text += piece
        return piece

    def await_text(self, pattern, seconds=10):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            assert time.monotonic() < end and self.read(1) != "", f"no /{pattern}/: {self.text!r}"

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self, seconds=30):
        """The exit code."""
        limit = time.monotonic() + seconds
        while self.read(1) != "":
            assert time.monotonic() < limit, f"it does not end: {self.text!r}"
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def asked(machine, answer, *options, **environment):
    """A run on a terminal, up to the answered question."""
    with Daemon(machine, *SLOW) as daemon:
        screen = Terminal(machine, "run", "127.0.0.1", "--port", daemon.port, *options,
                          **environment)
        screen.await_text(r"Go on\? \[y/N\] ")
        before = lo_bytes()
        screen.type(answer)
        code = screen.end()
        return screen.text, code, lo_bytes() - before


@case("stop")
def the_question_names_bytes_and_time(machine):
    text, _, _ = asked(machine, "n\n", "--data-budget", "33MB", "--time-budget", "4s")
    assert re.search(r"up to 4 s .*at most 33 MB", text), text


@case("stop")
def no_loads_nothing(machine):
    for answer in ("n\n", "\n", "\x04"):
        text, code, moved = asked(machine, answer)
        assert code == 130 and "not agreed to: nothing was sent" in text, (code, text)
        assert not machine.isolated or moved == 0, f"{moved} bytes were sent after no"


@case("stop")
def ctrl_c_at_the_question(machine):
    text, code, moved = asked(machine, "\x03")
    assert code == 130 and "stopped before anything was sent" in text, (code, text)
    assert not machine.isolated or moved == 0, f"{moved} bytes were sent after Ctrl-C"


@case("stop")
def no_name_is_resolved_before_the_answer(machine):
    """The question comes for a name that nobody knows, too: who asks a name server is heard."""
    for answer, words in (("n\n", "nothing was sent"), ("y\n", "no-such-host.invalid")):
        screen = Terminal(machine, "run", "no-such-host.invalid")
        screen.await_text(r"Go on\? \[y/N\] ")
        assert "cannot be resolved" not in screen.text, screen.text
        screen.type(answer)
        screen.end()
        assert words in screen.text.split("[y/N]")[1], screen.text


@case("stop")
def yes_runs(machine):
    text, code, moved = asked(machine, "y\n", "--data-budget", "10MB")
    assert code in (0, 4) and "stream, download" in text, (code, text)
    assert not machine.isolated or moved > 9e6, f"only {moved} bytes were sent after yes"


@case("stop")
def progress_is_for_terminals(machine):
    with Daemon(machine, *SLOW) as daemon:
        options = ("run", "127.0.0.1", "--port", daemon.port, "--yes", "--data-budget", "10MB")
        piped = tightlink(machine, *options)
        assert piped.err == "" and "stream, download" not in piped.out, piped
        screens = {}
        for term in ("xterm", "dumb"):
            screen = Terminal(machine, *options, TERM=term)
            screen.end()
            screens[term] = screen.text
    assert re.search(r"\r\x1b\[K +stream, download: .* Mb/s", screens["xterm"]), screens["xterm"]
    assert "\x1b" not in screens["dumb"], screens["dumb"]
    assert re.search(r"stream, download +(done|limited) ", screens["dumb"]), screens["dumb"]


@case("stop")
def colour_only_where_wanted(machine):
    with Daemon(machine, *SLOW) as daemon:
        options = ("run", "127.0.0.1", "--port", daemon.port, "--yes", "--data-budget", "5MB")
        shown = {}
        for name, environment in (("colour", {}), ("none", {"NO_COLOR": "1"}),
                                  ("dumb", {"TERM": "dumb"})):
            screen = Terminal(machine, *options, **environment)
            screen.end()
            shown[name] = screen.text
    assert re.search(r"\x1b\[[0-9;]*m", shown["colour"]), shown["colour"]
    assert not re.search(r"\x1b\[[0-9;]*m", shown["none"]), shown["none"]
    assert "\x1b" not in shown["dumb"], shown["dumb"]
    assert all(text.isascii() for text in shown.values()), shown

