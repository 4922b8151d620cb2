#!/usr/bin/env python3
"""tightlink fix --apply --measure over an emulated path: the setting is changed on the near host of
the path, the transfer is measured again, and what came is told beside what was predicted.

    fix_measure.py IN_PATH TIGHTLINK TIGHTLINKD

Exit 77: this machine permits no emulated path, or this is not root."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "realtime"))
import policy  # noqa: E402 (it lies beside)

SKIP = 77
TIMEOUT_S = 180
SPEC = "rate=100M delay=10ms near.rmem=150KiB"
# The run that names the window, the fix, and what the setting is afterwards.
SCRIPT = """
"$T" run "$FAR" --yes --json > "$D/run.json" 2> "$D/run.err" || exit 1
echo before: $(cat /proc/sys/net/ipv4/tcp_rmem)
"$T" fix --apply --measure --yes "$D/run.json" 2> "$D/fix.err"; code=$?
echo after: $(cat /proc/sys/net/ipv4/tcp_rmem)
exit $code
"""


def mega(text, label):
    found = re.search(rf"^ *{label} +([0-9.]+) Mb/s", text, re.M)
    assert found, f"no line \"{label}\" with a rate:\n{text}"
    return float(found.group(1))


def check(text):
    settings = re.findall(r"^(?:before|after): (.*)$", text, re.M)
    assert len(settings) == 2 and settings[0] == settings[1], f"not set back:\n{text}"
    before, after = mega(text, "before"), mega(text, "after")
    assert after > 1.5 * before, f"{before} before, {after} with the larger buffer:\n{text}"
    assert re.search(r"^ *HIT ", text, re.M), f"no HIT:\n{text}"
    print(f"{before} Mb/s before, {after} Mb/s with the fix, all as it was afterwards")


def attempt(in_path, tightlink, tightlinkd):
    """What was wrong, see policy.py."""
    with tempfile.TemporaryDirectory(prefix="tightlink-fix-") as folder:
        environment = dict(os.environ, T=tightlink, D=folder, XDG_STATE_HOME=folder)
        run = subprocess.run([in_path, SPEC, tightlinkd, "bash", "-c", SCRIPT], env=environment,
                             capture_output=True, text=True, timeout=TIMEOUT_S)
        errors = "".join(path.read_text() for path in sorted(pathlib.Path(folder).glob("*.err")))
    if run.returncode == SKIP:
        raise policy.Skip(run.stderr.strip())
    if run.returncode not in (0, 1):
        raise policy.Broken(f"exit code {run.returncode}: {run.stderr} {errors}")
    try:
        assert run.returncode == 0, (run.stdout, run.stderr, errors)
        check(run.stdout)
    except AssertionError as error:
        return [str(error)]
    return []


def main():
    programs = sys.argv[1:]
    if os.geteuid() != 0:
        print("skipped: needs root, for the setting")
        return SKIP
    gate = policy.Gate()
    gate.run("a fix is applied and measured", lambda: attempt(*programs))
    return gate.exit_code()


if __name__ == "__main__":
    sys.exit(main())
