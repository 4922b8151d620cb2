#!/usr/bin/env python3
"""Tickets against the real Request Tracker 5 of Debian, on loopback, with a copy of its SQLite
database: create, attach, find again, comment. Not part of the suite: RT is 430 MB. It needs

    apt-get install --no-install-recommends request-tracker5 rt5-db-sqlite

(database: sqlite3, by dbconfig-common). The installed RT and its database stay as they are.

    real_rt.py TIGHTLINK PRINT-FIXTURE
"""
import base64
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

SERVER = "/usr/share/request-tracker5/libexec/rt-server"
DATABASE = "/var/lib/dbconfig-common/sqlite3/request-tracker5/rtdb"
PASSWORD = "canary-0b6f2d"


class Rt:
    """RT with a configuration and a database of its own."""

    def __init__(self, folder):
        import sqlite3
        database = folder + "/rtdb"
        shutil.copy(DATABASE, database)
        with sqlite3.connect(database) as db:
            # The oldest form of a password that RT still takes.
            db.execute("UPDATE Users SET Password = ? WHERE Name = 'root'",
                       (hashlib.md5(PASSWORD.encode()).hexdigest(),))
            db.execute("UPDATE Tickets SET Subject = 'of before'")
        with open(folder + "/RT_SiteConfig.pm", "w") as file:
            file.write(f"""use utf8;
Set($rtname, 'lab'); Set($Organization, 'lab.invalid'); Set($WebPath, '');
Set($DatabaseType, 'SQLite'); Set($DatabaseName, '{database}'); Set($LogToSTDERR, 'error');
Set($LogToSyslog, undef); Set($MailCommand, 'testfile'); 1;
""")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = open(folder + "/rt.log", "w+")
        self.process = subprocess.Popen(
            [SERVER, "--port", str(self.port), "--host", "127.0.0.1", "--max-workers", "1"],
            env={**os.environ, "RT_SITE_CONFIG": folder + "/RT_SiteConfig.pm",
                 "RT_SITE_CONFIG_DIR": folder + "/none"},
            stdout=self.log, stderr=self.log, start_new_session=True)

    def get(self, path):
        pair = base64.b64encode(f"root:{PASSWORD}".encode()).decode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/REST/2.0/{path}",
                                         headers={"Authorization": "Basic " + pair})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def wait(self):
        until = time.monotonic() + 120
        while True:
            try:
                return self.get("rt")["Version"]
            except (OSError, urllib.error.URLError) as why:
                assert self.process.poll() is None and time.monotonic() < until, \
                    f"RT did not start: {why}\n{open(self.log.name).read()}"
                time.sleep(0.5)

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(20)


def check(rt, folder, tightlink, fixture):
    env = {"PATH": os.environ["PATH"], "HOME": folder, "LANG": "C.UTF-8"}
    os.makedirs(folder + "/.config/tightlink")
    token = folder + "/.config/tightlink/token"
    with open(token, "w") as file:
        file.write(PASSWORD)
    os.chmod(token, 0o600)
    with open(folder + "/.config/tightlink/tightlink.conf", "w") as file:
        file.write(f"[ticket desk]\nsystem = rt\nurl = http://127.0.0.1:{rt.port}\nuser = root\n"
                   "token_file = token\nqueue = General\nrequestor = someone@localhost\n")
    saved = folder + "/run.json"
    with open(saved, "wb") as file:
        file.write(subprocess.run([fixture, "limited", "json"], check=True,
                                  capture_output=True).stdout)
    with open(saved) as file:
        run = json.load(file)["run"]["id"]

    def send(*options, code=0):
        done = subprocess.run([tightlink, "ticket", saved, "--to", "desk", *options], env=env,
                              text=True, capture_output=True, timeout=120)
        assert done.returncode == code and PASSWORD not in done.stdout + done.stderr, done
        return done.stdout.split()

    def having_the_run():
        query = urllib.parse.quote(f'Subject LIKE "{run}"')
        return rt.get(f"tickets?query={query}&fields=Subject")["items"]

    before = len(having_the_run())
    number = send()[1]
    assert len(having_the_run()) == before + 1, "no ticket, or more than one"
    assert send()[1] == number and "already" in " ".join(send())
    shutil.rmtree(folder + "/.local/share")  # as from another machine
    assert send()[1] == number
    send("--comment-on", number)
    assert len(having_the_run()) == before + 1, "a second ticket"
    print("one ticket, number", number, having_the_run()[0]["Subject"][:60])
    files = {}
    for item in rt.get(f"ticket/{number}/attachments?per_page=100")["items"]:
        whole = rt.get(f"attachment/{item['id']}")
        if whole.get("Filename"):
            files.setdefault(whole["Filename"], []).append(base64.b64decode(whole["Content"]))
    assert len(files["findings.json"]) == 2, files.keys()  # of the ticket and of the comment
    for text in files["findings.json"]:
        document = json.loads(text)
        assert document["run"]["id"] == run and b"srv-b.example.net" not in text
    print("attached", {name: [len(data) for data in found] for name, found in files.items()})
    with open(token, "w") as file:
        file.write("wrong")
    shutil.rmtree(folder + "/.local/share")
    send(code=5)
    print("a wrong password is refused")


def main():
    if not os.path.exists(SERVER) or not os.access(DATABASE, os.R_OK):
        print(f"skipped: {SERVER} or {DATABASE} is not here (see the head of this file)")
        return 77
    folder = tempfile.mkdtemp(prefix="tightlink-rt-")
    rt = Rt(folder)
    try:
        print("Request Tracker", rt.wait())
        check(rt, folder, *map(os.path.abspath, sys.argv[1:3]))
    finally:
        rt.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


sys.exit(main())
