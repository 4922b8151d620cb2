"""A far end that a client meets: tightlinkd's side of doc/wire.md, small and honest. A test makes
it hostile by replacing what it does at one point. Standard library only."""
import os
import socket
import struct
import threading
import time

import wire
from wire import frame

TOKEN = bytes(range(16))


class FarEnd:
    """Serves every connection of one port of loopback in a thread of its own.

    A hostile one overrides the method that is named for the client's frame; each is given the
    connection, on which it sends what it likes for as long as it likes."""

    def __init__(self):
        self.address = wire.own_address()
        self.listener = socket.create_server((self.address, 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.ended = threading.Event()
        self.flooding = threading.Event()
        self.lock = threading.Lock()
        self.received_bytes = self.sent_bytes = 0  # payload of all data connections
        self.began_at = self.moved_at = 0.0        # the last test's start, its last payload
        self.pause_s = 0
        self.frames_sent = 0                       # by flood()
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.listener.close()

    def accept(self):
        while not self.ended.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        buffer = b""
        try:
            with connection:
                while not self.ended.is_set():
                    data = connection.recv(65536)
                    if not data:
                        return
                    buffer += data
                    while len(buffer) >= 4 and len(buffer) >= 4 + struct.unpack(">H", buffer[:2])[0]:
                        end = 4 + struct.unpack(">H", buffer[:2])[0]
                        kind, payload, buffer = buffer[2], buffer[4:end], buffer[end:]
                        self.take(connection, kind, payload)
        except OSError:
            pass

    def take(self, connection, kind, payload):
        answers = {wire.HELLO: self.hello, wire.PING: self.ping, wire.HOST_QUERY: self.host,
                   wire.TEST_TCP: self.test, wire.DATA_HELLO: self.data, wire.START: self.start,
                   wire.STOP: self.stop}
        answers.get(kind, self.other)(connection, payload)

    # --- honest answers ---------------------------------------------------------------------

    def hello(self, connection, payload):
        connection.sendall(frame(wire.WELCOME, struct.pack(">HH", wire.VERSION, 0) + TOKEN +
                                 payload[12:28] + struct.pack(">HHQQ", 60, 32, 0, (1 << 64) - 1) +
                                 b"far 1".ljust(32, b"\0")))

    def ping(self, connection, payload):
        connection.sendall(pong(payload))

    def host(self, connection, _):
        connection.sendall(frame(wire.HOST_END, struct.pack(">H", 0)))

    def grant(self, asked):
        """What READY says to the client's words, by name."""
        return {"streams": asked["streams"], "ms": asked["ms"], "interval_us": 50000,
                "max_bytes": asked["max_bytes"] or 1 << 44, "pacing": asked["pacing"]}

    def test(self, connection, payload):
        names = ("direction", "flags", "streams", "ms", "max_bytes", "rcvbuf", "sndbuf", "pacing")
        self.asked = dict(zip(names, struct.unpack(">BBHIQIIQ", payload[:32])))
        granted = self.grant(self.asked)
        connection.sendall(frame(wire.READY, struct.pack(
            ">IHxxIIQQ", 1, granted["streams"], granted["ms"], granted["interval_us"],
            granted["max_bytes"], granted["pacing"]) + b"cubic".ljust(16, b"\0")))

    def data(self, connection, payload):
        """One data connection: takes or sends payload until the client has enough."""
        stream = struct.unpack(">H", payload[10:12])[0]
        connection.sendall(frame(wire.DATA_OK, struct.pack(">IHH", 1, stream, 0)))
        noise = os.urandom(1 << 16)
        while not self.ended.is_set():
            if self.asked["direction"] == wire.UPLOAD:
                count = len(connection.recv(1 << 20))
                if count == 0:
                    return
                with self.lock:
                    self.received_bytes += count
            else:
                count = connection.send(noise)
                with self.lock:
                    self.sent_bytes += count
            self.moved_at = time.monotonic()

    def start(self, connection, payload):
        self.began_at = time.monotonic()
        connection.sendall(frame(wire.STARTED, payload[:4] + struct.pack(">Q", 0)))

    def stop(self, connection, payload):
        pass

    def other(self, connection, payload):
        pass

    # --- what hostile ones share --------------------------------------------------------------

    def flood(self, connection, frames):
        """Sends the same frames for ever; slowly where pause_s says so."""
        many = frames if self.pause_s else frames * (16384 // len(frames))
        self.flooding.set()
        while not self.ended.is_set():
            connection.sendall(many)
            self.frames_sent += len(many) // len(frames)
            time.sleep(self.pause_s)


class DatagramFarEnd(FarEnd):
    """With a UDP port: proves tuples, and answers nothing else unless a test says so."""

    def __init__(self):
        super().__init__()
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((self.address, self.port))
        self.udp.settimeout(0.2)
        threading.Thread(target=self.answer, daemon=True).start()

    def answer(self):
        while not self.ended.is_set():
            try:
                datagram, peer = self.udp.recvfrom(65536)
            except OSError:
                continue
            if datagram[:4] == b"TLU1":
                self.datagram(datagram[4], datagram, peer)

    def datagram(self, kind, datagram, peer):
        if kind in (1, 3):  # HELLO, PROVE: CHALLENGE, PROVEN
            self.udp.sendto(b"TLU1" + struct.pack(">Bxxx", kind + 1) + bytes(16) +
                            bytes(range(16, 32)) + bytes(24), peer)

    def flood_datagrams(self, peer, datagram):
        self.flooding.set()
        while not self.ended.is_set():
            try:
                self.udp.sendto(datagram, peer)
                self.frames_sent += 1
                time.sleep(self.pause_s)
            except OSError:
                return


def pong(payload=bytes(8)):
    return frame(wire.PONG, payload + struct.pack(">Q", 0))


def samples(test_id=1, stream=0):
    """One sample without any field of the kernel's."""
    return frame(wire.SAMPLES, struct.pack(">IHBx", test_id, stream, 1) +
                 struct.pack(">QBB", 1000, 0, 0))
