#!/usr/bin/env python3
"""Runs one analyser over every C file of src; exit 1 when it says anything, 77 without it.

    run.py cppcheck|clang-tidy|analyzer SOURCE BUILD

BUILD is a configured build directory: its compile_commands.json says how each file is compiled, by
whichever compiler.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys


# gcc 12 looks at one file at a time: it knows no count of holders, no list that owns, no
# reader that has checked, and calls each of them a fault. clang-tidy and ASan see these.
NOT_ACROSS_FILES = ["-Wno-analyzer-" + name for name in (
    "malloc-leak", "null-argument", "null-dereference", "possible-null-dereference",
    "use-after-free", "use-of-uninitialized-value")]


# What gcc's command line has that clang 14 does not know, or wants to hear it is meant.
GCC_TO_CLANG = ["--extra-arg=" + option for option in (
    "-enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang",
    "-Wno-unknown-warning-option", "-Wno-ignored-optimization-argument")]
TIDY_FILES = 8  # at once: enough to share the start, few enough to share the processors


def need(program):
    if not shutil.which(program):
        print(f"skipped: {program} is not installed: apt-get install {program}")
        sys.exit(77)


def commands(source, build):
    """(file, its command line) of each C file of src."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if path.is_relative_to(source / "src") and path.suffix == ".c":
            yield path, shlex.split(entry["command"])


def over_files(jobs):
    """Runs (arguments, directory) of all jobs, prints what they say; the number that failed."""
    def run(job):
        return subprocess.run(job[0], cwd=job[1], capture_output=True, text=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for result in pool.map(run, jobs):
            said = result.stdout.strip()
            said = said or (result.stderr.strip() if result.returncode else "")
            failed += bool(said)
            if said:
                print(said, flush=True)
    return failed


def cppcheck(source, build):
    need("cppcheck")
    return subprocess.run(
        ["cppcheck", f"-j{os.cpu_count()}", f"--project={build}/compile_commands.json",
         f"--file-filter={source}/src/*", "--enable=warning,performance,portability", "--quiet",
         "--inline-suppr", f"--suppressions-list={source}/tests/analysis/cppcheck.supp",
         f"--relative-paths={source}", "--error-exitcode=1",
         "--template={file}:{line}: {severity}: {message} [{id}]"], cwd=source).returncode


def clang_tidy(source, build):
    need("clang-tidy")
    files = sorted({str(path) for path, _ in commands(source, build)})
    batches = [files[at:at + TIDY_FILES] for at in range(0, len(files), TIDY_FILES)]
    return over_files((["clang-tidy", *GCC_TO_CLANG, "-p", str(build), "--quiet", *batch], source)
                      for batch in batches)


def analyzer(source, build):
    """gcc -fanalyzer, with the warnings as errors; nothing is written."""
    jobs = []
    for path, command in commands(source, build):
        command = [word for word in command if word not in ("ccache", "-MD")]
        for option in ("-o", "-MF", "-MQ"):
            if option in command:
                at = command.index(option)
                del command[at:at + 2]
        if not command[0].endswith("clang"):
            command[0] = "gcc"
        jobs.append((command + ["-fanalyzer", "-Werror", *NOT_ACROSS_FILES,
                                "-o", os.devnull], build))
    return over_files(jobs)


def main():
    what, source, build = sys.argv[1], *(pathlib.Path(p).resolve() for p in sys.argv[2:4])
    sys.exit(1 if {"cppcheck": cppcheck, "clang-tidy": clang_tidy,
                   "analyzer": analyzer}[what](source, build) else 0)


if __name__ == "__main__":
    main()
