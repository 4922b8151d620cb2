#!/usr/bin/env python3
"""A run leaves the export screen for a ticket system: after a question, masked, beside the screen,
with the ticket's address for an answer and the outbox where there is none.
Arguments: tightlink, tightlinkd, print-fixture."""
import json
import os
import subprocess
import sys
import threading

from terminal import HOME, TIGHTLINK, Tmux, expect_equal, save_fixture

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ticket"))
import strict  # noqa: E402


def configure(port, hook_port):
    folder = HOME + "/config/tightlink"
    os.makedirs(folder, exist_ok=True)
    for name, system in (("desk", strict.Rt), ("hook", strict.Webhook)):
        with open(f"{folder}/{name}.token", "w", encoding="ascii") as file:
            file.write(system.token + "\n")
        os.chmod(f"{folder}/{name}.token", 0o600)
    with open(folder + "/tightlink.conf", "w", encoding="ascii") as file:
        file.write(f"[ticket desk]\nsystem = rt\nurl = http://127.0.0.1:{port}\n"
                   f"token_file = desk.token\n{strict.Rt.config}\n"
                   f"[ticket hook]\nsystem = webhook\nurl = http://127.0.0.1:{hook_port}/hook\n"
                   "token_file = hook.token\n")


def outbox(terminal):
    return subprocess.run([TIGHTLINK, "ticket", "--list"], env=terminal.env, check=True,
                          stdout=subprocess.PIPE).stdout.decode()


def a_ticket_and_its_address(path, server, system):
    terminal = Tmux("show", path, rows=24, cols=100)
    terminal.expect("[3 Verdict]")
    terminal.keys("t")
    terminal.expect("(x) desk: rt")
    terminal.expect("was not sent there before")
    terminal.expect("Title: [tightlink ")
    terminal.keys("P")
    terminal.expect("#!/bin/sh")
    if strict.Rt.token in terminal.screen():
        sys.exit("the token is on the screen")
    terminal.keys("\x1b")
    terminal.keys("\r")
    terminal.expect("Send this run to desk (rt)?")
    terminal.keys("\r")  # Enter is no yes
    terminal.keys("n")
    terminal.expect("was not sent there before")
    expect_equal("tickets after a no", len(system.tickets), 0)
    terminal.keys("\r")
    terminal.expect("Send this run")
    terminal.keys("y")
    terminal.expect(f"http://127.0.0.1:{server.port}/Ticket/Display.html?id=1")
    expect_equal("tickets", len(system.tickets), 1)
    if "srv-b.example.net" in str(system.tickets):
        sys.exit("the far end's name left unmasked")
    terminal.keys("tt")  # the webhook, file and clipboard
    terminal.keys("t")
    terminal.expect("was sent there before, as 1")
    terminal.keys("q")
    terminal.ended("q after a ticket")


def a_slow_one_blocks_nothing(path, hook, answer):
    terminal = Tmux("show", path, rows=24, cols=100)
    terminal.expect("[3 Verdict]")
    terminal.keys("tt")
    terminal.expect("(x) hook: webhook")
    terminal.keys("\ry")
    terminal.expect("on its way")
    for key, text in (("4", "under load"), ("3", "[3 Verdict]"), ("6", "on its way")):
        terminal.keys(key)
        terminal.expect(text)
    terminal.keys("q")  # says that it waits
    terminal.expect("q again")
    answer.set()
    terminal.expect("hook: taken as ", 10)
    terminal.keys("q")
    terminal.ended("q after a webhook")
    expect_equal("calls of the webhook", len(hook.tickets), 1)


def what_cannot_be_sent_waits(path):
    terminal = Tmux("show", path, rows=24, cols=100)
    terminal.expect("[3 Verdict]")
    terminal.keys("t")
    terminal.expect("(x) desk: rt")
    terminal.keys("\r")
    terminal.expect("Send this run")
    terminal.keys("y")
    terminal.expect("desk: not sent: ")
    terminal.expect("waits in the outbox")
    terminal.keys("q")
    terminal.ended("q after a failure")
    if "waiting" not in outbox(terminal):
        sys.exit(f"the outbox does not have it: {outbox(terminal)}")


HELD_S = 28  # the program itself waits 30 s


def main():
    path, other = HOME + "/run.json", HOME + "/other.json"
    save_fixture(path)
    with open(path, encoding="utf-8") as file:
        run = json.load(file)
    run["run"]["id"] = run["run"]["id"][:-1] + "0"  # another one
    with open(other, "w", encoding="utf-8") as file:
        json.dump(run, file)
    system, hook, answer = strict.Rt(), strict.Webhook(), threading.Event()

    def hold(_request):
        answer.wait(HELD_S)

    with strict.Server(system) as server, \
            strict.Server(hook, fault=hold) as hook_server:
        configure(server.port, hook_server.port)
        a_ticket_and_its_address(path, server, system)
        a_slow_one_blocks_nothing(path, hook, answer)
        if server.violations or hook_server.violations:
            sys.exit(f"{server.violations} {hook_server.violations}")
    what_cannot_be_sent_waits(other)
    print("runs leave the screen masked, once, and nothing waits for them")


main()
