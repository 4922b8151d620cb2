"""Reads the rules as the program does, for scripts: a rule for either end becomes two, and a shared
test or condition stands where it is named first. What stands above stays a reference."""
import json
import re

ENDS = ("sender", "receiver")
WORD = re.compile(r"<([a-z_]+)>")


def chosen(value, end):
    """What stands at a place for one end; None where that is nothing."""
    if isinstance(value, dict) and value and set(value) <= set(ENDS):
        return value.get(end)
    return value


def for_end(value, end, words):
    if isinstance(value, str):
        return WORD.sub(lambda word: words[word[1]], value)
    if isinstance(value, list):
        return [for_end(item, end, words) for item in (chosen(item, end) for item in value) if item is not None]
    if isinstance(value, dict):
        members = ((key, chosen(item, end)) for key, item in value.items() if key != "either")
        return {key: for_end(item, end, words) for key, item in members if item is not None}
    return value


def both(rule):
    """The rules of one file."""
    if "either" not in rule:
        return [rule]
    words = rule["either"] if isinstance(rule["either"], dict) else {end: {} for end in ENDS}
    return [for_end(rule, end, {"end": end, **words[end]}) for end in ENDS]


def with_shared(value, shared, seen):
    """References to shared tests and conditions as these; one that stands above stays a reference."""
    if isinstance(value, list):
        return [with_shared(item, shared, seen) for item in value]
    if not isinstance(value, dict):
        return value
    name = value.get("is") if "names" not in value else None
    if isinstance(name, str) and name in shared and name not in seen:
        words = {key: text for key, text in value.items() if key != "is"}
        return with_shared({"id": name, **shared[name], **words}, shared, seen)
    if isinstance(value.get("id"), str):
        seen.add(value["id"])
    return {key: with_shared(item, shared, seen) for key, item in value.items()}


def read(folder):
    """All rules of a folder, by id, as whole rules."""
    shared = json.loads((folder / "shared.json").read_text(encoding="utf-8"))
    files = sorted(path for path in folder.rglob("*.json") if path != folder / "shared.json")
    rules = (rule for path in files for rule in both(json.loads(path.read_text(encoding="utf-8"))))
    parts = {**shared.get("tests", {}), **shared.get("conditions", {})}
    return {rule["id"]: with_shared(rule, parts, set()) for rule in rules}, shared
