#!/usr/bin/env python3
"""The wire is silent 250 ms after an interrupt (promise P10), of the program that is installed: no sanitizer's,
and nothing that measures time beside it.

Arguments: path of tightlink, then names of cases (none: all)."""
import functools
import os
import signal
import socket
import struct
import sys
import time

import wire
from cases import Skipped, case, run
from client_run import ClientRun
from far_end import FarEnd, pong
from held import Held

MB = 1000 * 1000
Run = functools.partial(ClientRun, sys.argv[1])


def ends(packet, header):
    """Address and port of a TCP packet's sender and receiver."""
    ports = struct.unpack(">HH", packet[header:header + 4])
    return tuple(zip((packet[12:16], packet[16:20]), ports))


class Wire:
    """What goes over loopback from and to a port of an address, by the kernel's own time of each packet.
    The port alone is others' as well, at addresses of theirs."""

    def __init__(self, address, port):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        self.socket.bind(("lo", 0x0800))
        self.socket.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * MB)
        self.socket.settimeout(0)
        self.end = (socket.inet_aton(address), port)

    def discard(self):
        """Forgets what came so far."""
        try:
            while True:
                self.socket.recv(64)
        except BlockingIOError:
            pass

    def newest(self, seconds):
        """The time of the newest packet with payload that comes within that time."""
        end, newest = time.monotonic() + seconds, None
        while time.monotonic() < end:
            try:
                packet, control, *_ = self.socket.recvmsg(64, 256)
            except BlockingIOError:
                time.sleep(0.01)
                continue
            header = (packet[0] & 15) * 4
            if packet[9] != 6 or self.end not in ends(packet, header):
                continue
            payload = struct.unpack(">H", packet[2:4])[0] - header - (packet[header + 12] >> 4) * 4
            if payload <= 0:
                continue
            for level, kind, data in control:
                if level == socket.SOL_SOCKET and kind == 35:
                    seconds_, nanoseconds = struct.unpack("ll", data[:16])
                    newest = seconds_ + nanoseconds / 1e9
        return newest


class Paced(FarEnd):
    """Leaves the machine to others; goes on sending as long as anybody listens."""

    def grant(self, asked):
        return {**super().grant(asked), "pacing": 50 * MB}

    def data(self, connection, payload):
        connection.setsockopt(socket.SOL_SOCKET, 47, 50 * MB // 8)  # SO_MAX_PACING_RATE
        super().data(connection, payload)


class Chatty(Paced):
    """And talks without end, too slowly for a flood that would end the test."""

    def start(self, connection, payload):
        super().start(connection, payload)
        self.pause_s = 0.002
        self.flood(connection, pong())


def silence(kind, direction):
    """Milliseconds from the signal to the last packet with payload, less what this machine took of them
    from a program that had nothing to do but wake up."""
    with kind() as far, Held() as held_up:
        run = Run(far, direction=direction)
        moved = lambda: far.received_bytes + far.sent_bytes
        end = time.monotonic() + 20
        while moved() < 1 * MB:
            assert time.monotonic() < end, "nothing moves"
            time.sleep(0.02)
        watched = Wire(far.address, far.port)
        assert watched.newest(0.3), "the wire is silent before the signal"
        watched.discard()
        at, taken = time.time(), held_up.seconds()
        run.process.send_signal(signal.SIGINT)
        newest = watched.newest(1.5)
        taken = held_up.seconds() - taken
        code, *_ = run.end(30)
        assert code == 130, code
        return (newest - at - taken) * 1000 if newest else 0.0


def need_root():
    if os.geteuid() != 0:
        raise Skipped("watching packets needs root")


@case
def what_others_send_at_the_same_port_is_not_watched():
    need_root()
    address = wire.own_address()
    others = "127.1." + address.split(".", 2)[2]
    with socket.create_server((address, 0)) as listener:
        port = listener.getsockname()[1]
        watched = {at: Wire(at, port) for at in (address, others)}
        with socket.create_server((others, port)) as theirs, \
                socket.create_connection(theirs.getsockname()) as client:
            client.sendall(b"payload")
            assert theirs.accept()[0].recv(16) == b"payload"
        assert watched[others].newest(0.2), "not seen at all"
        assert not watched[address].newest(0.2), "taken for ours"


@case
def the_wire_is_silent_after_an_interrupt():
    need_root()
    for kind in (Paced, Chatty):
        for direction in ("download", "upload"):
            took = max(0.0, *(silence(kind, direction) for _ in range(2)))
            print(f"         {direction}, {kind.__name__}: silent {took:.0f} ms after the signal")
            assert took <= 250, f"{direction}, {kind.__name__}: {took:.0f} ms"


run(sys.argv[2:])
