#!/usr/bin/env python3
"""tightlinkd against strangers, dead clients and liars (promises P2 to P6).

Arguments: path of tightlinkd, then names of cases (none: all but the slow ones, which have
their own meson test with --slow)."""
import contextlib
import concurrent.futures
import os
import random
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import states
import wire
from cases import Skipped, case, run, slow
from keyed import SECRET, KeyFile, first_words
from states import STATES
from three import Three, ip
from wire import Connection, Daemon, Session, frame

DAEMON = sys.argv[1]


def until(seconds, condition, what):
    """Waits for a condition; returns how long it took."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < seconds, f"not within {seconds} s: {what}"
        time.sleep(0.02)
    return time.monotonic() - begin


def is_sanitized():
    with open(DAEMON, "rb") as program:
        code = program.read()
    return b"__asan_init" in code or b"__tsan_init" in code


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


@case
def a_test_each_way():
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        assert session.program.startswith("tightlinkd ") and session.max_seconds == 60
        for direction in (wire.DOWNLOAD, wire.UPLOAD):
            for streams in (1, 4):
                granted, end, moved, samples = session.run(direction=direction, streams=streams,
                                                           ms=1000)
                assert end["reason"] == wire.END_TIME, end
                assert end["streams"] == streams and end["test_id"] == granted["test_id"]
                assert sum(end["bytes"]) > 10e6 and moved > 10e6
                assert min(sum(end["bytes"]), moved) > 0.5 * max(sum(end["bytes"]), moved)
                assert samples >= 10, f"{samples} frames of samples in a second"
        session.send(frame(wire.BYE))
        until(1, lambda: not session.is_open(), "BYE closes the session")
        took, status = daemon.stop()
        assert took < 1 and status == 0, (took, status)


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
def a_rate_cap_holds_who_does_not_pace():
    """An upload as fast as the client can, under a cap of 20 Mb/s: 5 MB in 2 s, and not at once."""
    with Daemon(DAEMON, "--rate-cap", "20M") as daemon:
        session = Session(daemon.port)
        begin = time.monotonic()
        _, end, *_ = session.run(direction=wire.UPLOAD, ms=2000)
        took = time.monotonic() - begin
        rate = sum(end["bytes"]) * 8 / took
        print(f"  {sum(end['bytes']) / 1e6:.1f} MB came in {took:.2f} s: {rate / 1e6:.1f} Mb/s of 20")
        assert sum(end["bytes"]) > 3e6, end
        assert rate < 1.5 * 20e6, f"{rate / 1e6:.0f} Mb/s under a cap of 20"


def prove(session, port):
    """A UDP socket whose tuple is proved, and its cookie."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.connect(("127.0.0.1", port))
    udp.settimeout(2)
    def step(kind, challenge):
        udp.send(wire.prove(kind, session.token, challenge))
        return udp.recv(100)[24:40]
    challenge = step(1, bytes(16))
    step(3, challenge)
    return udp, challenge[:8]


def answered_bytes(udp, datagram, seconds):
    """Sends it over and over; the bytes that come back."""
    udp.setblocking(False)
    came, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            for _ in range(20):
                udp.send(datagram)
        except OSError:
            pass
        try:
            while True:
                came += len(udp.recv(10000))
        except OSError:
            time.sleep(0.001)
    return came


@case
def probes_count_against_rate_cap_and_quota():
    """Answers to probes, and the longer ones of path probes, under 1 Mb/s and 300 kB a day."""
    with Daemon(DAEMON, "--rate-cap", "1M", "--daily-quota", "300kB") as daemon:
        session = Session(daemon.port)
        udp, cookie = prove(session, daemon.port)
        probe = b"TLU1" + struct.pack(">BxH", 5, 0) + cookie + bytes(32) + bytes(952)
        probe = probe[:20] + struct.pack(">I", wire.crc32c(probe)) + probe[24:]
        came = answered_bytes(udp, probe, 1.0)
        print(f"  probes: {came * 8 / 1e6:.2f} Mb in a second")
        assert 0 < came * 8 <= 1.3e6, f"{came * 8 / 1e6:.2f} Mb in a second under 1 Mb/s"
        path = b"TLU1" + struct.pack(">BBH", 30, 0, 9216) + cookie + bytes(32)
        path = path[:20] + struct.pack(">I", wire.crc32c(path)) + path[24:]
        session.ping()
        more = answered_bytes(udp, path, 1.0)
        print(f"  path probes: {more * 8 / 1e6:.2f} Mb in the next")
        assert more * 8 <= 1.3e6, f"{more * 8 / 1e6:.2f} Mb in a second under 1 Mb/s"
        session.ping()
        came += more + answered_bytes(udp, probe, 1.5)
        assert came <= 300e3, f"{came} bytes of 300,000 a day"


def received_bytes(udp, session, granted, cookie, seconds):
    """A granted test of datagrams, started; what comes within the time."""
    session.send(frame(wire.UDP_START, struct.pack(">Ixxxx8s", granted["test_id"], cookie)))
    udp.setblocking(False)
    came, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            while True:
                came += len(udp.recv(10000))
        except BlockingIOError:
            time.sleep(0.001)
    return came


@case
def trains_and_bursts_keep_to_the_rate_cap():
    """One train after the other, each a test of its own, and bursts, under 1 Mb/s."""
    with Daemon(DAEMON, "--rate-cap", "1M") as daemon:
        session = Session(daemon.port)
        udp, cookie = prove(session, daemon.port)
        for wrong in ({"train": 64, "trains": 1}, {"burst": 1024, "rate": 10**6, "ms": 10000}):
            session.send(wire.test_udp(**wrong))
            code, text = session.error(skip=(wire.PONG,))
            assert code == wire.E_REFUSED and "rate cap" in text, (wrong, code, text)
        came, begin = 0, time.monotonic()
        while time.monotonic() < begin + 2:
            session.send(wire.test_udp(train=16, trains=1))
            granted = session.granted()
            came += received_bytes(udp, session, granted, cookie, 0.05)
            while session.read()[0] != wire.TEST_END:
                pass
        rate = came * 8 / (time.monotonic() - begin)
        print(f"  trains of 23 kB, as fast as they are granted: {rate / 1e6:.2f} Mb/s of 1")
        assert 0.3e6 < rate < 1.3e6, f"{rate / 1e6:.2f} Mb/s under a cap of 1"


@case
def sending_stops_a_second_after_the_last_word():
    """P4, at every sample interval: the client's kernel takes all, its program says nothing."""
    for interval_us in (10000, 50000, 100000):
        with Daemon(DAEMON) as daemon:
            session = Session(daemon.port)
            granted = session.ask(ms=10000, interval_us=interval_us, pacing=50 * 10**6)
            data = session.open_streams(granted)[0]
            session.start(granted)
            begin = newest = time.monotonic()
            data.socket.settimeout(3)
            try:
                while data.socket.recv(1 << 20):
                    newest = time.monotonic()
            except (ConnectionError, TimeoutError):
                pass
            took = newest - begin
            print(f"  {interval_us // 1000} ms: silent {took:.2f} s after the last word")
            assert took < 1.6, f"{took:.2f} s at {interval_us} us"  # and a busy machine


@case
def a_reservation_is_no_use():
    """What a running test has reserved comes back: nobody is told to come again tomorrow for it."""
    with Daemon(DAEMON, "--daily-quota", "50MB") as daemon:
        first = Session(daemon.port, "127.0.70.1")
        first.ask(ms=10000)
        other = Session(daemon.port, "127.0.71.1")
        other.send(wire.test_tcp(ms=1000))
        kind, payload = other.read()
        assert kind == wire.BUSY, (kind, payload)
        first.send(frame(wire.BYE))
        other.granted()


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
def rate_cap_and_quota_hold():
    with Daemon(DAEMON, "--rate-cap", "80M", "--daily-quota", "15MB") as daemon:
        session = Session(daemon.port)
        for direction in (wire.DOWNLOAD, wire.UPLOAD):
            _, end, moved, _ = session.run(direction=direction, ms=1000)
            assert sum(end["bytes"]) < 16e6, end
            if direction == wire.DOWNLOAD:
                assert 5e6 < sum(end["bytes"]) < 12e6, f"80 Mb/s for 1 s: {end}"
        session.send(wire.test_tcp())
        assert session.error(skip=(wire.PONG,))[0] == wire.E_QUOTA
        session.ping()
        assert session.expect(wire.PONG), "the session lives on"


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
            until(1, lambda: not data.is_open(), "a refused data connection is closed")
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
            until(2, lambda: not session.is_open(), f"case {i} is closed")


@case
def a_peer_has_two_sessions_and_all_have_sixty_four():
    with Daemon(DAEMON) as daemon:
        sessions = [Session(daemon.port), Session(daemon.port)]
        third = Connection(daemon.port)
        third.send(wire.hello())
        assert third.error()[0] == wire.E_SESSIONS
        for i in range(31):  # of four networks and more: one has no more than its share
            sessions += [Session(daemon.port, f"127.0.{100 + i % 8}.{i + 1}") for _ in range(2)]
        assert len(sessions) == 64
        more = Connection(daemon.port, "127.0.4.1")
        more.send(wire.hello())
        assert more.error()[0] == wire.E_SESSIONS
        # Those that are silent for a second give way.
        time.sleep(1.2)
        Session(daemon.port, "127.0.4.1")


@case
def one_network_cannot_take_every_session():
    """32 neighbours with two live sessions each, and a client from elsewhere."""
    with Daemon(DAEMON) as daemon:
        sessions, refused = [], 0
        for i in range(32):
            for _ in range(2):
                neighbour = Connection(daemon.port, f"127.0.3.{i + 1}")
                neighbour.send(wire.hello())
                kind, _ = neighbour.read()
                if kind == wire.WELCOME:
                    sessions.append(neighbour)
                refused += kind == wire.ERROR
        assert len(sessions) == 16 and refused == 48, (len(sessions), refused)
        for i in range(30):
            for neighbour in sessions:  # they are heard, so that none of them gives way
                neighbour.send(frame(wire.PING, bytes(8)))
            session = Session(daemon.port, f"127.0.4.{i + 1}")  # WELCOME, not ERROR
            session.send(frame(wire.BYE))
            until(2, lambda: not session.is_open(), "BYE closes the session")


@case
def silent_sessions_in_the_queue_give_way():
    """64 that asked for a test and fell silent: a hello is answered at once, not when their 5 s are
    over, and the turn goes to who is heard."""
    with Daemon(DAEMON) as daemon:
        waiting = [Session(daemon.port, f"127.0.{120 + i % 8}.{i // 2 + 1}") for i in range(64)]
        for session in waiting:
            session.send(wire.test_tcp(ms=60000))
        time.sleep(1.2)
        begin = time.monotonic()
        session = Session(daemon.port, "127.0.4.1")
        took = time.monotonic() - begin
        print(f"  hello to welcome with 64 silent in the queue: {took * 1e3:.0f} ms")
        assert took < 0.25, f"{took:.2f} s"


@case
def who_sends_many_waits_behind_himself():
    """Each network's first test stands before any network's second."""
    with Daemon(DAEMON) as daemon:
        first = Session(daemon.port, "127.0.60.1")
        granted = first.ask(ms=60000)
        assert granted["ms"] == 60000
        many = [Session(daemon.port, f"127.0.61.{i + 1}") for i in range(8)]
        for session in many:
            session.send(wire.test_tcp(ms=60000))
            session.expect(wire.BUSY)
        other = Session(daemon.port, "127.0.62.1")
        other.send(wire.test_tcp(ms=60000))
        place = struct.unpack(">HxxI", other.expect(wire.BUSY))[0]
        assert place == 2, f"place {place} behind eight of one network"


@case
def one_network_cannot_take_every_handshake():
    """Somebody repeats what the holder of a key began with, from one network; a handshake from
    elsewhere lives on."""
    if not shutil.which("openssl"):
        raise Skipped("there is no openssl program, which begins the handshakes")
    words = first_words("alice", SECRET)
    with KeyFile(f"alice {SECRET}") as key:
        with Daemon(DAEMON, "--key", key) as daemon:
            honest = Connection(daemon.port, "127.0.65.1")
            honest.send(words)
            flood, begin = [], time.monotonic()
            while time.monotonic() - begin < 1.5:
                stranger = Connection(daemon.port, f"127.0.64.{len(flood) % 250 + 1}")
                stranger.send(words)
                flood.append(stranger)
                assert honest.is_open(), f"dropped after {time.monotonic() - begin:.3f} s"
                time.sleep(0.002)
            print(f"  a handshake lives on beside {len(flood)} of one network")
            assert len(flood) > 200
            late = Connection(daemon.port, "127.0.66.1")
            late.send(words)
            time.sleep(0.3)
            assert late.is_open(), "who comes later from elsewhere has no place"
            assert "127.0.64.0/24" in daemon.text(), daemon.text()
            lines = daemon.text().count("127.0.64.0/24")
            assert lines <= 4, f"{lines} lines of log for one flood"


@case
def places_are_kept_for_who_has_a_key():
    """512 places and silent strangers of 16 networks: the last quarter is not theirs to sit in."""
    with tempfile.NamedTemporaryFile("w", suffix=".key") as key:
        key.write("alice " + "0123456789abcdef" * 4 + "\n")
        key.flush()
        os.chmod(key.name, 0o600)
        with Daemon(DAEMON, "--key", key.name, descriptors=1024) as daemon:
            silent = []
            for i in range(480):
                silent.append(Connection(daemon.port, f"127.0.{80 + i % 16}.1"))
            plain = [Connection(daemon.port, f"127.0.{100 + i}.1") for i in range(8)]
            told = 0
            for stranger in plain:
                try:
                    stranger.send(wire.hello())
                    code, text = stranger.error()
                    assert code == wire.E_SESSIONS and "with a key" in text, (code, text)
                    told += 1
                except (wire.Closed, ConnectionError):
                    pass
            assert told > 0, "nobody was told that what is left is kept"
            time.sleep(1.3)
            keyed = [Connection(daemon.port, f"127.0.{110 + i}.1") for i in range(20)]
            for honest in keyed:
                with contextlib.suppress(ConnectionError):
                    honest.send(b"\x16\x03\x01")
            time.sleep(0.3)
            served = sum(honest.is_open() for honest in keyed)
            sitting = sum(stranger.is_open() for stranger in silent)
            print(f"  {served} of 20 handshakes begin beside {sitting} silent strangers")
            assert served >= 15 and sitting > 300, (served, sitting)


@case
def out_of_descriptors_is_no_busy_loop():
    """With nobody half-open to send away the listener stays readable."""
    same_user = ("--user", "root") if os.geteuid() == 0 else ()  # whose limits we may change
    with Daemon(DAEMON, *same_user) as daemon:
        sessions = [Session(daemon.port, "127.0.63.1")]
        limit = daemon.descriptors()
        soft, most = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (limit, most))
        waiting = [Connection(daemon.port, f"127.0.63.{i + 2}") for i in range(3)]
        def cpu():
            with open(f"/proc/{daemon.process.pid}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        before = cpu()
        for _ in range(10):
            sessions[0].ping()
            time.sleep(0.1)
        used = cpu() - before
        print(f"  out of descriptors: {used * 100:.0f} % of a core")
        assert used < 0.3, f"{used:.2f} s of processor time in a second"
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (soft, most))
        waiting[0].send(wire.hello())
        assert waiting[0].read()[0] == wire.WELCOME, "it does not accept again"


@case
def a_new_client_is_served_beside_a_thousand_strangers():
    with Daemon(DAEMON) as daemon:
        stalled = Session(daemon.port, "127.0.5.1")
        granted = stalled.ask(ms=60000)
        data = stalled.open_streams(granted)
        stalled.start(granted)  # and never reads
        strangers = [Connection(daemon.port, f"127.0.6.{i % 250 + 1}") for i in range(1000)]
        for stranger in strangers[::2]:
            stranger.send(wire.hello()[:50])
        latencies = []
        for i in range(300):  # a hundredth of which are three
            begin = time.monotonic()
            session = Session(daemon.port, f"127.0.7.{i % 250 + 1}")
            latencies.append(time.monotonic() - begin)
            session.send(frame(wire.BYE))
            session.close()
        p99 = percentile(latencies, 0.99)
        print(f"  hello to welcome beside 1,000 half-open and 1 stalled: median "
              f"{percentile(latencies, 0.5) * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms")
        assert p99 < 0.05, f"p99 {p99 * 1e3:.1f} ms"
        del data


@case
def a_new_client_is_served_beside_a_hundred_stalled_sessions():
    with Daemon(DAEMON) as daemon:
        stalled = []
        for i in range(100):
            connection = Connection(daemon.port, f"127.0.9.{i + 1}")
            connection.send(wire.hello())
            stalled.append(connection)
        strangers = [Connection(daemon.port, f"127.0.6.{i % 250 + 1}") for i in range(1000)]
        time.sleep(1.2)  # from when on a silent session gives way
        latencies = []
        for i in range(300):  # a hundredth of which are three
            begin = time.monotonic()
            session = Session(daemon.port, f"127.0.7.{i % 250 + 1}")  # WELCOME, not ERROR
            latencies.append(time.monotonic() - begin)
            session.send(frame(wire.BYE))
            session.close()
        p99 = percentile(latencies, 0.99)
        print(f"  hello to welcome beside 1,000 half-open and 100 stalled: median "
              f"{percentile(latencies, 0.5) * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms")
        assert p99 < 0.05
        del stalled, strangers


@case
def full_load_stays_within_64_megabytes():
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        peak = 0
        for direction in (wire.DOWNLOAD, wire.UPLOAD):
            granted = session.ask(direction=direction, streams=32, ms=1000)
            streams = session.open_streams(granted)
            session.start(granted)
            noise = bytes(1 << 18)
            until_ns = time.monotonic() + 0.7
            while time.monotonic() < until_ns:
                for data in streams:
                    data.socket.settimeout(0.05)
                    try:
                        data.send(noise) if direction else data.socket.recv(1 << 18)
                    except OSError:
                        pass
                session.ping()
                peak = max(peak, daemon.rss())
            session.send(frame(wire.STOP, struct.pack(">I", granted["test_id"])))
            session.end()
            for data in streams:
                data.close()
        print(f"  32 streams: {peak / 1e6:.1f} MB resident")
        if is_sanitized():
            print("  not judged: a sanitizer's memory is not the responder's")
        else:
            assert peak < 64e6


@case
def udp_is_silent_to_who_has_not_proved_itself():
    token = os.urandom(16)
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        here.bind(("127.0.0.1", 0))
        here.connect(("127.0.0.1", daemon.port))
        here.settimeout(0.3)
        elsewhere = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        elsewhere.bind(("127.0.0.9", 0))
        elsewhere.connect(("127.0.0.1", daemon.port))
        elsewhere.settimeout(0.3)

        def answer(sock, data):
            sock.send(data)
            try:
                got = sock.recv(65536)
            except TimeoutError:
                return None
            assert len(got) <= len(data), f"{len(got)} bytes for {len(data)}"
            return got

        assert answer(here, wire.prove(1, token)) is None, "a made-up token"
        assert answer(elsewhere, wire.prove(1, session.token)) is None, "another address"
        assert answer(here, b"") is None and answer(here, os.urandom(900)) is None
        assert answer(here, wire.prove(1, session.token)[:63]) is None
        challenge = answer(here, wire.prove(1, session.token))
        assert challenge[4] == 2 and len(challenge) == 64
        proof = challenge[24:40]
        assert answer(here, wire.prove(3, session.token, os.urandom(16))) is None, "a wrong echo"
        probe = seal(5, proof[:8], 1, 200)
        assert answer(here, probe) is None, "a probe before the proof"
        assert answer(elsewhere, wire.prove(3, session.token, proof)) is None
        assert answer(here, wire.prove(3, session.token, proof))[4] == 4
        got = answer(here, probe)
        assert got[4] == 6 and len(got) == 200 and got[16:20] == probe[16:20]
        assert struct.unpack(">H", got[6:8])[0] == 200
        assert answer(elsewhere, probe) is None, "another tuple"
        assert len(answer(here, seal(5, proof[:8], 2, 1000, reply=48))) == 48
        assert answer(here, seal(5, proof[:8], 2, 100, reply=101)) is None
        damaged = bytearray(seal(5, proof[:8], 3, 200))
        damaged[150] ^= 1
        assert answer(here, bytes(damaged)) is None
        got = answer(here, seal(5, proof[:8], 4, 200))
        assert struct.unpack(">I", got[44:48])[0] == 1, "the damaged probe is counted"
        session.send(frame(wire.BYE))
        until(1, lambda: not session.is_open(), "BYE")
        assert answer(here, probe) is None, "the session is over"


def seal(kind, cookie, sequence, size, reply=0):
    head = b"TLU1" + struct.pack(">BBH", kind, 0, reply) + cookie + struct.pack(">I", sequence)
    tail = struct.pack(">QQII", 5, 0, 0, 0) + bytes(size - 48)
    return head + struct.pack(">I", wire.crc32c(head + bytes(4) + tail)) + tail


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
    assert run("--help")[0] == 0 and "--daily-quota" in run("--help")[1]
    assert run("--version")[1].startswith("tightlinkd ")


@slow
def silence_in_each_state_frees_the_slot():
    def silent(state):
        with Daemon(DAEMON) as daemon:
            before = daemon.descriptors()
            victim = state({"port": daemon.port, "source": "127.0.8.1"})
            until(1, lambda: daemon.descriptors() > before, "the connection is accepted")
            took = until(10, lambda: daemon.descriptors() == before, f"silence in {state.__name__}")
            print(f"  silent in {state.__name__}: free after {took:.1f} s")
            assert took < STATES[state], f"{state.__name__}: {took:.1f} s"
            Session(daemon.port).run(ms=200)
            del victim

    with concurrent.futures.ThreadPoolExecutor(len(STATES)) as pool:
        list(pool.map(silent, STATES))


@slow
def a_link_that_goes_down_in_each_state_frees_the_slot():
    """P3: no reset, no end, no acknowledgement: the client's link is gone. One responder a state."""
    with Three() as hosts, contextlib.ExitStack() as stack:
        trials = []
        for state in reversed(STATES):  # those that hold the longest first
            daemon = stack.enter_context(Daemon(DAEMON, "--no-sandbox", inside=hosts.inside(2)))
            before = daemon.descriptors()
            client = subprocess.Popen(
                hosts.inside(1, sys.executable, states.__file__, "10.97.0.2", str(daemon.port),
                             "10.97.0.1", state.__name__), stdout=subprocess.PIPE, text=True)
            stack.callback(client.wait)
            stack.callback(client.kill)
            assert client.stdout.readline() == "up\n", state.__name__
            trials.append((state, daemon, before))
        for state, daemon, before in trials:
            assert daemon.descriptors() > before, f"{state.__name__} holds nothing"
        ip("-n", hosts.names[1], "link", "set", "e0", "down")
        begin = time.monotonic()
        for state, daemon, before in trials:
            until(10, lambda: daemon.descriptors() == before, f"link down in {state.__name__}")
            took = time.monotonic() - begin
            print(f"  link down in {state.__name__}: free after {took:.1f} s or less")
            assert took < 10


@slow
def a_test_ends_hard_5_s_after_its_time():
    """P3: an upload that trickles on, from a client that says it is alive."""
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        granted = session.ask(ms=1000, direction=wire.UPLOAD)
        data = session.open_streams(granted)[0]
        session.start(granted)
        begin = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() - begin < 12 and data.is_open():
                data.send(b"x")
                session.ping()
                time.sleep(0.05)
        took = time.monotonic() - begin
        print(f"  1 s granted: ended after {took:.1f} s")
        assert 1 <= took < 6.5, f"{took:.1f} s"


@slow
def pings_do_not_keep_a_test_that_is_not_started():
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        session.ask()
        begin = time.monotonic()
        while session.is_open():
            assert time.monotonic() - begin < 10
            session.ping()
            time.sleep(0.1)
        assert time.monotonic() - begin > 4


CHILD = """
import sys, time
sys.path.insert(0, {path!r})
import wire, threading
session = wire.Session({port}, "127.0.9.1")
print("up", flush=True)
threading.Timer(1.0, lambda: print("moving", flush=True)).start()
session.run(direction={direction}, ms=60000, pump_seconds=100)
"""


def mid_test(daemon, direction):
    code = CHILD.format(path=os.path.dirname(os.path.abspath(__file__)), port=daemon.port,
                        direction=direction)
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "up\n" and child.stdout.readline() == "moving\n"
    return child


@slow
def a_client_that_is_stopped_or_killed_in_mid_test_frees_everything():
    for direction in (wire.DOWNLOAD, wire.UPLOAD):
        for number in (signal.SIGSTOP, signal.SIGKILL):
            with Daemon(DAEMON) as daemon:
                before = daemon.descriptors()
                child = mid_test(daemon, direction)
                child.send_signal(number)
                took = until(10, lambda: daemon.descriptors() == before, number.name)
                print(f"  {number.name}, direction {direction}: free after {took:.1f} s")
                Session(daemon.port).run(ms=200)
                child.kill()
                child.wait()


@slow
def a_client_whose_kernel_reads_on_is_left_alone_within_a_second():
    """The program says nothing while its data connection drains: the responder must stop."""
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        granted = session.ask(ms=60000)
        data = session.open_streams(granted)[0]
        session.start(granted)
        begin = time.monotonic()
        data.socket.settimeout(5)
        try:
            while data.socket.recv(1 << 20):
                assert time.monotonic() - begin < 4, "sends on unheard"
        except ConnectionError:
            pass
        took = time.monotonic() - begin
        assert session.end()["reason"] == wire.END_UNHEARD
        print(f"  unheard: stopped after {took:.2f} s")
        assert took < 2


@slow
def ten_thousand_strangers():
    with Daemon(DAEMON) as daemon:
        idle = daemon.rss()
        import resource
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        count = min(10000, hard - 500)
        strangers = []
        begin = time.monotonic()
        for i in range(count):
            strangers.append(Connection(daemon.port, f"127.0.{10 + i // 250}.{i % 250 + 1}"))
        latencies = []
        held = daemon.descriptors()
        memory = daemon.rss()
        for i in range(50):
            start = time.monotonic()
            session = Session(daemon.port, f"127.0.7.{i + 1}")
            latencies.append(time.monotonic() - start)
            session.send(frame(wire.BYE))
            session.close()
        print(f"  {held} descriptors held after {count} connections in "
              f"{time.monotonic() - begin:.1f} s; {(memory - idle) / 1e6:.1f} MB more; hello to "
              f"welcome median {percentile(latencies, 0.5) * 1e3:.2f} ms, p99 "
              f"{percentile(latencies, 0.99) * 1e3:.2f} ms")
        assert percentile(latencies, 0.99) <= 0.25  # P2
        assert memory - idle < 8e6
        for stranger in strangers:
            stranger.close()


@slow
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
        until(12, lambda: daemon.descriptors() < 20, "everything is free again")
        Session(daemon.port).run(ms=200)
        grown = daemon.rss() - before
        print(f"  5,000 connections of mutated frames: resident set grew by {grown} bytes")
        assert grown < 8e6
        took, status = daemon.stop()
        assert status == 0, f"exit {status}: {daemon.text()}"


run(sys.argv[2:])
