"""Far ends that are not there, are something else, or mean harm."""
import contextlib
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time

from harness import Daemon, Process, Skip, case, closed_port, is_plain, tightlink, until, validate

QUICK = ("--yes", "--data-budget", "20MB", "--time-budget", "3s")


@contextlib.contextmanager
def server(talk, host="127.0.0.1"):
    """A listener that does talk(socket) with each client; gives its port."""
    listener = socket.create_server((host, 0))
    over = threading.Event()

    def serve(client):
        with client, contextlib.suppress(OSError):
            talk(client)
            over.wait(20)  # keeps the connection as a busy program would

    def accept():
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def meets(machine, talk, *says, at_most=12):
    """tightlink run against such a server: unreachable, and says what is there."""
    with server(talk) as port:
        result = tightlink(machine, "run", "127.0.0.1", "--port", port, *QUICK)
    result.check(3, f"127.0.0.1 port {port}", *says)
    assert result.out == "" and is_plain(result.err), result
    assert result.seconds < at_most, result
    return result


@case("far-end")
def unknown_host(machine):
    result = tightlink(machine, "run", "no-such-host.invalid", *QUICK)
    result.check(3, "no-such-host.invalid", "give (its|the host's) address")
    assert result.out == "", result


@case("far-end")
def a_responder_at_its_own_port_is_asked_every_stage(machine):
    """There others are looked for while it is dialled; nothing of that outlives the dial."""
    with Daemon(machine, "--bind", "127.54.11.1", "--port", "5411", "--rate-cap", "50M"):
        result = tightlink(machine, "run", "127.54.11.1", "--stages", "stream", "--json", *QUICK)
    stages = {stage["id"]: stage for stage in result.document()["stages"]}
    for name in ("hosts", "path", "mtu"):
        assert stages[name]["state"] in ("done", "limited"), stages[name]


@case("far-end")
def unknown_host_in_an_audit(machine):
    tightlink(machine, "audit", "no-such-host.invalid").check(2, "has to be looked up")
    tightlink(machine, "audit", "no-such-host.invalid", "--yes").check(
        3, "no-such-host.invalid cannot be resolved", "give its address")


@case("far-end")
def refused_port(machine):
    with closed_port() as port:
        result = tightlink(machine, "run", "127.0.0.1", "--port", port, *QUICK)
    result.check(4, f"nothing listens on port {port} of 127.0.0.1", "tightlink serve --open")
    for said in ("Seen without a responder", "until the port refused", "Left open",
                 "receive buffer"):
        assert said in result.out, result
    assert is_plain(result.out), result


@case("far-end")
def nothing_answers_at_all(machine):
    """A link-local address without its interface: no packet can leave."""
    result = tightlink(machine, "run", "fe80::1", *QUICK)
    result.check(3, "fe80::1")
    assert result.out == "" and result.seconds < 15, result


@case("far-end")
def unreachable_far_end_as_json(machine):
    with closed_port() as port:
        result = tightlink(machine, "run", "127.0.0.1", "--port", port, "--json", *QUICK).check(4)
    document = result.document()
    validate(machine, document)
    assert document["run"]["quality"]["status"] == "aborted", document["run"]
    assert "nothing listens" in document["run"]["quality"]["reasons"][0], document["run"]
    assert document["verdict"]["state"] == "invalid", document["verdict"]
    assert document["facts"]["path.connect_rtt_ns"]["value"] > 0, document["facts"]
    assert {stage["id"] for stage in document["stages"]} >= {"hosts", "path"}, document["stages"]


@case("far-end")
def a_web_server(machine):
    def talk(client):
        client.recv(4096)
        client.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    meets(machine, talk, "answers, but with HTTP", "give it with --port")


@case("far-end")
def an_ssh_server(machine):
    meets(machine, lambda client: client.sendall(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"),
          "answers, but with SSH", "give it with --port")


@case("far-end")
def an_iperf3_server(machine):
    def talk(client):
        client.recv(37, socket.MSG_WAITALL)
        client.sendall(b"\x09")
    meets(machine, talk, "answers, but with iperf3", "give it with --port")


@case("far-end")
def a_port_that_stays_silent(machine):
    meets(machine, lambda client: None, "takes the connection but says nothing",
          "no tightlink, or it hangs")


@case("far-end")
def a_port_that_hangs_up(machine):
    meets(machine, lambda client: client.close(), "closed the connection without a word")


@case("far-end")
def a_port_that_sends_noise(machine):
    meets(machine, lambda client: client.sendall(os.urandom(65536)), "answers, but not with")


@case("far-end")
def noise_without_end(machine):
    def talk(client):
        while True:
            client.sendall(os.urandom(65536))
    meets(machine, talk, "answers, but not with")


def frame(kind, payload):
    return struct.pack(">HBB", len(payload), kind, 0) + payload


@case("far-end")
def a_responder_that_sends_escape_sequences(machine):
    error = struct.pack(">H", 10) + b"\x1b]0;owned\x07\x1b[2J go away\n\xe2\x80\xae"

    def talk(client):
        client.recv(4096)
        client.sendall(frame(3, error))
    with server(talk) as port:
        result = tightlink(machine, "run", "127.0.0.1", "--port", port, *QUICK)
    assert result.code == 3, result
    assert is_plain(result.err) and result.out == "", repr(result.err)


@case("far-end")
def a_responder_without_a_free_session(machine):
    def talk(client):
        client.recv(4096)
        client.sendall(frame(3, struct.pack(">H", 5) + b"all 64 sessions are taken"))
    with server(talk) as port:
        tightlink(machine, "run", "127.0.0.1", "--port", port, *QUICK).check(
            3, "all 64 sessions are taken")


@case("far-end")
def a_responder_of_another_version(machine):
    def talk(client):
        client.recv(4096)
        client.sendall(frame(3, struct.pack(">H", 2) + b"version 9 only"))
    with server(talk) as port:
        tightlink(machine, "run", "127.0.0.1", "--port", port, *QUICK).check(3, "version 9 only")


@case("far-end")
def each_address_family_alone(machine):
    with Daemon(machine) as daemon:
        for host, option, family in (("127.0.0.1", "-4", 4), ("::1", "-6", 6)):
            result = tightlink(machine, "run", host, option, "--port", daemon.port, "--json",
                               *QUICK)
            assert result.code in (0, 4), result
            target = result.document()["run"]["target"]
            assert target["family"] == family and target["address"] == host, target
        tightlink(machine, "run", "::1", "-4", "--port", daemon.port, *QUICK).check(
            3, '"::1" with an IPv4 address')
        tightlink(machine, "run", "127.0.0.1", "-6", "--port", daemon.port, *QUICK).check(
            3, '"127.0.0.1" with an IPv6 address')


@case("far-end")
def serve_is_the_responder(machine):
    ready, write = os.pipe()
    serving = Process([machine.tightlink, "serve", "--open", "--port", "0", "--ready-fd",
                       str(write)], pass_fds=[write])
    os.close(write)
    with os.fdopen(ready) as pipe:
        port = int(pipe.read().split()[-1])
    result = tightlink(machine, "run", "127.0.0.1", "--port", port, *QUICK)
    serving.send(15)
    served = serving.result()
    assert result.code in (0, 4) and served.code == 0, f"{result}\n{served}"


def listens(port):
    """Seen without a connection, which such a server takes for a client."""
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table]
    return any(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows)


def greeted_s(port):
    """How long an iperf3 server takes to answer who greets it."""
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), 20) as client:
        client.sendall(b"a" * 36 + b"\0")
        assert client.recv(1) == b"\x09", "no iperf3, or busy"
    return time.monotonic() - begin


def await_greeting(port):
    """Others than responders are given 3 s in all: before, the machine must be seen to have time."""
    until_s, took = time.monotonic() + 60, greeted_s(port)
    while took > 0.3:
        if time.monotonic() > until_s:
            raise Skip(f"this machine keeps no time: iperf3 took {took:.1f} s to greet")
        time.sleep(1)
        took = greeted_s(port)


@contextlib.contextmanager
def iperf3_server():
    """The installed iperf3 at its usual port, where it is looked for."""
    if not shutil.which("iperf3"):
        raise Skip("iperf3 is not installed")
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", 5201))
        except OSError as error:
            raise Skip("port 5201 is in use") from error
    # meson fills what is freed: that program reads it, and answers its second client no more.
    env = {name: value for name, value in os.environ.items() if name != "MALLOC_PERTURB_"}
    with subprocess.Popen(["iperf3", "-s", "-B", "127.0.0.1"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env=env) as serving:
        try:
            until(20, lambda: listens(5201), "iperf3 listens")
            await_greeting(5201)
            yield
        finally:
            serving.kill()


@case("far-end")
def what_else_answers_is_found_and_verified_as_what_it_is(machine):
    with iperf3_server(), tempfile.NamedTemporaryFile(suffix=".json") as saved:
        result = tightlink(machine, "run", "127.0.0.1", "--yes", "--no-history", "--json",
                           "--stages", "stream", "--data-budget", "2GB")
        document = result.document()
        validate(machine, document)
        assert document["run"]["target"]["kind"] == "iperf3", document["run"]
        saved.write(result.out.encode())
        saved.flush()
        again = tightlink(machine, "verify", saved.name, "--yes", "--json").document()
    assert again["run"]["target"]["kind"] == "iperf3", again["run"]
    assert not again["run"]["quality"]["reasons"], again["run"]


@case("far-end")
def both_directions_at_once_are_offered_where_they_can_be(machine):
    def greet(client):
        client.recv(4096)
        client.sendall(b"HELO nuttcp v6.1.2\n")
    with server(greet) as port:
        document = tightlink(machine, "run", f"nuttcp://127.0.0.1:{port}", "--at-once", "--no-history",
                             "--json", *QUICK).document()
    reasons = [step["why"] for step in document.get("plan", []) if step["stage"] == "both-ways"] + [
        stage.get("reason", "") for stage in document["stages"] if stage["id"] == "both-ways"]
    assert any("cannot run both directions in one test" in why for why in reasons), reasons
