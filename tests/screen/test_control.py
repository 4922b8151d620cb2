#!/usr/bin/env python3
"""Control of a running diagnosis by keys, and what is kept of it: a skip skips, a redo redoes, a
pause waits, a budget ends, the fix is tried, the history has the run, an export is masked.
Arguments: tightlink, tightlinkd, print-fixture."""
import glob
import json
import os
import re
import subprocess
import sys
import time

from terminal import HOME, TIGHTLINK, Tmux, expect_equal, start_responder


def begin(port, *arguments):
    terminal = Tmux("127.0.0.1", "--port", port, "--yes", *arguments, rows=40, cols=120)
    terminal.expect("Other end")
    terminal.expect("hosts")
    terminal.keys("\r")
    return terminal


def saved_run(terminal):
    """Of the run that is shown, by the key that saves it."""
    before = set(glob.glob(HOME + "/tightlink-*.json"))
    terminal.keys("3s")
    terminal.expect("saved as", 20)
    (path,) = set(glob.glob(HOME + "/tightlink-*.json")) - before
    with open(path, encoding="utf-8") as file:
        run = json.load(file)
    os.unlink(path)
    return run


def stages(run, name):
    return [stage["state"] for stage in run["stages"] if stage["id"] == name]


def end(terminal, what):
    terminal.keys("q")
    terminal.ended(what)


def skip_and_redo(port):
    terminal = begin(port, "--stages", "stream,streams", "--time-budget", "20s")
    terminal.expect("stream, download", 40)
    terminal.expect("The stream waits for", 40)
    terminal.keys("S")  # the stream
    terminal.expect("skipped by you", 20)
    terminal.expect("streams, download", 20)
    terminal.expect("Mb/s", 20)
    terminal.keys("r")  # the running one is selected
    terminal.expect("runs again", 10)
    terminal.expect("[3 Verdict]", 90)
    run = saved_run(terminal)
    expect_equal("the skipped stream", stages(run, "stream")[:1], ["skipped"])
    measured = [state for state in stages(run, "streams") if state in ("done", "limited")]
    expect_equal("the streams stage, redone", len(measured), 2)
    end(terminal, "q after skip and redo")


def pause_and_stop(port):
    terminal = begin(port, "--stages", "stream,streams", "--time-budget", "20s")
    terminal.expect("stream, download", 40)
    terminal.keys("p")
    terminal.expect("waits after the running stage", 10)
    terminal.expect("[paused]", 40)
    time.sleep(1.5)  # in which a stage would have begun
    if "streams, download" in terminal.screen():
        sys.exit("a stage began while the run was paused")
    terminal.keys("p")
    terminal.expect("streams, download", 30)
    terminal.keys("\x03")  # stop and keep
    terminal.expect("[3 Verdict]", 30)
    run = saved_run(terminal)
    if not set(stages(run, "stream")) & {"done", "limited"}:
        sys.exit(f"what came before the stop is not kept: {run['stages']}")
    end(terminal, "q after a stop")


def budget(port):
    terminal = begin(port, "--stages", "stream,streams", "--time-budget", "20s")
    terminal.expect("stream, download", 40)
    terminal.keys("+" + "\b" * 12 + "1MB\r")
    terminal.expect("from the next stage on", 10)
    terminal.expect("[3 Verdict]", 60)
    run = saved_run(terminal)
    measured = [state for state in stages(run, "streams") if state in ("done", "limited")]
    expect_equal("streams after the budget was spent", measured, [])
    end(terminal, "q after a budget")


def history_and_export():
    """The runs of above were kept."""
    path = max(glob.glob(HOME + "/data/tightlink/*"), key=os.path.getmtime, default=None)
    if not path:
        sys.exit("no history was written")
    terminal = Tmux(rows=24, cols=100)
    terminal.expect("Other end")
    terminal.keys("\t5")
    terminal.expect("Runs on this machine")
    terminal.expect("3 runs")
    terminal.expect("cause not known")
    terminal.keys("Nseen € by a test\r")
    terminal.expect("note: seen € by a test")
    terminal.keys("Tafter\r")
    terminal.expect("after")
    terminal.keys("ajb")
    terminal.expect("Compare 127.0.0.1", 20)
    terminal.keys("s")
    terminal.expect("written: ", 10)
    (file,) = glob.glob(HOME + "/tightlink-*-compare.txt")
    with open(file, encoding="utf-8") as text:
        content = text.read()
    if not content.startswith("Compare ") or "one stream" not in content:
        sys.exit(f"the pair is not in the file: {content}")
    expect_equal("rights of the pair", os.stat(file).st_mode & 0o777, 0o600)
    terminal.keys("\x1b")
    terminal.keys("/no-such-run\r")
    terminal.expect("nothing matches")
    terminal.keys("/\x1b")
    terminal.expect("3 runs")
    terminal.keys("D")
    terminal.expect("Delete this run")
    terminal.keys("\r")  # Enter is no yes
    terminal.keys("njDy")
    terminal.expect("2 runs")
    terminal.keys("g")
    terminal.expect("One stream, download, 127.0.0.1")
    terminal.keys("\r")
    terminal.expect("[3 Verdict]", 20)
    terminal.keys("2")  # its readings were kept
    terminal.expect("most ")
    terminal.keys("3e")
    terminal.expect("This is what leaves")
    terminal.keys("M")
    terminal.expect("What is masked")
    terminal.keys("\x1b")
    terminal.keys("s")
    terminal.expect("written: ", 10)
    (file,) = glob.glob(HOME + "/tightlink-*-export.txt")
    expect_equal("rights of the file", os.stat(file).st_mode & 0o777, 0o600)
    with open(file, encoding="utf-8") as text:
        if re.search(r"\b" + re.escape(os.uname().nodename) + r"\b", text.read()):
            sys.exit("this machine's name is in the export")
    terminal.keys("y")
    terminal.expect("sent to the clipboard")
    end(terminal, "q after an export")


def a_key_is_chosen():
    """Of the file that lies beside the configuration; without it a keyed far end refuses."""
    folder = HOME + "/config/tightlink"
    os.makedirs(folder, exist_ok=True)
    lines = b"".join(subprocess.run([TIGHTLINK, "key", name], stdout=subprocess.PIPE,
                                    check=True).stdout for name in ("office", "lab-1"))
    with open(os.open(folder + "/keys", os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
        file.write(lines)
    daemon, port = start_responder("--key", folder + "/keys")
    try:
        terminal = Tmux("127.0.0.1", "--port", port, "--yes", "--stages", "stream", "--time-budget",
                        "5s", rows=40, cols=120)
        terminal.expect("key (^K): none")
        terminal.keys("\x0b\x0b")
        terminal.expect("key (^K): lab-1")
        terminal.expect("hosts")
        terminal.keys("\r")
        terminal.expect("[3 Verdict]", 60)
        terminal.expect("round trip")
        end(terminal, "q after a run with a key")
    finally:
        daemon.terminate()
        daemon.wait()


def main():
    daemon, port = start_responder()
    try:
        skip_and_redo(port)
        pause_and_stop(port)
        budget(port)
        history_and_export()
    finally:
        daemon.terminate()
        daemon.wait()
    a_key_is_chosen()
    print("keys control a running diagnosis, and its runs are kept")


main()
