#!/usr/bin/env python3
"""A forbidden include does not compile, and an allowed one does.

Arguments: source root, build root. For each layer and room the build's own commands for its files
are run over a made-up file instead, which asks for every public header there is. So what is tested
are the include roots that meson hands to the compiler, not what this test believes of them. What
the public headers of an allowed layer include themselves is visible too, as it must be; that nobody
includes it directly is what check.py sees to.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys

from table import ALLOWED, include_roots, layer_of, public_headers

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def commands_of(entries, root, layer):
    """The distinct ways in which the build compiles a file of the layer, without the file."""
    commands = set()
    for entry in entries:
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if not path.is_relative_to(root / "src") or layer_of(path.relative_to(root)) != layer:
            continue
        words = shlex.split(entry["command"])
        with_value = {"-c", "-MQ", "-MF", "-o"}
        commands.add((entry["directory"], *(
            word for i, word in enumerate(words)
            if word not in {"ccache", "-MD", *with_value} and words[i - 1] not in with_value)))
    return sorted(commands)


def brought(root, headers):
    """Layer -> layers whose headers its public headers include: nobody can use it without them."""
    brings = {layer: set() for layer in ALLOWED}
    folders = include_roots(root)
    for name, layer in headers.items():
        text = (folders[layer] / name).read_text()
        brings[layer] |= {headers[used] for used in INCLUDE.findall(text) if used in headers}
    for _ in brings:  # to the end of the chain
        for layer, seen in brings.items():
            brings[layer] = seen.union(*(brings[other] for other in seen))
    return brings


def compiles(command, text):
    folder, *words = command
    run = subprocess.run([*words, "-fsyntax-only", "-x", "c", "-"], input=text, cwd=folder,
                         capture_output=True, text=True)
    return run.returncode == 0, run.stderr


def visible(command, headers):
    """The headers that a file compiled in this way could include."""
    probe = "".join(f'#if __has_include("{name}")\n#warning "{name}"\n#endif\n' for name in headers)
    said = compiles(command, probe)[1]
    return {name for name in headers if f'#warning "{name}"' in said}


def problems(commands, layer, headers, may_see):
    seen = {command: visible(command, headers) for command in commands}
    for name, target in headers.items():
        users = [command for command in commands if name in seen[command]]
        if target not in may_see and users:
            yield f"{layer} can see {name} of {target}"
        elif target == layer and not users:
            yield f"{layer} cannot see {name} of {target}"
    # The same once more as somebody would write it.
    for command in commands:
        forbidden = next((name for name, target in headers.items() if target not in may_see), None)
        if forbidden and compiles(command, f'#include "{forbidden}"\n')[0]:
            yield f'{layer}: #include "{forbidden}" compiles'
        allowed = min(seen[command], default=None)
        if allowed and not compiles(command, f'#include "{allowed}"\n')[0]:
            yield f'{layer}: #include "{allowed}" does not compile'


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    entries = json.loads((pathlib.Path(sys.argv[2]) / "compile_commands.json").read_text())
    headers = public_headers(root)
    brings = brought(root, headers)
    found, tested, pairs = [], 0, 0
    for layer, allowed in ALLOWED.items():
        commands = commands_of(entries, root, layer)
        if not commands:
            continue  # built without it
        may_see = {layer, *allowed}.union(*(brings[other] for other in {layer, *allowed}))
        tested += 1
        pairs += len(ALLOWED) - len(may_see)
        found += problems(commands, layer, headers, may_see)
    print("\n".join(found) or f"{tested} layers and rooms, {len(headers)} headers: none sees "
          f"more than it may; {pairs} forbidden looks do not compile")
    sys.exit(1 if found or tested < 12 else 0)


main()
