#!/usr/bin/env python3
"""Key mode against who reads the path, holds a key of somebody else's network, or takes every place.

Arguments: paths of tightlinkd and tightlink, then names of cases (none: all)."""
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import wire
from cases import case, run, until
from keyed import (DATA, SECRET, SYN, UDP, KeyedSession, KeyFile, NoChannel, at_once, first_words)
from wire import Connection, Daemon, frame

DAEMON, TIGHTLINK = (os.path.abspath(path) for path in sys.argv[1:3])


def keyed_daemon(key, *options):
    return Daemon(DAEMON, "--key", key, *options)


def refused(data):
    """The code with which a data connection was refused, None when it joined."""
    kind, payload = data.read()
    data.close()
    return struct.unpack(">H", payload[:2])[0] if kind == wire.ERROR else None


class Path(threading.Thread):
    """A relay on loopback: what whoever stands on the path reads at the head of each connection."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.heads, self.pairs = port, [], {}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.own_port = self.listener.getsockname()[1]
        self.ended = False

    def run(self):
        while not self.ended:
            sockets = [self.listener, *self.pairs]
            for ready in select.select(sockets, [], [], 0.1)[0]:
                if ready is self.listener:
                    near = self.listener.accept()[0]
                    far = socket.create_connection(("127.0.0.1", self.port))
                    self.pairs.update({near: far, far: near})
                    self.heads.append((near, bytearray()))
                elif ready in self.pairs:
                    self.carry(ready)

    def carry(self, one):
        other = self.pairs[one]
        try:
            data = one.recv(65536)
            for near, head in self.heads:
                if near is one and len(head) < 64:
                    head += data
            other.sendall(data)
        except OSError:
            data = b""
        if not data:
            for end in (one, other):
                del self.pairs[end]
                end.close()

    def hellos(self):
        return [bytes(head[:36]) for _, head in self.heads if head[2:3] == bytes([wire.DATA_HELLO])]


@case
def what_the_path_reads_opens_nothing_else():
    """Each data connection of each test says a token of its own."""
    with KeyFile(f"alice {SECRET}") as key, keyed_daemon(key) as daemon:
        path = Path(daemon.port)
        path.start()
        for _ in range(5):  # one that was held up by its machine measures no second time
            done = subprocess.run(
                [TIGHTLINK, "run", "127.0.0.1", "--port", str(path.own_port), "--key", key, "--yes",
                 "--json", "--stages", "stream", "--direction", "both", "--time-budget", "60s"],
                capture_output=True, text=True, timeout=120)
            if len(path.hellos()) >= 2:
                break
        path.ended = True
        path.join()
        hellos = path.hellos()
        tokens = {hello[20:36] for hello in hellos}
        assert len(hellos) >= 2, (len(hellos), done.returncode, done.stdout[-500:], done.stderr[-500:])
        assert len(tokens) == len(hellos), f"{len(hellos)} connections said {len(tokens)} tokens"


@case
def a_token_is_good_for_one_connection_of_one_test():
    with KeyFile(f"alice {SECRET}") as key, keyed_daemon(key) as daemon, \
            KeyedSession(daemon.port) as session:
        assert session.bound
        first = session.ask(streams=2, ms=200)
        test = first["test_id"]
        assert refused(session.join(test, 0, session.token)) == wire.E_TOKEN, "the session's token"
        seen = session.said(DATA, test, 0)
        assert refused(session.join(test, 1, seen)) == wire.E_TOKEN, "another connection's"
        for purpose in (SYN, UDP):
            assert refused(session.join(test, 0, session.said(purpose))) == wire.E_TOKEN, purpose
        streams = session.open_streams(first)
        session.start(first)
        for stream in streams:
            stream.close()
        session.end()
        second = session.ask(streams=1, ms=200)
        assert refused(session.join(second["test_id"], 0, seen)) == wire.E_TOKEN, "the last test's"
        session.open_streams(second)


@case
def datagrams_and_syn_queries_say_tokens_of_their_own():
    with KeyFile(f"alice {SECRET}") as key, keyed_daemon(key) as daemon, \
            KeyedSession(daemon.port) as session:
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.connect(("127.0.0.1", daemon.port))
        for token, answered in ((session.token, False), (session.said(DATA), False),
                                (session.said(UDP), True)):
            hello = session.seal(wire.prove(1, token))
            assert is_answered(udp, hello, session, daemon.port) == answered, token
        for token, answered in ((session.token, False), (session.said(SYN), True)):
            query = Connection(daemon.port)
            query.send(wire.frame(wire.SYN_QUERY, wire.MAGIC + struct.pack(">HHI", 1, 0, 0) + token))
            assert (query.read()[0] == wire.SYN_REPORT) == answered, token
            query.close()


@case
def clients_that_know_no_seals_or_tokens_are_served():
    for offers in (("tightlink-bound",), ()):
        with KeyFile(f"alice {SECRET}") as key, keyed_daemon(key) as daemon, \
                KeyedSession(daemon.port, offers=offers) as session:
            assert not session.sealed and session.bound == bool(offers)
            prove(session, daemon.port, socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            session.open_streams(session.ask(ms=200))


def prove(session, port, udp):
    """Proves a socket's tuple as the session's client does; the challenge."""
    challenge = bytes(16)
    udp.connect(("127.0.0.1", port))

    def word():
        session.ping()  # it is not to end for silence, however often this is asked
        return session.seal(wire.prove(kind, session.said(UDP), challenge))

    for kind in (1, 3):
        answer = wire.answered(udp, word)
        assert answer[4] == kind + 1, answer
        challenge = answer[24:40]
    return challenge


def is_answered(udp, datagram, other, port):
    """Whether a datagram is. The responder reads one after the other: when it has answered what was
    sent behind it, for another session, it has answered this as well."""
    udp.send(datagram)
    prove(other, port, socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    return bool(select.select([udp], [], [], 0)[0])


@case
def who_reads_the_path_proves_no_address():
    """P4: he says the session's words from the client's own address (as who forges it may): neither
    is he answered, nor does he take the place of a tuple that has proved itself."""
    with KeyFile(f"alice {SECRET}") as key, keyed_daemon(key) as daemon, \
            KeyedSession(daemon.port) as session, KeyedSession(daemon.port) as behind:
        own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        challenge = prove(session, daemon.port, own)
        hello = session.seal(wire.prove(1, session.said(UDP)))
        for _ in range(6):
            other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            other.connect(("127.0.0.1", daemon.port))
            unsealed = wire.prove(1, session.said(UDP))
            assert not is_answered(other, unsealed, behind, daemon.port), "proved without a seal"
            other.send(hello)  # again what he read
        session.send(wire.test_udp(ms=300))
        granted = session.granted()
        session.send(wire.frame(wire.UDP_START, struct.pack(">II", granted["test_id"], 0) +
                                challenge[:8]))
        session.expect(wire.STARTED, skip=(wire.READINGS, wire.PONG))


@case
def who_reads_the_path_adds_nothing_to_a_test():
    """He sends datagrams of the client's test, by the cookie that stands in each, from the client's
    address and from others: none counts, and none ends it."""
    with KeyFile(f"alice {SECRET}") as key, keyed_daemon(key) as daemon, \
            KeyedSession(daemon.port) as session:
        own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        challenge = prove(session, daemon.port, own)
        other.connect(("127.0.0.1", daemon.port))
        session.send(wire.test_udp(direction=wire.UPLOAD, ms=9000, size=100, rate=1000000))
        test = session.granted()["test_id"]
        session.send(wire.frame(wire.UDP_START, struct.pack(">II", test, 0) + challenge[:8]))
        session.expect(wire.STARTED, skip=(wire.READINGS, wire.PONG))
        for number in range(20):
            datagram = wire.udp_data(challenge[:8], test, number, number * 1000000, 100)
            forged = wire.udp_data(challenge[:8], test, 1000 + number, number * 1000000, 100)
            own.send(session.seal(datagram))
            for forger in (own, other):
                forger.send(forged)
            other.send(session.seal(datagram))  # again what he read
        report = wire.frame(wire.UDP_REPORT, struct.pack(">IBBxxB", test, 0, 1, 12) + b"\x03\0" +
                            bytes([20]) + b"\xd0\x0f")
        session.send(report)
        told = session.expect(wire.UDP_REPORT, skip=(wire.READINGS, wire.PONG))
        while not told[5]:
            told = session.expect(wire.UDP_REPORT, skip=(wire.READINGS, wire.PONG))
        assert told[4] == 1 and told[8 + 1 + 7] == 20, f"{told[16]} datagrams instead of 20"
        end = session.expect(wire.TEST_END, skip=(wire.READINGS, wire.PONG, wire.UDP_SERIES))
        assert end[20] == wire.END_TIME, f"ended for reason {end[20]}"


def upload_beside(session, port, added):
    """An upload of 40 datagrams of which the path loses four; added(head, whole): what somebody sends
    from the client's address for each. What the receiver tells, by field."""
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    challenge = prove(session, port, own)
    session.send(wire.test_udp(direction=wire.UPLOAD, ms=9000, size=100, rate=1000000))
    test = session.granted()["test_id"]
    session.send(wire.frame(wire.UDP_START, struct.pack(">II", test, 0) + challenge[:8]))
    session.expect(wire.STARTED, skip=(wire.READINGS, wire.PONG))
    for number in range(40):
        datagram = session.seal(wire.udp_data(challenge[:8], test, number, number * 1000000, 100))
        own.send(added(datagram))
        if number % 10 != 5:
            own.send(datagram)
    session.send(wire.frame(wire.UDP_REPORT, struct.pack(">IBBxxB", test, 0, 1, 12) + b"\x03\0" +
                            bytes([40]) + b"\xa0\x1f"))
    while True:
        told = session.expect(wire.UDP_REPORT, skip=(wire.READINGS, wire.PONG))
        if told[5]:
            return wire.numbers(told[8:])


@case
def who_adds_datagrams_is_not_taken_for_a_path_that_damages():
    """With the cookie that he read and without it: what the path lost stays lost."""
    altered = lambda datagram: datagram[:60] + bytes([datagram[60] ^ 1]) + datagram[61:]
    blind = lambda datagram: datagram[:8] + os.urandom(len(datagram) - 8)
    with KeyFile(f"alice {SECRET}") as key, keyed_daemon(key) as daemon:
        for name, added in (("who does not read it", blind), ("who reads the path", altered)):
            with KeyedSession(daemon.port) as session:
                told = upload_beside(session, daemon.port, added)
                assert told[0] == 36 and told[4] == 4, told
                assert told[7] == 0, f"{name}: {told[7]} were damaged, so the path is told to damage"
                assert added is blind or told[13] >= 40, told


@case
def a_key_opens_from_its_networks_alone():
    line = f"alice {SECRET} from=127.0.0.2,127.0.4.0/22,2001:db8::/32"
    with KeyFile(line, f"bob {SECRET}") as key, keyed_daemon(key) as daemon:
        for source, name, good in (("127.0.0.2", "alice", True), ("127.0.0.1", "alice", False),
                                   ("127.0.7.255", "alice", True), ("127.0.8.0", "alice", False),
                                   ("127.0.0.1", "bob", True)):
            try:
                KeyedSession(daemon.port, name, source, timeout=4).close()
                assert good, f"{name} from {source}"
            except NoChannel:
                assert not good, f"{name} from {source}"
        daemon.stop()  # which writes what it has still to say
        assert "key alice is not for this network" in daemon.text(), daemon.text()


def answer_to(port, words):
    """What comes back, up to the connection's end, and in what time."""
    with socket.create_connection(("127.0.0.1", port)) as far:
        begin = time.monotonic()
        far.sendall(words)
        answer = b"".join(iter(lambda: far.recv(4096), b""))
        return answer, time.monotonic() - begin


@case
def names_of_keys_cannot_be_guessed():
    """A name that is none, one with another secret, one of another network: the same alert, in times
    whose smallest of 60 and more, in turns, are alike."""
    with KeyFile(f"alice {SECRET}", f"carol {SECRET} from=192.0.2.0/24") as key, \
            keyed_daemon(key) as daemon:
        words = {name: first_words(name, secret) for name, secret in
                 (("alice", "fe" * 32), ("mallo", "fe" * 32), ("carol", SECRET))}
        answers, least_us = set(), dict.fromkeys(words, 1e9)
        alike = lambda: max(least_us.values()) < 1.3 * min(least_us.values())
        for turn in range(1000):  # the smallest of more where the machine has other work
            for name, hello in words.items():
                answer, took = answer_to(daemon.port, hello)
                answers.add(answer)
                least_us[name] = min(least_us[name], took * 1e6)
            if turn >= 59 and alike():
                break
        print("  " + ", ".join(f"{name}: {took:.0f} us" for name, took in least_us.items()))
        assert len(answers) == 1 and answers.pop(), "alerts differ"
        assert alike(), least_us
        time.sleep(1.2)
        answer_to(daemon.port, words["mallo"])
        daemon.stop()  # by then it has written that
        assert "a handshake failed" in daemon.text(), daemon.text()


@case
def unfinished_handshakes_keep_nobody_out():
    """1,000 connections of 250 networks begin a handshake and stop, in its first byte and in the middle
    of its first record: who has the key is served."""
    with KeyFile(f"alice {SECRET}") as key, keyed_daemon(key) as daemon:
        words = first_words("alice", "fe" * 32)
        held = []
        for i in range(1000):
            begun = time.monotonic()
            stranger = Connection(daemon.port, f"127.{1 + i % 250}.{i // 250}.1")
            stranger.send(words[:1 + i % 2 * 100])
            held.append((stranger, begun))
        for i in range(10):
            KeyedSession(daemon.port, source=f"127.251.{i}.1", timeout=10).close()
        gone = [time.monotonic() - begun for stranger, begun in held if not stranger.is_open()]
        assert all(age > 3 for age in gone), f"sent away after {min(gone):.1f} s"
        print(f"  {len(gone)} of 1000 strangers had had their 3 s when the last holder was served")
        cut, whole = (Connection(daemon.port, f"127.252.{i}.1") for i in range(2))
        for stranger in (whole, cut):
            stranger.send(words[:100])
        cut.socket.shutdown(socket.SHUT_WR)
        ready = select.select([cut, whole], [], [], 10)[0]
        assert ready == [cut], "a record that will not be whole is waited for"


@case
def a_record_without_a_whole_hello_keeps_no_place():
    """128 strangers of as many networks say a record that is whole, and begins a message that is not."""
    with KeyFile(f"alice {SECRET}") as key, keyed_daemon(key) as daemon:
        strangers = []
        for i in range(128):
            strangers.append(Connection(daemon.port, f"127.{1 + i}.9.1"))
            strangers[-1].send((b"\x16\3\1\0\5\1\0\x3f\xff\3", b"\x16\3\1\0\1\1")[i % 2])
        for i in range(3):
            KeyedSession(daemon.port, source=f"127.251.{i}.1").close()
        until(30, lambda: not any(stranger.is_open() for stranger in strangers), "none waits")
        assert "is none" in daemon.text(), daemon.text()


@case
def a_key_that_is_taken_away_ends_what_waits():
    """Its session begins no test for which it waited, and is told nothing more of the host."""
    alice, bob = f"alice {SECRET}", f"bob {SECRET}"
    same_user = ("--user", "root") if os.geteuid() == 0 else ()  # who may read the file again
    with KeyFile(alice, bob) as key, keyed_daemon(key, *same_user) as daemon, \
            at_once(daemon.port, ("alice", "127.1.9.1"), ("bob", "127.2.9.1"),
                    ("bob", "127.3.9.1")) as (first, waits, asks):
        granted = first.ask(ms=1000)
        waits.send(wire.test_tcp(ms=1000))
        waits.expect(wire.BUSY)
        with open(key, "w", encoding="ascii") as file:
            file.write(alice + "\n")
        daemon.process.send_signal(signal.SIGHUP)
        until(30, lambda: "1 keys are in force; 2 sessions" in daemon.text(), "the keys are read")
        asks.send(frame(wire.HOST_QUERY))
        first.send(frame(wire.STOP, struct.pack(">I", granted["test_id"])))
        for session in (asks, waits):
            code, text = session.error(skip=(wire.BUSY,))
            assert code == wire.E_KEY and "no longer in force" in text, (code, text)


@case
def what_a_key_line_says_wrong_is_told():
    for words in ("from=", "from=10.0.0.0/33", "from=nowhere", "from=::/129", "class=king", "x=1",
                  "from=" + ",".join(["10.0.0.1"] * 9), "from=10.0.0.0/08x"):
        with KeyFile("# a comment", f"alice {SECRET} {words}") as key:
            done = subprocess.run([DAEMON, "--key", key, "--port", "0"], capture_output=True,
                                  text=True, timeout=10)
        assert done.returncode != 0 and "line 2" in done.stderr, (words, done.stderr)
        assert "from=NETWORK" in done.stderr and SECRET[:8] not in done.stderr, done.stderr


@case
def each_class_has_its_places():
    """Without a key 2, with one 3, and whoever has an administrator's key comes in all the same."""
    lines = (f"alice {SECRET}", f"root {SECRET} class=admin")
    with KeyFile(*lines) as key, \
            keyed_daemon(key, "--places", "open=2,keyed=3,admin=1") as daemon:
        strangers = [wire.Session(daemon.port, f"127.0.{50 + i}.1") for i in range(2)]
        wire.is_full(strangers, 2, lambda: wire.Session(daemon.port, "127.0.90.1"), "with a key")
        with at_once(daemon.port, *(("alice", f"127.0.{60 + i}.1") for i in range(3))) as holders:
            wire.is_full(holders, 3, lambda: KeyedSession(daemon.port, source="127.0.91.1"),
                         "administrator")
            for session in (*strangers, KeyedSession(daemon.port, "root", "127.0.92.1")):
                session.close()


@case
def silent_sessions_of_a_class_give_way():
    """Who took every open place and says nothing any more loses one to who comes."""
    with KeyFile(f"alice {SECRET}") as key, keyed_daemon(key, "--places", "open=2") as daemon:
        held = [wire.Session(daemon.port, f"127.0.{50 + i}.1") for i in range(2)]
        time.sleep(1.3)
        wire.Session(daemon.port, "127.0.90.1").close()
        assert sum(session.is_open() for session in held) == 1


if not shutil.which("openssl"):
    print("skipped: there is no openssl program, which is the client here")
    sys.exit(77)
run(sys.argv[3:])
