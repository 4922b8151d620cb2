"""tightlink between A B --node: two perfSONAR nodes measure, tightlink asks and judges. The node
is a strict stub over TLS (psched_stub.py)."""
import json
import os
import shutil
import signal
import time

from harness import Skip, case, closed_port, start, tightlink, until, validate
from psched_stub import Node


def node(machine, **attributes):
    if not shutil.which("openssl"):
        raise Skip("openssl is not installed")
    made = Node(machine.folder)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def home(machine, name):
    """A state folder of the case's own, in which no node is known yet."""
    folder = os.path.join(machine.folder, name)
    os.makedirs(folder, exist_ok=True)
    return {"env": {**os.environ, "XDG_STATE_HOME": folder}}


def between(machine, stub, *more, **options):
    return tightlink(machine, "between", "a.example", "b.example", "--node",
                     f"pscheduler://127.0.0.1:{stub.port}", "--time", "5s", "--yes", "--no-history",
                     *more, **(options or home(machine, "state")))


def fact(document, name):
    return document["facts"].get(name, {})


@case("nodes")
def what_nodes_measure_becomes_the_usual_document(machine):
    with node(machine, looks=2) as stub:
        result = between(machine, stub, "--insecure", "--json")
    document = result.document()
    validate(machine, document)
    assert not stub.complaints, stub.complaints
    assert document["run"]["target"] == {"name": "b.example", "kind": "pscheduler"}, document["run"]
    assert document["run"]["directions"] == ["download", "upload"], document["run"]
    known = {name: fact(document, name).get("value") for name in (
        "upload.goodput_bps", "download.goodput_bps", "upload.streams_goodput_bps",
        "path.rtt_idle_ns", "upload.rtt_mean_ns", "upload.path_mtu_bytes", "path.hops_count",
        "upload.retrans_count", "upload.cwnd_mean_bytes")}
    # 99.8 % of what was sent arrived; slow start's second is left out.
    assert abs(known["upload.goodput_bps"] - 94e6 * 0.998) < 1e4, known
    assert abs(known["download.goodput_bps"] - 94e6 * 0.998) < 1e4, known
    assert known["path.rtt_idle_ns"] == 20e6 and known["upload.rtt_mean_ns"] == 60e6, known
    assert known["upload.path_mtu_bytes"] == 1500 and known["path.hops_count"] == 3, known
    assert known["upload.retrans_count"] == 12, known
    assert abs(known["upload.cwnd_mean_bytes"] - 94e6 / 8 * 0.06) < 2, known
    assert [hop.get("address") for hop in document["hops"]] == ["192.0.2.1", None,
                                                                 "198.51.100.7"]
    untold = fact(document, "upload.ledger_rwnd_ratio")
    assert "responder" in untold["reason"], untold
    assert sorted(task["kind"] for task in stub.tasks.values()) == [
        "mtu", "rtt", "throughput", "throughput", "throughput", "throughput", "trace"], stub.tasks
    assert not stub.deleted, stub.deleted


@case("nodes")
def one_way_asks_for_one_way(machine):
    with node(machine) as stub:
        result = between(machine, stub, "--insecure", "--json", "--one-way", "--streams", "1")
    assert result.document()["run"]["directions"] == ["upload"], result
    specs = [task["spec"] for task in stub.tasks.values() if task["kind"] == "throughput"]
    assert len(specs) == 1 and "reverse" not in specs[0] and "parallel" not in specs[0], specs


@case("nodes")
def a_key_is_remembered_and_another_one_refused(machine):
    options = home(machine, "met")
    with node(machine) as stub:
        first = between(machine, stub, "--one-way", "--streams", "1", **options)
        first.check(first.code, "nobody vouches for 127.0.0.1; its key is remembered: sha256//")
        again = between(machine, stub, "--one-way", "--streams", "1", **options)
        assert "nobody vouches" not in again.err and stub.tasks, again
    keys = os.path.join(machine.folder, "met", "tightlink", "node-keys")
    assert os.stat(keys).st_mode & 0o777 == 0o600, oct(os.stat(keys).st_mode)
    with open(keys) as file:
        text = file.read()
    with node(machine) as other:  # makes a key of its own
        with open(keys, "w") as file:
            file.write(text.replace(f":{stub.port} ", f":{other.port} "))
        refused = between(machine, other, **options)
        refused.check(5, "shows another key than at first", "take its line out of .*node-keys")
        assert not other.tasks and not other.asked, "it was asked all the same"


REFUSALS = (
    (400, "Invalid test specification", 2, "does not take this throughput test .400.*Invalid test"),
    (403, "Task forbidden by limits:", 4, "limits of 127.0.0.1:[0-9]+ do not permit a throughput"),
    (422, "None of the participants could run this test", 4, "share no tool"),
    (500, "Error while tasking b.example", 4, "the other node refused it, or does not answer"),
)


@case("nodes")
def each_refusal_is_a_sentence(machine):
    for code, body, exit_code, says in REFUSALS:
        with node(machine, refuse={"throughput": (code, body)}) as stub:
            result = between(machine, stub, "--insecure")
        assert result.code == exit_code, (code, str(result))
        result.check(exit_code, says)
        assert result.err.strip().splitlines()[-1].count(". ") < 2, result


@case("nodes")
def each_bad_end_is_a_sentence(machine):
    says = {"failed": "failed: it failed there .the node's own words", "missed": "missed its time",
            "preempted": "higher priority", "nonstart": "no time for it was found",
            "canceled": "somebody cancelled it"}
    for state, words in says.items():
        survey = [{"time": "2026-01-01T00:00:00Z", "synchronized": False},
                  {"time": "2026-01-01T00:00:00Z", "synchronized": True}]
        with node(machine, end={"throughput": state}, survey=survey) as stub:
            result = between(machine, stub, "--insecure", "--one-way", "--streams", "1")
        assert result.code in (3, 4), result
        result.check(result.code, words, "1 of 2 nodes asked say that their clock is not")


@case("nodes")
def what_loads_nothing_may_fail_alone(machine):
    with node(machine, refuse={"mtu": (422, "no tool"), "trace": (403, "no")},
              end={"rtt": "failed"}, clock=False) as stub:
        document = between(machine, stub, "--insecure", "--json").document()
    stages = {stage["id"]: stage for stage in document["stages"]}
    assert stages["mtu"]["state"] == "not-possible" and "no tool" in stages["mtu"]["reason"], stages
    assert stages["path"]["state"] == "failed" and stages["stream"]["state"] == "done", stages
    assert fact(document, "upload.goodput_bps")["value"] > 9e7, document["verdict"]
    assert "not synchronised" in document["run"]["quality"]["reasons"][0], document["run"]


@case("nodes")
def an_interrupted_test_is_cancelled_there(machine):
    with node(machine, end={"throughput": "running"}) as stub:
        running = start(machine, "between", "a.example", "b.example", "--node",
                        f"pscheduler://127.0.0.1:{stub.port}", "--insecure", "--yes",
                        "--no-history")
        until(30, lambda: any(task["kind"] == "throughput" and task["looks"] > 1
                              for task in stub.tasks.values()), "a look at a running test")
        running.send(signal.SIGINT)
        result = running.result(20)
    result.check(130)
    assert sorted(stub.deleted) == ["throughput"] * 4, stub.deleted
    assert not stub.complaints, stub.complaints
    looks = [at for at, _, path in stub.asked if "/runs/" in path]
    # Of one task no more than one a second, however fast the node answers.
    assert all(b - a > 0.9 for a, b in zip(looks[-2:], looks[-1:])), looks


def hostile_patches():
    def of(kind, change):
        def patch(result):
            change(result)
            return result
        return {kind: patch}
    return {
        "negative": of("throughput", lambda r: r["summary"]["summary"].update(
            {"receiver-throughput-bits": -5})),
        "beyond the link": of("throughput", lambda r: r["summary"]["summary"].update(
            {"receiver-throughput-bits": 1e18})),
        "more than was sent": of("throughput", lambda r: r["summary"]["summary"].update(
            {"receiver-throughput-bits": 5e9})),
        "a text": of("throughput", lambda r: r["summary"]["summary"].update(
            {"throughput-bits": "fast"})),
        "no summary": of("throughput", lambda r: r.pop("summary")),
        "a list": of("throughput", lambda r: r.update({"summary": []})),
        "interval of text": of("throughput", lambda r: r.update({"intervals": ["x"]})),
    }


@case("nodes")
def results_that_cannot_be_are_refused(machine):
    for name, patch in hostile_patches().items():
        with node(machine, patch=patch) as stub:
            result = between(machine, stub, "--insecure", "--one-way", "--streams", "1")
        assert result.code == 4, (name, str(result))
        result.check(4, "its result cannot be: /result-merged")


@case("nodes")
def answers_of_strangers_are_bounded(machine):
    for name, attributes, says in (
            ("endless", {"endless": "runs/first"}, "more than 4 MiB"),
            ("page", {"body": {"/api": b"<html>Welcome</html>"}}, "runs no pScheduler: a web page"),
            ("text", {"body": {"/api": b'"six"'}}, "no level of pScheduler's API"),
            ("old", {"body": {"/api": b"3"}}, "level 3 of pScheduler's API"),
            ("deep", {"body": {"runs/first": b"[" * 5000}}, "not pScheduler's JSON"),
            ("type", {"body": {"runs/first": b"[]"}}, "a run without a state"),
            ("state", {"body": {"runs/first": b'{"state":"\\u001b[31mdone"}'}},
             r"state that is not known: \"\\u\{1b\}"),
            ("task", {"body": {"/tasks$": b'"https://192.0.2.1/x"'}}, "a new task has no address"),
            ("redirect", {"redirect": "/api"}, "a redirect, which is not followed"),
            ("posted", {"redirect": "/tasks$"}, "redirect .302., which is not followed")):
        with node(machine, **attributes) as stub:
            begin = time.monotonic()
            result = between(machine, stub, "--insecure", "--one-way", "--streams", "1")
            assert time.monotonic() - begin < 20, name
        assert result.code in (3, 4), (name, result)
        result.check(result.code, says)


@case("nodes")
def a_node_that_hangs_is_left_on_ctrl_c(machine):
    with node(machine, hang="/runs/") as stub:
        running = start(machine, "between", "a.example", "b.example", "--node",
                        f"pscheduler://127.0.0.1:{stub.port}", "--insecure", "--yes",
                        "--no-history")
        until(30, lambda: any("/runs/" in path for _, _, path in stub.asked), "a look")
        begin = time.monotonic()
        running.send(signal.SIGTERM)
        running.result(20).check(130)
        assert time.monotonic() - begin < 7, "it waited for the node"
    assert stub.deleted == ["mtu"], stub.deleted


@case("nodes")
def wrong_command_lines_say_what_is_wrong(machine):
    def refused(says, *arguments):
        tightlink(machine, "between", *arguments).check(2, says)

    refused("perfSONAR nodes test with --node", "a", "b")
    refused("a node is written", "a", "b", "--node", "https://x")
    refused("is no node", "a", "b", "--node", "pscheduler://x/path")
    refused("no user and no password", "a", "b", "--node", "pscheduler://me@x")
    refused("--key is for responders", "a", "b", "--node", "x", "--key", "k")
    refused("5 to 60 s", "a", "b", "--node", "x", "--time", "90s")
    refused("at most 6 streams", "a", "b", "--node", "x", "--streams", "8")
    refused("no name of a host", "a;b", "c", "--node", "x", "--yes")
    refused("add --yes", "a", "b", "--node", "x")


@case("nodes")
def nobody_listening_is_said(machine):
    with closed_port() as port:
        result = tightlink(machine, "between", "a", "b", "--node", f"127.0.0.1:{port}", "--yes")
    result.check(3, "nothing answers at 127.0.0.1:.*port 443")


@case("nodes")
def a_kept_run_is_judged_again_to_the_same(machine):
    with node(machine) as stub:
        result = between(machine, stub, "--insecure", "--json", "--save",
                         f"{machine.folder}/ab.tightlink")
    again = tightlink(machine, "explain", f"{machine.folder}/ab.tightlink", "--json")
    assert again.document()["verdict"] == result.document()["verdict"], again
    text = tightlink(machine, "explain", f"{machine.folder}/ab.tightlink")
    assert "this PC" not in text.out and "tightlink run" not in text.out, text
    assert json.dumps(result.document()["segments"]).count("a.example") == 1, text


def mesh(machine, stubs, *more, **options):
    """Of a.example, b.example and so on."""
    names = [f"{letter}.example" for letter in "abcd"[:len(stubs)]]
    places = [word for name, stub in zip(names, stubs)
              for word in ("--node", f"{name}=pscheduler://127.0.0.1:{stub.port}")]
    return tightlink(machine, "mesh", ",".join(names), *places, "--time", "5s", "--yes",
                     "--insecure", *more, **options)


@case("nodes")
def a_mesh_names_the_node_that_is_slow(machine):
    with node(machine, to={"c.example": 9e6}) as a, node(machine, to={"c.example": 9e6}) as b, \
            node(machine) as c:
        result = mesh(machine, [a, b, c], "--json").check(0)
        text = mesh(machine, [a, b, c]).check(0)
    told = result.document()
    rates = {(way["from"][0], way["to"][0]): way["rate_bps"] for way in told["ways"]}
    assert len(rates) == 6 and abs(rates["a", "c"] - 9e6) < 1e5, rates
    assert abs(rates["c", "a"] - 94e6) < 1e6, rates
    assert told["worst"]["where"] == "node" and told["worst"]["from"] == "c.example", told
    assert "all that goes into it" in text.out and "8.98 Mb/s" in text.out, text
    assert not a.complaints + b.complaints + c.complaints


@case("nodes")
def a_mesh_goes_on_without_a_pair(machine):
    with node(machine, refuse={"throughput": (403, "no")}) as a, node(machine) as b, \
            node(machine) as c:
        result = mesh(machine, [a, b, c], "--json").check(0, "limits of 127.0.0.1")
    told = result.document()
    failed = [way for way in told["ways"] if "failed" in way]
    assert len(failed) == 4 and all("rate_bps" not in way for way in failed), told
    assert told["worst"]["where"] == "even", told


@case("nodes")
def a_mesh_that_cannot_be_says_why(machine):
    def refused(says, *arguments):
        tightlink(machine, "mesh", *arguments).check(2, says)

    refused("which nodes")
    refused("two nodes at least", "a")
    refused("stands there twice", "a,b,a")
    refused("no name of a node", "a,,b")
    refused("at most 8 nodes", "a,b,c,d,e,f,g,h,i")
    refused("which pScheduler serves", "a,b", "--node", "c=x")
    refused("5 to 60 s", "a,b", "--time", "61s")
    refused("add --yes", "a,b")
