"""nuttcp servers that are none, are busy, refuse or mean harm: one sentence each, and soon."""
import contextlib
import json
import re
import socket

from cases_far_end import QUICK, server
from harness import case, is_plain, tightlink


def meets(machine, talk, *says, at_most=16):
    """tightlink run against such a server: says what is wrong, and nothing else."""
    with server(talk) as port:
        result = tightlink(machine, "run", f"nuttcp://127.0.0.1:{port}", "--no-history", *QUICK)
    assert result.code in (3, 4), result
    words = " ".join(f"{result.err} {result.out}".split())
    for said in ("127.0.0.1", *says):
        assert said in words, f"{said} is not said\n{result}"
    assert is_plain(result.err) and is_plain(result.out), result
    assert result.seconds < at_most, result
    return result


def greeted(then):
    """A server that greets, then does that with the line of the test."""
    def talk(client):
        client.recv(4096)
        client.sendall(b"HELO nuttcp v6.1.2\n")
        if client.recv(4096):
            then(client)
    return talk


@case("nuttcp")
def a_web_server(machine):
    def talk(client):
        client.recv(4096)
        client.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    meets(machine, talk, "does not speak nuttcp")


@case("nuttcp")
def a_greeting_without_end(machine):
    def talk(client):
        client.recv(4096)
        with contextlib.suppress(OSError):
            while True:
                client.sendall(b"HELO " * 4096)
    meets(machine, talk, "sent a line without an end")


@case("nuttcp")
def one_that_stays_silent_is_taken_for_busy(machine):
    meets(machine, lambda client: None, "takes connections and does not answer",
          "with another client")


@case("nuttcp")
def a_refusal_is_told_without_its_escape_sequences(machine):
    meets(machine, greeted(lambda client: client.sendall(
        b"KO\n\x1b]0;owned\x07 not from there \xe2\x80\xae\nKO\n")), "not from there")


@case("nuttcp")
def refusals_without_end(machine):
    def talk(client):
        client.sendall(b"KO\n")
        with contextlib.suppress(OSError):
            while True:
                client.sendall(b"no and no\n" * 4096)
    meets(machine, greeted(talk), "refuses the test: no and no")


@case("nuttcp")
def an_answer_that_is_none(machine):
    meets(machine, greeted(lambda client: client.sendall(b"<html>hello</html>\n")),
          "does not speak nuttcp")


@case("nuttcp")
def one_that_hangs_up_behind_its_greeting(machine):
    meets(machine, greeted(lambda client: client.close()), "closed the connection")


@case("nuttcp")
def results_by_the_interval_without_end(machine):
    address = "127.54.19.2"

    def talk(client):
        client.recv(4096)
        client.sendall(b"HELO nuttcp v6.1.2\n")
        if "nstream = 1" not in client.recv(4096).decode():
            return
        with socket.create_server((address, 5001)) as door:
            client.sendall(b"OK v6.1.2\n")
            with door.accept()[0] as stream, contextlib.suppress(OSError):
                while stream.recv(65536):
                    pass
        with contextlib.suppress(OSError):
            while True:
                client.sendall(b"    0.2344 MB /   0.50 sec =    3.9318 Mbps\n" * 512)
    with server(talk, address) as port:
        result = tightlink(machine, "run", f"nuttcp://{address}:{port}", "--direction", "upload",
                           "--no-history", "--json", "--stages", "stream", *QUICK)
    document = result.document()
    assert document["verdict"]["state"] == "invalid", document["verdict"]
    assert document["facts"].get("upload.goodput_bps", {}).get("value") is None, document["facts"]
    assert result.seconds < 30, result.seconds


def receive_in_turn(streams):
    """A buffer of each in turn, as nuttcp does."""
    total, open_ones = 0, list(streams)
    while open_ones:
        for stream in list(open_ones):
            got = len(stream.recv(65536))
            total += got
            if not got:
                open_ones.remove(stream)
    return total


@case("nuttcp")
def two_uploads_at_most_are_read_in_turn_and_their_round_trips_tell_nothing(machine):
    address, asked = "127.54.19.1", []

    def talk(client):
        client.recv(4096)
        client.sendall(b"HELO nuttcp v6.1.2\n")
        line = client.recv(4096).decode()
        if "nstream" not in line:
            return
        asked.append(int(re.search("nstream = ([0-9]+)", line).group(1)))
        doors = [socket.create_server((address, 5001 + i)) for i in range(asked[-1])]
        client.sendall(b"OK v6.1.2\n")
        streams = [door.accept()[0] for door in doors]
        total = receive_in_turn(streams)
        for each in doors + streams:
            each.close()
        client.sendall(f"nuttcp-r: {total / 2**20:.4f} MB in 1.00 real seconds = 1 KB/sec\n".encode())
        client.close()
    with server(talk, address) as port:
        result = tightlink(machine, "run", f"nuttcp://{address}:{port}", "--direction", "upload", "--no-history",
                           "--json", "--stages", "streams", *QUICK)
    facts = json.loads(result.out)["facts"]
    assert asked and set(asked) == {2}, asked
    for name in ("rtt_mean_ns", "rtt_at_loss_ns", "queue_standing_ratio"):
        assert "in turn" in facts[f"upload.streams_{name}"]["reason"], facts[f"upload.streams_{name}"]
