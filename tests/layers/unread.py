#!/usr/bin/env python3
"""Whether each fact is read: by a rule, or by code that decides, reckons or reports with it. One
that only its probe sets costs a measurement and tells nobody anything. The same of each field of a
message on the wire (wire_fields.py).

    unread.py SOURCE-ROOT BUILD-ROOT

Code is read as the compiler sees it, so that names which macros make are seen: a fact counts as
read where it stands outside the arguments of a function that sets one, in src/probes only inside
those of a function that gets one. Rules name facts by role; <end> stands for either end. A fact of
the sender that is read keeps its twin of the receiver. Exceptions: `unread.txt` beside this script,
a name, message.member, or a stage that ends in "/", two blanks, and the reason; one that is not
needed is a fault.
"""
import collections
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import wire_fields

HERE = pathlib.Path(__file__).resolve().parent
ROLES = {"HOST": {"sender", "receiver", "near", "far"}, "PATH": {"path"},
         "FLOW": {"flow", "download", "upload"}}
# What a file that names facts has somewhere; the others need no compiler.
NAMES = re.compile("FACT|TL_FLOW|TL_HOST|TL_PATH")
GETS = ("tl_facts_number", "tl_facts_get", "tl_facts_get_lacking")


def preprocessed(entry):
    """The lines that come from this project's own files, apart from the table of facts."""
    words = shlex.split(entry["command"])
    words = words[1:] if "ccache" in words[0] else words
    command, skip = [], False
    for word in words:
        if not skip and word not in ("-o", "-MF", "-MQ", "-c", "-MD"):
            command.append(word)
        skip = not skip and word in ("-o", "-MF", "-MQ")
    text = subprocess.run([command[0], "-E", *command[1:]], cwd=entry["directory"], check=True,
                          capture_output=True, text=True).stdout
    kept, keep = [], False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            keep = "include/facts" not in marker[1] and not marker[1].startswith(("/usr", "<"))
        elif keep:
            kept.append(line)
    return "\n".join(kept)


def reads(text, is_probe):
    """Facts that this text reads, as HOST_os."""
    calls, word = [], ""
    for token in re.findall(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|[^\s\w]', text):
        if token == "(":
            calls.append(word)
        elif token == ")" and calls:
            calls.pop()
        fact = re.fullmatch(r"TL_FACT_((?:HOST|PATH|FLOW)_\w+)", token)
        if fact and is_probe and any(call in GETS for call in calls):
            yield fact[1]
        if fact and not is_probe and not any("set" in call.split("_") for call in calls):
            yield fact[1]
        word = token if re.match(r"[A-Za-z_]", token) else ""


def read_by_code(root, build):
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(os.path.normpath(os.path.join(entry["directory"], entry["file"])))
        if path.is_relative_to(root / "src") and NAMES.search(path.read_text()):
            entries[path] = entry
    with ThreadPoolExecutor() as pool:
        texts = dict(zip(entries, pool.map(preprocessed, entries.values())))
    return {fact for path, text in texts.items()
            for fact in reads(text, path.is_relative_to(root / "src" / "probes"))}


def read_by_rules(root):
    """Role and name of each fact that a rule has, both ends of <end>."""
    found = set()
    for path in (root / "rules").rglob("*.json"):
        for role, name in re.findall(r"(\b[a-z]+|<end>|<other>)\.((?:<\w+>_)?[a-z_0-9]+)",
                                     path.read_text()):
            for end in ("sender", "receiver"):
                found.add((re.sub("<.*>", end, role), re.sub("<.*>", end, name)))
    return found


def table(root):
    """Fact, as FLOW_goodput_bps, to its stage."""
    text = (root / "include/facts/tightlink/facts/table.def").read_text()
    stages = {}
    for subject, name, stage in re.findall(
            r'^(HOST|PATH|FLOW|ENDS)\((\w+),\s*\w+,\s*"([\w-]+)"', text, flags=re.M):
        for start in ("FLOW_sender_", "FLOW_receiver_") if subject == "ENDS" else (subject + "_",):
            stages[start + name] = stage
    return stages


def twin(fact):
    for one, other in (("FLOW_sender_", "FLOW_receiver_"), ("FLOW_receiver_", "FLOW_sender_")):
        if fact.startswith(one):
            return other + fact.removeprefix(one)
    return fact


def main():
    root, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    code, rules, stages = read_by_code(root, build), read_by_rules(root), table(root)
    alive = {fact for fact in stages
             if fact in code or any((role, fact.partition("_")[2]) in rules
                                    for role in ROLES[fact.partition("_")[0]])}
    fields_count, unread_fields = wire_fields.unread(root)
    if len(stages) < 300 or len(alive) < 200 or fields_count < 150:
        sys.exit(f"{len(stages)} facts, {len(alive)} of them read, {fields_count} wire fields: this check has lost its way")
    unread = {fact for fact in stages if fact not in alive and twin(fact) not in alive}
    excused = {}
    for line in (HERE / "unread.txt").read_text().splitlines():
        name, _, reason = line.partition("  ")
        if name and not name.startswith("#"):
            excused[name] = reason.strip()
    needed = collections.Counter()
    faults = []
    for fact in sorted(unread):
        name = next((n for n in (fact, stages[fact] + "/") if n in excused), None)
        needed[name] += 1
        if not name:
            faults.append(f"{fact} is set and never read: no rule, report or decision names it")
    for field in sorted(unread_fields):
        needed[field] += 1
        if field not in excused:
            faults.append(f"{field} is on the wire, and nobody reads it who gets the message")
    faults += [f"unread.txt: {name} is read or gone" for name in excused if not needed[name]]
    faults += [f"unread.txt: {name}: no reason" for name, reason in excused.items() if not reason]
    print("\n".join(faults) or f"{len(stages)} facts, {len(unread)} of them for a person to read; "
          f"{fields_count} wire fields, {len(unread_fields)} of them for others; each with a reason")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
