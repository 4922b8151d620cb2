#!/usr/bin/env python3
"""Telemetry against listeners on loopback: OTLP (held to the official protobuf definitions where
python3's opentelemetry-proto is installed), a Prometheus file, syslog by UDP and TCP, journald.

    telemetry.py TIGHTLINK PRINT-FIXTURE
"""
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import traceback

try:
    from google.protobuf import json_format
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import \
        ExportMetricsServiceRequest
    OFFICIAL = {"/v1/metrics": ExportMetricsServiceRequest, "/v1/logs": ExportLogsServiceRequest}
except ImportError as missing:
    OFFICIAL, WHY = None, missing

TOKEN = "canary-51d0"


class Place:
    def __init__(self, programs, sections):
        self.tightlink, fixture = programs
        self.folder = tempfile.mkdtemp(prefix="tightlink-telemetry-")
        self.env = {"PATH": os.environ["PATH"], "HOME": self.folder, "LANG": "C.UTF-8"}
        self.config = self.folder + "/tightlink.conf"
        with open(self.config, "w") as file:
            file.write(sections.replace("FOLDER", self.folder))
        with open(self.folder + "/token", "w") as file:
            file.write(TOKEN)
        os.chmod(self.folder + "/token", 0o600)
        self.saved = self.folder + "/run.json"
        with open(self.saved, "w") as file:
            file.write(subprocess.run([fixture, "limited", "json"], check=True, text=True,
                                      capture_output=True).stdout)
        # What today's rules say of it is what is sent.
        judged = subprocess.run([self.tightlink, "explain", self.saved, "--json"], env=self.env,
                                text=True, capture_output=True).stdout
        self.verdict = json.loads(judged)["verdict"]

    def send(self, sink, code=0, says=""):
        done = subprocess.run([self.tightlink, "telemetry", self.saved, "--to", sink, "--config",
                               self.config], env=self.env, text=True, capture_output=True,
                              timeout=60)
        assert done.returncode == code and says in done.stderr, done
        assert TOKEN not in done.stdout + done.stderr, "the token was printed"
        return done

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


class Collector:
    """An OTLP receiver that keeps what came."""

    def __init__(self, status=200):
        outer = self
        self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


def check_otlp(programs):
    collector = Collector()
    with Place(programs, f"[telemetry c]\nsystem = otlp\nurl = http://127.0.0.1:{collector.port}\n"
                         "token_file = token\n") as place:
        place.send("c")
        paths = [path for path, _, _ in collector.requests]
        assert paths == ["/v1/metrics", "/v1/logs"], paths
        for path, headers, body in collector.requests:
            assert headers["Content-Type"] == "application/json"
            assert headers["Authorization"] == "Bearer " + TOKEN
            assert "srv-b.example.net" not in json.dumps(body), "a name left unmasked"
            if OFFICIAL:
                # Unknown fields, wrong types and wrong enumerators are refused by the parser.
                json_format.Parse(json.dumps(body), OFFICIAL[path]())
        scope = collector.requests[0][2]["resourceMetrics"][0]["scopeMetrics"][0]
        numbers = {m["name"]: m["gauge"]["dataPoints"][0] for m in scope["metrics"]}
        measured = place.verdict["measured_bps"]
        assert numbers["tightlink.measured"]["asDouble"] == measured, numbers
        assert numbers["tightlink.rtt"]["asDouble"] < 1, "the unit is seconds"
        assert re.fullmatch(r"\d{19}", numbers["tightlink.rtt"]["timeUnixNano"])
        record = collector.requests[1][2]["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
        assert record["body"]["stringValue"] and record["severityNumber"] == 9, record
    print("         official definitions:", "held" if OFFICIAL else f"skipped, {WHY}")


def check_otlp_refusals(programs):
    for status, code, says in ((401, 5, "does not take the token"), (500, 6, "failed (500)"),
                               (302, 6, "redirect")):
        collector = Collector(status)
        with Place(programs, f"[telemetry c]\nsystem = otlp\nurl = http://127.0.0.1:"
                             f"{collector.port}\ntoken_file = token\n") as place:
            done = place.send("c", code, says)
            assert done.stderr.count("tightlink:") == 1 and len(collector.requests) == 1, done


def check_prometheus(programs):
    with Place(programs, "[telemetry p]\nsystem = prometheus\nfile = FOLDER/t.prom\n"
                         "unmask = yes\n") as place:
        for _ in range(2):
            place.send("p")
        assert [n for n in os.listdir(place.folder) if "prom" in n] == ["t.prom"], "left over"
        with open(place.folder + "/t.prom") as file:
            text = file.read()
        assert os.stat(place.folder + "/t.prom").st_mode & 0o777 == 0o644
        sample = re.compile(r'[a-z_]+\{([a-z]+="(?:[^"\\\n]|\\.)*",?)+\} \S+$')
        names = []
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                names.append(line.split()[2])
                assert line.endswith(" gauge")
            elif not line.startswith("# HELP "):
                assert sample.match(line) and line.startswith(names[-1] + "{"), line
                float(line.rsplit(" ", 1)[1])
        assert len(names) == len(set(names)) and "tightlink_verdict" in names, names
        assert f'state="{place.verdict["state"]}",cause="{place.verdict.get("cause", "")}"' in text
        assert 'target="srv-b.example.net"' in text, "unmask = yes"
        os.mkdir(place.folder + "/gone")
        with open(place.config, "a") as file:
            file.write(f"[telemetry q]\nsystem = prometheus\nfile = {place.folder}/none/t.prom\n")
        place.send("q", 6, "No such file")


MESSAGE = re.compile(r'<13>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z - tightlink \d+ verdict '
                     r'\[tightlink@32473( [a-z_]+="(?:[^"\\\]]|\\["\\\]])*")+\] \ufeff.+', re.S)


def check_syslog(programs):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(20)
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        tcp.settimeout(20)
        with Place(programs, f"[telemetry u]\nsystem = syslog\naddress = 127.0.0.1:"
                             f"{udp.getsockname()[1]}\n[telemetry t]\nsystem = syslog\n"
                             f"transport = tcp\naddress = 127.0.0.1:{tcp.getsockname()[1]}\n") \
                as place:
            place.send("u")
            message = udp.recv(65536)
            assert MESSAGE.fullmatch(message.decode()) and len(message) <= 2048, message
            assert b"srv-b.example.net" not in message, "a name left unmasked"
            place.send("t")
            connection, _ = tcp.accept()
            with connection:
                connection.settimeout(20)
                data = b""
                while piece := connection.recv(65536):
                    data += piece
            length, _, framed = data.partition(b" ")
            assert int(length) == len(framed) and MESSAGE.fullmatch(framed.decode()), data
            tcp.close()
            place.send("t", 6, "refused")


def fill(path):
    """A journal that reads nothing any more."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.setblocking(False)
        try:
            while True:
                client.sendto(b"x", path)
        except BlockingIOError:
            pass


def check_journald(programs):
    with Place(programs, "[telemetry j]\nsystem = journald\naddress = FOLDER/socket\n") as place:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
            journal.bind(place.folder + "/socket")
            journal.settimeout(20)
            place.send("j")
            fields = dict(line.split("=", 1) for line in journal.recv(65536).decode().splitlines())
            fill(place.folder + "/socket")
            place.send("j", 6, "timed out")
        assert fields["SYSLOG_IDENTIFIER"] == "tightlink" and fields["PRIORITY"] == "5", fields
        assert fields["TIGHTLINK_STATE"] == place.verdict["state"], fields
        assert fields["MESSAGE"] == place.verdict["sentence"], fields
        assert all(re.fullmatch("[A-Z][A-Z_]*", key) for key in fields), fields


def check_configurations(programs):
    for section, says in (("system = carrier-pigeon", "there is no system carrier-pigeon; there are otlp, prometheus"),
                          ("system = otlp", "url is missing"),
                          ("system = syslog\naddress = a\ntransport = sctp", "is udp or tcp"),
                          ("system = journald\nfile = x", "no key of this system"),
                          ("system = journald\nunmask = maybe", "is yes or no"),
                          ("system = otlp\ntoken = x", "a secret does not belong here")):
        with Place(programs, f"[telemetry x]\n{section}\n") as place:
            place.send("x", 6 if "secret" in says else 2, says)
    with Place(programs, "") as place:
        place.send("x", 2, "has no [telemetry x]")


def main():
    programs = [os.path.abspath(path) for path in sys.argv[1:3]]
    failed = 0
    for check in (check_otlp, check_otlp_refusals, check_prometheus, check_syslog, check_journald,
                  check_configurations):
        try:
            check(programs)
            print("ok      ", check.__name__.replace("_", " "), flush=True)
        except Exception:
            failed += 1
            print(f"FAILED   {check.__name__}\n{traceback.format_exc(limit=-4)}", flush=True)
    return 1 if failed else 0


sys.exit(main())
