"""Budgets are kept, and the result says what they cost."""
import json

from harness import Daemon, case, lo_bytes, resent_segments, tightlink, validate
from held import Held  # where the harness finds it

MB = 1000 * 1000
SEGMENT_MAX_BYTES = 65536  # of loopback


SEGMENT_MAX = 65536 + 14  # of loopback, with its header


def repeated_bytes():
    """At most what the kernel sent twice so far: where a processor is held up it takes segments for lost
    that have arrived, and one of them is a third of a percent of a budget of 20 MB."""
    with open("/proc/net/snmp") as table:
        names, values = [line.split() for line in table if line.startswith("Tcp:")]
    return int(values[names.index("RetransSegs")]) * SEGMENT_MAX


def moved(machine, port, *options):
    """Bytes on the wire in a run that are no repeats of the kernel's, and its document. Without
    `calibrate`, which moves what it can over the very interface whose bytes are counted here."""
    before, before_repeated = lo_bytes(), repeated_bytes()
    result = tightlink(machine, "run", "127.0.0.1", "--port", port, "--yes", "--json",
                       "--skip", "calibrate", *options)
    assert result.code in (0, 4), result
    document = json.loads(result.out)
    validate(machine, document)
    counted = document["run"]["sent_bytes"] + document["run"]["received_bytes"]
    wire = max(counted, lo_bytes() - before - (repeated_bytes() - before_repeated))
    return wire if machine.isolated else counted, counted, document


@case("budget")
def data_budget_is_kept(machine):
    with Daemon(machine) as daemon:
        for direction in ("download", "upload", "both"):
            resent = resent_segments()
            wire, counted, document = moved(machine, daemon.port, "--data-budget", "20MB",
                                            "--direction", direction)
            assert counted <= 20.1 * MB, f"{direction}: {counted} bytes were counted"
            # What the kernel of a held-up machine sends a second time comes on top.
            resent = resent_segments() - resent
            assert wire <= 20.2 * MB + resent * SEGMENT_MAX_BYTES, \
                f"{direction}: {wire} bytes went over the wire, {resent} segments again"
            assert wire > 15 * MB, f"{direction}: only {wire} bytes went over the wire"
            where = "on the wire" if machine.isolated else "by its own account"
            print(f"         {direction}: {wire / MB:.2f} MB {where}")
            assert document["verdict"]["state"] == "inconclusive", document["verdict"]


@case("budget")
def small_data_budget_is_told(machine):
    """So small that it is gone before a rate is known (200 ms), however held up the processors are."""
    with Daemon(machine) as daemon:
        _, _, document = moved(machine, daemon.port, "--data-budget", "2MB")
        text = tightlink(machine, "run", "127.0.0.1", "--port", daemon.port, "--yes",
                         "--data-budget", "2MB").check(4)
    assert "data budget" in document["verdict"]["sentence"], document["verdict"]
    stages = {stage["id"]: stage for stage in document["stages"]}
    assert stages["stream"]["state"] == "limited", stages
    assert "allow more" in stages["stream"]["reason"], stages
    assert "data budget" in text.out.splitlines()[0] + text.out.splitlines()[1], text


@case("budget")
def time_budget_is_kept(machine):
    with Held() as held, Daemon(machine, "--rate-cap", "50M") as daemon:
        _, _, document = moved(machine, daemon.port, "--time-budget", "4s")
        taken = held.seconds()  # of the same seconds by the machine
    loading = [stage for stage in document["stages"] if stage["sent_bytes"] + stage["received_bytes"] > 1 * MB]
    seconds = sum(stage["duration_ns"] for stage in loading) / 1e9
    assert loading and seconds < 4.5 + taken, (taken, document["stages"])


@case("budget")
def small_time_budget_is_told(machine):
    with Daemon(machine, "--rate-cap", "50M") as daemon:
        _, _, document = moved(machine, daemon.port, "--time-budget", "5s", "--direction", "both")
    skipped = [stage for stage in document["stages"]
               if stage["state"] == "skipped" and stage["id"] != "calibrate"]
    assert skipped and skipped[0]["reason"].startswith("the time budget is spent"), document
    upload = document["facts"]["upload.goodput_bps"]
    assert upload["state"] == "unknown" and "time budget" in upload["reason"], upload


@case("budget")
def least_data_budget_runs(machine):
    with Daemon(machine) as daemon:
        wire, _, document = moved(machine, daemon.port, "--data-budget", "100kB")
    # Of a transfer of a millisecond the scheduler may take any share: degraded is no fault.
    assert document["run"]["quality"]["status"] in ("valid", "degraded"), document["run"]["quality"]
    assert wire < 1 * MB, wire
