"""What the tests against real ticket systems share: a server on loopback with a folder of its own,
and the walk that each must stand: a ticket that waited for the server, found again, attached byte
for byte, commented, and a wrong key refused. Outside the suite: these servers are large.

Each test: `real_NAME.py TIGHTLINK PRINT-FIXTURE`."""
import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

from place import Place

START_S = 180


class Real:
    """A real ticket system. Subclasses say how it is started and asked: title, name, config (of
    tightlink's target), token, needs (paths that must be readable), prepare() (writes its folder;
    command and environment), ready() (its version; raises OSError until it answers), perhaps
    fill(), tickets(run) (titles by number), texts(number) and files(number) (pairs of name and
    bytes), both of the ticket and its comments."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix=f"tightlink-{self.name}-")
        self.log = open(self.folder + "/server.log", "w+")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = None

    def __enter__(self):
        try:
            command, env = self.prepare()
            self.process = subprocess.Popen(command, env={**os.environ, **env}, stdout=self.log,
                                            stderr=self.log, start_new_session=True)
            print(self.title, self.wait(), flush=True)
            self.fill()
        except BaseException:
            self.__exit__()
            raise
        return self

    def wait(self):
        until = time.monotonic() + START_S
        while True:
            try:
                return self.ready()
            except OSError as why:
                assert self.process.poll() is None and time.monotonic() < until, \
                    f"{self.title} did not start: {why}\n{open(self.log.name).read()[-4000:]}"
                time.sleep(0.5)

    def fill(self):
        """What the server needs besides, once it answers."""

    def __exit__(self, *_):
        if self.process:
            # A session of its own: its workers end with it, and nothing else does.
            for number in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.process.pid, number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(20)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, path, headers, body=None):
        """GET, or POST of JSON; the answer's bytes."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", headers=headers,
            data=None if body is None else json.dumps(body).encode())
        if body is not None:
            request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()


def send_what_waits(place):
    """What the outbox holds goes out, as if its minute had passed; the files as they lay there."""
    [(findings, page)] = place.outbox("SELECT json, html FROM outbox WHERE state <> 3")
    assert findings and page
    place.outbox("UPDATE outbox SET next_ns = 0")
    return {"findings.json": findings.encode(), "report.html": page.encode()}, \
        place.ticket("--retry", code=0).stdout.split()[1]


def ticket_arrives_once(place, real):
    """While nothing answers the ticket waits; then there is one, whoever sends it again."""
    up = open(place.conf).read()
    with socket.socket() as silent:  # bound, so that nobody else has it, and not listening
        silent.bind(("127.0.0.1", 0))
        place.write(up.replace(f":{real.port}", f":{silent.getsockname()[1]}"))
        place.send(code=6, says="stays in the outbox")
    place.write(up)
    assert not real.tickets(place.run_id)
    sent, number = send_what_waits(place)
    titles = real.tickets(place.run_id)
    assert list(titles) == [number], titles
    place.send(code=0, says=f"desk {number} (it was there already)")
    shutil.rmtree(place.env["XDG_DATA_HOME"])  # as from another machine
    place.send(code=0, says=f"desk {number}")
    assert list(real.tickets(place.run_id)) == [number], "a second ticket"
    print("one ticket, number", number, titles[number][:60])
    return sent, number


def files_are_whole(place, real, number, sent):
    found = dict(real.files(number))
    assert sorted(found) == sorted(sent) and len(real.files(number)) == len(sent), found.keys()
    for name, data in sent.items():
        assert found[name] == data, f"{name}: {len(data)} bytes sent, {len(found[name])} came"
        assert b"srv-b.example.net" not in data, "a name left unmasked"
    assert json.loads(sent["findings.json"])["run"]["id"] == place.run_id
    print("byte for byte", {name: len(data) for name, data in found.items()})


def comment_arrives(place, real, number, sent):
    texts = real.texts(number)
    place.send("--comment-on", number, code=0)
    assert len(real.texts(number)) == len(texts) + 1, "no comment, or more than one"
    assert list(real.tickets(place.run_id)) == [number], "a second ticket"
    names = sorted(name for name, _ in real.files(number))
    assert names == sorted([*sent, *sent]), names
    print("commented, with the files")


def wrong_key_is_refused(place, real, number):
    with open(os.path.dirname(place.conf) + "/desk.token", "w") as file:
        file.write("wrong")
    shutil.rmtree(place.env["XDG_DATA_HOME"])
    texts = real.texts(number)
    for options in ((), ("--comment-on", number)):
        print("refused:", place.send(*options, code=5).stderr.strip().splitlines()[-1])
    assert list(real.tickets(place.run_id)) == [number] and real.texts(number) == texts


def main(kind):
    missing = [path for path in kind.needs if not os.access(path, os.R_OK)]
    if missing:
        print(f"skipped: {', '.join(missing)} cannot be read (see the head of the test)")
        return 77
    # Ended from outside, the server ends too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with kind() as real:
        place = Place([os.path.abspath(path) for path in sys.argv[1:3]], real, port=real.port)
        try:
            sent, number = ticket_arrives_once(place, real)
            files_are_whole(place, real, number, sent)
            comment_arrives(place, real, number, sent)
            wrong_key_is_refused(place, real, number)
        finally:
            place.close()
    return 0
