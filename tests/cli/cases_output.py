"""Where results go: JSON, text, full disks, closed pipes; and reading them back."""
import json
import os
import re
import shutil
import tempfile

from harness import (Daemon, Process, case, is_plain, json_lines, tightlink, validate)

SAVED = {}


def arguments(port, *more):
    """At the 50 Mb/s of the responders here a stream of a second and a half."""
    return ("run", "127.0.0.1", "--port", port, "--yes", "--data-budget", "8MB", *more)


def saved_run(machine):
    """The JSON of one run, made once."""
    if "text" not in SAVED:
        with Daemon(machine, "--rate-cap", "50M") as daemon:
            result = tightlink(machine, *arguments(daemon.port, "--json", "--data-budget", "60MB",
                                                    "--time-budget", "5s"))
        assert result.code in (0, 4), result
        SAVED["text"] = result.out
    return SAVED["text"]


class Folder:
    """An empty home; removed afterwards."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="tightlink-home-")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def file(self, name, content):
        path = os.path.join(self.path, name)
        with open(path, "wb" if isinstance(content, bytes) else "w") as file:
            file.write(content)
        return path

    def environment(self):
        return {**os.environ, "HOME": self.path, "XDG_STATE_HOME": self.path}


@case("output")
def json_validates(machine):
    document = json.loads(saved_run(machine))
    validate(machine, document)
    assert document["run"]["target"]["kind"] == "tightlink", document["run"]


@case("output")
def json_lines_end_with_the_document(machine):
    with Daemon(machine, "--rate-cap", "50M") as daemon:
        result = tightlink(machine, *arguments(daemon.port, "--json-lines"))
    events, document = json_lines(result)
    kinds = [event["event"] for event in events]
    assert kinds[-1] == "done" and "stage-start" in kinds and "live" in kinds, kinds
    times = [event["time_ns"] for event in events]
    assert times == sorted(times), times
    assert result.err == "", result
    validate(machine, document)


@case("output")
def explain_says_the_same(machine):
    with Folder() as home:
        path = home.file("run.json", saved_run(machine))
        again = tightlink(machine, "explain", path, "--json")
        text = tightlink(machine, "explain", path)
        with open(path, "rb") as file:
            piped = tightlink(machine, "explain", "-", "--json", stdin=file)
    first, second = json.loads(saved_run(machine)), again.document()
    validate(machine, second)
    for key in ("state", "cause", "segment", "direction", "sentence"):
        assert first["verdict"].get(key) == second["verdict"].get(key), (first, second)
    assert second == piped.document(), "standard input is judged otherwise"
    assert first["run"]["id"] in text.out and text.code == again.code, text


@case("output")
def goals_are_judged_line_by_line(machine):
    """The goal of a saved run is changed, so that no traffic is needed for each."""
    def judged(home, **goal):
        document = json.loads(saved_run(machine))
        document["run"]["goal"] = goal
        path = home.file("goal.json", json.dumps(document))
        again = tightlink(machine, "explain", path, "--json")
        validate(machine, again.document())
        lines = {line["name"]: line for line in again.document()["run"]["goal"]["lines"]}
        return again.code, lines, tightlink(machine, "explain", path).out

    with Folder() as home:
        code, lines, text = judged(home, rtt_max_ns=1)
        assert code == 1 and lines["rtt"]["answer"] == "fail", (code, lines)
        assert "FAIL: below 1 ns wanted" in text, text
        code, lines, text = judged(home, loss_ratio=1e-9)
        assert code in (1, 4) and lines["loss"]["answer"] != "pass", (code, lines)
        _, lines, _ = judged(home, rate_bps=1e6, rtt_ns=80000000)
        assert set(lines) == {"rate", "loss-budget", "buffers"}, lines
        assert lines["rate"]["answer"] == "pass", lines


@case("output")
def why_tells_the_trace(machine):
    with Folder() as home:
        path = home.file("run.json", saved_run(machine))
        why = tightlink(machine, "why", path).check(0, out="The rungs, lowest first")
        verdict = json.loads(saved_run(machine))["verdict"]
        assert f'{verdict["direction"]}: {verdict["state"]}' in why.out, why
        kept = os.path.join(os.path.dirname(__file__), "data", "receive-window.json")
        why_not = tightlink(machine, "why-not", "reordering", kept)
        why_not.check(0, out=r"the stage\s+stream\s+measures it")
        tightlink(machine, "why", path + ".no").check(2, "No such file")
        assert tightlink(machine, "why-not", kept, "reordering").out == why_not.out
        tightlink(machine, "why-not", "policer", __file__).check(2, "is no saved run")


def kept_file(result, home):
    match = re.search(r"the run is kept in (\S+); print it with: tightlink explain", result.err)
    assert match and match[1].startswith(home.path), result
    assert os.stat(match[1]).st_mode & 0o777 == 0o600, oct(os.stat(match[1]).st_mode)
    return match[1]


def kept_run(result):
    match = re.search(r"it is in the history: tightlink explain (\S+)", result.err)
    assert match, result
    return match[1]


@case("output")
def full_disk(machine):
    for form in ((), ("--json",), ("--json-lines",)):
        with Folder() as home, Daemon(machine, "--rate-cap", "50M") as daemon:
            with open("/dev/full", "w") as full:
                result = tightlink(machine, *arguments(daemon.port, *form), stdout=full,
                                   env=home.environment())
            result.check(6, "writing the result failed: No space left on device")
            path = kept_run(result)
            again = tightlink(machine, "explain", path, "--json", env=home.environment())
            assert again.code in (0, 4), again
            validate(machine, again.document())


@case("output")
def reader_that_went_away(machine):
    with Folder() as home, Daemon(machine, "--rate-cap", "50M") as daemon:
        read, write = os.pipe()
        os.close(read)
        result = tightlink(machine, *arguments(daemon.port), stdout=write,
                           env=home.environment())
        os.close(write)
        assert result.code in (0, 1, 4) and "failed" not in result.err, result
        tightlink(machine, "explain", "last", env=home.environment()).check(result.code)
        read, write = os.pipe()
        os.close(read)
        result = tightlink(machine, *arguments(daemon.port, "--no-history"), stdout=write,
                           env=home.environment())
        os.close(write)
        result.check(6, "writing the result failed: Broken pipe")
        tightlink(machine, "explain", kept_file(result, home), "--json")
        for words in (("help",), ("rules", "list"), ("demo", "list"), ("schema",)):
            read, write = os.pipe()
            os.close(read)
            quiet = tightlink(machine, *words, stdout=write)
            os.close(write)
            assert quiet.code == 0 and not quiet.err, quiet


def without_reader(machine, *words, **options):
    read, write = os.pipe()
    os.close(read)
    result = tightlink(machine, *words, stdout=write, **options)
    os.close(write)
    return result


@case("output")
def a_saved_run_that_nobody_reads_ends_quietly(machine):
    """It is in its file already: no other one is made of it, whatever becomes of the output."""
    with Folder() as home:
        path = home.file("run.json", saved_run(machine))
        env = {**home.environment(), "XDG_DATA_HOME": home.path}
        before = sorted(os.listdir(home.path))
        for words in (("explain", path), ("explain", path, "--json"), ("show", path), ("why", path),
                      ("export", path, "--preview"), ("fix", "--dry-run", path, "--other-host"),
                      ("history", "import", path), ("history", "export"), ("config", "--example")):
            quiet = without_reader(machine, *words, env=env)
            assert quiet.code in (0, 1, 4), f"{words}: {quiet}"
            assert "writing" not in quiet.err and "kept in" not in quiet.err, f"{words}: {quiet}"
        for words in (("explain", path), ("show", path, "--full")):
            with open("/dev/full", "w") as full:
                said = tightlink(machine, *words, stdout=full, env=env)
            said.check(6, "writing the result failed: No space left on device\n$")
        assert sorted(os.listdir(home.path)) in (before, sorted([*before, "tightlink"])), os.listdir(home.path)


@case("output")
def head_of_many_lines(machine):
    """A reader that takes one line and leaves, in the middle of the run."""
    with Folder() as home, Daemon(machine, "--rate-cap", "50M") as daemon:
        words = " ".join(map(str, arguments(daemon.port, "--json-lines")))
        piped = Process(["sh", "-c", f"{machine.tightlink} {words} | head -1"],
                        env=home.environment()).result(30)
        assert piped.code == 0 and "failed" not in piped.err, piped
        assert piped.out.startswith('{"event"'), piped


@case("output")
def closed_descriptors(machine):
    """No socket may take the place of a closed standard output."""
    with Folder() as home, Daemon(machine, "--rate-cap", "50M") as daemon:
        words = " ".join(map(str, arguments(daemon.port, "--json")))
        result = Process(["sh", "-c", f"{machine.tightlink} {words} >&-"],
                         env=home.environment()).result(30)
        result.check(6, "writing the result failed: Bad file descriptor")
        kept_run(result)
        quiet = Process(["sh", "-c", f"{machine.tightlink} {words} <&- 2>&-"]).result(30)
        validate(machine, quiet.document())


@case("output")
def kept_elsewhere_where_home_takes_nothing(machine):
    with Folder() as home:
        path = home.file("run.json", saved_run(machine))
        with open("/dev/full", "w") as full, open(path, "rb") as file:
            result = tightlink(machine, "explain", "-", stdin=file, stdout=full,
                               env={"HOME": "/dev/null", "TMPDIR": home.path})
        result.check(6, "writing the result failed")
        kept_file(result, home)


@case("output")
def full_disk_for_words(machine):
    for words in (("--help",), ("--version",), ("run", "--help"), ("demo", "list"), ("doctor",),
                  ("audit",), ("audit", "--json"), ("rules", "list"), ("schema",), ("key", "lab-1"),
                  ("rules", "explain", "capacity"), ("serve", "--help"), ("serve", "--version")):
        with open("/dev/full", "w") as full:
            result = tightlink(machine, *words, stdout=full)
        result.check(1 if words[0] == "serve" else 6,
                     "writing the (output|schema|key) failed: No space left on device")


@case("output")
def files_that_are_no_saved_run(machine):
    whole = saved_run(machine)
    deep = "[" * 100000
    with Folder() as home:
        link = os.path.join(home.path, "missing.json")
        for name, content, says in [
                ("empty", "", "is no saved run: "), ("cut", whole[:len(whole) // 2], "is no saved"),
                ("last brace", whole.rstrip()[:-1], "is no saved run"),
                ("noise", os.urandom(100000), "is no saved run"),
                ("list", "[]", "is no saved run"), ("deep", deep, "is no saved run"),
                ("two", whole + whole, "is no saved run"),
                ("twice", whole.replace('"run"', '"run": {}, "run"', 1), "is no saved run"),
                ("numbers", whole.replace('"duration_ns": ', '"duration_ns": 1e400', 1), "no saved"),
                ("newer", whole.replace("findings/1", "findings/2"), "by a newer one"),
                ("other", '{"format": "trace/3"}', "is in another format"),
                ("huge", b" " * (9 << 20), "larger than 8 MiB")]:
            path = home.file(name, content)
            result = tightlink(machine, "explain", path).check(2, re.escape(path), says)
            assert result.out == "" and is_plain(result.err), result
            assert len(result.err) < 1000, result
        tightlink(machine, "explain", home.path).check(2, "Is a directory", "run --json")
        tightlink(machine, "explain", link).check(2, "No such file", "run --json")
        tightlink(machine, "explain", "/dev/zero").check(2, "larger than 8 MiB")
        tightlink(machine, "explain", "-").check(2, "-")


@case("output")
def hostile_texts_in_a_saved_run(machine):
    document = json.loads(saved_run(machine))
    evil = "\x1b]0;owned\x07\x1b[2Jname\u202e\u200b\nline"
    document["run"]["target"]["name"] = evil
    document["run"]["tool_version"] = evil[:30]
    document["run"]["quality"] = {"status": "degraded", "reasons": [evil, "x" * 250]}
    for stage in document["stages"]:
        stage["reason"] = evil
    for fact in document["facts"].values():
        if fact.get("unit") == "text" and fact["state"] == "known":
            fact["value"] = evil
        elif fact["state"] == "unknown":
            fact["reason"] = evil
    with Folder() as home:
        path = home.file("hostile.json", json.dumps(document))
        for language in ("C", "C.UTF-8"):
            result = tightlink(machine, "explain", path, env={**os.environ, "LC_ALL": language})
            assert result.code in (0, 4), result
            assert is_plain(result.out) and "owned" in result.out, result
            assert language != "C" or result.out.isascii(), result
        again = tightlink(machine, "explain", path, "--json").document()
    validate(machine, again)


@case("output")
def plain_ascii_without_a_utf8_locale(machine):
    with Folder() as home:
        path = home.file("run.json", saved_run(machine))
        for environment in ({"LC_ALL": "C"}, {"LANG": "C", "TERM": "dumb"}, {}):
            result = tightlink(machine, "explain", path, env=environment)
            assert result.out.isascii() and result.err == "", result
        for words in (("doctor",), ("audit",), ("rules", "list"), ("demo", "list")):
            assert tightlink(machine, *words, env={"LC_ALL": "C"}).out.isascii(), words
        fancy = tightlink(machine, "explain", path, env={"LC_ALL": "C.UTF-8"})
        assert "─" in fancy.out and "\x1b" not in fancy.out, fancy


@case("output")
def what_others_sent_is_kept_and_nothing_is_overwritten(machine):
    with Folder() as home:
        path = home.file("run.json", saved_run(machine))
        env = {**home.environment(), "XDG_DATA_HOME": home.path}
        tightlink(machine, "history", "import", path, env=env).check(0, out="run.json")
        shown = tightlink(machine, "explain", "last", "--json", env=env)
        assert shown.document()["run"]["id"] == json.loads(saved_run(machine))["run"]["id"]
        tightlink(machine, "history", "import", __file__, env=env).check(2, "is no saved run")
        tightlink(machine, "show", path, "--keep", env=env)
        assert len(json.loads(tightlink(machine, "history", "--json", env=env).out)["runs"]) == 1
        out = os.path.join(home.path, "report.html")
        tightlink(machine, "export", path, "-o", out, env=env).check(0)
        before = os.stat(out).st_mtime_ns
        tightlink(machine, "export", path, "-o", out, env=env).check(6, "free: .*report-2.html")
        assert os.stat(out).st_mtime_ns == before, "it was overwritten"


MASK = r"\b(?:ip4|ip6|mac|host|ssid|user|path)-[0-9a-f]{6,}\b"


def masks_of(result, env):
    """What stands for what, as the file that stderr names has it: mask -> value."""
    said = re.search(r"(\d+) names? (?:and|or) address\w* (?:is|are) masked; what stands for what is in (\S+), ",
                     result.err)
    assert said and said[2].startswith(env["XDG_STATE_HOME"]), result
    assert os.stat(said[2]).st_mode & 0o777 == 0o600
    with open(said[2]) as file:
        masks = {mask["mask"]: mask["value"] for mask in json.load(file)["masks"] if mask["count"]}
    assert len(masks) == int(said[1]), (said[1], masks)
    return masks


@case("output")
def the_masks_that_are_counted_and_kept_are_those_of_this_export(machine):
    document = json.loads(saved_run(machine))
    document["run"]["target"]["name"] = "srv-b.example.net"
    document["findings"] = []
    with Folder() as home:
        path = home.file("run.json", json.dumps(document))
        env = {**home.environment(), "XDG_DATA_HOME": home.path}
        for ending in ("txt", "md", "html", "json", "jsonl", "tightlink"):
            out = os.path.join(home.path, "report." + ending)
            masks = masks_of(tightlink(machine, "export", path, "-o", out, env=env).check(0), env)
            if ending == "tightlink":
                text = tightlink(machine, "explain", out, "--json", env=env).out
            else:
                text = open(out).read()
            assert set(re.findall(MASK, text)) == set(masks), (ending, masks)
            assert "srv-b.example.net" in masks.values(), (ending, masks)
        tightlink(machine, "history", "import", path, env=env).check(0)
        for options in ((), ("--site-masks",), ("--site-masks",)):
            exported = tightlink(machine, "history", "export", *options, env=env).check(0, "1 run written")
            masks = masks_of(exported, env)
            assert set(re.findall(MASK, exported.out)) == set(masks), masks
            if options:
                SAVED.setdefault("site", masks)
                assert SAVED["site"] == masks, "the same masks in each export of this site"
