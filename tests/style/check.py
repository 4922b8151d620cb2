#!/usr/bin/env python3
"""The style that a program can hold: layout, lengths, executable bits, documents against the tree.

    check.py ROOT

Looks at what git tracks, or at everything below ROOT's own folders where there is no git. What is
longer than the rules allow stands in exceptions.txt with its reason, and may not grow; an
exception that is no longer needed is a fault, too, so that the list only shrinks.
"""
import pathlib
import re
import shutil
import subprocess
import sys

FUNCTION_LINES, FILE_LINES = 40, 500
# A subject fits a line of `git log`; what was committed before the rule stays as it is.
SUBJECT_CHARS, SUBJECTS_SINCE = 72, "2026-11-23T09:15:00Z"
FOLDERS = ("src", "include", "tests", "doc", "scripts", "packaging", "rules", ".ci")
# Programs of others that documents tell people to call (meson, iperf3, rsync, rclone, curl, firewalld).
FOREIGN = {"--version", "--help", "--benchmark", "--suite", "--setup", "--reconfigure",
           "--buildtype", "--destdir", "--prefix", "--no-rebuild", "--print-errorlogs",
           "--sockopts", "--fsync", "--transfers", "--http1", "--bwlimit", "--limit-rate", "--add-service",
           "--reload"}
# Places that are no files of ours: the kernel's headers, and a pattern.
ELSEWHERE = re.compile(r"include/(linux|net|uapi)/|src/x/|tests/unit/x/")


def tracked(root):
    """Every file of the project, relative to the root."""
    done = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True,
                          check=False)
    if done.returncode == 0 and done.stdout:
        names = done.stdout.splitlines()
    else:
        names = [p.relative_to(root) for folder in FOLDERS for p in (root / folder).rglob("*")]
        names += [p.name for p in root.iterdir()]
    paths = (pathlib.Path(name) for name in names)
    return sorted(p for p in paths if (root / p).is_file() and "__pycache__" not in p.parts)


def functions(text):
    """(name, lines) of each function: from the line of its name to its closing brace."""
    lines, begin = text.splitlines(), None
    for at, line in enumerate(lines):
        if line == "{":
            begin = at
            while begin > 0 and not re.match(r"[A-Za-z_]", lines[begin]):
                begin -= 1
        elif line == "}" and begin is not None:
            head = " ".join(lines[begin:at])
            test = re.match(r"Test\((\w+), *(\w+)", head)
            name = ".".join(test.groups()) if test else re.match(r"[^(]*?(\w+)\(", head)
            yield name if isinstance(name, str) else name[1] if name else head, at - begin + 1
            begin = None


class Check:
    def __init__(self, root):
        self.root, self.files, self.faults = root, tracked(root), []
        self.exceptions, self.used = self.read_exceptions(), set()

    def fault(self, text):
        self.faults.append(text)

    def read_exceptions(self):
        """(kind, name) -> limit. A line: kind, name, limit or -, reason."""
        found = {}
        for line in (self.root / "tests/style/exceptions.txt").read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            words = line.split(None, 3)
            if len(words) < 4:
                self.fault(f"tests/style/exceptions.txt: no reason: {line}")
                continue
            found[words[0], words[1]] = 0 if words[2] == "-" else int(words[2])
        return found

    def excepted(self, kind, name, length=0):
        limit = self.exceptions.get((kind, name))
        if limit is not None:
            self.used.add((kind, name))
        return limit is not None and length <= limit

    def text(self, path):
        return (self.root / path).read_text(errors="replace")

    def of_kind(self, *suffixes):
        return [p for p in self.files if p.suffix in suffixes]

    def layout(self):
        if not shutil.which("clang-format"):
            sys.exit("clang-format is not installed: apt-get install clang-format")
        sources = self.of_kind(".c", ".h")
        said = subprocess.run(["clang-format", "--dry-run", *map(str, sources)], cwd=self.root,
                              capture_output=True, text=True, check=False).stderr
        # The list of sources may be longer than one page of their names, never the set of faults.
        for name in sorted(set(re.findall(r"^(\S+?):\d+:\d+: (?:warning|error)", said, re.M))):
            self.fault(f"{name}: not as clang-format lays it out: clang-format -i {name}")

    def lengths(self):
        for path in self.of_kind(".c", ".h", ".py"):
            text = self.text(path)
            lines = text.count("\n")
            if lines > FILE_LINES and not self.excepted("file", path.name, lines):
                self.fault(f"{path}: {lines} lines, more than {FILE_LINES}: split it by idea")
            for name, long in functions(text) if path.suffix != ".py" else ():
                key = f"{path.name}:{name}"
                if long > FUNCTION_LINES and not self.excepted("function", key, long):
                    self.fault(f"{path}: {name}() has {long} lines, more than {FUNCTION_LINES}")

    def executables(self):
        for path in self.files:
            begins = (self.root / path).open("rb").read(2) == b"#!"
            runs = (self.root / path).stat().st_mode & 0o100
            if begins and not runs:
                self.fault(f"{path} begins with #! and cannot be run: chmod +x {path}")
            if runs and not begins:
                self.fault(f"{path} may be run and says not by what: chmod -x {path}")

    def documents(self):
        return [p for p in self.files if p.suffix == ".md" and p.name != "CHANGELOG.md"]

    def paths_in_documents(self):
        """Files and folders that documents name are there."""
        named = re.compile(r"(?<![\w/.-])((?:%s)/[\w./*<>{},-]*[\w*>}/])" % "|".join(
            re.escape(f) for f in FOLDERS))
        for path in self.documents():
            for name in sorted(set(named.findall(self.text(path)))):
                plain = re.split(r"[*<{]", name)[0].rstrip("/.")
                if plain == name.rstrip("/.") and not (self.root / plain).exists():
                    if not ELSEWHERE.match(name):
                        self.fault(f"{path}: there is no {name}")

    def options_in_documents(self):
        """Options that documents name exist in a program or script of the tree."""
        known = set(FOREIGN)
        for path in self.files:
            if path.suffix in (".c", ".h", ".py", ".build", ".sh", "") and path.suffix != ".md":
                text = self.text(path)
                known |= set(re.findall(r"--[a-z][a-z0-9-]+", text))
                known |= {"--" + name for name in re.findall(r'"([a-z][a-z0-9-]+)"', text)}
        for path in self.documents():
            named = re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*[a-z0-9](?![\w-])", self.text(path))
            for option in sorted(set(named)):
                if option not in known:
                    self.fault(f"{path}: no program of this tree knows {option}")

    def promises(self):
        """Every promise that the code refers to stands in its document, with what holds it."""
        held = set(re.findall(r"^\| (P\d+) \|.*\|[^|]*\btests/[^|]*\|$",
                              self.text("doc/promises.md"), re.M))
        pending = re.search(r"^Not yet: (.*?)(?:\n\n|\Z)", self.text("doc/promises.md"), re.M | re.S)
        pending = set(re.findall(r"\bP\d+\b", pending[1] if pending else ""))
        for path in self.of_kind(".c", ".h"):
            for name in sorted(set(re.findall(r"\bP\d\d?\b", self.text(path))) - held - pending):
                self.fault(f"{path}: doc/promises.md names no test that holds {name}")

    def layers(self):
        """doc/architecture.md has a row for each layer of the layer test, and no other; the rows say
        what the layer may include. A room of the engine may say "the rooms above"."""
        sys.path.insert(0, str(self.root / "tests/layers"))
        import table  # noqa: E402 (its folder was not known before)
        rows = dict(re.findall(r"^\| `src/([\w/]+)` \|.*\| ([^|]*) \|$", self.text("doc/architecture.md"),
                               re.M))
        known = {name.split("/")[0] for name in table.ALLOWED}
        for name in sorted(set(rows) ^ set(table.ALLOWED)):
            where = "tests/layers/table.py" if name in rows else "doc/architecture.md"
            self.fault(f"{where}: the layer {name} is missing")
        for name in sorted(set(rows) & known):
            may = {layer.split("/")[0] for layer in table.ALLOWED[name]}
            for other in sorted(may ^ known.intersection(re.findall(r"\w+", rows[name]))):
                self.fault(f"doc/architecture.md: whether {name} may include {other} is not as in "
                           "tests/layers/table.py")

    def subjects(self):
        """Commits: "layer: what changes", short. A copy without its history, or with one commit
        that stands for it, has none to look at."""
        done = subprocess.run(["git", "-C", self.root, "log", f"--since={SUBJECTS_SINCE}", "--no-merges",
                               "--format=%h%x00%P%x00%s"], capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            name, parents, subject = line.split("\0")
            if not parents:
                continue
            if len(subject) > SUBJECT_CHARS:
                self.fault(f"commit {name}: {len(subject)} characters in its subject, more than "
                           f"{SUBJECT_CHARS}")
            if not re.match(r"[\w./, -]+: .", subject):
                self.fault(f"commit {name}: a subject is \"layer: what changes\"")

    def unused(self):
        for kind, name in sorted(set(self.exceptions) - self.used):
            self.fault(f"tests/style/exceptions.txt: {kind} {name} is needed no longer")

    def run(self):
        for part in (self.layout, self.lengths, self.executables, self.paths_in_documents,
                     self.options_in_documents, self.promises, self.layers, self.subjects,
                     self.unused):
            part()
        print("\n".join(self.faults) or f"{len(self.files)} files, as they should be")
        return 1 if self.faults else 0


if __name__ == "__main__":
    sys.exit(Check(pathlib.Path(sys.argv[1]).resolve()).run())
