"""Fills a manual page with what the programs' own help says: the options stand in one place.

    fill.py PAGE.scd TIGHTLINK TIGHTLINKD [COMMAND] > filled.scd

@COMMANDS@ becomes a list of the commands of tightlink, @OPTIONS@ the options of tightlinkd; in the page
of a COMMAND its name, its help and who else is worth a look.
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


def commands(tightlink):
    """Groups of (name, what it does), as the help has them."""
    groups = []
    for line in help_of(tightlink):
        entry = re.match(r"^  tightlink (\S+) +(\S.*)$", line)
        if entry:
            groups[-1][1].append(entry.groups())
        elif PROSE.match(line):
            groups.append((line, []))
    return [group for group in groups if group[1]]


def list_of_commands(tightlink):
    out = []
    for title, members in commands(tightlink):
        out += [f"## {title}", ""]
        for name, does in members:
            out += [f"*tightlink-{name}*(1)", f"\t{escaped(does)}", ""]
    return out


def neighbours(tightlink, name):
    """The page of all, and those of the same group."""
    group = next(members for _, members in commands(tightlink) if name in dict(members))
    names = [f"tightlink-{other}*(1)" for other, _ in group if other != name]
    return ", ".join("*" + page for page in ["tightlink*(1)", "tightlinkd*(8)", *names])


def parts_of(tightlink, name):
    """What the marks in the page of a command stand for."""
    does = next(dict(members)[name] for _, members in commands(tightlink) if name in dict(members))
    usage, summary, *rest = help_of(tightlink, name)
    usage = usage.removeprefix("Usage: ").strip()
    examples = []
    if "Examples:" in rest:
        at = rest.index("Examples:")
        rest, examples = rest[:at], [line.strip() for line in rest[at + 1:] if line.strip()]
    if not usage.startswith(f"tightlink {name}"):  # another program's help
        program = usage.split()[0]
        usage, rest, examples = f"tightlink {name} [OPTIONS]", [], []
        summary = f"Starts *{program}*(8), which takes all arguments."
    synopsis = ["# SYNOPSIS", "", f"*{escaped(usage)}*", "", "# DESCRIPTION", "", summary, "", *section(rest)]
    shown = ["# EXAMPLES", "", "```", *examples, "```", ""] if examples else []
    return {"@NAME@": name, "@SUMMARY@": escaped(does), "@SYNOPSIS@": "\n".join(synopsis).rstrip(),
            "@EXAMPLES@": "\n" + "\n".join(shown), "@SEE@": neighbours(tightlink, name)}


def main():
    page, tightlink, tightlinkd, *command = sys.argv[1:]
    marks = parts_of(tightlink, *command) if command else {}
    for line in open(page, encoding="utf-8").read().splitlines():
        if line == "@COMMANDS@":
            line = "\n".join(list_of_commands(tightlink)).rstrip()
        elif line == "@OPTIONS@":
            line = "\n".join(section([h for h in help_of(tightlinkd) if h.startswith("  ")]))
        for mark, text in marks.items():
            line = line.replace(mark, text)
        print(line)


main()
