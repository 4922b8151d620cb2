#!/usr/bin/env python3
"""Diagnoses every scenario of the lab and as many generated paths, and shows how often the
verdict is the truth, how sure it was and what it cost.

    matrix.py TIGHTLINK SCENARIOS [--filter RE] [--seed N] [--count N]
              [--only scenarios|generated|changing] [--changing N] [--traces DIR] [--stock]
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
  --changing N      so many changing paths (generate.py), each privileged and as installed
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
import collections
import concurrent.futures
import contextlib
import hashlib
import json
import math
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "realtime"))
import generate  # noqa: E402
import oracle  # noqa: E402
import policy  # noqa: E402

SKIP = 77
TIMEOUT_S = 240
HELD_UP = "too busy to emulate"
TOLERANCE = 0.10
PLACED_BY_VIA = ("random-loss", "burst-loss", "corruption")
# What people are shown (src/present/text_words.c; findings.schema.json has the number).
LEVELS = (("low", 0.0, 0.5), ("medium", 0.5, 0.8), ("high", 0.8, 1.01))
# A wrong party named as surely as that is what must not be.
ACCUSED = 0.6
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


# Scenarios whose truth no measurement from the two ends can tell, and why. They count as what
# they are; the page says the reason beside them.
EXPLAINED = {
    "lan-loss": "loss of some packets in a thousand is told by no router: most answer one probe a "
                "second, so a run has six answers of each hop. A loss is said to lie on the path "
                "unless an interface counts it, and counts as not placed here; responders on the way "
                "tell: the lab cases via-lan-loss and via-path-loss",
    "duplex": "the collisions are emulated, the interface is virtual: it has no duplex mode and "
              "counts no collision, which is what the rule rests on (tested from recorded "
              "answers of real cards)",
    "delay-step": "a path that grew longer in both directions while one connection ran is told from "
                  "a queue; where it grew between two stages, or in one direction, a queue of other "
                  "traffic that came meanwhile looks the same, and the run says that it cannot tell",
}


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


def builds(results):
    """How many cases each build of the program ran, the newest last; rows of old files do not tell."""
    return collections.Counter(r.get("program", "earlier") for r in results)


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
    verdict, run = document["verdict"], document["run"]
    outcome, problems, missing = judge(document, row)
    quality = run["quality"]
    if outcome.startswith("wrong") and quality["status"] in ("invalid", "aborted"):
        outcome = "invalid"
    return {**result, "outcome": outcome, "problems": problems, "missing": missing,
            "state": verdict["state"], "cause": verdict.get("cause"),
            "segment": verdict.get("segment"), "ceiling_bps": verdict.get("ceiling_bps"),
            "measured_bps": verdict.get("measured_bps"), "confidence": verdict.get("confidence"),
            "next_cause": verdict.get("next_cause"), "deciding": verdict.get("deciding"),
            "sentence": verdict.get("sentence"), "status": quality["status"],
            "reasons": quality["reasons"], "rtt_s": truth_rtt(row),
            "megabytes": round((run["sent_bytes"] + run["received_bytes"]) / 1e6, 1),
            "stages": [s.get("id") for s in document["stages"]]}


def truth_rtt(row):
    return oracle.Path(row["spec"]).rtt()


def mbps(value):
    return "-" if value is None else f"{value / 1e6:.4g}"


HEADER = (f"{'case':28} {'verdict':32} {'truth':26} {'ceiling':>8} {'measured':>8} {'conf':>5}"
          f" {'s':>5} {'MB':>6}  rates in Mb/s")


def was_held_up(result):
    """By the run's own word."""
    return any(HELD_UP in reason for reason in result.get("reasons", []))


def show(result):
    said = f"{result.get('cause') or result.get('state', '-')} @ {result.get('segment') or '-'}"
    print(f"{result['name']:28} {said:32} {'/'.join(result['truth'])[:26]:26}"
          f" {mbps(result.get('ceiling_bps')):>8} {mbps(result.get('measured_bps')):>8}"
          f" {result.get('confidence') or 0:5.2f} {result['seconds']:5.1f}"
          f" {result.get('megabytes', 0):6.0f}  {result['outcome']}"
          + (f" (others used {result['others']:.1f} processors)" if result["others"] > 0.3 else ""),
          flush=True)
    for line in result["problems"] + result["missing"]:
        print(f"    {line}", flush=True)
    if result["problems"]:
        print(f"    {result['spec']} ({result['direction']})", flush=True)


def median(values):
    values = sorted(values)
    return values[len(values) // 2] if values else 0


def summary(results):
    count = collections.Counter(r["outcome"] for r in results)
    return [f"{len(results)} cases: {count['right']} right, {count['not-placed']} right but not "
            f"placed, {count['cannot-tell']} cannot tell, "
            f"{count['wrong']} wrong, {count['wrong-party']} of the wrong party, "
            f"{count['invalid']} invalid, {count['failed']} failed",
            f"median {median([r['seconds'] for r in results]):.1f} s and "
            f"{median([r.get('megabytes', 0) for r in results]):.0f} MB a case"]


def confusion(results):
    """Rows (true causes, what was said, how often), most frequent first."""
    table = collections.Counter(
        ("/".join(r["truth"]), (r.get("cause") if r.get("state") == "limited" else r.get("state"))
         or "failed") for r in results)
    return sorted(table.items(), key=lambda item: (item[0][0], -item[1]))


def wilson(right, count, z=1.96):
    """The interval in which a share lies with 95 % (Wilson 1927)."""
    if not count:
        return 0.0, 1.0
    share, square = right / count, z * z / count
    middle = (share + square / 2) / (1 + square)
    half = z / (1 + square) * math.sqrt(share * (1 - share) / count + square / (4 * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def calibration(results):
    """For verdicts with a cause: rows (level, from, to, verdicts, right, wrong parties)."""
    rows = []
    for level, low, high in LEVELS:
        inside = [r for r in results if r.get("state") == "limited"
                  and low <= (r.get("confidence") or 0) < high]
        rows.append((level, low, min(high, 1.0), len(inside),
                     sum(r["outcome"] in ("right", "not-placed") for r in inside),
                     sum(r["outcome"] == "wrong-party" for r in inside)))
    return rows


def accusations(results):
    """(wrong parties named at ACCUSED or more, verdicts with a cause that are as sure)."""
    sure = [r for r in results if r.get("state") == "limited" and (r.get("confidence") or 0) >= ACCUSED]
    return sum(r["outcome"] == "wrong-party" for r in sure), len(sure)


def accusations_text(results):
    wrong, count = accusations(results)
    return f"wrong party at a confidence of {ACCUSED} or more: {wrong} of {count} verdicts"


def families(results):
    """Rows (family, privileged or as installed, results), in the order of first appearance."""
    table = {}
    for r in results:
        family = r.get("family") or ("steady" if r["generated"] else "scenario")
        table.setdefault((family, "stock" if r.get("stock") else "privileged"), []).append(r)
    return [(family, how, rows) for (family, how), rows in sorted(table.items())]


def share_text(right, count):
    low, high = wilson(right, count)
    return f"{right / count:.0%} ({low:.0%} to {high:.0%})" if count else "-"


def print_tables(results):
    print()
    for line in summary(results):
        print(line)
    print("\ntrue cause -> named, times")
    for (truth, said), times in confusion(results):
        print(f"  {truth:40} {said:24} {times}")
    print("\nfamily               hosts       cases  right  cannot tell  wrong  wrong party"
          "  median s  median MB")
    for family, how, rows in families(results):
        count = collections.Counter(r["outcome"] for r in rows)
        print(f"  {family:18} {how:10} {len(rows):6d} {count['right'] + count['not-placed']:6d}"
              f" {count['cannot-tell']:12d} {count['wrong']:6d} {count['wrong-party']:12d}"
              f" {median([r['seconds'] for r in rows]):9.1f}"
              f" {median([r.get('megabytes', 0) for r in rows]):10.0f}")
    print("\n" + accusations_text(results))
    print("\nconfidence        verdicts  right  wrong party")
    for level, low, high, count, right, accused in calibration(results):
        print(f"  {level:6} {low:.1f} to {high:.1f} {count:8d}  {right:5d}  {accused:11d}"
              f"  {share_text(right, count)}")


def shown_spec(result):
    """A recording by its name alone: its folder is the machine's."""
    return re.sub(r"trace=\S*/", "trace=", result["spec"])


def family_table(results):
    lines = ["## Families", "",
             "*Privileged*: buffers up to 64 MiB at both ends. *Stock*: settings as installed, both",
             "ends as an ordinary user. Where the wrong party is accused, who would have to act is",
             "none of those that the truth would ask; it is no part of the column before it.", "",
             "| family | hosts | cases | right | cannot tell | wrong | wrong party | median s | median MB |",
             "|---|---|---|---|---|---|---|---|---|"]
    for family, how, rows in families(results):
        count = collections.Counter(r["outcome"] for r in rows)
        lines.append(f"| {family} | {how} | {len(rows)} | {count['right'] + count['not-placed']} "
                     f"| {count['cannot-tell']} | {count['wrong'] + count['failed'] + count['invalid']} "
                     f"| {count['wrong-party']} | {median([r['seconds'] for r in rows]):.1f} "
                     f"| {median([r.get('megabytes', 0) for r in rows]):.0f} |")
    return lines + [""]


def level_table(results):
    lines = ["## Confidence", "",
             "Of the verdicts that name a cause at this level, so many are right; in brackets the",
             "interval of Wilson that holds the share with 95 %. All of it is counted on emulated",
             "paths: no data from the field are in it.", "",
             "| level | confidence | verdicts | right | wrong party | share right |",
             "|---|---|---|---|---|---|"]
    for level, low, high, count, right, accused in calibration(results):
        lines.append(f"| {level} | {low:.1f} to {high:.1f} | {count} | {right} | {accused} "
                     f"| {share_text(right, count)} |")
    return lines + ["", accusations_text(results).capitalize() + ".", ""]


def markdown(results):
    lines = ["# How often the verdict is the truth", "",
             "Generated by `ninja -C build/test lab-matrix` (tests/lab/matrix.py); do not edit. Paths are",
             "emulated on one machine, so the truth is known: that of a scenario is its row in",
             "src/lab/scenario.c, that of a generated path is computed from its specification by",
             "tests/lab/oracle.py. Where two causes lie within 15 %, either is right. *Right* means the",
             "cause, its segment, its ceiling within 10 % where the truth is a number, and nothing else",
             "called limiting or contributing without ground. *Not placed* is all of that, but for a",
             "loss at one end's own network: the run does not know on which part of the way it lies.",
             "",
             f"Kernel {platform.release()}, {os.cpu_count()} processors. During "
             f"{sum(r['others'] > 0.3 for r in results)} of {len(results)} cases other programs used more "
             f"than 0.3 of them. In {sum(map(was_held_up, results))} the emulator was late: "
             "that path was not quite what its row says.", "",
             "Builds of the program, by the start of its SHA-256: "
             + ", ".join(f"{build} ({count} cases)" for build, count in builds(results).items()) + ".", ""]
    lines += family_table(results) + level_table(results)
    for title, rows in (("Scenarios", [r for r in results if not r["generated"]]),
                        ("Generated steady paths",
                         [r for r in results if r["generated"] and r.get("family", "steady") == "steady"]),
                        ("Changing paths",
                         [r for r in results if r.get("family", "steady") not in ("steady", "scenario")])):
        if not rows:
            continue
        lines += [f"## {title}", "", *[line + "." for line in summary(rows)], "",
                  "| case | verdict | truth | ceiling Mb/s | measured Mb/s | confidence | s | MB | build | |",
                  "|---|---|---|---|---|---|---|---|---|---|"]
        for r in rows:
            said = r.get("cause") or r.get("state", "-")
            lines.append(f"| {r['name']} | {said}{' @ ' + r['segment'] if r.get('segment') else ''} "
                         f"| {' or '.join(r['truth'])} | {mbps(r.get('ceiling_bps'))} "
                         f"| {mbps(r.get('measured_bps'))} | {r.get('confidence') or 0:.2f} "
                         f"| {r['seconds']:.0f} | {r.get('megabytes', 0):.0f} "
                         f"| {r.get('program', 'earlier')} | {r['outcome']}"
                         + (": " + "; ".join(r["problems"]) if r["problems"] else "")
                         + (" (emulator late)" if was_held_up(r) else "") + " |")
        lines.append("")
    lines += ["## Confusion", "", "| truth | named | times |", "|---|---|---|"]
    lines += [f"| {truth} | {said} | {times} |" for (truth, said), times in confusion(results)]
    wrong = [r for r in results if r["outcome"].startswith("wrong")]
    lines += ["", "## Wrong verdicts", ""]
    lines += [f"- {r['name']}{' (wrong party)' if r['outcome'] == 'wrong-party' else ''}: "
              f"{'; '.join(r['problems'])} (`{shown_spec(r)}`, {r['direction']})"
              for r in wrong] or ["None."]
    rows = [r for r in results if r["outcome"] != "right" and r["name"] in EXPLAINED]
    if rows:
        lines += ["", "## What the two ends cannot know", ""]
        lines += [f"- {r['name']}: {EXPLAINED[r['name']]}." for r in rows]
    return "\n".join(lines) + "\n"


def read_results(paths):
    latest = {}
    for path in paths:
        for line in pathlib.Path(path).read_text().splitlines():
            row = json.loads(line)
            latest.pop(row["name"], None)
            latest[row["name"]] = row
    return list(latest.values())


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
    parser.add_argument("--traces")
    parser.add_argument("--stock", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, choices=[1, 2])
    parser.add_argument("--only", choices=["scenarios", "generated", "changing"])
    parser.add_argument("--out")
    parser.add_argument("--skip-done", action="store_true")
    parser.add_argument("--for", dest="seconds", type=float, default=float("inf"))
    parser.add_argument("--keep")
    parser.add_argument("--from", dest="sources", nargs="+", default=[])
    parser.add_argument("--report")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--list", action="store_true", help="only says what would be run")
    parser.add_argument("--allow-settings", action="store_true")
    options = parser.parse_args()
    if options.allow_settings and options.jobs > 1:
        parser.error("--allow-settings changes the machine for all cases: not with --jobs 2")
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
    if not options.json:
        print_tables(results)
    if options.report:
        pathlib.Path(options.report).write_text(markdown(results))
    sys.exit(1 if any(r["outcome"] in ("wrong", "wrong-party", "failed") for r in results) else 0)


if __name__ == "__main__":
    main()
