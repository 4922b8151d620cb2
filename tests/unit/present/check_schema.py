#!/usr/bin/env python3
"""Every fixture's document validates against the schema that `tightlink schema` prints, and has no key
that the schema does not describe: readers have to bear one of a newer program, this one writes none.

Argument: the program that prints fixtures. The check is checked too: a document with a
planted fault must not validate."""
import copy
import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

FIXTURES = ["limited", "capacity", "goal-met", "inconclusive", "invalid", "both"]
FAULTS = {
    "a rate that is a text": lambda d: d["verdict"].update(measured_bps="fast"),
    "no verdict": lambda d: d.pop("verdict"),
    "a limit without its cause": lambda d: d["verdict"].pop("cause"),
    "a state that does not exist": lambda d: d["stages"][0].update(state="maybe"),
    "a whole number with a fraction": lambda d: d["run"].update(sent_bytes=1.5),
    "a key under another name": lambda d: d["verdict"].update(roof=d["verdict"].pop("ceiling_bps")),
}


def output(*arguments):
    return subprocess.run([sys.argv[1], *arguments], check=True, capture_output=True).stdout


def close(part):
    """What has properties has no others."""
    if isinstance(part, list):
        for inner in part:
            close(inner)
    if not isinstance(part, dict):
        return
    if part.get("type") == "object" and "properties" in part:
        part.setdefault("additionalProperties", False)
    for inner in part.values():
        close(inner)


schema = json.loads(output("schema"))
jsonschema.Draft202012Validator.check_schema(schema)
close(schema)
validator = jsonschema.Draft202012Validator(schema)
problems = []
for name in FIXTURES:
    document = json.loads(output(name, "json"))
    problems += [f"{name}: {e.json_path}: {e.message}" for e in validator.iter_errors(document)]
document = json.loads(output("limited", "json"))
for fault, plant in FAULTS.items():
    broken = copy.deepcopy(document)
    plant(broken)
    if validator.is_valid(broken):
        problems.append(f"the schema lets {fault} pass")
print("\n".join(problems) or f"{len(FIXTURES)} documents validate, {len(FAULTS)} faults do not")
sys.exit(1 if problems else 0)
