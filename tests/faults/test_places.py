#!/usr/bin/env python3
"""tightlinkd's places among sessions and handshakes: nobody keeps all of them, by hosts or by networks,
and some are kept for who has a key (P5).

Arguments: path of tightlinkd, then names of cases (none: all)."""
import contextlib
import os
import shutil
import struct
import sys
import tempfile
import time

import wire
from cases import Skipped, case, run, until
from keyed import SECRET, KeyFile, first_words
from wire import Connection, Daemon, Session, frame

DAEMON = sys.argv[1]


@case
def a_peer_has_two_sessions_and_all_have_sixty_four():
    with Daemon(DAEMON) as daemon:
        sessions = [Session(daemon.port), Session(daemon.port)]
        wire.is_full(sessions, 2, lambda: Session(daemon.port), "your address has 2 sessions")
        for session in sessions:
            session.close()
        # Of as many networks, so that none of them has more than who comes.
        sessions = [Session(daemon.port, f"127.0.{100 + i}.1") for i in range(64)]
        wire.is_full(sessions, 64, lambda: Session(daemon.port, "127.0.4.1"), "this responder has 64")
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
                for one in sessions:  # heard, however long this takes: none is silent for a second
                    one.send(frame(wire.PING, bytes(8)))
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
            until(30, lambda: not session.is_open(), "BYE closes the session")


@case
def some_networks_cannot_take_every_session():
    """Four networks that hold all 64 places and are heard, queued for a test or idle: whoever comes
    from elsewhere has a place, of the network that has most; who has as many as others has none."""
    with Daemon(DAEMON) as daemon:
        held = [Session(daemon.port, f"127.0.{20 + i % 4}.{i // 8 + 1}") for i in range(64)]
        held[32].ask(ms=60000)  # a test that was granted is no place to be had
        for session in held[33:]:
            session.send(wire.test_tcp(ms=60000))
        served = []
        for i in range(30):
            for session in held + served:  # they are heard, so that none of them is silent
                with contextlib.suppress(OSError):
                    session.ping()
            served.append(Session(daemon.port, f"127.1.{i}.1"))  # WELCOME, not ERROR
        assert all(session.is_open() for session in served), "who came before has his place"
        again = Connection(daemon.port, "127.0.20.200")
        again.send(wire.hello())
        code, text = again.error()
        assert code == wire.E_SESSIONS, (code, text)
        assert held[32].is_open(), "a granted test gave way"
        left = [sum(session.is_open() for session in held[i::4]) for i in range(4)]
        print(f"  30 of 30 served, {left} of 16 each are left to four networks")
        left[32 % 4] -= 1
        assert max(left) - min(left) <= 1, left


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
            while time.monotonic() - begin < 1.5 or len(flood) <= 64:
                if time.monotonic() - begin > 2.5:  # a handshake has 3 s
                    raise Skipped(f"in 2.5 s this machine had time for {len(flood)} handshakes, not for a flood")
                stranger = Connection(daemon.port, f"127.0.64.{len(flood) % 250 + 1}")
                stranger.send(words)
                flood.append(stranger)
                assert honest.is_open(), f"dropped after {time.monotonic() - begin:.3f} s"
                time.sleep(0.002)
            print(f"  a handshake lives on beside {len(flood)} of one network")
            late = Connection(daemon.port, "127.0.66.1")
            late.send(words)
            time.sleep(0.3)
            assert late.is_open(), "who comes later from elsewhere has no place"
            assert "127.0.64.0/24" in daemon.text(), daemon.text()
            lines = daemon.text().count("127.0.64.0/24")
            assert lines <= 4, f"{lines} lines of log for one flood"


def is_told(port, source):
    """Whether a client without a key learns why it has to wait. In a full house most are not even
    let in (at random), and a reset may overtake the answer."""
    stranger = Connection(port, source)
    try:
        stranger.send(wire.hello())
        code, text = stranger.error()
    except (wire.Closed, ConnectionError):
        return False
    finally:
        stranger.close()
    assert code == wire.E_SESSIONS and "with a key" in text, (code, text)
    return True


@case
def places_are_kept_for_who_has_a_key():
    """512 places and silent strangers of 16 networks: the last quarter is not theirs to sit in."""
    with tempfile.NamedTemporaryFile("w", suffix=".key") as key:
        key.write("alice " + "0123456789abcdef" * 4 + "\n")
        key.flush()
        os.chmod(key.name, 0o600)
        with Daemon(DAEMON, "--key", key.name, descriptors=1024) as daemon:
            silent, begin = [], time.monotonic()
            for i in range(480):
                silent.append(Connection(daemon.port, f"127.0.{80 + i % 16}.1"))
            assert any(is_told(daemon.port, f"127.1.{i}.1") for i in range(64)), \
                "nobody was told that what is left is kept"
            time.sleep(1.3)
            keyed = [Connection(daemon.port, f"127.0.{110 + i}.1") for i in range(20)]
            for honest in keyed:
                with contextlib.suppress(ConnectionError):
                    honest.send(b"\x16\x03\x01")
            time.sleep(0.3)
            served = sum(honest.is_open() for honest in keyed)
            sitting = sum(stranger.is_open() for stranger in silent)
            if time.monotonic() - begin > 2.9:
                raise Skipped("the first strangers' 3 s were over before the last had come")
            print(f"  {served} of 20 handshakes begin beside {sitting} silent strangers")
            assert served >= 11 and 300 < sitting <= 384, (served, sitting)


run(sys.argv[2:])
