#!/usr/bin/env python3
"""pScheduler's plug-ins as pScheduler starts them: a link for each command, its input on stdin, one
answer on stdout within the time that pScheduler gives.

    contract.py PACKAGING-FOLDER TIGHTLINK TIGHTLINKD"""
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback

# pScheduler's limit for participants, can-run and merged-results; here of processor time, of which they
# take tenths, and of the clock what no busy machine needs.
QUICK_S, HUNG_S = 5, 30


def children_s():
    """Processor time of the processes that have ended."""
    return sum(os.times()[2:4])


SPEC = {"schema": 1, "source": "a.example", "dest": "b.example", "duration": "PT30S"}
TEST = ("cli-to-spec", "enumerate", "participants", "result-format", "spec-format",
        "spec-is-valid", "spec-to-cli")
TOOL = ("can-run", "duration", "enumerate", "merged-results", "participant-data", "run")


class Plugin:
    def __init__(self, folder, program, commands):
        self.folder = folder
        os.mkdir(folder)
        for command in commands:
            os.symlink(program, folder / command)

    def start(self, command, given, *args, **env):
        text = given if isinstance(given, str) else json.dumps(given)
        before = children_s()
        done = subprocess.run([self.folder / command, *args], input=text, capture_output=True, text=True,
                              timeout=60 if command == "run" else HUNG_S, check=False,
                              env={**os.environ, **env})
        return done, children_s() - before

    def asked(self, command, given="", *args, **env):
        """What it answers, which is one JSON value."""
        done, took = self.start(command, given, *args, **env)
        assert done.returncode == 0, (command, done.stderr)
        assert took < QUICK_S or command == "run", (command, took)
        return json.loads(done.stdout)

    def refused(self, command, given, *args):
        """Why it does not: one sentence on stderr, nothing on stdout."""
        done, _ = self.start(command, given, *args)
        assert done.returncode != 0 and not done.stdout, (command, given, done)
        assert done.stderr.strip() and "Traceback" not in done.stderr, (command, done.stderr)
        return done.stderr


def test_class(test):
    told = test.asked("enumerate")
    assert set(told) == {"schema", "name", "description", "version", "maintainer",
                         "scheduling-class"}, told
    assert told["name"] == "diagnosis" and told["scheduling-class"] == "exclusive", told
    assert test.asked("spec-is-valid", SPEC) == {"valid": True}
    assert test.asked("participants", SPEC) == {"participants": ["a.example"]}
    with_node = {**SPEC, "source-node": "ps-a.example:8443"}
    assert test.asked("participants", with_node) == {"participants": ["ps-a.example:8443"]}
    nobody = test.asked("participants", {"schema": 1, "dest": "b"})
    assert nobody["participants"] == [None] and nobody["null-reason"], nobody


def bad_specs(test):
    bad = ({}, [], 7, {"schema": 1}, {"dest": "b"}, {**SPEC, "schema": 2}, {**SPEC, "more": 1},
           {**SPEC, "dest": "b; reboot"}, {**SPEC, "dest": "-o"}, {**SPEC, "dest": 5},
           {**SPEC, "duration": "PT3600S"}, {**SPEC, "duration": "30"}, {**SPEC, "duration": 30},
           {**SPEC, "port": 0}, {**SPEC, "port": True}, {**SPEC, "port": "x"},
           {**SPEC, "direction": "sideways"}, {**SPEC, "direction": []}, {**SPEC, "ip-version": 5},
           {**SPEC, "source-node": "a/b"})
    for spec in bad:
        told = test.asked("spec-is-valid", spec)
        assert told["valid"] is False and told["error"], (spec, told)
        test.refused("participants", spec)
        test.refused("spec-to-cli", spec)
    assert test.asked("spec-is-valid", "{")["valid"] is False
    test.refused("participants", "no JSON")


def command_lines(test):
    spec = {**SPEC, "port": 5411, "ip-version": 6, "direction": "both"}
    args = test.asked("spec-to-cli", spec)
    assert all(isinstance(argument, str) for argument in args), args
    assert test.asked("cli-to-spec", args) == spec
    assert test.asked("cli-to-spec", "", *args) == spec
    test.refused("cli-to-spec", ["--dest"])
    test.refused("cli-to-spec", ["--bogus", "x"])
    test.refused("cli-to-spec", {"dest": "b"})


def formats(test):
    for mime, part in (("text/plain", "dest"), ("text/html", "<td>dest</td>")):
        done, _ = test.start("spec-format", SPEC, mime)
        assert done.returncode == 0 and part in done.stdout and "b.example" in done.stdout, done
    result = {"spec": SPEC, "result": {"succeeded": True, "state": "limited", "cause": "policer",
                                       "sentence": "<b>\u001b[31m", "throughput-bits": 93.8e6}}
    html, _ = test.start("result-format", result, "text/html")
    assert "&lt;b&gt;" in html.stdout and "\u001b" not in html.stdout, html
    plain, _ = test.start("result-format", result, "text/plain")
    assert "policer" in plain.stdout and "93.8 Mb/s" in plain.stdout, plain
    test.refused("result-format", {}, "text/plain")
    test.refused("spec-format", SPEC, "application/pdf")


def tool_class(tool):
    told = tool.asked("enumerate")
    assert told["tests"] == ["diagnosis"] and isinstance(told["preference"], int), told
    assert tool.asked("can-run", {"type": "diagnosis", "spec": SPEC}) == {"can-run": True}
    for given in ({"type": "throughput", "spec": SPEC}, {"type": "diagnosis"}, {},
                  {"type": "diagnosis", "spec": {**SPEC, "schema": 9}},
                  {"type": "diagnosis", "spec": {**SPEC, "duration": "PT999S"}},
                  {"type": "diagnosis", "spec": {**SPEC, "later": 1}}):
        told = tool.asked("can-run", given)
        assert told["can-run"] is False and told["reasons"], (given, told)
    assert tool.asked("duration", {"type": "diagnosis", "spec": SPEC}) == {"duration": "PT44S"}
    assert tool.asked("participant-data", {"participant": 0, "test": {"spec": SPEC}}) == {}
    flat = {"schema": 1, "succeeded": True, "state": "limited"}
    for given in ([{"succeeded": True, "result": flat}], [flat]):
        assert tool.asked("merged-results", {"test": {}, "results": given}) == flat
    for given in ([], [None], None, ["x"]):
        assert tool.asked("merged-results", {"results": given})["succeeded"] is False


def a_run(seconds, **spec):
    start = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1)
    return {"schema": 1, "task-uuid": "0", "participant": 0, "participant-data": [{}],
            "schedule": {"start": start.isoformat(), "duration": f"PT{seconds}S"},
            "test": {"type": "diagnosis", "spec": {**SPEC, **spec}}}


def bad_runs(tool):
    tool.refused("run", {})
    tool.refused("run", {**a_run(9), "schedule": {"start": "soon"}})
    nobody = tool.asked("run", a_run(30, dest="127.0.0.1", port=1))
    assert nobody["succeeded"] is False and "127.0.0.1" in nobody["error"], nobody


def write(path, text):
    path.write_text(text)
    return str(path)


def a_program_that_does_not_end(tool):
    """pScheduler kills what outlasts its time: the plug-in is done before."""
    deaf = tool.folder.parent / "deaf"
    deaf.write_text("#!/bin/sh\ntrap '' INT\necho going on >&2\nexec sleep 600\n")
    deaf.chmod(0o755)
    conf = write(tool.folder.parent / "deaf.conf",
                 f"[tightlink]\nprogram = {deaf}\nmax-seconds = 2\n")
    begin = time.monotonic()
    told = tool.asked("run", a_run(30), TIGHTLINK_PSCHEDULER_CONF=conf)
    assert told["succeeded"] is False and "in time" in told["error"], told
    assert time.monotonic() - begin < 2 + 10 + 4 + 2, "it outlasted its time"
    missing = write(tool.folder.parent / "missing.conf", "[tightlink]\nprogram = /nowhere/tl\n")
    told = tool.asked("run", a_run(30), TIGHTLINK_PSCHEDULER_CONF=missing)
    assert told["succeeded"] is False and "/nowhere/tl" in told["error"], told


def a_real_run(tool, tightlinkd):
    """Over loopback against a responder: the verdict, whichever it is, comes flat."""
    ready, given = os.pipe()
    daemon = subprocess.Popen([tightlinkd, "--open", "--port", "0", "--ready-fd", str(given)],
                              pass_fds=[given], stderr=subprocess.DEVNULL)
    os.close(given)
    try:
        with os.fdopen(ready) as pipe:
            port = int(pipe.read().split()[-1])
        conf = write(tool.folder.parent / "small.conf",
                     f"[tightlink]\nprogram = {sys.argv[2]}\nmax-bytes = 20MB\n")
        told = tool.asked("run", a_run(34, dest="127.0.0.1", port=port, duration="PT20S"),
                          TIGHTLINK_PSCHEDULER_CONF=conf)
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(10)
    result = told["result"]
    assert result and result["json"]["format"] == "tightlink.findings/1", told["diags"]
    assert result["state"] and result["sentence"], result
    assert not [value for name, value in result.items()
                if name != "json" and isinstance(value, (dict, list))], result
    assert tool.asked("merged-results", {"results": [told]}) == result


def main():
    packaging = pathlib.Path(sys.argv[1]).resolve()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["XDG_STATE_HOME"] = name
        conf = write(folder / "plain.conf", f"[tightlink]\nprogram = {sys.argv[2]}\n")
        os.environ["TIGHTLINK_PSCHEDULER_CONF"] = conf
        test = Plugin(folder / "diagnosis", packaging / "diagnosis.py", TEST)
        tool = Plugin(folder / "tightlink", packaging / "tightlink.py", TOOL)
        cases = [(check, (test,)) for check in (test_class, bad_specs, command_lines, formats)]
        cases += [(check, (tool,)) for check in (tool_class, bad_runs, a_program_that_does_not_end)]
        cases.append((a_real_run, (tool, sys.argv[3])))
        for check, args in cases:
            try:
                check(*args)
                print(f"ok       {check.__name__.replace('_', ' ')}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED   {check.__name__}\n{traceback.format_exc(limit=-3)}", flush=True)
    return 1 if failed else 0


sys.exit(main())
