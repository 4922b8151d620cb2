"""Far ends of other kinds as they really are, and as they lie: servers that are older than they say,
that give more than was asked for, and a login at a real iperf3 server."""
import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading

from cases_far_end import listens, server
from cases_nodes import between, node
from harness import Skip, case, is_plain, tightlink, until

NOISE = bytes(1 << 16)


def pass_on(source, sink, change):
    """All that comes from source goes to sink, the first piece as change makes it."""
    with contextlib.suppress(OSError):
        while some := source.recv(65536):
            sink.sendall(change(some))
            change = bytes
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def nuttcp_that_says(greeting, address):
    """The installed nuttcp at that address of loopback, and in front of its control port somebody who
    greets for it: a port."""
    program = shutil.which("nuttcp")
    if not program:
        raise Skip("nuttcp is not installed")

    def greet(client):
        with socket.create_connection((address, 5000)) as real:
            back = threading.Thread(target=pass_on, args=(
                real, client, lambda text: re.sub(rb"HELO nuttcp v[0-9.]+", greeting, text)), daemon=True)
            back.start()
            pass_on(client, real, bytes)
            back.join(10)
    with subprocess.Popen([program, "-S", "--nofork"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as real:
        try:
            until(20, lambda: listens(5000), "nuttcp listens")
            with server(greet, address) as port:
                yield port
        finally:
            real.kill()


@case("strangers")
def a_nuttcp_that_is_older_than_it_says_is_measured_all_the_same(machine):
    """Where its data go follows from what it says: 5101 from 6.2.8 on, which one of 6.1.2 takes as told."""
    if not machine.isolated:
        raise Skip("needs root, for ports of its own")
    for direction in ("download", "upload"):
        with nuttcp_that_says(b"HELO nuttcp v8.2.2", "127.54.20.1") as port:
            result = tightlink(machine, "run", f"nuttcp://127.54.20.1:{port}", "--direction", direction,
                               "--yes", "--no-history", "--json", "--stages", "stream",
                               "--data-budget", "300MB")
        document = result.document()
        stream = next(stage for stage in document["stages"] if stage["id"] == "stream")
        assert stream["state"] in ("done", "limited"), document["stages"]
        # A rate that is not even enough to be one is none, and the bytes came all the same.
        assert stream["received_bytes" if direction == "download" else "sent_bytes"] > 1e6, stream
        assert document["run"]["target"]["kind"] == "nuttcp", document["run"]


@case("strangers")
def one_that_is_newer_in_words_only_is_one_sentence(machine):
    """It says 8.2.2 and takes nothing of the line that such a one would."""
    def talk(client):
        client.recv(4096)
        client.sendall(b"HELO nuttcp v8.2.2\n")
        client.recv(4096)
        client.sendall(b"KO\nunknown parameter nbuf_bytes\nKO\n")
        client.shutdown(socket.SHUT_WR)
    with server(talk) as port:
        result = tightlink(machine, "run", f"nuttcp://127.0.0.1:{port}", "--yes", "--no-history",
                           "--stages", "stream")
    words = " ".join(f"{result.err} {result.out}".split())
    assert result.code in (3, 4) and "refuses the test: unknown parameter nbuf_bytes" in words, result
    assert is_plain(result.err), result


@case("strangers")
def a_node_that_is_older_than_it_says_is_one_sentence(machine):
    """It tells this level of the API and has no such place."""
    with node(machine, refuse={"*": (404, "Not Found")}) as stub:
        result = between(machine, stub, "--insecure", "--one-way", "--streams", "1")
    assert result.code in (2, 3, 4), result
    result.check(result.code, r"127\.0\.0\.1:[0-9]+.*404")
    assert is_plain(result.err), result


@case("strangers")
def a_server_that_gives_without_end_stays_within_the_budget(machine):
    """nuttcp's own rate, time and amount are words to it: our socket stops at the budget."""
    address, sent = "127.54.20.2", []

    def talk(client):
        client.recv(4096)
        client.sendall(b"HELO nuttcp v6.1.2\n")
        asked = client.recv(4096)
        if b"nstream = 1" not in asked:
            return
        with socket.create_server((address, 5001)) as door:
            client.sendall(b"OK v6.1.2\n")
            with door.accept()[0] as stream, contextlib.suppress(OSError):
                while True:
                    sent.append(stream.send(NOISE))
    with server(talk, address) as port:
        result = tightlink(machine, "run", f"nuttcp://{address}:{port}", "--direction", "download",
                           "--yes", "--no-history", "--json", "--stages", "stream",
                           "--data-budget", "40MB", "--time-budget", "20s")
    run = result.document()["run"]
    assert sent, result
    assert run["received_bytes"] <= 41e6, run
    assert sum(sent) < 41e6 + 64e6, "what no socket holds was taken"
    assert result.document()["verdict"]["state"] in ("inconclusive", "invalid"), result.document()["verdict"]


def key_pair(folder):
    for command in (["genrsa", "-out", f"{folder}/private.pem", "2048"],
                    ["rsa", "-in", f"{folder}/private.pem", "-pubout", "-out", f"{folder}/public.pem"]):
        made = subprocess.run(["openssl", *command], capture_output=True, check=False)
        if made.returncode != 0:
            raise Skip("no openssl")


@contextlib.contextmanager
def iperf3_with_users(folder):
    """The installed iperf3, which lets in "somebody" with the password "secret"."""
    if not shutil.which("iperf3") or not shutil.which("openssl"):
        raise Skip("iperf3 or openssl is not installed")
    key_pair(folder)
    word = subprocess.run(["openssl", "dgst", "-sha256"], input=b"{somebody}secret", check=True,
                          capture_output=True).stdout.decode().split()[-1]
    with open(f"{folder}/users", "w", encoding="ascii") as users:
        users.write(f"somebody,{word}\n")
    # meson fills what is freed: that program reads it, and answers its second client no more.
    env = {name: value for name, value in os.environ.items() if name != "MALLOC_PERTURB_"}
    with subprocess.Popen(["iperf3", "-s", "-B", "127.0.0.1", "--rsa-private-key-path",
                           f"{folder}/private.pem", "--authorized-users-path", f"{folder}/users"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env) as serving:
        try:
            until(20, lambda: listens(5201) or serving.poll() is not None, "iperf3 listens")
            if serving.poll() is not None:
                raise Skip("this iperf3 knows no users")
            yield
        finally:
            serving.kill()


@case("strangers")
def a_login_at_an_iperf3_server_is_taken_and_a_wrong_one_is_one_sentence(machine):
    if not machine.isolated:
        raise Skip("needs root, for ports of its own")
    with tempfile.TemporaryDirectory() as folder, iperf3_with_users(folder):
        for name, word, code, says in (("right", "secret", (0, 4), None), ("wrong", "guess", (5,), "user"),
                                       ("none", None, (5,), "user")):
            login = ()
            if word:
                with open(f"{folder}/word", "w", encoding="ascii",
                          opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                    file.write(word + "\n")
                login = ("--user", "somebody", "--password-file", f"{folder}/word", "--public-key",
                         f"{folder}/public.pem")
            result = tightlink(machine, "run", "iperf3://127.0.0.1", "--yes", "--no-history",
                               "--stages", "stream", "--data-budget", "300MB", *login)
            words = " ".join(f"{result.err} {result.out}".split())
            assert result.code in code, (name, result)
            assert says is None or says in words, (name, result)
            assert "secret" not in words and "guess" not in words, (name, result)
