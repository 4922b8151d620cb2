#!/usr/bin/env python3
"""Plants faults into a copy of the tree, one after the other, and looks whether the gate turns red
each time, at its first run: a gate that cannot fail says nothing when it passes.

    plant.py ROOT [--loaded] [--keep FOLDER]
    plant.py ROOT --check

--check only looks whether each fault can still be planted where it belongs, at every run of the tests.
--loaded keeps every processor busy meanwhile. Of the copy only what the tests need is built (minutes),
in a temporary folder, or in FOLDER, which stays. The tests that each fault must turn red are those of
`scripts/test` by name, summed up by `scripts/test-results`; without a fault the same are green.
"""
import argparse
import contextlib
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SANITIZED = ["-Db_sanitize=address,undefined", "-Db_lundef=false"]
SECONDS = 3600  # for one build or one run of some tests, on the busiest machine
# What each test runs; a fault without a test is one that this does not survive.
TARGETS = {
    "rule-cases": ["tests/rules/rule-cases"],
    "unit-document": ["tests/unit/document/test-document"],
    "report-schema": ["tests/unit/present/print-fixture"],
    None: ["src/facts/libtl-facts.a"],
}


@dataclasses.dataclass
class Fault:
    name: str
    file: str
    old: str
    new: str
    tests: list        # that must turn red; none: it must not compile
    sanitized: bool = False
    says: str = ""     # what the closing lines must hold


VERDICT = "    add_record(&writer, &layout_verdict, &findings->verdict, &context);"
FAULTS = [
    Fault("a wrong verdict", "src/rules/judge.h", "#define TL_AGREE_HIGH 1.1",
          "#define TL_AGREE_HIGH 0.5", ["rule-cases"]),
    Fault("a crash", "src/document/json.c", VERDICT, "    if (findings->verdict.ceiling_bps > 0) *(volatile int "
          f"*)8 = 0;\n{VERDICT}", ["report-schema", "unit-document"]),
    Fault("a schema error", "src/document/layout.c", 'NUMBER(tl_verdict, "ceiling_bps",',
          'NUMBER(tl_verdict, "roof",', ["report-schema"]),
    Fault("a leak", "src/base/buf.c", "    free(buf->data);\n", "", ["rule-cases"], sanitized=True,
          says="LeakSanitizer"),
    Fault("a forbidden include", "src/facts/store.c", "#include",
          '#include "tightlink/session/session.h"\n#include', []),
]


def misplaced(root):
    """Faults that can no longer be planted."""
    return [f"{fault.file} no longer holds {fault.old!r}: plant {fault.name} elsewhere" for fault in FAULTS
            if fault.old not in (root / fault.file).read_text()]


def copy_tree(root, folder):
    listed = subprocess.run(["git", "-C", root, "ls-files"], check=True, capture_output=True,
                            text=True).stdout.splitlines()
    for name in filter(lambda name: (root / name).is_file(), listed):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, folder / name)


def call(folder, *argv, **options):
    return subprocess.run(list(map(str, argv)), cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=SECONDS, **options)


def build(folder, directory, tests):
    """None when what the tests run compiled, else what was said."""
    targets = sorted({target for test in tests or [None] for target in TARGETS[test]})
    if not (folder / directory / "build.ninja").exists():
        options = SANITIZED if directory.endswith("sanitize") else []
        call(folder, "meson", "setup", directory, "--buildtype=debugoptimized", *options, check=True)
    done = call(folder, "ninja", "-C", directory, *targets)
    return done.stdout[-2000:] if done.returncode else None


def gate(folder, directory, tests):
    """Exit code and closing lines of those tests, as scripts/test has them."""
    reports = folder / directory / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    stop = f"halt_on_error=1:abort_on_error=1:log_path={reports}/report"
    environment = dict(os.environ, ASAN_OPTIONS=stop, UBSAN_OPTIONS=stop,
                       LSAN_OPTIONS=f"suppressions={folder}/tests/lsan.supp:print_suppressions=0")
    call(folder, "meson", "test", "-C", directory, "--no-rebuild", "--timeout-multiplier", "3",
         *tests, env=environment)
    done = call(folder, sys.executable, "scripts/test-results", "--reports", reports,
                folder / directory / "meson-logs/testlog.json")
    return done.returncode, done.stdout


def plant(folder, fault):
    """Why the gate stayed green; None when it turned red."""
    path = folder / fault.file
    before = path.read_text()
    path.write_text(before.replace(fault.old, fault.new, 1))
    try:
        directory = "build/sanitize" if fault.sanitized else "build/test"
        said = build(folder, directory, fault.tests)
        if said or not fault.tests:
            return None if said and not fault.tests else said or "it compiled"
        code, lines = gate(folder, directory, fault.tests)
    finally:
        path.write_text(before)
    failed = [test for test in fault.tests if f"FAILED: {test} " in lines]
    if code == 0 or failed != fault.tests or fault.says not in lines:
        return f"exit code {code}, failed: {failed}\n{lines}"
    return None


def green(folder):
    """What is red without any fault."""
    for sanitized, directory in ((False, "build/test"), (True, "build/sanitize")):
        tests = sorted({t for f in FAULTS if f.sanitized == sanitized for t in f.tests})
        said = build(folder, directory, tests)
        if said:
            return said
        code, lines = gate(folder, directory, tests)
        if code:
            return lines
    return None


@contextlib.contextmanager
def load(wanted):
    spin = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(spin) for _ in range(os.cpu_count() or 1)] if wanted else []
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--loaded", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wrong = misplaced(options.root)
    if wrong or options.check:
        sys.exit("\n".join(wrong) or 0)
    with contextlib.ExitStack() as stack:
        folder = options.keep or pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory(prefix="tightlink-planted-", dir="/var/tmp")))
        folder = folder.resolve()
        copy_tree(options.root.resolve(), folder)
        red = green(folder)
        if red:
            sys.exit(f"red without a fault: nothing can be shown\n{red}")
        print("without a fault: green", flush=True)
        stack.enter_context(load(options.loaded))
        missed = 0
        for fault in FAULTS:
            why = plant(folder, fault)
            missed += why is not None
            print(f"{fault.name}: {'red' if why is None else 'STAYED GREEN: ' + why}", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
