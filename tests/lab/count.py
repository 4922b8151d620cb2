#!/usr/bin/env python3
"""Counts how often verdicts on emulated paths were right, by what spoke against being sure of them,
and writes what the program reads (src/rules/counted.json).

    count.py DOCUMENTS... [--scenarios PROGRAM] [--traces DIR] [--hold-back SEED...]
             [--only DOUBT] [--date DAY] [--write FILE]

DOCUMENTS are folders of `matrix.py --keep`: a file's name is its case's, from which the path and
its truth are made again; --scenarios is the program that prints the table of scenarios. Each document
counts as it was judged when it was measured. A verdict that names a cause is right where
matrix.py says so. Without --write only the tables are shown. With --only FILE keeps all that it has but
the row of one doubt, which is counted on these documents: for one that few verdicts had when the rest was
counted, or that is new.

The way: (1) each doubt (what src/rules/confidence.c says of a verdict, in the words of its reasons)
is counted with and without it (Fisher's exact test, one side): the clearest first, the next among the
verdicts without that one, and so on while chance explains a doubt's wrong verdicts in fewer than one
of ten tables. Of these the weight is the lower bound of the share of right verdicts with it by the
share of those without any. The others weigh nothing, but are told no better than the lower bound of
their own share (of verdicts without the doubts that weigh): few verdicts prove little.
(2) The score of a verdict is the share of those without a doubt, times its weights. (3) Over the
scores the share is made to rise (pool adjacent violators, ten verdicts a level at least), and each
level is told by the lower bound of
its share (Wilson 1927, 95 %). (4) The seeds that are held back have no part in (1) to (3); what they
are told is compared with how many are right.
"""
import argparse
import collections
import datetime
import json
import math
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import accuracy  # noqa: E402
import generate  # noqa: E402
import generate_faulted  # noqa: E402
import generate_lines  # noqa: E402
import matrix  # noqa: E402

# Doubts as confidence.c names them, by the words that tell of them.
PHRASES = {
    "repeats-rate": r"its ceiling only repeats the rate that was seen",
    "wide-bounds": r"the ceiling's bounds are wide",
    "contrary": r"\d+ supporting tests? speaks? against it",
    # A supporting test that is counted by itself, where it speaks against the cause.
    "link-rate-known": r"the slowest link's own rate is not known, so that other traffic on it is not excluded",
    "varied-much": r"the rate varied much",
    "varied": r"the rate varied",
    "rival": r"another cause lies within 15 %",
    "ledger-unknown": r"the time ledger is not known",
}
FIT = re.compile(r"the rate is (\d+) % of the ceiling .*")
KNOWN = re.compile(r"(\d+) of (\d+) tests had their facts")
TOLD = re.compile(r"of \d+ verdicts as sure as this on emulated paths, \d+ were right|"
                  r"too few were counted in these circumstances for more than medium")
COUNTS = re.compile(r" \(of \d+ such verdicts on emulated paths \d+ were right\)")
DOUBTS = ["repeats-rate", "below-ceiling", "above-ceiling", "wide-bounds", "facts-missing", "contrary", "link-rate-known",
          "varied", "varied-much", "rival", "ledger-unknown", "disturbed"]
LEAST_KNOWN, FIT_LOW, FIT_HIGH = 0.9, 85, 125
CHANCE = 0.1
LEAST = 10  # verdicts of a level, and of a doubt that counts (TL_COUNTED_MIN)
UNCOUNTED = 0.75  # TL_UNCOUNTED_MAX
Z = 1.96


def doubts_of(document):
    """The doubts that a document's own verdict was told with."""
    found = set()
    degraded = document["run"]["quality"]["status"] == "degraded"
    for reason in COUNTS.sub("", document["verdict"]["confidence_reasons"]).split("; "):
        fit, known = FIT.fullmatch(reason), KNOWN.fullmatch(reason)
        names = [name for name, phrase in PHRASES.items() if re.fullmatch(phrase, reason)]
        if fit:
            if int(fit[1]) < FIT_LOW:
                found.add("below-ceiling")
            if int(fit[1]) > FIT_HIGH:
                found.add("above-ceiling")
        elif known:
            if int(known[1]) < LEAST_KNOWN * int(known[2]):
                found.add("facts-missing")
        elif names:
            found.update(names)
        elif not TOLD.fullmatch(reason) and not degraded:
            sys.exit(f"a reason that this script does not know: {reason}")
    return found | ({"disturbed"} if degraded else set())


def all_rows(names, options):
    """Rows of the matrix, by name, for every seed that the names tell."""
    seeds = {match[1] for match in map(re.compile(r".*-(\d+)\.\d+(-stock)?").fullmatch, names)
             if match}
    recordings = generate.find_recordings(options.traces) if options.traces else []
    rows = matrix.scenario_rows(options.scenarios) if options.scenarios else []
    for seed in seeds:
        most = max(int(re.search(r"\.(\d+)", n)[1]) for n in names if f"-{seed}." in n) + 1
        rows += list(generate.generate(seed, most))
        rows += list(generate.generate_changing(seed, most, recordings))
        rows += list(generate_faulted.generate_faulted(seed, most))
        rows += list(generate_lines.generate_lines(seed, most))
    return {row["name"]: row for row in rows + [matrix.as_installed(row) for row in rows]
            if row["name"] in names}


def seed_of(name):
    match = re.search(r"-(\d+)\.\d+(-stock)?$", name)
    return match[1] if match else "scenarios"


def read_verdicts(options):
    """One a document that names a cause: name, seed, doubts, right, wrong party."""
    files = {file.stem: file for folder in options.documents
             for file in sorted(pathlib.Path(folder).glob("*.json"))}
    rows = all_rows(set(files), options)
    unknown = sorted(set(files) - set(rows))
    if unknown:
        print(f"no such case, left out: {' '.join(unknown)}", file=sys.stderr)
    for name in sorted(rows):
        document = json.loads(files[name].read_text())
        if document["verdict"]["state"] != "limited":
            continue
        outcome, _, _ = matrix.judge(document, rows[name])
        yield {"name": name, "seed": seed_of(name), "doubts": doubts_of(document),
               "cause": document["verdict"]["cause"], "outcome": outcome,
               "right": outcome in ("right", "not-placed")}


def tally(verdicts):
    return len(verdicts), sum(v["right"] for v in verdicts)


def count_seeds(verdicts):
    return dict(sorted(collections.Counter(v["seed"] for v in verdicts).items()))


def fisher(with_n, with_right, without_n, without_right):
    """The chance that so few or fewer of the right ones have the doubt, if it says nothing."""
    total, right = with_n + without_n, with_right + without_right
    def chance(k):
        return math.comb(right, k) * math.comb(total - right, with_n - k) / math.comb(total, with_n)
    return sum(chance(k) for k in range(max(0, with_n - (total - right)), with_right + 1))


def split(verdicts, doubt):
    """(verdicts, right) with the doubt and without."""
    return (*tally([v for v in verdicts if doubt in v["doubts"]]),
            *tally([v for v in verdicts if doubt not in v["doubts"]]))


def telling_doubts(verdicts):
    """Those that go with wrong verdicts, the clearest first, each among the verdicts that none of
    the ones before explains."""
    kept, rest = {}, verdicts
    while True:
        chances = {d: fisher(*split(rest, d)) for d in DOUBTS if d not in kept}
        clearest = min(chances, key=chances.get)
        if chances[clearest] > CHANCE:
            return kept
        kept[clearest] = chances[clearest]
        rest = [v for v in rest if clearest not in v["doubts"]]


def weigh_doubts(verdicts):
    table, kept = [], telling_doubts(verdicts)
    plain = [v for v in verdicts if not kept.keys() & v["doubts"]]
    n, right = tally(plain)
    undoubted = (right + 1) / (n + 2)
    for doubt in DOUBTS:
        n, right, _, _ = split(verdicts if doubt in kept else plain, doubt)
        low = accuracy.wilson(right, n, Z)[0]
        row = {"id": doubt, "verdicts": n, "right": right, "weight": 1.0, "most": round(low, 4)}
        if doubt in kept:
            row.update(weight=round(min(1.0, low / undoubted), 4), most=1.0,
                       chance=round(kept[doubt], 4))
        table.append(row)
    return table


def undoubted_share(verdicts, weights):
    n, right = tally([v for v in verdicts if all(weights[d] == 1 for d in v["doubts"])])
    return (right + 1) / (n + 2)


def score_of(verdict, undoubted, weights):
    return undoubted * math.prod(weights[d] for d in verdict["doubts"])


def pool(points):
    """Pool adjacent violators: (score, count, right) sorted by score -> blocks of the same kind whose
    share rises and that hold LEAST verdicts; the last one takes what is left over."""
    blocks = []
    for score, n, right in points:
        blocks.append([score, n, right])
        while len(blocks) > 1 and (blocks[-2][1] < LEAST or
                                   blocks[-2][2] * blocks[-1][1] >= blocks[-1][2] * blocks[-2][1]):
            join_last(blocks)
    if len(blocks) > 1 and blocks[-1][1] < LEAST:
        join_last(blocks)
    return blocks


def join_last(blocks):
    _, n, right = blocks.pop()
    blocks[-1][1] += n
    blocks[-1][2] += right


def fit(verdicts):
    doubts = weigh_doubts(verdicts)
    weights = {d["id"]: d["weight"] for d in doubts}
    undoubted = undoubted_share(verdicts, weights)
    groups = collections.defaultdict(list)
    for verdict in verdicts:
        groups[round(score_of(verdict, undoubted, weights), 4)].append(verdict)
    levels = [{"score": score, "verdicts": n, "right": right,
               "low": round(accuracy.wilson(right, n, Z)[0], 4),
               "high": round(accuracy.wilson(right, n, Z)[1], 4)}
              for score, n, right in pool([(s, *tally(groups[s])) for s in sorted(groups)])]
    return {"undoubted": round(undoubted, 4), "doubts": doubts, "levels": levels}


def told(verdict, counted):
    """As confidence.c does."""
    weights = {d["id"]: d["weight"] for d in counted["doubts"]}
    score = score_of(verdict, counted["undoubted"], weights)
    level = counted["levels"][0]
    for candidate in counted["levels"][1:]:
        if candidate["score"] <= score + 1e-4:
            level = candidate
    most = [d["most"] if d["verdicts"] >= LEAST else UNCOUNTED for d in counted["doubts"]
            if d["id"] in verdict["doubts"]]
    return min(level["low"], score, *most)


def check(verdicts, counted):
    """What the verdicts that were held back are told, and how many of them are right."""
    table = []
    for level, low, high in accuracy.LEVELS:
        inside = [v for v in verdicts if low <= told(v, counted) < high]
        n, right = tally(inside)
        table.append({"level": level, "verdicts": n, "right": right,
                      "wrong_party": sum(v["outcome"] == "wrong-party" for v in inside),
                      "told": round(sum(told(v, counted) for v in inside) / n, 3) if n else None})
    return table


def show(counted, verdicts, held):
    n, right = tally(verdicts)
    print(f"{n} verdicts, {right} right; held back {len(held)}")
    print("doubt              with  right   chance  weight  told at most")
    for d in counted["doubts"]:
        print(f"  {d['id']:16} {d['verdicts']:5d}  {d['right']:5d}"
              f"  {d.get('chance', 1):7.4f}  {d['weight']:6.3f}  {d['most']:6.3f}")
    print(f"score without a doubt {counted['undoubted']}\nfrom score  verdicts  right  interval")
    for level in counted["levels"]:
        print(f"  {level['score']:8.3f}  {level['verdicts']:8d}  {level['right']:5d}"
              f"  {level['low']:.3f} to {level['high']:.3f}")
    print("held back: level, verdicts, right, of the wrong party, told in the mean")
    for row in check(held, counted):
        print(f"  {row['level']:8} {row['verdicts']:5d} {row['right']:5d} {row['wrong_party']:5d}  {row['told']}")
    for v in verdicts + held:
        if not v["right"]:
            print(f"  {v['outcome']:12} {v['name']:28} {v['cause']:16} {told(v, counted):.2f}"
                  f" {' '.join(sorted(v['doubts']))}")


def as_text(counted):
    """JSON, one doubt or level a line."""
    def rows(items):
        return "[\n" + ",\n".join("    " + json.dumps(item) for item in items) + "\n  ]"
    parts = [f"  {json.dumps(key)}: {rows(value) if key in ('doubts', 'levels', 'held_back') else json.dumps(value)}"
             for key, value in counted.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def count_again(path, doubt, counted, verdicts, date):
    """What the file has, with that doubt's row as it is counted now, and on what."""
    kept = json.loads(pathlib.Path(path).read_text())
    row = next(row for row in counted["doubts"] if row["id"] == doubt)
    row = {**row, "date": date, "of": len(verdicts), "seeds": count_seeds(verdicts)}
    others = {old["id"]: old for old in kept["doubts"]}
    return {**kept, "doubts": [row if name == doubt else others[name]
                               for name in DOUBTS if name == doubt or name in others]}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="+")
    parser.add_argument("--scenarios")
    parser.add_argument("--traces")
    parser.add_argument("--hold-back", nargs="+", default=[])
    parser.add_argument("--only", choices=DOUBTS)
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--write")
    options = parser.parse_args()
    verdicts = list(read_verdicts(options))
    held = [v for v in verdicts if v["seed"] in options.hold_back]
    used = [v for v in verdicts if v["seed"] not in options.hold_back]
    if not used:
        sys.exit("no verdict to count")
    counted = fit(used)
    show(counted, used, held)
    if options.write and options.only:
        pathlib.Path(options.write).write_text(as_text(
            count_again(options.write, options.only, counted, used, options.date)))
    elif options.write:
        n, right = tally(used)
        pathlib.Path(options.write).write_text(as_text({
            "format": "tightlink.counted/1",
            "about": "How many verdicts on emulated paths were right, by what spoke against being "
                     "sure of them. Made by tests/lab/count.py; no data from the field are in it.",
            "date": options.date, "verdicts": n, "right": right,
            "seeds": count_seeds(used), "held_back_seeds": options.hold_back,
            **counted, "held_back": check(held, counted)}))


if __name__ == "__main__":
    main()
