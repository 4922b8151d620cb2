#!/usr/bin/env python3
"""Runs every command that a rule offers to root, in a network and mount namespace of its own:
done, kept (its file below /etc/sysctl.d), undone; the state behind it is the state before it.

    run_remedies.py PRINT_REMEDIES CASES_FOLDER RULES_FOLDER

A command whose hardware or setting no namespace has is run all the same: the tool must
understand it ("not supported" is an answer, "bad command line" is a fault); for a setting of the
whole machine only the key and its value's form are checked. Every command of every rule must
come up. TAP, which says itself that all is skipped where namespaces are not permitted."""
import json
import os
import pathlib
import re
import subprocess
import sys

LINK = "eno1"
COMMANDS = ("sysctl", "tc", "ip", "ethtool", "iw", "cpupower", "echo", "mount")
# Answers that say: understood, but there is no such hardware here.
NO_HARDWARE = re.compile(r"not supported|no such device|no device|nl80211 not found|"
                         r"cannot (get|set) device|requested channel count exceeds maximum|"
                         r"specified qdisc kind is unknown", re.I)
SETUP = f"""
set -e
mount --make-rprivate /
mkdir -p /etc/sysctl.d
mount -t tmpfs none /etc/sysctl.d
ip link set lo up
ip link add {LINK} numtxqueues 4 numrxqueues 4 type veth peer name other
ip addr add 10.77.1.2/24 dev {LINK}
ip -6 addr add fd77::2/64 dev {LINK} nodad
ip link set {LINK} addrgenmode none up; ip link set other addrgenmode none up
for turn in $(seq 500); do # the kernel tells a moment later that both ends are there
    ip route show | grep -q linkdown || break
    sleep 0.02
done
"""
STATE = f"""
ls /etc/sysctl.d; cat /etc/sysctl.d/* 2>/dev/null
tc qdisc show dev {LINK} | sed -E 's/ [0-9a-f]+: / H: /; s/parent [0-9a-f]*:/parent H:/; s/refcnt [0-9]+ ?//'
ip route show; ip -6 route show
ip link show {LINK} | grep -o 'mtu [0-9]*'
ethtool -k {LINK}; ethtool -l {LINK} 2>/dev/null
find /proc/sys/net -type f | grep -v -e flush -e stat_refresh -e random | sort | xargs grep -sH .
true
"""


def plan_of(rules):
    """(rule, text before the first hole) of every command for root on Linux."""
    rows = set()
    for path in sorted(pathlib.Path(rules).rglob("*.json")):
        rule = json.loads(path.read_text())
        for remedy in rule.get("remedies", []):
            if remedy["needs"] == "root" and remedy.get("os") == "linux" and is_command(remedy["do"]):
                rows.add((path.stem, " ".join(remedy["do"].split("{")[0].split()[:3])))
    return rows


def is_command(text):
    """A line for a shell; sentences that begin with a command's name have a full stop."""
    return text.split()[0] in COMMANDS and not text.rstrip().endswith(".") \
        and not re.search(r"\bthe\b|\band\b", text)


def printed(program, cases, rules):
    out = subprocess.run([program, cases, rules], capture_output=True, text=True, check=True).stdout
    remedies = {}
    for line in out.splitlines():
        remedy = json.loads(line)
        if remedy["needs"] == "root" and remedy["os"] == "linux" and is_command(remedy["do"]):
            remedies.setdefault((remedy["rule"], " ".join(remedy["do"].split()[:6])), remedy)
    return list(remedies.values())


class Namespace:
    """A shell in namespaces of its own; each command's output ends with a marker."""

    def __init__(self):
        self.shell = subprocess.Popen(["unshare", "-n", "-m", "bash"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, script):
        """(exit code, output)"""
        try:
            self.shell.stdin.write(f"( {script}\n) </dev/null; code=$?; echo; echo \"=done=$code\"\n")
            self.shell.stdin.flush()
        except BrokenPipeError:
            return 255, "the namespace has gone"
        lines = []
        for line in self.shell.stdout:
            if line.startswith("=done="):
                return int(line[6:]), "".join(lines).strip()
            lines.append(line)
        return 255, "".join(lines)

    def end(self):
        self.shell.stdin.close()
        self.shell.wait(timeout=20)


def settings_of(command):
    """[(key, value)] of `sysctl -w KEY=VALUE ...`"""
    return re.findall(r'([\w.]+)="?([^"=;&]*?)"?(?=\s+[\w.]+=|\s*$)', command.split("sysctl -w ", 1)[1])


def check_machine_setting(remedy):
    """For what is no namespace's own: the kernel has the key, and the value its form. A module's
    setting that is not loaded here has no key."""
    for key, value in settings_of(remedy["do"]):
        path = pathlib.Path("/proc/sys") / key.replace(".", "/")
        if not path.exists():
            return f"# skip no module of this kernel has {key}"
        if len(path.read_text().split()) != len(value.split()) or not re.fullmatch(r"[\d ]+", value):
            return f"{key} = {value!r}, where the kernel has {path.read_text().strip()!r}"
    return "# skip it belongs to the whole machine; its keys and values were checked"


def is_machines(space, remedy):
    if not remedy["do"].startswith("sysctl"):
        return False
    keys = " ".join("/proc/sys/" + key.replace(".", "/") for key, _ in settings_of(remedy["do"]))
    code, modes = space.run(f"stat -c %A {keys}") # absent, or there to be read only
    return code != 0 or any(mode[2] != "w" for mode in modes.split())


def read_only(space, remedy):
    before = space.run(STATE)[1]
    code, said = space.run(remedy["do"])
    if code != 0 and not NO_HARDWARE.search(said) and "no stats available" not in said:
        return f"{remedy['do']}: {said}"
    return None if space.run(STATE)[1] == before else "it only reads, and yet it changed something"


def prepare(space, remedy):
    """The state that the remedy is for, where it is not that of a fresh interface."""
    do, undo = remedy["do"], remedy["undo"]
    if do.startswith("sysctl"):
        space.run(undo)
    elif do.startswith("ip route replace") and " via " in do:
        space.run("ip route replace 10.77.1.1 dev eno1; ip -6 route replace fd77::1 dev eno1")
    elif do.startswith("tc ") and " mq " in do:
        space.run(f"tc qdisc del dev {LINK} root")
    elif do.startswith("tc ") and "root" in undo:
        space.run(undo)
    elif do.startswith("ethtool") or do.startswith("ip link"):
        space.run(undo)


def try_one(space, remedy):
    """None where all is well, "# skip ..." with a reason, or what is wrong."""
    if is_machines(space, remedy):
        return check_machine_setting(remedy)
    if "/sys/block/" in remedy["do"]:
        return "# skip a disk belongs to the whole machine"
    if remedy["do"].startswith("ethtool -S"):
        return read_only(space, remedy)
    if not remedy["undo"]:
        return "there is no undo"
    prepare(space, remedy)
    before = space.run(STATE)[1]
    code, said = space.run(remedy["do"])
    if code != 0 and ("not found" in said and "command" in said):
        return f"# skip {said.splitlines()[-1]}"
    if code != 0:
        return f"# skip no such hardware here, the line is good: {said.splitlines()[0]}" \
            if NO_HARDWARE.search(said) and "bad command" not in said.lower() \
            else f"{remedy['do']}: {said}"
    during = space.run(STATE)[1]
    if during == before:
        return f"{remedy['do']} changed nothing"
    if remedy["persist"].startswith(("echo", "printf")):
        code, said = space.run(remedy["persist"])
        if code != 0 or space.run(STATE)[1] == during:
            return f"{remedy['persist']} keeps nothing: {said}"
        code, said = space.run("sysctl -q -e -p " + remedy["persist"].rsplit("> ", 1)[1])
        if code != 0 or "invalid" in said.lower():
            return f"what is kept is no file for sysctl: {said}"
    code, said = space.run(remedy["undo"])
    if code != 0:
        return f"undo {remedy['undo']}: {said}"
    after = space.run(STATE)[1]
    if after != before:
        differs = sorted(set(before.splitlines()) ^ set(after.splitlines()))
        return f"after the undo: {differs[:4]}"
    return None


def main():
    program, cases, rules = sys.argv[1:]
    if os.geteuid() != 0 or subprocess.run(["unshare", "-n", "-m", "true"], check=False).returncode:
        print("1..0 # SKIP needs root and namespaces")
        return
    remedies = printed(program, cases, rules)
    failed = number = 0
    for remedy in remedies:
        space = Namespace()
        code, said = space.run(SETUP)
        problem = f"setup: {said}" if code else try_one(space, remedy)
        space.end()
        number += 1
        good = problem is None or problem.startswith("# skip")
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {remedy['rule']}: {remedy['do'][:70]}"
              + (f" {problem.replace('# skip', '# SKIP')}" if good and problem else ""), flush=True)
        if not good:
            print(f"# {problem}")
        if "/etc/sysctl.d/" in remedy["persist"]:
            name = remedy["persist"].rsplit("> ", 1)[1]
            number += 1
            undone = name in remedy["undo"]
            failed += not undone
            print(f"{'ok' if undone else 'not ok'} {number} - {remedy['rule']}: the undo removes {name}")
    seen = {(base_of(r["rule"], rules), r["do"]) for r in remedies}
    lacking = [(rule, head) for rule, head in plan_of(rules)
               if not any(rule == base and do.startswith(head) for base, do in seen)]
    number += 1
    failed += bool(lacking)
    print(f"{'ok' if not lacking else 'not ok'} {number} - every command came up")
    for rule, head in sorted(lacking):
        print(f"# never: {rule}: {head} ...")
    print(f"1..{number}")
    sys.exit(1 if failed else 0)


def base_of(rule, rules):
    """cpu-sender is in cpu.json"""
    names = {path.stem for path in pathlib.Path(rules).rglob("*.json")}
    for end in ("-sender", "-receiver"):
        if rule not in names and rule.endswith(end):
            return rule[:-len(end)]
    return rule


main()
