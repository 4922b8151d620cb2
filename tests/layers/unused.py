#!/usr/bin/env python3
"""Whether each function and table that src exports is used there: one that only tests call, or
nobody, is code that nobody needs.

    unused.py SOURCE-ROOT BUILD-ROOT

Symbols are those of the objects of a build (nm). One that its own file uses as well is a seam for
tests, which is fine. What macros make has no name in the source and is not looked at. Exceptions:
`unused.txt` beside this script, a name and its reason a line; a name that is not needed is a fault.
"""
import collections
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def symbols(folder):
    """Names that objects below a folder define, with their object, and the objects that need them."""
    objects = sorted(map(str, folder.rglob("*.o")))
    if not objects:
        sys.exit(f"{folder} holds no object: is it built?")
    defined, needed = {}, collections.defaultdict(set)
    lines = subprocess.run(["nm", "-A", *objects], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    for line in lines:
        path, _, rest = line.partition(":")
        *_, kind, name = rest.split()
        if kind == "U":
            needed[name].add(path)
        elif kind in "TDBRG":
            defined[name] = path
    return defined, needed


def source_of(path, root, build):
    """src/x/libtl-x.a.p/y.c.o -> src/x/y.c; None for what the build made."""
    path = pathlib.Path(path)
    source = root / path.parent.parent.relative_to(build) / path.name.removesuffix(".o")
    return source if source.is_file() else None


def unused(root, build):
    defined, needed = symbols(build / "src")
    texts = {}
    for name, path in sorted(defined.items()):
        source = source_of(path, root, build)
        if name == "main" or source is None or needed[name] - {path}:
            continue
        text = texts.setdefault(source, re.sub(r"/\*.*?\*/", "", source.read_text(), flags=re.S))
        if len(re.findall(rf"\b{name}\b", text)) == 1:
            yield name, source.relative_to(root)


def main():
    root, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    excused = {}
    for line in (HERE / "unused.txt").read_text().splitlines():
        name, _, reason = line.partition("  ")
        if name and not name.startswith("#"):
            excused[name] = reason.strip()
    found = dict(unused(root, build))
    folders = tuple(name for name in excused if name.endswith("/"))
    found = {name: path for name, path in found.items() if not str(path).startswith(folders)}
    faults = [f"{path}: {name} is exported, and nothing in src uses it" for name, path in found.items()
              if name not in excused]
    faults += [f"unused.txt: {name} is used or gone" for name in excused
               if name not in found and name not in folders]
    faults += [f"unused.txt: {name}: no reason" for name, reason in excused.items() if not reason]
    print("\n".join(faults) or f"nothing is exported for nobody; {len(excused)} for tests, with a reason")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
