#!/usr/bin/env python3
"""tightlink against far ends that never stop talking, or grant more than was asked for
(promise P10, and the user's own budgets).

Arguments: path of tightlink, then names of cases (none: all but the slow ones, which have their own
meson test with --slow)."""
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import wire
from cases import case, run, slow, until
from far_end import DatagramFarEnd, FarEnd, pong, samples
from held import Held
from wire import frame

TIGHTLINK = sys.argv[1]
MB = 1000 * 1000
# A user who pressed Ctrl-C sees the end of the program: 0.1 s of work, and no wait of the program's is
# that short. What is on the wire has its own case.
STOP_SECONDS = 10.0
# Left alone it ends by itself: 1 s of work here, of which a busy machine makes some. Without a bound it
# was 28 s and more, or for ever.
LEFT_ALONE_SECONDS = 20
LIGHT = "mtu,hops,calibrate"


class Run:
    """tightlink against a far end, without what needs UDP."""

    def __init__(self, far, *options, direction="download", skip=LIGHT):
        self.process = subprocess.Popen(
            [TIGHTLINK, "run", far.address, "--port", str(far.port), "--yes", "--json-lines",
             "--no-history", "--direction", direction, "--skip", skip, *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.begin = time.monotonic()

    def end(self, seconds):
        """Exit code, document, words for a person, seconds."""
        try:
            out, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            raise AssertionError(f"still there after {seconds} s: {err} {out[-600:]}")
        document = json.loads(out.splitlines()[-1])
        return self.process.returncode, document, err, time.monotonic() - self.begin

    def interrupt(self, *codes):
        """Ctrl-C; seconds until the program has ended."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        code, *_ = self.end(30)
        assert code in codes, code
        return time.monotonic() - begin


def held(far, seconds, skip=LIGHT, *options, **more):
    """Against a far end that floods: a run that is interrupted at once, one that is left alone, and
    one that is interrupted while the same comes slowly enough to be no flood."""
    with far() as flooder:
        run = Run(flooder, *options, skip=skip, **more)
        assert flooder.flooding.wait(20), "the flood did not begin"
        flood = run.interrupt(130, 4)
    with far() as flooder:
        code, document, err, lasted = Run(flooder, *options, skip=skip, **more).end(seconds + 20)
        frames = flooder.frames_sent
    with far() as flooder:
        flooder.pause_s = 0.002
        run = Run(flooder, *options, skip=skip, **more)
        assert flooder.flooding.wait(20), "it did not begin"
        time.sleep(0.3)
        drip = run.interrupt(130)
    print(f"         Ctrl-C {flood * 1000:.0f} ms and {drip * 1000:.0f} ms, left alone {lasted:.1f} s "
          f"after {frames} frames: {document['verdict']['sentence']}")
    assert max(flood, drip) < STOP_SECONDS, (flood, drip)
    assert lasted < seconds, f"held for {lasted:.1f} s"
    assert code in (3, 4), (code, err)
    assert document["verdict"]["state"] == "invalid", document["verdict"]


@case
def pongs_instead_of_an_answer():
    """Each frame that answers nothing, from the client's first question on."""
    class Far(FarEnd):
        def host(self, connection, _):
            self.flood(connection, pong())
    held(Far, LEFT_ALONE_SECONDS, skip="calibrate")


@slow
def pongs_with_a_wrong_cookie():
    class Far(FarEnd):
        def ping(self, connection, _):
            self.flood(connection, pong())
    held(Far, 12, skip="calibrate")


@case
def busy_for_ever():
    """A queue whose every word is that there is a queue."""
    class Far(FarEnd):
        def test(self, connection, _):
            self.flood(connection, frame(wire.BUSY, struct.pack(">HxxI", 1, 1)))
    held(Far, LEFT_ALONE_SECONDS)


@case
def pongs_before_started():
    class Far(FarEnd):
        def start(self, connection, _):
            self.flood(connection, pong())
    held(Far, LEFT_ALONE_SECONDS)


@case
def pongs_during_a_test():
    class Far(FarEnd):
        def start(self, connection, payload):
            super().start(connection, payload)
            self.flood(connection, pong())
    held(Far, LEFT_ALONE_SECONDS)


@case
def samples_without_end():
    class Far(FarEnd):
        def start(self, connection, payload):
            super().start(connection, payload)
            self.flood(connection, samples())
    held(Far, LEFT_ALONE_SECONDS)


@case
def pings_without_end():
    """Each has to be answered; nobody has to answer for ever."""
    class Far(FarEnd):
        def start(self, connection, payload):
            super().start(connection, payload)
            self.flood(connection, frame(wire.PING, bytes(8)))
    held(Far, LEFT_ALONE_SECONDS)


@slow
def challenges_without_end():
    """Datagrams instead of the one that is waited for."""
    class Far(DatagramFarEnd):
        def datagram(self, kind, datagram, peer):
            self.flood_datagrams(peer, b"TLU1" + bytes(60))
    held(Far, 20, "calibrate", "--time-budget", "3s")


@slow
def replies_without_end():
    """To the first probe of a proven tuple: datagrams that answer no probe."""
    class Far(DatagramFarEnd):
        def datagram(self, kind, datagram, peer):
            super().datagram(kind, datagram, peer)
            if kind not in (1, 3):
                self.flood_datagrams(peer, b"TLU1" + bytes(60))
    held(Far, 30, "calibrate", "--time-budget", "3s")


class Generous(FarEnd):
    """Grants far more than was asked for; the most that the wire can say means no bound of its own."""

    def grant(self, asked):
        return {"streams": asked["streams"], "ms": 60000, "interval_us": 10000,
                "max_bytes": (1 << 44) - 1, "pacing": 10**12}


@case
def a_budget_of_bytes_is_kept_up():
    with Generous() as far:
        Run(far, "--data-budget", "20MB", direction="upload").end(40)
        print(f"         {far.received_bytes / MB:.1f} MB came of 20 MB")
        assert 1 * MB < far.received_bytes <= 20 * MB, far.received_bytes


@case
def a_budget_of_bytes_is_kept_down():
    """What the window had let through before the end was seen is not ours to stop: the far end
    counts what its kernel took, so that its send buffer and one window come on top."""
    with Generous() as far:
        _, document, *_ = Run(far, "--data-budget", "20MB").end(40)
        print(f"         {far.sent_bytes / MB:.1f} MB were sent against 20 MB")
        assert document["run"]["received_bytes"] <= 20.1 * MB, document["run"]
        assert 1 * MB < far.sent_bytes <= 36 * MB, far.sent_bytes


@case
def a_budget_of_time_is_kept():
    """Also by a far end that answers pings for ever and never says that the test is over: what is
    waited for then is longer than the 5 s in which a responder that lives has to end it. The far end
    granted a minute: on an idle machine payload moves for 3 s, and all is over after 9 s."""
    for direction in ("download", "upload"):
        with Generous() as far:
            _, document, *_ = Run(far, "--time-budget", "3s", "--data-budget", "100GB",
                                         direction=direction).end(120)
            moved, lasted = far.moved_at - far.began_at, time.monotonic() - far.began_at
            print(f"         {direction}: payload for {moved:.1f} s of 3 s, over after {lasted:.1f} s")
            assert document["verdict"]["state"] == "invalid", document["verdict"]
            assert moved < 20 and lasted < 40, (moved, lasted)


@case
def a_queue_is_no_way_round_a_budget_of_time():
    """A far end that says now and then that it is busy, for ever."""
    class Far(FarEnd):
        def test(self, connection, _):
            self.flood(connection, frame(wire.BUSY, struct.pack(">HxxI", 1, 1000)))
    with Far() as far:
        far.pause_s = 0.2
        code, document, err, lasted = Run(far, "--time-budget", "3s").end(90)
        print(f"         over after {lasted:.1f} s of 3 s: {document['verdict']['sentence']}")
        assert code == 4 and "busy" in err + json.dumps(document), (code, err)
        assert lasted < 40, f"{lasted:.1f} s"


class Pourer(DatagramFarEnd):
    """Answers a test of datagrams, in which it shall send some, by as many as it can."""

    def __init__(self):
        super().__init__()
        self.poured_bytes, self.poured_s = 0, 0.0

    def other(self, connection, payload):
        if len(payload) == 48:  # TEST_UDP
            connection.sendall(frame(wire.READY, struct.pack(">IHxxIIQQ", 1, 1, 60000, 10000, 1 << 44,
                                                             10**12) + bytes(16)))
        elif len(payload) == 16:  # UDP_START
            connection.sendall(frame(wire.STARTED, payload[:4] + struct.pack(">Q", 0)))
            threading.Thread(target=self.pour, daemon=True).start()

    def datagram(self, kind, datagram, peer):
        self.peer = peer
        super().datagram(kind, datagram, peer)

    def pour(self):
        """Until nobody takes them any more, which a connected socket is told."""
        begin, junk = time.monotonic(), b"TLU1" + os.urandom(1444)
        self.udp.connect(self.peer)
        try:
            while not self.ended.is_set():
                self.poured_bytes += self.udp.send(junk)
        except OSError:
            pass
        self.poured_s = time.monotonic() - begin
        self.udp.close()


@case
def datagrams_without_end_end_their_test():
    """Asked for 1 Mb/s for 0.5 s. What its socket's buffer holds, and what comes until it is closed,
    is not the client's to stop."""
    with Pourer() as far:
        _, document, *_ = Run(far, "--data-budget", "5MB", "--stages", "udp", skip="mtu").end(40)
        until(20, lambda: far.poured_s > 0, "its socket is closed")
        came = document["run"]["received_bytes"]
        print(f"         {far.poured_bytes / MB:.1f} MB in {far.poured_s:.2f} s, {came / MB:.1f} counted")
        assert 0 < far.poured_s < 15, f"{far.poured_s:.1f} s"
        assert 0.1 * MB < came < 20 * MB, came


# --- P10: the wire is silent 250 ms after an interrupt ----------------------------------------

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


def may_watch():
    if os.geteuid() != 0:
        print("         skipped: watching packets needs root")
    return os.geteuid() == 0


@case
def what_others_send_at_the_same_port_is_not_watched():
    if not may_watch():
        return
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
    if not may_watch():
        return
    for kind in (Paced, Chatty):
        for direction in ("download", "upload"):
            took = max(0.0, *(silence(kind, direction) for _ in range(2)))
            print(f"         {direction}, {kind.__name__}: silent {took:.0f} ms after the signal")
            assert took <= 250, f"{direction}, {kind.__name__}: {took:.0f} ms"


run(sys.argv[2:])
