#!/usr/bin/env python3
"""The same faults against each kind of far end: what is said of them, for how long and how many bytes.

    far_ends.py IN_PATH TIGHTLINK TIGHTLINKD --out FILE [--far KIND[=PROGRAM]]... [--only RE]
                [--skip-done] [--for SECONDS] [--keep DIR]
    far_ends.py --from FILE... [--again TIGHTLINK --keep DIR] [--report DOC]

KIND is tightlink, iperf3, nuttcp, ndt7 (the reference server), https or http (nginx); PROGRAM is that
server's, where it is not the one on PATH. Servers run on the far host of the emulated path, in a PID
namespace of their own that dies with it. Each cell is run once, on a machine that keeps time, and
once more only where the emulator itself was held up. The truth comes from oracle.py, what counts as
right from matrix.py.

  --out FILE      appends one JSON line a run, so that the table can be made in pieces
  --skip-done     leaves out what FILE holds
  --for SECONDS   begins no run after this time
  --keep DIR      keeps each run's document there
  --from FILE...  runs nothing: prints the table of these files, the last line of a cell counting
  --again PROGRAM with --from and --keep: PROGRAM judges the kept documents again
  --report DOC    puts it into that page, between its markers

Exit 1 where an answer was wrong; 77: this machine permits no emulated path."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "realtime")]
import fitness  # noqa: E402 (it lies beside)
import matrix  # noqa: E402

SKIP = 77
TIMEOUT_S = 240
FIT_S = 60
BEGIN, END = "<!-- made by tests/lab/far_ends.py -->", "<!-- end of what it made -->"

# (name, path, direction)
CASES = (
    ("receive window, this PC", "rate=300M delay=40ms near.rmem=512KiB", "download"),
    ("receive window, far end", "rate=200M delay=25ms far.rmem=256KiB", "upload"),
    ("send buffer, far end", "rate=200M delay=20ms far.wmem=128KiB", "download"),
    ("send buffer, this PC", "rate=200M delay=20ms near.wmem=128KiB", "upload"),
    ("loss, down", "rate=300M delay=20ms down.loss=0.1%", "download"),
    ("loss, up", "rate=300M delay=20ms up.loss=0.1%", "upload"),
    ("policer, down", "rate=500M delay=15ms down.policer=40M/150kB", "download"),
    ("policer, up", "rate=500M delay=15ms up.policer=40M/150kB", "upload"),
    ("capacity, down", "rate=50M delay=10ms", "download"),
    ("capacity, up", "rate=50M delay=10ms", "upload"),
    ("black hole, down", "rate=100M delay=10ms wan-mtu=1300 icmp=off", "download"),
    ("black hole, up", "rate=100M delay=10ms wan-mtu=1300 icmp=off", "upload"),
    ("bufferbloat, down", "rate=10M delay=10ms queue=1MB", "download"),
    ("bufferbloat, up", "rate=10M delay=10ms queue=1MB", "upload"),
    ("processor, this PC", "plain=on near.cpu=15%", "download"),
    ("processor, far end", "plain=on far.cpu=15%", "download"),
)

# Web servers give a file; to take one they need a program of their own behind them.
NO_UPLOADS = ("https", "http")
HEADS = {"tightlink": "responder", "ndt7": "ndt7", "https": "https", "http": "http"}
PORTS = {"iperf3": 5201, "nuttcp": 5000, "ndt7": 443, "https": 443, "http": 80}
SERVERS = {
    "iperf3": '"$P" -s',
    "nuttcp": '"$P" -S --nofork',
    "ndt7": '"$P" -cert "$D/cert" -key "$D/key" -ndt7_addr :443 -ndt7_addr_cleartext :9080 '
            '-ndt5_addr :9081 -ndt5_ws_addr :9082 -ndt5_wss_addr :9083 -health_addr :9084 '
            '-prometheusx.listen-address=127.0.0.1:9990 -datadir "$D" -compress-results=false',
    "https": '"$P" -p "$D" -c "$D/nginx.conf"',
    "http": '"$P" -p "$D" -c "$D/nginx.conf"',
}
PROGRAMS = {"ndt7": "ndt-server", "https": "nginx", "http": "nginx"}
# The reference server sends with BBR, whatever its host has.
SENDS_WITH = {"ndt7": " far.cc=bbr"}
TARGETS = {"https": "https://{far}/big", "http": "http://{far}/big"}
NGINX = """daemon off; user root; pid {d}/nginx.pid; error_log {d}/nginx.log; worker_processes 1;
events {{ }}
http {{
  access_log off; sendfile on; default_type application/octet-stream;
  client_body_temp_path {d}/t; proxy_temp_path {d}/t; fastcgi_temp_path {d}/t;
  uwsgi_temp_path {d}/t; scgi_temp_path {d}/t;
  server {{ listen 80; listen 443 ssl; ssl_certificate {d}/cert; ssl_certificate_key {d}/key; root {d}/served; }}
}}
"""

# What stands in for the responder: it serves beside it, as PID 1 of a namespace.
SERVE = """#!/bin/bash
exec unshare --pid --fork --kill-child "$D/far" "$@"
"""
FAR = """#!/bin/bash
ulimit -n 4096
[ -z "$PORT" ] || {{
  {server} >"$D/server.log" 2>&1 </dev/null &
  for i in $(seq 100); do grep -qi "$(printf ':%04X ' $PORT).* 0A " /proc/net/tcp /proc/net/tcp6 && break; sleep 0.1; done
}}
exec "$TIGHTLINKD" "$@"
"""


def certificate(folder):
    """For the far host's addresses in a lab, valid for an hour or so."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "1", "-subj", "/CN=far", "-keyout", folder / "key", "-out",
         folder / "cert", "-addext", "subjectAltName=" + ",".join(
             [f"IP:10.99.{net}.2" for net in range(1, 9)] + [f"IP:10.99.1.{n}" for n in (1, 3)])],
        check=True, capture_output=True)


def prepare(folder, kind):
    for name, text in (("serve", SERVE), ("far", FAR.format(server=SERVERS.get(kind, ":"))),
                       ("nginx.conf", NGINX.format(d=folder))):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "served").mkdir()
    with open(folder / "served/big", "wb") as big:  # random: nothing on the way can pack it
        for _ in range(64):
            big.write(os.urandom(1 << 24))
    certificate(folder)


class Server:
    """What one kind needs for all its runs."""

    def __init__(self, kind, program, root):
        self.kind = kind
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"far-{kind}-", dir=root))
        self.program = program or shutil.which(PROGRAMS.get(kind, kind)) or ""
        prepare(self.folder, kind)

    def environment(self, tools):
        port = str(PORTS.get(self.kind, ""))
        return dict(os.environ, D=str(self.folder), P=self.program, PORT=port, T=tools.tightlink,
                    TIGHTLINKD=tools.tightlinkd, SSL_CERT_FILE=str(self.folder / "cert"))

    def target(self):
        return TARGETS.get(self.kind, self.kind + "://{far}").format(far="$FAR")


def run_once(tools, server, case):
    """(document or None, what was said, the emulator's complaint or None, seconds)."""
    name, spec, direction = case
    script = (f'"$T" run "{server.target()}" --direction {direction} --json --yes --no-history '
              '> "$D/run.json" 2> "$D/said"')
    began = time.monotonic()
    with open(server.folder / "lab", "wb") as said:
        try:
            done = subprocess.run([tools.in_path, spec, server.folder / "serve", "bash", "-c", script],
                                  env=server.environment(tools), stdin=subprocess.DEVNULL,
                                  stdout=said, stderr=said, timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            return None, f"no answer in {TIMEOUT_S} s", None, TIMEOUT_S
    took = time.monotonic() - began
    lab = (server.folder / "lab").read_text(errors="replace").strip()
    if done.returncode == SKIP:
        print("skipped:", lab)
        sys.exit(SKIP)
    said = (server.folder / "said").read_text(errors="replace").strip()
    text = (server.folder / "run.json").read_text()
    held = next((line for line in lab.splitlines() if line.startswith("held up: ")), None)
    return json.loads(text) if text else None, said or lab, held, took


def truth_of(kind, case):
    spec = case[1] + (SENDS_WITH.get(kind, "") if case[2] == "download" else "")
    return {"spec": spec, "direction": case[2], "goal_bps": 0}


def kept_at(folder, name, kind):
    return pathlib.Path(folder) / f"{name.replace(' ', '-')}-{kind}.json"


def judge_again(options, cells):
    for case in CASES:
        for (name, kind), row in cells.items():
            kept = kept_at(options.keep, name, kind)
            if name != case[0] or not kept.exists():
                continue
            said = subprocess.run([options.again, "explain", kept, "--json"], capture_output=True,
                                  text=True, timeout=60, check=False).stdout
            cells[name, kind] = {**row, **matrix.judged(json.loads(said), truth_of(kind, case))}


def result_of(tools, server, case):
    name, spec, direction = case
    figures = fitness.wait(FIT_S)
    result = {"case": name, "far": server.kind, "program": matrix.program_id(tools.tightlink),
              "spec": spec, "direction": direction}
    if not figures.fit():
        return {**result, "outcome": "unfit", "said": str(figures)}
    for _ in range(2):
        document, said, held, took = run_once(tools, server, case)
        if not held:
            break
    result |= {"seconds": round(took, 1), "held_up": held, "said": said[-300:]}
    if document is None:
        return {**result, "outcome": "failed"}
    if tools.keep:
        pathlib.Path(tools.keep).mkdir(parents=True, exist_ok=True)
        kept_at(tools.keep, name, server.kind).write_text(json.dumps(document))
    result |= matrix.judged(document, truth_of(server.kind, case))
    return {**result, "seconds": round(document["run"]["duration_ns"] / 1e9, 1)}


def units(bps):
    return f"{bps / 1e9:.3g} Gb/s" if bps >= 1e9 else f"{bps / 1e6:.3g} Mb/s"


def cell(result):
    if result is None:
        return ""
    cost = f"; {result.get('seconds', 0):.0f} s, {result.get('megabytes', 0):.0f} MB"
    if result["outcome"] in ("right", "not-placed"):
        bps = result.get("ceiling_bps")
        number = f" {units(bps)}," if bps else ""
        return f"right,{number} {result['confidence']:.2f}{cost}"
    if result["outcome"] == "cannot-tell":
        return f"?{cost}"
    if result.get("state") == "invalid":
        return f"not run: {result['reasons'][0] if result['reasons'] else result['said']}{cost}"
    if result["outcome"] in ("unfit", "failed"):
        return result["outcome"]
    return f"**wrong**: {result.get('cause')} at {result.get('segment')}{cost}"


def last_of(paths):
    cells = {}
    for path in paths:
        for line in pathlib.Path(path).read_text().splitlines():
            row = json.loads(line)
            cells[row["case"], row["far"]] = row
    return cells


def table(cells):
    kinds = [kind for kind in ("tightlink", "iperf3", "nuttcp", "ndt7", "https", "http")
             if any(far == kind for _, far in cells)]
    lines = ["| fault | " + " | ".join(HEADS.get(kind, kind) for kind in kinds) + " |",
             "|---" * (len(kinds) + 1) + "|"]
    for name, spec, direction in CASES:
        if any((name, kind) in cells for kind in kinds):
            lines.append(f"| {name}: `{spec}` | "
                         + " | ".join(cell(cells.get((name, kind))) for kind in kinds) + " |")
    return "\n".join(lines) + "\n"


def report(path, text):
    page = pathlib.Path(path).read_text()
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    pathlib.Path(path).write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", nargs="*", metavar="IN_PATH TIGHTLINK TIGHTLINKD")
    parser.add_argument("--far", action="append", default=[])
    parser.add_argument("--only", default="")
    parser.add_argument("--out")
    parser.add_argument("--skip-done", action="store_true")
    parser.add_argument("--for", dest="seconds", type=float, default=float("inf"))
    parser.add_argument("--keep")
    parser.add_argument("--from", dest="sources", nargs="+", default=[])
    parser.add_argument("--again")
    parser.add_argument("--report")
    options = parser.parse_args()
    if not options.sources and len(options.tools) != 3:
        parser.error("IN_PATH TIGHTLINK TIGHTLINKD, or --from")
    if options.tools:
        options.in_path, options.tightlink, options.tightlinkd = map(os.path.abspath, options.tools)
    return options


def wanted(options, done):
    for far in options.far or list(HEADS | PORTS):
        kind, _, program = far.partition("=")
        for case in CASES:
            upload_to_web = kind in NO_UPLOADS and case[2] == "upload"
            if not upload_to_web and (case[0], kind) not in done \
                    and re.search(options.only, f"{case[0]} {kind}"):
                yield kind, program, case


def run_all(options):
    done = last_of([options.out]) if options.skip_done and os.path.exists(options.out) else {}
    end, servers, cells = time.monotonic() + options.seconds, {}, {}
    with tempfile.TemporaryDirectory(prefix="tightlink-far-") as root:
        for kind, program, case in wanted(options, done):
            if time.monotonic() > end:
                break
            servers.setdefault(kind, None)
            servers[kind] = servers[kind] or Server(kind, program, root)
            result = result_of(options, servers[kind], case)
            cells[case[0], kind] = result
            print(f"{case[0]:26} {kind:10} {cell(result)}  {result.get('problems') or ''} "
                  f"{result.get('sentence') or result.get('said') or ''}", flush=True)
            if options.out:
                with open(options.out, "a") as out:
                    out.write(json.dumps(result) + "\n")
    return cells


def main():
    options = parse_options()
    cells = last_of(options.sources) if options.sources else run_all(options)
    if options.again:
        judge_again(options, cells)
    if options.sources:
        print(table(cells))
    if options.report:
        report(options.report, table(cells))
    return 1 if any(row["outcome"].startswith("wrong") for row in cells.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
