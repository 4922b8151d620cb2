#!/usr/bin/env python3
"""doc/facts.md is what the table prints. Arguments: the printing program, the file."""
import pathlib
import subprocess
import sys

program, path = sys.argv[1:]
wanted = subprocess.run([program], check=True, capture_output=True, text=True).stdout
found = pathlib.Path(path).read_text() if pathlib.Path(path).exists() else ""
if wanted != found:
    sys.exit(f"{path} is not what the table of facts says; run: ninja -C build/test facts-doc")
