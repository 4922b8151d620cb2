"""Completions: bash is asked, zsh and fish where they are; every command and option is offered.

    test_completions.py MAKE TIGHTLINK TIGHTLINKD
"""
import re
import shutil
import subprocess
import sys
import tempfile


def printed(make, shell, *programs):
    return subprocess.run([sys.executable, make, shell, *programs], check=True,
                          capture_output=True, text=True).stdout


def bash_offers(script, *words):
    """What bash would offer for the last word of a line, whose first is the program."""
    array = " ".join(f"'{word}'" for word in words)
    ask = (f"source {script}; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _{words[0]}; "
           "printf '%s\\n' \"${COMPREPLY[@]}\"")
    run = subprocess.run(["bash", "--norc", "-c", ask], check=True, capture_output=True, text=True)
    return set(run.stdout.split())


def parses(shell, text):
    if shutil.which(shell):
        subprocess.run([shell, "-n", "/dev/stdin"], check=True, input=text, text=True)


def responder(make, tightlinkd):
    """tightlinkd's own: each option of its help, files where a file belongs."""
    text = subprocess.run([tightlinkd, "--help"], check=True, capture_output=True, text=True).stdout
    options = set(re.findall(r"^ {6}(--[a-z-]+)", text, re.M)) | {"--version"}
    assert len(options) > 15, options
    with tempfile.NamedTemporaryFile("w", suffix=".bash") as script:
        script.write(printed(make, "bash", tightlinkd))
        script.flush()
        assert bash_offers(script.name, "tightlinkd", "--") == options
        assert "/etc/passwd" in bash_offers(script.name, "tightlinkd", "--key", "/etc/passw")
    for shell in ("zsh", "fish"):
        text = printed(make, shell, tightlinkd)
        assert all(option[2:] in text for option in options), shell
        parses(shell, text)
    return options


def main():
    make, tightlink, tightlinkd = sys.argv[1:]
    overview = subprocess.run([tightlink, "--help"], check=True, capture_output=True,
                              text=True).stdout
    commands = set(re.findall(r"^  tightlink ([a-z][a-z-]*) ", overview, re.M))
    assert len(commands) > 10, commands
    options = responder(make, tightlinkd)
    with tempfile.NamedTemporaryFile("w", suffix=".bash") as script:
        script.write(printed(make, "bash", tightlinkd, tightlink))
        script.flush()
        assert bash_offers(script.name, "tightlink", "") >= commands
        assert bash_offers(script.name, "tightlink", "expl") == {"explain"}
        assert bash_offers(script.name, "tightlink", "run", "--dir") == {"--direction"}
        assert bash_offers(script.name, "tightlink", "history", "--no") == {"--no-pager"}
        assert "--for" in bash_offers(script.name, "tightlink", "live", "--")
        of_history = {"--before", "--keep", "--all", "--out", "--unmask", "--site-masks", "--target", "--since"}
        assert bash_offers(script.name, "tightlink", "history", "--") >= of_history
        assert "--direction" not in bash_offers(script.name, "tightlink", "live", "--")
        assert bash_offers(script.name, "tightlink", "serve", "--") == options
        assert bash_offers(script.name, "tightlink", "run", "--direction", "") == {"download", "upload", "both"}
        assert bash_offers(script.name, "tightlink", "rules", "e") == {"explain"}
        assert bash_offers(script.name, "tightlink", "rules", "explain", "--pa") == {"--paginate"}
        assert bash_offers(script.name, "tightlink", "demo", "poli") >= {"policer"}
    for shell in ("zsh", "fish"):
        text = printed(make, shell, tightlinkd, tightlink)
        assert all(re.search(rf"\b{name}\b", text) for name in commands), shell
        parses(shell, text)
    print(f"{len(commands)} commands in three shells, {len(options)} options of tightlinkd")


main()
