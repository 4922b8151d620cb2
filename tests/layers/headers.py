#!/usr/bin/env python3
"""Every public header compiles alone. Arguments: source root, compiler and its flags."""
import pathlib
import subprocess
import sys

from table import include_roots

root = pathlib.Path(sys.argv[1])
failed = 0
folders = include_roots(root).values()
headers = [header for folder in folders for header in sorted(folder.rglob("*.h"))]
for header in headers:
    run = subprocess.run(sys.argv[2:] + ["-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror",
                                         *(f"-I{folder}" for folder in folders),
                                         "-fsyntax-only", "-x", "c", header],
                         capture_output=True, text=True)
    if run.returncode:
        failed += 1
        print(run.stderr)
print(f"{len(headers)} headers, {failed} do not compile alone")
sys.exit(1 if failed or not headers else 0)
