"""Web servers as far ends: a big file is read and judged; what is none is said in one sentence."""
import http.server
import contextlib
import json
import os
import socket
import tempfile
import threading
import time

from harness import Process, Skip, case, closed_port, tightlink, validate

BIG = 400_000_000
BLOCK = os.urandom(1 << 20)


class Handler(http.server.BaseHTTPRequestHandler):
    """A file without end but in name; and what servers do wrong."""
    protocol_version = "HTTP/1.1"
    length, headers_sent, begun = BIG, {}, []

    def log_message(self, *_):
        pass

    def do_GET(self):
        name = self.path.split("?")[0].strip("/")
        getattr(self, f"answer_{name}", self.answer_missing)()

    def begin(self, status, length=None, kind="application/octet-stream", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()

    def body(self, length):
        try:
            while length > 0:
                self.wfile.write(BLOCK[:min(length, len(BLOCK))])
                length -= len(BLOCK)
        except OSError:
            pass

    def answer_big(self):
        if self.headers.get("Range") == "bytes=0-0":
            self.begin(206, 1, Content_Range=f"bytes 0-0/{BIG}")
            self.body(1)
            return
        self.begin(200, BIG)
        self.body(BIG)

    def answer_parts(self):
        """Serves any part, as most servers do."""
        wanted = self.headers.get("Range")
        first, _, last = (wanted or "bytes=0-")[len("bytes="):].partition("-")
        first, last = int(first), int(last) if last else BIG - 1
        Handler.begun.append(first)
        if wanted:
            self.begin(206, last + 1 - first, Content_Range=f"bytes {first}-{last}/{BIG}")
        else:
            self.begin(200, BIG)
        self.body(last + 1 - first)

    def answer_held(self, each_bytes=20000):
        """A server that gives 16 Mb/s at most."""
        self.begin(200, BIG)
        try:
            for _ in range(2000):
                self.wfile.write(BLOCK[:each_bytes])
                time.sleep(0.01)
        except OSError:
            pass

    def answer_quicker(self):
        self.answer_held(100000)

    def answer_endless(self):
        self.begin(200)
        self.body(1 << 40)

    def answer_small(self):
        self.begin(200, 1000)
        self.body(1000)

    def answer_page(self):
        self.begin(200, 50_000_000, kind="text/html; charset=utf-8")

    def answer_missing(self):
        self.begin(404, 0)

    def answer_moved(self):
        self.begin(302, 0, Location="/big")

    def answer_loop(self):
        self.begin(302, 0, Location="/loop")

    def answer_scheme(self):
        self.begin(302, 0, Location="https://127.0.0.1/big")

    def answer_silent(self):
        """Answers the first look, and nobody else."""
        if self.headers.get("Range") == "bytes=0-0":
            self.answer_big()
        else:
            time.sleep(60)

    def answer_lies(self):
        """Says more than it sends."""
        self.begin(200, BIG)
        self.body(2_000_000)
        self.close_connection = True

    def answer_error(self):
        """A page of 10 GB that says what went wrong."""
        self.begin(500, 10_000_000_000)
        self.body(10_000_000_000)

    def answer_stops(self):
        """In the middle, and stays."""
        self.begin(200, BIG)
        self.body(3_000_000)
        try:
            self.rfile.read(1)
        except OSError:
            pass

    def answer_chunked(self):
        """Without a length, in pieces, and packed, though nobody asked for that."""
        self.begin(200, Transfer_Encoding="chunked", Content_Encoding="gzip")
        try:
            for _ in range(2000):
                self.wfile.write(b"10000\r\n" + BLOCK[:0x10000] + b"\r\n")
                time.sleep(0.01)
        except OSError:
            pass

    def answer_over(self):
        """Without a length, in pieces, and soon over: 4 MiB, as LibreSpeed gives who names no amount."""
        self.begin(200, Transfer_Encoding="chunked")
        with contextlib.suppress(OSError):  # the first look has seen enough
            for _ in range(64):
                self.wfile.write(b"10000\r\n" + BLOCK[:0x10000] + b"\r\n")
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def answer_headers(self):
        self.send_response(200)
        self.flush_headers()
        try:
            while True:
                self.wfile.write(b"X-More: " + b"x" * 100 + b"\r\n")
        except OSError:
            pass


class Server:
    def __init__(self, context=None, port=0, family=socket.AF_INET, handler=Handler, host=None):
        class Listener(http.server.ThreadingHTTPServer):
            address_family = family
        host = host or ("127.0.0.1" if family == socket.AF_INET else "::1")
        self.server = Listener((host, port), handler)
        self.server.daemon_threads = True
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Proxy:
    """Takes what RFC 9112 (3.2.2, 3.2.3) lets a client say to a proxy, and nothing else. refusal:
    the status that it answers everybody with."""

    def __init__(self, refusal=None):
        self.refusal, self.asked = refusal, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(client,), daemon=True).start()

    def answer(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            some = client.recv(4096)
            if not some:
                return
            head += some
        line, _, rest = head.decode("ascii").partition("\r\n")
        self.asked.append(line)
        method, where, version = line.split(" ")
        assert version == "HTTP/1.1" and "\r\nHost: " in "\r\n" + rest, head
        if self.refusal:
            client.sendall(f"HTTP/1.1 {self.refusal}\r\nContent-Length: 0\r\n\r\n".encode())
        elif method == "CONNECT":
            host, _, port = where.rpartition(":")
            server = socket.create_connection((host, int(port)))
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            threading.Thread(target=self.pump, args=(client, server), daemon=True).start()
            self.pump(server, client)
        else:
            authority, _, path = where.removeprefix("http://").partition("/")
            assert where.startswith("http://"), where
            host, _, port = authority.rpartition(":")
            server = socket.create_connection((host, int(port)))
            server.sendall(f"{method} /{path} HTTP/1.1\r\n{rest}".encode("ascii"))
            self.pump(server, client)
        client.close()

    @staticmethod
    def pump(source, sink):
        try:
            while some := source.recv(1 << 18):
                sink.sendall(some)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        source.close()


class Settings:
    """Variables of the environment, set for a while."""

    def __init__(self, **values):
        self.values = values

    def __enter__(self):
        os.environ.update(self.values)

    def __exit__(self, *_):
        for name in self.values:
            del os.environ[name]


def run(machine, port, name, *options, scheme="http", **settings):
    return tightlink(machine, "run", f"{scheme}://127.0.0.1:{port}/{name}", "--yes",
                     "--no-history", *options, **settings)


@case("http")
def a_big_file_is_measured_with_our_own_counters(machine):
    with Server() as server:
        result = run(machine, server.port, "big", "--json", "--stages", "stream",
                     "--data-budget", "200MB")
    document = result.document()
    validate(machine, document)
    assert document["run"]["target"]["kind"] == "http", document["run"]
    stream = [stage for stage in document["stages"] if stage["id"] == "stream"]
    assert stream and stream[0]["state"] in ("done", "limited"), document["stages"]
    assert result.code in (0, 4), result


@case("http")
def each_connection_reads_a_part_of_its_own(machine):
    with Server() as server:
        Handler.begun.clear()
        result = run(machine, server.port, "parts", "--json", "--stages", "streams",
                     "--data-budget", "300MB")
    document = result.document()
    streams = [stage for stage in document["stages"] if stage["id"] == "streams"]
    assert streams and streams[0]["state"] in ("done", "limited"), document["stages"]
    eighth = BIG // 8 - 1
    assert {part * eighth for part in range(8)} <= set(Handler.begun), Handler.begun


@case("http")
def a_proxy_of_the_environment_is_what_is_measured(machine):
    """Other programs go through it; which part was measured is said before and behind the run."""
    with Server() as server, Proxy() as proxy, Settings(http_proxy=proxy.url):
        result = run(machine, server.port, "small")
        result.check(3, "has only 1000 bytes")
        result = run(machine, server.port, "parts", "--json-lines", "--stages", "streams",
                     "--data-budget", "100MB")
        assert f"http_proxy names the proxy 127.0.0.1, port {proxy.port}" in str(result), result
        result = run(machine, server.port, "held", "--json", "--stages", "stream")
        assert proxy.asked and all(line.startswith(f"GET http://127.0.0.1:{server.port}/")
                                   for line in proxy.asked), proxy.asked
        document = result.document()
        validate(machine, document)
        assert document["run"]["target"]["proxy"] == "127.0.0.1", document["run"]
        names = {segment["id"]: segment["name"] for segment in document["segments"]}
        assert names["path"] == "the path to the proxy", names


@case("http")
def the_history_keeps_the_way_by_a_proxy_apart(machine):
    with tempfile.TemporaryDirectory() as data, Server() as server, Proxy() as proxy:
        url = f"http://127.0.0.1:{server.port}/held"
        for settings in ({}, {"http_proxy": proxy.url}):
            tightlink(machine, "run", url, "--yes", "--stages", "stream", "--data-budget", "5MB",
                      env={**os.environ, "XDG_DATA_HOME": data, **settings})
        kept = tightlink(machine, "history", "--json", env={**os.environ, "XDG_DATA_HOME": data})
    names = {row["target"] for row in json.loads(kept.check(0).out)["runs"]}
    assert names == {url, f"{url} by way of 127.0.0.1"}, names


@case("http")
def what_a_proxy_refuses_is_its_own_sentence(machine):
    with Server() as server:
        for status, scheme, says in (("407 Who are you", "http", r"wants a login \(407\)"),
                                     ("407 Who are you", "https", r"wants a login \(407\)"),
                                     ("403 Not there", "https", "answers 403 Not there to a tunnel"),
                                     ("504 Slow", "http", "answers 504 Slow through the proxy")):
            with Proxy(status) as proxy, Settings(all_proxy=proxy.url):
                result = run(machine, server.port, "big", scheme=scheme)
            assert result.code in (3, 5), result
            result.check(result.code, says)


@case("http")
def a_proxy_that_is_not_there_is_named_and_a_way_past_it(machine):
    with Server() as server, closed_port() as port:
        with Settings(http_proxy=f"http://127.0.0.1:{port}"):
            result = run(machine, server.port, "big")
            result.check(3, "it is the proxy that http_proxy names", "no_proxy=127.0.0.1")
        with Settings(http_proxy=f"http://127.0.0.1:{port}", no_proxy="127.0.0.0/8"):
            result = run(machine, server.port, "big", "--stages", "stream", "--data-budget", "50MB")
            assert result.code in (0, 4) and "no_proxy" not in str(result), result
        with Settings(all_proxy=f"socks5h://127.0.0.1:{port}"):
            result = run(machine, server.port, "big", "--json-lines", "--stages", "stream",
                         "--data-budget", "50MB")
            assert "proxies of the kind socks5h are not spoken to" in str(result), result


def run_with_both(machine, port, *options):
    """At a name of both families, which stands in a table of names of this process alone."""
    with tempfile.NamedTemporaryFile("w") as hosts:
        hosts.write("127.0.0.1 both.test\n::1 both.test\n")
        hosts.flush()
        script = f'mount --bind {hosts.name} /etc/hosts || exit 77; exec "$@"'
        result = Process(["unshare", "-m", "sh", "-c", script, "sh", machine.tightlink, "run",
                          f"http://both.test:{port}/held", "--yes", "--no-history", "--json",
                          "--stages", "path", *options]).result(60)
    if result.code == 77:
        raise Skip("no table of names of one's own: " + result.err)
    return result.document()["facts"]


@case("http")
def the_other_address_family_is_looked_at_and_a_dead_one_is_told(machine):
    if not machine.isolated:
        raise Skip("needs root, for a table of names of its own")
    with Server() as server:
        facts = run_with_both(machine, server.port, "-4")
        assert facts["path.other_family"]["value"] == "none", facts["path.other_family"]
        facts = run_with_both(machine, server.port)
        assert facts["path.other_family"]["value"] == "IPv6", facts["path.other_family"]
        assert facts["path.other_family_works"]["value"] is False, facts
        with Server(port=server.port, family=socket.AF_INET6):
            facts = run_with_both(machine, server.port)
        assert facts["path.other_family"]["value"] in ("IPv4", "IPv6"), facts
        assert facts["path.other_family_works"]["value"] is True, facts


@case("http")
def an_endless_body_stays_within_the_budget(machine):
    with Server() as server:
        result = run(machine, server.port, "endless", "--json", "--stages", "stream",
                     "--data-budget", "30MB")
    document = result.document()
    moved = document["run"].get("bytes_received", document["run"].get("received_bytes", 0))
    assert moved < 60e6, document["run"]


@case("http")
def what_is_no_big_file_is_said_in_one_sentence(machine):
    with Server() as server:
        for name, says in (("small", "has only 1000 bytes"), ("page", "answers with a page"),
                           ("missing", "answers 404 Not Found: name a file"), ("loop", "redirects more than 5 times"),
                           ("scheme", "not followed to another scheme"),
                           ("error", "answers 500 Internal Server Error: name a file"),
                           ("headers", "headers without end")):
            result = run(machine, server.port, name)
            assert result.code in (3, 5), (name, str(result))
            result.check(result.code, says)


@case("http")
def a_redirect_on_the_same_server_is_followed(machine):
    with Server() as server:
        result = run(machine, server.port, "moved", "--json", "--stages", "stream",
                     "--data-budget", "50MB")
    assert result.document()["run"]["target"]["kind"] == "http"


@case("http")
def a_length_that_is_a_lie_gives_no_rate_nor_does_a_server_that_stops(machine):
    with Server() as server:
        for name, says in (("lies", "broke off"), ("stops", "went dead")):
            result = run(machine, server.port, name, "--json", "--stages", "stream",
                         "--data-budget", "50MB")
            verdict = result.document()["verdict"]
            assert result.code in (3, 4) and verdict["state"] == "invalid", (name, result)
            assert says in verdict["sentence"], (name, verdict)
            assert result.document()["facts"].get("download.goodput_bps", {}).get("value") is None, name


@case("http")
def a_server_that_hangs_is_no_black_hole(machine):
    with Server() as server:
        result = run(machine, server.port, "silent", "--json", "--stages", "stream",
                     "--data-budget", "50MB")
    verdict = result.document()["verdict"]
    assert result.code in (3, 4) and verdict["state"] == "invalid", result
    assert "127.0.0.1" in verdict["sentence"] or "dead" in verdict["sentence"], verdict
    assert result.document()["facts"].get("path.pmtu_black_hole", {}).get("value") is not True


class Swallowed(Handler):
    """As if behind a path that swallows full packets: the first look is answered in small segments alone."""

    def do_GET(self):
        is_full = self.connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) > 1200
        if is_full and self.headers.get("Range") == "bytes=0-0":
            time.sleep(60)
        else:
            self.answer_quicker()


@case("strangers")
def who_answers_in_small_segments_is_reached_and_measured(machine):
    with Server(handler=Swallowed) as server:
        result = run(machine, server.port, "big", "--json", "--stages", "stream", seconds=90)
    states = {stage["id"]: stage["state"] for stage in result.document()["stages"]}
    assert result.code in (0, 4) and "stream" in states and "mtu" in states, (result.code, result.err, states)


@case("http")
def what_comes_packed_and_in_pieces_is_counted_as_it_came(machine):
    with Server() as server:
        result = run(machine, server.port, "chunked", "--json", "--stages", "stream",
                     "--data-budget", "60MB")
    goodput = result.document()["facts"]["download.goodput_bps"]
    assert goodput["state"] == "known" and goodput["value"] < 60e6, goodput


@case("strangers")
def an_answer_of_untold_length_that_is_over_is_no_fault_of_the_server(machine):
    with Server() as server:
        result = run(machine, server.port, "over", "--json", "--stages", "stream")
    verdict = result.document()["verdict"]
    assert verdict["state"] == "invalid", verdict
    assert "was over before the test, and its length is not told: name a larger file" in verdict["sentence"], verdict
    assert "broke" not in str(result), result


@case("http")
def what_speaks_something_else_is_no_web_server(machine):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def greet():
            connection, _ = listener.accept()
            connection.recv(4096)
            connection.sendall(b"220 mail.example ESMTP\r\n")
            connection.close()
        threading.Thread(target=greet, daemon=True).start()
        result = run(machine, listener.getsockname()[1], "big")
    result.check(result.code, "does not speak HTTP/1")
