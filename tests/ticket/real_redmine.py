#!/usr/bin/env python3
"""Tickets against the real Redmine 5 of Debian (178 MB), see real.py. It needs

    apt-get install --no-install-recommends redmine redmine-sqlite puma

(database: sqlite3, by dbconfig-common). The test is an instance of its own, with a copy of the
database; the installed one stays as it is. Without a configuration.yml no mail is sent.
"""
import json
import os
import re
import secrets
import shutil
import sqlite3
import sys

import real

PLACE = "/usr/share/redmine"
DATABASE = "/var/lib/dbconfig-common/sqlite3/redmine/instances/default/redmine_default"
PROJECT = "tightlink-lab"
NOW = "2026-01-01 00:00:00"


class Redmine(real.Real):
    title, name, config = "Redmine", "redmine", f"project = {PROJECT}\ntracker = support\n"
    needs = (PLACE + "/config.ru", "/usr/bin/puma", DATABASE)
    admin = secrets.token_hex(20)

    def prepare(self):
        for part in ("config", "files", "log", "public", "tmp/cache"):
            os.makedirs(f"{self.folder}/{part}")
        shutil.copy(DATABASE, self.folder + "/database")
        self.open_api()
        with open(self.folder + "/config/database.yml", "w") as file:
            file.write("production:\n  adapter: sqlite3\n  encoding: utf8\n"
                       f"  database: {self.folder}/database\n")
        with open(self.folder + "/config/secret_key.txt", "w") as file:
            file.write(secrets.token_hex(64))
        # Debian looks for an instance's folders by its name below /usr/share/redmine/instances.
        return (["puma", "--dir", PLACE, "--environment", "production", "--threads", "1:2",
                 "--workers", "0", "--bind", f"tcp://127.0.0.1:{self.port}", "config.ru"],
                {"REDMINE_INSTANCE": "../" * 8 + self.folder[1:]})

    def open_api(self):
        """The REST interface, which is off at first, and a key for the first administrator."""
        with sqlite3.connect(self.folder + "/database") as db:
            [(user,)] = db.execute("SELECT min(id) FROM users WHERE admin AND status = 1").fetchall()
            db.execute("DELETE FROM settings WHERE name IN ('rest_api_enabled', 'login_required')")
            db.execute("INSERT INTO settings (name, value, updated_on)"
                       " VALUES ('rest_api_enabled', '1', ?)", (NOW,))
            db.execute("DELETE FROM tokens WHERE user_id = ? AND action = 'api'", (user,))
            db.execute("INSERT INTO tokens (user_id, action, value, created_on, updated_on)"
                       " VALUES (?, 'api', ?, ?, ?)", (user, self.admin, NOW, NOW))
            # Anybody may report: then a key that is nobody's must be refused by the program.
            db.execute("UPDATE roles SET permissions = replace(permissions, '- :view_issues',"
                       " '- :view_issues\n- :add_issues') WHERE builtin = 2")
        db.close()

    def api(self, path, body=None):
        text = self.ask(path, {"X-Redmine-API-Key": self.admin}, body)
        return json.loads(text) if text else None

    def ready(self):
        self.api("/users/current.json")
        with open(PLACE + "/lib/redmine/version.rb") as file:
            return ".".join(re.findall(r"(?:MAJOR|MINOR|TINY) *= (\d+)", file.read()))

    def fill(self):
        """A project, and a key with no more rights than the program needs."""
        self.api("/projects.json", {"project": {
            "name": "Lab", "identifier": PROJECT, "is_public": True,
            "enabled_module_names": ["issue_tracking"]}})
        user = self.api("/users.json", {"user": {
            "login": "tightlink-lab", "firstname": "Lab", "lastname": "Lab",
            "mail": "lab@localhost.invalid", "password": secrets.token_hex(20)}})["user"]
        role = next(role["id"] for role in self.api("/roles.json")["roles"]
                    if role["name"] == "Reporter")
        self.api(f"/projects/{PROJECT}/memberships.json",
                 {"membership": {"user_id": user["id"], "role_ids": [role]}})
        self.token = user["api_key"]

    def tickets(self, run):
        issues = self.api(f"/issues.json?project_id={PROJECT}&status_id=*")["issues"]
        found = [issue for issue in issues if run in issue["subject"]]
        assert all(issue["tracker"]["name"] == "Support" and issue["author"]["name"] == "Lab Lab"
                   for issue in found), found
        return {str(issue["id"]): issue["subject"] for issue in found}

    def issue(self, number):
        return self.api(f"/issues/{number}.json?include=attachments,journals")["issue"]

    def texts(self, number):
        issue = self.issue(number)
        return [issue["description"]] + [entry["notes"] for entry in issue["journals"]]

    def files(self, number):
        key = {"X-Redmine-API-Key": self.admin}
        return [(item["filename"],
                 self.ask(f"/attachments/download/{item['id']}/{item['filename']}", key))
                for item in self.issue(number)["attachments"]]


sys.exit(real.main(Redmine))
