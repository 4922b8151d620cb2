"""Commands that documents name can be typed as they stand: the command is there and takes these
options, the build folder is one that our scripts make, the target, suite or script exists.

    test_documents.py TIGHTLINK TIGHTLINKD SOURCE-ROOT
"""
import pathlib
import re
import shlex
import subprocess
import sys

# Folders that scripts/run and scripts/test build in; packages and others build where they like.
BUILDS = {"build/release", "build/test", "build/sanitize", "build/threads"}
PROGRAMS = r"scripts/(?:run|test)|tightlinkd?|ninja|meson|packaging/build-\w+|tests/[\w/]+\.py"
COMMAND = re.compile(rf"^(?:\$ |# )?(?:sudo )?((?:{PROGRAMS})(?: .*)?)$")


def help_of(*words):
    return subprocess.run([*words, "--help"], check=True, capture_output=True, text=True).stdout


def options_of(text):
    return set(re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*|-[A-Za-z])(?![\w-])", text))


def commands_of(text):
    """Commands in a document: indented or fenced lines, and what stands alone between backquotes."""
    text = re.sub(r"\\\n\s*", " ", text)
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        if fenced or line.startswith("    "):
            yield re.split(r"\s{2,}#? ?|\s+# ", line.strip())[0]
    for words in re.findall(r"`([^`\n]+)`", text):
        yield words


class Programs:
    def __init__(self, tightlink, tightlinkd, root):
        self.tightlink, self.root = tightlink, root
        overview = help_of(tightlink)
        self.commands = set(re.findall(r"^  tightlink ([a-z][a-z-]*) ", overview, re.M))
        assert len(self.commands) > 10, overview
        self.everywhere = options_of(overview) | {"-h", "--version", "--verbose"}
        self.responder = options_of(help_of(tightlinkd))
        self.known = {}
        said = "".join(build.read_text() for build in root.rglob("meson.build"))
        names = set(re.findall(r"'([\w-]+)'", said))
        made = set(re.findall(r"(?:target|test)\('([\w-]+)' *\+", said))  # 'real-' + system
        self.targets = names | {prefix + name for prefix in made for name in names}

    def takes(self, command):
        if command == "serve":
            return self.responder
        if command not in self.known:
            self.known[command] = options_of(help_of(self.tightlink, command)) | self.everywhere
        return self.known[command]

    def of_tightlink(self, words):
        if "--" in words:
            words = words[:words.index("--")]
        named = [w for w in words if not w.startswith("-")]
        command = named[0] if named else ""
        takes = self.takes(command) if command in self.commands else self.everywhere
        return [w.split("=")[0] for w in words
                if w.startswith("-") and w != "-" and w.split("=")[0] not in takes]

    def of_build(self, program, words):
        """What is wrong with a line of ninja or meson, as words."""
        if program == "meson" and (words[:1] == ["setup"] or words in (["dist"], ["install"])):
            return []
        where = words[words.index("-C") + 1] if "-C" in words[:-1] else None
        wrong = [] if where in BUILDS or (where == "build" and words[:1] == ["install"]) else [f"-C {where}"]
        names = [w for w in words if re.fullmatch(r"[a-z][\w-]*", w) and w not in (where, "test", "install")]
        return wrong + [name for name in names if name not in self.targets]

    def wrong(self, line):
        """The words of a line that its programs do not take; each of a pipe is looked at."""
        found, words = [], []
        for word in [*shlex.split(line, comments=True), "|"]:
            if word in ("|", "&&", ";"):
                found += self.of_command(words)
                words = []
            elif word != "sudo":
                words.append(word)
        return found

    def of_command(self, words):
        program, *words = words
        words = [w for w in words if w not in (">", "<")]
        if program in ("tightlink", "scripts/run"):
            return self.of_tightlink(words)
        if program == "tightlinkd":
            return [w.split("=")[0] for w in words
                    if w.startswith("-") and w.split("=")[0] not in self.responder]
        if program in ("ninja", "meson"):
            return self.of_build(program, words)
        script = self.root / program
        if "/" not in program:  # another's, behind a pipe
            return []
        if not script.is_file():
            return [program]
        return [w for w in words if w.startswith("--") and w.split("=")[0] not in script.read_text()]


def main():
    tightlink, tightlinkd, root = sys.argv[1:]
    root = pathlib.Path(root)
    programs, looked_at, faults = Programs(tightlink, tightlinkd, root), 0, []
    documents = [*root.glob("*.md"), *root.glob("doc/*.md"), *root.glob("packaging/*.md"),
                 *root.glob(".github/*.md")]
    for document in documents:
        if document.name == "CHANGELOG.md":
            continue
        for text in commands_of(document.read_text()):
            command = COMMAND.match(text)
            if not command or "[" in text or "..." in text:
                continue
            looked_at += 1
            try:
                wrong = programs.wrong(command[1])
            except ValueError as error:
                wrong = [str(error)]
            if wrong:
                faults.append(f"{document.relative_to(root)}: {command[1]}: {', '.join(wrong)}")
    print("\n".join(faults))
    print(f"{looked_at} commands in {len(documents)} documents, {len(faults)} cannot be typed as they stand")
    assert looked_at > 100
    sys.exit(bool(faults))


main()
