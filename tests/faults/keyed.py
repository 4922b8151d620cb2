"""A client with a key, written from doc/wire.md: its TLS is `openssl s_client`, which also tells the
exporter's secret."""
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
DATA, PEER, SYN, UDP = range(1, 5)  # purposes of a token


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


class KeyedSession(wire.Session):
    """bound: offers tokens that are made of the channel; an old client does not."""

    def __init__(self, port, name="alice", source=None, bound=True, secret=SECRET, timeout=10):
        self.port, self.source = port, source
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(timeout)
        offer = ["-alpn", "tightlink-bound"] if bound else []
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
        self.bound = b"ALPN protocol: tightlink-bound" in told
        self.secret = bytes.fromhex(re.search(rb"material: ([0-9A-F]{64})", told)[1].decode())

    def said(self, purpose, test_id=0, connection=0):
        """The token for one purpose, as the path reads it."""
        if not self.bound:
            return self.token
        what = struct.pack(">BIH", purpose, test_id, connection)
        return hmac.new(self.secret, what, hashlib.sha256).digest()[:16]

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
