"""Completions: bash is asked, zsh and fish where they are; every command is offered.

    test_completions.py MAKE TIGHTLINK
"""
import re
import shutil
import subprocess
import sys
import tempfile


def printed(make, shell, tightlink):
    return subprocess.run([sys.executable, make, shell, tightlink], check=True,
                          capture_output=True, text=True).stdout


def bash_offers(script, *words):
    """What bash would offer for the last word."""
    array = " ".join(f"'{word}'" for word in words)
    ask = (f"source {script}; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _tightlink; "
           "printf '%s\\n' \"${COMPREPLY[@]}\"")
    run = subprocess.run(["bash", "--norc", "-c", ask], check=True, capture_output=True, text=True)
    return set(run.stdout.split())


def main():
    make, tightlink = sys.argv[1:]
    overview = subprocess.run([tightlink, "--help"], check=True, capture_output=True,
                              text=True).stdout
    commands = set(re.findall(r"^  tightlink ([a-z][a-z-]*) ", overview, re.M))
    assert len(commands) > 10, commands
    with tempfile.NamedTemporaryFile("w", suffix=".bash") as script:
        script.write(printed(make, "bash", tightlink))
        script.flush()
        assert bash_offers(script.name, "tightlink", "") >= commands
        assert bash_offers(script.name, "tightlink", "expl") == {"explain"}
        assert bash_offers(script.name, "tightlink", "run", "--dir") == {"--direction"}
        assert bash_offers(script.name, "tightlink", "history", "--no") == {"--no-pager"}
        assert "--for" in bash_offers(script.name, "tightlink", "live", "--")
        assert "--direction" not in bash_offers(script.name, "tightlink", "live", "--")
    for shell in ("zsh", "fish"):
        text = printed(make, shell, tightlink)
        assert all(re.search(rf"\b{name}\b", text) for name in commands), shell
        if shutil.which(shell):
            subprocess.run([shell, "-n", "/dev/stdin"], check=True, input=text, text=True)
    print(f"{len(commands)} commands in three shells")


main()
