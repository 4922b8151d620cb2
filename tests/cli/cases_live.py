"""Transfers that other programs run: watched, named and judged, without sending anything."""
import json
import os
import signal
import socket
import subprocess
import sys
import time

from harness import (NOBODY, Skip, case, is_plain, json_lines, lo_bytes, start, tightlink,
                     validate)

# A program that reads all, and one that sends at a rate of its own. It pauses for far longer than a
# busy machine keeps us from the next reading: shorter pauses are rightly unknown there.
EACH_NS = 100_000_000
EACH_BYTES = 200_000
READER = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
while connection.recv(1 << 16): pass
"""
WRITER = """
import socket, sys, time
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
end = time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    connection.sendall(bytes(int(sys.argv[2])))
    time.sleep(%g)
""" % (EACH_NS / 1e9)


class Transfer:
    """Two programs of ours with one connection over loopback, for at most `seconds`."""

    def __init__(self, each_bytes=EACH_BYTES, seconds=20, reader=READER, **options):
        self.reader = subprocess.Popen([sys.executable, "-c", reader], stdout=subprocess.PIPE,
                                       **options)
        self.port = int(self.reader.stdout.readline())
        self.writer = subprocess.Popen([sys.executable, "-c", WRITER, str(self.port),
                                        str(each_bytes), str(seconds)], **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (self.writer, self.reader):
            process.kill()
            process.wait()


@case("live")
def a_program_that_sends_seldom_is_the_cause(machine):
    with Transfer() as transfer:
        result = tightlink(machine, "live", f"pid:{transfer.writer.pid}", "--for", "7s", "--json")
    document = result.document()
    validate(machine, document)
    assert document["run"]["target"]["kind"] == "live", document["run"]
    assert document["verdict"]["state"] == "limited", document["verdict"]
    assert document["verdict"]["cause"] == "sender-app", document["verdict"]
    assert document["verdict"]["segment"] == "near-host", document["verdict"]


# One that reads some, and then nothing more while its sender has more.
STUCK_READER = """
import socket, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
for _ in range(100): connection.recv(1 << 16)
time.sleep(60)
"""


@case("live")
def a_program_that_takes_nothing_is_the_cause_at_either_end(machine):
    with Transfer(each_bytes=1 << 20, seconds=40, reader=STUCK_READER) as transfer:
        time.sleep(3)  # both buffers are full: it stands before it is watched
        ends = [(transfer.writer.pid, "far-host", "upload")]
        if tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) >= (6, 2):
            ends.append((transfer.reader.pid, "near-host", "download"))
        for pid, segment, direction in ends:
            result = tightlink(machine, "live", f"pid:{pid}", "--for", "8s", "--json")
            document = result.document()
            validate(machine, document)
            verdict = document["verdict"]
            assert (verdict["state"], verdict["cause"]) == ("limited", "receiver-app"), verdict
            assert (verdict["segment"], verdict["direction"]) == (segment, direction), verdict


@case("live")
def what_stands_still_is_said_and_comes_first(machine):
    with Transfer(each_bytes=1 << 20, seconds=40, reader=STUCK_READER) as stuck, Transfer() as moves:
        time.sleep(3)
        result = tightlink(machine, "live", "127.0.0.1", "--for", "3s", "--json-lines")
    events, _ = json_lines(result)
    flows = [flow for flow in events[-1]["flows"] if flow["direction"] == "upload"]
    ports = [int(flow["peer"].rpartition(":")[2]) for flow in flows]
    assert [flow["stands"] for flow in flows] == [True, False], flows
    assert ports == [stuck.port, moves.port], flows


@case("live")
def the_table_names_program_and_port(machine):
    with Transfer() as transfer:
        result = tightlink(machine, "live", f":{transfer.port}", "--for", "2s")
    assert result.out.count("python") >= 2, result
    assert f"127.0.0.1:{transfer.port}" in result.out, result
    assert is_plain(result.out), result
    long = [line for line in result.out.splitlines() if len(line) > 80]
    assert not long, long


@case("live")
def a_command_whose_child_holds_the_connection_is_found(machine):
    """scp leaves its connection to ssh, a shell to whatever it runs"""
    shell = subprocess.Popen(["sh", "-c", f"'{sys.executable}' -c '{READER}'; true"],
                             stdout=subprocess.PIPE)
    port = int(shell.stdout.readline())
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(port), str(EACH_BYTES), "8"])
    try:
        result = tightlink(machine, "live", f"pid:{shell.pid}", "--for", "2s")
    finally:
        writer.kill()
        writer.wait()
        shell.wait(10)
    assert "python" in result.out, result


@case("live")
def a_number_that_is_a_process_as_well_is_a_port_too(machine):
    """whoever types 5201 means iperf3's port, whatever process has that number"""
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        if 1024 <= pid <= 32767:
            try:
                listener = socket.create_server(("127.0.0.1", pid))
                break
            except OSError:
                continue
    else:
        raise Skip("no process here has a number that is free as a port")
    with listener:
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(pid), str(EACH_BYTES), "8"])
        connection, _ = listener.accept()
        try:
            reader = subprocess.Popen([sys.executable, "-c", """
import socket, sys
connection = socket.socket(fileno=int(sys.argv[1]))
while connection.recv(1 << 16): pass
""", str(connection.fileno())], pass_fds=[connection.fileno()])
            result = tightlink(machine, "live", pid, "--for", "2s")
        finally:
            writer.kill()
            writer.wait()
            connection.close()
            reader.wait(10)
    assert f"127.0.0.1:{pid}" in result.out, result


@case("live")
def a_process_of_another_network_namespace_is_told(machine):
    away = subprocess.Popen(["unshare", "--net", "sleep", "20"], stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        if away.poll() is not None:
            raise Skip("needs root to make a network namespace")
        tightlink(machine, "live", f"pid:{away.pid}", "--for", "1s").check(
            4, f"nsenter --target {away.pid} --net")
    finally:
        away.kill()
        away.wait()


@case("live")
def each_second_is_a_line_and_the_last_a_document(machine):
    with Transfer() as transfer:
        result = tightlink(machine, "live", transfer.port, "--for", "3s", "--json-lines")
    events, document = json_lines(result)
    assert 2 <= len(events) <= 3, result
    flows = events[-1]["flows"]
    assert {flow["direction"] for flow in flows} == {"upload", "download"}, flows
    rate = sum(flow["rate_bps"] for flow in flows) / 2
    assert 1e6 < rate < 17e6, "what the program writes at most: %s" % rate
    parts = [flow for flow in flows if flow["direction"] == "upload"][0]
    total = sum(parts[name] for name in ("app_ratio", "sndbuf_ratio", "rwnd_ratio",
                                         "network_ratio"))
    assert abs(total - 1) < 1e-6, parts
    validate(machine, document)


@case("live")
def it_sends_nothing(machine):
    """Other traffic than our own transfer is not there: the namespace is the test's."""
    if not machine.isolated:
        raise Skip("needs a network namespace of its own (root)")
    before = lo_bytes()
    tightlink(machine, "live", "--all", "--for", "2s")
    assert lo_bytes() == before


@case("live")
def what_is_not_shown_is_said(machine):
    """Nothing there: of what was asked for, or of all that leaves this machine."""
    tightlink(machine, "live", ":1", "--for", "1s").check(4, "no connection of that kind")
    said = tightlink(machine, "live", "--all", "--for", "1s")
    assert "of that kind" not in said.err and "--all shows" not in said.err, said


@case("live")
def short_connections_are_in_the_sum(machine):
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    live = subprocess.Popen([machine.tightlink, "live", f":{port}", "--for", "4s", "--json-lines"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    live.stdout.readline()
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", port)) as client:
            server, _ = listener.accept()
            client.sendall(bytes(10000))
            client.shutdown(socket.SHUT_WR)
            while server.recv(65536):
                pass
            server.close()
    events = [json.loads(line) for line in live.stdout.read().decode().splitlines()]
    live.wait()
    sums = [event["sum"] for event in events if event.get("event") == "live"]
    if not all(each["whole"] for each in sums):
        raise Skip("the kernel does not tell connections that end")
    moved = sum(each["received_bps"] for each in sums) / 8  # intervals of a second
    assert 150000 < moved < 260000, "20 of 10000 bytes each: %s of %s" % (moved, sums)


@case("live")
def an_ordinary_user_sees_rates_but_no_strangers_names(machine):
    if os.geteuid() != 0:
        raise Skip("needs root to become somebody else")
    with Transfer() as transfer:
        result = tightlink(machine, "live", f":{transfer.port}", "--for", "2s", user=NOBODY)
    assert "another user's" in result.out, result
    assert "python" not in result.out, result


@case("live")
def the_run_is_kept_in_the_history_or_not(machine):
    def kept():
        return len(tightlink(machine, "history").out.splitlines())

    with Transfer() as transfer:
        before = kept()
        tightlink(machine, "live", transfer.port, "--for", "2s", "--no-history")
        assert kept() == before
        tightlink(machine, "live", transfer.port, "--for", "2s")
        assert kept() == before + 1


@case("live")
def wrong_arguments_are_told(machine):
    tightlink(machine, "live", "pid:999999999").check(2, "there is no process")
    tightlink(machine, "live", "port:99999").check(2, "99999 is no port")
    tightlink(machine, "live", "a", "b").check(2, "name one")
    tightlink(machine, "live", "--for", "500ms").check(2, "a second at least")
    tightlink(machine, "live", "--nonsense").check(2, "no option of live")
    tightlink(machine, "live", "no-such-host.invalid", "--for", "1s", "--yes").check(
        3, "no-such-host")
    tightlink(machine, "live", "127.99.99.99", "--for", "1s").check(4, "no connection of that kind moved")


@case("live")
def a_name_is_looked_up_after_a_yes_alone(machine):
    """name servers learn of it: an address and a name of this machine ask nobody"""
    for words in (["live", "--for", "1s"], ["capture", "-o", "/dev/null", "--for", "1s"]):
        refused = tightlink(machine, words[0], "no-such-host.invalid", *words[1:])
        refused.check(2, "has to be looked up and no terminal is here to ask; add --yes")
        tightlink(machine, words[0], "no-such-host.invalid", "--yes", *words[1:]).check(
            3, "no-such-host.invalid: ")
    tightlink(machine, "live", "localhost", "--for", "1s").check(4, "no connection of that kind moved")


@case("live")
def ctrl_c_ends_it_with_what_was_seen(machine):
    with Transfer() as transfer:
        live = start(machine, "live", f":{transfer.port}", "--json-lines")
        live.await_line('"event":"live"')
        begin = time.monotonic()
        live.send(signal.SIGINT)
        result = live.result(10)
    assert time.monotonic() - begin < 5, result
    assert json.loads(result.out.splitlines()[-1])["format"] == "tightlink.findings/1", result
