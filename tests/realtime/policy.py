"""How a case that measures real time is run: after a look at the machine, and at most twice.

An attempt returns what was wrong, as sentences (none: it passed). It raises Broken for what no
load excuses (a crash, a sanitizer's report, a document against its schema): never tried again.
It raises Skip where this machine does not permit the case at all, before anything was measured.

A failure stands unless the one repetition passes, and a repetition that cannot be had leaves it
standing. Each case prints one line, which `scripts/test-results` counts and repeats at the end:

    real time: NAME: ok | FAILED: why | skipped: why | repeated, then ok: why the first failed
"""
import threading
import time

import fitness

WAIT_S = 60          # for a fit machine, before one case
WAIT_IN_ALL_S = 180  # by all cases of a program together: an unfit machine is seldom fit later
OK, FAILED, SKIPPED, REPEATED = "ok", "FAILED", "skipped", "repeated, then ok"


class Broken(Exception):
    """What must hold on any machine does not."""


class Skip(Exception):
    """This machine does not permit the case; the sentence says what is missing."""


class Gate:
    """The cases of one program. Cases may run side by side, each in a thread."""

    def __init__(self, wait=fitness.wait, out=None):
        self.wait_for_machine = wait
        self.out = out
        self.waited_s = 0.0
        self.lock = threading.Lock()
        self.outcomes = {}

    def unfit(self):
        """What makes the machine unfit after a wait; None when it is fit."""
        begin = time.monotonic()
        figures = self.wait_for_machine(max(0, min(WAIT_S, WAIT_IN_ALL_S - self.waited_s)))
        with self.lock:
            self.waited_s += time.monotonic() - begin
        return None if figures.fit() else f"this machine keeps no time: {figures}"

    def run(self, name, attempt):
        """Runs one case and prints its line; what became of it."""
        outcome, why = self.judge(attempt)
        with self.lock:
            self.outcomes[name] = outcome
            told = " ".join(str(why).split())
            print(f"real time: {name}: {outcome}" + (f": {told}" if told else ""), file=self.out,
                  flush=True)
        return outcome

    def judge(self, attempt):
        try:
            reason = self.unfit()
            if reason:
                return SKIPPED, reason
            first = attempt()
        except Skip as skip:
            return SKIPPED, skip
        except Broken as broken:
            return FAILED, broken
        if not first:
            return OK, ""
        return self.repeat("; ".join(first), attempt)

    def repeat(self, first, attempt):
        try:
            reason = self.unfit()
            if reason:
                return FAILED, f"{first} (not repeated: {reason})"
            second = attempt()
        except (Skip, Broken) as error:
            return FAILED, f"{first}; then: {error}"
        return (FAILED, f"{first}; then: {'; '.join(second)}") if second else (REPEATED, first)

    def run_all(self, cases, attempt):
        """Runs (name, case) one after the other; the exit code."""
        for name, case in cases:
            self.run(name, lambda case=case: attempt(case))
        return self.exit_code()

    def exit_code(self):
        """0 all that ran passed, 1 one failed, 77 none ran."""
        outcomes = self.outcomes.values()
        if FAILED in outcomes:
            return 1
        return 0 if any(outcome != SKIPPED for outcome in outcomes) else 77
