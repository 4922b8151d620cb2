#!/usr/bin/env python3
"""Promises with the numbers that they name (doc/promises.md), beyond what test_times.py,
test_shares.py and test_places.py try: a third party in a namespace of its own, a memory group, everything under
strace, secrets looked for everywhere, sessions without end.

Arguments: paths of tightlinkd and tightlink, then names of cases (none: all); with --long some do as
much as the promise says, in an hour and more."""
import contextlib
import glob
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import wire
from cases import Skipped, case, is_sanitized, run, until
from keyed import SECRET, KeyedSession, KeyFile, first_words
from three import Three, udp_packet
from wire import Connection, Daemon, Session, frame

DAEMON, TIGHTLINK = (os.path.abspath(path) for path in sys.argv[1:3])
LONG = "--long" in sys.argv


def prove(port, host, session, token, source=None):
    """A UDP tuple that the responder may send to, and its challenge."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((source or "", 0))
    udp.connect((host, port))
    challenge = wire.answered(udp, wire.prove(1, token))[24:40]
    assert wire.answered(udp, wire.prove(3, token, challenge))[4] == 4
    return udp, challenge


# --- P4: a third party -----------------------------------------------------------------------------

def attack_third_party(port):
    """Runs inside the attacker's namespace: everything that might make the responder send there."""
    far, third = "10.97.0.2", "10.97.0.3"
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    session = Session(port, host=far)
    udp, challenge = prove(port, far, session, session.token)
    session.send(wire.test_udp(size=1200, ms=2000, rate=50000000))
    granted = session.granted()
    session.send(frame(wire.UDP_START, struct.pack(">II", granted["test_id"], 0) + challenge[:8]))
    session.expect(wire.STARTED, skip=(wire.READINGS, wire.PONG))
    until = time.monotonic() + 3
    while time.monotonic() < until:
        kinds = [wire.prove(kind, session.token, challenge) for kind in (1, 3)]
        kinds += [b"TLU1" + bytes([kind, 0, 0, 48]) + challenge[:8] + os.urandom(40)
                  for kind in range(5, 13)]
        for payload in kinds:
            for to in (port, udp.getpeername()[1]):
                raw.sendto(udp_packet(third, far, 40000, to, payload), (far, 0))
                raw.sendto(udp_packet(third, far, udp.getsockname()[1], to, payload), (far, 0))
        session.ping()
        with contextlib.suppress(OSError):
            udp.settimeout(0.01)
            udp.recv(2048)
    for kind in (34, 36):  # DIAL, PEER_HELLO: without a key nobody is dialled
        with contextlib.suppress(OSError, wire.Closed):
            other = Session(port, host=far)
            other.send(frame(kind, struct.pack(">II", 1, 1) + other.token + bytes(10) + b"\xff\xff" +
                             socket.inet_aton(third) + struct.pack(">HH", 80, 0)))
            other.error(skip=(wire.PONG,))
            other.close()


@case
def a_third_party_hears_nothing():
    """P4: whoever forges a third party's address, with a token and a challenge that are right."""
    with Three() as hosts:
        read, write = os.pipe()
        daemon = subprocess.Popen(hosts.inside(2, DAEMON, "--open", "--no-sandbox", "--port", "5411",
                                               "--ready-fd", str(write)), pass_fds=[write],
                                  stderr=subprocess.DEVNULL)
        os.close(write)
        try:
            with os.fdopen(read) as ready:
                assert ready.read().startswith("listening")
            before = hosts.heard()
            done = subprocess.run(hosts.inside(1, sys.executable, __file__, DAEMON, TIGHTLINK,
                                               "--attack-third-party", "5411"), timeout=60,
                                  capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[-1000:]
            heard = hosts.heard() - before
            subprocess.run(hosts.inside(1, sys.executable, "-c", "import socket; socket.socket("
                                        "socket.AF_INET, socket.SOCK_DGRAM).sendto(b'?', "
                                        "('10.97.0.3', 9))"), check=True, timeout=5)
            time.sleep(0.2)
            assert hosts.heard() > before + heard, "the third party's counter counts nothing"
        finally:
            daemon.kill()
            daemon.wait()
        print(f"  packets at the third party: {heard}")
        assert heard == 0


# --- P6: a memory group -----------------------------------------------------------------------------

@contextlib.contextmanager
def memory_group(limit):
    """A control group of that much memory, version 2 or 1; yields its folder."""
    base, name = "/sys/fs/cgroup", f"tightlink-numbers-{os.getpid()}"
    second = os.path.exists(f"{base}/cgroup.controllers")
    folder = f"{base}/{name}" if second else f"{base}/memory/{name}"
    try:
        if second:
            with open(f"{base}/cgroup.subtree_control", "w") as control:
                control.write("+memory")
        os.mkdir(folder)
        with open(f"{folder}/{'memory.max' if second else 'memory.limit_in_bytes'}", "w") as most:
            most.write(str(limit))
    except OSError as why:
        with contextlib.suppress(OSError):
            os.rmdir(folder)
        raise Skipped(f"no memory group can be made here: {why}")
    try:
        yield folder
    finally:
        for _ in range(50):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
                break
            time.sleep(0.1)


def stay(keyed, port):
    """Each is heard; who lost his place, because this program was held up for longer than the responder
    waits for a word, comes again: all of them are there all the time."""
    for i, session in enumerate(keyed):
        try:
            session.ping()
        except OSError:
            session.close()
            keyed[i] = KeyedSession(port, source=f"127.{i}.9.1")


@case
def full_load_lives_in_64_megabytes():
    """P6: 10,000 strangers, handshakes, keyed sessions, 32 streams each way and datagrams at once."""
    if is_sanitized(DAEMON):
        raise Skipped("a sanitizer's memory is not the responder's")
    with memory_group(64 << 20) as group, KeyFile(f"alice {SECRET}") as key, \
            Daemon(DAEMON, "--key", key) as daemon:
        with open(f"{group}/cgroup.procs", "w") as procs:
            procs.write(str(daemon.process.pid))
        keyed = [KeyedSession(daemon.port, source=f"127.{i}.9.1") for i in range(4)]
        strangers, words = [], first_words("alice", SECRET)  # a holder's, repeated: it opens a channel
        for i in range(10000 if LONG else 3000):
            with contextlib.suppress(OSError):
                strangers.append(Connection(daemon.port, f"127.{i % 200}.{i // 200 % 250}.1"))
                if i % 4 == 0:
                    strangers[-1].send(words)
            if i % 20 == 0:
                stay(keyed, daemon.port)
        session = Session(daemon.port, "127.8.9.1")
        udp, _ = prove(daemon.port, "127.0.0.1", session, session.token, "127.8.9.1")
        granted = session.ask(direction=wire.BOTH, streams=16, ms=2000)
        streams = [session.join(granted["test_id"], i) for i in range(2 * granted["streams"])]
        for data in streams:
            data.expect(wire.DATA_OK)
        session.start(granted)
        noise, peak, until = bytes(1 << 18), 0, time.monotonic() + 2
        while time.monotonic() < until:
            for i, data in enumerate(streams):
                data.socket.settimeout(0.02)
                with contextlib.suppress(OSError):
                    data.send(noise) if i >= 16 else data.socket.recv(1 << 18)
            for _ in range(200):
                udp.send(os.urandom(1000))
            session.ping()
            stay(keyed, daemon.port)
            peak = max(peak, daemon.rss())
        assert daemon.process.poll() is None, "killed: out of its memory"
        Session(daemon.port, "127.9.9.1").close()
        print(f"  {len(strangers)} strangers, 32 streams, 4 channels: {peak / 1e6:.1f} MB resident")
        assert peak < 64e6
        for connection in (*keyed, *strangers):
            connection.close()


# --- P7: everything under strace ---------------------------------------------------------------------

@case
def nothing_is_opened_run_or_written_whatever_is_asked():
    """P7: host, streams, datagrams, a dial that is not permitted, keys read again, disks refused."""
    if not shutil.which("strace") or is_sanitized(DAEMON):
        raise Skipped("no strace on this machine, or a sanitizer that cannot be traced")
    with KeyFile(f"alice {SECRET}") as key, tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "calls")
        with Daemon(DAEMON, "--key", key) as daemon:
            pids = [str(daemon.process.pid)]
            tracer = subprocess.Popen(
                ["strace", "-f", "-qq", "-o", log, "-e", "trace=connect,execve,execveat,fork,vfork,"
                 "open,openat,creat,unlink,unlinkat,rename,renameat2,mkdir,mkdirat,link,linkat,"
                 "symlink,symlinkat,mknod,truncate,ptrace,mount", "-p", *pids],
                stderr=subprocess.DEVNULL)
            time.sleep(0.5)
            with KeyedSession(daemon.port) as session:
                session.send(frame(wire.HOST_QUERY))
                session.expect(wire.HOST_END, skip=(wire.HOST,))
                session.send(frame(25, struct.pack(">QIHHI", 1 << 20, 100, 1, 0, 0)))  # TEST_DISK
                with contextlib.suppress(AssertionError, wire.Closed):
                    session.error(skip=(wire.BUSY, wire.PONG))
            plain = Session(daemon.port)
            prove(daemon.port, "127.0.0.1", plain, plain.token, "127.0.0.1")
            plain.run(ms=200)
            plain.run(ms=200, direction=wire.UPLOAD)
            with contextlib.suppress(AssertionError, wire.Closed, OSError):
                granted = plain.ask(ms=200)
                plain.send(frame(34, struct.pack(">II", granted["test_id"], 1) + bytes(26) +
                                 b"\xff\xff\x7f\0\0\1" + struct.pack(">HH", 80, 0)))
                plain.error(skip=(wire.PONG,))
            daemon.process.send_signal(signal.SIGHUP)
            time.sleep(0.5)
            assert daemon.stop()[1] == 0
            tracer.wait()
        with open(log) as file:
            calls = [line for line in file if "(" in line]
        if not calls:
            raise Skipped("strace is not permitted here")
        bad = [call for call in calls if "open" not in call or "O_WRONLY" in call or
               "O_RDWR" in call or "O_CREAT" in call]
        assert not bad, bad
        print(f"  {len(calls)} files were read, nothing else")


# --- P11: canaries ------------------------------------------------------------------------------------

@case
def a_key_is_seen_nowhere():
    """P11: not in arguments, environment, log, document, or what a dump could take."""
    canary = "c0ffee" + os.urandom(29).hex()
    with KeyFile(f"alice {canary}") as key, Daemon(DAEMON, "--key", key) as daemon, \
            tempfile.TemporaryDirectory() as home:
        run = subprocess.Popen(
            [TIGHTLINK, "run", "127.0.0.1", "--port", str(daemon.port), "--key", key, "--yes",
             "--json", "--stages", "stream", "--data-budget", "50MB", "--save",
             os.path.join(home, "saved.tightlink")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "HOME": home, "XDG_STATE_HOME": home, "XDG_DATA_HOME": home})
        time.sleep(0.7)
        places = {}
        for name, pid in (("tightlinkd", daemon.process.pid), ("tightlink", run.pid)):
            for file in ("cmdline", "environ"):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/{file}", "rb") as text:
                    places[f"{file} of {name}"] = text.read()
            with open(f"/proc/{pid}/status") as status:
                assert re.search(r"^CoreDumping:\s*0", status.read(), re.M)
            assert os.stat(f"/proc/{pid}/maps").st_uid == 0, f"{name} can be dumped"
        out, err = run.communicate(timeout=60)
        places.update({"document": out.encode(), "stderr": err.encode(),
                       "log": daemon.text().encode()})
        for path in glob.glob(f"{home}/**", recursive=True):
            if os.path.isfile(path):
                with open(path, "rb") as kept:
                    places[path] = kept.read()
        for place, text in places.items():
            for spelled in (canary.encode(), bytes.fromhex(canary)):
                assert spelled not in text, f"the key stands in {place}"
        assert len(places) >= 7 and "alice" in daemon.text(), sorted(places)
        print(f"  looked for in {len(places)} places")


# --- What floods fill ----------------------------------------------------------------------------------

@case
def a_flood_of_sessions_does_not_fill_the_log():
    """A line for some of those who come and go without a test, and how many are not listed."""
    with Daemon(DAEMON) as daemon:
        for i in range(1000):
            Session(daemon.port, f"127.{i % 250}.7.1").close()
        time.sleep(2)
        tested = Session(daemon.port, "127.0.8.1")
        tested.run(ms=100)
        tested.close()
        until(30, lambda: ", 1 test," in daemon.text(), "a session with a test is listed")
        lines = daemon.text().splitlines()
        print(f"  1,000 sessions without a test: {len(lines)} lines")
        assert len(lines) < 150, f"{len(lines)} lines, {len(daemon.text())} bytes"
        assert any("are not listed" in line for line in lines)


@case
def a_name_of_many_addresses_is_tried_a_few_times():
    """A name server that lists 200 addresses sends nobody to all of them."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skipped("a hosts file of one's own needs root and unshare")
    listener = socket.create_server(("0.0.0.0", 0), backlog=300)
    port = listener.getsockname()[1]
    with tempfile.NamedTemporaryFile("w") as hosts:
        hosts.write("".join(f"127.3.{i}.1 many.example.net\n" for i in range(200)))
        hosts.flush()
        with subprocess.Popen(
                ["unshare", "-m", "sh", "-c", f"mount --bind {hosts.name} /etc/hosts && exec "
                 f"{TIGHTLINK} run many.example.net --port {port} --yes --json"],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
            tried, until = set(), time.monotonic() + 20
            while run.poll() is None and time.monotonic() < until:
                listener.settimeout(0.2)
                with contextlib.suppress(OSError):
                    connection = listener.accept()[0]
                    tried.add(connection.getsockname()[0])
                    connection.close()
            run.kill()
            said = run.stderr.read()
    listener.close()
    if "mount" in said and not tried:
        raise Skipped("no mount namespace here")
    print(f"  {len(tried)} of 200 addresses were tried")
    assert 1 < len(tried) <= 8, said


# --- P1, P16: many ------------------------------------------------------------------------------------

def mutated(rng):
    seeds = [wire.hello(), wire.test_tcp(), frame(wire.START, struct.pack(">I", 1)),
             frame(wire.PING, bytes(8)), frame(wire.HOST_QUERY), frame(wire.BYE),
             frame(wire.STOP, struct.pack(">I", 1)), bytes([0x16, 3, 1, 0, 80]) + os.urandom(80)]
    data = bytearray(wire.hello() if rng.random() < 0.7 else b"")
    for _ in range(rng.randrange(1, 6)):
        part = bytearray(rng.choice(seeds))
        for _ in range(rng.randrange(4)):
            part[rng.randrange(len(part))] = rng.randrange(256)
        data += part[:rng.randrange(1, len(part) + 1)]
    return bytes(data)


def send_mutated(daemon, rng, count):
    for i in range(count):
        connection = Connection(daemon.port, f"127.{i % 250}.{i // 250 % 250}.{rng.randrange(1, 250)}")
        with contextlib.suppress(OSError):
            connection.send(mutated(rng))
            connection.socket.shutdown(socket.SHUT_WR)
            while connection.socket.recv(65536):
                pass
        connection.close()


@case
def mutated_frames_leave_no_memory_behind():
    """P1: 200,000 connections (6,000 in the short form), 1 MB of growth at most."""
    rng, count = random.Random(15), 200000 if LONG else 6000
    with KeyFile(f"alice {SECRET}") as key, Daemon(DAEMON, "--key", key) as daemon:
        send_mutated(daemon, rng, count // 2)  # what is allocated once stays
        before = daemon.rss()
        send_mutated(daemon, rng, count // 2)
        grown = daemon.rss() - before
        print(f"  {count} connections: the second half grew it by {grown} bytes")
        assert is_sanitized(DAEMON) or grown <= 1 << 20
        assert daemon.stop()[1] == 0


@case
def sessions_without_end_leave_nothing_behind():
    """P16: ten sessions a second, every twentieth of which ends in the middle, for two minutes;
    two a second for two hours with --long. A sanitizer's memory says nothing, and what is lost it tells
    after twenty seconds as well."""
    seconds = 7200 if LONG else 20 if is_sanitized(DAEMON) else 120
    pause_s, rng = 0.5 if LONG else 0.1, random.Random(16)
    with KeyFile(f"alice {SECRET}") as key, Daemon(DAEMON, "--key", key) as daemon:
        marks, begin, count = [], time.monotonic(), 0
        while time.monotonic() - begin < seconds:
            source = f"127.0.{count % 250}.1"
            session = KeyedSession(daemon.port, source=source) if count % 5 == 0 else \
                Session(daemon.port, source)
            granted = session.ask(ms=100, streams=2, max_bytes=100000)
            if rng.random() < 0.05:
                session.join(granted["test_id"], 0).close()  # and no more
                session.close()
            else:
                for data in session.open_streams(granted):
                    data.close()
                session.send(frame(wire.BYE))
                session.close()
            count += 1
            time.sleep(pause_s)
            if time.monotonic() - begin > (len(marks) + 1) * seconds / 10:
                marks.append((daemon.rss(), daemon.descriptors()))
        time.sleep(11)  # P3: everything is free
        rss, descriptors = daemon.rss(), daemon.descriptors()
        print(f"  {count} sessions: {(rss - marks[1][0]) / 1e6:+.2f} MB since the first fifth, "
              f"{descriptors} descriptors")
        assert descriptors < 20, os.listdir(f"/proc/{daemon.process.pid}/fd")
        assert is_sanitized(DAEMON) or rss - marks[1][0] <= 1 << 20, marks
        assert daemon.stop()[1] == 0


if sys.argv[3:4] == ["--attack-third-party"]:
    attack_third_party(int(sys.argv[4]))
elif not shutil.which("openssl"):
    print("skipped: there is no openssl program, which is a client here")
    sys.exit(77)
else:
    run([name for name in sys.argv[3:] if name != "--long"])
