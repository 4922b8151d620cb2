"""What the results of the matrix say together: counts, shares with their intervals, and the page
doc/accuracy.md. matrix.py runs the cases and tells what a result holds."""
import collections
import json
import math
import os
import pathlib
import platform
import re

COUNTED = pathlib.Path(__file__).resolve().parents[2] / "src" / "rules" / "counted.json"
HELD_UP = "too busy to emulate"
# What people are shown (src/present/text_words.c; findings.schema.json has the number).
LEVELS = (("low", 0.0, 0.5), ("medium", 0.5, 0.8), ("high", 0.8, 1.01))
# A wrong party named as surely as that is what must not be.
ACCUSED = 0.6
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


def builds(results):
    """How many cases each build of the program ran, the newest last; rows of old files do not tell."""
    return collections.Counter(r.get("program", "earlier") for r in results)


def mbps(value):
    return "-" if value is None else f"{value / 1e6:.4g}"


def was_held_up(result):
    """By the run's own word."""
    return any(HELD_UP in reason for reason in result.get("reasons", []))


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
    return lines + ["", accusations_text(results).capitalize() + ".", "", *counted_text()]


def seeds_text(counts):
    return ", ".join(f"{seed} ({count})" for seed, count in counts["seeds"].items())


def counted_text():
    """Where the number beside a verdict comes from."""
    counted = json.loads(COUNTED.read_text())
    lines = ["The number was counted (tests/lab/count.py tells how; the counts are in",
             f"src/rules/counted.json): {counted['verdicts']} verdicts as they were told when they were "
             f"measured, {counted['right']} of them right, of seeds {seeds_text(counted)}; {counted['date']}. "
             + (f"Held back, with no part in the counts: {', '.join(counted['held_back_seeds'])}:"
                if counted["held_back_seeds"] else "Nothing was held back."), ""]
    if counted["held_back_seeds"]:
        lines += ["| level | held back | right | wrong party | told in the mean | share right |",
                  "|---|---|---|---|---|---|"]
        lines += [f"| {row['level']} | {row['verdicts']} | {row['right']} | {row['wrong_party']} "
                  f"| {'-' if row['told'] is None else format(row['told'], '.2f')} "
                  f"| {share_text(row['right'], row['verdicts'])} |" for row in counted["held_back"]]
    lines += ["", "What speaks against being sure of a verdict, and how often it was right all the same.",
              "What comes with no more wrong verdicts than chance explains weighs nothing, and is told no",
              "better than its own count proves:", "",
              "| doubt | verdicts | right | weight | told at most |", "|---|---|---|---|---|"]
    lines += [f"| {d['id']} | {d['verdicts']} | {d['right']} | {d['weight']:.2f} "
              f"| {d['most'] if d['verdicts'] >= 10 else 0.75:.2f} |" for d in counted["doubts"]]
    lines += [f"\n*{d['id']}* was counted by itself on {d['of']} later verdicts, of seeds {seeds_text(d)}; {d['date']}."
              for d in counted["doubts"] if "of" in d]
    return lines + [""]


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
             + ", ".join(f"{build} ({count} cases)" for build, count in builds(results).items()) + "."]
    again = collections.Counter(r["judged_by"] for r in results if "judged_by" in r)
    if again:
        lines.append("The runs are theirs; the verdicts here are those that "
                     + ", ".join(f"{build} (all {count})" if count == len(results)
                                 else f"{build} ({count} cases)" for build, count in again.items())
                     + " came to from the documents they left.")
    lines.append("")
    lines += family_table(results) + level_table(results)
    for title, rows in (("Scenarios", [r for r in results if not r["generated"]]),
                        ("Generated steady paths",
                         [r for r in results if r["generated"] and r.get("family", "steady") == "steady"]),
                        ("Changing paths",
                         [r for r in results if r.get("family", "steady") not in
                          ("steady", "scenario", "faulted")]),
                        ("Faults on changing paths",
                         [r for r in results if r.get("family") == "faulted"])):
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
