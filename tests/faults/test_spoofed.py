#!/usr/bin/env python3
"""tightlinkd against a spoofer who sees nothing of the path: he forges what routers say.

Arguments: path of tightlinkd, then names of cases (none: all)."""
import os
import socket
import struct
import subprocess
import sys
import time

import wire
from cases import Skipped, case, run
from three import Three, checksum
from wire import Daemon, Session, frame

DAEMON = os.path.abspath(sys.argv[1])
CLIENT, FAR, FORGED, STRANGER = (f"10.97.0.{host}" for host in (1, 2, 3, 9))
# Type and code (RFC 792): what Linux takes for a lasting error, for a passing one, and for a size.
WORDS = ((3, 2), (3, 3), (3, 1), (3, 13), (3, 4), (11, 0), (12, 0))


def icmp_packet(word, far_port, to_port):
    """A router's message to the responder about a datagram that it is said to have sent to anybody."""
    quoted = struct.pack(">BBHHHBBH4s4sHHHH", 0x45, 0, 60, 0, 0, 64, 17, 0, socket.inet_aton(FAR),
                         socket.inet_aton(STRANGER), far_port, to_port, 40, 0)
    kind, code = word
    said = struct.pack(">BBHI", kind, code, 0, 1280 if word == (3, 4) else 0) + quoted
    said = said[:2] + struct.pack(">H", checksum(said)) + said[4:]
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(said), 0, 0, 64, 1, 0,
                       socket.inet_aton(FORGED), socket.inet_aton(FAR)) + said


def prove(session, port):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((CLIENT, 0))
    udp.connect((FAR, port))
    challenge = wire.answered(udp, wire.prove(1, session.token))[24:40]
    assert wire.answered(udp, wire.prove(3, session.token, challenge))[4] == 4
    return udp, challenge[:8]


def test_of_datagrams(port, direction, words):
    """A test of 3 s whose client is honest, beside forged words; its TEST_END's reason, datagrams: 150
    where nobody else wants a processor."""
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    session = Session(port, host=FAR)
    udp, cookie = prove(session, port)
    session.send(wire.test_udp(direction=direction, size=200, ms=3000, rate=400000))
    granted = session.granted()
    session.send(frame(wire.UDP_START, struct.pack(">II", granted["test_id"], 0) + cookie))
    session.expect(wire.STARTED, skip=(wire.READINGS, wire.PONG))
    udp.setblocking(False)
    begin, count, told = time.monotonic(), 0, False
    while time.monotonic() < begin + 3.5:
        for word in words:  # each time to another of the sockets on the port
            raw.sendto(icmp_packet(word, port, 1024 + int.from_bytes(os.urandom(2), "big") % 60000),
                       (FAR, 0))
        if direction == wire.UPLOAD and time.monotonic() < begin + 3:
            udp.send(wire.udp_data(cookie, granted["test_id"], count, count, 200))
            count += 1
        elif direction == wire.UPLOAD and not told:
            told = True
            session.send(frame(wire.UDP_REPORT, struct.pack(">IBBxx", granted["test_id"], 0, 1) +
                               b"\x01\x01" + bytes([min(count, 127)])))
        while direction == wire.DOWNLOAD:
            try:
                count += udp.recv(2048)[4] == 7
            except BlockingIOError:
                break
        if direction == wire.DOWNLOAD:
            udp.send(wire.udp_feedback(cookie, granted["test_id"], count, 200 * count, count))
        session.ping()
        time.sleep(0.02)
    end = session.expect(wire.TEST_END, skip=(wire.PONG, wire.UDP_REPORT, wire.UDP_SERIES,
                                              wire.READINGS))
    session.close()
    return end[20], count


def inside(port):
    for direction, name in ((wire.DOWNLOAD, "download"), (wire.UPLOAD, "upload")):
        for words in ((), WORDS * 3):
            reason, count = test_of_datagrams(port, direction, words)
            print(f"  {name} beside {len(words)} messages at a time: reason {reason}, {count} datagrams",
                  flush=True)
            assert reason == wire.END_TIME and count > 10, f"{name}: reason {reason}, {count} datagrams"


@case
def forged_words_of_routers_end_no_test():
    """Unconnected sockets hear every message that quotes their port, whoever is said to have been sent
    to; which of those on one port, chance says."""
    with Three() as hosts, Daemon(DAEMON, "--no-sandbox", inside=hosts.inside(2)) as daemon:
        done = subprocess.run(hosts.inside(1, sys.executable, __file__, DAEMON, "--inside",
                                           str(daemon.port)), timeout=90, capture_output=True, text=True)
        print(done.stdout, end="")
        assert done.returncode == 0, done.stderr[-1000:]


if sys.argv[2:3] == ["--inside"]:
    inside(int(sys.argv[3]))
else:
    run(sys.argv[2:])
