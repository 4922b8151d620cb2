"""The cases of a program of attacks: each a function, chosen by name or all of them; those that only
wait run side by side, the others one after the other. Exit code 0 all held, 1 one failed, 2 no such
case, 77 nothing could be tried here. And what several programs of attacks ask."""
import concurrent.futures
import os
import sys
import time
import traceback

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "realtime"))
CASES, SLOW, WAITING = {}, {}, set()


class Skipped(Exception):
    """What cannot be tried here, and why."""


def case(function):
    CASES[function.__name__] = function
    return function


def slow(function):
    """One that runs when it is named, and with --slow."""
    SLOW[function.__name__] = function
    return function


def waits(function):
    """One that lets time pass and takes next to none of the machine's: it runs beside its like."""
    WAITING.add(function.__name__)
    return case(function)


def until(seconds, condition, what):
    """Waits for a condition; returns how long it took."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < seconds, f"not within {seconds} s: {what}"
        time.sleep(0.02)
    return time.monotonic() - begin


def is_sanitized(program):
    with open(program, "rb") as file:
        code = file.read()
    return b"__asan_init" in code or b"__tsan_init" in code


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


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


def judge(name, function):
    """What became of it: "ok", "skipped" or "FAILED"."""
    begin = time.monotonic()
    try:
        function()
        print(f"ok {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        return "ok"
    except Skipped as why:
        print(f"skipped {name}: {why}", flush=True)
        return "skipped"
    except (Exception, SystemExit):  # pylint: disable=broad-except
        print(f"{traceback.format_exc()}FAILED {name}", flush=True)
        return "FAILED"


def run(arguments):
    """Does not return."""
    chosen = choose(arguments).items()
    waiting = [one for one in chosen if one[0] in WAITING]
    with concurrent.futures.ThreadPoolExecutor(max(1, len(waiting))) as pool:
        results = list(pool.map(lambda one: judge(*one), waiting))
    results += [judge(*one) for one in chosen if one[0] not in WAITING]
    sys.exit(1 if "FAILED" in results else 0 if "ok" in results else 77)
