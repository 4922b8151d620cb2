#!/usr/bin/env python3
"""pScheduler's tool "tightlink": runs `tightlink run` for the test class "diagnosis".

Installed once, with a link for each command of the class (doc/pscheduler.md). Its settings are in
/etc/pscheduler/tool/tightlink.conf. Standard library only."""
import configparser
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import time

CONFIG = os.environ.get("TIGHTLINK_PSCHEDULER_CONF", "/etc/pscheduler/tool/tightlink.conf")
COMMANDS = ("can-run", "duration", "enumerate", "merged-results", "participant-data", "run")
MEMBERS = {"schema", "source", "source-node", "dest", "dest-node", "port", "direction", "duration",
           "ip-version"}
SECONDS = 60
# Name look-up, greeting, the light stages and the document, around what loads; and what is left for
# tightlink to end by itself once it was told to.
AROUND, GRACE = 10, 4
DOCUMENT_MAX = 16 << 20


def fail(sentence):
    sys.stderr.write(sentence + "\n")
    sys.exit(1)


def read():
    try:
        given = json.load(sys.stdin)
    except ValueError as error:
        fail(f"standard input is not JSON: {error}")
    if not isinstance(given, dict):
        fail("an object is needed on standard input")
    return given


def answer(value):
    json.dump(value, sys.stdout)
    sys.stdout.write("\n")
    sys.exit(0)


def settings():
    """What the administrator has set; the limits of pScheduler know nothing of this class."""
    parser = configparser.ConfigParser()
    parser.read_dict({"tightlink": {"program": "tightlink", "max-seconds": "120",
                                    "max-bytes": "", "key": ""}})
    try:
        parser.read(CONFIG)
        section = parser["tightlink"]
        return {**section, "max-seconds": section.getint("max-seconds")}
    except (configparser.Error, ValueError) as error:
        fail(f"{CONFIG}: {error}")


def seconds_of(text):
    match = re.fullmatch(r"PT(?:(\d{1,4})H)?(?:(\d{1,6})M)?(?:(\d{1,6})(?:\.\d+)?S)?", text) \
        if isinstance(text, str) else None
    if not match:
        return -1
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return 3600 * hours + 60 * minutes + seconds


def seconds_of_spec(spec):
    return seconds_of(spec["duration"]) if "duration" in spec else SECONDS


# --- Commands -------------------------------------------------------------------------------------

def enumerate_class():
    answer({"schema": 1, "name": "tightlink", "description": "Diagnoses slow transfers",
            "version": "1.0", "tests": ["diagnosis"], "preference": 10,
            "maintainer": {"name": "tightlink"}})


def reasons_against(given):
    spec = given.get("spec")
    if given.get("type") != "diagnosis":
        return ["tightlink runs tests of the class diagnosis only"]
    if not isinstance(spec, dict) or spec.get("schema", 1) != 1 or "dest" not in spec:
        return ["the specification is none of schema 1"]
    reasons = [f"tightlink does not know the option {name}" for name in sorted(set(spec) - MEMBERS)]
    most = settings()["max-seconds"]
    if not 0 < seconds_of_spec(spec) <= most:
        reasons.append(f"this node permits a diagnosis of {most} s")
    return reasons


def can_run():
    reasons = reasons_against(read())
    answer({"can-run": False, "reasons": reasons} if reasons else {"can-run": True})


def duration():
    given = read()
    seconds = seconds_of_spec(given.get("spec", given))
    if seconds <= 0:
        fail("the duration cannot be read")
    answer({"duration": f"PT{seconds + AROUND + GRACE}S"})


def participant_data():
    answer({})


def command_of(spec, seconds):
    """tightlink's command line; loads for less than the time that there is."""
    conf = settings()
    argv = [conf["program"], "run", spec["dest"], "--json", "--yes", "--no-history", "--direction",
            spec.get("direction", "upload"), "--time-budget", f"{max(5, seconds * 3 // 4)}s"]
    if "port" in spec:
        argv += ["--port", str(spec["port"])]
    if "ip-version" in spec:
        argv.append(f"-{spec['ip-version']}")
    if conf["max-bytes"]:
        argv += ["--data-budget", conf["max-bytes"]]
    if conf["key"]:
        argv += ["--key", conf["key"]]
    return argv


def sleep_until(start):
    at = datetime.datetime.fromisoformat(re.sub(r"Z$", "+00:00", start))
    now = datetime.datetime.now(at.tzinfo)
    time.sleep(min(max(0, (at - now).total_seconds()), 60))


def measure(argv, seconds):
    """Its output and last words. It is told to stop in time, keeps what it has then, and is ended
    where it does not stop."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=GRACE - 1)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err += b"\nit did not end in time"
    return out[:DOCUMENT_MAX], err.decode(errors="replace")


def result_of(document):
    """Flat, for archives that know no nesting; all of it is under "json"."""
    verdict, run = document["verdict"], document["run"]
    flat = {"schema": 1, "succeeded": verdict.get("state") != "invalid",
            "throughput-bits": verdict.get("measured_bps")}
    for name in ("state", "cause", "segment", "direction", "confidence", "sentence"):
        if verdict.get(name) is not None:
            flat[name] = verdict[name]
    if not flat["succeeded"]:
        flat["error"] = verdict.get("sentence") or "; ".join(run["quality"]["reasons"])
    flat["json"] = document
    return flat


def run():
    given = read()
    try:
        spec = given["test"]["spec"]
        seconds = min(seconds_of_spec(spec), settings()["max-seconds"]) + AROUND
        argv = command_of(spec, seconds - AROUND)
        sleep_until(given["schedule"]["start"])
    except (KeyError, TypeError, ValueError) as error:
        fail(f"the run cannot be read: {error}")
    try:
        out, err = measure(argv, seconds)
        result, error = result_of(json.loads(out)), None
    except OSError as failure:
        err, result, error = "", None, f"{argv[0]}: {failure.strerror}"
    except (ValueError, KeyError, TypeError, AttributeError):
        lines = err.strip().splitlines()
        result, error = None, lines[-1] if lines else "tightlink wrote no document"
    if result:
        error = result.get("error")
    answer({"succeeded": bool(result and result["succeeded"]), "diags": err[-20000:],
            "error": error, "result": result})


def merged_results():
    results = read().get("results")
    first = results[0] if isinstance(results, list) and results else None
    if isinstance(first, dict) and isinstance(first.get("result"), dict):
        first = first["result"]
    answer(first if isinstance(first, dict) and "succeeded" in first
           else {"schema": 1, "succeeded": False, "error": "The node brought no result"})


def main():
    command = os.path.basename(sys.argv[0])
    commands = {"can-run": can_run, "duration": duration, "enumerate": enumerate_class,
                "merged-results": merged_results, "participant-data": participant_data, "run": run}
    if command not in commands:
        fail(f"this is started by one of these names: {', '.join(COMMANDS)}")
    commands[command]()


if __name__ == "__main__":
    main()
