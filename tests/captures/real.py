#!/usr/bin/env python3
"""Captures of this kernel's own transfers over emulated paths, at three places, held against their
label and against the sender's own counters.

real.py CAPTURE_PATH FLOW_END TIGHTLINK [--only NAME,...] [--keep FOLDER]

A wrong cause fails; "cannot tell" does not. Of the cases marked with truth the capture at the sender must
count what was sent again as TCP_INFO does, the time that the receive window took to 3 points, and the
shortest round trip to 1 %. Each is run as tests/realtime/policy.py says. Exit code 77 where no path can be
made here."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from real_cases import CASES

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "realtime"))
import policy  # noqa: E402 (it lies beside)

SECONDS = 90
SKIPPED = 77
POINTS, RTT_SHARE = 0.03, 0.01
PLACES = ("near", "middle", "far")


def judge(program, path):
    run = subprocess.run([program, "pcap", path, "--json"], capture_output=True, text=True,
                         timeout=SECONDS, check=False)
    if run.returncode not in (0, 4):
        return None, run.stderr.strip()
    return json.loads(run.stdout), ""


def fact(document, name):
    """Of the direction that the verdict is about; None where it is not known."""
    key = f"{document['verdict']['direction']}.{name}"
    return document["facts"].get(key, {}).get("value")


def against_kernel(document, truth):
    """What the capture says otherwise than the sender's kernel."""
    problems = []
    row = document["flows"][0]
    share = truth["rwnd_us"] / (truth["elapsed_s"] * 1e6)
    window = fact(document, "running_rwnd_ratio")  # of the whole transfer, as the kernel's
    if window is None or abs(window - share) > POINTS:
        problems.append(f"receive window {window} where the kernel has {share:.3f}")
    again = round(row["retrans_ratio"] * truth["segments_count"])
    if again != truth["retrans_count"]:
        problems.append(f"{again} sent again where the kernel has {truth['retrans_count']}")
    rtt, least = row["rtt_min_ns"], truth["min_rtt_us"] * 1000
    if abs(rtt - least) > RTT_SHARE * least:
        problems.append(f"shortest round trip {rtt} ns where the kernel has {least}")
    return problems


def one(arguments, case, folder):
    """Rows of name, place, cause and state; and what the kernel counted otherwise."""
    argv = [arguments.capture_path, case["path"], folder, arguments.flow_end, case["sender"]]
    argv += case.get("send", "").split() + ["--"] + case.get("receive", "").split()
    made = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS, check=False)
    if made.returncode == SKIPPED:
        raise policy.Skip(f"no path can be made here: {made.stderr.strip()}")
    if made.returncode != 0:
        return [], [f"the transfer failed: {made.stderr.strip()}"]
    with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
        truth = json.load(file)
    rows, problems = [], []
    for place in PLACES:
        document, why = judge(arguments.tightlink, os.path.join(folder, place + ".pcap"))
        if not document:
            problems.append(f"{place}: {why}")
            continue
        verdict = document["verdict"]
        named = verdict.get("cause") if verdict["state"] == "limited" else None
        state = "cannot tell" if named is None else "right" if named in case["right"] else "WRONG"
        rows.append((place, named, state))
        if case.get("truth") and place == case["sender"]:
            problems += against_kernel(document, truth)
    return rows, problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("capture_path")
    parser.add_argument("flow_end")
    parser.add_argument("tightlink")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", help="leave the captures in this folder")
    arguments = parser.parse_args()
    wanted = [name for name in arguments.only.split(",") if name]
    rows, gate = {}, policy.Gate()

    def attempt(case):
        """See policy.py. A capture that is kept is the last attempt's."""
        with tempfile.TemporaryDirectory() as folder:
            place = os.path.join(arguments.keep or folder, case["name"])
            os.makedirs(place, exist_ok=True)
            rows[case["name"]], problems = one(arguments, case, place)
        wrong = [f"{where}: {named}" for where, named, state in rows[case["name"]] if state == "WRONG"]
        return wrong + problems

    for case in CASES:
        if not wanted or case["name"] in wanted:
            gate.run(case["name"], lambda case=case: attempt(case))
            for where, named, state in rows.get(case["name"], ()):
                print(f"{case['name']:24} {where:7} {state:12} {named or '-'}", flush=True)
    states = [state for some in rows.values() for _, _, state in some]
    print(f"{states.count('right')} right, {states.count('cannot tell')} cannot tell, {states.count('WRONG')} wrong")
    return gate.exit_code()


if __name__ == "__main__":
    sys.exit(main())
