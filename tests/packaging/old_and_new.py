#!/usr/bin/env python3
"""The client of a release against this responder, this client against that release's responder, and
each explains the document that the other one wrote.

    old_and_new.py SOURCE-ROOT TIGHTLINK TIGHTLINKD [RELEASE...]

A RELEASE is a revision of the project, which is built, or a folder with kept binaries (tightlink,
tightlinkd). Without one: every tag that begins with v. Over loopback, 10 seconds and 9 GB each.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
RUN = ("--yes", "--json", "--no-history", "--time-budget", "10s", "--data-budget", "9GB")
# A loaded machine gives no verdict in so short a time: inconclusive is an answer.
ANSWERS = (0, 4)


def releases(root):
    if not (root / ".git").exists():
        return []
    done = subprocess.run(["git", "-C", root, "tag", "--list", "v*"], check=True, capture_output=True,
                          text=True)
    return done.stdout.split()


def build(root, revision, folder):
    """That revision's programs, as (client, responder)."""
    archive = subprocess.run(["git", "-C", root, "archive", revision], check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", folder], check=True, input=archive.stdout)
    for command in (["meson", "setup", "b", "-Dtests=false"],
                    ["ninja", "-C", "b", "src/cli/tightlink", "src/responder/tightlinkd"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{revision}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return folder / "b/src/cli/tightlink", folder / "b/src/responder/tightlinkd"


def programs(root, release, folder):
    kept = pathlib.Path(release)
    if (kept / "tightlink").is_file():
        return kept / "tightlink", kept / "tightlinkd"
    return build(root, release, folder)


def measure(client, responder, document):
    """A run over loopback into a file; the responder says its port when it listens."""
    server = subprocess.Popen([responder, "--open", "--bind", "127.0.0.1", "--port", "0"],
                              stderr=subprocess.PIPE, text=True)
    try:
        said = server.stderr.readline()
        port = said.partition(" port ")[2].split()[0]
        done = subprocess.run([client, "run", "127.0.0.1", "--port", port, *RUN], text=True, timeout=60,
                              capture_output=True, check=False)
    finally:
        server.terminate()
        server.communicate()
    assert done.returncode in ANSWERS, f"exit {done.returncode}: {done.stderr}"
    document.write_text(done.stdout)
    run = json.loads(done.stdout)
    assert any("goodput" in name for name in run["facts"]), "the document has no rate"
    return run["verdict"]["sentence"]


def explain(program, document):
    done = subprocess.run([program, "explain", document, "--json"], text=True, capture_output=True,
                          check=False)
    assert done.returncode in ANSWERS, f"exit {done.returncode}: {done.stderr}"
    assert json.loads(done.stdout)["verdict"]["sentence"]


def main():
    root, tightlink, tightlinkd = map(pathlib.Path, sys.argv[1:4])
    names = sys.argv[4:] or releases(root)
    if not names:
        print("skipped: there is no release yet (no tag that begins with v)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as work:
        for number, name in enumerate(names):
            folder = pathlib.Path(work, str(number))
            folder.mkdir()
            client, responder = programs(root, name, folder)
            document = folder / "run.json"
            print(f"{name}: its client: {measure(client, tightlinkd, document)}")
            explain(tightlink, document)
            print(f"{name}: its responder: {measure(tightlink, responder, document)}")
            if subprocess.run([client, "explain", document], capture_output=True,
                              check=False).returncode not in ANSWERS:
                print(f"{name}: does not read today's documents, which have facts that it does not know")
    print(f"{len(names)} releases, both ways")
    return 0


if __name__ == "__main__":
    sys.exit(main())
