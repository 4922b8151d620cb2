"""Loopback servers that know one ticket system's contract and nothing else: method, path, query,
headers and every field of a body. What does not fit is answered with 400 and kept in
`violations`, so that a test fails even where the program would go on."""
import base64
import http.server
import json
import re
import threading
import urllib.parse


class Violation(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Violation(text)


def fields(value, required, optional=()):
    """An object with these keys and no others; each with its type."""
    need(isinstance(value, dict), f"no object: {value!r}")
    required, optional = dict(required), dict(optional)
    for key, kind in required.items():
        need(key in value, f"{key} is missing in {list(value)}")
        need(isinstance(value[key], kind), f"{key} is no {kind.__name__}")
    for key, kind in optional.items():
        need(key not in value or isinstance(value[key], kind), f"{key} is no {kind.__name__}")
    unknown = set(value) - set(required) - set(optional)
    need(not unknown, f"unknown fields {unknown}")
    return value


class Request:
    def __init__(self, method, target, headers, body):
        self.method, self.headers, self.body = method, headers, body
        parts = urllib.parse.urlsplit(target)
        self.raw_path, self.path = parts.path, urllib.parse.unquote(parts.path)
        self.query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))

    def json(self):
        need(self.headers.get("Content-Type") == "application/json", "Content-Type is not JSON")
        return json.loads(self.body)

    def only_query(self, *keys):
        need(set(self.query) == set(keys), f"query {self.query}, expected {keys}")
        return self.query

    def header(self, name, value):
        need(self.headers.get(name) == value, f"header {name} is {self.headers.get(name)!r}")

    def multipart(self, *names):
        """The parts by name: (file name, type, bytes)."""
        kind = self.headers.get("Content-Type", "")
        match = re.fullmatch(r"multipart/form-data; boundary=(\S+)", kind)
        need(match, f"Content-Type {kind}")
        found = {}
        pieces = self.body.split(b"--" + match[1].encode())
        need(pieces[0] == b"" and pieces[-1] == b"--\r\n", "wrong boundaries")
        for piece in pieces[1:-1]:
            head, _, data = piece.removeprefix(b"\r\n").partition(b"\r\n\r\n")
            name = re.search(rb'; name="([^"]+)"', head)
            file = re.search(rb'; filename="([^"]+)"', head)
            mime = re.search(rb"Content-Type: (\S+)", head)
            need(name and mime and data.endswith(b"\r\n"), "a part without a name or type")
            found[name[1].decode()] = (file and file[1].decode(), mime[1].decode(), data[:-2])
        need(set(found) == set(names), f"parts {list(found)}, expected {names}")
        return found


class System:
    """One made-up ticket system. tickets: number -> {"title", "text", "files", "comments"}."""
    token = "canary-7f31c9d2"

    def __init__(self):
        self.tickets, self.uploads = {}, {}

    def add(self, title, text, files=()):
        number = len(self.tickets) + 1
        self.tickets[number] = {"title": title, "text": text, "files": dict(files), "comments": []}
        return number

    def having(self, run):
        return {n: t for n, t in self.tickets.items() if run in t["title"]}


class Rt(System):
    name, config = "rt", "queue = Network\nrequestor = me@example.net\n"

    def answer(self, r):
        r.header("Authorization", "token " + self.token)
        if (r.method, r.path) == ("GET", "/REST/2.0/tickets"):
            query = r.only_query("query", "fields", "per_page")
            match = re.fullmatch(r'Subject LIKE "([0-9A-Z]{26})"', query["query"])
            need(match and query["fields"] == "Subject", "query")
            items = [{"id": str(n), "type": "ticket", "_url": "x", "Subject": t["title"]}
                     for n, t in self.having(match[1]).items()]
            return 200, {"items": items, "count": len(items), "total": len(items), "page": 1}
        if (r.method, r.path) == ("POST", "/REST/2.0/ticket"):
            body = fields(r.json(), {"Queue": str, "Subject": str, "ContentType": str,
                                     "Content": str}, {"Requestor": str, "Attachments": list})
            need(body["Queue"] == "Network" and body["ContentType"] == "text/plain", "content")
            number = self.add(body["Subject"], body["Content"], self.files(body))
            return 201, {"id": str(number), "type": "ticket", "_url": "x"}
        match = re.fullmatch(r"/REST/2\.0/ticket/(\d+)/comment", r.path)
        need(r.method == "POST" and match, f"{r.method} {r.path}")
        body = fields(r.json(), {"ContentType": str, "Content": str}, {"Attachments": list})
        self.files(body)
        self.tickets[int(match[1])]["comments"].append(body["Content"])
        return 201, ["Comments added"]

    @staticmethod
    def files(body):
        found = {}
        for item in body.get("Attachments", []):
            fields(item, {"FileName": str, "FileType": str, "FileContent": str})
            found[item["FileName"]] = base64.b64decode(item["FileContent"], validate=True)
        return found


class Redmine(System):
    name, config = "redmine", "project = network\n"

    def answer(self, r):
        r.header("X-Redmine-API-Key", self.token)
        if (r.method, r.path) == ("GET", "/issues.json"):
            query = r.only_query("subject", "status_id")
            need(query["subject"][0] == "~" and query["status_id"] == "*", "query")
            issues = [{"id": n, "subject": t["title"]}
                      for n, t in self.having(query["subject"][1:]).items()]
            return 200, {"issues": issues, "total_count": len(issues), "offset": 0, "limit": 25}
        if (r.method, r.path) == ("GET", "/users/current.json"):
            return 200, {"user": {"id": 5, **r.only_query()}}
        if (r.method, r.path) == ("GET", "/projects/network.json"):
            need(r.only_query("include")["include"] == "trackers", "query")
            trackers = [{"id": 1, "name": "Bug"}, {"id": 3, "name": "Support"}]
            return 200, {"project": {"id": 1, "trackers": trackers}}
        if (r.method, r.path) == ("POST", "/uploads.json"):
            r.header("Content-Type", "application/octet-stream")
            token = f"{len(self.uploads) + 1}.abc"
            self.uploads[token] = (r.only_query("filename")["filename"], r.body)
            return 201, {"upload": {"id": 1, "token": token}}
        if (r.method, r.path) == ("POST", "/issues.json"):
            body = fields(fields(r.json(), {"issue": dict})["issue"],
                          {"project_id": str, "subject": str, "description": str,
                           "uploads": list}, {"tracker_id": str})
            need(body["project_id"] == "network", "project")
            self.block(body["description"])
            number = self.add(body["subject"], body["description"], self.files(body))
            self.tickets[number]["tracker"] = body.get("tracker_id")
            return 201, {"issue": {"id": number, "subject": body["subject"]}}
        match = re.fullmatch(r"/issues/(\d+)\.json", r.path)
        need(r.method == "PUT" and match, f"{r.method} {r.path}")
        body = fields(fields(r.json(), {"issue": dict})["issue"], {"notes": str, "uploads": list})
        self.block(body["notes"])
        self.files(body)
        self.tickets[int(match[1])]["comments"].append(body["notes"])
        return 204, None

    def block(self, text):
        need(text.startswith("<pre>\n```\n") and text.endswith("\n```\n</pre>\n"), "no block")

    def files(self, body):
        found = {}
        for item in body["uploads"]:
            fields(item, {"token": str, "filename": str, "content_type": str})
            name, data = self.uploads.pop(item["token"])
            need(name == item["filename"], "another file's token")
            found[name] = data
        return found


class Webhook(System):
    name, config = "webhook", ""

    def answer(self, r):
        import hashlib
        import hmac
        need((r.method, r.path) == ("POST", "/hook") and not r.query, f"{r.method} {r.path}")
        stamp = r.headers.get("X-Tightlink-Timestamp", "")
        digest = hmac.new(self.token.encode(), stamp.encode() + b"." + r.body,
                          hashlib.sha256).hexdigest()
        r.header("X-Tightlink-Signature", "sha256=" + digest)
        document = r.json()
        run = document["run"]["id"]
        r.header("Idempotency-Key", run)
        if not self.having(run):
            self.add(run, "", {"findings.json": r.body})
        return 200, None


class Github(System):
    name, config = "github", "repository = net/ops\nlabels = slow,tightlink\n"

    def answer(self, r):
        r.header("Authorization", "Bearer " + self.token)
        r.header("Accept", "application/vnd.github+json")
        r.header("X-GitHub-Api-Version", "2022-11-28")
        need(r.headers.get("User-Agent"), "no User-Agent")
        if (r.method, r.path) == ("GET", "/search/issues"):
            match = re.fullmatch(r"(\S+) in:title repo:net/ops is:issue", r.only_query("q")["q"])
            need(match, "query")
            items = [{"number": n, "title": t["title"]} for n, t in self.having(match[1]).items()]
            return 200, {"total_count": len(items), "incomplete_results": False, "items": items}
        if (r.method, r.path) == ("POST", "/repos/net/ops/issues"):
            body = fields(r.json(), {"title": str, "body": str, "labels": list})
            need(body["labels"] == ["slow", "tightlink"] and len(body["body"]) < 65536, "body")
            number = self.add(body["title"], body["body"], self.files(body["body"]))
            return 201, {"number": number, "title": body["title"]}
        match = re.fullmatch(r"/repos/net/ops/issues/(\d+)/comments", r.path)
        need(r.method == "POST" and match, f"{r.method} {r.path}")
        body = fields(r.json(), {"body": str})
        self.tickets[int(match[1])]["comments"].append(body["body"])
        return 201, {"id": 1}

    @staticmethod
    def files(text):
        match = re.search(r"<details>.*```json\n(.*)\n```\n</details>", text, re.S)
        return {"findings.json": match[1].encode()} if match else {}


class Gitlab(System):
    name, config = "gitlab", "project = net/ops\nlabels = slow\n"

    def answer(self, r):
        r.header("PRIVATE-TOKEN", self.token)
        base = "/api/v4/projects/net%2Fops"
        need(r.raw_path.startswith(base), r.raw_path)
        path = r.raw_path.removeprefix(base)
        if (r.method, path) == ("GET", "/issues"):
            query = r.only_query("search", "in")
            need(query["in"] == "title", "in")
            return 200, [{"id": 9000 + n, "iid": n, "title": t["title"]}
                         for n, t in self.having(query["search"]).items()]
        if (r.method, path) == ("POST", "/uploads"):
            name, _, data = r.multipart("file")["file"]
            self.uploads[f"/uploads/{len(self.uploads)}/{name}"] = data
            url = list(self.uploads)[-1]
            return 201, {"alt": name, "url": url, "markdown": f"[{name}]({url})"}
        if (r.method, path) == ("POST", "/issues"):
            body = fields(r.json(), {"title": str, "description": str, "labels": str})
            number = self.add(body["title"], body["description"], self.files(body["description"]))
            return 201, {"id": 9000 + number, "iid": number}
        match = re.fullmatch(r"/issues/(\d+)/notes", path)
        need(r.method == "POST" and match, f"{r.method} {path}")
        self.tickets[int(match[1])]["comments"].append(fields(r.json(), {"body": str})["body"])
        return 201, {"id": 1}

    def files(self, text):
        return {name: self.uploads[url]
                for name, url in re.findall(r"\[([^\]]+)\]\((/uploads/[^)]+)\)", text)}


class JiraCloud(System):
    name, config, version = "jira-cloud", "project = NET\nuser = me@example.net\n", 3

    def authorised(self, r):
        pair = base64.b64encode(f"me@example.net:{self.token}".encode()).decode()
        r.header("Authorization", "Basic " + pair)

    def found(self, jql):
        match = re.fullmatch(r'project = "NET" AND labels = "tightlink-(\S{26})"', jql)
        need(match, jql)
        issues = [{"id": str(n), "key": f"NET-{n}", "fields": {"summary": t["title"]}}
                  for n, t in self.having(match[1]).items()]
        return 200, {"issues": issues[:1]}

    def search(self, r):
        if (r.method, r.path) != ("POST", "/rest/api/3/search/jql"):
            return None
        body = fields(r.json(), {"jql": str, "maxResults": int, "fields": list})
        return self.found(body["jql"])

    def text(self, value):
        fields(value, {"type": str, "version": int, "content": list})
        need(value["type"] == "doc" and value["version"] == 1, "no document")
        block = fields(value["content"][0], {"type": str, "content": list})
        need(block["type"] == "codeBlock", "no code")
        return fields(block["content"][0], {"type": str, "text": str})["text"]

    def answer(self, r):
        self.authorised(r)
        found = self.search(r)
        if found:
            return found
        base = f"/rest/api/{self.version}/issue"
        if (r.method, r.path) == ("POST", base):
            body = fields(fields(r.json(), {"fields": dict})["fields"],
                          {"project": dict, "issuetype": dict, "summary": str, "labels": list,
                           "description": (dict if self.version == 3 else str)})
            need(body["project"] == {"key": "NET"} and body["issuetype"] == {"name": "Task"}, "type")
            need(body["labels"][1].removeprefix("tightlink-") in body["summary"], "labels")
            number = self.add(body["summary"], self.text(body["description"]))
            return 201, {"id": str(number), "key": f"NET-{number}", "self": "x"}
        match = re.fullmatch(base + r"/(?:NET-)?(\d+)/(attachments|comment)", r.path)
        need(r.method == "POST" and match, f"{r.method} {r.path}")
        ticket = self.tickets[int(match[1])]
        if match[2] == "attachments":
            r.header("X-Atlassian-Token", "no-check")
            name, _, data = r.multipart("file")["file"]
            ticket["files"][name] = data
            return 200, [{"id": "1", "filename": name}]
        body = r.json()
        need(set(body) == {"body"}, "comment")
        ticket["comments"].append(self.text(body["body"]))
        return 201, {"id": "1"}


class JiraDc(JiraCloud):
    name, config, version = "jira-dc", "project = NET\n", 2

    def authorised(self, r):
        r.header("Authorization", "Bearer " + self.token)

    def search(self, r):
        if (r.method, r.path) != ("GET", "/rest/api/2/search"):
            return None
        return self.found(r.only_query("jql", "fields", "maxResults")["jql"])

    def text(self, value):
        need(isinstance(value, str), "text")
        return value


class Zammad(System):
    name, config = "zammad", "group = Users\ncustomer = me@example.net\n"
    article = {"subject": str, "body": str, "content_type": str, "type": str, "internal": bool,
               "attachments": list}

    def answer(self, r):
        r.header("Authorization", "Token token=" + self.token)
        if (r.method, r.path) == ("GET", "/api/v1/tickets/search"):
            query = r.only_query("query", "limit", "expand")
            need(query["expand"] == "true", "expand")
            return 200, [{"id": n, "number": f"9{n}", "title": t["title"]}
                         for n, t in self.having(query["query"]).items()]
        if (r.method, r.path) == ("POST", "/api/v1/tickets"):
            body = fields(r.json(), {"title": str, "group": str, "customer_id": str,
                                     "article": dict})
            need(body["group"] == "Users" and body["customer_id"] == "guess:me@example.net", "who")
            article = fields(body["article"], self.article)
            number = self.add(body["title"], article["body"], self.files(article))
            return 201, {"id": number, "number": f"9{number}", "title": body["title"]}
        need((r.method, r.path) == ("POST", "/api/v1/ticket_articles"), f"{r.method} {r.path}")
        body = fields(r.json(), {"ticket_id": str, **self.article})
        self.files(body)
        self.tickets[int(body["ticket_id"])]["comments"].append(body["body"])
        return 201, {"id": 1}

    @staticmethod
    def files(article):
        need(article["type"] == "note" and article["content_type"] == "text/plain", "article")
        return {fields(item, {"filename": str, "data": str, "mime-type": str})["filename"]:
                base64.b64decode(item["data"], validate=True) for item in article["attachments"]}


class ServiceNow(System):
    name, config = "servicenow", "user = bot\n"

    def answer(self, r):
        pair = base64.b64encode(f"bot:{self.token}".encode()).decode()
        r.header("Authorization", "Basic " + pair)
        r.header("Accept", "application/json")
        table = "/api/now/table/incident"
        if (r.method, r.path) == ("GET", table):
            query = r.only_query("sysparm_query", "sysparm_fields", "sysparm_limit")
            run = query["sysparm_query"].removeprefix("correlation_id=")
            need(len(run) == 26 and query["sysparm_fields"] == "sys_id,correlation_id", "query")
            return 200, {"result": [{"sys_id": str(n), "correlation_id": run} for n in self.having(run)]}
        if (r.method, r.path) == ("POST", table):
            body = fields(r.json(), {"short_description": str, "description": str,
                                     "correlation_id": str})
            need(body["correlation_id"] in body["short_description"], "correlation_id")
            number = self.add(body["short_description"], body["description"])
            return 201, {"result": {"sys_id": str(number), "number": f"INC{number}"}}
        if (r.method, r.path) == ("POST", "/api/now/attachment/file"):
            query = r.only_query("table_name", "table_sys_id", "file_name")
            need(query["table_name"] == "incident" and r.headers.get("Content-Type"), "attachment")
            self.tickets[int(query["table_sys_id"])]["files"][query["file_name"]] = r.body
            return 201, {"result": {"sys_id": "1"}}
        need(r.method == "PATCH" and r.path.startswith(table + "/"), f"{r.method} {r.path}")
        ticket = self.tickets[int(r.path.removeprefix(table + "/"))]
        ticket["comments"].append(fields(r.json(), {"work_notes": str})["work_notes"])
        return 200, {"result": {"sys_id": "1"}}


class Glpi(System):
    name, config = "glpi", ""
    session = "session-1"

    def answer(self, r):
        path = r.path.removeprefix("/apirest.php")
        if (r.method, path) == ("GET", "/initSession"):
            r.header("Authorization", "user_token " + self.token)
            return 200, {"session_token": self.session}
        r.header("Session-Token", self.session)
        need("Authorization" not in r.headers, "the token went along with the session")
        if (r.method, path) == ("GET", "/killSession"):
            return 200, True
        if (r.method, path) == ("GET", "/search/Ticket"):
            query = r.only_query("criteria[0][field]", "criteria[0][searchtype]",
                                 "criteria[0][value]", "forcedisplay[0]", "forcedisplay[1]")
            need(query["criteria[0][field]"] == "1" and
                 query["criteria[0][searchtype]"] == "contains", "query")
            rows = [{"1": t["title"], "2": n}
                    for n, t in self.having(query["criteria[0][value]"]).items()]
            return 200, {"totalcount": len(rows), "count": len(rows), **({"data": rows} if rows else {})}
        need(r.method == "POST", f"{r.method} {path}")
        if path == "/Document":
            parts = r.multipart("uploadManifest", "filename[0]")
            manifest = fields(json.loads(parts["uploadManifest"][2]), {"input": dict})["input"]
            fields(manifest, {"name": str, "_filename": list, "itemtype": str, "items_id": str})
            name, _, data = parts["filename[0]"]
            need(manifest["_filename"] == [name] and manifest["itemtype"] == "Ticket", "manifest")
            self.tickets[int(manifest["items_id"])]["files"][name] = data
            return 201, {"id": 1, "message": "", "upload_result": {}}
        body = fields(r.json(), {"input": dict})["input"]
        if path == "/Ticket":
            fields(body, {"name": str, "content": str, "externalid": str})
            need(re.fullmatch(r"<pre>[^<>]*</pre>", body["content"]), "content is no HTML")
            return 201, {"id": self.add(body["name"], body["content"]), "message": ""}
        need(path == "/ITILFollowup", path)
        fields(body, {"itemtype": str, "items_id": str, "content": str})
        self.tickets[int(body["items_id"])]["comments"].append(body["content"])
        return 201, {"id": 1, "message": ""}


SYSTEMS = [Rt, Redmine, Webhook, Github, Gitlab, JiraCloud, JiraDc, Zammad, ServiceNow, Glpi]


class Server:
    """Serves a system on loopback. fault(request) may answer instead: (status, headers, body),
    or "drop" to make the ticket and close without an answer."""

    def __init__(self, system, fault=None, certificate=None):
        self.system, self.fault, self.violations, self.seen = system, fault, [], []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self):
                outer.handle(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.handle_error = lambda *_: None  # clients that go away are part of the tests
        if certificate:
            import ssl
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.port = self.http.server_address[1]
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()

    def handle(self, handler):
        length = int(handler.headers.get("Content-Length", 0))
        request = Request(handler.command, handler.path, handler.headers,
                          handler.rfile.read(length))
        self.seen.append(f"{request.method} {request.path}")
        planned = self.fault(request) if self.fault else None
        if planned not in (None, "drop"):
            return self.reply(handler, *planned)
        try:
            status, body = self.system.answer(request)
        except Violation as violation:
            self.violations.append(f"{request.method} {request.path}: {violation}")
            status, body = 400, {"message": str(violation)}
        if planned == "drop":
            handler.close_connection = True
            handler.connection.close()
            return None
        data = b"" if body is None else json.dumps(body).encode()
        return self.reply(handler, status, {"Content-Type": "application/json"}, data)

    @staticmethod
    def reply(handler, status, headers, body):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        if "Content-Length" not in headers and status != 204:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        try:
            handler.wfile.write(body)
        except OSError:
            pass
