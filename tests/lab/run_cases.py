#!/usr/bin/env python3
"""Diagnoses emulated paths end to end and compares the verdict with the truth.

    run_cases.py TIGHTLINK SCHEMA CASES [NAME... | --long]

CASES is a JSON file: for each case the arguments of `tightlink demo`, the causes and the
segment that are right, causes that may be called limiting or contributing beside it, and
the range of the ceiling where there is a truth for it, facts that must be known, and causes that
must be noted. Each run is also checked for what must hold in every run: the document validates, the ledger sums to 1, judging the saved
run again gives the same verdict, and the traffic stays below what the case allows.

Without names the cases that are marked "long" are left out; --long runs these. Each is run as
tests/realtime/policy.py says; those that leave most of a machine idle run side by side, on paths
of their own, one more than there are processors, and those marked "alone" after them. Exit code 77
says that this machine permits no emulated path.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "realtime"))
import policy  # noqa: E402 (it lies beside)

SECONDS = 150  # no diagnosis is that long
NOT_TRIED = "the stage was run and did not bring it"  # a fact that no probe spoke of


def validator(schema_path):
    try:
        import jsonschema
    except ImportError:
        print("skipped: python3-jsonschema is not installed")
        sys.exit(77)
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
    yield from turns_left_out(document)
    if not again.stdout:
        yield f"explain said nothing: {again.stderr.strip()}"
    elif verdict_key(json.loads(again.stdout)) != verdict_key(document):
        yield f"explain judges differently: {verdict_key(json.loads(again.stdout))}"


def is_known(document, fact):
    return document["facts"].get(fact, {}).get("state") == "known"


def turns_left_out(document):
    """Where one connection was run again behind several, so are the trains that came before."""
    for way in document["run"]["directions"]:
        second = document["facts"].get(f"{way}.trains_again_bps", {"reason": NOT_TRIED})
        if is_known(document, f"{way}.again_bps") and is_known(document, f"{way}.trains_bps") \
                and second.get("reason") == NOT_TRIED:
            yield f"no second trains behind the {way}"


def check_truth(document, case):
    """The verdict against what was emulated."""
    for fact in case.get("known", []):
        if not is_known(document, fact):
            yield f"{fact} is not known: {document['facts'].get(fact, {}).get('reason')}"
    found = {finding["cause"] for finding in document["findings"] if finding["result"] == "found"}
    for cause in sorted(set(case.get("notes", [])) - found):
        yield f"does not note {cause}"
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


def row(name, document, problems):
    """One line of figures. Rates in Mb/s."""
    v, r = document["verdict"], document["run"]
    print(f"{name:16} {v.get('cause', v['state'])} @ {v.get('segment', '-')}, "
          f"ceiling {mbps(v.get('ceiling_bps'))}, measured {mbps(v.get('measured_bps'))}, "
          f"next {mbps(v.get('fixed_bps'))} Mb/s, confidence {v.get('confidence', 0):.2f}, "
          f"{r['duration_ns'] / 1e9:.1f} s, {(r['sent_bytes'] + r['received_bytes']) / 1e6:.0f} MB"
          f"{': WRONG' if problems else ''}", flush=True)


def diagnosed(program, case):
    """The document of one run as text; raises what policy.py knows."""
    try:
        run = subprocess.run([program, "demo", *case["demo"], "--json", "--yes"],
                             capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        raise policy.Broken(f"no verdict within {SECONDS} s") from error
    said = run.stderr.strip()
    if run.returncode < 0 or "Sanitizer" in said or "runtime error:" in said:
        raise policy.Broken(f"exit code {run.returncode}: {said}")
    lacks_disk = "limiting a host's disk" in said or "a host with a disk needs" in said
    if not run.stdout and ("permission" in said or case.get("needs_disk") and lacks_disk):
        raise policy.Skip(said)
    if not run.stdout:
        raise policy.Broken(f"no document; exit code {run.returncode}: {said}")
    return run.stdout


def attempt(program, name, case, schema):
    """What the verdict lacks, see policy.py."""
    text = diagnosed(program, case)
    document = json.loads(text)
    broken = list(check_everywhere(document, program, text, schema))
    megabytes = (document["run"]["sent_bytes"] + document["run"]["received_bytes"]) / 1e6
    if megabytes > case.get("megabytes", 1500):
        broken.append(f"{megabytes:.0f} MB of traffic")
    problems = list(check_truth(document, case))
    row(name, document, problems)
    if broken:
        raise policy.Broken("; ".join(broken))
    disturbed = [f"({reason})" for reason in document["run"]["quality"]["reasons"] if problems]
    return problems + disturbed


def main():
    program, schema_path, cases_path, *names = sys.argv[1:]
    long = names == ["--long"]
    schema = validator(schema_path)
    cases = json.loads(pathlib.Path(cases_path).read_text())
    if long or not names:
        names = [n for n in cases if cases[n].get("long", False) == long]
    unknown = [n for n in names if n not in cases]
    if unknown:
        sys.exit(f"no such case: {', '.join(unknown)}")
    gate = policy.Gate()

    def run(name):
        gate.run(name, lambda: attempt(program, name, cases[name], schema))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 1) as pool:
        list(pool.map(run, (n for n in names if not cases[n].get("alone"))))
    for name in names:
        if cases[name].get("alone"):
            run(name)
    return gate.exit_code()


if __name__ == "__main__":
    sys.exit(main())
