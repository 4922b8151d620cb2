"""A client of tightlinkd in Python, written from doc/wire.md alone: the document is right
as long as this works. Standard library only."""
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import time

from cases import until

MAGIC = b"TGHTLINK"
VERSION = 1
(HELLO, WELCOME, ERROR, HOST_QUERY, HOST, HOST_END, TEST_TCP, READY, BUSY, DATA_HELLO, DATA_OK,
 START, STARTED, SAMPLES, READINGS, STOP, TEST_END, PING, PONG, BYE) = range(1, 21)
TEST_UDP, UDP_START, UDP_REPORT, UDP_SERIES, TEST_DISK, DISK_RESULT = range(21, 27)
SYN_QUERY, SYN_REPORT = 30, 31
DOWNLOAD, UPLOAD, BOTH = 0, 1, 2
END_TIME, END_BYTES, END_STOPPED, END_CLOSED, END_UNHEARD, END_FAILED = range(6)
(E_PROTOCOL, E_VERSION, E_TYPE, E_STATE, E_SESSIONS, E_TOKEN, E_TIMEOUT, E_CONGESTION, E_QUOTA,
 E_REFUSED, E_INTERNAL, E_GOING, E_KEY) = range(1, 14)


def own_address():
    """An address of loopback that is this process's alone: a client of another test that looks for a
    server that is gone, at a port that is somebody else's by now, comes to nobody here."""
    pid = os.getpid()
    return f"127.{64 | pid >> 16 & 63}.{pid >> 8 & 255}.{pid & 255}"


def frame(kind, payload=b""):
    return struct.pack(">HBB", len(payload), kind, 0) + payload


def hello(version=VERSION, nonce=bytes(16), program=b"test 1"):
    return frame(HELLO, MAGIC + struct.pack(">HH", version, 0) + nonce +
                 program.ljust(32, b"\0") + bytes(28))


def test_tcp(direction=DOWNLOAD, streams=1, ms=1000, max_bytes=0, rcvbuf=0, sndbuf=0, pacing=0,
             interval_us=50000, congestion=b"", discard=0, dscp=0, path=0, lowat=0):
    return frame(TEST_TCP, struct.pack(">BBHIQIIQIBBHII", direction, discard, streams, ms,
                                       max_bytes, rcvbuf, sndbuf, pacing, interval_us, dscp, path,
                                       0, lowat, 0) +
                 congestion.ljust(16, b"\0"))


def test_udp(direction=DOWNLOAD, train=0, trains=0, burst=0, size=1448, ms=1000, rate=0,
             rcvbuf=0):
    return frame(TEST_UDP, struct.pack(">BBHIQQHBBIIHHIHxx", direction, 0, size, ms, 0, rate, burst,
                                       0, 0, 10000, rcvbuf, train, trains, 1000, 100))


def prove(kind, token, challenge=bytes(16)):
    """HELLO (1) or PROVE (3), as a datagram."""
    return b"TLU1" + bytes([kind, 0, 0, 0]) + token + challenge + bytes(24)


def answered(udp, datagram):
    """The answer to a datagram. A busy loopback may lose either: it is asked again, as any client does.
    datagram: bytes, or what makes them anew for each time."""
    for _ in range(5):
        udp.settimeout(3)
        udp.send(datagram() if callable(datagram) else datagram)
        try:
            return udp.recv(65536)
        except TimeoutError:
            pass
    raise AssertionError("no answer by UDP, asked five times")


def crc32c(data):
    """RFC 3720, B.4."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def udp_data(cookie, test_id, sequence, sent_ns, size):
    """A DATA whose CRC covers all of it."""
    head = b"TLU1" + struct.pack(">BBH", 7, 0, size) + cookie + struct.pack(">I", test_id)
    rest = struct.pack(">QQ", sequence, sent_ns) + os.urandom(size - 40)
    return head + struct.pack(">I", crc32c(head + bytes(4) + rest)) + rest


def udp_feedback(cookie, test_id, count, size, highest):
    """A FEEDBACK: so many datagrams, their payload, one more than the highest number that came."""
    head = b"TLU1" + struct.pack(">Bxxx", 8) + cookie + struct.pack(">I", test_id)
    rest = struct.pack(">QQQQQ", count, size, highest, 0, 0)
    return head + struct.pack(">I", crc32c(head + bytes(4) + rest)) + rest


def numbers(payload):
    """A set of numbers, by field."""
    count, at = payload[0], 1 + (payload[0] + 7) // 8
    present, told = payload[1:at], {}
    for field in range(count):
        if present[field // 8] >> field % 8 & 1:
            told[field], shift = 0, 0
            while True:
                told[field] |= (payload[at] & 127) << shift
                shift, at = shift + 7, at + 1
                if payload[at - 1] < 128:
                    break
    return told


class Daemon:
    """tightlinkd on a free port of loopback; its log goes to a file that failures show. inside: what
    brings it into a namespace."""

    def __init__(self, program, *options, descriptors=None, inside=()):
        ready, write = os.pipe()
        self.log = open(f"/tmp/tightlinkd-test.{os.getpid()}.{id(self)}", "w+")
        os.unlink(self.log.name)
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
                 ) if descriptors else None
        self.process = subprocess.Popen(
            [*inside, program, "--open", "--port", "0", "--ready-fd", str(write), *options],
            pass_fds=[write], preexec_fn=limit, stderr=self.log, env={"ASAN_OPTIONS": "quarantine_size_mb=1",
                                                    **os.environ})
        os.close(write)
        with os.fdopen(ready) as pipe:
            line = pipe.read()  # to its end: the daemon has closed the descriptor
        if not line.startswith("listening on port "):
            self.process.wait()
            raise SystemExit(f"tightlinkd did not start: {self.text()}")
        self.port = int(line.split()[-1])

    def text(self):
        self.log.flush()
        self.log.seek(0)
        return self.log.read()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def rss(self):
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def cpu_s(self):
        """Processor time that it has used."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """Ends it as an administrator does; returns seconds and exit status."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=60)
        return time.monotonic() - begin, status

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if kind:
            print("--- log of tightlinkd ---\n" + self.text())


class Closed(Exception):
    pass


class Connection:
    def __init__(self, port, source=None, timeout=60, host="127.0.0.1"):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        if source:
            self.socket.bind((source, 0))
        self.socket.connect((host, port))
        self.buffer = b""

    def send(self, data):
        self.socket.sendall(data)

    def read(self):
        """The next frame: type and payload."""
        while len(self.buffer) < 4 or len(self.buffer) < 4 + self.need():
            data = self.socket.recv(65536)
            if not data:
                raise Closed()
            self.buffer += data
        kind, end = self.buffer[2], 4 + self.need()
        assert self.buffer[3] == 0 and end <= 4096, "a frame breaks the rules"
        payload, self.buffer = self.buffer[4:end], self.buffer[end:]
        return kind, payload

    def need(self):
        return struct.unpack(">H", self.buffer[:2])[0]

    def expect(self, kind, skip=()):
        while True:
            got, payload = self.read()
            if got == ERROR and kind != ERROR:
                raise AssertionError(f"ERROR {payload[2:]!r} instead of {kind}")
            if got == kind:
                return payload
            assert got in skip, f"{got} instead of {kind}"

    def error(self, skip=()):
        """The code of the ERROR that must come next."""
        payload = self.expect(ERROR, skip)
        return struct.unpack(">H", payload[:2])[0], payload[2:].decode()

    def is_open(self):
        """Whether the other end still holds the connection; takes what it sent."""
        try:
            while True:
                if not select.select([self.socket], [], [], 0)[0]:
                    return True
                if not self.socket.recv(65536):
                    return False
        except ConnectionError:
            return False

    def close(self):
        self.socket.close()


class Session(Connection):
    host = "127.0.0.1"

    def __init__(self, port, source=None, **more):
        super().__init__(port, source, **more)
        self.host = more.get("host", self.host)
        self.source = source
        self.port = port
        self.greet()

    def greet(self):
        self.send(hello())
        welcome = self.expect(WELCOME)
        assert len(welcome) == 88
        self.token = welcome[4:20]
        self.max_seconds, self.max_streams, self.rate_cap, self.quota_left = struct.unpack(
            ">HHQQ", welcome[36:56])
        self.program = welcome[56:].rstrip(b"\0").decode()

    def ping(self, cookie=7):
        self.send(frame(PING, struct.pack(">Q", cookie)))

    def ask(self, **test):
        """TEST_TCP to READY; returns what was granted."""
        self.send(test_tcp(**test))
        return self.granted()

    def granted(self):
        ready = self.expect(READY, skip=(BUSY, PONG))
        names = ("test_id", "streams", "ms", "interval_us", "max_bytes", "pacing")
        granted = dict(zip(names, struct.unpack(">IHxxIIQQ", ready[:32])))
        granted["congestion"] = ready[32:].rstrip(b"\0").decode()
        return granted

    def join(self, test_id, stream, token=None):
        data = Connection(self.port, self.source, host=self.host)
        data.send(frame(DATA_HELLO, MAGIC + struct.pack(">HHI", VERSION, stream, test_id) +
                        (token or self.token)))
        return data

    def open_streams(self, granted):
        streams = [self.join(granted["test_id"], i) for i in range(granted["streams"])]
        for i, data in enumerate(streams):
            assert data.expect(DATA_OK) == struct.pack(">IHH", granted["test_id"], i, 0)
        return streams

    def start(self, granted):
        self.send(frame(START, struct.pack(">I", granted["test_id"])))
        self.expect(STARTED, skip=(READINGS, PONG))

    def end(self, skip=(SAMPLES, READINGS, PONG)):
        """All frames of TEST_END as one dictionary."""
        totals, end = [], None
        while end is None or len(totals) < end["streams"]:
            payload = self.expect(TEST_END, skip)
            assert payload[:16] == self.token, "TEST_END without the session's token"
            end = dict(zip(("test_id", "reason", "count", "first", "ns", "dropped", "streams",
                            "path", "discarded"),
                           struct.unpack(">IBBHQIHBB", payload[16:40])))
            assert end["first"] == len(totals) and len(payload) == 40 + 32 * end["count"]
            totals += [struct.unpack(">Q", payload[40 + 32 * i:48 + 32 * i])[0]
                       for i in range(end["count"])]
        end["bytes"] = totals
        return end

    def run(self, pump_seconds=20, enough=0, shut=(), **test):
        """A whole test, or one that is stopped once so many SAMPLES have come: its streams stay
        open until TEST_END, as one that is cut may be seen before STOP is. Those in `shut` move
        nothing here. Returns what was granted, TEST_END, bytes moved here and SAMPLES."""
        granted = self.ask(**test)
        streams = self.open_streams(granted)
        self.start(granted)
        upload = test.get("direction", DOWNLOAD) == UPLOAD
        moved, samples, end = 0, 0, None
        noise = os.urandom(65536)
        limit = time.monotonic() + pump_seconds
        stop_at = time.monotonic() + granted["ms"] / 1000
        pinged, stopped = 0, False
        for data in streams:
            data.socket.setblocking(False)
        live = [data for i, data in enumerate(streams) if i not in shut]
        while end is None:
            assert time.monotonic() < limit, "the test does not end"
            if upload and live and not stopped and time.monotonic() > stop_at:
                for data in live:
                    data.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                           struct.pack("ii", 1, 0))
                    data.close()
                live = []
            if time.monotonic() - pinged > 0.1:
                pinged = time.monotonic()
                self.ping()
            writers = live if upload and not stopped else []
            readable, writable, _ = select.select([self.socket] + live, writers, [], 0.1)
            for data in live[:]:
                try:
                    if data.socket in writable_sockets(writable):
                        moved += data.socket.send(noise)
                    elif data.socket in writable_sockets(readable):
                        got = len(data.socket.recv(1 << 20))
                        moved += got
                        if not got:
                            live.remove(data)
                except BlockingIOError:
                    pass
                except ConnectionError:
                    live.remove(data)
            while self.socket in readable or len(self.buffer) >= 4:
                kind, payload = self.read()
                samples += kind == SAMPLES
                if 0 < enough <= samples and not stopped:
                    stopped = True
                    self.send(frame(STOP, struct.pack(">I", granted["test_id"])))
                if kind == TEST_END:
                    self.buffer = frame(kind, payload) + self.buffer
                    end = self.end()
                if not self.buffer:
                    break
        for data in streams:
            data.close()
        return granted, end, moved, samples


def is_full(held, places, come, said):
    """One more than there are places for is refused with these words, or comes in for one that has
    been silent for a second, which a machine with other work lets happen: they are never more."""
    for session in held:
        session.ping()
    spoken, all_held = time.monotonic(), all(session.is_open() for session in held)
    try:
        session = come()
    except (AssertionError, Closed) as why:
        assert said in str(why), why
        return
    silent = time.monotonic() - spoken
    until(30, lambda: sum(one.is_open() for one in held) + session.is_open() <= places,
          f"no more than {places} have a place")
    assert silent > 1 or not all_held, f"who had spoken {silent:.2f} s ago lost a place"
    session.close()


def writable_sockets(ready):
    return [item.socket if isinstance(item, Connection) else item for item in ready]


Connection.fileno = lambda self: self.socket.fileno()
