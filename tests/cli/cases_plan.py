"""The plan and its controls: dry run, decisions, skips, wishes, trials, responders on the way,
and the hours after the verdict, cut to seconds."""
import json
import os
import pathlib
import re
import struct
import tempfile
import time

from harness import Daemon, Process, case, is_plain, tightlink, until, validate

# Loopback would carry gigabytes in these seconds: the responder holds it down.
CAP = ("--rate-cap", "80M")
SHORT = ("--yes", "--time-budget", "9s", "--data-budget", "500MB")


def decisions(document):
    return {(d["stage"], d.get("direction")): d for d in document["plan"]}


@case("plan")
def a_dry_run_sends_nothing(machine):
    result = tightlink(machine, "run", "127.0.0.1", "--port", "1", "--dry-run").check(0)
    for said in ("nothing was sent", "stream", "window", "needs", "responder", "at most"):
        assert said in result.out, result
    assert is_plain(result.out) and result.seconds < 3, result
    unknown = tightlink(machine, "run", "no-such-host.invalid", "--dry-run").check(0)
    assert "nothing was sent" in unknown.out, "a name is resolved only once somebody agreed"
    tightlink(machine, "demo", "--dry-run").check(2, "--dry-run is an option of run")


@case("plan")
def a_dry_run_shows_what_was_asked(machine):
    out = tightlink(machine, "run", "127.0.0.1", "--dry-run", "--skip", "streams", "--force",
                    "paced").check(0).out
    lines = {line.split()[0]: line for line in out.splitlines() if line.split()}
    assert "skipped" in lines["streams"] and "asked for" in lines["paced"], out


@case("plan")
def wrong_stage_names_are_refused(machine):
    for option in ("--skip", "--force", "--stages"):
        tightlink(machine, "run", "127.0.0.1", option, "strems").check(
            2, f"{option}: no stage is called \"strems\"; did you mean streams")
        tightlink(machine, "run", "127.0.0.1", option, "").check(2, "no stage is called")
        tightlink(machine, "run", "127.0.0.1", option, "stream,").check(2, "no stage is called")
    tightlink(machine, "run", "127.0.0.1", "--skip", "udp", "--force", "udp").check(
        2, "both skipped and asked for")


@case("plan")
def only_named_stages_run_and_every_decision_is_kept(machine):
    with Daemon(machine, *CAP) as daemon:
        result = tightlink(machine, "run", "127.0.0.1", "--port", daemon.port, "--stages",
                           "stream,paced", "--skip", "hosts", "--json", "--yes",
                           "--time-budget", "60s", "--data-budget", "500MB")
    document = result.document()
    validate(machine, document)
    done = [s["id"] for s in document["stages"] if s["state"] in ("done", "limited")]
    assert "stream" in done and "paced" in done and "streams" not in done, document["stages"]
    assert "hosts" not in done, document["stages"]
    plan = decisions(document)
    assert plan[("stream", "download")]["chosen"] and plan[("paced", "download")]["chosen"], plan
    assert not plan[("streams", "download")]["chosen"], plan
    assert "not among the stages" in plan[("streams", "download")]["why"], plan


@case("plan")
def decisions_are_explained_after_the_run(machine):
    with Daemon(machine, *CAP) as daemon:
        out = tightlink(machine, "run", "127.0.0.1", "--port", daemon.port, "--stages", "stream",
                        "--explain-plan", *SHORT).out
    assert "Plan: what was measured" in out and "Left out" in out, out
    # A command stands whole, to be copied.
    assert all(len(line) <= 80 for line in out.splitlines()
               if "samples" not in line and "tightlink run" not in line), out


@case("plan")
def a_trial_without_a_verdict_says_why_there_is_none(machine):
    with Daemon(machine, *CAP) as daemon:
        result = tightlink(machine, "run", "127.0.0.1", "--port", daemon.port, "--stages",
                           "stream", "--verify", "--json", *SHORT)
    document = result.document()
    validate(machine, document)
    stage = [s for s in document["stages"] if s["id"] == "verify"]
    verified = [f for f in document["findings"] if f.get("verified")]
    assert len(stage) == 1 and (verified or stage[0].get("reason")), document["stages"]


@case("plan")
def parts_of_the_way_are_compared(machine):
    with Daemon(machine, *CAP) as daemon:
        result = tightlink(machine, "run", "127.0.0.1", "--port", daemon.port, "--stages",
                           "stream", "--via", "127.0.0.1,no-such-host.invalid", "--json", *SHORT)
    document = result.document()
    validate(machine, document)
    parts = [s for s in document["segments"] if s["id"].startswith("path-")]
    assert [p["id"] for p in parts] == ["path-1", "path-2", "path-3"], document["segments"]
    assert parts[0]["prefix_rate_bps"] > 0 and "prefix_rate_bps" not in parts[1], parts
    failed = [s for s in document["stages"] if s["id"] == "via" and s["state"] == "failed"]
    assert len(failed) == 1 and "no-such-host" in failed[0]["reason"], document["stages"]
    tightlink(machine, "run", "127.0.0.1", "--via", "a,,b").check(2, "commas between them")


@case("plan")
def hours_after_the_verdict(machine):
    with tempfile.TemporaryDirectory() as directory, Daemon(machine, *CAP) as daemon:
        samples = pathlib.Path(directory) / "samples"
        arguments = ("run", "127.0.0.1", "--port", daemon.port, "--stages", "stream", "--for",
                     "3s", "--out", samples, "--json", "--yes", "--time-budget", "4s",
                     "--data-budget", "500MB")
        document = tightlink(machine, *arguments).document()
        validate(machine, document)
        watch = document["watch"]
        assert watch["outage_count"] == 0 and watch["duration_ns"] < 6e9, watch
        size = os.stat(samples).st_size
        assert size >= 64 + 32 and (size - 64) % 32 == 0, size
        again = tightlink(machine, *arguments)
        assert "cannot be made for the samples" in again.err, again


@case("plan")
def a_responder_killed_meanwhile_and_started_anew_is_an_outage(machine):
    gone_s, header, record = 3, 64, 32
    with tempfile.TemporaryDirectory() as directory, Daemon(machine, *CAP) as daemon:
        samples = pathlib.Path(directory) / "samples"
        watching = Process([machine.tightlink, "run", "127.0.0.1", "--port", str(daemon.port),
                            "--stages", "stream", "--time-budget", "4s", "--for", "16s", "--out",
                            samples, "--json", "--yes"])
        until(40, lambda: samples.exists() and samples.stat().st_size >= header + 3 * record,
              "three seconds of the watch")
        daemon.popen.kill()
        daemon.popen.wait(10)
        time.sleep(gone_s)
        with Daemon(machine, *CAP, "--port", str(daemon.port)):
            document = watching.result().document()
        records = samples.read_bytes()[header:]
    validate(machine, document)
    watch = document["watch"]
    assert watch["outage_count"] == 1 and watch["least_bps"] == 0, watch
    outage = watch["outages"][0]
    assert not outage["open"] and (gone_s - 0.5) * 1e9 < outage["length_ns"] < 11e9, watch
    assert 15e9 < watch["duration_ns"] < 20e9 and watch["most_bps"] > 1e6, watch
    flags = [struct.unpack("=qddII", records[at:at + record])[3]
             for at in range(0, len(records), record)]
    assert sum(flag & 1 for flag in flags) >= 2, "seconds without a byte are marked"
    assert sum(flag >> 1 & 1 for flag in flags) >= 2, "so is each transfer's begin"


@case("plan")
def a_responder_gone_before_the_first_transfer_is_the_reason(machine):
    with Daemon(machine, *CAP) as daemon:
        run = Process([machine.tightlink, "run", "127.0.0.1", "--port", str(daemon.port), *SHORT,
                       "--stages", "stream", "--json-lines"])
        run.await_line('"event":"stage-start".*"stage":"calibrate"')
        daemon.popen.kill()
        result = run.result()
    sentence = json.loads(result.out.splitlines()[-1])["verdict"]["sentence"]
    # Whether it is refused first, or told that nobody is there any more.
    gone = re.search("the far end (went away|closed the connection): the responder .* ended", sentence)
    assert result.code == 4 and gone, result


@case("plan")
def the_remedy_of_a_saved_run_is_tried(machine):
    """Nothing is measured but the trial; one that is not possible says why."""
    with Daemon(machine, *CAP) as daemon:
        text = tightlink(machine, "run", "127.0.0.1", "--port", daemon.port, "--stages",
                         "stream", "--json", *SHORT).out
        with tempfile.NamedTemporaryFile("w", suffix=".json") as saved:
            saved.write(text)
            saved.flush()
            result = tightlink(machine, "verify", saved.name, "--port", daemon.port, "--yes",
                               "--json")
    document = result.document()
    validate(machine, document)
    assert [s["id"] for s in document["stages"]] == ["verify"], document["stages"]
    tightlink(machine, "verify").check(2, "name one saved run")
    tightlink(machine, "verify", "/dev/null").check(2, "no saved run")
