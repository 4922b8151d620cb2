#!/usr/bin/env python3
"""tightlink mover with real programs over emulated paths: the cause is named, with its number.

    mover.py IN_PATH TIGHTLINK TIGHTLINKD [CAUSE...]

Each is run as tests/realtime/policy.py says. sshd, rsync's daemon and an HTTP server run on the far host, in a PID namespace of their own that
dies with the path. Exit 77: this machine permits no emulated path, or lacks one of the programs."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "realtime"))
import policy  # noqa: E402 (it lies beside)

SKIP = 77
TIMEOUT_S = 150
PROGRAMS = ("scp", "ssh-keygen", "sshd", "rsync", "curl", "unshare")

# What stands in for the responder on the far host: it serves beside it, as PID 1 of a namespace.
SERVE = """#!/bin/bash
exec unshare --pid --fork --kill-child "$D/far" "$@"
"""
FAR = """#!/bin/bash
mkdir -p /run/sshd
{ "$(command -v sshd)" -D -f "$D/sshd_config" -E "$D/sshd.log" &
  rsync --daemon --no-detach --config="$D/rsyncd.conf" --port=8873 &
  (cd "$D/served" && exec python3 -m http.server 8080) & } >/dev/null 2>&1 </dev/null
for port in 2222 8873 8080; do
  for i in $(seq 100); do (echo > /dev/tcp/127.0.0.1/$port) 2>/dev/null && break; sleep 0.1; done
done
exec "$TIGHTLINKD" "$@"
"""
SSH = ("-i $D/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
       "-o LogLevel=ERROR -P 2222")

# (what, path, options of mover, command, cause, what its sentence must hold, bounds in Mb/s)
CASES = (
    ("ssh's own window of 2 MiB over 300 ms", "rate=200M delay=150ms", "--measure",
     f"scp {SSH} $D/served/big root@$FAR:$D/in/", "app-window",
     r"window of its own of (1\.[6-9]\d?|2) MiB", (40, 60)),
    ("the same where it arrives", "rate=200M delay=150ms", "",
     f"scp {SSH} root@$FAR:$D/served/big $D/out", "app-window",
     r"window of its own of (1\.[5-9]\d?|2) MiB", (38, 60)),
    ("a copy of small files", "rate=100M delay=30ms", "",
     f"scp -r {SSH} $D/many root@$FAR:$D/in/", "small-files", "round trips of 6", (0.1, 1)),
    ("rsync that is told to hold back", "rate=100M delay=20ms", "",
     "rsync --bwlimit=3m -W $D/served/big rsync://$FAR:8873/in/", "sender-app", "rsync itself",
     (18, 30)),
    ("rsync into a receive window of 150 KiB", "rate=100M delay=20ms far.rmem=150KiB", "",
     "rsync -W $D/served/big rsync://$FAR:8873/in/", "receive-window", "receive buffer", (10, 40)),
    ("curl that is told to hold back", "rate=200M delay=10ms", "",
     "curl -s --limit-rate 6M -o /dev/null http://$FAR:8080/big", "receiver-app",
     "curl itself takes", (40, 60)),
    ("curl, whose sender is not seen", "rate=20M delay=20ms", "",
     "curl -s -r 0-30000000 -o /dev/null http://$FAR:8080/big", None, "^Cannot tell yet",
     (10, 20)),
)


def key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)


def prepare(folder):
    for name in ("served", "in", "many"):
        (folder / name).mkdir()
    (folder / "served/big").write_bytes(os.urandom(60_000_000))
    for number in range(60):
        (folder / "many" / f"file-{number}").write_bytes(os.urandom(8000))
    for name, text in (("serve", SERVE), ("far", FAR)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    key(folder / "key")
    key(folder / "host")
    (folder / "sshd_config").write_text(
        f"Port 2222\nHostKey {folder}/host\nPidFile none\nAuthorizedKeysFile {folder}/key.pub\n"
        "StrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n"
        "Subsystem sftp internal-sftp\n")
    (folder / "rsyncd.conf").write_text(
        f"use chroot = no\nuid = root\ngid = root\n[in]\npath = {folder}/in\nread only = no\n")


def run(tools, folder, path, options, command):
    script = f'"$T" mover --json --no-history {options} -- {command} > "$D/run.json"'
    environment = dict(os.environ, D=str(folder), T=tools.tightlink, TIGHTLINKD=tools.tightlinkd,
                       PATH=os.environ["PATH"] + ":/usr/sbin")
    # Into a file: whatever the far host leaves open must not keep us.
    with open(folder / "said", "wb") as said:
        done = subprocess.run([tools.in_path, path, folder / "serve", "bash", "-c", script],
                              env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                              timeout=TIMEOUT_S, check=False)
    return done.returncode, (folder / "said").read_text(errors="replace")


def faults(case, document):
    """What the verdict lacks."""
    _, _, options, _, cause, sentence, (least, most) = case
    verdict = document["verdict"]
    rate = next(fact["value"] for name, fact in facts_of(document) if
                re.fullmatch(r"(up|down)load\.goodput_bps", name) and "value" in fact) / 1e6
    if verdict.get("cause") != cause:
        seen = {name: fact["value"] for name, fact in facts_of(document)
                if re.search(r"load\.(mover|receiver)_", name) and fact.get("value") is not None}
        yield f"{verdict.get('cause')}: {verdict['sentence']} {seen}"
    elif not re.search(sentence, verdict["sentence"]):
        yield verdict["sentence"]
    if not least <= rate <= most:
        yield f"{rate} Mb/s"
    if "--measure" in options and not re.search(r"of 1[0-9.]+ Mb/s", verdict["sentence"]):
        yield f"nothing of what was measured: {verdict['sentence']}"


def facts_of(document):
    facts = document["facts"]
    return facts.items() if isinstance(facts, dict) else ((fact["id"], fact) for fact in facts)


def attempt(tools, case):
    """See policy.py."""
    with tempfile.TemporaryDirectory(prefix="tightlink-mover-") as name:
        folder = pathlib.Path(name)
        prepare(folder)
        try:
            code, said = run(tools, folder, *case[1:4])
        except subprocess.TimeoutExpired as error:
            raise policy.Broken(f"it did not end within {TIMEOUT_S} s") from error
        if code == SKIP:
            raise policy.Skip(f"no emulated path here: {said}")
        if code != 0:
            raise policy.Broken(f"exit code {code}: {said}")
        return list(faults(case, json.loads((folder / "run.json").read_text())))


def main():
    class tools:
        in_path, tightlink, tightlinkd = sys.argv[1:4]
    missing = [name for name in PROGRAMS
               if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")]
    if missing or os.geteuid() != 0:
        print(f"skipped: needs {', '.join(missing) or 'root'}")
        return SKIP
    only = sys.argv[4:]
    return policy.Gate().run_all(((case[0], case) for case in CASES if not only or case[4] in only),
                                 lambda case: attempt(tools, case))


if __name__ == "__main__":
    sys.exit(main())
