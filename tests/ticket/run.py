#!/usr/bin/env python3
"""Tickets against strict servers on loopback: each system makes one ticket, finds it again and adds
to it; and every bad answer is one sentence, with nothing lost, nothing sent twice and no secret
shown.

    run.py TIGHTLINK PRINT-FIXTURE [CASE...]
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import strict
from place import Place


cases = {}


def case(function):
    cases[function.__name__] = function
    return function


class Scene:
    """A strict server and a place that points to it."""

    def __init__(self, programs, kind=strict.Rt, fault=None, **place):
        self.system = kind()
        self.server = strict.Server(self.system, fault)
        self.programs, self.options = programs, place

    def __enter__(self):
        self.server.__enter__()
        self.place = Place(self.programs, self.system, port=self.server.port, **self.options)
        return self.place, self.system, self.server

    def __exit__(self, kind, *_):
        self.server.__exit__()
        if kind is None:
            assert not self.server.violations, self.server.violations
            self.place.close()


def one_ticket(kind):
    def check(programs):
        with Scene(programs, kind) as (place, system, server):
            first = "desk 01" if kind is strict.Webhook else \
                "desk NET-1" if kind.name.startswith("jira") else "desk 1"
            place.send(code=0, says=first)
            assert len(system.tickets) == 1, system.tickets
            made = system.tickets[1]
            assert place.run_id in made["title"], made["title"]
            if "findings.json" in made["files"]:
                document = json.loads(made["files"]["findings.json"])
                assert document["format"] == "tightlink.findings/1"
                assert "srv-b.example.net" not in json.dumps(document), "a name left unmasked"
            else:
                assert "too long for an issue" in made["text"], made
            assert "srv-b.example.net" not in made["title"] + made["text"], "a name left unmasked"
            place.send(code=0, says="there already")
            # Another machine, or a lost outbox: the ticket is found by the run's id.
            shutil.rmtree(place.env["XDG_DATA_HOME"])
            place.send(code=0)
            assert len(system.tickets) == 1, system.tickets
            if kind is strict.Webhook:
                place.send("--comment-on", "1", code=6, says="no tickets")
            else:
                place.send("--comment-on", "1", code=0)
                assert len(system.tickets) == 1 and len(made["comments"]) == 1, made
                place.send("--comment-on", "../2", code=6, says="no number or key")
            seen = len(server.seen)
            shutil.rmtree(place.env["XDG_DATA_HOME"])
            said = place.send("--dry-run", code=0, says="masked").stdout
            count, listed = re.search(r"\n(\d+) values? (?:is|are) masked:\n((?:  .* stands for .*\n)+)", said).groups()
            assert int(count) == listed.count("\n") and ("1 values" not in said), said
            script = place.script()
            assert len(server.seen) == seen, "a preview sent something"
            if kind is not strict.Webhook:  # which knows the key and is not searched
                place.run_script(script, says="has a ticket already")
                assert len(system.tickets) == 1, len(system.tickets)
            system.tickets.clear()
            place.run_script(script)
            assert len(system.tickets) == 1, len(system.tickets)
            again = next(iter(system.tickets.values()))
            assert place.run_id in again["title"], again["title"]  # masked anew, so not the same
            assert "srv-b.example.net" in place.masks_in(str(again)), "nobody knows its masks"
            assert set(again["files"]) == set(made["files"]), set(again["files"])
            for name, data in again["files"].items():
                if name.endswith(".json"):
                    json.loads(data)
    check.__name__ = f"{kind.name.replace('-', '_')}_makes_one_ticket_and_finds_it_again"
    return case(check)


for known in strict.SYSTEMS:
    one_ticket(known)


def refused(code, says, exit_code, waits=False, headers=None, name=None):
    """One status as the answer to everything, then good answers: what waits is sent."""
    def check(programs):
        broken = [True]

        def fault(_):
            return (code, headers or {}, b'{"message":"no"}') if broken[0] else None
        with Scene(programs, fault=fault) as (place, system, server):
            done = place.send(code=exit_code, says=says)
            assert done.stderr.count("tightlink:") == 1 + waits, done
            assert len(server.seen) == 1, server.seen
            listed = place.ticket("--list", code=0).stdout
            assert ("waiting" if waits else "failed") in listed, listed
            place.ticket("--retry", says="nothing in the outbox is due")
            broken[0] = False
            place.send(code=0, says="desk 1")
            assert len(system.tickets) == 1
            assert "sent" in place.ticket("--list", code=0).stdout
    check.__name__ = name or f"status_{code}_is_one_sentence"
    return case(check)


refused(401, "does not take the token", 5)
refused(403, "may not do this", 5)
refused(404, "nothing at this address", 6)
refused(413, "this much at once", 6)
refused(400, "refused the request (400): {\"message\":\"no\"}", 6)
refused(429, "fewer requests", 6, waits=True, headers={"Retry-After": "3600"})
refused(500, "failed (500)", 6, waits=True)
refused(503, "failed (503)", 6, waits=True, headers={"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"})


@case
def retry_after_is_kept_to(programs):
    """The time at which it is due is the server's, from the answer on. Then that time is set back:
    what is tried follows the outbox, not how fast this machine is."""
    broken = [True]
    with Scene(programs, fault=lambda _: (429, {"Retry-After": "3600"}, b"{}") if broken[0]
               else None) as (place, system, _):
        before = time.time_ns()
        place.send(code=6)
        [(due,)] = place.outbox("SELECT next_ns FROM outbox")
        assert before <= due - 3600 * 10**9 <= time.time_ns(), (before, due)
        broken[0] = False
        place.ticket("--retry", says="nothing in the outbox is due")
        assert not system.tickets
        place.outbox("UPDATE outbox SET next_ns = next_ns - 3600000000000")
        place.ticket("--retry", code=0, says="desk 1")
        assert len(system.tickets) == 1


@case
def a_redirect_is_not_followed(programs):
    other = strict.Rt()
    with strict.Server(other) as trap:
        where = {"Location": f"http://127.0.0.1:{trap.port}/REST/2.0/tickets"}
        with Scene(programs, fault=lambda _: (302, where, b"")) as (place, _, server):
            place.send(code=6, says="redirect")
            assert len(server.seen) == 1 and not trap.seen, trap.seen


@case
def a_reply_without_end_is_cut_off(programs):
    huge = {"Content-Length": str(1 << 30), "Content-Type": "application/json"}
    with Scene(programs, fault=lambda _: (200, huge, b" " * (1 << 20))) as (place, _, _server):
        begin = time.monotonic()
        place.send(code=6, says="more than 64 KiB")
        assert time.monotonic() - begin < 20


@case
def a_key_that_redmine_ignores_makes_no_anonymous_issue(programs):
    """A public Redmine answers everything else as to anybody."""
    def fault(request):
        return (401, {}, b"") if request.path == "/users/current.json" else None
    with Scene(programs, strict.Redmine, fault) as (place, system, server):
        place.send(code=5, says="does not take the token")
        place.send("--comment-on", "1", code=5, says="does not take the token")
        assert len(server.seen) == 2 and not system.uploads, server.seen


@case
def a_tracker_of_redmine_goes_by_name_or_number_and_must_exist(programs):
    for wanted, number in (("support", "3"), ("1", "1"), ("Suport", None), ("2", None)):
        with Scene(programs, strict.Redmine, extra=f"tracker = {wanted}\n") as (place, system, _):
            if number:
                place.send(code=0, says="desk 1")
                assert system.tickets[1]["tracker"] == number, system.tickets
            else:
                place.send(code=6, says=f"the project network has no tracker {wanted}")
                assert not system.tickets and not system.uploads


@case
def a_web_page_is_no_answer(programs):
    with Scene(programs, fault=lambda _: (200, {"Content-Type": "text/html"},
                                          b"<html>Sign in</html>")) as (place, system, _):
        place.send(code=6, says="web page")
        assert not system.tickets


@case
def an_answer_that_is_lost_makes_no_second_ticket(programs):
    broken = [True]

    def fault(request):
        return "drop" if broken[0] and request.method == "POST" else None
    with Scene(programs, fault=fault) as (place, system, _):
        place.send(code=6, says="stays in the outbox")
        assert len(system.tickets) == 1
        broken[0] = False
        place.send(code=0, says="there already")
        assert len(system.tickets) == 1


@case
def files_that_were_refused_come_with_the_next_try(programs):
    broken = [True]

    def fault(request):
        return (503, {}, b"") if broken[0] and "attachment" in request.path else None
    with Scene(programs, strict.ServiceNow, fault) as (place, system, _):
        place.send(code=6, says="failed (503)")
        assert len(system.tickets) == 1 and not system.tickets[1]["files"]
        broken[0] = False
        place.send(code=0, says="there already")
        assert len(system.tickets) == 1 and "findings.json" in system.tickets[1]["files"]


@case
def a_comment_whose_answer_was_lost_is_not_sent_by_itself_again(programs):
    with Scene(programs, fault=lambda r: "drop" if r.path.endswith("comment") else None) \
            as (place, system, _):
        place.send(code=0)
        place.send("--comment-on", "1", code=6, says="may have arrived")
        place.ticket("--retry", says="nothing in the outbox is due")
        assert len(system.tickets[1]["comments"]) == 1


@case
def a_kill_between_request_and_answer_makes_no_second_ticket(programs):
    arrived, release = threading.Event(), threading.Event()

    def fault(request):
        if request.method == "POST" and not release.is_set():
            arrived.set()
            release.wait(30)
        return None
    with Scene(programs, fault=fault) as (place, system, _):
        child = subprocess.Popen([place.tightlink, "ticket", place.saved, "--to", "desk"],
                                 env=place.env, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        assert arrived.wait(30), "no request came"
        child.send_signal(signal.SIGKILL)
        child.wait(30)
        release.set()
        until = time.monotonic() + 20
        while not system.tickets:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert "sending" in place.ticket("--list", code=0).stdout
        place.ticket("--retry", code=0, says="there already")
        assert len(system.tickets) == 1


@case
def a_name_that_does_not_resolve_waits(programs):
    place = Place(programs, strict.Rt(), url="https://no-such-host.invalid")
    place.send(code=6, says="cannot be resolved")
    assert "waiting" in place.ticket("--list", code=0).stdout
    place.close()


@case
def a_port_where_nothing_listens_waits(programs):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place = Place(programs, strict.Rt(), port=probe.getsockname()[1])
        place.send(code=6, says="nothing answers")  # while the port is held, so that nobody else takes it
        assert "waiting" in place.ticket("--list", code=0).stdout
        place.close()


@case
def a_certificate_of_another_name_is_refused(programs):
    if not shutil.which("openssl"):
        print("         (skipped: openssl is not installed)")
        return
    with tempfile.TemporaryDirectory() as folder:
        pem = folder + "/server.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", "/CN=elsewhere.example", "-addext",
                        "subjectAltName=DNS:elsewhere.example", "-keyout", folder + "/k", "-out",
                        folder + "/c"], check=True, capture_output=True)
        with open(pem, "w") as out, open(folder + "/k") as key, open(folder + "/c") as cert:
            out.write(key.read() + cert.read())
        system = strict.Rt()
        with strict.Server(system, certificate=pem) as server:
            for extra in ("", f"ca_file = {folder}/c\n"):
                place = Place(programs, system, url=f"https://127.0.0.1:{server.port}", extra=extra)
                place.send(code=5, says="certificate")
                assert not server.seen, "a request went out"
                place.close()


@case
def plain_http_leaves_this_machine_only_where_it_is_allowed(programs):
    place = Place(programs, strict.Rt(), url="http://192.0.2.1")
    place.send(code=6, says="not https")
    place.close()


@case
def configurations_that_are_wrong_are_named(programs):
    with Scene(programs) as (place, _, server):
        good = open(place.conf).read()
        for change, says in (("token = abc\n", "a secret does not belong here"),
                             ("colour = red\n", "there is no such key"),
                             ("queue = Other\n", "twice"), ("project = x\n", "no key of this system"),
                             ("allow_http = perhaps\n", "is yes or no"), ("nonsense\n", "line 7")):
            place.write(good + change)
            place.send(code=6 if "secret" in says else 2, says=says)
        place.write(good.replace("queue = Network\n", ""))
        place.send(code=2, says="queue is missing")
        place.write(good.replace("http://", "ftp://"))
        place.send(code=2, says="is no address")
        place.write("[desk]\nsystem = rt\n")
        place.send(code=2, says="sections are")
        place.write(good + "[compare known]\nsystem = rt\n")
        place.send(code=2, says="[compare known] system is no key of a list")
        place.write(good + "[compare known]\nfar_ends = a,b\nurl = http://a\n")
        place.send(code=2, says="[compare known] url is no key")
        place.write(good + "[compare ]\nfar_ends = a\n")
        place.send(code=2, says="a name is letters")
        place.write(good)
        place.ticket(place.saved, "--to", "nobody", code=2, says="there are desk")
        assert not server.seen
        os.unlink(place.conf)
        place.send(code=2, says="doc/tickets.md")


@case
def a_token_that_others_may_read_is_refused(programs):
    with Scene(programs, mode=0o644) as (place, _, server):
        done = place.send(says="chmod 600")
        assert done.returncode in (5, 6) and not server.seen, done


@case
def a_disk_that_is_full_sends_nothing(programs):
    with Scene(programs) as (place, _, server):
        os.makedirs(place.env["XDG_DATA_HOME"], mode=0o700)
        with open(place.env["XDG_DATA_HOME"] + "/tightlink", "w"):
            pass
        place.send(code=6)
        assert not server.seen, "sent without a row in the outbox"


@case
def wrong_words_are_named(programs):
    with Scene(programs) as (place, _, _server):
        place.ticket(code=2, says="name a run")
        place.ticket(place.saved, code=2, says="which system")
        place.ticket("--list", "--retry", code=2, says="one of")
        place.ticket("--wrong", code=2, says="is no option")
        place.ticket(place.saved, place.saved, "--to", "desk", code=2, says="one run only")
        place.ticket("nothing", "--to", "desk", code=2, says="neither a file nor a run")
        assert "desk" in place.ticket("--targets", code=0).stdout


def main():
    programs = [os.path.abspath(path) for path in sys.argv[1:3]]
    failed = 0
    for name, function in cases.items():
        if sys.argv[3:] and name not in sys.argv[3:]:
            continue
        try:
            function(programs)
            print("ok      ", name.replace("_", " "), flush=True)
        except Exception:
            failed += 1
            print(f"FAILED   {name}\n{traceback.format_exc(limit=-4)}", flush=True)
    return 1 if failed else 0


sys.exit(main())
