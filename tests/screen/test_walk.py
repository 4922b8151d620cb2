#!/usr/bin/env python3
"""The walk of the guide for help desks: from the start screen to a ticket with the keys that it
names, no more than twelve; nothing is sent and no name is resolved before the second of them. Arguments: tightlink, tightlinkd, print-fixture, the guide."""
import os
import re
import sys

from terminal import HOME, Tmux, expect_equal, start_responder

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ticket"))
import strict  # noqa: E402

KEYS_MAX = 12
# What stands there after each key of the guide.
SEEN = ["Load the path?", "[3 Verdict]", "was not sent there before", "Send this run to desk (rt)?",
        "Ticket/Display.html?id=1"]


def keys_of_guide(path):
    with open(path, encoding="utf-8") as file:
        line = re.search(r"^From the start screen to a ticket: (.*)\.$", file.read(), re.M)
    if not line:
        sys.exit("the guide does not tell the keys from the start screen to a ticket")
    return line[1].split(", ")


def configure(port):
    folder = HOME + "/config/tightlink"
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/desk.token", "w", encoding="ascii") as file:
        file.write(strict.Rt.token + "\n")
    os.chmod(folder + "/desk.token", 0o600)
    with open(folder + "/tightlink.conf", "w", encoding="ascii") as file:
        file.write(f"[ticket desk]\nsystem = rt\nurl = http://127.0.0.1:{port}\n"
                   f"token_file = desk.token\n{strict.Rt.config}\n")


def a_name_is_not_resolved_for_the_plan():
    """The plan of a name that no server knows is shown like any other; starting tells."""
    terminal = Tmux("no-such-host.invalid", rows=24, cols=80)
    terminal.expect("All loading together")
    terminal.keys("\r")
    terminal.expect("Nothing has been sent yet.", 30)
    terminal.keys("y")
    terminal.expect("is known: check the spelling", 30)
    if terminal.screen().count("check the spelling") > 2 or "Do not judge" in terminal.screen():
        sys.exit(f"it is said again and again:\n{terminal.screen()}")
    terminal.keys("q")
    terminal.ended("q after a name that nobody knows")


def walk(keys, responder_port, server):
    terminal = Tmux("127.0.0.1", "--port", responder_port, "--stages", "stream", "--time-budget",
                    "5s", rows=24, cols=80)
    terminal.expect("All loading together")
    for key, seen in zip(keys, SEEN, strict=True):
        expect_equal("tickets before the last key", len(server.tickets), 0)
        terminal.keys("\r" if key == "Enter" else key)
        terminal.expect(seen, 60)
    expect_equal("tickets", len(server.tickets), 1)
    terminal.keys("q")
    terminal.ended("q after the walk")


def main():
    keys = keys_of_guide(sys.argv[4])
    if len(keys) > KEYS_MAX:
        sys.exit(f"{len(keys)} keys from the start screen to a ticket; at most {KEYS_MAX}")
    a_name_is_not_resolved_for_the_plan()
    system = strict.Rt()
    daemon, port = start_responder()
    try:
        with strict.Server(system) as server:
            configure(server.port)
            walk(keys, port, system)
    finally:
        daemon.terminate()
        daemon.wait()
    print(f"from the start screen to a ticket in {len(keys)} keys")


main()
