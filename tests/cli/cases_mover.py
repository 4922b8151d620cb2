"""tightlink mover: a command of the user's own on his terminal, its exit code, its verdict."""
import json
import signal
import subprocess
import sys
import time

from cases_live import EACH_BYTES, READER, WRITER
from harness import case, tightlink, validate


# Forty connections with a word each, one after the other.
SHORT = """
import socket, time
listener = socket.create_server(("127.0.0.1", 0))
for _ in range(40):
    near = socket.create_connection(listener.getsockname())
    far, _ = listener.accept()
    near.sendall(b"word")
    time.sleep(0.03)
    near.close()
    far.close()
"""


class Reader:
    """Reads all that comes, on a port of its own."""

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", READER], stdout=subprocess.PIPE)
        self.port = self.process.stdout.readline().decode().strip()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def writer(port, each_bytes=EACH_BYTES, seconds=6):
    return sys.executable, "-c", WRITER, port, str(each_bytes), str(seconds)


def is_kept(verdict):
    """On what the writer moved. A machine that is too busy to read the connection often enough
    names no cause, or its own processor where that ran out: never another's."""
    assert verdict["measured_bps"] > 0 and verdict.get("segment") in (None, "near-host"), verdict


@case("mover")
def a_program_that_writes_seldom_is_the_cause(machine):
    with Reader() as reader:
        result = tightlink(machine, "mover", "--json", "--", *writer(reader.port))
    result.check(0)
    document = result.document()
    validate(machine, document)
    assert document["run"]["target"]["kind"] == "mover", document["run"]
    assert document["verdict"].get("cause") == "sender-app", document["verdict"]
    facts = json.dumps(document["facts"])
    assert "upload.mover_bytes" in facts and "python" in facts, facts[:500]


@case("mover")
def the_commands_own_output_and_exit_code_stay(machine):
    result = tightlink(machine, "mover", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    result.check(7, "err")
    assert result.out == "out\n", result.out
    tightlink(machine, "mover", "--", "sh", "-c", "kill -TERM $$").check(143, "signal 15")


@case("mover")
def a_document_has_standard_output_for_itself(machine):
    with Reader() as reader:
        script = 'echo chatter; exec "$@"'
        result = tightlink(machine, "mover", "--json", "--", "sh", "-c", script, "sh",
                           *writer(reader.port, seconds=3))
    assert "chatter" in result.err and result.document()["verdict"], result


@case("mover")
def what_cannot_run_is_said_in_one_sentence(machine):
    tightlink(machine, "mover", "--", "no-such-command").check(127, "there is no command no-such-command")
    tightlink(machine, "mover", "--", "/etc/passwd").check(126, "Permission denied")
    tightlink(machine, "mover").check(2, "which command")
    tightlink(machine, "mover", "--nonsense", "--", "true").check(2, "no option of mover")
    tightlink(machine, "mover", "--disk", "/etc/passwd", "--", "true").check(2, "no directory")
    tightlink(machine, "mover", "--", "true").check(0, "too short to be judged")
    tightlink(machine, "mover", "--", "sleep", "1.2").check(0, "no connection of sleep moved")


@case("mover")
def what_goes_into_the_background_at_once_is_followed(machine):
    with Reader() as reader:
        result = tightlink(machine, "mover", "--json", "--", "sh", "-c", '"$@" & exit 3', "sh",
                           *writer(reader.port, seconds=2))
    result.check(3, "left processes behind")
    assert result.document()["run"]["target"]["kind"] == "mover", result.document()["run"]


@case("mover")
def many_short_connections_are_said_to_be_that(machine):
    result = tightlink(machine, "mover", "--", sys.executable, "-c", SHORT)
    result.check(0, "connections of python")
    assert "over one connection" in result.err, result.err


@case("mover")
def what_it_leaves_behind_is_followed_to_its_end(machine):
    with Reader() as reader:
        script = '"$@" & sleep 1; exit 3'
        began = time.monotonic()
        result = tightlink(machine, "mover", "--json", "--", "sh", "-c", script, "sh",
                           *writer(reader.port))
    assert time.monotonic() - began > 5.5, "ended with the command, not with its transfer"
    result.check(3, "left processes behind")
    is_kept(result.document()["verdict"])


@case("mover")
def a_signal_to_us_ends_the_command_and_keeps_the_verdict(machine):
    with Reader() as reader:
        mover = subprocess.Popen([machine.tightlink, "mover", "--json", "--",
                                  *writer(reader.port, seconds=30)],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(4)
        mover.send_signal(signal.SIGTERM)
        began = time.monotonic()
        out, err = mover.communicate(timeout=10)
    assert mover.returncode == 143, (mover.returncode, err)
    assert json.loads(out)["run"]["target"]["kind"] == "mover"
    assert time.monotonic() - began < 5


@case("mover")
def one_that_is_killed_leaves_the_verdict_on_what_it_moved(machine):
    with Reader() as reader:
        script = '"$@" & sleep 7; kill -KILL $! $$'
        result = tightlink(machine, "mover", "--json", "--", "sh", "-c", script, "sh",
                           *writer(reader.port, seconds=30))
    result.check(137)
    is_kept(result.document()["verdict"])


@case("mover")
def a_password_is_asked_by_the_command_itself_and_its_wait_is_no_transfer(machine):
    with Reader() as reader:
        script = 'printf "password: " >&2; read -r word; [ "$word" = secret ] || exit 9; exec "$@"'
        mover = subprocess.Popen([machine.tightlink, "mover", "--json", "--", "sh", "-c", script, "sh",
                                  *writer(reader.port, seconds=6)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        prompt = mover.stderr.read(len(b"password: "))
        time.sleep(3)  # somebody types
        out, err = mover.communicate(b"secret\n", timeout=30)
    assert mover.returncode == 0 and b"password" in prompt + err, (mover.returncode, prompt, err)
    assert b"secret" not in out + err + prompt
    document = json.loads(out)
    is_kept(document["verdict"])
    moved = document["facts"]["upload.mover_bytes"]["value"]
    assert document["verdict"]["measured_bps"] > 0.8 * moved * 8 / 6, (moved, document["verdict"])
