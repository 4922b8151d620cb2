"""Where the program sends a ticket from: a home of its own, and what must never be printed in it."""
import contextlib
import functools
import glob
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile


@functools.lru_cache(maxsize=None)
def saved_run(fixture):
    return subprocess.run([fixture, "limited", "json"], check=True, capture_output=True,
                          text=True).stdout


class Place:
    """A home of its own with a configuration, a token and a saved run."""

    def __init__(self, programs, system, url=None, extra="", mode=0o600, port=0):
        self.tightlink, fixture = programs
        self.folder = tempfile.mkdtemp(prefix="tightlink-ticket-")
        self.env = {"PATH": os.environ["PATH"], "HOME": self.folder, "LANG": "C.UTF-8",
                    "XDG_CONFIG_HOME": self.folder + "/config", "XDG_DATA_HOME": self.folder + "/data",
                    "XDG_STATE_HOME": self.folder + "/state"}
        if "ASAN_OPTIONS" in os.environ:
            self.env["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"]
        os.makedirs(self.folder + "/config/tightlink")
        self.conf = self.folder + "/config/tightlink/tightlink.conf"
        token = self.folder + "/config/tightlink/desk.token"
        with open(token, "w") as file:
            file.write(system.token + "\n")
        os.chmod(token, mode)
        path = "/hook" if system.name == "webhook" else ""
        self.write(f"[ticket desk]\nsystem = {system.name}\nurl = "
                   f"{url or f'http://127.0.0.1:{port}{path}'}\ntoken_file = desk.token\n"
                   f"{system.config}{extra}")
        self.saved = self.folder + "/run.json"
        document = saved_run(fixture)
        with open(self.saved, "w") as file:
            file.write(document)
        self.run_id = json.loads(document)["run"]["id"]
        self.token = system.token
        self.outputs = []

    def write(self, text):
        with open(self.conf, "w") as file:
            file.write(text)

    def ticket(self, *arguments, code=None, says=None):
        done = subprocess.run([self.tightlink, "ticket", *arguments], env=self.env, text=True,
                              capture_output=True, timeout=120)
        self.outputs += [done.stdout, done.stderr]
        if code is not None:
            assert done.returncode == code, f"exit {done.returncode}, not {code}:\n{done}"
        if says:
            assert says in done.stderr + done.stdout, f"no {says!r} in:\n{done}"
        return done

    def outbox(self, statement):
        """A statement of SQL on what waits to be sent; its rows."""
        path = self.env["XDG_DATA_HOME"] + "/tightlink/outbox.sqlite"
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            return db.execute(statement).fetchall()

    def masks_in(self, text):
        """What the masks of a ticket stand for, as the user may look it up."""
        kept = []
        for path in glob.glob(self.env["XDG_STATE_HOME"] + "/tightlink/masks/masks-*.json"):
            with open(path) as file:
                kept += json.load(file)["masks"]
        return {mask["value"] for mask in kept if mask["mask"] in text}

    def script(self):
        """What --print-curl prints, byte for byte."""
        done = subprocess.run([self.tightlink, "ticket", self.saved, "--to", "desk",
                               "--print-curl"], env=self.env, capture_output=True, timeout=120)
        assert done.returncode == 0, done.stderr
        self.outputs += [done.stdout.decode()]
        return done.stdout

    def run_script(self, text, says=None):
        """As a person would run what --print-curl printed."""
        done = subprocess.run(["sh"], input=text, env=self.env, capture_output=True, timeout=120)
        self.outputs += [done.stdout.decode(), done.stderr.decode()]
        assert done.returncode == 0, f"the script ended with {done.returncode}: {done}"
        if says:
            assert says in done.stderr.decode(), f"no {says!r} in:\n{done}"

    def send(self, *arguments, **expected):
        return self.ticket(self.saved, "--to", "desk", *arguments, **expected)

    def close(self):
        """The token stands in its own file and nowhere else."""
        for text in self.outputs:
            assert self.token not in text, "the token was printed"
        for folder, _, names in os.walk(self.folder):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    if name != "desk.token":
                        assert self.token.encode() not in file.read(), f"the token is in {name}"
        shutil.rmtree(self.folder)
