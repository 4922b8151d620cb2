"""Manual pages: one a command with every option of its help, every key and system of tightlink.conf.

    test_man.py TIGHTLINK TIGHTLINKD SOURCE-ROOT PAGE...
"""
import pathlib
import re
import subprocess
import sys


def help_of(*command):
    return subprocess.run([*command, "--help"], check=True, capture_output=True, text=True).stdout


def plain(page):
    """The words of a page without its formatting."""
    text = re.sub(r"\\f[A-Z]", "", page.read_text())
    return re.sub(r"\\(.)", r"\1", text.replace("\\&", ""))


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text))


def lacks(page, words):
    text = plain(page)
    found = options(text)
    names = set(re.findall(r"[\w-]+", text))
    return sorted(w for w in words if w not in found and w not in names)


def main():
    tightlink, tightlinkd, root, *pages = sys.argv[1:]
    pages = {pathlib.Path(p).name: pathlib.Path(p) for p in pages}
    overview = help_of(tightlink)
    commands = re.findall(r"^  tightlink (\S+)", overview, re.M)
    assert len(commands) > 10, commands
    wanted = {"tightlink.1": {f"tightlink-{command}" for command in commands} | options(overview),
              "tightlinkd.8": options(help_of(tightlinkd))}
    for command in commands:
        page = f"tightlink-{command}.1"
        assert page in pages, f"{command} has no page: see doc/man/meson.build"
        # those of serve are tightlinkd's
        wanted[page] = {command} | (options(help_of(tightlink, command)) if command != "serve" else set())
    tickets = pathlib.Path(root, "src/ticket")
    keys = re.findall(r'\[KEY_\w+\] = "(\w+)"', (tickets / "config.c").read_text())
    systems = [n for f in tickets.glob("*.c")
               for n in re.findall(r'^ +\.name = "([a-z-]+)",', f.read_text(), re.M)]
    assert len(keys) > 15 and len(systems) > 10, (keys, systems)
    wanted["tightlink.conf.5"] = {*keys, *systems}
    failed = {name: lacks(pages[name], words) for name, words in wanted.items()}
    for name, missing in failed.items():
        print(f"{name}: {'lacks ' + ', '.join(missing) if missing else 'has all'}")
    print(f"{sum(map(len, wanted.values()))} words looked for in {len(wanted)} pages")
    sys.exit(any(failed.values()))


main()
