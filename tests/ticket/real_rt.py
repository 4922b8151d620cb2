#!/usr/bin/env python3
"""Tickets against the real Request Tracker 5 of Debian (430 MB), see real.py. It needs

    apt-get install --no-install-recommends request-tracker5 rt5-db-sqlite

(database: sqlite3, by dbconfig-common). The test has a configuration and a copy of the database of
its own; the installed RT and its database stay as they are.
"""
import base64
import hashlib
import json
import shutil
import sqlite3
import sys
import urllib.parse

import real

SERVER = "/usr/share/request-tracker5/libexec/rt-server"
DATABASE = "/var/lib/dbconfig-common/sqlite3/request-tracker5/rtdb"


class Rt(real.Real):
    title, name, token = "Request Tracker", "rt", "canary-0b6f2d"
    config = "user = root\nqueue = General\nrequestor = someone@localhost\n"
    needs = (SERVER, DATABASE)

    def prepare(self):
        database = self.folder + "/rtdb"
        shutil.copy(DATABASE, database)
        with sqlite3.connect(database) as db:
            # The oldest form of a password that RT still takes.
            db.execute("UPDATE Users SET Password = ? WHERE Name = 'root'",
                       (hashlib.md5(self.token.encode()).hexdigest(),))
            db.execute("UPDATE Tickets SET Subject = 'of before'")
        db.close()
        with open(self.folder + "/RT_SiteConfig.pm", "w") as file:
            file.write(f"""use utf8;
Set($rtname, 'lab'); Set($Organization, 'lab.invalid'); Set($WebPath, '');
Set($DatabaseType, 'SQLite'); Set($DatabaseName, '{database}'); Set($LogToSTDERR, 'error');
Set($LogToSyslog, undef); Set($MailCommand, 'testfile'); 1;
""")
        return ([SERVER, "--port", str(self.port), "--host", "127.0.0.1", "--max-workers", "1"],
                {"RT_SITE_CONFIG": self.folder + "/RT_SiteConfig.pm",
                 "RT_SITE_CONFIG_DIR": self.folder + "/none"})

    def api(self, path):
        pair = base64.b64encode(f"root:{self.token}".encode()).decode()
        return json.loads(self.ask("/REST/2.0/" + path, {"Authorization": "Basic " + pair}))

    def ready(self):
        return self.api("rt")["Version"]

    def tickets(self, run):
        query = urllib.parse.quote(f'Subject LIKE "{run}"')
        items = self.api(f"tickets?query={query}&fields=Subject")["items"]
        return {str(item["id"]): item["Subject"] for item in items}

    def attachments(self, number):
        for item in self.api(f"ticket/{number}/attachments?per_page=100")["items"]:
            whole = self.api(f"attachment/{item['id']}")
            if whole.get("Content"):
                yield whole.get("Filename"), base64.b64decode(whole["Content"])

    def texts(self, number):
        return [data.decode() for name, data in self.attachments(number) if not name]

    def files(self, number):
        return [(name, data) for name, data in self.attachments(number) if name]


sys.exit(real.main(Rt))
