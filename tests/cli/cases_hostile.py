"""Files and names made to steer a terminal (promise P12): every command that shows what a file or a
far end said, in every form that it has, shows none of it as it is."""
import json
import os
import re
import subprocess

from harness import case, is_plain, is_sanitized, tightlink

# OSC 52 (the clipboard), C1 (CSI), right-to-left override, a zero-width space, a tag character.
STEER = "\x1b]52;c;ZXZpbA==\x07\x9b31m\u202eevil\u200b\U000e0041"
TICKETS = """[ticket desk]
system = webhook
url = https://127.0.0.1:9/hook
token_file = {secret}
"""


def poisoned(value, key=""):
    """The document with every free text of it made hostile; what has a closed list of words, or a
    form, stays as it is, so that the file is read."""
    if isinstance(value, dict):
        return {name: poisoned(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [poisoned(inner, key) for inner in value]
    if isinstance(value, str) and key in ("name", "sentence", "reason", "reasons", "title", "say",
                                          "value", "text", "do", "why", "risk", "undo", "persist",
                                          "complaint", "confidence_reasons", "send_to", "note",
                                          "would_change", "standing", "method"):
        return value + STEER
    return value


def facts_with_names(document):
    """Every text fact is the name of a thing; the system's name decides which remedies are given."""
    for name, fact in document["facts"].items():
        if isinstance(fact.get("value"), str) and not name.endswith(".os"):
            fact["value"] = fact["value"].removesuffix(STEER) + STEER
    return document


PLAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "receive-window.json")


def hostile_run(machine):
    with open(PLAIN) as file:
        document = facts_with_names(poisoned(json.load(file)))
    path = os.path.join(machine.folder, "hostile" + STEER.replace("/", "") + ".json")
    with open(path, "w") as file:
        json.dump(document, file)
    return path


def check_plain(result, what):
    for stream, text in (("stdout", result.out), ("stderr", result.err)):
        for line in text.splitlines():
            assert is_plain(line) and "\u200b" not in line and "\u202e" not in line, \
                f"{what}: {stream} steers the terminal: {line!r}"


@case("output")
def no_command_lets_a_file_steer_the_terminal(machine):
    path = hostile_run(machine)
    env = {**os.environ, "LANG": "C.UTF-8",
           "XDG_STATE_HOME": os.path.join(machine.folder, "state"),
           "XDG_CONFIG_HOME": os.path.join(machine.folder, "conf")}
    os.makedirs(os.path.join(env["XDG_CONFIG_HOME"], "tightlink"), exist_ok=True)
    secret = os.path.join(machine.folder, "secret")
    with open(secret, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write("not a secret\n")
    with open(os.path.join(env["XDG_CONFIG_HOME"], "tightlink", "tightlink.conf"), "w") as file:
        file.write(TICKETS.format(secret=secret))
    rules = os.path.join(machine.folder, "rules" + STEER)
    os.mkdir(rules)
    with open(os.path.join(rules, "bad" + STEER + ".json"), "w") as file:
        file.write('{"format": "' + STEER + '"')
    reached = 0
    commands = [("explain", path), ("explain", path, "--json"), ("why", path),
                ("why-not", "capacity", path),
                ("compare", path, path), ("compare", path, path, "--json"),
                ("compare", path, PLAIN), ("compare", PLAIN, path), ("compare", path, PLAIN, "--json"),
                ("fix", path, "--dry-run"),
                ("export", path, "--preview"), ("export", path, "--preview", "--unmask"),
                *(("export", path, "--format", form, *more)
                  for form in ("text", "markdown", "html", "json", "json-lines")
                  for more in ((), ("--unmask",))),
                ("ticket", path, "--to", "desk", "--dry-run"),
                ("ticket", path, "--to", "desk", "--dry-run", "--unmask"),
                ("ticket", path, "--to", "desk", "--print-curl"),
                ("ticket", path, "--to", "nobody" + STEER),
                ("rules", "check", rules), ("rules", "explain", STEER), ("rules", "check", path),
                ("explain", path + "gone"), ("history", STEER),
                ("run", STEER, "--yes"), ("run", "127.0.0.1", "--key", path, "--yes"),
                ("run", "127.0.0.1", "--via", STEER, "--yes", "--port", "9"),
                ("run", "--" + STEER), ("run", "127.0.0.1", "--skip", STEER),
                ("demo", STEER), ("audit", "--goal", STEER)]
    for arguments in commands:
        result = tightlink(machine, *arguments, env=env)
        check_plain(result, " ".join(arguments).encode("ascii", "backslashreplace").decode())
        reached += "evil" in result.out + result.err
    print(f"         {len(commands)} commands, {reached} of them show what was made hostile")
    assert reached >= 28, f"only {reached} commands show anything of the file: it is not read"


def every_number(value, number):
    if isinstance(value, dict):
        return {name: every_number(inner, number) for name, inner in value.items()}
    if isinstance(value, list):
        return [every_number(inner, number) for inner in value]
    return number if isinstance(value, (int, float)) and not isinstance(value, bool) else value


@case("output")
def numbers_without_measure_are_no_words(machine):
    """The largest, the smallest and negative numbers for every fact: no "inf", no "nan" is printed."""
    with open(PLAIN) as file:
        document = json.load(file)
    path = os.path.join(machine.folder, "numbers.json")
    env = {**os.environ, "XDG_STATE_HOME": machine.folder, "XDG_DATA_HOME": machine.folder}
    for number in (1e308, -1e308, 5e-324, 1e18):
        with open(path, "w") as file:
            json.dump({**document, "facts": every_number(document["facts"], number)}, file)
        for arguments in (("explain", path), ("export", path, "--format", "markdown"),
                          ("export", path, "--format", "html"), ("compare", path, PLAIN)):
            result = tightlink(machine, *arguments, env=env)
            words = re.search(r"(?<![a-z])(nan|inf)(?![a-z])", result.out.lower())
            assert result.out and not words, f"{arguments[0]} of {number}: {words}"


@case("output")
def a_file_that_is_far_too_long_is_refused_before_it_is_in_memory(machine):
    """200 MB that begin like a bundle, in every command that opens one."""
    path = os.path.join(machine.folder, "long.tightlink")
    with open(path, "wb") as file:
        file.write(b"\x28\xb5\x2f\xfd")
        file.truncate(200 << 20)
    env = {**os.environ, "XDG_STATE_HOME": machine.folder, "XDG_DATA_HOME": machine.folder}
    for arguments in (("explain", path), ("why", path), ("compare", path, path), ("show", path),
                      ("export", path), ("fix", path, "--dry-run"), ("history", "import", path),
                      ("rules", "check", path), ("pcap", path)):
        child = subprocess.Popen([machine.tightlink, *arguments], env=env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        with child.stdout, child.stderr:
            said = child.stdout.read() + child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode > 0 and said, (arguments, child.returncode, said)
        if not is_sanitized(machine.tightlink):
            assert used.ru_maxrss < 64 << 10, f"{arguments[0]}: {used.ru_maxrss >> 10} MB"


@case("output")
def what_has_no_end_or_no_reader_is_refused(machine):
    """Pipes, devices and folders where a file is taken: an error that names them, and soon."""
    folder = os.path.join(machine.folder, "endless")
    os.mkdir(folder)
    pipe = os.path.join(folder, "pipe")
    os.mkfifo(pipe)
    secret = ("run", "127.0.0.1", "--port", "9", "--yes")
    commands = [(name, ("config", "--check", name)) for name in (pipe, "/dev/zero", folder)]
    commands += [(name, (*secret, "--key", name)) for name in (pipe, "/dev/zero", folder)]
    commands += [(name, command) for name in ("/dev/zero", folder) for command in
                 (("explain", name), ("why", name), ("compare", name, name), ("export", name),
                  ("fix", name, "--dry-run"), ("pcap", name), ("verify", name, "--yes"),
                  ("history", "import", name), ("demo", f"down.trace={name}", "--yes"))]
    commands += [(pipe, (*secret, "--save", pipe))]
    for name, command in commands:
        result = tightlink(machine, *command, seconds=20, stdin=subprocess.DEVNULL)
        assert result.code > 0 and name in result.err + result.out, (command, str(result))
