#!/usr/bin/env python3
"""Whether the rules are whole: every cause has a rule, every rule says what would change it and
where its knowledge comes from, every remedy what it needs, why, and how to get back; every fact
that a rule asks for is measured somewhere.

    complete.py CAUSES.json RULES-FOLDER CASES-FOLDER SOURCE-FOLDER
"""
import functools
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "src" / "rules"))
import rule_files  # noqa: E402

# A remedy that is one command line: such a one can be undone and made permanent.
COMMAND = re.compile(r"^(sysctl|ethtool|tc|ip|iw|echo|cpupower|mount|netsh|networksetup|"
                     r"Set-\w+|Enable-\w+|Disable-\w+) ")
LOOKS_ONLY = re.compile(r"^ethtool -S ")
FACT = re.compile(r"\b(sender|receiver|path|flow)\.([a-z0-9_]+)\b")

# The confusions that verdicts must survive: a case of the rule whose name has the words.
CONFUSIONS = {
    "bufferbloat is not loss": ("random-loss", "queue"),
    "BBR hides loss": ("random-loss", "BBR"),
    "a small window is not a policer": ("policer", "window"),
    "receiver socket drops are not path loss": ("udp-receive-buffer", "socket"),
    "rate-limited ICMP is not loss": ("random-loss", "ICMP"),
    "zero losses are no ceiling": ("random-loss", "no loss"),
    "a busy peer is not a slow path": ("capacity", "busy far program"),
}


def facts_of(rule):
    return {f"{scope}.{name}" for scope, name in FACT.findall(json.dumps(rule))}


# A word in a command for what is not known.
STAND_IN = re.compile(r"(?:\|(?:text|words)\||[ \"])([A-Z]{4,})(?=[} \"]|$)")


def stand_in_faults(remedy, place, explained):
    """A command is words or can be run: what it lacks is told where to find."""
    if not re.match(r"[a-z]|\w+-\w+ ", remedy["do"]):
        return
    if re.search(r"[a-z]\. |; or |, and ", remedy["do"]):
        yield f"{place}: \"{remedy['do']}\" begins as a command and goes on as a sentence"
    for word in set(STAND_IN.findall(remedy["do"])):
        if (remedy.get("os"), word) not in explained:
            yield f"{place}: nobody says where to find {word} (src/present/command.c)"


def remedy_faults(remedy, place):
    if "why" not in remedy:
        yield f"{place}: no why"
    command = bool(COMMAND.match(remedy["do"])) and not LOOKS_ONLY.match(remedy["do"])
    if command and "undo" not in remedy:
        yield f"{place}: a command without undo"
    if command and remedy.get("os") == "linux" and "persist" not in remedy:
        yield f"{place}: a command that is gone after a restart, without persist"
    if (command or remedy["needs"] == "root") and "risk" not in remedy:
        yield f"{place}: no risk"
    team = remedy["needs"] in ("network-team", "provider")
    if team and not ("{" in remedy["do"] or len(remedy["do"]) > 60):
        yield f"{place}: a team gets a sentence to act on, not \"{remedy['do']}\""


def tests_of(part):
    if isinstance(part, dict):
        if "test" in part:
            yield part
        for inner in part.values():
            yield from tests_of(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from tests_of(inner)


# A number in a formula with its unit. 0 and 1, of whatever unit, explain themselves.
CONSTANT = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?(?:e-?\d+)?)([A-Za-z%]*)")
PLAIN = ("", "%", "s", "B", "ns", "bps")


def has_constants(formula):
    """Whether a formula, or one in a list, has a number that somebody chose."""
    if isinstance(formula, list):
        return any(map(has_constants, formula))
    if isinstance(formula, str):
        return any(not (float(number) in (0, 1) and unit in PLAIN)
                   for number, unit in CONSTANT.findall(formula))
    return not isinstance(formula, bool) and formula not in (0, 1, None)


def formulas_of(part):
    """The formulas of a test, a ceiling, a remedy or the ledger, and what to call it."""
    if "test" in part:
        return part.get("id", "test"), [] if part["test"][1] == "in" else part["test"]
    if "label" in part:
        return "ceiling", [part.get(key, 0) for key in ("bps", "low", "high")]
    if "do" in part:
        predicted = [part.get(f"predicted{end}", 0) for end in ("", "_low", "_high")]
        return "remedy", predicted + [value for key, value in part.get("try", {}).items()
                                      if key not in ("set", "name")]
    return "ledger", [part["at_least"]] if "at_least" in part else []


def unreasoned(part):
    """Names of what has constants and no because."""
    if isinstance(part, list):
        for inner in part:
            yield from unreasoned(inner)
    if not isinstance(part, dict):
        return
    name, formulas = formulas_of(part)
    if has_constants(formulas) and "because" not in part:
        yield name
    for name, formula in part.get("names", {}).items():
        if isinstance(formula, str) and has_constants(formula):
            yield name
    for inner in part.values():
        yield from unreasoned(inner)


# Asks where the facts come from: it speaks neither for a cause nor against one.
SETTINGS = {"in-a-capture"}


def rule_faults(rule):
    for key in ("change", "references", "remedies"):
        if not rule.get(key):
            yield f"no {key}"
    for name in unreasoned(rule):
        yield f"{name}: a constant without because"
    for number, remedy in enumerate(rule.get("remedies", [])):
        yield from remedy_faults(remedy, f"/remedies/{number}")
    for test in tests_of(rule.get("when")):
        if "say" not in test and "against" not in test and test["id"] not in SETTINGS:
            yield f"test {test['id']} of when says nothing, whatever it finds"


def refutation_faults(rule, cases):
    """Each rule names what refutes it: tests that say so against it, or a not_when, and where it may
    be the verdict both a not_when and a change; and a case shows it ruled out by measured facts, not
    by the lack of them."""
    refuters = [test for key in ("when", "applies") for test in tests_of(rule.get(key))
                if "against" in test]
    if not refuters and "not_when" not in rule:
        yield "nothing is named that refutes it"
    if not rule.get("change"):
        yield "what would change it is not said"
    if rule["severity"] == "limits" and "not_when" not in rule:
        yield "it may be the verdict, and nothing is named that refutes it"
    if not any(case["expect"].get("result") in ("ruled-out", "not-applicable") and
               (case.get("facts") or case.get("like")) for case in cases):
        yield "no case shows it refuted"


def sources(root):
    """What sets facts: probes, the host's records, derived ones, the session's comparison of the
    parts of a way. The table only names them."""
    folders = [root / "src" / layer for layer in ("probes", "facts", "host", "engine", "session")]
    folders.append(root / "include/host/tightlink/host")
    return "\n".join(path.read_text() for folder in folders
                     for path in sorted(folder.glob("*.[ch]")) if path.name != "table.c")


@functools.lru_cache(maxsize=None)
def is_measured(name, code):
    ends = {name, re.sub(r"^(sender|receiver)_", "", name)}
    ends |= {re.sub(r"_(bps|bytes|ns|ratio|count)$", "", end) for end in set(ends)}
    ends |= {re.sub(r"^(streams|window|microscope|paced|disk|link|udp)_", "", end)
             for end in set(ends)}
    ends |= {re.sub(r"_\d+_", "_%u_", end) for end in set(ends)}
    return any(end in code and re.search(r"(\"|_|\b)" + re.escape(end) + r"(\"|_|\b)", code) for end in ends)


def ids_in(part):
    """What tests and conditions are called."""
    if isinstance(part, list):
        for inner in part:
            yield from ids_in(inner)
    elif isinstance(part, dict):
        if "id" in part:
            yield part["id"]
        yield from ids_in(list(part.values()))


def ambiguous(rule, shared):
    """An id means one thing: what is called as something of shared.json has to be that."""
    parts = [part for key, part in rule.items() if key != "id"]
    for name in [*rule.get("conditions", {}), *ids_in(parts)]:
        if name in shared["tests"] or name in shared["conditions"]:
            yield f'"{name}" is called as one of shared.json: {{"is": "{name}"}}, or another id'


def all_faults(causes, rules, cases, code):
    named = {rule["cause"] for rule in rules.values()}
    for cause in causes:
        if cause not in named:
            yield f"{cause}: no rule names it"
    for rule_id, rule in sorted(rules.items()):
        for fault in rule_faults(rule):
            yield f"{rule_id}: {fault}"
        for fact in sorted(facts_of(rule)):
            if not is_measured(fact.split(".", 1)[1], code):
                yield f"{rule_id}: no stage sets {fact}"
        yield from (f"{rule_id}: {fault}" for fault in refutation_faults(rule, cases.get(rule_id, [])))
    for confusion, (rule_id, words) in CONFUSIONS.items():
        names = [case["name"].lower() for case in cases.get(rule_id, [])]
        if not any(words.lower() in name for name in names):
            yield f"{rule_id}: no case shows that {confusion} (a name with \"{words}\")"


def command_faults(rules, explained):
    for rule_id, rule in sorted(rules.items()):
        for number, remedy in enumerate(rule.get("remedies", [])):
            yield from stand_in_faults(remedy, f"{rule_id}: /remedies/{number}", explained)


def self_test():
    """The script must be able to fail."""
    commands = {"bad": {"remedies": [
        {"os": "linux", "do": "tc qdisc del dev {sender.link_name|text|CARD} root"},
        {"os": "linux", "do": "tc qdisc del dev {sender.link_name|text|IFACE} root"},
        {"os": "macos", "do": "networksetup -setMTU IFACE 1400"},
        {"os": "linux", "do": "mount -o remount that file system, and wait"},
        {"do": "Ask the provider about its QDISC settings, and wait."}]}}
    faults = list(command_faults(commands, {("linux", "IFACE")}))
    assert [fault.split(":")[1] for fault in faults] == [f" /remedies/{n}" for n in (0, 2, 3)], faults
    bad = {"cause": "x", "severity": "limits", "references": [], "remedies": [
        {"do": "sysctl -w a=1", "needs": "root", "os": "linux"},
        {"do": "Fix it.", "needs": "provider", "why": "w"}],
        "when": {"id": "t", "test": ["flow.never_measured_bps", ">", "1.3 * max(0bps, 1bps)"]}}
    found = list(all_faults(["x", "y"], {"bad": bad}, {}, "goodput_bps"))
    assert "bad: it may be the verdict, and nothing is named that refutes it" in found, found
    assert "bad: no case shows it refuted" in found, found
    assert len(found) >= 12 and "bad: t: a constant without because" in found, found
    shared = {"tests": {"lost": {}}, "conditions": {"full": {}}}
    assert list(ambiguous({"id": "lost", "when": {"all": [{"is": "lost"}, {"id": "own"}]}}, shared)) == []
    assert len(list(ambiguous({"when": {"id": "full", "any": [{"id": "lost"}]}}, shared))) == 2
    assert len(list(ambiguous({"conditions": {"full": {"any": [{"id": "lost"}]}}}, shared))) == 2
    assert not list(unreasoned({"test": ["max(flow.a_bps, 1bps) / 1s", ">", 0]}))


def main():
    causes_file, rules_folder, cases_folder, root = map(pathlib.Path, sys.argv[1:5])
    self_test()
    causes = [cause["id"] for cause in json.loads(causes_file.read_text())["causes"]]
    rules, shared = rule_files.read(rules_folder)
    cases = {path.stem: json.loads(path.read_text())["cases"]
             for path in cases_folder.glob("*.json") if path.stem != "bases"}
    found = list(all_faults(causes, rules, cases, sources(root)))
    found += [f"shared.json: no stage sets {fact}" for fact in sorted(facts_of(shared))
              if not is_measured(fact.split(".", 1)[1], sources(root))]
    table = (root / "src/present/command.c").read_text()
    explained = set(re.findall(r'\{"(\w+)", "([A-Z]+)"', table))
    assert explained, "src/present/command.c has no table of words"
    found += command_faults(rules, explained)
    found += [f"{path.stem}: {fault}" for path in sorted(rules_folder.glob("*/*.json"))
              for fault in ambiguous(json.loads(path.read_text()), shared)]
    print("\n".join(found) or f"{len(rules)} rules for {len(causes)} causes are whole")
    sys.exit(1 if found else 0)


main()
