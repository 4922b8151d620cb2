#!/usr/bin/env python3
"""Faults during a diagnosis (doc/architecture.md): each is made, and what is said is compared with
the table. Prints the table: fault, quality, verdict, the words that name it.

Arguments: path of tightlink, path of tightlinkd, then names of faults (none: all). Two hosts are
two network namespaces with a veth between them; what cannot be made here without touching the
machine (sleep, a step of the clock) is forced in the unit tests that the table names.
Exit code 77: this machine permits no namespaces."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

SKIP = 77
TIGHTLINK, TIGHTLINKD = sys.argv[1:3]
NEAR, FAR = f"tlf-near-{os.getpid()}", f"tlf-far-{os.getpid()}"
FAULTS = {}


def fault(function):
    FAULTS[function.__name__.replace("_", " ")] = function
    return function


def ip(*args, check=True):
    return subprocess.run(["ip", *args], capture_output=True, text=True, check=check, timeout=10)


def inside(namespace, *command):
    return ["ip", "netns", "exec", namespace, *command]


class Hosts:
    """near: 10.99.0.1 and fd99::1, far: .2 and ::2; a second link, unused, as 10.98.0.0/24."""

    def __enter__(self):
        for name in (NEAR, FAR):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for link, net in (("v0", 99), ("w0", 98)):
            ip("-n", NEAR, "link", "add", link, "type", "veth", "peer", "name", link, "netns", FAR)
            for name, host in ((NEAR, 1), (FAR, 2)):
                ip("-n", name, "addr", "add", f"10.{net}.0.{host}/24", "dev", link)
                ip("-n", name, "addr", "add", f"fd{net}::{host}/64", "dev", link, "nodad")
                ip("-n", name, "link", "set", link, "up")
        return self

    def __exit__(self, *unused):
        for name in (NEAR, FAR):
            ip("netns", "delete", name, check=False)


class Far:
    """tightlinkd in the far namespace."""

    def __init__(self, *options):
        read, write = os.pipe()
        self.process = subprocess.Popen(
            inside(FAR, TIGHTLINKD, "--open", "--ready-fd", str(write), *options), pass_fds=[write],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as ready:
            assert ready.readline(), "tightlinkd did not start"

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()


def run(*options, host="10.99.0.2", wrap=(), at=None, then=None, when=('"live"',), seconds=120):
    """Runs a diagnosis; calls then(process) at seconds after the first line with all the words of
    when: a transfer runs, unless other words are given."""
    command = inside(NEAR, *wrap, TIGHTLINK, "run", host, "--yes", "--json-lines", "--direction",
                     "download", *options)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines, begun = [], threading.Event()

    def read():
        for line in process.stdout:
            lines.append(line)
            if not begun.is_set() and all(word in line for word in when):
                begun.set()
        begun.set()

    reader = threading.Thread(target=read)
    reader.start()
    if then:
        begun.wait(60)
        time.sleep(at)
        then(process)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"not over after {seconds} s")
    finally:
        reader.join()
    errors = process.stderr.read()
    try:
        document = json.loads(lines[-1])
        return document.get("document", document), process.returncode, errors
    except (IndexError, json.JSONDecodeError):
        return None, process.returncode, errors


def said(document):
    quality = document["run"]["quality"]
    return quality["status"], document["verdict"]["state"], \
        " ".join([*quality["reasons"], document["verdict"]["sentence"]])


def expect(document, qualities, states, words):
    assert document, "no document"
    quality, state, text = said(document)
    assert quality in qualities, f"quality {quality}: {text}"
    assert state in states, f"verdict {state}: {text}"
    assert words in text, f"nothing of \"{words}\" in: {text}"
    return quality, state, words


@fault
def link_drops():
    with Far():
        document, *_ = run(at=1.5, then=lambda p: ip("-n", NEAR, "link", "set", "v0", "down"))
    ip("-n", NEAR, "link", "set", "v0", "up")
    return expect(document, ["aborted"], ["invalid"], "the network link went down")


@fault
def route_changes():
    def change(_):
        ip("-n", FAR, "route", "replace", "10.99.0.1/32", "dev", "w0")
        ip("-n", NEAR, "route", "replace", "10.99.0.2/32", "via", "10.98.0.2", "dev", "w0")
    with Far():
        document, *_ = run(at=1.5, then=change)
    ip("-n", NEAR, "route", "del", "10.99.0.2/32", check=False)
    ip("-n", FAR, "route", "del", "10.99.0.1/32", check=False)
    return expect(document, ["degraded", "aborted", "invalid"],
                  ["limited", "inconclusive", "invalid"], "the route to the other end changed")


@fault
def responder_dies():
    with Far() as far:
        document, *_ = run(at=1.5, then=lambda p: far.process.kill())
    return expect(document, ["invalid"], ["invalid"], "the far end broke off")


def dies_at(*when, options=()):
    """The responder is killed while tightlink is held at the first line with these words."""
    def die(process):
        process.send_signal(signal.SIGSTOP)
        far.process.kill()
        far.process.wait()
        process.send_signal(signal.SIGCONT)
    with Far() as far:
        document, *_ = run(*options, at=0, then=die, when=when)
    return expect(document, ["aborted", "invalid"], ["invalid"], "far end")


@fault
def responder_dies_early():
    """A UDP port that refuses and a connection that closes: a program that died, no firewall."""
    return dies_at('"stage-start"', '"path"')


@fault
def responder_dies_between():
    # Where the first transfer tells all, as on a busy host, nobody would ask the responder again.
    return dies_at('"stage-end"', '"stream"', options=("--force", "streams"))


@fault
def responder_stops():
    with Far() as far:
        document, *_ = run(at=1.5, then=lambda p: far.process.send_signal(signal.SIGSTOP))
    return expect(document, ["aborted", "invalid"], ["invalid"], "went dead")


def stalls(seconds, *options):
    """The responder's program is stopped for a while, and its host is not: who looks for a fault of
    the path would look in vain."""
    def stall(_):
        far.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        far.process.send_signal(signal.SIGCONT)
    with Far() as far:
        document, *_ = run(*options, at=1.5, then=stall)
    quality, state, text = said(document)
    for word in ("path fails", "path carried nothing", "path is dead", "path to"):
        assert word not in text, text
    assert document["verdict"].get("cause") != "unstable-path", text
    assert "the path carried nothing" not in json.dumps(document), "told of a stage"
    return quality, f"{state} {document['verdict'].get('cause') or ''}".strip(), text[:90]


@fault
def responder_stalls_2_s():
    return stalls(2)


@fault
def responder_stalls_4_s():
    return stalls(4)


@fault
def responder_stalls_6_s():
    return stalls(5.6)


@fault
def responder_stalls_9_s():
    return stalls(9)


@fault
def responder_stalls_9_s_in_an_upload():
    return stalls(9, "--direction", "upload")


@fault
def signals():
    """Stopped and continued for a moment, over and over: every wait ends with EINTR."""
    def storm(process):
        for _ in range(100):
            if process.poll() is not None:
                return
            process.send_signal(signal.SIGSTOP)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.02)
    with Far():
        document, *_ = run(at=0.3, then=storm)
    quality, state, _ = said(document)
    assert quality in ("valid", "degraded") and state in ("limited", "inconclusive"), said(document)
    return quality, state, "no effect"


@fault
def slow_DNS():
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as resolv:
        resolv.write("nameserver 10.99.0.77\noptions timeout:30 attempts:5\n")
        resolv.flush()
        begin = time.monotonic()
        document, status, errors = run(
            host="far.example.org",
            wrap=("unshare", "-m", "sh", "-c",
                  f'mount --bind {resolv.name} /etc/resolv.conf && exec "$@"', "sh"))
        took = time.monotonic() - begin
    assert status == 3 and took < 20, (status, took, errors)  # 150 s, were it left to the resolver
    text = said(document)[2] if document else errors
    assert "far.example.org" in text, text
    return "aborted", f"exit {status} after {took:.0f} s", "the name that did not resolve"


@fault
def no_ICMP():
    for name in (NEAR, FAR):
        subprocess.run(inside(name, "sysctl", "-qw", "net.ipv4.icmp_echo_ignore_all=1"), check=True)
    with Far():
        document, *_ = run()
    quality, state, text = said(document)
    assert quality in ("valid", "degraded") and state in ("limited", "inconclusive"), text
    assert not re.search(r"100 %[^.]*\b(loss|lost)|dead", text), text
    return quality, state, "UDP and TCP answer"


@fault
def IPv6_only():
    ip("-n", NEAR, "addr", "flush", "dev", "v0", "scope", "global")
    ip("-n", NEAR, "addr", "add", "fd99::1/64", "dev", "v0", "nodad")
    with Far():
        document, *_ = run(host="fd99::2")
    ip("-n", NEAR, "addr", "add", "10.99.0.1/24", "dev", "v0")
    quality, state, text = said(document)
    assert document["run"]["target"]["family"] == 6 and state in ("limited", "inconclusive"), text
    return quality, state, "family 6"


@fault
def host_starved():
    core = ("taskset", "-c", "0")
    others = [subprocess.Popen([*core, sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        with Far():
            document, *_ = run(wrap=core)
    finally:
        for other in others:
            other.kill()
            other.wait()
    quality, state, text = said(document)
    cause = document["verdict"].get("cause")
    assert state != "limited" or (cause == "cpu"), f"{cause}: {text}"
    assert "core" in text or "processor" in text or "held up" in text, text
    return quality, f"{state} {cause or ''}".strip(), "the host, not the network"


@fault
def other_traffic():
    """The responder grants 80 Mb/s; some 80 Mb/s of datagrams come beside it."""
    blast = ("import socket,time\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n"
             "begun,sent=time.monotonic(),0\n"
             "while True:\n while sent<7000*(time.monotonic()-begun):\n"
             "  s.sendto(bytes(1400),('10.99.0.1',9)); sent+=1\n time.sleep(0.0014)\n")
    other = subprocess.Popen(inside(FAR, sys.executable, "-c", blast), stderr=subprocess.DEVNULL)
    try:
        with Far("--rate-cap", "80M"):
            document, *_ = run()
    finally:
        other.kill()
        other.wait()
    return expect(document, ["degraded"], ["inconclusive"], "Other programs of this PC made")


@fault
def too_short():
    with Far():
        document, *_ = run("--data-budget", "3MB")
    quality, state, text = said(document)
    assert state == "inconclusive", text
    return quality, state, "too short"


ELSEWHERE = {
    "suspend": "unit-host, sleep_is_seen_once; unit-probes, quality_of_each_event",
    "clock steps": "unit-host, a_step_of_the_clock_has_its_size_and_sign",
    "ends disagree, responder busy": "unit-engine; faults-responder",
    "disk full, read-only": "the disk stages' own tests",
    "NAT rebinds, corruption": "the UDP tests' own",
}


def main():
    if os.geteuid() != 0 or ip("netns", "add", NEAR, check=False).returncode != 0:
        print("skipped: network namespaces need root")
        sys.exit(SKIP)
    ip("netns", "delete", NEAR)
    names = sys.argv[3:] or list(FAULTS)
    failed = 0
    print(f"{'fault':<18} {'quality':<10} {'verdict':<22} said")
    for name in names:
        try:
            with Hosts():
                row = FAULTS[name]()
            print(f"{name:<18} {row[0]:<10} {row[1]:<22} {row[2]}", flush=True)
        except (AssertionError, subprocess.SubprocessError, KeyError, OSError) as error:
            failed += 1
            print(f"{name:<18} FAILED: {error!r}", flush=True)
    for name, where in ELSEWHERE.items():
        print(f"{name}: {where}")
    sys.exit(1 if failed else 0)


main()
