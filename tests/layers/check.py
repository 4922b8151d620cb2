#!/usr/bin/env python3
"""The layers look one way: checks every include of src/ and include/.

Meson's include roots keep most forbidden includes from compiling (forbidden.py proves it); this
catches what they cannot see: private headers of another layer or room, relative paths, and
outside libraries used where they do not belong. Run with the source root.
"""
import pathlib
import re
import sys

from table import ALLOWED, layer_of, public_headers

# Library header prefix -> where it may be included.
LIBRARIES = {
    "json-c/": ("src/base/json",),
    "json.h": ("src/base/json",),
    "curses.h": ("src/tui/",),
    "ncurses": ("src/tui/",),
    "curl/": ("src/ticket/", "src/engine/foreign/pscheduler_http"),
    "pcap": ("src/flow/", "src/capture/"),
    "zlib.h": ("src/flow/input",),
    "zstd.h": ("src/flow/input", "src/document/pack"),
    "seccomp.h": ("src/responder/sandbox",),
    "openssl/": ("src/engine/wire/secure", "src/engine/wire/socket_bio",
                 "src/engine/wire/shared/socket_bio", "src/document/redact", "src/probes/mark",
                 "src/engine/foreign/iperf3_auth", "src/engine/foreign/http_request",
                 "src/engine/foreign/http_server",
                 "src/engine/foreign/ndt7", "src/engine/foreign/pscheduler_http",
                 "src/ticket/webhook"),
    "archive": ("src/document/bundle",),
    "sqlite3.h": ("src/store/",),
    "libmnl/": ("src/host/", "src/lab/", "src/fix/"),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def private_problem(root, path, layer, name):
    """A header that is not public lies beside the file, or in shared/ of a room that it may see."""
    if path.parts[0] == "include":
        return "a public header includes a private one"
    beside = [root / path.parent, root / "src" / layer]
    shared = [root / "src" / seen / "shared" for seen in {layer, *ALLOWED[layer]}]
    if any((folder / name).is_file() for folder in beside + shared):
        return None
    return "private headers sit beside their .c, or in shared/ of a room that may be seen"


def problems(root, path, headers):
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
            target = headers.get(name)
            if not target:
                yield f"{place}: there is no {name}"
            elif target != layer and target not in ALLOWED[layer]:
                yield f"{place}: {layer} may not look at {target} ({name})"
        elif kind == '"':
            problem = private_problem(root, path, layer, name)
            if problem:
                yield f"{place}: {problem} ({name})"
        for prefix, homes in LIBRARIES.items():
            if name.startswith(prefix) and not str(path).startswith(homes):
                yield f"{place}: {name} belongs into {' or '.join(homes)}"


def self_test(headers):
    """The check must be able to fail: made-up files break each kind of rule once."""
    import tempfile

    bad = {
        "src/facts/bad.c": '#include "tightlink/host/host.h"\n#include "../host/proc.h"\n'
                           '#include <curl/curl.h>\n#include "proc.h"\n',
        "src/engine/client/bad.c": '#include "tightlink/engine/responder.h"\n'
                                   '#include "responder_private.h"\n',
        "src/engine/wire/bad.c": '#include "tightlink/engine/stream.h"\n',
    }
    with tempfile.TemporaryDirectory() as name:
        made = pathlib.Path(name)
        for path, text in bad.items():
            (made / path).parent.mkdir(parents=True)
            (made / path).write_text(text)
            found = list(problems(made, pathlib.Path(path), headers))
            if len(found) < text.count("\n"):
                sys.exit(f"the layer check no longer sees the faults planted in {path}: {found}")


def main():
    root = pathlib.Path(sys.argv[1])
    headers = public_headers(root)
    self_test(headers)
    files = sorted(p.relative_to(root) for d in ("src", "include")
                   for p in (root / d).rglob("*.[ch]"))
    found = [text for path in files for text in problems(root, path, headers)]
    print("\n".join(found) or f"{len(files)} files, every include looks down")
    sys.exit(1 if found else 0)


main()
