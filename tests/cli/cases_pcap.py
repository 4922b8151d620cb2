"""Captures that others made: judged, refused, cut in the middle. Made here, with exact truth."""
import gzip
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time

from harness import Daemon, Skip, case, is_plain, tightlink, validate

MSS = 1448
CLIENT, SERVER = 1, 2


class Capture:
    """A pcap file in memory: TCP over IPv4, raw, with times in ns."""

    def __init__(self):
        self.bytes = struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 262144, 101)
        self.time_ns = 1_700_000_000_000_000_000
        self.number = 0

    def add(self, sender, flags, seq, ack, length=0, window=1000, options=b""):
        self.number += 1
        tcp = struct.pack(">HHIIBBHHH", *((40000, 443) if sender == CLIENT else (443, 40000)), seq,
                          ack, (20 + len(options)) // 4 << 4, flags, window, seq & 0xffff, 0)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp) + len(options) + length,
                         self.number & 0xffff, 0x4000, 64, 6, 0, bytes((10, 0, 0, sender)),
                         bytes((10, 0, 0, 3 - sender)))
        kept = ip + tcp + options
        seconds, ns = divmod(self.time_ns, 10**9)
        self.bytes += struct.pack("<IIII", seconds, ns, len(kept), len(kept) + length) + kept

    def shake(self, to_server_ms, to_client_ms, window, scale=7):
        options = struct.pack(">BBHBBBBBBBB", 2, 4, MSS, 1, 3, 3, scale, 1, 1, 4, 2)
        self.add(CLIENT, 2, 999, 0, options=options)
        self.wait(to_server_ms)
        self.add(SERVER, 0x12, 999, 1000, options=options)
        self.wait(to_client_ms)
        self.add(CLIENT, 0x10, 1000, 1000, window=window)

    def wait(self, ms):
        self.time_ns += int(ms * 1e6)


def window_limited(rounds=200, rtt_ms=25):
    """The server sends a window of 20 segments in each round trip; captured beside it."""
    capture, window = Capture(), 20 * MSS // 128
    capture.shake(0.05, rtt_ms, window)
    seq = 1000
    for _ in range(rounds):
        end = seq + window * 128
        while seq < end:
            capture.add(SERVER, 0x10, seq, 1000, min(MSS, end - seq))
            capture.wait(0.01)
            seq += min(MSS, end - seq)
        capture.wait(rtt_ms - 0.2)
        capture.add(CLIENT, 0x10, 1000, seq, window=window)
    return capture.bytes


def run(machine, data, *options, name="-"):
    return subprocess.run([machine.tightlink, "pcap", name, *options], input=data,
                          capture_output=True, timeout=60)


@case("pcap")
def window(machine):
    """a capture of a window-limited transfer names the receiver's window"""
    result = run(machine, window_limited(), "--json")
    document = json.loads(result.stdout)
    validate(machine, document)
    assert document["run"]["target"]["kind"] == "pcap", document["run"]["target"]
    verdict = document["verdict"]
    assert (verdict["cause"], verdict["segment"]) == ("receive-window", "near-host"), verdict
    truth = 20 * MSS // 128 * 128 * 8 / 0.025
    assert abs(verdict["ceiling_bps"] / truth - 1) < 0.1, (verdict, truth)
    assert len(document["flows"]) == 1 and document["flows"][0]["captured"] == "at the sender"
    assert "this PC" not in verdict["sentence"], verdict["sentence"]


@case("pcap")
def named(machine):
    """a report on a capture's document names the ends of the capture, not this machine"""
    document = run(machine, window_limited(), "--json").stdout
    report = subprocess.run([machine.tightlink, "explain", "-"], input=document,
                            capture_output=True, timeout=60)
    text = report.stdout.decode()
    assert report.returncode == 0 and "client 10.0.0.1:40000" in text, report
    assert "10.0.0.2:443" in text, text
    for word in ("this PC", "This PC", "far end limits"):
        assert word not in text, text


@case("pcap")
def packed(machine):
    """the same packed with gzip, and as text"""
    result = run(machine, gzip.compress(window_limited()))
    text = result.stdout.decode()
    assert result.returncode == 0 and "explain receive-window" in text and "gzip" in text, result
    assert "if it runs macOS" in text and "confidence: " in text, text
    assert "10.0.0.2:443 -> 10.0.0.1:40000" in text, text


@case("pcap")
def unanswered(machine):
    """a segment that nobody ever answers is no large packet that vanishes: nobody is accused"""
    capture = Capture()
    for wait_ms in (0, 200, 600, 1200, 2400, 4800):
        capture.wait(wait_ms)
        capture.add(CLIENT, 0x18, 1000, 1000, 1400)
    document = json.loads(run(machine, capture.bytes, "--json").stdout)
    verdict = document["verdict"]
    assert verdict["state"] == "inconclusive", verdict
    assert "nothing that was sent was answered" in verdict["sentence"], verdict
    assert not [f for f in document["findings"] if f["result"] == "found"], document["findings"]
    assert "last 9.20 s" in document["run"]["quality"]["reasons"][0], document["run"]["quality"]


@case("pcap")
def black_hole(machine):
    """with a handshake that passed it is one, though its size is not known"""
    capture = Capture()
    capture.shake(0.05, 20, 500)
    for wait_ms in (10, 200, 600, 1200, 2400):
        capture.wait(wait_ms)
        capture.add(CLIENT, 0x18, 1000, 1000, MSS)
    verdict = json.loads(run(machine, capture.bytes, "--json").stdout)["verdict"]
    assert verdict.get("cause") == "mtu-black-hole", verdict
    assert "unknown" not in verdict["sentence"], verdict


def zero_window(probes, last_ms=0):
    """600 kB, then the client's window stays shut, and the server asks again and again or not."""
    capture, seq = Capture(), 1000
    capture.shake(0.05, 10, 4000)
    for _ in range(40):
        for _ in range(10):
            capture.add(SERVER, 0x10, seq, 1000, MSS)
            seq += MSS
        capture.wait(10)
        capture.add(CLIENT, 0x10, 1000, seq, window=4000)
    capture.add(CLIENT, 0x10, 1000, seq, window=0)
    wait_ms = 200
    for _ in range(probes):
        capture.wait(wait_ms)
        wait_ms *= 2
        capture.add(SERVER, 0x10, seq - 1, 1000)
        capture.wait(10)
        capture.add(CLIENT, 0x10, 1000, seq, window=0)
    capture.wait(last_ms)
    capture.add(CLIENT, 0x11, 1000, seq, window=0)
    return capture.bytes


@case("pcap")
def receiver_stopped(machine):
    """a program that takes nothing any more is the verdict, however short the transfer was before"""
    verdict = json.loads(run(machine, zero_window(5), "--json").stdout)["verdict"]
    assert (verdict.get("cause"), verdict.get("segment")) == ("receiver-app", "near-host"), verdict
    assert "took nothing for 6." in verdict["sentence"], verdict
    text = run(machine, zero_window(5)).stdout.decode()
    assert "Fix: on the client" in text and "takes only" not in text, text


@case("pcap")
def nothing_more_to_send(machine):
    """a window that is shut before a sender that asks for no room holds nobody up"""
    verdict = json.loads(run(machine, zero_window(0, last_ms=7000), "--json").stdout)["verdict"]
    assert verdict["state"] == "inconclusive", verdict


@case("pcap")
def cut(machine):
    """a capture that ends in the middle is judged up to there, and says where it breaks"""
    data = window_limited()
    document = json.loads(run(machine, data[:-7], "--json").stdout)
    validate(machine, document)
    assert "ends in the middle" in document["capture"]["broken"], document["capture"]
    assert document["verdict"]["cause"] == "receive-window", document["verdict"]
    assert document["run"]["quality"]["status"] == "degraded", document["run"]["quality"]


@case("pcap")
def refused(machine):
    """what is no capture is refused with a sentence"""
    for data in (b"", b"hello", b"\x1f\x8b\x08rubbish", window_limited()[:24]):
        result = run(machine, data)
        assert result.returncode == 2 and not result.stdout, result
        assert is_plain(result.stderr.decode()), result.stderr
    missing = run(machine, b"", name="/nonexistent/file.pcap")
    assert missing.returncode == 2 and b"/nonexistent/file.pcap" in missing.stderr, missing
    flow = run(machine, window_limited(), "--flow", "7")
    assert flow.returncode == 2 and b"there is no flow 7" in flow.stderr, flow


def skip_without_helper(code, err, path):
    if code in (3, 5):  # no helper, or not permitted: it says which
        assert b"libpcap" in err or b"setcap cap_net_raw=ep" in err, err
        assert not os.path.exists(path), path
        raise Skip(err.decode().strip())


@case("pcap")
def captured(machine):
    """a capture of one port has its headers, ends in time and leaves the payload out"""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        path = os.path.join(folder, "c.pcap")
        port = server.getsockname()[1]
        begin = time.monotonic()
        process = subprocess.Popen([machine.tightlink, "capture", f":{port}", "--for", "3s", "-o",
                                    path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while process.poll() is None and time.monotonic() < begin + 2.5:  # until it has ended
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"PAYLOAD" * 100)
                server.accept()[0].close()
            time.sleep(0.1)
        out, err = process.communicate(timeout=20)
        skip_without_helper(process.returncode, err, path)
        assert process.returncode == 0 and path.encode() in out, (out, err)
        assert int(err.splitlines()[-1].split()[0]) > 4, err  # "12 packets"
        with open(path, "rb") as file:
            data = file.read()
        assert b"PAYLOAD" not in data
        flows = json.loads(run(machine, data, "--json").stdout)["flows"]
        assert any(str(port) in flow["server"] for flow in flows), flows


@case("pcap")
def capture_ended(machine):
    """each signal that ends a capture, sent to the command alone, ends it with what it has"""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "c.pcap")
            process = subprocess.Popen([machine.tightlink, "capture", ":9", "--for", "1h", "-o",
                                        path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       start_new_session=True)
            begun = process.stderr.readline()  # "headers go to ..."
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            skip_without_helper(process.returncode, begun + err, path)
            assert process.returncode == 0 and path.encode() in out, (number, out, begun, err)
            assert b"packets" in err and os.path.getsize(path) >= 24, (number, err)


@case("pcap")
def capture_refused(machine):
    """without a name, or with one that is nothing, no capture begins"""
    for argv in ([], [":0"], ["pid:999999999"], [":443", "--for", "0s"]):
        result = subprocess.run([machine.tightlink, "capture", *argv], capture_output=True,
                                timeout=20)
        assert result.returncode == 2 and is_plain(result.stderr.decode()), (argv, result)


def captured_run(machine, *options):
    """A short run with --capture: its result, and the files in its state directory."""
    with tempfile.TemporaryDirectory() as folder, Daemon(machine) as daemon:
        env = {**os.environ, "XDG_STATE_HOME": folder}
        result = tightlink(machine, "run", "127.0.0.1", "--port", daemon.port, "--yes",
                           "--no-history", "--capture", "--data-budget", "200MB", "--time-budget",
                           "3s", "--stages", "stream", *options, env=env)
        kept = os.path.join(folder, "tightlink")
        files = sorted(os.listdir(kept)) if os.path.isdir(kept) else []
        return result, daemon.port, [open(os.path.join(kept, file), "rb").read() for file in files]


@case("pcap")
def of_a_run(machine):
    """run --capture keeps the packets of the run and judges its connections"""
    result, port, files = captured_run(machine)
    if "without a capture" in result.err:  # the run itself is none the worse
        assert result.code in (0, 4) and "Run 0" in result.out and not files, result
        assert "libpcap" in result.err or "setcap cap_net_raw=ep" in result.err, result
        raise Skip(result.err.strip())
    assert len(files) == 1 and "The packets of this run" in result.out, result
    assert f"127.0.0.1:{port}" in result.out, result
    flows = json.loads(run(machine, files[0], "--json").stdout)["flows"]
    own = [flow for flow in flows if flow["server"].endswith(f":{port}")]
    assert max(flow["payload_bytes"] for flow in own) > 5e6, own  # the test's own connection
    assert len(files[0]) < sum(flow["payload_bytes"] for flow in own), len(files[0])


@case("pcap")
def of_a_run_as_document(machine):
    """the document of such a run has the connections of its capture, judged like those of a file"""
    result, port, files = captured_run(machine, "--json")
    document = result.document()
    validate(machine, document)
    assert document["run"]["target"]["kind"] == "tightlink", document["run"]["target"]
    if not files:
        assert "flows" not in document and "without a capture" in result.err, result
        raise Skip(result.err.strip())
    alone = json.loads(run(machine, files[0], "--json").stdout)
    for of_run, of_file in zip(document["flows"], alone["flows"], strict=True):
        assert of_run["server"] == of_file["server"], (of_run, of_file)
        assert of_run.get("verdict") == of_file.get("verdict"), (of_run, of_file)
    assert any(flow["server"].endswith(f":{port}") for flow in document["flows"])


@case("pcap")
def of_a_run_refused(machine):
    """--capture is no option of a demo"""
    tightlink(machine, "demo", "clean", "--capture").check(2, "--capture are options of run")


@case("pcap")
def plotted(machine):
    """a flow that is saved has plots in its HTML report: their values are those of the packets"""
    with tempfile.TemporaryDirectory() as folder:
        kept, page = os.path.join(folder, "slow.tightlink"), os.path.join(folder, "slow.html")
        result = run(machine, window_limited(), "--save", kept)
        assert result.returncode == 0 and b"slow.tightlink" in result.stderr, result
        tightlink(machine, "export", kept, "--unmask", "--out", page).check(0)
        with open(page, encoding="utf-8") as file:
            html = file.read()
    for title, most in (("Throughput", 20 * MSS // 128 * 128 * 8 / 0.025 / 1e6),
                        ("Data on the way", 20 * MSS // 128 * 128 / 1024)):
        chart = html[html.index(f"<title>{title}"):].split("</svg>")[0]
        top = float(re.search(r'class="d">([0-9.]+) (?:Mb/s|KiB)<', chart)[1])  # of the axis
        # Five segments leave while an acknowledgement is on its last 0.05 ms to the sender.
        assert 0.95 < top / 1.05 / most < 1.3, (title, top, most)
        assert "<polyline" in chart, chart
    assert "Sequence over time" in html and "Round-trip time" in html
    edges = html[html.index("<title>From below: acknowledged, sent"):].split("</svg>")[0]
    lines = [[float(pair.split(",")[1]) for pair in points.split()] for points in
             re.findall(r'<polyline class="l l[012]" points="([^"]*)"', edges)]
    assert len(lines) == 3 and len(set(map(len, lines))) == 1, edges
    for acked, sent, window in zip(*lines):  # down is more in a picture
        assert acked >= sent >= window - 1, (acked, sent, window)


@case("pcap")
def saved_as_its_name_says(machine):
    """--save under a name that ends in .json writes the document, which show and explain open"""
    with tempfile.TemporaryDirectory() as folder:
        kept = os.path.join(folder, "slow.json")
        result = run(machine, window_limited(), "--save", kept)
        assert result.returncode == 0 and b"slow.json, as JSON" in result.stderr, result
        with open(kept, encoding="utf-8") as file:
            document = json.load(file)
        assert document["verdict"]["cause"] == "receive-window", document["verdict"]
        tightlink(machine, "explain", kept).check(0)


@case("pcap")
def not_tried_from_here(machine):
    """no fix of a captured flow can be tried from here, and nothing is sent"""
    with tempfile.TemporaryDirectory() as folder:
        kept = os.path.join(folder, "slow.json")
        result = run(machine, window_limited(), "--json")
        with open(kept, "wb") as file:
            file.write(result.stdout)
        tightlink(machine, "verify", kept, "--yes").check(
            2, "this is another program's transfer: tightlink run HOST tries a fix on its way")


@case("pcap")
def masked(machine):
    """export of a capture: other addresses, no payload, the same judgement; a file stays as it is"""
    with tempfile.TemporaryDirectory() as folder:
        there, out = os.path.join(folder, "slow.pcap"), os.path.join(folder, "masked.pcap")
        secret = b"A secret of the user"
        data = window_limited()
        with open(there, "wb") as file:  # and a packet with payload, of an address of its own
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(secret), 1, 0x4000, 64, 6, 0,
                             bytes((203, 0, 113, 77)), bytes((10, 0, 0, 2)))
            kept = ip + struct.pack(">HHIIBBHHH", 5, 6, 1, 1, 0x50, 0x10, 9, 0x1234, 0) + secret
            file.write(data + struct.pack("<IIII", 1_700_000_900, 0, len(kept), len(kept)) + kept)
        result = tightlink(machine, "export", there, "--out", out).check(0)
        assert "3 addresses" in result.err and "0 that are no TCP" in result.err, result.err
        assert os.stat(out).st_mode & 0o777 == 0o600
        with open(out, "rb") as file:
            bytes_out = file.read()
        for inside in (secret, bytes((203, 0, 113, 77))):
            assert inside not in bytes_out, inside
        sums = set()  # of the last packet, by chance in each export
        for number in range(4):
            again = f"{out}-{number}.pcap"
            tightlink(machine, "export", there, "--out", again).check(0)
            with open(again, "rb") as file:
                sums.add(file.read().partition(struct.pack(">HHII", 5, 6, 1, 1))[2][4:6])
        assert len(sums) > 1, f"a checksum tells the addresses: {sums}"
        before, after = (json.loads(run(machine, b"", "--json", name=name).stdout)
                         for name in (there, out))
        assert before["verdict"]["cause"] == "receive-window", before["verdict"]
        for one, other in zip(before["flows"], after["flows"], strict=True):
            same = set(one) - {"client", "server", "wire_bytes"}
            assert {key: one[key] for key in same} == {key: other[key] for key in same}, other
            assert one["client"].split(":")[1] == other["client"].split(":")[1], other
        kept = os.path.join(folder, "flow.tightlink")
        tightlink(machine, "pcap", there, "--save", kept).check(0, f"saved in {kept};")
        with open(kept, "rb") as file:
            before = file.read()
        beside = os.path.join(folder, "flow-2.tightlink")
        tightlink(machine, "pcap", there, "--save", kept).check(
            0, f"{kept} is there already and stays as it is; saved in {beside};")
        with open(kept, "rb") as file:
            assert file.read() == before and os.path.exists(beside)
        tightlink(machine, "export", there, "--out", out).check(6, "stays as it is; this name is free: .*masked-2.pcap")
        tightlink(machine, "export", there, "--unmask", "--out", out + "2.pcap").check(2, "masked")
        tightlink(machine, "export", __file__, "--out", out + "3.pcap").check(2, "neither pcap")
        assert not os.path.exists(out + "3.pcap")


@case("pcap")
def drawn_as_text(machine):
    """the text has rows of the flow over time, in the letters of the locale"""
    for locale, letter in (("C.UTF-8", "█"), ("C", "#")):
        result = subprocess.run([machine.tightlink, "pcap", "-"], input=window_limited(),
                                capture_output=True, timeout=60,
                                env={**os.environ, "LC_ALL": locale})
        text = result.stdout.decode()
        rows = re.findall(r"^  (throughput|round trip|on the way) +(\S+) (.*)$", text, re.M)
        assert [row[0] for row in rows] == ["throughput", "round trip", "on the way"], text
        assert all(len(row[1]) == 56 and letter in row[1] for row in rows), rows
        assert rows[1][2] == "24.9 ms", rows  # ms: the round trip of the script
