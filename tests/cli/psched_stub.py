"""A strict pScheduler node for tests: HTTPS with a certificate of its own, the tasks that
doc/far-ends.md describes and nothing else. What it does not expect it refuses and remembers in
`complaints`. Its path is emulated in numbers only: nothing is sent but answers.

Ways to be hostile or to fail are set on the object; see the attributes of Node."""
import http.server
import json
import os
import re
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse
import uuid

FIELDS = {
    "throughput": ({"schema", "source", "dest", "duration"}, {"source-node", "parallel", "reverse"}),
    "rtt": ({"schema", "dest", "count", "length"}, set()),
    "trace": ({"schema", "dest", "probe-type"}, set()),
    "mtu": ({"schema", "source", "dest"}, set()),
}
SCHEMAS = {"throughput": 2, "rtt": 2, "trace": 1, "mtu": 1}


class Bad(Exception):
    """A form that a node does not take (400)."""


def seconds_of(text):
    match = re.fullmatch(r"PT(\d+)S", text)
    if not match:
        raise Bad(f"no duration: {text}")
    return int(match[1])


def check(task):
    if set(task) - {"schema", "test", "tools", "schedule", "_key"}:
        raise Bad(f"unknown members of a task: {sorted(task)}")
    if task.get("schema") != 1 or "schedule" not in task:
        raise Bad("schema 1 and a schedule are needed")
    if set(task["schedule"]) != {"slip"} or not 0 < seconds_of(task["schedule"]["slip"]) <= 86400:
        raise Bad("a schedule with a slip is needed")
    if not re.fullmatch("[0-9a-f]{32}", task.get("_key", "")):
        raise Bad("a task without a key cannot be cancelled")
    kind, spec = task["test"]["type"], task["test"]["spec"]
    if set(task["test"]) != {"type", "spec"} or kind not in FIELDS:
        raise Bad(f"no such test: {kind}")
    needed, more = FIELDS[kind]
    if not needed <= set(spec) <= needed | more:
        raise Bad(f"members of {kind}: {sorted(spec)}")
    if spec["schema"] != SCHEMAS[kind]:
        raise Bad("another schema was expected")
    if kind == "throughput":
        if not 5 <= seconds_of(spec["duration"]) <= 60 or not 1 <= spec.get("parallel", 1) <= 6:
            raise Bad("beyond what is polite")
        if task.get("tools") != ["iperf3"]:
            raise Bad("which tool?")
    elif "tools" in task:
        raise Bad("tools of a test that loads nothing")
    return kind, spec


class Node:
    """Attributes to set before it is asked:
    rates       bits a second by (reverse, streams > 1)
    rtt_us, loaded_us, mtu, retransmits: of the path
    refuse      {test: (status, body)}, or {"*": ...}
    end         {test: state} in place of "finished"
    looks       how many times a run is pending before it ends
    body        {path pattern: bytes} sent in place of an answer
    hang        path pattern that is never answered
    redirect    path pattern that is answered with a redirect
    endless     path pattern whose answer never ends
    to          {dest: bits a second} of one stream there, in place of `rates`
    patch       {test: function} that changes a merged result
    clock       synchronized"""

    def __init__(self, folder=None):
        self.rates = {(False, False): 94e6, (True, False): 94e6, (False, True): 94e6,
                      (True, True): 94e6}
        self.rtt_us, self.loaded_us, self.mtu, self.retransmits = 20000, 60000, 1500, 3
        self.refuse, self.end, self.looks, self.body, self.patch = {}, {}, 0, {}, {}
        self.to = {}
        self.hang = self.redirect = self.endless = None
        self.clock, self.survey = True, None
        self.tasks, self.deleted, self.complaints, self.asked = {}, [], [], []
        self.stopping = threading.Event()
        self.folder = folder or tempfile.mkdtemp(prefix="tightlink-node-")

    # --- the emulated path --------------------------------------------------------------------

    def throughput(self, spec):
        seconds, streams = seconds_of(spec["duration"]), spec.get("parallel", 1)
        reverse = spec.get("reverse", False)
        rate = self.rates[(reverse, streams > 1)]
        if not reverse:
            rate = self.to.get(spec["dest"], rate)
        intervals, total = [], 0
        for i in range(seconds):
            now = rate * (0.5 if i == 0 else 1)
            total += now / 8
            lost = self.retransmits if i else 0
            intervals.append({
                "summary": {"start": float(i), "end": i + 1.0, "throughput-bytes": int(now / 8),
                            "throughput-bits": now, "retransmits": lost, "omitted": False},
                "streams": [{"stream-id": 5 + s, "start": float(i), "end": i + 1.0,
                             "throughput-bits": now / streams, "retransmits": lost // streams,
                             "rtt": self.loaded_us,
                             "tcp-window-size": int(rate / 8 * self.loaded_us / 1e6 / streams)}
                            for s in range(streams)]})
        sent = total * 8 / seconds
        return {"succeeded": True, "intervals": intervals, "diags": "Participant 0:\n...",
                "summary": {"summary": {"start": 0.0, "end": float(seconds),
                                        "throughput-bytes": int(total), "throughput-bits": sent,
                                        "receiver-throughput-bits": sent * 0.998,
                                        "retransmits": self.retransmits * (seconds - 1)},
                            "streams": [{"stream-id": 5, "rtt": self.loaded_us,
                                         "throughput-bits": sent}]}}

    def rtt(self, spec):
        trip = f"PT{self.rtt_us / 1e6:.6f}S"
        return {"schema": 1, "succeeded": True, "sent": spec["count"], "received": spec["count"],
                "lost": 0, "loss": 0.0, "duplicates": 0, "reorders": 0, "min": trip, "max": trip,
                "mean": trip, "stddev": "PT0S",
                "roundtrips": [{"seq": i + 1, "length": spec["length"] + 8, "ip": "192.0.2.2",
                                "ttl": 61, "rtt": trip} for i in range(spec["count"])]}

    def trace(self, _):
        return {"schema": 1, "succeeded": True, "paths": [[
            {"ip": "192.0.2.1", "hostname": "gw.example.net", "rtt": "PT0.0004S",
             "as": {"number": 64496, "owner": "EXAMPLE"}},
            {"error": "no-response"},
            {"ip": "198.51.100.7", "rtt": f"PT{self.rtt_us / 1e6:.6f}S", "mtu": self.mtu}]]}

    def result(self, kind, spec):
        made = {"succeeded": True, "mtu": self.mtu} if kind == "mtu" \
            else getattr(self, kind)(spec)
        return self.patch.get(kind, lambda result: result)(made)

    # --- the interface ------------------------------------------------------------------------

    def post(self, text):
        try:
            task = json.loads(text.decode("ascii"))
            kind, spec = check(task)
        except (Bad, ValueError, KeyError, TypeError) as error:
            self.complaints.append(f"{type(error).__name__}: {error}")
            return 400, f"Invalid task specification: {error}"
        refused = self.refuse.get(kind, self.refuse.get("*"))
        if refused:
            return refused
        name = str(uuid.uuid4())
        self.tasks[name] = {"kind": kind, "spec": spec, "key": task["_key"], "looks": 0,
                            "run": str(uuid.uuid4())}
        # A node answers with the name by which it knows itself.
        return 200, json.dumps(f"https://node.invalid/pscheduler/tasks/{name}")

    def delete(self, name, query):
        task = self.tasks.get(name)
        if not task or query.get("key") != [task["key"]]:
            self.complaints.append(f"DELETE of {name} without its key")
            return 403, "forbidden"
        self.deleted.append(task["kind"])
        return 200, ""

    def run(self, name, run, query):
        task = self.tasks.get(name)
        if not task or run not in ("first", task["run"]):
            return 404, "not found"
        if int(query["wait"][0]) > 30 or (run == "first") == ("wait-merged" in query):
            self.complaints.append(f"impolite: {run} {query}")
        task["looks"] += 1
        # Once it is known to be there, the first look never has the result.
        ended = task["looks"] > self.looks
        state = self.end.get(task["kind"], "finished") if ended else "running"
        merged = self.result(task["kind"], task["spec"]) if state == "finished" else None
        answer = {"href": f"https://node.invalid/pscheduler/tasks/{name}/runs/{task['run']}",
                  "state": state, "state-display": state.title(), "participant": 0,
                  "participants": ["a", "b"], "start-time": "2026-01-01T00:00:00Z",
                  "errors": "the node's own words" if state in ("failed", "missed") else None,
                  "result": None, "result-full": [merged, None], "result-merged": merged}
        if self.survey and state != "finished":
            answer["clock-survey"] = self.survey
        return 200, json.dumps(answer)

    def answer(self, method, url, body):
        parts = urllib.parse.urlsplit(url)
        query = urllib.parse.parse_qs(parts.query, strict_parsing=bool(parts.query))
        way = parts.path.split("/")[2:]
        if method == "GET" and way == ["api"]:
            return 200, "6"
        if method == "GET" and way == ["clock"]:
            return 200, json.dumps({"time": "2026-01-01T00:00:00Z", "synchronized": self.clock})
        if method == "POST" and way == ["tasks"]:
            return self.post(body)
        if method == "DELETE" and len(way) == 2:
            return self.delete(way[1], query)
        if method == "GET" and len(way) == 4 and way[2] == "runs":
            return self.run(way[1], way[3], query)
        self.complaints.append(f"{method} {url}")
        return 404, "not found"

    # --- the server ---------------------------------------------------------------------------

    def certificate(self):
        files = [os.path.join(self.folder, name) for name in ("key.pem", "cert.pem")]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=node.invalid", "-keyout", files[0], "-out", files[1]],
                       check=True, capture_output=True)
        return files

    def __enter__(self):
        node = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def matches(self, pattern):
                return pattern and re.search(pattern, self.path)

            def serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                node.asked.append((time.monotonic(), self.command, self.path))
                if self.matches(node.hang):
                    node.stopping.wait(60)
                    self.close_connection = True
                    return
                if self.matches(node.endless):
                    self.pour()
                    return
                if self.matches(node.redirect):
                    self.send_response(302)
                    self.send_header("Location", "https://192.0.2.1/elsewhere")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                code, text = node.answer(self.command, self.path, body)
                data = text.encode()
                for pattern, other in node.body.items():
                    if self.matches(pattern):
                        data = other
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def pour(self):
                self.send_response(200)
                self.end_headers()
                self.close_connection = True
                try:
                    self.wfile.write(b'{"state": "')
                    while not node.stopping.is_set():
                        self.wfile.write(b"x" * 65536)
                except OSError:
                    pass

            do_GET = do_POST = do_DELETE = do_PUT = serve

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that goes away, or does not trust the certificate

        key, cert = self.certificate()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                 do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.1,))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
