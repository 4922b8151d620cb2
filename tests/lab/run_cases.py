#!/usr/bin/env python3
"""Diagnoses emulated paths end to end and compares the verdict with the truth.

    run_cases.py TIGHTLINK SCHEMA CASES [NAME... | --all]

CASES is a JSON file: for each case the arguments of `tightlink demo`, the causes and the
segment that are right, causes that may be called limiting or contributing beside it, and
the range of the ceiling where there is a truth for it. Each run is also checked for what
must hold in every run: the document validates, the ledger sums to 1, judging the saved
run again gives the same verdict, and the traffic stays below what the case allows.

Without names the cases that are marked "long" are left out; --all runs them, too. Exit code 77
says that this machine permits no emulated path. Prints one table.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

SKIP = 77
# An emulated path shares its two cores with whatever else runs: a case may be tried again, and
# the last line says how many needed that. Where the emulator itself said each time that it was
# held up, the path was not what it is called, and the case is skipped with that reason; fewer
# than half of the cases judged is no result.
ATTEMPTS = 3
HELD_UP = "too busy to emulate"


def validator(schema_path):
    try:
        import jsonschema
    except ImportError:
        print("skipped: python3-jsonschema is not installed")
        sys.exit(SKIP)
    schema = json.loads(pathlib.Path(schema_path).read_text())
    return jsonschema.Draft202012Validator(schema)


def verdict_key(document):
    verdict = document["verdict"]
    return tuple(verdict.get(k) for k in ("state", "cause", "segment", "direction"))


def check_everywhere(document, program, text, schema):
    """What must hold in every run."""
    for error in schema.iter_errors(document):
        yield f"schema: {error.json_path}: {error.message[:120]}"
    for row in document["ledger"]:
        total = sum(row[k] for k in ("app_ratio", "sndbuf_ratio", "rwnd_ratio", "network_ratio"))
        if abs(total - 1) > 0.01:
            yield f"ledger sums to {total:.3f}"
    with tempfile.NamedTemporaryFile("w", suffix=".json") as saved:
        saved.write(text)
        saved.flush()
        again = subprocess.run([program, "explain", "--json", saved.name], capture_output=True,
                               text=True, timeout=60)
    if not again.stdout:
        yield f"explain said nothing: {again.stderr.strip()}"
    elif verdict_key(json.loads(again.stdout)) != verdict_key(document):
        yield f"explain judges differently: {verdict_key(json.loads(again.stdout))}"


def check_truth(document, case):
    """The verdict against what was emulated."""
    verdict = document["verdict"]
    state = case.get("state", "limited")
    if verdict["state"] != state:
        yield f"state {verdict['state']}, not {state}: {verdict['sentence']}"
        return
    if state != "limited":
        return
    if verdict["cause"] not in case["causes"]:
        yield f"cause {verdict['cause']}, not {' or '.join(case['causes'])}"
    if verdict["segment"] not in case["segments"]:
        yield f"segment {verdict['segment']}, not {' or '.join(case['segments'])}"
    if verdict["direction"] != case.get("direction", "download"):
        yield f"direction {verdict['direction']}"
    allowed = set(case["causes"]) | set(case.get("beside", []))
    for finding in document["findings"]:
        if finding["result"] == "found" and finding["severity"] != "note" \
                and finding["cause"] not in allowed:
            yield f"also calls {finding['cause']} {finding['severity']}"
    if "tight_part" in case:
        tight = [s["id"] for s in document["segments"] if s["id"].startswith("path-") and s.get("tight")]
        if tight != [case["tight_part"]]:
            yield f"tight part {tight}, not {case['tight_part']}"
    ceiling = verdict.get("ceiling_bps")
    if "ceiling_bps" in case:
        low, high = case["ceiling_bps"]
        if ceiling is None or not low <= ceiling <= high:
            yield f"ceiling {ceiling} outside {low:g} to {high:g}"
    if case.get("ceiling_near_measured"):
        if ceiling is None or abs(ceiling / verdict["measured_bps"] - 1) > 0.10:
            yield f"ceiling {ceiling} more than 10 % from measured {verdict['measured_bps']}"


def mbps(value):
    return "-" if value is None else f"{value / 1e6:.4g}"


def run_case(program, name, case, schema):
    started = time.monotonic()
    run = subprocess.run([program, "demo", *case["demo"], "--json", "--yes"],
                         capture_output=True, text=True, timeout=150)
    took = time.monotonic() - started
    if "permission" in run.stderr and not run.stdout:
        print("skipped:", run.stderr.strip())
        sys.exit(SKIP)
    lacks_disk = "limiting a host's disk" in run.stderr or "a host with a disk needs" in run.stderr
    if case.get("needs_disk") and not run.stdout and lacks_disk:
        return None, run.stderr.strip(), took
    if not run.stdout:
        return [f"no document; exit {run.returncode}: {run.stderr.strip()}"], None, took
    document = json.loads(run.stdout)
    held_up = [reason for reason in document["run"]["quality"]["reasons"] if HELD_UP in reason]
    problems = list(check_everywhere(document, program, run.stdout, schema))
    problems += check_truth(document, case)
    megabytes = (document["run"]["sent_bytes"] + document["run"]["received_bytes"]) / 1e6
    if megabytes > case.get("megabytes", 1500):
        problems.append(f"{megabytes:.0f} MB of traffic")
    if problems and held_up:
        report(name, document, problems)
        return None, held_up[0], took
    return problems, document, took


def report(name, document, problems):
    if document:
        v, r = document["verdict"], document["run"]
        what = f"{v.get('cause', v['state'])} @ {v.get('segment', '-')}"
        print(f"{name:16} {what:34} {mbps(v.get('ceiling_bps')):>8}"
              f" {mbps(v.get('measured_bps')):>8} {mbps(v.get('fixed_bps')):>8}"
              f" {v.get('confidence', 0):5.2f} {r['duration_ns'] / 1e9:5.1f}"
              f" {(r['sent_bytes'] + r['received_bytes']) / 1e6:6.0f}"
              f"  {'ok' if not problems else 'WRONG'}", flush=True)
    for problem in problems:
        print(f"    {name}: {problem}", flush=True)


def main():
    program, schema_path, cases_path, *names = sys.argv[1:]
    every = names == ["--all"]
    schema = validator(schema_path)
    cases = json.loads(pathlib.Path(cases_path).read_text())
    if every or not names:
        names = [n for n in cases if every or not cases[n].get("long")]
    unknown = [n for n in names if n not in cases]
    if unknown:
        sys.exit(f"no such case: {', '.join(unknown)}")
    failed, again, skipped, times = 0, 0, 0, []
    print(f"{'case':16} {'verdict':34} {'ceiling':>8} {'measured':>8} {'next':>8} {'conf':>5}"
          f" {'s':>5} {'MB':>6}  rates in Mb/s", flush=True)
    for name in names:
        wrong = False
        for attempt in range(ATTEMPTS):
            problems, document, took = run_case(program, name, cases[name], schema)
            if problems is None and HELD_UP not in document:
                break
            if problems is not None:
                report(name, document, problems)
                wrong = bool(problems)
                if not wrong:
                    break
        if problems is None and not wrong:
            print(f"{name:16} skipped: {document}", flush=True)
            skipped += 1
        times.append(took)
        failed += wrong
        again += attempt > 0
    print(f"{len(times) - failed - skipped} of {len(times)} right, {skipped} skipped, "
          f"{again} of them not at the first attempt, "
          f"median {sorted(times)[len(times) // 2]:.1f} s")
    if failed == 0 and skipped * 2 > len(times):
        print("skipped: this machine is too busy to emulate paths")
        sys.exit(SKIP)
    sys.exit(1 if failed else 0)


main()
