"""Reads the rules as the program does, for scripts: a rule for either end becomes two, and a shared
test or condition, or one of the rule's own "conditions", stands where it is named first. What stands
above stays a reference."""
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


def put_in(value, parts, seen):
    """References to tests and conditions as these; one that stands above stays a reference."""
    if isinstance(value, list):
        return [put_in(item, parts, seen) for item in value]
    if not isinstance(value, dict):
        return value
    name = value.get("is") if "names" not in value else None
    if isinstance(name, str) and name in parts and name not in seen:
        words = {key: text for key, text in value.items() if key != "is"}
        return put_in({"id": name, **parts[name], **words}, parts, seen)
    if isinstance(value.get("id"), str):
        seen.add(value["id"])
    return {key: put_in(item, parts, seen) for key, item in value.items()}


def whole(rule, shared):
    own = rule.get("conditions", {})
    parts = {**shared.get("tests", {}), **shared.get("conditions", {}), **own}
    return put_in({key: value for key, value in rule.items() if key != "conditions"}, parts, set())


def read(folder):
    """All rules of a folder, by id, as whole rules."""
    shared = json.loads((folder / "shared.json").read_text(encoding="utf-8"))
    files = sorted(path for path in folder.rglob("*.json") if path != folder / "shared.json")
    rules = (rule for path in files for rule in both(json.loads(path.read_text(encoding="utf-8"))))
    return {rule["id"]: whole(rule, shared) for rule in rules}, shared
