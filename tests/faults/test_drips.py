#!/usr/bin/env python3
"""tightlink against far ends of every kind that are never silent and never done: a byte now and
then, wherever they may speak. Nobody is held longer than a run takes, and Ctrl-C ends it (P10).

Arguments: path of tightlink, then names of cases."""
import json
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

import wire
from cases import case, run, waits

TIGHTLINK = sys.argv[1]
STEP_SECONDS = 0.3  # shorter than any wait for an answer
LEFT_SECONDS = 60   # five of loading, and what a user grants a server that is slow to answer
# 0.1 s of work, on a machine that has no other; who waits for a far end waits for longer than that.
STOP_SECONDS = 10.0


class Drip:
    """Serves all connections of a port: `talk(connection, number)` each in a thread of its own."""

    def __init__(self, talk, port=0):
        self.talk, self.count = talk, 0
        self.ended = threading.Event()
        self.host = wire.own_address()
        self.listener = socket.create_server((self.host, port), backlog=64)
        self.port = self.listener.getsockname()[1]
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
            self.count += 1
            threading.Thread(target=self.serve, args=(connection, self.count), daemon=True).start()

    def serve(self, connection, number):
        try:
            with connection:
                self.talk(self, connection, number)
        except (OSError, struct.error):
            pass  # the client has gone

    def drip(self, connection, texts):
        """Byte for byte."""
        for text in texts:
            for byte in text:
                if self.ended.wait(STEP_SECONDS):
                    return
                connection.sendall(bytes((byte,)))


def endless(text):
    while True:
        yield text


def read_until(connection, end):
    got = b""
    while not got.endswith(end):
        byte = connection.recv(1)
        if not byte:
            raise OSError("closed")
        got += byte
    return got


def start(url, folder):
    env = {**os.environ, "HOME": folder, "XDG_STATE_HOME": folder, "XDG_DATA_HOME": folder}
    words = ["run", url, "--time-budget", "5s", "--skip", "mtu,hops,calibrate"]
    if url.startswith("pscheduler:"):
        words = ["between", "a.example", "b.example", "--node", url, "--insecure", "--time", "5s",
                 "--no-history"]
    return subprocess.Popen([TIGHTLINK, *words, "--yes", "--json"], env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def ends(process, seconds, what):
    begin = time.monotonic()
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"{what}: still there after {seconds} s: {err[-300:]}")
    if process.returncode == 0 and out:
        assert json.loads(out)["verdict"]["state"] != "limited", f"{what}: {out[:300]}"
    assert process.returncode != 0 or out, f"{what}: nothing said"
    return time.monotonic() - begin, (err.strip().splitlines() or ["(a document)"])[-1]


def held(url, talk, what):
    """Left alone, and interrupted after 3 s."""
    with Drip(talk) as far, tempfile.TemporaryDirectory() as folder:
        alone, interrupted = (start(url.format(far.host, far.port), folder) for _ in range(2))
        time.sleep(3)
        if interrupted.poll() is None:
            interrupted.send_signal(signal.SIGINT)
        stopped, _ = ends(interrupted, 20, f"{what}, interrupted")
        took, said = ends(alone, LEFT_SECONDS + 30, what)
        print(f"  {what}: ended after {took + 3:.1f} s, interrupted after {stopped:.2f} s: {said[:100]}")
        assert stopped < STOP_SECONDS, f"{what}: Ctrl-C took {stopped:.1f} s"
        assert took < LEFT_SECONDS, f"{what}: {took:.0f} s"


# --- HTTP -----------------------------------------------------------------------------------------

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n"


def http_head(far, connection, _):
    read_until(connection, b"\r\n\r\n")
    far.drip(connection, endless(b"X-More: and more\r\n"))


def http_body(far, connection, _):
    read_until(connection, b"\r\n\r\n")
    connection.sendall(HEAD + b"\r\n")
    far.drip(connection, endless(b"x"))


def http_chunks(far, connection, _):
    read_until(connection, b"\r\n\r\n")
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    far.drip(connection, endless(b"1\r\nx\r\n"))


def http_redirects(far, connection, number):
    read_until(connection, b"\r\n\r\n")
    time.sleep(STEP_SECONDS)
    connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: /%d\r\nContent-Length: 0\r\n\r\n" % number)


@waits
def a_web_server_that_drips():
    for talk in (http_head, http_body, http_chunks, http_redirects):
        held("http://{}:{}/file", talk, talk.__name__)


# --- NDT7 -----------------------------------------------------------------------------------------

def accept_socket(connection):
    import base64
    import hashlib
    request = read_until(connection, b"\r\n\r\n").decode()
    key = next(line.split(":", 1)[1].strip() for line in request.splitlines()
               if line.lower().startswith("sec-websocket-key"))
    digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                       b"Connection: Upgrade\r\nSec-WebSocket-Protocol: net.measurementlab.ndt.v7\r\n"
                       b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\n")


def ndt7_head(far, connection, _):
    read_until(connection, b"\r\n\r\n")
    far.drip(connection, endless(b"HTTP/1.1 101 Switching Protocols\r\nX-More: and more\r\n"))


def ndt7_frame(far, connection, _):
    """One message of 16 MB, byte for byte."""
    accept_socket(connection)
    connection.sendall(struct.pack(">BBQ", 0x82, 127, 1 << 24))
    far.drip(connection, endless(b"x"))


def ndt7_pings(far, connection, _):
    accept_socket(connection)
    while not far.ended.wait(0.01):
        connection.sendall(b"\x89\x04ping")


@waits
def an_ndt_server_that_drips():
    for talk in (ndt7_head, ndt7_frame, ndt7_pings):
        held("ndt7://{}:{}", talk, talk.__name__)


# --- iperf3 ---------------------------------------------------------------------------------------

def iperf3_to(state):
    """An iperf3 server that is honest up to a state of its control connection, and drips then."""
    def talk(far, connection, _):
        cookie = connection.recv(37, socket.MSG_WAITALL)
        if cookie in far.cookies:  # data
            while connection.recv(65536):
                pass
            return
        far.cookies.add(cookie)
        connection.sendall(b"\x09")
        if state == "parameters":
            far.drip(connection, endless(b"\x09"))
            return
        length, = struct.unpack(">I", connection.recv(4, socket.MSG_WAITALL))
        connection.recv(length, socket.MSG_WAITALL)
        for byte in b"\x0a\x01\x02":  # CREATE_STREAMS, TEST_START, TEST_RUNNING
            connection.sendall(bytes((byte,)))
            time.sleep(0.3)
        if state == "running":
            far.drip(connection, endless(b"\x02"))
            return
        connection.recv(1)  # TEST_END
        connection.sendall(b"\x0d")  # EXCHANGE_RESULTS
        length, = struct.unpack(">I", connection.recv(4, socket.MSG_WAITALL))
        connection.recv(length, socket.MSG_WAITALL)
        connection.sendall(struct.pack(">I", 20000))
        far.drip(connection, endless(b" "))
    return talk


@waits
def an_iperf3_server_that_drips():
    for state in ("parameters", "running", "results"):
        talk = iperf3_to(state)
        Drip.cookies = set()
        held("iperf3://{}:{}", talk, f"iperf3 {state}")


# --- nuttcp ---------------------------------------------------------------------------------------

def nuttcp_hello(far, connection, _):
    far.drip(connection, endless(b"HELO nuttcp v6.1.2 and more "))


def nuttcp_lines(far, connection, _):
    """Each line a server's, none the one that is due."""
    connection.sendall(b"HELO nuttcp v6.1.2\n")
    read_until(connection, b"\n")
    read_until(connection, b"\n")
    connection.sendall(b"KO\n")
    while not far.ended.wait(STEP_SECONDS):
        connection.sendall(b"another reason\n")


def nuttcp_ok(far, connection, _):
    connection.sendall(b"HELO nuttcp v6.1.2\n")
    read_until(connection, b"\n")
    read_until(connection, b"\n")
    far.drip(connection, [b"OK\n"])
    far.drip(connection, endless(b"more\n"))


@waits
def a_nuttcp_server_that_drips():
    for talk in (nuttcp_hello, nuttcp_lines, nuttcp_ok):
        held("nuttcp://{}:{}", talk, talk.__name__)


# --- pScheduler -----------------------------------------------------------------------------------

def node_handshake(far, connection, _):
    """A TLS record of 16 KB, byte for byte."""
    connection.recv(1)
    far.drip(connection, [b"\x16\x03\x03\x40\x00"])
    far.drip(connection, endless(b"\x02"))


def node_that_says(text):
    """A node whose TLS is in order, and whose answer to the first question never ends."""
    def talk(far, connection, _):
        with far.context.wrap_socket(connection, server_side=True) as channel:
            read_until(channel, b"\r\n\r\n")
            channel.sendall(b"HTTP/1.1 200 OK\r\n" if text != b"1" else
                            b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n")
            far.drip(channel, endless(text))
    return talk


@waits
def a_perfsonar_node_that_drips():
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = f"{folder}/key", f"{folder}/crt"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key,
                        "-out", certificate, "-days", "1", "-subj", "/CN=127.0.0.1"],
                       capture_output=True, check=True)
        Drip.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        Drip.context.load_cert_chain(certificate, key)
    for what, talk in (("handshake", node_handshake), ("head", node_that_says(b"X-More: more\r\n")),
                       ("body", node_that_says(b"1"))):
        held("pscheduler://{}:{}", talk, f"pscheduler {what}")


run(sys.argv[2:])
