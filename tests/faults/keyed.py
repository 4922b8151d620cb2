"""A client with a key, written from doc/wire.md: its TLS is `openssl s_client`, which also tells the
exporter's secret."""
import concurrent.futures
import contextlib
import hashlib
import hmac
import os
import re
import socket
import struct
import subprocess
import tempfile
import time

import wire

SECRET = "0123456789abcdef" * 4
LABEL = "EXPERIMENTAL tightlink tokens"
DATA, PEER, SYN, UDP, SEAL = range(1, 6)  # purposes of a token
WORD = (1 << 64) - 1


def siphash(key, data):
    """SipHash-2-4 (Aumasson and Bernstein 2012)."""
    k0, k1 = struct.unpack("<QQ", key)
    v0, v1 = k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d
    v2, v3 = k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573
    turn = lambda x, bits: (x << bits | x >> (64 - bits)) & WORD

    def rounds(count):
        nonlocal v0, v1, v2, v3
        for _ in range(count):
            v0, v2 = v0 + v1 & WORD, v2 + v3 & WORD
            v1, v3 = turn(v1, 13) ^ v0, turn(v3, 16) ^ v2
            v0 = turn(v0, 32)
            v2, v0 = v2 + v1 & WORD, v0 + v3 & WORD
            v1, v3 = turn(v1, 17) ^ v2, turn(v3, 21) ^ v0
            v2 = turn(v2, 32)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for (word,) in struct.iter_unpack("<Q", padded):
        v3 ^= word
        rounds(2)
        v0 ^= word
    v2 ^= 0xff
    rounds(4)
    return v0 ^ v1 ^ v2 ^ v3


def first_words(name, secret):
    """With which a client that has such a key begins a handshake."""
    listener = socket.create_server(("127.0.0.1", 0))
    client = subprocess.Popen(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{listener.getsockname()[1]}", "-tls1_3",
         "-psk", secret, "-psk_identity", name], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    near = listener.accept()[0]
    words = near.recv(4096)
    for end in (near, listener):
        end.close()
    client.kill()
    client.wait()
    return words


class KeyFile:
    """A key file of mode 0600 with these lines; gone behind the block."""

    def __init__(self, *lines):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".key")
        self.file.write("".join(line + "\n" for line in lines))
        self.file.flush()
        os.chmod(self.file.name, 0o600)

    def __enter__(self):
        return self.file.name

    def __exit__(self, *_):
        self.file.close()


class NoChannel(Exception):
    pass


@contextlib.contextmanager
def at_once(port, *who):
    """Sessions of (name, source) each, opened side by side: on a busy machine a client's program takes
    seconds to start, and who was there first would be silent for as long."""
    with concurrent.futures.ThreadPoolExecutor(len(who)) as pool:
        sessions = list(pool.map(lambda one: KeyedSession(port, *one), who))
    try:
        yield sessions
    finally:
        for session in sessions:
            session.close()


class KeyedSession(wire.Session):
    """offers: by ALPN, what the client knows; an old one does not know sealed datagrams, or neither."""

    def __init__(self, port, name="alice", source=None, secret=SECRET, timeout=60,
                 offers=("tightlink-sealed", "tightlink-bound")):
        self.port, self.source = port, source
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(timeout)
        offer = ["-alpn", ",".join(offers)] if offers else []
        bind = ["-bind", f"{source}:0"] if source else []
        self.process = subprocess.Popen(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-tls1_3", "-psk", secret,
             "-psk_identity", name, "-ign_eof", "-keymatexport", LABEL, "-keymatexportlen", "32",
             *offer, *bind], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL)
        theirs.close()
        self.buffer = b""
        self.take_channel(time.monotonic() + timeout)
        self.greet()

    def take_channel(self, until):
        """What s_client says of the channel, up to where the far end's bytes begin."""
        told = b""
        while not re.search(rb"Keying material: [0-9A-F]{64}\n---\n", told):
            more = self.socket.recv(1) if time.monotonic() < until else b""
            if not more:
                self.close()
                raise NoChannel(told.decode(errors="replace"))
            told += more
        self.sealed = b"ALPN protocol: tightlink-sealed" in told
        self.bound = self.sealed or b"ALPN protocol: tightlink-bound" in told
        self.secret = bytes.fromhex(re.search(rb"material: ([0-9A-F]{64})", told)[1].decode())

    def said(self, purpose, test_id=0, connection=0):
        """The token for one purpose, as the path reads it."""
        if not self.bound:
            return self.token
        what = struct.pack(">BIH", purpose, test_id, connection)
        return hmac.new(self.secret, what, hashlib.sha256).digest()[:16]

    def seal(self, datagram):
        """A HELLO or PROVE as it goes out, or one with a CRC32C in its place."""
        if not self.sealed:
            return datagram
        key = self.said(SEAL)
        if datagram[4] < 5:
            return datagram[:40] + struct.pack(">Q", siphash(key, datagram[:40])) + datagram[48:]
        head = datagram[:40] if datagram[4] == 7 else datagram[:64]
        mask = siphash(key, head[:20] + bytes(4) + head[24:]) & 0xffffffff
        crc = struct.unpack(">I", datagram[20:24])[0]
        return datagram[:20] + struct.pack(">I", crc ^ mask) + datagram[24:]

    def join(self, test_id, stream, token=None):
        return super().join(test_id, stream, token or self.said(DATA, test_id, stream))

    def close(self):
        super().close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
