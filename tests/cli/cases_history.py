"""The history: what is kept, listed, changed, exported and compared, and what happens where it
cannot be kept."""
import json
import os
import re
import signal
import stat

from harness import Daemon, Skip, case, is_plain, on_terminal, start, tightlink, until

QUICK = ("--yes", "--data-budget", "20MB", "--time-budget", "3s")


def home(machine, name):
    """A data directory of its own."""
    path = os.path.join(machine.folder, name)
    os.mkdir(path, 0o755)
    return {**os.environ, "XDG_DATA_HOME": path, "TZ": "UTC"}


def keep_runs(machine, env, count=1, *options):
    with Daemon(machine) as daemon:
        for _ in range(count):
            result = tightlink(machine, "run", "127.0.0.1", "--port", daemon.port, *QUICK, *options,
                               env=env)
            assert result.code in (0, 4), result
    return result


def listed(machine, env, *options):
    result = tightlink(machine, "history", "--json", *options, env=env).check(0)
    document = json.loads(result.out)
    assert document["format"] == "tightlink.history/1"
    return document["runs"]


@case("history")
def a_run_is_kept_and_told_again(machine):
    env = home(machine, "kept")
    keep_runs(machine, env, 2)
    runs = listed(machine, env)
    assert len(runs) == 2 and runs[0]["started"] > runs[1]["started"], runs
    file = os.path.join(env["XDG_DATA_HOME"], "tightlink", "history.sqlite")
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(file)).st_mode) == 0o700
    again = tightlink(machine, "explain", "last", "--json", env=env)
    assert json.loads(again.out)["run"]["id"] == runs[0]["id"]
    text = tightlink(machine, "history", env=env).check(0, out=runs[1]["id"][:8]).out
    assert all(len(line) <= 80 for line in text.splitlines()), text


SAVED = os.path.join(os.path.dirname(__file__), "data", "receive-window.json")


def customers(machine, name, *hosts):
    """Files of runs to these hosts, begun within the same second."""
    with open(SAVED) as file:
        document = json.load(file)
    for number, host in enumerate(hosts):
        document["run"]["id"] = document["run"]["id"][:7] + f"{number}" + document["run"]["id"][8:]
        document["run"]["target"]["name"] = host
        path = os.path.join(machine.folder, f"{name}-{number}.json")
        with open(path, "w") as file:
            json.dump(document, file)
        yield path


@case("history")
def a_customers_file_enters_the_history(machine):
    env = home(machine, "import")
    first, second = customers(machine, "import", "srv-a.example.net", "srv-b.example.net")
    said = tightlink(machine, "history", "import", first, "/nowhere.json", second, env=env)
    said.check(2, "/nowhere.json")  # and the others are in it
    runs = listed(machine, env)
    assert [run["id"] for run in runs] == [line.split()[0] for line in said.out.splitlines()][::-1]
    tightlink(machine, "history", "import", first, env=env).check(0)
    assert len(listed(machine, env)) == 2, "the same run is there once"
    tightlink(machine, "explain", "last", env=env).check(0, out="limits the download")
    env = home(machine, "show-keep")
    tightlink(machine, "show", first, env=env).check(0)
    assert listed(machine, env) == []
    tightlink(machine, "show", "--keep", first, env=env).check(0, out="limits the download")
    assert [run["target"] for run in listed(machine, env)] == ["srv-a.example.net"]
    tightlink(machine, "history", "import", env=env).check(2, "takes files")


@case("history")
def a_list_uses_the_terminal_and_its_ids_can_be_copied(machine):
    long = "a-very-long-name-of-a-server.department.customer.example.net"
    env = home(machine, "wide")
    for path in customers(machine, "wide", "srv-b.example.net", long):
        tightlink(machine, "history", "import", path, env=env).check(0)
    tightlink(machine, "history", "note", "last", "n" * 300, env=env).check(0)
    for columns, shown in ((60, "a-ver….net"), (80, "a-very…le.net"), (110, "a-very-long-"), (200, long)):
        seen, code = on_terminal(machine, "--no-pager", "history", columns=columns, **env)
        lines = seen.splitlines()
        assert code == 0 and len(lines) == 4 and shown in lines[1], (columns, seen)
        assert columns < 80 or all(len(line) <= columns for line in lines), (columns, seen)
        for line in (lines[1], lines[3]):
            run = json.loads(tightlink(machine, "explain", line.split()[0], "--json", env=env).out)
            assert run["run"]["id"].startswith(line.split()[0])
    whole = tightlink(machine, "history", env=env).check(0).out
    assert long in whole and "n" * 300 in whole, "a program reads names and notes whole"


@case("history")
def no_history_keeps_nothing(machine):
    env = home(machine, "none")
    keep_runs(machine, env, 1, "--no-history")
    assert listed(machine, env) == []
    tightlink(machine, "history", env=env).check(0, "no run is kept")


@case("history")
def notes_tags_and_pruning(machine):
    env = home(machine, "tags")
    keep_runs(machine, env, 3)
    tightlink(machine, "history", "tag", "last-2", "before", env=env).check(0)
    tightlink(machine, "history", "note", "last", "a \N{SNOWMAN}", env=env).check(0)
    runs = listed(machine, env)
    assert runs[2]["tags"] == "before" and runs[0]["note"] == "a \N{SNOWMAN}", runs
    assert [run["id"] for run in listed(machine, env, "--tag", "before")] == [runs[2]["id"]]
    tightlink(machine, "history", "prune", "--keep", "1", env=env).check(0, "deleted 1 run")
    tightlink(machine, "history", "untag", "last-1", "before", env=env).check(0)
    tightlink(machine, "history", "prune", "--keep", "1", env=env).check(0, "deleted 1 run")
    tightlink(machine, "history", "delete", "last", env=env).check(0, "deleted the run")
    assert listed(machine, env) == []


@case("history")
def an_export_is_masked_unless_told_otherwise(machine):
    env = home(machine, "export")
    with Daemon(machine) as daemon:
        # 20 MB are through before a busy machine takes the first reading.
        tightlink(machine, "run", "localhost", "--port", daemon.port, "--yes", "--data-budget", "2GB",
                  "--time-budget", "3s", env=env)
    name = os.uname().nodename
    masked = tightlink(machine, "history", "export", env=env).check(0, "masked")
    assert json.loads(masked.out)["format"] == "tightlink.findings/1"
    path = os.path.join(machine.folder, "out.jsonl")
    tightlink(machine, "history", "export", "--unmask", "--out", path, env=env).check(0)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with open(path) as file:
        lines = file.read().splitlines()
    assert len(lines) == 1 and json.loads(lines[0])["run"]["target"]["name"] == "localhost"
    assert "samples" in json.loads(lines[0]), "the readings of the run are kept with it"
    tightlink(machine, "history", "export", "--out", path, env=env).check(
        6, "is there already and stays as it is; this name is free: .*out-2.jsonl")
    dash = tightlink(machine, "history", "export", "--unmask", "--out", "-", env=env).check(0)
    assert dash.out.splitlines() == lines and not os.path.exists("-"), "- is standard output"
    one = tightlink(machine, "export", "last", "--format", "json-lines", "-o", "-", env=env)
    assert json.loads(one.check(0).out)["format"] == "tightlink.findings/1", one
    assert not os.path.exists("-")
    assert " lab-1 " in f" {tightlink(machine, 'key', 'lab-1', '-o', '-').check(0).out}"
    tightlink(machine, "run", "127.0.0.1", "--save", "-", env=env).check(2, "a bundle is a file")
    tightlink(machine, "capture", ":443", "-o", "-").check(2, "a capture is a file")
    assert len(name) < 4 or name not in masked.out, "this machine's name left"


@case("history")
def two_runs_are_compared(machine):
    env = home(machine, "compare")
    keep_runs(machine, env, 2)
    result = tightlink(machine, "compare", "last-1", "last", env=env).check(0, out="Compare 127.0.0.1")
    assert "beyond noise" in result.out and is_plain(result.out), result
    document = json.loads(tightlink(machine, "compare", "last-1", "last", "--json", env=env).out)
    assert document["format"] == "tightlink.comparison/1" and document["same_target"], document
    tightlink(machine, "compare", "last", env=env).check(2, "name two runs")
    tightlink(machine, "explain", "last-9", env=env).check(2, "no run is kept that is as old as last-9")
    nothing = home(machine, "nothing-kept")
    said = tightlink(machine, "explain", "last", env=nothing).check(2, "no run is kept yet")
    assert "did you mean" not in said.err, said
    tightlink(machine, "compare", "last", "nothing", env=env).check(2, "neither a file nor a run")


@case("history")
def a_rate_is_told_alike_in_list_trend_and_comparison(machine):
    env = home(machine, "alike")
    for path in customers(machine, "alike", "srv-b.example.net", "srv-b.example.net"):
        tightlink(machine, "history", "import", path, env=env).check(0)
    said = tightlink(machine, "compare", "last-1", "last", env=env).check(0).out
    rates = re.search(r"\none stream +(\S+ [kMG]b/s) +(\S+ [kMG]b/s)", said)
    assert rates, said
    lines = tightlink(machine, "history", env=env).check(0).out.splitlines()
    assert f" {rates[2]} " in lines[1] and f" {rates[1]} " in lines[2], (rates, lines)
    of = ("history", "trend", "--target", "srv-b.example.net")
    said = tightlink(machine, *of, env=env).check(0).out
    assert "2 runs of one stream, download" in said and f"newest {rates[2]}" in said, said
    assert re.search(r"download, 20\d\d-\d\d-\d\d: median", said), "the one day stands once"
    tightlink(machine, *of, "--direction", "upload", env=env).check(0, "no run is kept that fits")
    tightlink(machine, "history", "delete", "last-1", env=env).check(0)
    said = tightlink(machine, *of, env=env).check(0).out
    assert re.match(rf"1 run of one stream, download, \S+ {rates[2]}\n", said), said


@case("history")
def wrong_words_are_named(machine):
    env = home(machine, "wrong")
    for words, says in (((("nonsense",), "does not know")), (("note", "last"), "run and a text"),
                        (("list", "more"), "no further words"), (("prune",), "needs --before"),
                        (("--since", "yesterday"), "is no moment"), (("--limit", "x"), "is no number"),
                        (("--wrong",), "is no option"), (("trend", "srv-b"), "far end as --target"), (("trend",), "needs --target")):
        tightlink(machine, "history", *words, env=env).check(2, says)
    tightlink(machine, "history", "delete", "last", env=env).check(2, "not so many runs")
    tightlink(machine, "history", "--cause", "polcer", env=env).check(0, "did you mean policer\\?")
    tightlink(machine, "history", "--cause", "policer", env=env).check(0, "no run is kept that fits")


@case("history")
def a_run_goes_on_where_nothing_can_be_kept(machine):
    env = home(machine, "stuck")
    with open(os.path.join(env["XDG_DATA_HOME"], "tightlink"), "w"):
        pass  # a file where the directory should be
    result = keep_runs(machine, env)
    assert result.err.count("not in the history") == 1 and result.out, result
    env.pop("XDG_DATA_HOME")
    env.pop("HOME", None)
    result = keep_runs(machine, env)
    assert result.err.count("not in the history") == 1 and "HOME" in result.err, result


@case("history")
def a_newer_and_a_damaged_history(machine):
    env = home(machine, "damaged")
    file = os.path.join(env["XDG_DATA_HOME"], "tightlink", "history.sqlite")
    os.makedirs(os.path.dirname(file))
    with open(file, "wb") as out:
        out.write(b"no database " * 1000)
    result = keep_runs(machine, env)
    assert result.err.count("was damaged") == 1, result
    assert len(listed(machine, env)) == 1
    with open(file, "r+b") as out:
        out.seek(60)  # user_version, in the header of the file
        out.write((99).to_bytes(4, "big"))
    result = keep_runs(machine, env)
    assert result.err.count("not in the history") == 1 and "newer" in result.err, result
    tightlink(machine, "history", env=env).check(6, "newer tightlink")


@case("history")
def a_full_disk_is_one_sentence(machine):
    if os.geteuid() != 0:
        raise Skip("a small file system needs root")
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    env = home(machine, "full")
    if libc.unshare(0x00020000) != 0 or \
            libc.mount(b"none", b"/", None, 0x40000 | 0x4000, None) != 0 or \
            libc.mount(b"none", env["XDG_DATA_HOME"].encode(), b"tmpfs", 0, b"size=128k") != 0:
        raise Skip("no mount namespace is permitted here")
    result = keep_runs(machine, env, 3)
    assert result.err.count("disk is full") == 1 and result.out, result
    libc.umount(env["XDG_DATA_HOME"].encode())


def measures(child):
    """Whether a connection is open: a run is under way."""
    folder = "/proc/%d/fd" % child.popen.pid
    try:
        return any("socket:" in os.readlink(os.path.join(folder, name))
                   for name in os.listdir(folder))
    except FileNotFoundError:
        return child.popen.poll() is not None


def send_while(child, moment, number):
    """Sends a signal at a moment that lasts for milliseconds: it is looked for while the program is
    stopped, and the program finds the signal when it goes on. True once that was done."""
    child.send(signal.SIGSTOP)
    found = moment(child)
    if found:
        child.send(number)
    child.send(signal.SIGCONT)
    return found


@case("history")
def every_one_of_repeated_runs_hears_an_interrupt(machine):
    env = home(machine, "interrupt")
    with Daemon(machine) as daemon:
        child = start(machine, "run", "127.0.0.1", "--port", daemon.port, *QUICK, "--repeat", "3s",
                      env=env)
        until(40, lambda: listed(machine, env), "the first run")
        until(20, lambda: send_while(child, measures, signal.SIGINT), "the second run")
        result = child.result()
    assert result.code == 130 and len(listed(machine, env)) <= 2, result


@case("history")
def a_comparison_hears_an_interrupt_and_tells_what_it_has(machine):
    env = home(machine, "beside")
    with Daemon(machine) as daemon:
        for number, (ends, moment) in enumerate((
                (signal.SIGINT, lambda child: True), (signal.SIGTERM, lambda child: True),
                (signal.SIGHUP, measures), (signal.SIGINT, measures))):
            errors = os.path.join(machine.folder, f"beside-{number}")
            with open(errors, "w+") as err:
                child = start(machine, "run", "127.0.0.1", "--port", daemon.port, *QUICK,
                              "--compare", "127.0.0.1", env=env, stderr=err)
                until(40, lambda: "beside it:" in open(errors).read(), "the first turn beside it")
                until(20, lambda: send_while(child, moment, ends), "its connection")
                result = child.result()
            assert result.code == 130 and "Beside one another" in result.out, (ends, result)
            assert len(listed(machine, env)) == number + 1, (ends, result)


@case("history")
def repeated_runs_end_with_a_signal_and_raise_an_alarm(machine):
    env = home(machine, "repeat")
    tightlink(machine, "run", "localhost", "--repeat", "1h", env=env).check(2, "needs --yes")
    tightlink(machine, "run", "localhost", "--alarm", "--no-history", env=env).check(2, "--alarm")
    with Daemon(machine) as daemon:
        child = start(machine, "run", "127.0.0.1", "--port", daemon.port, *QUICK, "--repeat", "3s",
                      env=env)
        until(40, lambda: len(listed(machine, env)) >= 2 or child.popen.poll() is not None,
              "two runs")
        child.send(signal.SIGTERM)
        result = child.result()
    assert result.code == 130 and len(listed(machine, env)) >= 2, result
    assert "verdict moved" not in result.err, result
