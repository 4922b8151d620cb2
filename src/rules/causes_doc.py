#!/usr/bin/env python3
"""Prints doc/causes.md from the list of causes, the rules and the lab's cases.
Arguments: causes.json, rules folder, tests/lab/cases.json [, the file to compare with]."""
import json
import pathlib
import re
import sys

import rule_files


def worded(text):
    """A sentence with its holes named: {flow.rtt_min_ns|ns} becomes <flow.rtt_min_ns>, and the
    brackets of a part that may be left out go; of one that asks a test the question stays."""
    text = re.sub(r"\[\[\?([\w-]+)\|\s*(.*?)\]\]", r" (where \1: \2)", text)
    text = re.sub(r"\[\[!([\w-]+)\|\s*(.*?)\]\]", r" (without \1: \2)", text)
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


def because(entry):
    return f" ({worded(entry['because'])})" if isinstance(entry, dict) and "because" in entry else ""


def tests(logic, indent):
    """Conditions as a nested list: each test with its sentence, its formula and its reason."""
    pad = "  " * indent
    name = f" (`{logic['id']}`)" if "id" in logic else ""
    for word, title in (("all", "all of"), ("any", "any of")):
        if word in logic:
            return (f"{pad}- {title}{name}{because(logic)}\n" +
                    "".join(tests(part, indent + 1) for part in logic[word]))
    if "not" in logic:
        return f"{pad}- not{name}\n" + tests(logic["not"], indent + 1)
    if "is" in logic:
        return f"{pad}- `{logic['is']}`, as above\n"
    left, compare, right = logic["test"]
    formula = code(f"{side(left)} {compare} {side(right)}")
    say = worded(logic["say"]) + ": " if "say" in logic else ""
    return f"{pad}- {say}{formula}{because(logic)}\n"


def ceilings(rule):
    given = rule.get("ceiling", [])
    for ceiling in given if isinstance(given, list) else [given]:
        yield f"- {worded(ceiling['label'])}: {code(ceiling['bps'])}{because(ceiling)}\n"


def name_line(name, formula):
    return f"- `{name}` = {code(formula['is'] if isinstance(formula, dict) else formula)}{because(formula)}\n"


def function_line(name, function):
    takes = ", ".join(f"{parameter} ({unit})" for parameter, unit in function["takes"].items())
    bodies = function["is"] if isinstance(function["is"], dict) else {"": function["is"]}
    formulas = "; ".join((f"{value}: " if value else "") + code(body) for value, body in bodies.items())
    return f"- `{name}` of {takes}, {function['gives']}: {formulas}{because(function)}\n"


def shared_part(shared):
    out = "\n## What the rules share\n\nFunctions and names of `rules/shared.json`.\n"
    out += "\n" + "".join(map(function_line, shared["functions"], shared["functions"].values()))
    return out + "\n" + "".join(map(name_line, shared["names"], shared["names"].values()))


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
    """What it is, what to do, how to check it; then, for who wants to know, how it was told."""
    out = f"\n### {rule['title']}\n\n> {worded(rule['sentence']['found'])}\n"
    if rule.get("remedies"):
        out += "\n**What to do**\n\n" + "".join(map(remedy, rule["remedies"]))
    out += f"\n**How to check**\n\n{worded(rule['change'])}\n"
    out += f"\n**How it is told** (rule `{rule['id']}`, at the {rule['segment']}, {rule['severity']})\n"
    for key, title in (("applies", "It is asked only when"), ("when", "Recognised by"),
                       ("not_when", "Not when"), ("agrees", "The verdict only when")):
        if key in rule:
            out += f"\n{title}:\n\n{tests(rule[key], 0)}"
    if rule.get("supports"):
        out += "\nSurer with, less sure without:\n\n" + "".join(tests(t, 0) for t in rule["supports"])
    if "names" in rule:
        out += "\nNames:\n\n" + "".join(map(name_line, rule["names"], rule["names"].values()))
    listed = "".join(ceilings(rule))
    if listed:
        out += f"\nThe rate that it alone would allow:\n\n{listed}"
    if rule.get("references"):
        out += "\nReferences:\n\n" + "".join(f"- {worded(r)}\n" for r in rule["references"])
    return out


def page(causes, rules, cases, shared):
    out = ("# Causes\n\nPrinted from `src/rules/causes.json`, `rules/` and `tests/lab/cases.json`; do not "
           "edit:\n`ninja -C build/test causes-doc` writes it.\n\nFor each cause: the sentence in which it is told, what "
           "to do, how to check that it was right, and\nhow it is told from others. A name in ‹› stands for a "
           "number that was measured in your case: a fact\n(`facts.md`) or a named formula of the rule; "
           "`rule-format.md` tells how formulas and conditions are\nread. `causes.md#receive-window` is the place of "
           "one cause; `tightlink rules explain receive-window` prints\nthe same without its cases.\n")
    missing = [c["id"] for c in causes if not any(r["cause"] == c["id"] for r in rules)]
    if missing:
        out += "\nNo rule looks for: " + ", ".join(map(code, missing)) + ".\n"
    for cause in causes:
        out += f"\n<a id=\"{cause['id']}\"></a>\n## {cause['id']}: {cause['title']}\n"
        own = sorted((r for r in rules if r["cause"] == cause["id"]), key=lambda r: r["id"])
        out += "".join(map(section, own)) or "\nNo rule looks for it: it is never named.\n"
        out += f"\n**In short, for experts**: {worded(cause['signature'])}. "
        shown = sorted(name for name, case in cases.items() if cause["id"] in case.get("causes", []))
        beside = sorted(name for name, case in cases.items() if cause["id"] in case.get("beside", []))
        if shown:
            out += "Lab cases that show it: " + ", ".join(map(code, shown)) + ".\n"
        if beside:
            out += "Lab cases in which it is found beside another: " + ", ".join(map(code, beside)) + ".\n"
        if not shown and not beside:
            out += f"No case of the lab's matrix shows it; it would take: {worded(cause.get('lab', 'unknown'))}.\n"
    return out + shared_part(shared)


def main():
    causes_path, folder, cases_path, *compare = map(pathlib.Path, sys.argv[1:])
    rules, shared = rule_files.read(folder)
    text = page(json.loads(causes_path.read_text(encoding="utf-8"))["causes"], list(rules.values()),
                json.loads(cases_path.read_text(encoding="utf-8")), shared)
    sys.stdout.reconfigure(encoding="utf-8")
    if not compare:
        sys.stdout.write(text)
    elif not compare[0].exists() or compare[0].read_text(encoding="utf-8") != text:
        sys.exit(f"{compare[0]} is not what the rules say; run: ninja -C build/test causes-doc")


main()
