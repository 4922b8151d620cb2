#!/usr/bin/env python3
"""Diagnoses every scenario of the lab and as many generated paths, and shows how often the
verdict is the truth, how sure it was and what it cost.

    matrix.py TIGHTLINK SCENARIOS [--filter RE] [--seed N] [--count N]
              [--only scenarios|generated|changing|faulted|lines] [--changing N]
              [--faulted N] [--lines N]
              [--traces DIR] [--stock]
              [--jobs 1|2] [--out FILE] [--skip-done] [--for SECONDS] [--json] [--report DOC]
              [--from FILE...] [--allow-settings]

SCENARIOS is the program that prints the table of scenarios. The truth of a scenario is its
row; what may be said beside it, and the truth of generated paths, comes from oracle.py.

  --out FILE        appends one JSON line a case, so that the whole can be run in pieces
  --skip-done       leaves out the cases that FILE holds
  --for SECONDS     starts no case after this time
  --from FILE...    runs nothing: shows (and with --report writes) what these files hold, the
                    last line of each case counting
  --report DOC      writes the tables as Markdown
  --keep DIR        keeps each run's document there, for `tightlink explain`
  --again           with --from and --keep: TIGHTLINK judges the kept documents again
  --changing N      so many changing paths (generate.py), each privileged and as installed
  --faulted N       so many faults on changing paths (generate_faulted.py), half as installed
  --lines N         so many whole lines as people have them (generate_lines.py), half as installed
  --traces DIR      recordings in mahimahi's format (*.down, *.up) for the family radio-recorded;
                    without, that family is left out
  --stock           scenarios and steady paths with stock settings and without privileges
  --jobs 2          two cases side by side: for a machine with processors to spare
  --allow-settings  also makes the three faults that belong to the whole machine, as root:
                    net.core.netdev_max_backlog, rmem_default and rmem_max; set back at the end

A case is right when a true cause is named at its segment, a reported ceiling is within 10 % of
a truth that has a number, and nothing is called limiting or contributing without ground.
"cannot tell" is counted apart, and so is a loss that is right but not placed; a wrong verdict is
one whose run was valid or degraded. It names the *wrong party* where who would have to act (this
PC's owner, the far one's, either network, the way between, other users of it) is none of those
that the truth would ask.

Each case is run as tests/realtime/policy.py says: on a machine that keeps time, and once more where
it was wrong, which a line tells. Exit 77: this machine permits no emulated path.
"""
import argparse
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "realtime"))
import accuracy  # noqa: E402
import generate  # noqa: E402
import generate_faulted  # noqa: E402
import generate_lines  # noqa: E402
import oracle  # noqa: E402
import policy  # noqa: E402

SKIP = 77
TIMEOUT_S = 240
TOLERANCE = 0.10
PLACED_BY_VIA = ("random-loss", "burst-loss", "corruption")
OUTCOMES = ("right", "not-placed", "cannot-tell", "wrong", "wrong-party", "invalid", "failed")
FILLED = 0.97  # of the link's rate: one connection took all of it
FILLING = ("reordering", "duplex-mismatch")  # faults that a connection may outgrow

# Machine-wide settings for the faults that no namespace has.
SETTINGS_CASES = [
    {"name": "softnet", "spec": "rate=300M delay=5ms", "direction": "download", "goal_bps": 0,
     "cause": "softnet-drops", "segment": "",
     "settings": {"net/core/netdev_max_backlog": "4"}},
    {"name": "udp-buffer", "spec": "rate=300M delay=5ms", "direction": "download", "goal_bps": 0,
     "cause": "capacity", "segment": "path", "note": "udp-receive-buffer",
     "settings": {"net/core/rmem_max": "4608", "net/core/rmem_default": "4608"}},
]


@contextlib.contextmanager
def machine_settings(settings):
    root = pathlib.Path("/proc/sys")
    before = {name: (root / name).read_text() for name in settings}
    try:
        for name, value in settings.items():
            (root / name).write_text(value)
        yield
    finally:
        for name, value in before.items():
            (root / name).write_text(value)


def scenario_rows(program):
    text = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def truth_of(row, measured_bps=0):
    """The oracle's truth, narrowed to the row's cause where a scenario names one."""
    truth = oracle.truth_of(row["spec"], row["direction"], row["goal_bps"])
    # Others that rest meanwhile take nothing: a transfer that got all of the link is limited by it.
    truth.accept += [r for r in truth.when_filled if measured_bps >= FILLED * r.high]
    cause = row.get("cause")
    if cause == "goal-met":
        truth.state = "goal-met"
    elif cause:
        named = [r for r in truth.accept if r.cause == cause]
        low, high = row.get("low_bps"), row.get("high_bps")
        number = bool(low and high) and all(r.number for r in named)
        segment = row["segment"] or None
        # Once the sender has learnt how late packets come (RACK, tcp_max_reordering), or where too
        # few frames collide, one connection may fill the link all the same: then the link is what
        # limits it.
        filled = [r for r in truth.accept if r.cause == "capacity" and cause in FILLING
                  and measured_bps >= FILLED * r.low]
        truth.accept = [oracle.Rung(cause, segment, low or None, high or None, number), *filled]
        also = row.get("also")
        if also and any(r.cause == also for r in truth.rungs) and cause != "cross-traffic":
            truth.beside.add(also)
        if cause in ("clean-veth", "capacity") and "plain=on" in row["spec"]:
            truth.accept.append(oracle.Rung("cpu", None, number=False))
        truth.beside |= {r.cause for r in truth.accept} | ({also} if also else set())
        if row.get("note"):
            truth.notes.add(row["note"])
            truth.beside.add(row["note"])
    return truth


def ceiling_problem(rungs, verdict):
    """None where one of the rungs agrees with the ceiling that is reported."""
    ceiling, measured = verdict.get("ceiling_bps"), verdict.get("measured_bps")
    if ceiling is None:
        return None if not any(r.number for r in rungs) else "no ceiling"
    for rung in rungs:
        if not rung.number:
            return None
        if rung.low * (1 - TOLERANCE) <= ceiling <= rung.high * (1 + TOLERANCE):
            return None
    low, high = rungs[0].low / 1e6, rungs[0].high / 1e6
    return f"ceiling {ceiling / 1e6:.4g} Mb/s, truth {low:.4g} to {high:.4g} (measured {(measured or 0) / 1e6:.4g})"


def is_unplaced(document, verdict, wanted):
    """A loss at one end's own network, said to lie on the path by a run that knows no closer
    place: nobody tells where single packets are lost but responders on the way (--via)."""
    fact = document.get("facts", {}).get(f"{verdict['direction']}.loss_segment", {})
    return verdict["cause"] in PLACED_BY_VIA and verdict["segment"] == "path" \
        and wanted in ("lan", "far-lan") and fact.get("state") != "known"


def party(cause, segment):
    """Who would have to act."""
    return "others" if cause == "cross-traffic" else segment


def accuses_wrongly(verdict, truth):
    """Whether the one who is named is none of those that the truth would name."""
    parties = {party(r.cause, r.segment) for r in truth.accept}
    return not parties & {None, "", party(verdict["cause"], verdict["segment"])}


def judge(document, row):
    """(outcome, problems, missing): one of OUTCOMES but the last."""
    verdict = document["verdict"]
    truth = truth_of(row, verdict.get("measured_bps") or 0)
    problems, unplaced = [], False
    found = [f for f in document["findings"] if f["result"] == "found"]
    for finding in found:
        if finding["severity"] != "note" and finding["cause"] not in truth.beside \
                and truth.state != "goal-met":
            problems.append(f"calls {finding['cause']} {finding['severity']} without ground")
    missing = sorted(truth.notes - {f["cause"] for f in found})
    missing = [f"does not note {cause}" for cause in missing]
    if verdict["state"] == "invalid":
        return ("right" if truth.why_invalid else "invalid"), problems, missing
    if verdict["state"] == "goal-met":
        return ("right" if truth.state == "goal-met" and not problems else "wrong"), problems, missing
    if verdict["state"] == "inconclusive":
        return ("wrong" if problems else "cannot-tell"), problems, missing
    rungs = [r for r in truth.accept if r.cause == verdict["cause"]]
    if truth.state == "goal-met":
        problems.append("the goal was met")
    if not rungs:
        problems.append(f"cause {verdict['cause']}, not "
                        + " or ".join(sorted({r.cause for r in truth.accept})))
    else:
        placed = [r for r in rungs if r.segment in (None, "", verdict["segment"])]
        unplaced = not placed and is_unplaced(document, verdict, rungs[0].segment)
        if not placed and not unplaced:
            problems.append(f"segment {verdict['segment']}, not {rungs[0].segment}")
        wrong_ceiling = ceiling_problem(placed or rungs, verdict)
        if wrong_ceiling:
            problems.append(wrong_ceiling)
    if verdict["direction"] != row["direction"]:
        problems.append(f"direction {verdict['direction']}")
    if problems and not unplaced and truth.state == "limited" and accuses_wrongly(verdict, truth):
        return "wrong-party", problems, missing
    return ("wrong" if problems else "not-placed" if unplaced else "right"), problems, missing


def busy_jiffies():
    fields = [int(x) for x in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    return sum(fields) - fields[3] - fields[4]


def own_cpu_s():
    times = os.times()
    return times.children_user + times.children_system


def run_once(program, row, keep):
    """One diagnosis: (document or None, seconds, share of a processor that others used)."""
    arguments = [program, "demo", "--link", row["spec"], "--direction", row["direction"],
                 "--json", "--yes"]
    if row["goal_bps"]:
        arguments += ["--goal", f"{row['goal_bps'] / 1e6:g}M"]
    started, busy, own = time.monotonic(), busy_jiffies(), own_cpu_s()
    try:
        run = subprocess.run(arguments, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return None, TIMEOUT_S, 0.0, f"no answer in {TIMEOUT_S} s"
    took = time.monotonic() - started
    hertz = os.sysconf("SC_CLK_TCK")
    others = max(0.0, ((busy_jiffies() - busy) / hertz - (own_cpu_s() - own)) / took)
    if "permission" in run.stderr and not run.stdout:
        print("skipped:", run.stderr.strip())
        sys.exit(SKIP)
    if run.returncode < 0:
        raise policy.Broken(f"signal {-run.returncode}: {run.stderr.strip()[:200]}")
    if not run.stdout:
        return None, took, others, f"exit {run.returncode}: {run.stderr.strip()[:200]}"
    document = json.loads(run.stdout)
    if keep:
        pathlib.Path(keep).mkdir(parents=True, exist_ok=True)
        (pathlib.Path(keep) / f"{row['name']}.json").write_text(run.stdout)
    return document, took, others, None


def family_of(row):
    return row.get("family") or ("steady" if "kind" in row else "scenario")


def program_id(program):
    """Tells builds apart whose results stand in one table."""
    return hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()[:8]


def run_case(program, row, keep):
    with contextlib.ExitStack() as stack:
        if "settings" in row:
            stack.enter_context(machine_settings(row["settings"]))
        document, took, others, failure = run_once(program, row, keep)
    truth = truth_of(row, document["verdict"].get("measured_bps") or 0 if document else 0)
    result = {"program": program_id(program), "name": row["name"], "spec": row["spec"],
              "direction": row["direction"], "generated": "kind" in row,
              "family": family_of(row), "stock": "stock=on" in row["spec"],
              "seconds": round(took, 1), "others": round(others, 2),
              "truth": [truth.state] if truth.state != "limited"
              else sorted({r.cause for r in truth.accept})}
    if document is None:
        return {**result, "outcome": "failed", "problems": [failure], "missing": []}
    return {**result, **judged(document, row), "rtt_s": truth_rtt(row)}


def judged(document, row):
    """What a result says of the verdict in a document."""
    verdict, run = document["verdict"], document["run"]
    outcome, problems, missing = judge(document, row)
    quality = run["quality"]
    if outcome.startswith("wrong") and quality["status"] in ("invalid", "aborted"):
        outcome = "invalid"
    return {"outcome": outcome, "problems": problems, "missing": missing,
            "state": verdict["state"], "cause": verdict.get("cause"),
            "segment": verdict.get("segment"), "ceiling_bps": verdict.get("ceiling_bps"),
            "measured_bps": verdict.get("measured_bps"), "confidence": verdict.get("confidence"),
            "next_cause": verdict.get("next_cause"), "deciding": verdict.get("deciding"),
            "sentence": verdict.get("sentence"), "status": quality["status"],
            "reasons": quality["reasons"],
            "megabytes": round((run["sent_bytes"] + run["received_bytes"]) / 1e6, 1),
            "stages": [s.get("id") for s in document["stages"]]}


def truth_rtt(row):
    return oracle.Path(row["spec"]).rtt()


HEADER = (f"{'case':28} {'verdict':32} {'truth':26} {'ceiling':>8} {'measured':>8} {'conf':>5}"
          f" {'s':>5} {'MB':>6}  rates in Mb/s")


def show(result):
    said = f"{result.get('cause') or result.get('state', '-')} @ {result.get('segment') or '-'}"
    print(f"{result['name']:28} {said:32} {'/'.join(result['truth'])[:26]:26}"
          f" {accuracy.mbps(result.get('ceiling_bps')):>8} {accuracy.mbps(result.get('measured_bps')):>8}"
          f" {result.get('confidence') or 0:5.2f} {result['seconds']:5.1f}"
          f" {result.get('megabytes', 0):6.0f}  {result['outcome']}"
          + (f" (others used {result['others']:.1f} processors)" if result["others"] > 0.3 else ""),
          flush=True)
    for line in result["problems"] + result["missing"]:
        print(f"    {line}", flush=True)
    if result["problems"]:
        print(f"    {result['spec']} ({result['direction']})", flush=True)


def read_results(paths):
    latest = {}
    for path in paths:
        for line in pathlib.Path(path).read_text().splitlines():
            row = json.loads(line)
            latest.pop(row["name"], None)
            latest[row["name"]] = row
    return list(latest.values())


def judge_again(options, results):
    """The same runs, as this build of the program judges them."""
    scenarios = {row["name"]: row for row in scenario_rows(options.scenarios)}
    program = program_id(options.program)
    for result in results:
        kept = pathlib.Path(options.keep) / f"{result['name']}.json"
        if not kept.exists():
            print(f"no document of {result['name']}: left as it was judged", file=sys.stderr)
            yield result
            continue
        said = subprocess.run([options.program, "explain", str(kept), "--json"],
                              capture_output=True, text=True, timeout=60)
        row = scenarios.get(result["name"].removesuffix("-stock"), {"goal_bps": 0})
        row = {**row, **{key: result[key] for key in ("name", "spec", "direction")}}
        yield {**result, **judged(json.loads(said.stdout), row), "judged_by": program}


def as_installed(row):
    return {**row, "name": row["name"] + "-stock", "spec": row["spec"] + generate.STOCK}


def wanted_rows(options):
    rows = scenario_rows(options.scenarios) if options.only in (None, "scenarios") else []
    if options.allow_settings:
        if os.geteuid() != 0:
            sys.exit("--allow-settings needs root")
        rows += SETTINGS_CASES
    if options.only in (None, "generated"):
        rows += list(generate.generate(options.seed, options.count))
    if options.stock:
        rows = [as_installed(row) for row in rows]
    if options.only in (None, "changing"):
        recordings = generate.find_recordings(options.traces) if options.traces else []
        rows += list(generate.generate_changing(options.seed, options.changing, recordings))
    if options.only in (None, "faulted"):
        rows += list(generate_faulted.generate_faulted(options.seed, options.faulted))
    if options.only in (None, "lines"):
        rows += list(generate_lines.generate_lines(options.seed, options.lines))
    pattern = re.compile(options.filter)
    done = set()
    if options.skip_done and options.out and pathlib.Path(options.out).exists():
        done = {row["name"] for row in read_results([options.out])}
    return [row for row in rows if pattern.search(row["name"]) and row["name"] not in done]


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("scenarios")
    parser.add_argument("--filter", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--changing", type=int, default=60)
    parser.add_argument("--faulted", type=int, default=60)
    parser.add_argument("--lines", type=int, default=54)
    parser.add_argument("--traces")
    parser.add_argument("--stock", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, choices=[1, 2])
    parser.add_argument("--only",
                        choices=["scenarios", "generated", "changing", "faulted", "lines"])
    parser.add_argument("--out")
    parser.add_argument("--skip-done", action="store_true")
    parser.add_argument("--for", dest="seconds", type=float, default=float("inf"))
    parser.add_argument("--keep")
    parser.add_argument("--from", dest="sources", nargs="+", default=[])
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--report")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--list", action="store_true", help="only says what would be run")
    parser.add_argument("--allow-settings", action="store_true")
    options = parser.parse_args()
    if options.allow_settings and options.jobs > 1:
        parser.error("--allow-settings changes the machine for all cases: not with --jobs 2")
    if options.again and not (options.sources and options.keep):
        parser.error("--again judges documents of --keep that belong to the lines of --from")
    return options


def try_case(options, row, end, gate):
    """The result that counts, or None where the time is over or the machine was never fit."""
    if time.monotonic() > end:
        return None
    results = []

    def attempt():
        results.append(run_case(options.program, row, options.keep))
        if options.jobs > 1:
            results[-1]["others"] = 0.0  # the neighbour's share is not told from others'
        red = results[-1]["outcome"] in ("wrong", "failed", "invalid")
        return (results[-1]["problems"] or [results[-1]["outcome"]]) if red else []

    outcome = gate.run(row["name"], attempt)
    # A failure that no repetition mended is the first one's.
    return results[0 if outcome == policy.FAILED else -1] if results else None


def run_all(options):
    results, end = [], time.monotonic() + options.seconds
    gate = policy.Gate(out=sys.stderr if options.json else sys.stdout)
    print(HEADER, flush=True, file=sys.stderr if options.json else sys.stdout)
    rows = wanted_rows(options)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as places:
        done = places.map(lambda row: try_case(options, row, end, gate), rows)
        for result in filter(None, done):
            keep_result(options, results, result)
    return results


def keep_result(options, results, result):
    results.append(result)
    if options.out:
        with open(options.out, "a") as out:
            out.write(json.dumps(result) + "\n")
    if options.json:
        print(json.dumps(result), flush=True)
    else:
        show(result)


def main():
    options = parse_options()
    if options.list:
        for row in wanted_rows(options):
            truth = truth_of(row)
            print(f"{row['name']:28} {row['direction']:8} {row['spec']}\n"
                  f"{'':28} {truth.state if truth.state != 'limited' else truth.accept}"
                  f" beside {sorted(truth.beside)} notes {sorted(truth.notes)}")
        return
    results = read_results(options.sources) if options.sources else run_all(options)
    if options.again:
        results = list(judge_again(options, results))
    if not options.json:
        accuracy.print_tables(results)
    if options.report:
        pathlib.Path(options.report).write_text(accuracy.markdown(results))
    sys.exit(1 if any(r["outcome"] in ("wrong", "wrong-party", "failed") for r in results) else 0)


if __name__ == "__main__":
    main()
