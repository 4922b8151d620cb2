#!/usr/bin/env python3
"""Faults during a diagnosis (doc/architecture.md): each is made, and what is said is compared with
the table. Prints the table: fault, quality, verdict, the words that name it.

Arguments: path of tightlink, path of tightlinkd, then names of faults (none: all). Two hosts are
two network namespaces with a veth between them; what cannot be made here without touching the
machine (sleep, a step of the clock) is forced in the unit tests that the table names.
Exit code 77: this machine permits no namespaces."""
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "realtime"))
from held import Held  # noqa: E402

SKIP = 77
TIGHTLINK, TIGHTLINKD = sys.argv[1:3]
FAULTS, ALONE = {}, set()
AT_ONCE = 4
RATE = "100mbit"  # leaves the processors to others


def fault(function):
    FAULTS[function.__name__.replace("_", " ")] = function
    return function


def alone(function):
    """A fault that takes processors from whatever runs beside it."""
    ALONE.add(function.__name__.replace("_", " "))
    return fault(function)


def ip(*args, check=True):
    return subprocess.run(["ip", *args], capture_output=True, text=True, check=check, timeout=10)


def inside(namespace, *command):
    return ["ip", "netns", "exec", namespace, *command]


class Hosts:
    """near: 10.99.0.1 and fd99::1, far: .2 and ::2; a second link, unused, as 10.98.0.0/24. The
    first carries the rate, or all it can."""

    def __init__(self, number, rate=RATE):
        self.near, self.far = (f"tlf-{end}-{os.getpid()}-{number}" for end in ("near", "far"))
        self.rate = rate

    def __enter__(self):
        for name in (self.near, self.far):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for link, net in (("v0", 99), ("w0", 98)):
            ip("-n", self.near, "link", "add", link, "type", "veth", "peer", "name", link, "netns",
               self.far)
            for name, host in ((self.near, 1), (self.far, 2)):
                ip("-n", name, "addr", "add", f"10.{net}.0.{host}/24", "dev", link)
                ip("-n", name, "addr", "add", f"fd{net}::{host}/64", "dev", link, "nodad")
                ip("-n", name, "link", "set", link, "up")
        if self.rate:
            for name in (self.near, self.far):
                subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", "v0", "root", "tbf", "rate",
                                self.rate, "burst", "64k", "latency", "20ms"], check=True)
        return self

    def __exit__(self, *unused):
        for name in (self.near, self.far):
            ip("netns", "delete", name, check=False)

    def responder(self, *options):
        return Responder(self.far, *options)

    def run(self, *options, host="10.99.0.2", wrap=(), at=None, then=None, when=('"live"',),
            seconds=120):
        """Runs a diagnosis; calls then(process) at seconds after the first line with all the words
        of when: a transfer runs, unless other words are given."""
        command = inside(self.near, *wrap, TIGHTLINK, "run", host, "--yes", "--json-lines",
                         "--direction", "download", *options)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
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
        except subprocess.TimeoutExpired as late:
            process.kill()
            raise AssertionError(f"not over after {seconds} s") from late
        finally:
            reader.join()
        errors = process.stderr.read()
        try:
            document = json.loads(lines[-1])
            return document.get("document", document), process.returncode, errors
        except (IndexError, json.JSONDecodeError):
            return None, process.returncode, errors


class Responder:
    """tightlinkd in a namespace."""

    def __init__(self, namespace, *options):
        read, write = os.pipe()
        self.process = subprocess.Popen(
            inside(namespace, TIGHTLINKD, "--open", "--ready-fd", str(write), *options),
            pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as ready:
            assert ready.readline(), "tightlinkd did not start"

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()


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
def link_drops(hosts):
    with hosts.responder():
        document, *_ = hosts.run(
            at=1.5, then=lambda p: ip("-n", hosts.near, "link", "set", "v0", "down"))
    return expect(document, ["aborted"], ["invalid"], "the network link went down")


@fault
def route_changes(hosts):
    def change(_):
        ip("-n", hosts.far, "route", "replace", "10.99.0.1/32", "dev", "w0")
        ip("-n", hosts.near, "route", "replace", "10.99.0.2/32", "via", "10.98.0.2", "dev", "w0")
    with hosts.responder():
        document, *_ = hosts.run(at=1.5, then=change)
    return expect(document, ["degraded", "aborted", "invalid"],
                  ["limited", "inconclusive", "invalid"], "the route to the other end changed")


@fault
def responder_dies(hosts):
    with hosts.responder() as far:
        document, *_ = hosts.run(at=1.5, then=lambda p: far.process.kill())
    return expect(document, ["invalid"], ["invalid"], "the far end broke off")


def dies_at(hosts, *when, options=()):
    """The responder is killed while tightlink is held at the first line with these words."""
    def die(process):
        process.send_signal(signal.SIGSTOP)
        far.process.kill()
        far.process.wait()
        process.send_signal(signal.SIGCONT)
    with hosts.responder() as far:
        document, *_ = hosts.run(*options, at=0, then=die, when=when)
    # Held for long while the responder takes its time to die, it says that, too.
    held = document and "tightlink itself was held up" in said(document)[2]
    return expect(document, ["aborted", "invalid"], ["invalid"], "held up" if held else "far end")


@fault
def responder_dies_early(hosts):
    """A UDP port that refuses and a connection that closes: a program that died, no firewall."""
    return dies_at(hosts, '"stage-start"', '"path"')


@fault
def responder_dies_between(hosts):
    # Where the first transfer tells all, as on a busy host, nobody would ask the responder again.
    return dies_at(hosts, '"stage-end"', '"stream"', options=("--force", "streams"))


@fault
def responder_stops(hosts):
    with hosts.responder() as far:
        document, *_ = hosts.run(at=1.5, then=lambda p: far.process.send_signal(signal.SIGSTOP))
    return expect(document, ["aborted", "invalid"], ["invalid"], "went dead")


def stalls(hosts, seconds, *options):
    """The responder's program is stopped for a while, and its host is not: who looks for a fault of
    the path would look in vain."""
    def stall(_):
        far.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        far.process.send_signal(signal.SIGCONT)
    with hosts.responder() as far:
        document, *_ = hosts.run(*options, at=1.5, then=stall)
    quality, state, text = said(document)
    for word in ("path fails", "path carried nothing", "path is dead", "path to"):
        assert word not in text, text
    assert document["verdict"].get("cause") != "unstable-path", text
    assert "the path carried nothing" not in json.dumps(document), "told of a stage"
    return quality, f"{state} {document['verdict'].get('cause') or ''}".strip(), text[:90]


@fault
def responder_stalls_2_s(hosts):
    return stalls(hosts, 2)


@fault
def responder_stalls_4_s(hosts):
    return stalls(hosts, 4)


@fault
def responder_stalls_6_s(hosts):
    return stalls(hosts, 5.6)


@fault
def responder_stalls_9_s(hosts):
    return stalls(hosts, 9)


@fault
def responder_stalls_9_s_in_an_upload(hosts):
    return stalls(hosts, 9, "--direction", "upload")


@fault
def signals(hosts):
    """Stopped and continued for a moment, over and over: every wait ends with EINTR."""
    def storm(process):
        for _ in range(100):
            if process.poll() is not None:
                return
            process.send_signal(signal.SIGSTOP)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.02)
    with hosts.responder():
        document, *_ = hosts.run(at=0.3, then=storm)
    quality, state, _ = said(document)
    assert quality in ("valid", "degraded") and state in ("limited", "inconclusive"), said(document)
    return quality, state, "no effect"


@fault
def slow_DNS(hosts):
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as resolv:
        resolv.write("nameserver 10.99.0.77\noptions timeout:30 attempts:5\n")
        resolv.flush()
        begin = time.monotonic()
        document, status, errors = hosts.run(
            host="far.example.org",
            wrap=("unshare", "-m", "sh", "-c",
                  f'mount --bind {resolv.name} /etc/resolv.conf && exec "$@"', "sh"))
        took = time.monotonic() - begin
    assert status == 3 and took < 20, (status, took, errors)  # 150 s, were it left to the resolver
    text = said(document)[2] if document else errors
    assert "far.example.org" in text, text
    return "aborted", f"exit {status} after {took:.0f} s", "the name that did not resolve"


@fault
def no_ICMP(hosts):
    for name in (hosts.near, hosts.far):
        subprocess.run(inside(name, "sysctl", "-qw", "net.ipv4.icmp_echo_ignore_all=1"), check=True)
    with hosts.responder():
        document, *_ = hosts.run()
    quality, state, text = said(document)
    assert quality in ("valid", "degraded") and state in ("limited", "inconclusive"), text
    assert not re.search(r"100 %[^.]*\b(loss|lost)|dead", text), text
    return quality, state, "UDP and TCP answer"


@fault
def IPv6_only(hosts):
    ip("-n", hosts.near, "addr", "flush", "dev", "v0", "scope", "global")
    ip("-n", hosts.near, "addr", "add", "fd99::1/64", "dev", "v0", "nodad")
    with hosts.responder():
        document, *_ = hosts.run(host="fd99::2")
    quality, state, text = said(document)
    assert document["run"]["target"]["family"] == 6 and state in ("limited", "inconclusive"), text
    return quality, state, "family 6"


@alone
def host_starved(hosts):
    core = ("taskset", "-c", "0")
    others = [subprocess.Popen([*core, sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        with hosts.responder():
            document, *_ = hosts.run(wrap=core)
    finally:
        for other in others:
            other.kill()
            other.wait()
    quality, state, text = said(document)
    cause = document["verdict"].get("cause")
    assert state != "limited" or (cause == "cpu"), f"{cause}: {text}"
    assert "core" in text or "processor" in text or "held up" in text, text
    return quality, f"{state} {cause or ''}".strip(), "the host, not the network"


@alone
def other_traffic(hosts):
    """The responder grants 80 Mb/s; some 80 Mb/s of datagrams come beside it."""
    blast = ("import socket,time\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n"
             "begun,sent=time.monotonic(),0\n"
             "while True:\n while sent<7000*(time.monotonic()-begun):\n"
             "  s.sendto(bytes(1400),('10.99.0.1',9)); sent+=1\n time.sleep(0.0014)\n")
    other = subprocess.Popen(inside(hosts.far, sys.executable, "-c", blast),
                             stderr=subprocess.DEVNULL)
    try:
        with hosts.responder("--rate-cap", "80M"):
            document, *_ = hosts.run()
    finally:
        other.kill()
        other.wait()
    return expect(document, ["degraded"], ["inconclusive"], "Other programs of this PC made")


@fault
def too_short(hosts):
    with hosts.responder():
        document, *_ = hosts.run("--data-budget", "3MB")
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


# What was made is then not the fault of the table alone: tightlink says, as it has to, that it was held up.
UNFIT_S = 0.5


def judge(number, name):
    """Whether what was said is what the table says. Once more, and counted (scripts/test-results), where
    the machine itself, by another program's account, stood still meanwhile."""
    outcome = "ok"
    with Held() as held:
        fine = judge_once(number, name)
        taken = 0.0 if fine else held.seconds()
    if taken >= UNFIT_S:
        fine = judge_once(number, name)
        outcome = f"repeated, then ok: this machine stood still for {taken:.1f} s"
    print(f"real time: {name}: {outcome if fine else 'FAILED: its row says why'}", flush=True)
    return fine


def judge_once(number, name):
    """Prints its row."""
    try:
        with Hosts(number, rate=None if name in ALONE else RATE) as hosts:
            row = FAULTS[name](hosts)
    except (AssertionError, subprocess.SubprocessError, KeyError, OSError) as error:
        print(f"{name:<18} FAILED: {error!r}", flush=True)
        return False
    print(f"{name:<18} {row[0]:<10} {row[1]:<22} {row[2]}", flush=True)
    return True


def main():
    probe = f"tlf-{os.getpid()}"
    if os.geteuid() != 0 or ip("netns", "add", probe, check=False).returncode != 0:
        print("skipped: network namespaces need root")
        sys.exit(SKIP)
    ip("netns", "delete", probe)
    names = list(enumerate(sys.argv[3:] or FAULTS))
    print(f"{'fault':<18} {'quality':<10} {'verdict':<22} said")
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        held = list(pool.map(lambda one: judge(*one), [one for one in names if one[1] not in ALONE]))
    held += [judge(*one) for one in names if one[1] in ALONE]
    for name, where in ELSEWHERE.items():
        print(f"{name}: {where}")
    sys.exit(0 if all(held) else 1)


main()
