#!/usr/bin/env python3
"""The layers look one way: checks every include of src/ and include/.

Meson's per-layer dependencies already keep most forbidden includes from compiling;
this catches what they cannot see: private headers of another layer, relative paths,
and outside libraries used where they do not belong. Run with the source root.
"""
import pathlib
import re
import sys

ALLOWED = {
    "base": set(),
    "facts": {"base"},
    "host": {"base"},
    "engine": {"host", "base"},
    "flow": {"host", "base"},
    "probes": {"engine", "flow", "host", "facts", "base"},
    "rules": {"facts", "base"},
    "session": {"probes", "rules", "facts", "base"},
    "document": {"rules", "facts", "base"},
    "present": {"document", "rules", "facts", "base"},
    "store": {"document", "facts", "base"},
    "ticket": {"document", "store", "base"},
    "fix": {"base"},
    "lab": {"base"},
    "app": {"session", "present", "document", "store", "ticket", "fix", "lab", "rules", "facts", "base"},
    "tui": {"app", "session", "present", "document", "store", "ticket", "lab", "rules", "facts", "base"},
    "cli": {"tui", "app", "session", "present", "document", "fix", "store", "ticket", "lab", "rules", "facts", "base"},
    "responder": {"engine", "base"},
}
# Library header prefix -> where it may be included.
LIBRARIES = {
    "json-c/": ("src/base/json",),
    "json.h": ("src/base/json",),
    "curses.h": ("src/tui/",),
    "ncurses": ("src/tui/",),
    "curl/": ("src/ticket/",),
    "pcap": ("src/flow/",),
    "zlib.h": ("src/flow/input",),
    "zstd.h": ("src/flow/input",),
    "seccomp.h": ("src/responder/sandbox",),
    "openssl/": ("src/engine/secure", "src/document/redact", "src/ticket/webhook"),
    "archive": ("src/document/bundle", "src/store/pack"),
    "sqlite3.h": ("src/store/",),
    "libmnl/": ("src/host/", "src/lab/"),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path):
    parts = path.parts
    return parts[1]


def problems(root, path):
    layer = layer_of(path)
    if layer not in ALLOWED:
        yield f"{path}: the folder {layer} is no layer of the design"
        return
    for number, line in enumerate((root / path).read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        kind, name = match.groups()
        place = f"{path}:{number}"
        if ".." in name.split("/"):
            yield f"{place}: relative include {name}"
        if name.startswith("tightlink/"):
            target = name.split("/")[1]
            if target != layer and target not in ALLOWED[layer]:
                yield f"{place}: {layer} may not look at {target} ({name})"
        elif kind == '"' and path.parts[0] == "include":
            yield f"{place}: a public header includes a private one ({name})"
        elif kind == '"' and "/" in name:
            yield f"{place}: private headers sit beside their .c ({name})"
        for prefix, homes in LIBRARIES.items():
            if name.startswith(prefix) and not str(path).startswith(homes):
                yield f"{place}: {name} belongs into {' or '.join(homes)}"


def self_test(root):
    """The check must be able to fail: a made-up file breaks each kind of rule once."""
    import tempfile

    bad = ('#include "tightlink/cli/cli.h"\n#include "../engine/wire.h"\n'
           "#include <curl/curl.h>\n")
    with tempfile.TemporaryDirectory() as name:
        made = pathlib.Path(name)
        (made / "src/facts").mkdir(parents=True)
        (made / "src/facts/bad.c").write_text(bad)
        found = list(problems(made, pathlib.Path("src/facts/bad.c")))
    if len(found) < 4:
        sys.exit(f"the layer check no longer sees planted faults: {found}")


def main():
    root = pathlib.Path(sys.argv[1])
    self_test(root)
    files = sorted(p.relative_to(root) for d in ("src", "include")
                   for p in (root / d).rglob("*.[ch]"))
    found = [text for path in files for text in problems(root, path)]
    print("\n".join(found) or f"{len(files)} files, every include looks down")
    sys.exit(1 if found else 0)


main()
