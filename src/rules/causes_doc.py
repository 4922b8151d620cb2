#!/usr/bin/env python3
"""Prints doc/causes.md from the list of causes, the rules and the lab's cases.
Arguments: causes.json, rules folder, tests/lab/cases.json [, the file to compare with]."""
import json
import pathlib
import re
import sys


def worded(text):
    """A sentence with its holes named: {flow.rtt_min_ns|ns} becomes <flow.rtt_min_ns>, and the
    brackets of a part that may be left out go."""
    text = text.replace("{{", "\0").replace("}}", "\1").replace("[[", "").replace("]]", "")
    text = re.sub(r"\{([^{}|]*)(\|[^{}]*)?\}", r"‹\1›", text)
    text = text.replace("\0", "{").replace("\1", "}")
    return text.replace("<", "\\<").replace("|", "\\|").replace("*", "\\*")


def code(text):
    return f"`{text}`"


def side(value):
    if isinstance(value, list):
        return "one of " + ", ".join(map(str, value))
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def tests(logic, indent):
    """Conditions as a nested list: each test with its sentence and its formula."""
    pad = "  " * indent
    for word, title in (("all", "all of"), ("any", "any of")):
        if word in logic:
            return f"{pad}- {title}\n" + "".join(tests(part, indent + 1) for part in logic[word])
    if "not" in logic:
        return f"{pad}- not\n" + tests(logic["not"], indent + 1)
    if "is" in logic:
        return f"{pad}- the test `{logic['is']}` above\n"
    left, compare, right = logic["test"]
    formula = code(f"{side(left)} {compare} {side(right)}")
    say = worded(logic["say"]) + ": " if "say" in logic else ""
    return f"{pad}- {say}{formula}\n"


def ceilings(rule):
    given = rule.get("ceiling", [])
    for ceiling in given if isinstance(given, list) else [given]:
        yield f"- {worded(ceiling['label'])}: {code(ceiling['bps'])}\n"


def remedy(entry):
    system = f", {entry['os']}" if entry.get("os") not in (None, "any") else ""
    out = f"- At the {entry['where']}{system}, needs {entry['needs']}:\n"
    for key, title in (("do", "now"), ("persist", "permanent"), ("undo", "undo"), ("why", "why"),
                       ("risk", "risk")):
        if key in entry:
            lines = worded(entry[key]).splitlines()
            out += f"  - {title}: " + "\n    ".join(lines) + "\n"
    return out


def section(rule):
    out = f"\n### {rule['title']}\n\nRule `{rule['id']}`, at the {rule['segment']}, {rule['severity']}.\n"
    out += f"\n> {worded(rule['sentence']['found'])}\n"
    for key, title in (("applies", "Applies when"), ("when", "Recognised by"), ("not_when", "Not when"),
                       ("agrees", "The verdict only when")):
        if key in rule:
            out += f"\n{title}:\n\n{tests(rule[key], 0)}"
    if "names" in rule:
        out += "\nNames:\n\n" + "".join(f"- `{n}` = {code(f)}\n" for n, f in rule["names"].items())
    listed = "".join(ceilings(rule))
    if listed:
        out += f"\nThe rate that it alone would allow:\n\n{listed}"
    if rule.get("remedies"):
        out += "\nWhat helps:\n\n" + "".join(map(remedy, rule["remedies"]))
    if rule.get("references"):
        out += "\nReferences:\n\n" + "".join(f"- {worded(r)}\n" for r in rule["references"])
    return out


def page(causes, rules, cases):
    out = ("# Causes\n\nPrinted from `src/rules/causes.json`, `rules/` and `tests/lab/cases.json`; do not "
           "edit:\n`ninja -C BUILD causes-doc` writes it. A name in ‹› is a fact (`facts.md`) or a named "
           "formula of\nthe rule; `rule-format.md` tells how formulas and conditions are read.\n")
    missing = [c["id"] for c in causes if not any(r["cause"] == c["id"] for r in rules)]
    if missing:
        out += "\nNo rule looks for: " + ", ".join(map(code, missing)) + ".\n"
    for cause in causes:
        out += f"\n## {cause['id']}: {cause['title']}\n\nWhere: {cause['where']}. Signature: {worded(cause['signature'])}.\n"
        shown = sorted(name for name, case in cases.items() if cause["id"] in case.get("causes", []))
        beside = sorted(name for name, case in cases.items() if cause["id"] in case.get("beside", []))
        if shown:
            out += "Lab cases that show it: " + ", ".join(map(code, shown)) + ".\n"
        if beside:
            out += "Lab cases in which it is found beside another: " + ", ".join(map(code, beside)) + ".\n"
        if not shown and not beside:
            out += f"No case of the lab's matrix shows it; it would take: {worded(cause.get('lab', 'unknown'))}.\n"
        own = sorted((r for r in rules if r["cause"] == cause["id"]), key=lambda r: r["id"])
        out += "".join(map(section, own)) or "\nNo rule looks for it: it is never named.\n"
    return out


def main():
    causes_path, folder, cases_path, *compare = map(pathlib.Path, sys.argv[1:])
    rules = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.json"))]
    text = page(json.loads(causes_path.read_text(encoding="utf-8"))["causes"], rules, json.loads(cases_path.read_text(encoding="utf-8")))
    sys.stdout.reconfigure(encoding="utf-8")
    if not compare:
        sys.stdout.write(text)
    elif not compare[0].exists() or compare[0].read_text(encoding="utf-8") != text:
        sys.exit(f"{compare[0]} is not what the rules say; run: ninja -C BUILD causes-doc")


main()
