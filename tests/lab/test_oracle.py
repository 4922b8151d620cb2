#!/usr/bin/env python3
"""The oracle agrees with the table of scenarios, with sums done by hand, and gives every
generated path a truth. Runs nothing but the program that prints the table and the one that prints
what an emulated link carries."""
import collections
import pathlib
import subprocess
import sys
import tempfile

import accuracy
import count
import generate
import generate_faulted
import generate_lines
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
    for longest, cause in ((1404, "capacity"), (1340, "mtu-black-hole")):
        truth = oracle.truth_of(f"rate=50M delay=6ms wan-mtu=1380 down.maxlen={longest}", "download")
        check(truth.accept[0].cause == cause, f"packets of 1380 where {longest} pass: {cause}")
    truth = oracle.truth_of("rate=1.6M delay=2ms", "upload")
    check("bufferbloat" in truth.notes, "32 packets at 1.6 Mb/s are 240 ms")
    truth = oracle.truth_of("rate=100M delay=10ms cc=bbr loss=0.5%", "download")
    check([r.cause for r in truth.accept] == ["capacity"] and "random-loss" in truth.notes, "BBR")

    truth = oracle.truth_of("rate=100M delay=10ms down.cross=80M down.cross-burst=300ms/100ms", "download")
    free = 100e6 - 0.75 * 80e6
    check(truth.rungs[0].cause == "cross-traffic" and 0.8 * free < truth.rungs[0].low < 0.85 * free,
          "others send three quarters of the time")
    check(generate.rate_text(999.8e6) == "1000M", generate.rate_text(999.8e6))


def every_generated_path_has_a_truth():
    rows = list(generate.generate(3, 300))
    check(rows == list(generate.generate(3, 300)), "the same seed, the same paths")
    for row in rows:  # bursts of no traffic are refused
        words = {word.split("=")[0] for word in row["spec"].split()}
        check(all(word.replace("cross-burst", "cross") in words for word in words), row["spec"])
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


def faults_on_changing_paths_have_a_truth():
    rows = list(generate_faulted.generate_faulted(4, 240))
    check(rows == list(generate_faulted.generate_faulted(4, 240)), "the same seed")
    check(len({row["name"] for row in rows}) == len(rows), "a name for each")
    causes, natures = {}, set()
    for row in rows:
        truth = oracle.truth_of(row["spec"], row["direction"])
        check(truth.accept, row["spec"])
        causes.setdefault(row["kind"], []).append({r.cause for r in truth.accept})
        natures.add(row["name"].removeprefix(row["kind"].replace("_", "-")).rsplit("-", 2)[0])
    check(len(causes) == len(generate_faulted.FAULTS), "every fault has its turn")
    check(len(natures) >= len(generate_faulted.NATURES), f"every nature has: {natures}")
    for kind, cause in (("receive_window", "receive-window"), ("send_buffer", "send-buffer"),
                        ("window_scaling", "window-scaling-off"), ("random_loss", "random-loss"),
                        ("burst_loss", "burst-loss"), ("member_loss", "ecmp-member"),
                        ("policer", "policer"), ("flow_policer", "per-flow-limit"),
                        ("shaper", "shaper-boost"), ("short_queue", "shallow-buffer"),
                        ("black_hole", "mtu-black-hole"), ("no_fault", "capacity")):
        named = sum(cause in accepted for accepted in causes[kind])
        check(named > 0.7 * len(causes[kind]), f"{kind} is {cause} {named} times of {len(causes[kind])}")


def whole_lines_have_a_truth():
    rows = list(generate_lines.generate_lines(4, 360))
    check(rows == list(generate_lines.generate_lines(4, 360)), "the same seed")
    check(len({row["name"] for row in rows}) == len(rows), "a name for each")
    for row in rows:
        check(oracle.truth_of(row["spec"], row["direction"]).accept, row["spec"])
    kinds = collections.Counter(row["kind"] for row in rows)
    check(set(kinds) == {fault.__name__ for fault in generate_faulted.FAULTS}, f"every fault: {kinds}")
    check(0.25 < kinds["no_fault"] / len(rows) < 0.5, f"a third and more without any: {kinds}")


def changing_paths_have_a_truth():
    with tempfile.TemporaryDirectory() as folder:
        for way, gap in (("down", 1), ("up", 4)):
            (pathlib.Path(folder) / f"made.{way}").write_text(
                "".join(f"{ms}\n" for ms in range(gap, 20001, gap)))
        recordings = generate.find_recordings(folder)
        check(len(recordings) == 1 and recordings[0][1].endswith("made.up"), recordings)
        rows = list(generate.generate_changing(4, 200, recordings))
        check(rows == list(generate.generate_changing(4, 200, recordings)), "the same seed")
        low, mean, high = oracle.trace_rates(recordings[0][0])
        check(abs(mean - 1504 * 8e3) < 1e4 and low <= high, f"a packet each ms: {mean}")
        causes = {}
        for row in rows:
            truth = oracle.truth_of(row["spec"], row["direction"])
            check(truth.accept, row["spec"])
            check(all(r.low is None or r.high < 1e9 and r.low > 0 for r in truth.accept),
                  f"an interval that says nothing: {row['spec']}: {truth.accept}")
            causes.setdefault(row["family"], set()).update(r.cause for r in truth.accept)
    check(set(causes) == set(generate.FAMILIES), "every family has its turn")
    check(causes["radio-recorded"] == {"capacity"} and causes["aqm"] == {"capacity"}, causes)
    check(causes["grants"] <= {"capacity", "receive-window", "send-buffer"}, causes["grants"])
    check(causes["congested"] <= {"cross-traffic", "capacity"}, causes["congested"])
    check("random-loss" in causes["wifi-lossy"], causes["wifi-lossy"])
    check("mtu-black-hole" not in causes["dropout"] and "unstable-path" in causes["dropout"],
          causes["dropout"])
    stock = [row for row in rows if row["stock"]]
    check(all("stock=on" in row["spec"] for row in stock) and len(stock) == 200, len(stock))


def paths_as_they_are_by_hand():
    truth = oracle.truth_of("down.radio=4M-40M delay=20ms queue=1MB", "download")
    check([r.cause for r in truth.accept] == ["capacity"] and "bufferbloat" in truth.beside, "radio")
    truth = oracle.truth_of("rate=100M delay=10ms down.others=9", "download")
    check([r.cause for r in truth.accept] == ["cross-traffic"], "a tenth of the link is ours")
    check(truth.accept[0].high < 32e6 and "random-loss" not in truth.beside, "and the loss theirs")
    # Measured: 58 KiB of tcp_wmem's 32 KiB on the way in the mean, 86 at most; 38 Mb/s with more.
    truth = oracle.truth_of("rate=40M delay=7.5ms family=6 far.wmem=32KiB jitter=1.1ms",
                            "download")
    check("send-buffer" in {r.cause for r in truth.accept}, truth.accept)
    # Measured: 2.87 MiB of tcp_wmem's 4 MiB on the way, where the window would carry 3.46 MiB.
    small = oracle.truth_of("rate=10M delay=7ms far.rmem=8KiB family=6 up.wander=3.6ms/13ms",
                            "upload").accept[0]
    check(abs(small.low - 2 * 1428 * 8 / 17.6e-3) < 1e3, "two whole segments a round trip")
    check(abs(small.high - 0.85 * 8192 * 8 / 14e-3) < 1e3, "and at most the largest window")
    truth = oracle.truth_of("rate=419M delay=136ms far.rmem=5663KiB stock=on", "upload")
    check({r.cause for r in truth.accept} == {"receive-window", "send-buffer"}, "side by side")
    truth = oracle.truth_of("rate=1G delay=50ms far.rmem=2MiB stock=on", "upload")
    check([r.cause for r in truth.accept] == ["receive-window"], "half of what is sent at most")
    truth = oracle.truth_of("rate=80M delay=10ms pppoe=on dropout=7s/1.6s", "download")
    check({r.cause for r in truth.accept} == {"capacity", "unstable-path"}, truth.accept)
    check(abs(truth.accept[0].high - 80e6 * 1.005 * 1440 / 1492) < 1e5, "1440 of 1492 bytes")
    truth = oracle.truth_of("rate=100M delay=300ms stock=on", "download")
    check("receive-window" in {r.cause for r in truth.accept}, "6 MiB carry 34 to 71 Mb/s there")
    truth = oracle.truth_of("rate=100M delay=30ms stock=on near.rmem=64KiB", "download")
    check([r.cause for r in truth.accept] == ["receive-window"], "a smaller buffer stays")
    truth = oracle.truth_of("rate=60M delay=10ms aqm=pie,ecn ecn=on", "download")
    check([r.cause for r in truth.accept] == ["capacity"] and "ecn-marks" in truth.beside, "AQM")
    typical, lost = oracle.air_rate("200M/0/36%")
    check(60e6 < typical < 85e6 and abs(lost - 0.0168) < 1e-4, (typical, lost))


def the_air_is_the_emulators(write_trace):
    for air in ("200M/0/0%", "150M/2/30%", "120M/1/35%", "250M/0/41%"):
        typical, lost = oracle.air_rate(air)
        lines = subprocess.run([write_trace, f"wifi={air} seed=5", "60"], capture_output=True,
                               text=True, check=True).stdout.splitlines()
        carried = (len(lines) - 1) * oracle.MTU * 8 / 60 / (1 - lost)
        check(abs(carried / typical - 1) < 0.1,
              f"wifi={air}: the emulator turns to {carried / 1e6:.1f} Mb/s, the oracle says "
              f"{typical / 1e6:.1f}")


def shares_have_intervals():
    low, high = accuracy.wilson(8, 10)
    check(abs(low - 0.490) < 0.002 and abs(high - 0.943) < 0.002, (low, high))
    rows = [{"state": "limited", "confidence": c, "outcome": o}
            for c, o in ((0.61, "wrong-party"), (0.59, "wrong-party"), (0.9, "right"))]
    check(accuracy.accusations(rows) == (1, 2), accuracy.accusations(rows))
    check(accuracy.wilson(0, 0) == (0.0, 1.0) and accuracy.wilson(10, 10)[1] == 1.0, "the ends")


def counts_rise_with_the_score():
    check(count.pool([(0.5, 20, 10), (0.6, 20, 8), (0.9, 40, 39)]) == [[0.5, 40, 18], [0.9, 40, 39]],
          "two that fall are one level")
    check(count.pool([(0.5, 3, 3), (0.6, 20, 10), (0.9, 2, 0)]) == [[0.5, 25, 13]], "few are none")
    check(abs(count.fisher(3, 0, 3, 3) - 0.05) < 1e-9, "one table of twenty")
    doubtful = [{"doubts": {"repeats-rate"}, "right": i < 6, "outcome": "x"} for i in range(12)]
    plain = [{"doubts": {"varied"}, "right": True, "outcome": "x"} for _ in range(40)]
    counted = count.fit(doubtful + plain)
    weights = {d["id"]: d["weight"] for d in counted["doubts"]}
    check(weights["repeats-rate"] < 0.4 and weights["varied"] == 1, weights)
    low = accuracy.wilson(6, 12)[0]
    check(abs(count.told(doubtful[0], counted) - low) < 1e-3, "no better than its own count")
    check(0.9 < count.told(plain[0], counted) < 0.93, "forty of forty prove no more")


def verdicts_are_judged():
    row = {"name": "x", "spec": "rate=50M delay=10ms", "direction": "download", "goal_bps": 0}
    verdict = {"state": "limited", "cause": "capacity", "segment": "path", "direction": "download",
               "ceiling_bps": 48e6, "measured_bps": 48e6}
    found = {"result": "found", "severity": "contributes", "cause": "policer"}
    document = {"verdict": verdict, "findings": []}
    check(matrix.judge(document, row)[0] == "right", "right")
    check(matrix.judge({**document, "findings": [found]}, row)[0] == "wrong", "without ground")
    for key, value, outcome in (("cause", "policer", "wrong"), ("segment", "lan", "wrong-party"),
                                ("cause", "cross-traffic", "wrong-party"),
                                ("ceiling_bps", 60e6, "wrong"), ("direction", "upload", "wrong")):
        said = matrix.judge({"verdict": {**verdict, key: value}, "findings": []}, row)[0]
        check(said == outcome, f"{key} {value}: {said}, not {outcome}")
    loss = {**row, "spec": "rate=100M delay=5ms link-at=lan down.loss=0.2%"}
    verdict = {**verdict, "cause": "random-loss", "ceiling_bps": None}
    facts = {"download.loss_segment": {"state": "known", "value": "path"}}
    check(matrix.judge({"verdict": verdict, "findings": []}, loss)[0] == "not-placed", "not placed")
    check(matrix.judge({"verdict": verdict, "findings": [], "facts": facts}, loss)[0]
          == "wrong-party", "placed wrongly")
    check(matrix.judge({"verdict": {**verdict, "segment": "far-lan"}, "findings": []}, loss)[0]
          == "wrong-party", "at the other end")
    check(matrix.judge({"verdict": {"state": "inconclusive"}, "findings": []}, row)[0]
          == "cannot-tell", "cannot tell")
    pausing = {**row, "spec": "rate=100M delay=5ms down.others=4 others-burst=2s/3s"}
    for mbps, outcome in ((96, "right"), (80, "wrong-party")):
        verdict = {"state": "limited", "cause": "capacity", "segment": "path", "ceiling_bps": 96e6,
                   "measured_bps": mbps * 1e6, "direction": "download"}
        said = matrix.judge({"verdict": verdict, "findings": []}, pausing)[0]
        check(said == outcome, f"others who rest, {mbps} of 97 Mb/s: {said}, not {outcome}")


table_and_oracle_agree(sys.argv[1])
sums_by_hand()
every_generated_path_has_a_truth()
paths_as_they_are_by_hand()
changing_paths_have_a_truth()
faults_on_changing_paths_have_a_truth()
whole_lines_have_a_truth()
the_air_is_the_emulators(sys.argv[2])
shares_have_intervals()
counts_rise_with_the_score()
verdicts_are_judged()
print("the oracle agrees")
