#!/usr/bin/env python3
"""tightlinkd against strangers and liars: what it answers, and to whom it says nothing.

Arguments: path of tightlinkd, then names of cases (none: all)."""
import os
import random
import select
import socket
import struct
import subprocess
import sys
import threading
import time

import wire
from cases import case, run, until, waits
from wire import Connection, Daemon, Session, frame

DAEMON = sys.argv[1]


@case
def a_test_each_way():
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        assert session.program.startswith("tightlinkd ") and session.max_seconds == 60
        for direction in (wire.DOWNLOAD, wire.UPLOAD):
            for streams in (1, 4):
                granted, end, moved, _ = session.run(direction=direction, streams=streams, ms=1000)
                assert end["reason"] == wire.END_TIME, end
                assert end["streams"] == streams and end["test_id"] == granted["test_id"]
                assert sum(end["bytes"]) > 10e6 and moved > 10e6
                assert min(sum(end["bytes"]), moved) > 0.5 * max(sum(end["bytes"]), moved)
                _, end, _, samples = session.run(direction=direction, streams=streams, ms=20000,
                                                 pump_seconds=30, enough=10)
                assert samples >= 10 and end["reason"] == wire.END_STOPPED, (samples, end)
        session.send(frame(wire.BYE))
        until(30, lambda: not session.is_open(), "BYE closes the session")
        assert daemon.stop()[1] == 0


@case
def the_host_tells_what_a_diagnosis_needs():
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        session.send(frame(wire.HOST_QUERY))
        records = {}
        while True:
            kind, payload = session.read()
            if kind == wire.HOST_END:
                break
            assert kind == wire.HOST
            while payload:
                sort, name, value = payload[0], payload[1], struct.unpack(">H", payload[2:4])[0]
                records[payload[4:4 + name].decode()] = (sort, payload[4 + name:4 + name + value])
                payload = payload[4 + name + value:]
        assert struct.unpack(">H", payload)[0] == len(records) > 30
        sort, value = records["tcp_rmem_max_bytes"]
        with open("/proc/sys/net/ipv4/tcp_rmem") as file:
            assert struct.unpack(">d", value)[0] == int(file.read().split()[2])
        with open("/proc/sys/net/ipv4/tcp_congestion_control") as file:
            assert records["cc_current"] == (2, file.read().strip().encode())
        assert records["kernel"][0] == 3, "open mode tells the kernel's release"


@case
def data_comes_from_where_control_comes():
    """Who has seen a token on the path cannot take a stream of its test over from elsewhere, nor
    bring the test to another address of the responder."""
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        granted = session.ask(ms=1000)
        hello = frame(wire.DATA_HELLO, wire.MAGIC + struct.pack(
            ">HHI", wire.VERSION, 0, granted["test_id"]) + session.token)
        for what, source, host in (("from another address", "127.0.0.9", "127.0.0.1"),
                                   ("to another address", "127.0.0.1", "127.0.0.7")):
            stranger = Connection(daemon.port, source=source, host=host)
            stranger.send(hello)
            code, text = stranger.error()
            assert code == wire.E_TOKEN and "address" in text, (what, code, text)
        data = session.join(granted["test_id"], 0)
        assert data.expect(wire.DATA_OK) == struct.pack(">IHH", granted["test_id"], 0, 0)


@case
def numbers_from_outside_are_clamped():
    with Daemon(DAEMON, "--max-seconds", "7", "--max-streams", "4", "--rate-cap", "80M") as daemon:
        session = Session(daemon.port)
        assert (session.max_seconds, session.max_streams, session.rate_cap) == (7, 4, 80000000)
        for ms, granted_ms in ((0, 7000), (1, 100), (5000, 5000), (1 << 31, 7000),
                               ((1 << 32) - 1, 7000)):
            granted = session.ask(ms=ms, max_bytes=(1 << 64) - 1, pacing=1 << 63, interval_us=1)
            assert granted["ms"] == granted_ms, (ms, granted)
            assert granted["pacing"] == 80000000 and granted["interval_us"] == 10000
            assert granted["max_bytes"] == 10000 * granted_ms
            session.send(frame(wire.STOP, struct.pack(">I", granted["test_id"])))
            assert session.end()["reason"] == wire.END_STOPPED
        for streams in (5, 33, 129, 10000, 65535):
            for direction, most in ((wire.DOWNLOAD, 4), (wire.UPLOAD, 4), (wire.BOTH, 2)):
                granted = session.ask(streams=streams, direction=direction)
                assert granted["streams"] == most, (streams, granted)
                session.send(frame(wire.STOP, struct.pack(">I", granted["test_id"])))
                assert session.end()["streams"] == 4
        for wrong in ({"streams": 0}, {"direction": 3}, {"discard": 2}, {"dscp": 64}, {"path": 4}):
            other = Session(daemon.port)
            other.send(wire.test_tcp(**wrong))
            assert other.error()[0] == wire.E_PROTOCOL, wrong
            other.close()
            time.sleep(0.05)


@case
def a_forbidden_congestion_control_is_refused_by_name():
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        session.send(wire.test_tcp(congestion=b"nosuchcc"))
        code, text = session.error()
        assert code == wire.E_CONGESTION and "nosuchcc" in text, text
        granted = session.ask()
        with open("/proc/sys/net/ipv4/tcp_congestion_control") as file:
            assert granted["congestion"] == file.read().strip()
        session.send(frame(wire.STOP, struct.pack(">I", granted["test_id"])))
        session.end()
        granted, end, _, _ = session.run(congestion=b"reno", ms=300)
        assert granted["congestion"] == "reno" and end["reason"] == wire.END_TIME


@case
def one_test_at_a_time_and_the_others_know_their_place():
    with Daemon(DAEMON) as daemon:
        first = Session(daemon.port)
        granted = first.ask(ms=2000)
        waiting = [Session(daemon.port, f"127.0.1.{i}") for i in range(1, 4)]
        for place, session in enumerate(waiting, 1):
            session.send(wire.test_tcp(ms=1000))
            got, wait_ms = struct.unpack(">HxxI", session.expect(wire.BUSY))
            assert got == place and 1000 < wait_ms <= 60000, (got, place, wait_ms)
        waiting[0].close()  # leaves the queue
        assert struct.unpack(">H", waiting[1].expect(wire.BUSY)[:2])[0] == 1
        assert struct.unpack(">H", waiting[2].expect(wire.BUSY)[:2])[0] == 2
        first.send(frame(wire.STOP, struct.pack(">I", granted["test_id"])))
        first.end()
        granted = waiting[1].granted()
        waiting[1].send(frame(wire.STOP, struct.pack(">I", granted["test_id"])))
        waiting[2].granted()


@case
def a_stranger_cannot_join_a_test():
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        granted = session.ask(streams=2)
        bad = [session.join(granted["test_id"], 0, token=bytes(16)),
               session.join(granted["test_id"] + 1, 0), session.join(granted["test_id"], 2)]
        good = session.join(granted["test_id"], 0)
        good.expect(wire.DATA_OK)
        bad.append(session.join(granted["test_id"], 0))  # twice
        for data in bad:
            assert data.error()[0] == wire.E_TOKEN
            until(30, lambda: not data.is_open(), "a refused data connection is closed")
        session.send(frame(wire.START, struct.pack(">I", granted["test_id"])))
        assert session.error()[0] == wire.E_STATE, "one of two streams is missing"


@case
def strangers_are_refused_and_told_no_more_than_they_said():
    greetings = {
        "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "ssh": b"SSH-2.0-OpenSSH_9.2p1\r\n",
        "tls": bytes.fromhex("16030102000100") + os.urandom(510), "iperf3": b"a" * 37,
        "nuttcp": b"HELO nuttcp v8.2.2\n", "short": b"G", "version": wire.hello(version=9),
        "type": frame(wire.PING, bytes(8)), "long": frame(wire.HELLO, bytes(2000)),
        "magic": frame(wire.HELLO, bytes(88)), "zeros": bytes(4096), "unknown": frame(200),
        "huge": b"\x0f\xff" + bytes(4000)}
    with Daemon(DAEMON) as daemon:
        for name, bytes_out in greetings.items():
            stranger = Connection(daemon.port)
            stranger.send(bytes_out)
            got = b""
            try:
                while True:
                    data = stranger.socket.recv(65536)
                    if not data:
                        break
                    got += data
            except ConnectionError:
                pass
            assert len(got) <= len(bytes_out), f"{name}: {len(got)} > {len(bytes_out)}"
            if len(bytes_out) > 6:
                assert got[2] == wire.ERROR, f"{name}: {got!r}"
            stranger.close()
        Session(daemon.port).close()


@case
def frames_out_of_place_end_the_session():
    out_of_place = [frame(wire.WELCOME, bytes(88)), frame(wire.START, struct.pack(">I", 1)),
                    frame(wire.STOP, struct.pack(">I", 1)), frame(99), frame(wire.HELLO, bytes(88)),
                    frame(wire.PING, bytes(7)), frame(wire.HOST_QUERY, b"x"), b"\xff" * 10,
                    frame(wire.TEST_TCP, bytes(55)), frame(wire.START, bytes(4)),
                    frame(wire.HOST_QUERY) * 2]
    with Daemon(DAEMON) as daemon:
        for i, data in enumerate(out_of_place):
            session = Session(daemon.port, f"127.0.2.{i + 1}")
            session.send(data)
            session.error(skip=(wire.HOST, wire.HOST_END))
            until(30, lambda: not session.is_open(), f"case {i} is closed")


@case
def udp_is_silent_to_who_has_not_proved_itself():
    token = os.urandom(16)
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        here.bind(("127.0.0.1", 0))
        here.connect(("127.0.0.1", daemon.port))
        elsewhere = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        elsewhere.bind(("127.0.0.9", 0))
        elsewhere.connect(("127.0.0.1", daemon.port))
        behind = Prober(daemon.port)

        def answer(sock, data):
            session.ping()  # it is not to end for silence, however long this takes
            got = wire.answered(sock, data)
            assert len(got) <= len(data), f"{len(got)} bytes for {len(data)}"
            return got

        def is_answered(sock, data):
            """The responder reads one after the other: when it has answered who asked behind it, it
            has answered this as well."""
            sock.send(data)
            behind.ask()
            return bool(select.select([sock], [], [], 0.05)[0])

        assert not is_answered(here, wire.prove(1, token)), "a made-up token"
        assert not is_answered(elsewhere, wire.prove(1, session.token)), "another address"
        assert not is_answered(here, b"") and not is_answered(here, os.urandom(900))
        assert not is_answered(here, wire.prove(1, session.token)[:63])
        challenge = answer(here, wire.prove(1, session.token))
        assert challenge[4] == 2 and len(challenge) == 64
        proof = challenge[24:40]
        assert not is_answered(here, wire.prove(3, session.token, os.urandom(16))), "a wrong echo"
        probe = seal(5, proof[:8], 1, 200)
        assert not is_answered(here, probe), "a probe before the proof"
        assert not is_answered(elsewhere, wire.prove(3, session.token, proof))
        assert answer(here, wire.prove(3, session.token, proof))[4] == 4
        got = answer(here, probe)
        assert got[4] == 6 and len(got) == 200 and got[16:20] == probe[16:20]
        assert struct.unpack(">H", got[6:8])[0] == 200
        assert not is_answered(elsewhere, probe), "another tuple"
        assert len(answer(here, seal(5, proof[:8], 2, 1000, reply=48))) == 48
        assert not is_answered(here, seal(5, proof[:8], 2, 100, reply=101))
        damaged = bytearray(seal(5, proof[:8], 3, 200))
        damaged[150] ^= 1
        assert not is_answered(here, bytes(damaged))
        got = answer(here, seal(5, proof[:8], 4, 200))
        assert struct.unpack(">I", got[44:48])[0] == 1, "the damaged probe is counted"
        session.send(frame(wire.BYE))
        until(30, lambda: not session.is_open(), "BYE")
        assert not is_answered(here, probe), "the session is over"


class Prober:
    """A client of another session whose tuple is proved: its probes are answered."""

    def __init__(self, port):
        self.session = Session(port, "127.0.0.10")
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.10", 0))
        self.udp.connect(("127.0.0.1", port))
        self.cookie = wire.answered(self.udp, wire.prove(1, self.session.token))[24:40]
        wire.answered(self.udp, wire.prove(3, self.session.token, self.cookie))

    def ask(self):
        self.session.ping()
        wire.answered(self.udp, seal(5, self.cookie[:8], 1, 100))


def seal(kind, cookie, sequence, size, reply=0):
    head = b"TLU1" + struct.pack(">BBH", kind, 0, reply) + cookie + struct.pack(">I", sequence)
    tail = struct.pack(">QQII", 5, 0, 0, 0) + bytes(size - 48)
    return head + struct.pack(">I", wire.crc32c(head + bytes(4) + tail)) + tail


class Stranger:
    """A UDP socket that never proves its tuple, and counts what it sends and what comes back."""

    def __init__(self, source, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((source, 0))
        self.socket.connect(("127.0.0.1", port))
        self.socket.setblocking(False)
        self.sent = self.came = 0

    def ask(self, kinds):
        for data in kinds:
            self.sent += len(data)
            self.socket.send(data)
            self.take()

    @staticmethod
    def questions(token, challenge):
        """Every kind of datagram, whole and cut short, with a token and a cookie that are right."""
        cookie = challenge[:8]
        kinds = [wire.prove(1, token), wire.prove(1, token)[:63], wire.prove(3, token, bytes(16))]
        kinds += [seal(kind, cookie, 1, size, reply=reply) for kind in (5, 7, 8, 30)
                  for size, reply in ((48, 0), (48, 9216), (400, 400))]
        return kinds + [b"TLU1" + bytes([kind, 0, 0, 48]) + cookie + bytes(48) for kind in range(48)]

    def take(self):
        try:
            while True:
                self.came += len(self.socket.recv(65536))
        except BlockingIOError:
            pass


@case
def no_state_makes_udp_an_amplifier():
    """Bytes out for bytes in, to who has not proved the tuple: none to another address, no more than
    came to the client's own, whatever the session is doing."""
    token = challenge = os.urandom(16)
    with Daemon(DAEMON) as daemon:
        other, own = (Stranger(source, daemon.port) for source in ("127.0.0.9", "127.0.0.1"))

        def attack(state):
            kinds = Stranger.questions(token, challenge)
            for _ in range(5):
                other.ask(kinds)
                own.ask(kinds)
            time.sleep(0.1)
            for stranger in (other, own):
                stranger.take()
            assert other.came == 0, f"{state}: {other.came} bytes to another address"
            assert own.came <= own.sent, f"{state}: {own.came} bytes for {own.sent}"

        attack("no session")
        session = Session(daemon.port)
        token = session.token
        attack("a session")
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.connect(("127.0.0.1", daemon.port))
        challenge = wire.answered(udp, wire.prove(1, token))[24:40]
        attack("a tuple asked to prove itself")
        assert wire.answered(udp, wire.prove(3, token, challenge))[4] == 4
        attack("a tuple proved")
        session.send(wire.test_udp(size=1200, ms=1500, rate=20000000))
        granted = session.granted()
        attack("a test granted")
        session.send(frame(wire.UDP_START, struct.pack(">II", granted["test_id"], 0) + challenge[:8]))
        session.expect(wire.STARTED, skip=(wire.READINGS, wire.PONG))
        attack("a test that sends")
        session.close()
        attack("a session that is gone")
        print(f"  another address: 0 bytes for {other.sent}; the client's own, unproved: "
              f"{own.came / own.sent:.3f} bytes a byte")
        assert own.came > 0, "nothing was tried"


@case
def both_families_are_served():
    with Daemon(DAEMON) as daemon:
        try:
            session = Session(daemon.port, host="::1")
        except OSError:
            print("  skipped: no IPv6 on loopback")
            return
        session.ping(5)
        assert session.expect(wire.PONG)[:8] == struct.pack(">Q", 5)


@case
def the_command_line_says_what_is_wrong():
    def run(*options):
        done = subprocess.run([DAEMON, *options], capture_output=True, text=True, timeout=10)
        return done.returncode, done.stderr + done.stdout

    assert run()[0] == 2 and "--open" in run()[1]
    for bad in (["--open", "--port", "99999"], ["--open", "--max-seconds", "61"], ["--banana"],
                ["--open", "--rate-cap", "banana"], ["--open", "--daily-quota", "-1"],
                ["--open", "here"], ["--open", "--bind", "banana"], ["--open", "--port", "5x"]):
        status, text = run(*bad)
        assert status == 2 and text, (bad, status, text)
    with Daemon(DAEMON) as daemon:
        status, text = run("--open", "--port", str(daemon.port))
        assert status == 3 and "in use" in text and "--port" in text, text
    status, text = run("--open", "--bind", "192.0.2.1", "--port", "0")
    assert status == 3 and "no address of this host" in text, text
    for hostile in (["--bind", "a\x1b[2J\u202e\x9b"], ["--disk", "/a\x1b[2J\u202e\x9b"], ["--a\x1b[2J\x9b"]):
        status, text = run("--open", "--port", "0", *hostile)
        assert status == 2 and text.replace("\n", "").isprintable(), (hostile, text)
    assert run("--help")[0] == 0 and "--daily-quota" in run("--help")[1]
    assert run("--version")[1].startswith("tightlinkd ")


@case
def random_bytes_over_real_sockets():
    rng = random.Random(5411)
    seeds = [wire.hello(), wire.test_tcp(), frame(wire.START, struct.pack(">I", 1)),
             frame(wire.PING, bytes(8)), frame(wire.HOST_QUERY), frame(wire.BYE),
             frame(wire.STOP, struct.pack(">I", 1))]
    # Under a sanitizer freed memory is kept for a while: not here, where growth is measured.
    options = os.environ.get("ASAN_OPTIONS", "")
    os.environ["ASAN_OPTIONS"] = options + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"
    with Daemon(DAEMON) as daemon:
        os.environ["ASAN_OPTIONS"] = options
        Session(daemon.port).run(ms=200)  # what a first test allocates stays
        before = daemon.rss()
        for i in range(5000):
            connection = Connection(daemon.port, f"127.0.{20 + i % 200}.{rng.randrange(1, 250)}")
            data = bytearray(wire.hello() if rng.random() < 0.7 else b"")
            for _ in range(rng.randrange(1, 6)):
                part = bytearray(rng.choice(seeds))
                for _ in range(rng.randrange(4)):
                    part[rng.randrange(len(part))] = rng.randrange(256)
                data += part[:rng.randrange(1, len(part) + 1)]
            try:
                connection.send(bytes(data))
                connection.socket.shutdown(socket.SHUT_WR)
                while connection.socket.recv(65536):  # until all of it was judged
                    pass
            except ConnectionError:
                pass
            connection.close()
        until(30, lambda: daemon.descriptors() < 20, "everything is free again")
        Session(daemon.port).run(ms=200)
        grown = daemon.rss() - before
        print(f"  5,000 connections of mutated frames: resident set grew by {grown} bytes")
        assert grown < 8e6
        took, status = daemon.stop()
        assert status == 0, f"exit {status}: {daemon.text()}"



def status_asked_of(port):
    """How long --status takes on such a port."""
    begin = time.monotonic()
    asker = subprocess.Popen([DAEMON, "--status", "--port", str(port)], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    try:
        asker.wait(20)
    except subprocess.TimeoutExpired:
        asker.kill()
        asker.wait()
    return time.monotonic() - begin


def drips(listener):
    """A byte a second, for ever."""
    connection = listener.accept()[0]
    try:
        while not connection.send(b"x") == 0:
            time.sleep(1)
    except OSError:
        pass


@waits
def who_took_the_name_of_the_status_holds_nobody():
    """A local user: says a byte now and then, or lets nobody in."""
    with socket.socket(socket.AF_UNIX) as dripping, socket.socket(socket.AF_UNIX) as full, \
            socket.socket(socket.AF_UNIX) as first:
        names = {dripping: os.getpid() % 20000 + 20000, full: os.getpid() % 20000 + 40001}
        for listener, port in names.items():
            listener.bind(f"\0tightlinkd-{port}")
            listener.listen(0)
        first.connect(full.getsockname())
        threading.Thread(target=drips, args=(dripping,), daemon=True).start()
        for listener, port in names.items():
            took = status_asked_of(port)
            print(f"  --status ends after {took:.1f} s")
            assert took < 10, f"held for {took:.0f} s"


run(sys.argv[2:])
