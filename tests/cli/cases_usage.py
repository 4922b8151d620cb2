"""Command lines that are wrong, and those that only ask for words."""
import os
import re
import tempfile

from harness import case, is_plain, on_terminal, tightlink

COMMANDS = ("run", "serve", "demo", "audit", "explain", "why", "why-not", "rules", "schema", "doctor")


def refuses(machine, *arguments, says):
    """A usage error: a sentence, where to read more, nothing on stdout."""
    result = tightlink(machine, *arguments).check(2, says)
    assert result.out == "" and is_plain(result.err), result
    assert result.err.startswith("tightlink: "), result
    return result


@case("usage")
def wrong_values_are_named_with_what_to_write(machine):
    for arguments, says in [
            (("--goal", "banana"), '--goal: "banana" is not a rate; write for instance 900M'),
            (("--goal", "0"), "--goal: .*out of range"),
            (("--goal", "1e400"), "--goal: .*out of range"),
            (("--goal", "-5M"), "--goal: .*out of range"),
            (("--goal", "nan"), "--goal: .*is not a rate"),
            (("--goal", "50M@"), "--goal: .*lacks the round-trip time behind @"),
            (("--goal", "50M@soon"), "--goal: .*is not a time"),
            (("--goal", "9" * 500), "--goal: .*is not a rate"),
            (("--goal", "loss>1e-7"), "--goal: .*is no line of a goal; write loss<1e-7"),
            (("--goal", "1TB in soon"), "--goal: .*is not a time"),
            (("--port", "0"), '--port: "0" is no port; write 1 to 65535'),
            (("--port", "99999"), "--port: .*is no port"),
            (("--port", "x"), "--port: .*is no port"),
            (("--port", ""), "--port: .*is no port"),
            (("--port", "5411x"), "--port: .*is no port"),
            (("--direction", "sideways"), "--direction: .*write download, upload or both"),
            (("--time-budget", "-1"), "--time-budget: .*out of range"),
            (("--time-budget", "1s"), "--time-budget: .*too short .*give 3s or more"),
            (("--data-budget", "7"), "--data-budget: .*too little .*give 100kB or more"),
            (("--disk", "/no/such/directory"), "--disk: /no/such/directory is no directory"),
            (("--disk", "/dev/null"), "--disk: /dev/null is no directory"),
            (("--data-budget", "lots"), "--data-budget: .*is not an amount of data")]:
        result = refuses(machine, "run", "host", "--yes", *arguments, says=says)
        assert "See: tightlink run --help" in result.err, result


@case("usage")
def rules_of_ones_own(machine):
    """They replace and disable by id; what is wrong with them is said and stops nothing."""
    with tempfile.TemporaryDirectory() as config:
        folder = os.path.join(config, "tightlink", "rules")
        os.makedirs(folder)
        environment = {**os.environ, "XDG_CONFIG_HOME": config}
        builtin = tightlink(machine, "rules", "list", env=environment).check(0)
        assert builtin.err == "" and "bufferbloat " in builtin.out, builtin
        with open(os.path.join(folder, "bufferbloat.json"), "w") as file:
            file.write('{"format": "tightlink.rule/1", "id": "bufferbloat", "disabled": true}')
        with open(os.path.join(folder, "deep.json"), "w") as file:
            file.write('{"when": ' * 100)
        with open(os.path.join(folder, "large.json"), "w") as file:
            file.write(" " * (256 * 1024 + 1))
        listed = tightlink(machine, "rules", "list", env=environment).check(0)
        assert "bufferbloat " not in listed.out and "capacity " in listed.out, listed
        assert "rules/large.json: larger than 262144 bytes" in listed.err, listed
        assert "rules/deep.json" in listed.err and "2 faults" in listed.err, listed
        assert "0 replaced, 0 added, 1 disabled" in listed.err and is_plain(listed.err), listed


@case("usage")
def unknown_options_are_named(machine):
    refuses(machine, "run", "host", "--bogus", says="--bogus is no option of run")
    refuses(machine, "run", "-x", "host", says="-x is no option of run")
    refuses(machine, "run", "host", "-xy", says="-x is no option of run")
    refuses(machine, "run", "host", "--goal", says="--goal lacks its value")
    refuses(machine, "run", "host", "--json=yes", says="--json takes no value")
    refuses(machine, "demo", "--bogus", says="--bogus is no option of demo")
    refuses(machine, "explain", "--bogus", "f", says="--bogus is no option of explain")
    refuses(machine, "audit", "--bogus", says="--bogus is no option of audit")
    refuses(machine, "--json", says="--json needs a command before it")
    refuses(machine, "run", "host", "--link", "rate=1M", says="--link is an option of demo")
    for words, says in (("--opne", "--opne is no option; did you mean --open?"),
                        ("--bogus", "--bogus is no option\n"), ("-x", "-x is no option\n"),
                        ("--port", "--port lacks its value"),
                        ("--open=yes", "--open takes no value")):
        result = tightlink(machine, "serve", words).check(2, says)
        assert result.err.startswith("tightlinkd: ") and result.err.endswith(
            "Try: tightlinkd --help\n"), result
    refuses(machine, "history", "--no-pagre", says="--no-pagre is no option of history; did you mean --no-pager\\?")
    for words in (("why", "--jsn"), ("telemetry", "--telemetri"), ("explain", "--sav")):  # others' options
        said = refuses(machine, *words, says=f"{words[1]} is no option of {words[0]}\n")
        assert "did you mean" not in said.err, said
    refuses(machine, "doctor", "now", says="doctor takes no arguments")
    refuses(machine, "schema", "now", says="schema takes no arguments")
    refuses(machine, "rules", "dance", says="write rules list")
    refuses(machine, "why", says="name one saved run")
    refuses(machine, "why", "--bogus", says="--bogus is no option of why")
    listed = refuses(machine, "why-not", "banana", "f", says='no cause is called "banana"')
    assert "receive-window" in listed.err and "bufferbloat" in listed.err, listed
    refuses(machine, "why-not", "policer", says="name one saved run after the cause")


@case("usage")
def demos_that_are_none(machine):
    for arguments, says in [
            (("nosuch",), 'no demo is called "nosuch"; see: tightlink demo list'),
            (("capacity", "loss"), "one name only"),
            (("--port", "99"), "--port is an option of run"),
            (("--link", "rate=banana"), "banana"), (("--link", "colour=red"), "colour"),
            (("--link", "delay=-5ms"), "delay"), (("--link", "loss=200%"), "loss")]:
        refuses(machine, "demo", *arguments, says=says)


@case("usage")
def one_host_is_wanted(machine):
    refuses(machine, "run", "--yes", says="which host")
    refuses(machine, "run", "", "--yes", says="which host")
    refuses(machine, "", says="which host")
    refuses(machine, "run", "one", "two", "--yes", says='one name only, not also "two"')
    refuses(machine, "run", "h" * 300, "--yes", says="at most 253 characters")
    refuses(machine, "explain", says="name one saved run")
    refuses(machine, "explain", "a", "b", says="name one saved run")


@case("usage")
def control_characters_do_not_reach_the_terminal(machine):
    evil = "e\x1b[31mvil\n\u202egnp.\x9b"
    for arguments, code in [
            (("run", evil, "--yes"), 3), (("run", "a", evil), 2), (("run", "a", "--" + evil), 2),
            (("run", "a", "--goal", evil), 2), (("run", "a", "--port", evil), 2),
            (("demo", evil), 2), (("demo", "--link", evil + "=1"), 2), ((evil, "--yes"), 3),
            (("rules", "explain", evil), 2), (("rules", "check", "/" + evil), 2),
            (("explain", evil), 2), (("audit", evil), 2), (("audit", evil, "--yes"), 3), (("-" + evil,), 2)]:
        result = tightlink(machine, *arguments, env={**os.environ, "LANG": "C.UTF-8"})
        assert result.code == code, f"{arguments}: {result}"
        assert is_plain(result.err), f"{arguments}: {result.err!r}"
        assert "vil" in result.err and result.out == "", f"{arguments}: {result}"


@case("usage")
def every_command_has_help(machine):
    for command in COMMANDS:
        result = tightlink(machine, command, "--help").check(0)
        assert result.out.startswith("Usage: tightlink"), result
        assert result.err == "" and result.out.isascii(), result
    overview = tightlink(machine, "--help").check(0, out="Exit codes: 0 ran, 1 a given goal")
    assert all(f"tightlink {command}" in overview.out for command in COMMANDS), overview
    nothing = tightlink(machine).check(2, "Usage:")
    assert nothing.out == "", nothing


@case("usage")
def words_without_a_network(machine):
    tightlink(machine, "--version").check(0, out=r"^tightlink \d+\.\d+\.\d+\n$")
    tightlink(machine, "--version", "--verbose").check(
        0, out=r"^tightlink \d+\.\d+\.\d+\nbuilt with (gcc|clang) [\d.]+, .*; json-c \d.*SQLite \d.*wslay")
    tightlink(machine, "doctor").check(0, out=r"ok +TCP_INFO")
    tightlink(machine, "audit").check(0, out=r"tcp_rmem_max_bytes +\d")
    # A goal that no host misses, one that none meets, and one without a round trip.
    tightlink(machine, "audit", "--goal", "1k@1ms").check(0, out=r"ok +receive buffer")
    tightlink(machine, "audit", "--goal", "900G@900ms").check(1, out=r"imits? first: .*\n.*keeps 94.3 GiB on the way")
    refuses(machine, "audit", "--goal", "900M", says="900M@80ms")
    tightlink(machine, "rules", "list").check(0, out="receive-window")
    tightlink(machine, "rules", "explain", "capacity").check(0, out="capacity")
    tightlink(machine, "demo", "list").check(0, out="satellite-64k")
    tightlink(machine, "serve").check(2, "say --open")


@case("usage")
def a_slip_is_answered_with_what_was_meant(machine):
    for arguments, says in [
            (("hsitory",), "did you mean history\\?"),
            (("trend", "srv-b"), "did you mean history trend\\?"),
            (("help", "trend"), "did you mean history trend\\?"),
            (("run", "h", "--skip", "streems"), "no stage is called \"streems\"; did you mean streams\\?"),
            (("run", "h", "--force", "udp,zzzzzz"), "no stage is called \"zzzzzz\"; there are hosts, path"),
            (("exprot", "x"), "did you mean export\\?"),
            (("history", "--traget", "x"), "did you mean --target\\?"),
            (("run", "--directoin", "up", "h"), "did you mean --direction\\?"),
            (("why-not", "polcer", "x"), "did you mean policer\\?"),
            (("why-not", "receive bufer", "x"), "did you mean receive buffer\\?"),
            (("why-not", "x", "polcer"), "did you mean policer\\?"),
            (("fix", "x", "--dry-run", "--cause", "polcer"), "did you mean policer\\?"),
            (("demo", "satelite-64k"), "did you mean satellite-64k\\?"),
            (("demo", "satelite"), "did you mean satellite-"),
            (("history", "lst"), "did you mean list\\?"), (("--hlep",), "did you mean --help\\?"),
            (("--verison",), "did you mean --version\\?"),
            (("rules", "explain", "recieve-window"), "did you mean receive-window\\?"),
            (("rules", "explain", "recieve buffer"), "did you mean receive buffer\\?"),
            (("rules", "explan", "policer"), "did you mean explain\\?"),
            (("demo", "lsit"), "did you mean list\\?"), (("explain", "lats"), "did you mean last\\?"),
            (("compare", "last", "lsat"), "no run is kept yet"),
            (("explain", "policer"), "a cause: tightlink rules explain policer"),
            (("why", "recieve buffer"), "a cause: tightlink rules explain receive-window")]:
        tightlink(machine, *arguments).check(2, says)
    near, far = (tightlink(machine, "why-not", name, "x") for name in ("polcer", "zzzzzz"))
    assert "shaper-boost" not in near.err and "shaper-boost" in far.err, f"the list of causes:\n{near}"
    tightlink(machine, "rules", "explain", "receive buffer").check(0, out="receive-window")
    tightlink(machine, "help", "export").check(0, out="Examples:\n  tightlink export last")
    tightlink(machine, "help", "exprot").check(2, "did you mean export\\?")


@case("usage")
def a_configuration_is_shown_and_checked(machine):
    sample = tightlink(machine, "config", "--example").check(0, out="system = rt").out
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write("\n".join(line.lstrip("#") if not line.startswith("# ") else line
                             for line in sample.splitlines()))
        file.flush()
        tightlink(machine, "config", "--check", file.name).check(0, out="2 ticket systems")
        said = tightlink(machine, "config", "--check", file.name).check(0, out="1 telemetry system")
        assert re.search("metrics +otlp +https://otel.example.net(:4318)?\n", said.out), said
        file.write("\ncolour = red\n")
        file.flush()
        tightlink(machine, "config", "--check", file.name).check(2, "there are .*token_file")
        for section, says in (("ticket", "rt, redmine, webhook"), ("telemetry", "otlp, prometheus")):
            file.seek(0)
            file.truncate()
            file.write(f"[{section} x]\nsystem = gitlub\n")
            file.flush()
            tightlink(machine, "config", "--check", file.name).check(2, "gitlub.*" + says)
    tightlink(machine, "config", "--check", "/nowhere/t.conf").check(2, "No such file")
    with tempfile.TemporaryDirectory() as folder:
        empty = {"HOME": folder, "XDG_CONFIG_HOME": folder}
        tightlink(machine, "config", "--check", env=empty).check(0, out="is not there; .*--example")
    refuses(machine, "config", says="--example")


@case("usage")
def long_sentences_break_between_words(machine):
    """on a terminal; a path that is longer than a line stays whole, so that it can be copied"""
    path = "/nowhere/" + "x" * 60
    for pager in (("--no-pager",), ("--paginate",)):
        seen, code = on_terminal(machine, *pager, "explain", path, columns=40, TIGHTLINK_PAGER="cat -")
        lines = seen.splitlines()
        assert code == 2 and any(path in line for line in lines), seen
        assert len(lines) > 2 and all(len(line) <= 40 for line in lines if path not in line), seen
    result = tightlink(machine, "explain", path)
    assert result.err.count("\n") == 1, result
    spaced = "/nowhere/of  two spaces"
    assert spaced in tightlink(machine, "explain", spaced).err, "as it is"


@case("usage")
def a_saved_run_is_named_alike_in_every_help(machine):
    """Wherever a run is asked for, a file, one of the history and standard input are taken, and told."""
    for command in ("explain", "why", "why-not", "export", "show", "verify", "fix", "ticket", "telemetry", "compare"):
        said = tightlink(machine, command, "--help").check(0).out
        assert "(last, an id)" in said or "(last, last-1, an id)" in said, f"{command}: {said}"
        assert not [line for line in said.splitlines() if line != line.rstrip()], f"{command}: {said!r}"
    # Names in the examples are those of the sample.
    sample = tightlink(machine, "config", "--example").out
    for command in ("ticket", "telemetry"):
        for name in re.findall(r"--(?:to|telemetry) ([a-z]+)", tightlink(machine, command, "--help").out):
            assert f" {name}]" in sample, f"{command} --to {name}:\n{sample}"


@case("usage")
def a_run_that_is_not_there_is_told_apart_from_a_history_that_cannot_be_opened(machine):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "tightlink"), "w"):
            pass  # a file where the directory should be
        stuck = {**os.environ, "XDG_DATA_HOME": folder}
        homeless = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_DATA_HOME")}
        for env, why in ((stuck, "tightlink"), (homeless, "XDG_DATA_HOME")):
            for words in (("explain", "slow"), ("why", "last"), ("export", "slow"),
                          ("mesh", "a,b", "--own", "slow")):
                said = tightlink(machine, *words, env=env).check(2, "the history cannot be opened: .*" + why)
                assert re.search("(slow|last) is no file", said.err), said
        new = {**os.environ, "XDG_DATA_HOME": os.path.join(folder, "new")}
        tightlink(machine, "history", env=new).check(0, "no run is kept yet; tightlink run HOST keeps one")
        tightlink(machine, "history", "--tag", "x", env=new).check(0, "no run is kept that fits")


@case("usage")
def a_file_of_another_kind_is_told_its_command(machine):
    saved = os.path.join(os.path.dirname(__file__), "data", "receive-window.json")
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "slow.pcap")
        with open(capture, "wb") as file:
            file.write(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
        for words in (("explain", capture), ("show", capture), ("compare", capture, saved),
                      ("history", "import", capture), ("export", capture), ("ticket", capture, "--to", "x")):
            tightlink(machine, *words).check(2, "is a capture: tightlink pcap " + re.escape(capture))
        tightlink(machine, "pcap", saved).check(2, "a saved run is explained by: tightlink explain " + re.escape(saved))
        empty = os.path.join(folder, "empty")
        open(empty, "w").close()
        tightlink(machine, "compare", saved, empty).check(2, re.escape(empty) + " is no saved run")
        tightlink(machine, "pcap", folder).check(2, re.escape(folder) + ": Is a directory")


@case("usage")
def a_file_that_is_there_stays_whatever_is_written(machine):
    with tempfile.TemporaryDirectory() as folder:
        taken, inner = os.path.join(folder, "taken.pcap"), os.path.join(folder, "folder")
        os.mkdir(inner)
        with open(taken, "w") as file:
            file.write("mine")
        for words in (("capture", ":443", "-o", taken), ("key", "lab-1", "-o", taken)):
            tightlink(machine, *words).check(6, "is there already and stays as it is; this name is free: .*taken-2.pcap")
        said = tightlink(machine, "key", "lab-1", "-o", taken)
        assert said.err.index("stays as it is") < said.err.index("is added to a file by hand"), said
        said = tightlink(machine, "key", "lab-1", "-o", inner).check(6, "folder")
        assert "by hand" not in said.err, said
        assert open(taken).read() == "mine"


@case("usage")
def a_command_that_is_none_is_told_so(machine):
    tightlink(machine, "mover", "--", "scpp", "a", "b").check(127, "there is no command scpp")
    tightlink(machine, "mover", "--", "/nowhere/x").check(127, "there is no command /nowhere/x")
    tightlink(machine, "mover", "--", "/etc/passwd").check(126, "/etc/passwd cannot be run: Permission denied")
    if os.geteuid() == 0:
        nobody = {"user": 65534, "group": 65534, "env": {"PATH": os.environ["PATH"]}}
        tightlink(machine, "fix", "--undo", **nobody).check(2, "setting back needs root: sudo tightlink fix --undo")
    said = tightlink(machine, "explain", "last", env={**os.environ, "SUDO_USER": "desk"})
    assert "keeps one" in said.err, said
    if os.geteuid() == 0:
        said.check(2, r"those of desk: tightlink explain last --json \| sudo tightlink fix --dry-run -")
