#!/usr/bin/env python3
"""Makes the labelled captures, judges each at three places, prints precision and recall by label.

score.py SIMULATE TIGHTLINK [--flawed] [--only LABEL] [--rows] [--jobs N]

Fails on a wrong cause, and where fewer are named than the floor of their label: "cannot tell" is
no error, a wrong cause is one."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

from cases import CASES, FLAWS

PLACES = ("near", "middle", "far")
SECONDS = 60
# Least share that is named, per label over the three places, without flaws. What one connection's
# packets cannot tell has none.
FLOORS = {"receive-window": 0.6, "send-buffer": 0.8, "policer": 0.55, "random-loss": 0.6, "burst-loss": 0.45,
          "shallow-buffer": 0.5, "capacity": 0.6, "bufferbloat": 0.8, "receiver-app": 0.6,
          "sender-app": 0.7, "aqm": 0.75}


def judge(program, path):
    run = subprocess.run([program, "pcap", path, "--json"], capture_output=True, text=True,
                         timeout=SECONDS, check=False)
    if run.returncode == 2 and "packets none is TCP" in run.stderr:
        return {"state": "inconclusive", "cause": None}, {}
    if run.returncode not in (0, 4):  # not for rules that do not load, say
        print(f"{path}: exit {run.returncode}: {run.stderr.strip()}")
        return {"state": "error", "cause": None}, {}
    document = json.loads(run.stdout)
    return document["verdict"], document.get("facts", {})


def one(arguments, number, case, flaw):
    label, right, numbers = case
    with tempfile.TemporaryDirectory() as directory:
        keys = dict(seed=number + 1) | numbers | flaw
        truth = subprocess.run([arguments.simulate, directory] +
                               [f"{key}={value}" for key, value in keys.items()],
                               capture_output=True, text=True, timeout=SECONDS, check=True).stdout
        rows = []
        for place in PLACES:
            verdict, facts = judge(arguments.tightlink, os.path.join(directory, place + ".pcap"))
            named = verdict.get("cause") if verdict["state"] == "limited" else None
            state = "error" if verdict["state"] == "error" else \
                "cannot tell" if named is None else "right" if named in right else "WRONG"
            rows.append((label, keys, place, named, state, verdict, facts, json.loads(truth)))
        return rows


def print_row(row, facts_wanted):
    label, keys, place, named, state, verdict, facts, truth = row
    print(f"{label:15} {place:7} {state:12} {named or '-':16} "
          f"{verdict.get('confidence') or 0:.2f} "
          + " ".join(f"{key}={value:g}" for key, value in keys.items() if key != "seed"))
    for key in facts_wanted:
        for full, fact in facts.items():
            if full.split(".", 1)[-1] == key:
                print(f"      {full} = {fact.get('value', fact.get('reason'))}"
                      f" [{fact.get('low')}, {fact.get('high')}]")
    if facts_wanted:
        print("      truth", truth)


def table(rows):
    """Per label: named right, cannot tell, wrong; precision over what was named as it."""
    by = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    for label, _, place, _, state, *_ in rows:
        by[label][place][{"right": 0, "WRONG": 2}.get(state, 1)] += 1
    print(f"\n{'label':16}{'near':>12}{'middle':>12}{'far':>12}{'precision':>11}{'recall':>9}"
          "   (right/cannot tell/wrong)")
    recalls = {}
    for label, places in by.items():
        sums = [sum(places[place][i] for place in PLACES) for i in range(3)]
        named = sums[0] + sums[2]
        recalls[label] = sums[0] / sum(sums)
        print(f"{label:16}" + "".join(f"{'/'.join(map(str, places[place])):>12}"
                                      for place in PLACES)
              + f"{sums[0] / named if named else float('nan'):>11.2f}{recalls[label]:>9.2f}")
    return recalls


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("simulate")
    parser.add_argument("tightlink")
    parser.add_argument("--flawed", action="store_true", help="lay the flaws of captures over")
    parser.add_argument("--only")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--facts", default="")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    work = [(number, case, FLAWS[number % len(FLAWS)] if arguments.flawed else {})
            for number, case in enumerate(CASES) if arguments.only in (None, case[0])]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda item: one(arguments, *item), work))
    rows = [row for group in results for row in group]
    facts_wanted = [key for key in arguments.facts.split(",") if key]
    wrong = [row for row in rows if row[4] in ("WRONG", "error")]
    for row in rows if arguments.rows else wrong:
        print_row(row, facts_wanted)
    recalls = table(rows)
    few = [] if arguments.flawed else [label for label, floor in FLOORS.items()
                                       if recalls.get(label, 1) < floor]
    named = sum(row[4] == "right" for row in rows)
    print(f"\n{named} of {len(rows)} named, {len(wrong)} wrong"
          + (f"; below their floor: {', '.join(few)}" if few else ""))
    return 1 if wrong or few else 0


if __name__ == "__main__":
    sys.exit(main())
