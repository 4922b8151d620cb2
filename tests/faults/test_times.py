#!/usr/bin/env python3
"""What tightlinkd promises in seconds: a new client is served at once, with and without TLS, and who
is silent, stopped or gone frees what he held (P2 to P4). Nothing may run beside it but its own cases.

Arguments: path of tightlinkd, then names of cases (none: all)."""
import contextlib
import concurrent.futures
import itertools
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time

import states
import wire
from cases import Skipped, case, is_sanitized, percentile, run, until, waits
from keyed import SECRET, KeyFile, first_words
from states import STATES
from three import Three, ip
from wire import Connection, Daemon, Session, frame

DAEMON = sys.argv[1]
# A sanitizer's program is not the one that is promised, and other tests run beside it.
SLOWED = 3 if is_sanitized(DAEMON) else 1


@waits
def silence_in_each_state_frees_the_slot():
    def silent(state):
        with Daemon(DAEMON) as daemon:
            before = daemon.descriptors()
            victim = state({"port": daemon.port, "source": "127.0.8.1"})
            until(1, lambda: daemon.descriptors() > before, "the connection is accepted")
            took = until(10, lambda: daemon.descriptors() == before, f"silence in {state.__name__}")
            print(f"  silent in {state.__name__}: free after {took:.1f} s")
            assert took < SLOWED * STATES[state], f"{state.__name__}: {took:.1f} s"
            Session(daemon.port).run(ms=200)
            del victim

    with concurrent.futures.ThreadPoolExecutor(len(STATES)) as pool:
        list(pool.map(silent, STATES))


@waits
def a_stream_on_which_nothing_comes_back_ends_no_test_of_several():
    """Behind a full uplink whose queue drops, one of several connections can wait longer for an
    acknowledgement than TCP_USER_TIMEOUT: here one is not read, and its window is shut."""
    with Daemon(DAEMON) as daemon:
        _, end, moved, _ = Session(daemon.port).run(streams=2, ms=10000, pacing=50 * 1000 * 1000, shut=(1,))
        assert end["reason"] == wire.END_TIME, end
        assert end["bytes"][1] < 0.5 * end["bytes"][0] and moved > 0.5 * end["bytes"][0], (moved, end)


@waits
def a_link_that_goes_down_in_each_state_frees_the_slot():
    """P3: no reset, no end, no acknowledgement: the client's link is gone. One responder a state."""
    with Three() as hosts, contextlib.ExitStack() as stack:
        trials = []
        for state in STATES:
            daemon = stack.enter_context(Daemon(DAEMON, "--no-sandbox", inside=hosts.inside(2)))
            trials.append((state, daemon, daemon.descriptors()))
        clients = [subprocess.Popen(
            hosts.inside(1, sys.executable, states.__file__, "10.97.0.2", str(daemon.port),
                         "10.97.0.1", state.__name__), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for state, daemon, _ in trials]
        for client in clients:
            stack.callback(client.wait)
            stack.callback(client.kill)
        for client in clients:
            assert client.stdout.readline() == "here\n"
        for client in clients:  # all at once: the first deadline is of 3 s
            print(file=client.stdin, flush=True)
        for client in clients:
            assert client.stdout.readline() == "up\n"
        for state, daemon, before in trials:
            until(1, lambda: daemon.descriptors() > before, f"{state.__name__} is accepted")
        ip("-n", hosts.names[1], "link", "set", "e0", "down")
        begin = time.monotonic()
        for state, daemon, before in trials:
            until(10, lambda: daemon.descriptors() == before, f"link down in {state.__name__}")
            took = time.monotonic() - begin
            print(f"  link down in {state.__name__}: free after {took:.1f} s or less")
            assert took < 10


@waits
def a_test_ends_hard_5_s_after_its_time():
    """P3: an upload that trickles on, from a client that says it is alive."""
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        granted = session.ask(ms=1000, direction=wire.UPLOAD)
        data = session.open_streams(granted)[0]
        session.start(granted)
        begin = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() - begin < 12 and data.is_open():
                data.send(b"x")
                session.ping()
                time.sleep(0.05)
        took = time.monotonic() - begin
        print(f"  1 s granted: ended after {took:.1f} s")
        assert 1 <= took < SLOWED * 6.5, f"{took:.1f} s"


@waits
def data_that_arrive_are_a_sign_of_life():
    """An upload whose control frames wait in the queue that its own data fill."""
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        granted = session.ask(ms=30000, direction=wire.UPLOAD)
        data = session.open_streams(granted)[0]
        session.start(granted)
        begin = time.monotonic()
        while time.monotonic() - begin < 7:
            data.send(bytes(1000))
            time.sleep(0.05)
        data.close()
        end = session.end()
        print(f"  7 s without a control frame: the test ended with {end}")
        assert sum(end["bytes"]) > 0


@waits
def pings_do_not_keep_a_test_that_is_not_started():
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        session.ask()
        begin = time.monotonic()
        while session.is_open():
            assert time.monotonic() - begin < 10
            session.ping()
            time.sleep(0.1)
        assert time.monotonic() - begin > 4


CHILD = """
import sys, time
sys.path.insert(0, {path!r})
import wire, threading
session = wire.Session({port}, "127.0.9.1")
print("up", flush=True)
threading.Timer(1.0, lambda: print("moving", flush=True)).start()
session.run(direction={direction}, ms=60000, pump_seconds=100)
"""


def mid_test(daemon, direction):
    code = CHILD.format(path=os.path.dirname(os.path.abspath(__file__)), port=daemon.port,
                        direction=direction)
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "up\n" and child.stdout.readline() == "moving\n"
    return child


@waits
def a_client_that_is_stopped_or_killed_in_mid_test_frees_everything():
    def gone(how):
        direction, number = how
        with Daemon(DAEMON) as daemon:
            before = daemon.descriptors()
            child = mid_test(daemon, direction)
            child.send_signal(number)
            took = until(10, lambda: daemon.descriptors() == before, number.name)
            print(f"  {number.name}, direction {direction}: free after {took:.1f} s")
            Session(daemon.port).run(ms=200)
            child.kill()
            child.wait()

    ways = itertools.product((wire.DOWNLOAD, wire.UPLOAD), (signal.SIGSTOP, signal.SIGKILL))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(gone, ways))


@waits
def sending_stops_a_second_after_the_last_word():
    """P4, at every sample interval: the client's kernel takes all, its program says nothing."""
    def unheard(interval_us):
        with Daemon(DAEMON) as daemon:
            session = Session(daemon.port)
            granted = session.ask(ms=10000, interval_us=interval_us, pacing=50 * 10**6)
            data = session.open_streams(granted)[0]
            session.start(granted)
            begin = newest = time.monotonic()
            data.socket.settimeout(3)
            try:
                while data.socket.recv(1 << 20):
                    newest = time.monotonic()
            except (ConnectionError, TimeoutError):
                pass
            took = newest - begin
            print(f"  {interval_us // 1000} ms: silent {took:.2f} s after the last word")
            assert took < SLOWED * 1.6, f"{took:.2f} s at {interval_us} us"

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(unheard, (10000, 50000, 100000)))


@waits
def a_client_whose_kernel_reads_on_is_left_alone_within_a_second():
    """The program says nothing while its data connection drains: the responder must stop."""
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        granted = session.ask(ms=60000)
        data = session.open_streams(granted)[0]
        session.start(granted)
        begin = time.monotonic()
        data.socket.settimeout(5)
        try:
            while data.socket.recv(1 << 20):
                assert time.monotonic() - begin < 4, "sends on unheard"
        except ConnectionError:
            pass
        took = time.monotonic() - begin
        assert session.end()["reason"] == wire.END_UNHEARD
        print(f"  unheard: stopped after {took:.2f} s")
        assert took < SLOWED * 2


@case
def it_ends_within_a_second_of_being_told():
    with Daemon(DAEMON) as daemon:
        session = Session(daemon.port)
        session.open_streams(session.ask(ms=60000))
        took, status = daemon.stop()
        assert took < SLOWED and status == 0, (took, status)


@case
def silent_sessions_in_the_queue_give_way():
    """64 that asked for a test and fell silent: a hello is answered at once, not when their 5 s are
    over, and the turn goes to who is heard."""
    with Daemon(DAEMON) as daemon:
        waiting = [Session(daemon.port, f"127.0.{120 + i % 8}.{i // 2 + 1}") for i in range(64)]
        for session in waiting:
            session.send(wire.test_tcp(ms=60000))
        time.sleep(1.2)
        begin = time.monotonic()
        session = Session(daemon.port, "127.0.4.1")
        took = time.monotonic() - begin
        print(f"  hello to welcome with 64 silent in the queue: {took * 1e3:.0f} ms")
        assert took < SLOWED * 0.25, f"{took:.2f} s"


@case
def out_of_descriptors_is_no_busy_loop():
    """With nobody half-open to send away the listener stays readable."""
    same_user = ("--user", "root") if os.geteuid() == 0 else ()  # whose limits we may change
    with Daemon(DAEMON, *same_user) as daemon:
        sessions = [Session(daemon.port, "127.0.63.1")]
        limit = daemon.descriptors()
        soft, most = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (limit, most))
        waiting = [Connection(daemon.port, f"127.0.63.{i + 2}") for i in range(12)]
        status = socket.socket(socket.AF_UNIX)  # who asks for the status stays readable, too
        status.connect(f"\0tightlinkd-{daemon.port}")
        before = daemon.cpu_s()
        for _ in range(10):
            sessions[0].ping()
            time.sleep(0.1)
        used = daemon.cpu_s() - before
        print(f"  out of descriptors: {used * 100:.0f} % of a core")
        assert used < SLOWED * 0.1, f"{used:.2f} s of processor time in a second"
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (soft, most))
        waiting[0].send(wire.hello())
        assert waiting[0].read()[0] == wire.WELCOME, "it does not accept again"


def hello_s(port, source):
    """From the first word to the answer, WELCOME and no ERROR."""
    begin = time.monotonic()
    session = Session(port, source)
    took = time.monotonic() - begin
    with contextlib.suppress(OSError):
        session.send(frame(wire.BYE))
    session.close()
    return took


def told(beside, times):
    """The p99, printed with the median."""
    p99 = percentile(times, 0.99)
    print(f"  hello to welcome, {beside}: median {percentile(times, 0.5) * 1e3:.2f} ms, p99 "
          f"{p99 * 1e3:.2f} ms")
    return p99


@case
def a_new_client_is_served_beside_a_thousand_strangers():
    with Daemon(DAEMON) as daemon:
        stalled = Session(daemon.port, "127.0.5.1")
        granted = stalled.ask(ms=60000)
        data = stalled.open_streams(granted)
        stalled.start(granted)  # and never reads
        strangers = [Connection(daemon.port, f"127.0.6.{i % 250 + 1}") for i in range(1000)]
        for stranger in strangers[::2]:
            stranger.send(wire.hello()[:50])
        # A hundredth of 300 are three.
        times = [hello_s(daemon.port, f"127.0.7.{i % 250 + 1}") for i in range(300)]
        p99 = told("beside 1,000 half-open and 1 stalled", times)
        assert p99 < SLOWED * 0.05, f"p99 {p99 * 1e3:.1f} ms"
        del data


@case
def a_new_client_is_served_beside_a_hundred_stalled_sessions():
    with Daemon(DAEMON) as daemon:
        stalled = []
        for i in range(100):
            connection = Connection(daemon.port, f"127.0.9.{i + 1}")
            connection.send(wire.hello())
            stalled.append(connection)
        strangers = [Connection(daemon.port, f"127.0.6.{i % 250 + 1}") for i in range(1000)]
        time.sleep(1.2)  # from when on a silent session gives way
        times = [hello_s(daemon.port, f"127.0.7.{i % 250 + 1}") for i in range(300)]
        assert told("beside 1,000 half-open and 100 stalled", times) < SLOWED * 0.05
        del stalled, strangers


@case
def ten_thousand_strangers():
    with Daemon(DAEMON) as daemon:
        idle = daemon.rss()
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        count = min(10000, hard - 500)
        strangers = []
        begin = time.monotonic()
        for i in range(count):
            strangers.append(Connection(daemon.port, f"127.0.{10 + i // 250}.{i % 250 + 1}"))
        held = daemon.descriptors()
        memory = daemon.rss()
        print(f"  {held} descriptors held after {count} connections in "
              f"{time.monotonic() - begin:.1f} s; {(memory - idle) / 1e6:.1f} MB more")
        times = [hello_s(daemon.port, f"127.0.7.{i + 1}") for i in range(50)]
        assert told("beside them", times) <= SLOWED * 0.25  # P2
        assert memory - idle < 8e6
        for stranger in strangers:
            stranger.close()


def served_beside_stalled(daemon, idle, awake, turn, words):
    """One round: p99 of 200 hellos beside 1,000 connections that stall, and at a responder that nobody
    else uses."""
    stalled = []
    for i in range(1000):
        stalled.append(Connection(daemon.port, f"127.{i % 250}.4.1"))
        with contextlib.suppress(OSError):
            stalled[-1].send(words if i % 2 else b"\0")
    asked, times, alone = frame(wire.PING, bytes(8)) * 8, [], []
    for i in range(200):
        for session in awake:
            with contextlib.suppress(OSError):
                session.socket.setblocking(False)
                session.socket.send(asked)
        times.append(hello_s(daemon.port, f"127.{turn + 1}.{i}.1"))
        alone.append(hello_s(idle.port, f"127.{turn + 1}.{i}.1"))
    for connection in stalled:
        connection.close()
    return told(f"turn {turn + 1}", times), told("  at a responder that is alone", alone)


def median_of_three(round_of):
    """Of a round's two p99 the one beside an attack is 50 ms at most where the one of a responder
    that is alone is 10 ms: else it is the machine that had no time, and the round says nothing."""
    rounds = []
    for turn in range(9):
        beside, alone = round_of(turn)
        if is_sanitized(DAEMON) or alone < 0.01:
            rounds.append(beside)
        if len(rounds) == 3:
            break
    else:
        raise Skipped("in nine rounds this machine had no time even for a responder alone")
    assert sorted(rounds)[1] < (1.0 if is_sanitized(DAEMON) else 0.05), rounds


@case
def a_new_client_is_served_beside_channels_and_sessions_that_are_awake():
    """P2: 50 ms (p99) beside stalled handshakes and sessions that ask without end and read nothing, at
    the median of three rounds. In turn another responder is asked that nobody else uses."""
    if not shutil.which("openssl"):
        raise Skipped("there is no openssl program, which is a client here")
    with KeyFile(f"alice {SECRET}") as key, Daemon(DAEMON, "--key", key) as daemon, \
            Daemon(DAEMON) as idle:
        words = first_words("alice", SECRET)
        awake = [Session(daemon.port, f"127.0.{100 + i}.1") for i in range(30)]
        median_of_three(lambda turn: served_beside_stalled(daemon, idle, awake, turn, words))
        for session in awake:
            session.close()


PINGER = """
import contextlib, sys
sys.path.insert(0, {path!r})
import wire
sessions = [wire.Session({port}, f"127.0.{{{first} + i}}.1") for i in range(10)]
words, left = wire.frame(wire.PING, bytes(8)) * 300, [b""] * len(sessions)
for session in sessions:
    session.socket.setblocking(False)
print("up", flush=True)
while True:
    for i, session in enumerate(sessions):
        left[i] = left[i] or words  # a frame that was begun is gone on with
        with contextlib.suppress(BlockingIOError):
            left[i] = left[i][session.socket.send(left[i]):]
        with contextlib.suppress(BlockingIOError):
            session.socket.recv(1 << 18)
"""


@contextlib.contextmanager
def pingers(port):
    """Two programs, each with ten sessions, that ping as fast as they can and read what comes."""
    path = os.path.dirname(os.path.abspath(__file__))
    programs = [subprocess.Popen([sys.executable, "-c", PINGER.format(path=path, port=port, first=first)],
                                 stdout=subprocess.PIPE) for first in (150, 170)]
    try:
        for program in programs:
            assert program.stdout.readline() == b"up\n"
        yield
        assert all(program.poll() is None for program in programs), "an attacker lost its sessions"
    finally:
        for program in programs:
            program.kill()
            program.wait()


@case
def a_new_client_is_served_beside_sessions_that_ping_without_end():
    """P2: 50 ms (p99) at the median of three rounds, as above; the attack takes both processors of a
    small machine, so that rounds say nothing more often."""
    with Daemon(DAEMON) as daemon, Daemon(DAEMON) as idle, pingers(daemon.port):
        def round_of(turn):
            times = [(hello_s(daemon.port, f"127.{turn + 200}.{i}.1"),
                      hello_s(idle.port, f"127.{turn + 200}.{i}.1")) for i in range(200)]
            beside, alone = ([pair[end] for pair in times] for end in (0, 1))
            return (told("twenty that ping without end", beside),
                    told("  at a responder that is alone", alone))
        median_of_three(round_of)


run(sys.argv[2:])
