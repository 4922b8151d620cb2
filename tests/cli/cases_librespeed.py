"""LibreSpeed back ends: they take uploads, or say why not."""
import contextlib
import json
import time

from cases_http import BLOCK, Handler, Server
from harness import case, tightlink, validate


class LibreSpeed(Handler):
    """A back end as LibreSpeed's documents have it, and one that takes no bodies of 20 MB, hangs up
    behind each, or answers without end."""
    received, given, connections, complaints = 0, 0, set(), []
    BYTES_PER_S = 10e6  # of a connection: a budget lasts for seconds, however fast this machine is

    def do_GET(self):
        place, _, query = self.path.partition("?")
        if place.endswith("/garbage.php"):
            self.garbage(query)
        else:
            super().do_GET()

    def garbage(self, query):
        """So many MiB (4 without a number, 1024 at most) in pieces, their length untold."""
        name, _, number = query.partition("=")
        amount = min(int(number), 1024) if name == "ckSize" and number.isdigit() and int(number) else 4
        self.begin(200, Transfer_Encoding="chunked")
        with contextlib.suppress(OSError):  # the test is over
            for _ in range(16 * amount):
                self.wfile.write(b"10000\r\n" + BLOCK[:0x10000] + b"\r\n")
                LibreSpeed.given += 0x10000
                time.sleep(0x10000 / self.BYTES_PER_S)
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def do_POST(self):
        length = int(self.headers.get("Content-Length", "0"))
        if self.path == "/small/empty.php":
            self.send_error(413)
            self.close_connection = True
            return
        if not self.path.endswith("/empty.php") or not 0 < length <= 20_000_000:
            LibreSpeed.complaints.append((self.path, length))
        LibreSpeed.connections.add(self.client_address)
        while length > 0:
            try:
                some = self.rfile.read1(min(length, 1 << 20))
            except OSError:  # the test is over
                some = b""
            if not some:
                self.close_connection = True
                return
            length -= len(some)
            LibreSpeed.received += len(some)
            time.sleep(len(some) / self.BYTES_PER_S)
        if self.path == "/chatty/empty.php":
            self.begin(200, 1 << 30)
            self.body(1 << 30)
            return
        closes = {"Connection": "close"} if self.path == "/closing/empty.php" else {}
        self.begin(200, 0, **closes)

    def handle_expect_100(self):
        return True if self.path == "/small/empty.php" else super().handle_expect_100()


def librespeed(machine, server, folder, *options):
    return tightlink(machine, "run", f"http://127.0.0.1:{server.port}/{folder}/garbage.php", "--yes",
                     "--no-history", "--json", "--direction", "upload", "--data-budget", "300MB",
                     *options)


@case("http")
def librespeed_takes_uploads_by_several_connections_too(machine):
    LibreSpeed.received, LibreSpeed.complaints = 0, []
    LibreSpeed.connections.clear()
    with Server(handler=LibreSpeed) as server:
        document = librespeed(machine, server, "backend", "--stages", "stream,streams").document()
    validate(machine, document)
    states = {stage["id"]: stage["state"] for stage in document["stages"]}
    assert states["stream"] in ("done", "limited") and states["streams"] in ("done", "limited"), states
    assert document["facts"]["upload.goodput_bps"]["value"] > 0, document["facts"]
    assert not LibreSpeed.complaints and len(LibreSpeed.connections) >= 9, LibreSpeed.complaints
    assert LibreSpeed.received <= 310e6, LibreSpeed.received


@case("http")
def librespeed_gives_what_is_asked_for_by_amount(machine):
    """Its own PHP gives 4 MiB without an amount, which is over before a test is."""
    with Server(handler=LibreSpeed) as server:
        for query, state in (("?ckSize=1024", ("limited", "inconclusive")), ("", ("invalid",))):
            LibreSpeed.given = 0
            result = tightlink(machine, "run", f"http://127.0.0.1:{server.port}/backend/garbage.php{query}",
                               "--yes", "--no-history", "--json", "--stages", "stream", "--data-budget", "40MB")
            document = result.document()
            assert document["verdict"]["state"] in state, (query, document["verdict"])
            assert LibreSpeed.given >= 4 << 20, LibreSpeed.given
            if query:
                assert document["facts"]["download.goodput_bps"]["value"] > 0, document["facts"]
            else:
                result.check(result.code, r"name a larger file \(garbage\.php\?ckSize=1024\)")


@case("http")
def what_takes_no_uploads_says_so_and_gives_no_rate(machine):
    with Server(handler=LibreSpeed) as server:
        for folder, says in (("small", "answers 413 Request Entity Too Large to an upload of 20 MB"),
                             ("closing", "closes the connection behind each upload"),
                             ("chatty", "answers an upload without end")):
            document = librespeed(machine, server, folder, "--stages", "stream").document()
            reasons = [stage.get("reason", "") for stage in document["stages"]]
            assert any(says in reason for reason in reasons), (folder, reasons)
            assert document["verdict"]["state"] in ("inconclusive", "invalid"), document["verdict"]
        result = tightlink(machine, "run", f"http://127.0.0.1:{server.port}/big", "--yes", "--json",
                           "--no-history", "--direction", "upload", "--stages", "stream")
    assert "a web server cannot receive from this PC" in json.dumps(result.document()), result
