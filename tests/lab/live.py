#!/usr/bin/env python3
"""tightlink live beside transfers whose limit is known, at both ends of emulated paths.

    live.py IN_PATH TIGHTLINK TIGHTLINKD FLOW_END [CASE...]

What an end names must be the limit; an end that cannot see it must say that it cannot tell. Each is
run as tests/realtime/policy.py says. Exit 77: no path can be emulated here."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "realtime"))
import policy  # noqa: E402 (it lies beside)

SKIP = 77
SECONDS = 12

# The far host: the other end of the transfer, a watch of its own, and what in_path waits for.
FAR = """#!/bin/bash
"$FLOW_END" $FAR_END &
"$T" live :5201 --for ${WATCH_S}s --json --no-history > "$D/far.json" 2> "$D/far.err" &
exec "$TIGHTLINKD" "$@"
"""
NEAR = """
sleep 0.3
"$FLOW_END" $NEAR_END $FAR 5201 $NEAR_OPTIONS > /dev/null & pid=$!
"$T" live :5201 --for ${WATCH_S}s --json --no-history > "$D/near.json" 2> "$D/near.err"
kill $pid; wait $pid 2>/dev/null
sleep 1
"""

# name, path, options of the sender and of the receiver, what each may name beside "cannot tell";
# the sender must not fail to name those of the last column.
CASES = (
    ("receive window", "rate=200M delay=30ms", "", "rcvbuf=65536",
     {"app-window", "receive-window"}, {"app-window", "receive-window"}, False),
    ("send buffer", "rate=200M delay=30ms", "sndbuf=65536", "",
     {"app-window", "send-buffer"}, set(), False),
    ("sender's program", "rate=200M delay=10ms", "write=20000 gap=15000", "",
     {"sender-app"}, set(), True),
    ("receiver's program", "rate=200M delay=10ms", "", "read=16384 gap=20000",
     {"receiver-app"}, {"receiver-app"}, False),
    ("random loss", "rate=200M delay=20ms up.loss=1%", "", "", {"random-loss"}, set(), False),
    ("policer", "rate=200M delay=20ms up.policer=20M/150kB", "", "", {"policer"}, set(), False),
    ("a wish below the round trip", "rate=200M delay=30ms", "write=40000 gap=20000", "",
     {"sender-app"}, set(), True),
    ("full link", "rate=20M delay=20ms", "", "", {"capacity", "bufferbloat"}, set(), True),
    ("deep queue", "rate=10M delay=20ms queue=1MB", "", "", {"capacity", "bufferbloat"}, set(),
     True),
    ("short queue", "rate=200M delay=20ms queue=20kB", "", "", {"shallow-buffer", "capacity"}, set(),
     False),
    ("others' transfers", "rate=100M delay=15ms queue=400kB up.others=24", "", "", {"cross-traffic"},
     set(), False),
    ("others' steady traffic", "rate=100M delay=15ms up.cross=60M", "", "",
     {"cross-traffic", "capacity"}, set(), False),
    ("policer, jitter", "rate=200M delay=20ms jitter=8ms up.policer=20M/150kB", "", "", {"policer"},
     set(), False),
)


def read(path):
    verdict = json.loads(path.read_text())["verdict"]
    return verdict.get("cause") if verdict["state"] == "limited" else None, verdict


def run(tools, folder, case):
    name, path, sender, receiver = case[:4]
    in_path, tightlink, tightlinkd, flow_end = tools
    (folder / "far").write_text(FAR)
    (folder / "far").chmod(0o755)
    environment = dict(os.environ, D=str(folder), T=tightlink, TIGHTLINKD=tightlinkd,
                       FLOW_END=flow_end, WATCH_S=str(SECONDS),
                       FAR_END=f"receive :: 5201 listen=1 {receiver}", NEAR_END="send",
                       NEAR_OPTIONS=f"{sender} seconds={SECONDS + 3}")
    done = subprocess.run([in_path, path, folder / "far", "bash", "-c", NEAR], env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          check=False)
    if done.returncode == SKIP:
        raise policy.Skip(f"no emulated path here: {done.stderr}")
    return read(folder / "near.json"), read(folder / "far.json")


def attempt(tools, case):
    """See policy.py."""
    with tempfile.TemporaryDirectory(prefix="tightlink-live-") as name:
        near, far = run(tools, pathlib.Path(name), case)
    wrong = [f"{end}: {cause}: {verdict['sentence']}"
             for end, (cause, verdict), allowed in (("sender", near, case[4]), ("receiver", far, case[5]))
             if cause and cause not in allowed]
    if case[6] and not near[0]:
        wrong.append(f"the sender sees it and does not say so: {near[1]['sentence']}")
    print(f"{case[0]:20} sender: {near[0] or 'cannot tell':16} receiver: {far[0] or 'cannot tell'}", flush=True)
    return wrong


def main():
    tools, only = sys.argv[1:5], sys.argv[5:]
    return policy.Gate().run_all(((case[0], case) for case in CASES if not only or case[0] in only),
                                 lambda case: attempt(tools, case))


if __name__ == "__main__":
    sys.exit(main())
