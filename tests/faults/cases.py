"""The cases of a program of attacks: each a function, chosen by name or all of them, run one after the
other. Exit code 0 all held, 1 one failed, 2 no such case, 77 nothing could be tried here."""
import sys
import time
import traceback

CASES, SLOW = {}, {}


class Skipped(Exception):
    """What cannot be tried here, and why."""


def case(function):
    CASES[function.__name__] = function
    return function


def slow(function):
    """One that runs when it is named, and with --slow."""
    SLOW[function.__name__] = function
    return function


def choose(arguments):
    """Names, or --slow for all slow ones; none: all others."""
    if arguments == ["--slow"]:
        return SLOW
    every = {**CASES, **SLOW}
    unknown = [name for name in arguments if name not in every]
    if unknown:
        print(f"no case is called {', '.join(unknown)}; there are:\n  " + "\n  ".join(every),
              file=sys.stderr)
        sys.exit(2)
    return {name: every[name] for name in arguments} or CASES


def run(arguments):
    """Does not return."""
    failed, held = 0, 0
    for name, function in choose(arguments).items():
        begin = time.monotonic()
        try:
            function()
            held += 1
            print(f"ok {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Skipped as why:
            print(f"skipped {name}: {why}", flush=True)
        except (Exception, SystemExit):  # pylint: disable=broad-except
            traceback.print_exc()
            print(f"FAILED {name}", flush=True)
            failed += 1
    sys.exit(1 if failed else 0 if held else 77)
