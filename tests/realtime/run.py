#!/usr/bin/env python3
"""Runs the cases of a C program of tests/unit/lab/harness.h, each in a process of its own: those
that measure real time as policy.py says, the others once.

    run.py PROGRAM [ARGUMENT...]
"""
import subprocess
import sys

import policy

SECONDS = 120  # no case is that long
SKIPPED = 77


def listed(argv):
    """(whether it measures real time, its name) of each case."""
    out = subprocess.run([*argv, "--list"], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        how, _, name = line.partition(" ")
        yield how == "timed", name


def attempt(argv, name):
    """What was wrong, see policy.py."""
    try:
        done = subprocess.run([*argv, name], capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        raise policy.Broken(f"it did not end within {SECONDS} s") from error
    said = done.stderr.strip()
    if done.returncode == SKIPPED:
        raise policy.Skip(said.removeprefix("skipped: ") or "it does not say why")
    if done.returncode not in (0, 1):
        raise policy.Broken(f"exit code {done.returncode}: {said}")
    return [said or "it does not say why"] if done.returncode else []


def once(argv, name):
    """Whether it did not fail."""
    try:
        problems = attempt(argv, name)
    except policy.Skip as skip:
        print(f"skipped  {name}: {skip}", flush=True)
        return True, False
    except policy.Broken as broken:
        problems = [str(broken)]
    print(f"FAILED   {name}: {problems[0]}" if problems else f"ok       {name}", flush=True)
    return not problems, not problems


def main():
    argv = sys.argv[1:]
    gate, failed, passed = policy.Gate(), False, False
    for timed, name in listed(argv):
        if timed:
            gate.run(name, lambda name=name: attempt(argv, name))
        else:
            good, ran = once(argv, name)
            failed |= not good
            passed |= ran
    if failed:
        return 1
    return 0 if passed and gate.exit_code() == SKIPPED else gate.exit_code()


if __name__ == "__main__":
    sys.exit(main())
