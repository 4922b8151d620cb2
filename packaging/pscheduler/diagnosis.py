#!/usr/bin/env python3
"""pScheduler's test class "diagnosis": why a transfer from one host to another is slow.

Installed once, with a link for each command of the class (doc/pscheduler.md); the name by which it
is started says which. Standard library only."""
import argparse
import html
import json
import os
import re
import sys

COMMANDS = ("cli-to-spec", "enumerate", "participants", "result-format", "spec-format",
            "spec-is-valid", "spec-to-cli")
HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._:-]{0,252})")
NODE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_][A-Za-z0-9._-]{0,252})(:[0-9]{1,5})?")
SECONDS_MIN, SECONDS_MAX, SECONDS = 20, 120, 60
# Member: (what it has to be, as a sentence; whether it is). "schema" and "dest" are needed.
MEMBERS = {
    "schema": ("1", lambda v: v == 1 and not isinstance(v, bool)),
    "source": ("the name or address of a host", lambda v: is_text(HOST, v)),
    "source-node": ("HOST or HOST:PORT", lambda v: is_text(NODE, v)),
    "dest": ("the name or address of a host", lambda v: is_text(HOST, v)),
    "dest-node": ("HOST or HOST:PORT", lambda v: is_text(NODE, v)),
    "port": ("1 to 65535", lambda v: type(v) is int and 1 <= v <= 65535),
    "direction": ("upload, download or both", lambda v: v in ("upload", "download", "both")),
    "duration": (f"PT{SECONDS_MIN}S to PT{SECONDS_MAX}S",
                 lambda v: SECONDS_MIN <= seconds_of(v) <= SECONDS_MAX),
    "ip-version": ("4 or 6", lambda v: type(v) is int and v in (4, 6)),
}


def is_text(pattern, value):
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def seconds_of(text):
    """Of an ISO 8601 duration in hours, minutes and seconds; -1 for anything else."""
    match = re.fullmatch(r"PT(?:(\d{1,4})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?", text) \
        if isinstance(text, str) else None
    if not match or not any(match.groups()):
        return -1
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return 3600 * hours + 60 * minutes + seconds


def fault_of(spec):
    """Why this is no specification, as a sentence; None where it is one."""
    if not isinstance(spec, dict):
        return "a specification is an object"
    for name, value in spec.items():
        if name not in MEMBERS:
            return f"there is no member \"{name}\""
        what, holds = MEMBERS[name]
        if not holds(value):
            return f"\"{name}\" has to be {what}"
    for name in ("schema", "dest"):
        if name not in spec:
            return f"\"{name}\" is missing"
    return None


def fail(sentence):
    sys.stderr.write(sentence + "\n")
    sys.exit(1)


def read():
    try:
        return json.load(sys.stdin)
    except ValueError as error:
        fail(f"standard input is not JSON: {error}")


def read_spec():
    spec = read()
    fault = fault_of(spec)
    if fault:
        fail(fault)
    return spec


def answer(value):
    json.dump(value, sys.stdout)
    sys.stdout.write("\n")


# --- Commands -------------------------------------------------------------------------------------

def enumerate_class():
    answer({"schema": 1, "name": "diagnosis",
            "description": "Why a transfer from one host to another is slow", "version": "1.0",
            "maintainer": {"name": "tightlink"}, "scheduling-class": "exclusive"})


def spec_is_valid():
    try:
        fault = fault_of(json.load(sys.stdin))
    except ValueError as error:
        fault = f"it is not JSON: {error}"
    answer({"valid": False, "error": fault} if fault else {"valid": True})


def participants():
    """The source alone: at the destination a responder stands all the time."""
    spec = read_spec()
    node = spec.get("source-node", spec.get("source"))
    reason = {} if node else {"null-reason": "No source specified"}
    answer({"participants": [node], **reason})


class Parser(argparse.ArgumentParser):
    def error(self, message):
        fail(message)


def cli_to_spec():
    args = sys.argv[1:]
    if not args:
        args = read()
        if not isinstance(args, list) or not all(isinstance(a, (str, int, float)) for a in args):
            fail("the arguments have to be a list of texts and numbers")
    parser = Parser(prog="task diagnosis", add_help=False, allow_abbrev=False)
    for name in MEMBERS:
        if name != "schema":
            parser.add_argument("--" + name, type=int if name in ("port", "ip-version") else str)
    given = vars(parser.parse_args([str(argument) for argument in args]))
    spec = {"schema": 1, **{name.replace("_", "-"): value for name, value in given.items()
                            if value is not None}}
    fault = fault_of(spec)
    if fault:
        fail(fault)
    answer(spec)


def spec_to_cli():
    args = []
    for name, value in read_spec().items():
        if name != "schema":
            args += ["--" + name, str(value)]
    answer(args)


def show(title, rows):
    """A table as the MIME type of the command line wants it."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else "text/plain"
    rows = [(name, str(value)) for name, value in rows if value is not None]
    if wanted == "text/plain":
        print("\n".join(f"{name + ' ':.<16} {clean(value)}" for name, value in rows))
    elif wanted == "text/html":
        cells = "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape(clean(value))}</td></tr>"
                        for name, value in rows)
        print(f"<table><caption>{title}</caption>{cells}</table>")
    else:
        fail(f"there is no format {wanted}: text/plain or text/html")


def clean(text):
    return "".join(c if c.isprintable() else " " for c in text)


def spec_format():
    spec = read_spec()
    show("Diagnosis", [(name, spec.get(name)) for name in MEMBERS if name != "schema"])


def rate_of(bits):
    return f"{bits / 1e6:.4g} Mb/s" if isinstance(bits, (int, float)) else None


def result_format():
    given = read()
    result = given.get("result") if isinstance(given, dict) else None
    if not isinstance(result, dict):
        fail("a result is needed: {\"spec\", \"result\"}")
    show("Diagnosis", [
        ("Verdict", result.get("state")), ("Cause", result.get("cause")),
        ("Where", result.get("segment")), ("Direction", result.get("direction")),
        ("Rate", rate_of(result.get("throughput-bits"))),
        ("Says", result.get("sentence")), ("Error", result.get("error"))])


def main():
    command = os.path.basename(sys.argv[0])
    commands = {"cli-to-spec": cli_to_spec, "enumerate": enumerate_class,
                "participants": participants, "result-format": result_format,
                "spec-format": spec_format, "spec-is-valid": spec_is_valid,
                "spec-to-cli": spec_to_cli}
    if command not in commands:
        fail(f"this is started by one of these names: {', '.join(COMMANDS)}")
    commands[command]()


if __name__ == "__main__":
    main()
