#!/usr/bin/env python3
"""tightlink against a web server that sends it on to where the server itself cannot reach: a request
alone can do harm there, as a router's page that restarts it.

Arguments: path of tightlink, then names of cases (none: all)."""
import os
import select
import socket
import subprocess
import sys

from cases import Skipped, case, run
from three import Three, ip

TIGHTLINK = os.path.abspath(sys.argv[1])
PORT = 8080
# Of the user's host, which ends with 1, of the server's, with 2, and of one beside both, with 3.
NETWORKS = ("203.0.113", "10.203.0", "10.204.0", "192.168.77", "169.254.77")
PRIVATE, LINK, OWN = "a private network", "addresses of one link alone", "this host itself"
REFUSED = (("203.0.113.2", "10.203.0.3", PRIVATE), ("203.0.113.2", "169.254.77.3", LINK),
           ("203.0.113.2", "127.0.0.1", OWN), ("203.0.113.2", "203.0.113.1", OWN),
           ("203.0.113.2", "[2001:db8::1]", OWN), ("203.0.113.2", "[fd77::3]", PRIVATE),
           ("10.203.0.2", "127.0.0.1", OWN), ("10.203.0.2", "10.203.0.1", OWN),
           ("10.203.0.2", "192.168.77.3", PRIVATE), ("10.203.0.2", "169.254.77.3", LINK),
           ("169.254.77.2", "169.254.77.3", LINK), ("[fd77::2]", "[fd78::3]", PRIVATE))
FOLLOWED = (("203.0.113.2", "203.0.113.3"), ("10.203.0.2", "10.204.0.3"),
            ("192.168.77.2", "203.0.113.3"), ("[fd77::2]", "[fd77::3]"))


def serve():
    """Inside a namespace: tells each request; /to/HOST sends on to HOST."""
    listener = socket.create_server(("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True)
    print("here", flush=True)
    while True:
        client = listener.accept()[0]
        with client:
            client.settimeout(5)
            words = client.recv(4096).split()
            path = words[1].decode() if len(words) > 1 else "nothing"
            print(path, flush=True)
            if path.startswith("/to/"):
                client.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://%s:%d/harm\r\n"
                               b"Content-Length: 0\r\n\r\n" % (path[4:].encode(), PORT))


class Server:
    def __init__(self, hosts, host):
        self.process = subprocess.Popen(
            hosts.inside(host, sys.executable, os.path.abspath(__file__), "--serve"),
            stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"here\n"

    def requests(self):
        """Those that came since the last question."""
        told = b""
        while select.select([self.process.stdout], [], [], 0.1)[0]:
            told += os.read(self.process.stdout.fileno(), 65536)
        return told.decode().split()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def ask(hosts, named, to):
    """What tightlink says when it is sent on."""
    done = subprocess.run(hosts.inside(1, TIGHTLINK, "run", f"http://{named}:{PORT}/to/{to}", "--yes",
                                       "--no-history"), capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


@case
def nobody_is_sent_on_to_a_narrower_place():
    with Three() as hosts:
        for host in (1, 2, 3):
            for network in NETWORKS:
                ip("-n", hosts.names[host], "addr", "add", f"{network}.{host}/24", "dev", "e0")
            for network in ("2001:db8::", "fd77::", "fd78::"):
                if ip("-n", hosts.names[host], "addr", "add", f"{network}{host}/64", "dev", "e0", "nodad",
                      check=False).returncode:
                    raise Skipped("this machine has no IPv6")
            ip("-n", hosts.names[host], "route", "add", "10.204.0.0/24", "dev", "e0", check=False)
        with Server(hosts, 1) as own, Server(hosts, 2) as sender, Server(hosts, 3) as third:
            for named, to, words in REFUSED:
                said = ask(hosts, named, to)
                harm = own.requests() + third.requests()
                print(f"  {named} to {to}: {said.strip().splitlines()[-1][:110]}")
                assert not any("harm" in path for path in harm), f"{named} to {to}: {harm}"
                assert words in " ".join(said.split()), f"{named} to {to}: {said}"
                assert sender.requests(), f"{named} was not asked"
            for named, to in FOLLOWED:
                ask(hosts, named, to)
                assert "/harm" in third.requests(), f"{named} to {to} was not followed"


if sys.argv[1] == "--serve":
    serve()
else:
    run(sys.argv[2:])
