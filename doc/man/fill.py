"""Fills a manual page with what the programs' own help says: the options stand in one place.

    fill.py PAGE.scd TIGHTLINK TIGHTLINKD > filled.scd

@COMMANDS@ becomes a section of each command of tightlink, @OPTIONS@ those of tightlinkd.
"""
import re
import subprocess
import sys

ENTRY = re.compile(r"^ {2,6}(\S.*?)(?: {2,}(\S.*))?$")
PROSE = re.compile(r"^\S")


def help_of(*command):
    return subprocess.run([*command, "--help"], check=True, capture_output=True,
                          text=True).stdout.splitlines()


def escaped(text):
    return re.sub(r"([\\*_\[\]#`~<>|])", r"\\\1", text)


def entries(lines):
    """Two columns, or a lone first column: (option, its words); ("", words) is prose."""
    found = []
    for line in lines:
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        entry = ENTRY.match(line)
        if PROSE.match(line):
            if found and not found[-1][0]:
                found[-1][1].append(line)
            else:
                found.append(("", [line]))
        elif indent <= 6 and entry:
            found.append((entry[1], [entry[2]] if entry[2] else []))
        elif found:
            found[-1][1].append(line.strip())
    return found


def section(lines):
    out = []
    for option, words in entries(lines):
        text = escaped(" ".join(words))
        out += [f"*{escaped(option)}*", f"\t{text}" if text else "", ""] if option else [text, ""]
    return out


def command(tightlink, name):
    usage, summary, *rest = help_of(tightlink, name)
    usage = usage.removeprefix("Usage: ")
    if not usage.startswith(f"tightlink {name} "):  # another program's help
        program = usage.split()[0]
        usage = f"tightlink {name} [OPTIONS]"
        summary, rest = f"Starts *{program}*(8), which takes all arguments.", []
    return [f"## {name}", "", f"*{escaped(usage.strip())}*", "", summary, "", *section(rest)]


def commands(tightlink):
    names = re.findall(r"^  tightlink (\S+)", "\n".join(help_of(tightlink)), re.M)
    return [line for name in names for line in command(tightlink, name)]


def main():
    page, tightlink, tightlinkd = sys.argv[1:]
    for line in open(page, encoding="utf-8").read().splitlines():
        if line == "@COMMANDS@":
            print("\n".join(commands(tightlink)))
        elif line == "@OPTIONS@":
            lines = [h for h in help_of(tightlinkd) if h.startswith("  ")]
            print("\n".join(section(lines)))
        else:
            print(line)


main()
