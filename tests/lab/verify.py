#!/usr/bin/env python3
"""Predict, try, score over the lab: runs `--verify` on every scenario whose remedy a socket can
try, and shows how often what was measured lies within 10 % of what was predicted. A prediction
may be a range: inside one of at most 25 % each way counts apart from a HIT. Or a lower bound, or a
wider range: they promise no number, so that what holds counts neither way, what is missed as MISS.

    verify.py TIGHTLINK SCENARIOS [--filter RE] [--for SECONDS] [--out FILE] [--skip-done]
              [--from FILE...] [--report DOC]

SCENARIOS is the program that prints the table of scenarios. --out appends one JSON line a case,
so that the whole can be run in pieces; --skip-done leaves out the cases that FILE holds; --from
runs nothing and shows what files hold, the last line of a case counting; --report writes the
table as Markdown. A prediction for another cause than the true one still counts: what is scored
is whether tightlink keeps its word. Exit 77: this machine permits no emulated path.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "realtime"))
import fitness  # noqa: E402 (it lies beside)

SKIP = 77
TIMEOUT_S = 150
WANTED_SHARE = 0.9
VERIFIED = ("what", "predicted_bps", "predicted_low_bps", "predicted_high_bps",
            "predicted_at_least", "measured_bps", "hit", "score")
# Causes with a remedy that tightlink can try in its own sockets.
TRIED = ("receive-window", "send-buffer", "window-scaling-off", "random-loss", "burst-loss",
         "shallow-buffer", "reordering", "per-flow-limit", "policer", "option-stripping",
         "congestion-control")
# Beside the scenarios: other numbers, the other direction, IPv6.
MORE = [
    ("rwnd-10ms", "rate=300M delay=5ms near.rmem=200KiB", "download"),
    ("rwnd-40ms-v6", "rate=80M delay=20ms near.rmem=150KiB family=6", "download"),
    ("rwnd-up-15ms", "rate=150M delay=8ms far.rmem=180KiB", "upload"),
    ("sndbuf-up", "rate=150M delay=15ms near.wmem=100KiB", "upload"),
    ("sndbuf-30ms", "rate=300M delay=15ms far.wmem=90KiB", "download"),
    ("no-wscale-up", "rate=100M delay=15ms far.wscale=off", "upload"),
    ("loss-60ms", "rate=100M delay=30ms down.loss=0.2%", "download"),
    ("loss-up", "rate=80M delay=10ms up.loss=0.5%", "upload"),
    ("per-flow-up", "rate=200M delay=10ms up.flow-policer=10M/50kB", "upload"),
    ("shallow-100", "rate=100M delay=20ms queue=15kB", "download"),
]


def scenario_cases(program):
    text = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    rows = [json.loads(line) for line in text.splitlines()]
    wanted = [row for row in rows if any(cause in row["cause"] for cause in TRIED)]
    return [(row["name"], row["spec"], row["direction"]) for row in wanted]


def disturbed(document):
    """Something other than the path spoiled it, the emulator's lateness included: a run says so."""
    return document["run"]["quality"]["status"] != "valid"


def outcome(document):
    """What was predicted and measured, or why nothing was."""
    verdict = document["verdict"]
    named = verdict.get("cause") or verdict["state"]
    for finding in document["findings"]:
        verified = finding.get("verified")
        if verified:
            row = {"cause": named, "before_bps": verdict.get("measured_bps")}
            row.update((key, verified[key]) for key in VERIFIED if key in verified)
            return row
    reasons = [stage.get("reason") or stage["state"] for stage in document["stages"]
               if stage["id"] == "verify"]
    return {"cause": named, "why": reasons[0] if reasons else "there was nothing to try"}


def run_case(tightlink, spec, direction):
    """One run, once the machine keeps time; whether it does in the end stands in the row."""
    fitness.wait(60)
    command = [tightlink, "demo", "--link", spec, "--direction", direction, "--verify", "--json"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return {"cause": "failed", "why": f"no end within {TIMEOUT_S} s"}
    if run.returncode == 4 and not run.stdout and "namespace" in run.stderr:
        print(f"skipped: {run.stderr.strip()}")
        sys.exit(SKIP)
    if not run.stdout:
        return {"cause": "failed", "why": run.stderr.strip()[-200:]}
    document = json.loads(run.stdout)
    return {**outcome(document), **({"disturbed": True} if disturbed(document) else {})}


def read_lines(paths):
    rows = {}
    for path in paths:
        if path.exists():
            for line in path.read_text().splitlines():
                row = json.loads(line)
                rows[row["case"]] = row
    return rows


def mega(rate):
    return f"{rate / 1e6:.4g}" if rate else "-"


def score_of(row):
    """Of files that have no score yet: a point."""
    return row.get("score", "hit" if row["hit"] else "miss")


def predicted(row):
    text = mega(row.get("predicted_bps"))
    if row.get("predicted_at_least"):
        return "at least " + text
    if row.get("predicted_low_bps") and row.get("predicted_high_bps"):
        return f"{text} ({mega(row['predicted_low_bps'])} to {mega(row['predicted_high_bps'])})"
    return text


def table(rows):
    yield "| case | verdict | tried | before Mb/s | predicted | measured | |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        score = row.get("why") or score_of(row).upper()
        score += " (disturbed)" if row.get("disturbed") else ""
        yield (f"| {row['case']} | {row['cause']} | {row.get('what', '-')} "
               f"| {mega(row.get('before_bps'))} | {predicted(row)} "
               f"| {mega(row.get('measured_bps'))} | {score} |")


def summary(rows):
    """What lay inside a narrow range is told beside the HITs, never as one."""
    scores = [score_of(row) for row in rows if "hit" in row]
    count = {name: scores.count(name) for name in ("hit", "inside", "bound", "miss")}
    scored = len(scores) - count["bound"]
    share = count["hit"] / scored if scored else 0
    wider = (count["hit"] + count["inside"]) / scored if scored else 0
    return wider, (f"{len(rows)} cases, {len(scores)} tried: {count['hit']} HIT, "
                   f"{count['inside']} INSIDE, {count['miss']} MISS, {count['bound']} BOUND. "
                   f"Of the {scored} with a number {share:.0%} were within 10 %, {wider:.0%} "
                   f"within 10 % or inside the range that was stated; wanted: {WANTED_SHARE:.0%}.")


REPORT = """# Predict, try, score

Generated by `ninja -C build/test lab-verify` (tests/lab/verify.py); do not edit. Each path is emulated
on one machine; the remedy of the verdict is tried in tightlink's own sockets (`run --verify`), and
measured within 10 % of what was predicted is a HIT. What a prediction knows only as a range says
so (under random loss it holds the chance of the losses that were counted, and of those that the trial
will meet: half of 1/sqrt(n) each): a result outside of 10 %, but within a range of at most 25 % each way, is INSIDE and told
apart. A lower bound ("at least": nothing that was measured bounds what comes after the fix) and a
wider range promise no number: if they hold, BOUND, they count neither way; if not, they are a MISS.
Where nothing could be tried the last column says why; such cases count neither way either. A run
that says itself that something disturbed it is made once more; if that one was, too, it is marked. The
whole can be run in pieces (--out, --from), so rows may come from neighbouring builds.

"""


def not_run(scenarios, done):
    """The sentence about cases that the files do not hold; "" where there is none."""
    names = [case[0] for case in scenario_cases(scenarios) + MORE if case[0] not in done]
    return f" Not run: {', '.join(names)}." if names else ""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tightlink", nargs="?")
    parser.add_argument("scenarios", nargs="?")
    parser.add_argument("--filter", default="")
    parser.add_argument("--for", dest="seconds", type=float, default=1e9)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--skip-done", action="store_true")
    parser.add_argument("--from", dest="sources", nargs="+", type=pathlib.Path)
    parser.add_argument("--report", type=pathlib.Path)
    return parser.parse_args()


def run_all(options):
    begin = time.monotonic()
    done = read_lines([options.out]) if options.out and options.skip_done else {}
    for case in scenario_cases(options.scenarios) + MORE:
        if case[0] in done or not re.search(options.filter, case[0]):
            continue
        if time.monotonic() - begin > options.seconds:
            break
        row = {"case": case[0], **run_case(options.tightlink, *case[1:])}
        done[case[0]] = row
        print(list(table([row]))[-1], flush=True)
        if options.out:
            with options.out.open("a") as out:
                out.write(json.dumps(row) + "\n")
    return done


def main():
    options = arguments()
    done = read_lines(options.sources) if options.sources else run_all(options)
    share, line = summary(done.values())
    if options.scenarios:
        line += not_run(options.scenarios, done)
    text = "\n".join(table(done.values())) + "\n"
    if options.report:
        options.report.write_text(REPORT + line + "\n\n" + text)
    print(text + line)
    sys.exit(0 if share >= WANTED_SHARE else 1)


main()
