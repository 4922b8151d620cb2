#!/usr/bin/env python3
"""tightlink against far ends that never stop talking, or grant more than was asked for
(promise P10, and the user's own budgets).

Arguments: path of tightlink, then names of cases (none: all but the slow ones, which have their own
meson test with --slow)."""
import functools
import json
import os
import socket
import struct
import sys
import threading
import time

import wire
from cases import case, run, slow, until
from client_run import LIGHT, ClientRun
from far_end import DatagramFarEnd, FarEnd, pong, samples
from wire import frame

TIGHTLINK = sys.argv[1]
MB = 1000 * 1000
# A user who pressed Ctrl-C sees the end of the program: 0.1 s of work, and no wait of the program's is
# that short. What is on the wire has its own case.
STOP_SECONDS = 10.0
# Left alone it ends by itself: 1 s of work here, of which a busy machine makes some. Without a bound it
# was 28 s and more, or for ever.
LEFT_ALONE_SECONDS = 20
Run = functools.partial(ClientRun, TIGHTLINK)


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


run(sys.argv[2:])
