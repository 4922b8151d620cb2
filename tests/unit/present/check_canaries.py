#!/usr/bin/env python3
"""What must not leave does not leave: saved runs with a canary in every text field are exported in
every format, and no canary may be in any of them (promise P14).

Arguments: tightlink, the program that prints fixtures, and "each-fixture" where one canary in each
fixture suffices: under the sanitizers, which look at what runs and not at what is masked. The test is
tested too: with --unmask the same canaries must be there.
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile

FIXTURES = ["limited", "capacity", "goal-met", "inconclusive", "invalid", "both"]
FORMATS = ["text", "markdown", "html", "json", "json-lines", "bundle"]

# What is put into texts, and what of it may not be found again. Where it is short enough it stands
# in ids too.
CANARIES = {
    "an IPv4 address": ("10.66.6.1", ["10.66.6"]),
    "an IPv4 address with a port": ("10.66.6.2:5411", ["10.66.6"]),
    "an IPv4 network": ("10.66.7.0/24", ["10.66.7"]),
    "an IPv6 address": ("2001:db8:66::7", ["2001:db8:66"]),
    "an IPv6 address in brackets": ("[2001:db8:66::8]:443", ["2001:db8:66"]),
    "an IPv6 address of a link": ("fe80::66:1%eth7", ["fe80::66"]),
    "an IPv4 address inside IPv6": ("::ffff:10.66.6.3", ["10.66.6"]),
    "a hardware address": ("02:66:ca:4a:12:7b", ["02:66:ca"]),
    "a hardware address with dashes": ("02-66-CA-4A-12-7B", ["02-66-ca"]),
    "a hardware address of a switch": ("0266.ca4a.127b", ["0266.ca4a"]),
    "an interface named by its address": ("enx0266ca4a127b", ["0266ca4a127b"]),
    "a host": ("canary.example.net", ["canary"]),
    "a host in capitals": ("CANARY.EXAMPLE.NET", ["canary"]),
    "a host with an underscore": ("canary_1.svc.local", ["canary"]),
    "a name from an address": ("ip-10-66-6-1.canary.org", ["canary", "10-66-6"]),
    "a host without a dot": ("canarynas", ["canarynas"]),
    "a user at a host": ("canary@nas7", ["canary", "nas7"]),
    "a URL": ("https://canary/~x?y=1", ["canary"]),
    "a wireless network": ('SSID "Canary 5"', ["canary"]),
    "a path": ("/home/canary/data", ["canary"]),
    "a path from home": ("~canary/data", ["canary"]),
    "a quoted path": ("'/srv/my canary/x'", ["canary"]),
    "a path of Windows": ("C:\\Users\\canary", ["canary"]),
    "a share": ("\\\\canary\\share", ["canary"]),
}

# Closed sets of words, which a reader of saved runs checks: no canary can be in them.
CLOSED = {"format", "state", "kind", "unit", "direction", "directions", "status", "started", "id",
          "start", "result", "severity", "rule", "cause", "segment", "next_cause", "stage", "os",
          "where", "needs", "host_mark"}
# Of the fixtures' host: that one belongs to nobody else.
MARK = "0dd97b94703a20d57b29c69f743f2ed3"
# Texts that are short: their room in bytes, and whether they are ids (no sentence around).
FIRST_WORDS = {"name", "address", "samples", "tool_version"}
ROOM = {"tool_version": 31, "address": 63, "name": 127, "complaint": 63, "note": 95, "ended": 159,
        "why": 199, "what": 159, "samples": 255, "do": 255}


def put(text, key, canary, bare):
    """The canary, in a sentence where there is room and where it is no name."""
    room = ROOM.get(key, 255)
    if key in FIRST_WORDS or bare:
        value = canary
    else:
        value = f"seen at {canary}, twice ({canary})"
    return value if len(value.encode()) <= room else canary


def plant(value, key, canary):
    if isinstance(value, dict):
        return {k: plant(v, k, canary) for k, v in value.items()}
    if isinstance(value, list):
        return [plant(v, key, canary) for v in value]
    if isinstance(value, str) and key not in CLOSED:
        return put(value, key, canary, False)
    return value


def document(fixture, canary):
    made = json.loads(subprocess.run([sys.argv[2], fixture, "json"], check=True,
                                     capture_output=True).stdout)
    # What the fixtures lack: everything that a document may hold has a text here.
    made["hops"] = [{"hop": n, "address": "a", "name": "n", "sent_count": 3, "answered_count": 3,
                     "rtt_min_ns": 1e6, "note": "x"} for n in (1, 2)]
    made["plan"] = [{"stage": "udp", "chosen": True, "why": "x", "time_ns": 1, "bytes": 1}]
    made["watch"] = {"duration_ns": 10**10, "bytes": 1, "seconds_count": 0, "outage_count": 0,
                     "outage_ns": 0, "outages": [], "samples": "x", "ended": "x"}
    made["findings"] = [{"rule": "receive-window", "cause": "receive-window", "result": "found",
                         "direction": made["verdict"].get("direction", "download"),
                         "verified": {"what": "x", "predicted_bps": 1e6, "measured_bps": 1e6,
                                      "hit": True}}]
    made["run"]["quality"] = {"status": "degraded", "reasons": ["x"]}
    made["run"]["complaint"] = "x"
    made["segments"].append({"id": "far-host", "kind": "far-host", "name": "x"})
    for scope in ("near", "far"):
        for name in ("link_name", "disk_directory", "kernel", "disk_device"):
            made["facts"][f"{scope}.{name}"] = {"state": "known", "value": "x", "unit": "text",
                                                "stage": "hosts", "method": "x"}
    made["facts"]["download.paced_retrans_ratio"] = {"state": "unknown", "reason": "x",
                                                     "unit": "ratio", "stage": "paced"}
    made = plant(made, "", canary)
    if len(canary) < 16:  # ids of stages and parts may hold anything in a file
        made["stages"][0]["id"] = canary
        made["plan"][0]["stage"] = canary
        made["segments"][0]["id"] = canary
    return made


def export(path, form, *options):
    out = "-".join([path, form, *options])  # export writes over nothing
    done = subprocess.run([sys.argv[1], "export", path, "--format", form, "--out", out, *options],
                          capture_output=True)
    if done.returncode != 0:
        sys.exit(f"export {form}: exit {done.returncode}: {done.stderr.decode()}")
    if form == "bundle":  # packed: looked at through its own reader
        return subprocess.run([sys.argv[1], "explain", out, "--json"], capture_output=True).stdout
    with open(out, "rb") as file:
        return file.read()


def main():
    problems, there, looked = [], 0, 0
    few = len(FIXTURES) if sys.argv[3:] == ["each-fixture"] else None
    canaries = dict(itertools.islice(CANARIES.items(), few))
    with tempfile.TemporaryDirectory() as directory:
        os.environ["XDG_STATE_HOME"] = directory
        os.environ["HOME"] = directory
        for number, (kind, (canary, needles)) in enumerate(canaries.items()):
            path = os.path.join(directory, f"run-{number}.json")
            with open(path, "w") as file:
                json.dump(document(FIXTURES[number % len(FIXTURES)], canary), file)
            for form in FORMATS:
                text = export(path, form).decode().lower()
                looked += 1
                problems += [f"{kind} in {form}: {needle}" for needle in (*needles, MARK)
                             if needle in text]
            open_text = export(path, "json", "--unmask").decode().lower().replace("\\\\", "\\")
            there += sum(needle in open_text for needle in needles[:1])
            if MARK not in open_text:
                problems.append("the host's mark is not there without masks")
    if there != len(canaries):
        problems.append(f"only {there} of {len(canaries)} canaries are there without masks")
    print("\n".join(problems) or f"{looked} exports of {len(canaries)} runs, no canary in any")
    sys.exit(1 if problems else 0)


main()
