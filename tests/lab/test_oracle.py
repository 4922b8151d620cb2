#!/usr/bin/env python3
"""The oracle agrees with the table of scenarios, with sums done by hand, and gives every
generated path a truth. Runs nothing but the program that prints the table."""
import sys

import generate
import matrix
import oracle


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def table_and_oracle_agree(program):
    rows = matrix.scenario_rows(program)
    check(len(rows) >= 45, f"{len(rows)} scenarios")
    for row in rows:
        truth = oracle.truth_of(row["spec"], row["direction"], row["goal_bps"])
        if row["cause"] == "goal-met":
            check(truth.state == "goal-met", row["name"])
            continue
        causes = {r.cause for r in truth.accept}
        check(row["cause"] in causes, f"{row['name']}: {row['cause']} is not among {truth.accept}")
        for rung in truth.accept:
            if rung.cause == row["cause"] and rung.number and row["high_bps"]:
                check(rung.low <= row["high_bps"] * 1.05 and row["low_bps"] <= rung.high * 1.05,
                      f"{row['name']}: {rung} against {row['low_bps']:g} to {row['high_bps']:g}")


def sums_by_hand():
    truth = oracle.truth_of("rate=50M delay=10ms", "download")
    check([r.cause for r in truth.accept] == ["capacity"], "capacity")
    check(abs(truth.accept[0].high / (50e6 * 1448 / 1500) - 1) < 0.01, "48.3 Mb/s of payload")
    truth = oracle.truth_of("rate=200M delay=20ms near.wscale=off", "upload")
    check(truth.accept[0].segment == "near-host", "the near end is off in both directions")
    check(abs(truth.accept[0].high - 65535 * 8 / 0.04) < 1, "65535 bytes in 40 ms")
    truth = oracle.truth_of("up.rate=10M down.rate=100M delay=10ms", "upload")
    check(truth.accept[0].high < 10e6, "the direction's own rate")
    truth = oracle.truth_of("family=both rate=90M v6.rate=20M delay=5ms", "download")
    check(truth.accept[0].high > 80e6, "IPv4's link for IPv4")
    truth = oracle.truth_of("link-at=lan rate=30M wan.rate=20M delay=5ms", "download")
    check(truth.accept[0].segment == "path" and truth.accept[0].high < 20e6, "the lower of two")
    truth = oracle.truth_of("rate=50M delay=10ms near.rmem=64KiB far.rmem=8KiB", "download")
    check(truth.accept[0].segment == "near-host", "the receiver's buffer, not the sender's")
    truth = oracle.truth_of("rate=500M delay=5ms far.disk=read:40MB/s,write:9MB/s "
                            "near.disk=write:20MB/s", "download")
    check([(r.cause, r.segment) for r in truth.accept] == [("disk-write", "near-host")],
          "the receiver's disk, not the writing of the sender's")
    check(truth.accept[0].low < 160e6 < truth.accept[0].high, "20 MB/s are 160 Mb/s")
    truth = oracle.truth_of("rate=1.6M delay=2ms", "upload")
    check("bufferbloat" in truth.notes, "32 packets at 1.6 Mb/s are 240 ms")
    truth = oracle.truth_of("rate=100M delay=10ms cc=bbr loss=0.5%", "download")
    check([r.cause for r in truth.accept] == ["capacity"] and "random-loss" in truth.notes, "BBR")


def every_generated_path_has_a_truth():
    rows = list(generate.generate(3, 300))
    check(rows == list(generate.generate(3, 300)), "the same seed, the same paths")
    kinds = {}
    for row in rows:
        truth = oracle.truth_of(row["spec"], row["direction"])
        check(truth.accept, row["spec"])
        kinds.setdefault(row["kind"], set()).update(r.cause for r in truth.accept)
    check(len(kinds) == len(generate.KINDS), "every kind has its turn")
    for kind, cause in (("receive_window", "receive-window"), ("policer", "policer"),
                        ("black_hole", "mtu-black-hole"), ("ack_path", "ack-path"),
                        ("loss_bbr", "capacity"), ("per_flow", "per-flow-limit")):
        check(cause in kinds[kind], f"{kind} never means {cause}: {kinds[kind]}")


def verdicts_are_judged():
    row = {"name": "x", "spec": "rate=50M delay=10ms", "direction": "download", "goal_bps": 0}
    verdict = {"state": "limited", "cause": "capacity", "segment": "path", "direction": "download",
               "ceiling_bps": 48e6, "measured_bps": 48e6}
    found = {"result": "found", "severity": "contributes", "cause": "policer"}
    document = {"verdict": verdict, "findings": []}
    check(matrix.judge(document, row)[0] == "right", "right")
    check(matrix.judge({**document, "findings": [found]}, row)[0] == "wrong", "without ground")
    for key, value in (("cause", "policer"), ("segment", "lan"), ("ceiling_bps", 60e6),
                       ("direction", "upload")):
        check(matrix.judge({"verdict": {**verdict, key: value}, "findings": []}, row)[0] == "wrong",
              key)
    loss = {**row, "spec": "rate=100M delay=5ms link-at=lan down.loss=0.2%"}
    verdict = {**verdict, "cause": "random-loss", "ceiling_bps": None}
    facts = {"download.loss_segment": {"state": "known", "value": "path"}}
    check(matrix.judge({"verdict": verdict, "findings": []}, loss)[0] == "not-placed", "not placed")
    check(matrix.judge({"verdict": verdict, "findings": [], "facts": facts}, loss)[0] == "wrong",
          "placed wrongly")
    check(matrix.judge({"verdict": {**verdict, "segment": "far-lan"}, "findings": []}, loss)[0]
          == "wrong", "at the other end")
    check(matrix.judge({"verdict": {"state": "inconclusive"}, "findings": []}, row)[0]
          == "cannot-tell", "cannot tell")


table_and_oracle_agree(sys.argv[1])
sums_by_hand()
every_generated_path_has_a_truth()
verdicts_are_judged()
print("the oracle agrees")
