#!/usr/bin/env python3
"""What of each reader of foreign bytes its fuzz target reaches, by line and by branch.

    coverage.py BUILD [--mutations N] [--missed] [TARGET ...]

BUILD: one with -Db_coverage=true and without sanitizers. Each target replays its kept corpus and makes
N mutations (none: the corpus alone, which is what every run of the tests repeats); gcov counts. Told
for the files of READERS, and not for what else is linked with them. A branch is a way out of a
condition, those that calls leave by (`throw`) not among them; conditions that only memory running out
or a system call's failure decide stay open here, the tests of tests/injected take them.

    CC=gcc meson setup build/coverage -Db_coverage=true && ninja -C build/coverage fuzz
    tests/fuzz/coverage.py build/coverage
"""
import argparse
import glob
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPORA = pathlib.Path(__file__).resolve().parent / "corpora"
# What reads the bytes of each target, below src/.
READERS = {
    "wire": "engine/wire/wire.c engine/wire/wire_disk.c engine/wire/wire_host.c "
            "engine/wire/wire_layout.c engine/wire/wire_path.c engine/wire/wire_record.c "
            "engine/wire/wire_session.c engine/wire/wire_test.c engine/wire/wire_udp.c",
    "session": "engine/responder/frames.c engine/responder/session.c engine/responder/turn.c "
               "engine/responder/tcp_test.c engine/responder/udp_test.c",
    "client": "engine/client/client_ask.c engine/client/client_control.c engine/client/client_test.c "
              "engine/client/client_result.c",
    "udp": "engine/udp/udp_report.c engine/udp/udp_track.c engine/wire/udp_wire.c",
    "path": "engine/path/path_error.c engine/path/path_syn.c",
    "rules": "rules/source.c rules/load*.c rules/shared.c rules/template.c",
    "formula": "rules/formula_*.c",
    "report": "document/read.c base/json*.c facts/save.c",
    "bundle": "document/bundle.c",
    "capture": "flow/capture.c flow/pcap_file.c flow/pcapng_file.c flow/link.c flow/ip.c "
               "flow/tcp_header.c flow/decode.c flow/input.c",
    "config": "ticket/config.c",
    "fix": "fix/fix.c fix/setting.c fix/route.c fix/undo.c",
    "far": "engine/foreign/http_request.c engine/foreign/iperf3_json.c engine/foreign/nuttcp_text.c "
           "engine/foreign/ndt7_frames.c engine/foreign/ndt7_text.c "
           "engine/foreign/pscheduler_text.c engine/foreign/pscheduler_result.c",
    "ticket": "ticket/github.c ticket/gitlab.c ticket/glpi.c ticket/jira.c ticket/parts.c "
              "ticket/redmine.c ticket/rt.c ticket/servicenow.c ticket/webhook.c ticket/zammad.c",
    "parameters": "lab/parse*.c lab/trace.c lab/check.c",
}


def counters(build):
    return build.glob("**/*.gcda")


def gcov(data):
    """What gcov says of one object's counters."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["gcov", "--json-format", "--branch-probabilities", data.resolve()],
                       cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        for path in glob.glob(folder + "/*.json.gz"):
            with gzip.open(path) as file:
                yield from json.load(file)["files"]


def count(build, sources):
    """{source: {line: reached}}, {source: {(line, number): taken}} of these, all objects together."""
    lines, branches = {}, {}
    for data in counters(build):
        if not any(data.name.endswith(os.path.basename(source) + ".gcda") for source in sources):
            continue
        for file in gcov(data):
            name = os.path.relpath(os.path.join(build, file["file"]), ROOT / "src")
            if name not in sources:
                continue
            for line in file["lines"]:
                at = line["line_number"]
                own = lines.setdefault(name, {})
                own[at] = own.get(at, False) or line["count"] > 0
                ways = [way for way in line["branches"] if not way["throw"]]
                for number, way in enumerate(ways):
                    own = branches.setdefault(name, {})
                    own[at, number] = own.get((at, number), False) or way["count"] > 0
    return lines, branches


def share(found):
    every = [reached for one in found.values() for reached in one.values()]
    return sum(every), len(every)


def measure(build, name, mutations, missed):
    sources = {os.path.relpath(path, ROOT / "src") for pattern in READERS[name].split()
               for path in glob.glob(str(ROOT / "src" / pattern))}
    for data in counters(build):
        data.unlink()
    subprocess.run([build / "tests" / "fuzz" / f"fuzz-{name}", str(mutations), "1",
                    CORPORA / f"{name}.hex"], check=True, stdout=subprocess.DEVNULL)
    lines, branches = count(build, sources)
    unseen = sources - set(lines)
    if unseen:
        sys.exit(f"{name}: no counters of {', '.join(sorted(unseen))}: is {build} built with "
                 "-Db_coverage=true?")
    (reached, all_lines), (taken, all_branches) = share(lines), share(branches)
    print(f"{name}: {100 * reached / all_lines:.0f} % of {all_lines} lines, "
          f"{100 * taken / all_branches:.0f} % of {all_branches} branches", flush=True)
    if missed:
        for source, own in sorted(lines.items()):
            print(f"  {source}: " + " ".join(str(at) for at, seen in sorted(own.items()) if not seen))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--mutations", type=int, default=0)
    parser.add_argument("--missed", action="store_true", help="name the lines that are not reached")
    parser.add_argument("target", nargs="*")
    asked = parser.parse_args()
    for name in asked.target or READERS:
        measure(asked.build.resolve(), name, asked.mutations, asked.missed)


if __name__ == "__main__":
    main()
