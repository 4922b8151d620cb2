#!/usr/bin/env python3
"""Writes a C file that holds the schema. Arguments: the schema, the C file."""
import json
import pathlib
import sys

text = pathlib.Path(sys.argv[1]).read_text()
json.loads(text)  # a broken schema fails the build
lines = "\n".join("    " + json.dumps(line + "\n", ensure_ascii=True).replace("?", "\\?")
                  for line in text.splitlines())
pathlib.Path(sys.argv[2]).write_text(
    f'#include "tightlink/document/document.h"\n\n'
    f"const char *tl_document_schema(void)\n{{\n    return\n{lines};\n}}\n")
