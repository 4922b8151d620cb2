"""Web servers by TLS: certificates, tunnels, HTTP/2 and what is said where it is only named."""
import json
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import time

from cases_http import BIG, Proxy, Server, run
from harness import Skip, case, tightlink, validate


def certificate(folder, address="127.0.0.1"):
    """For that address, signed by itself: crt and key in folder."""
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
                           f"{folder}/key", "-out", f"{folder}/crt", "-days", "1", "-subj",
                           f"/CN={address}", "-addext", f"subjectAltName=IP:{address}"],
                          capture_output=True, check=False)
    assert made.returncode == 0, made.stderr


def secure_server(folder, *speaks, host="127.0.0.1", port=0):
    """A server with a certificate of its own. speaks: what it chooses from (ALPN), the best first;
    HTTP/1.1 alone is what it knows to answer."""
    certificate(folder, host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/crt", f"{folder}/key")
    if speaks:
        context.set_alpn_protocols(speaks)
    return Server(context, host=host, port=port)


def at_its_own_port(serve):
    """That server, where web servers are looked for: an address of loopback that nobody else has."""
    try:
        return serve()
    except OSError as error:
        raise Skip(f"no port of web servers here: {error.strerror}") from error


def look_at(machine, host, folder):
    result = tightlink(machine, "run", host, "--yes", "--no-history",
                       env={**os.environ, "SSL_CERT_FILE": f"{folder}/crt"})
    result.check(4, f"nothing listens on port 5411 of {host}")
    return result.err.split("\n")[0]


@case("http")
def a_web_server_that_answers_alone_is_told_with_the_url_to_write(machine):
    host = "127.80.0.1"
    with tempfile.TemporaryDirectory() as folder:
        certificate(folder)
        assert "web server" not in look_at(machine, host, folder)
        with at_its_own_port(lambda: Server(host=host, port=80)):
            plain = look_at(machine, host, folder)
            with at_its_own_port(lambda: secure_server(folder, host=host, port=443)):
                secured = look_at(machine, host, folder)
                certificate(folder)
                untrusted = look_at(machine, host, folder)
    offer = "a web server answers there: {}://127.80.0.1/FILE of a big file"
    assert offer.format("http") in plain, plain
    assert offer.format("https") in secured, secured
    assert offer.format("http") in untrusted, untrusted


@case("http")
def a_certificate_that_nobody_signed_is_not_trusted(machine):
    with tempfile.TemporaryDirectory() as folder, secure_server(folder) as server:
        result = run(machine, server.port, "big", scheme="https")
    result.check(result.code, "certificate of 127.0.0.1 is not to be trusted")
    assert result.code in (3, 5), result


def expired_server(folder):
    """A server that SSL_CERT_FILE trusts, were its certificate of another year."""
    with open(f"{folder}/ca.conf", "w", encoding="ascii") as conf:
        conf.write(f"[ca]\ndefault_ca = d\n[d]\nnew_certs_dir = {folder}\n"
                   f"database = {folder}/index\nserial = {folder}/serial\n"
                   "default_md = sha256\npolicy = p\nx509_extensions = e\n"
                   "[p]\ncommonName = supplied\n[e]\nsubjectAltName = IP:127.0.0.1\n")
    open(f"{folder}/index", "w", encoding="ascii").close()
    with open(f"{folder}/serial", "w", encoding="ascii") as serial:
        serial.write("01\n")
    for command in (["req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{folder}/key",
                     "-out", f"{folder}/csr", "-subj", "/CN=127.0.0.1"],
                    ["ca", "-config", f"{folder}/ca.conf", "-selfsign", "-keyfile", f"{folder}/key",
                     "-in", f"{folder}/csr", "-out", f"{folder}/crt", "-batch", "-notext",
                     "-startdate", "20200101000000Z", "-enddate", "20210101000000Z"]):
        made = subprocess.run(["openssl", *command], capture_output=True, check=False)
        assert made.returncode == 0, made.stderr
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/crt", f"{folder}/key")
    return Server(context)


@case("http")
def a_certificate_of_another_year_is_said_to_have_expired(machine):
    with tempfile.TemporaryDirectory() as folder, expired_server(folder) as server:
        result = run(machine, server.port, "big", scheme="https",
                     env={**os.environ, "SSL_CERT_FILE": f"{folder}/crt"})
    assert result.code in (3, 5), result
    result.check(result.code, "certificate of 127.0.0.1 is not to be trusted", "expired; who runs the server has to renew it")


@case("http")
def http_1_is_measured_where_it_is_asked_for_and_what_its_server_offers_is_told(machine):
    with tempfile.TemporaryDirectory() as folder, secure_server(folder, "h2", "http/1.1") as server:
        result = run(machine, server.port, "quicker", "--json-lines", "--stages", "stream", "--http1.1",
                     scheme="https", env={**os.environ, "SSL_CERT_FILE": f"{folder}/crt"})
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert "the server offers HTTP/2 as well" in str(lines), result
    document = lines[-1] if "facts" in lines[-1] else lines[-1]["document"]
    target = document["run"]["target"]
    assert target["kind"] == "http" and target["http1"] is True, document["run"]
    facts = document["facts"]
    assert 0 < facts["download.goodput_bps"]["value"] < 90e6, facts["download.goodput_bps"]
    assert facts["path.http_spoken"]["value"] == "HTTP/1.1", facts["path.http_spoken"]
    assert facts["path.http_offered"]["value"] == "HTTP/2", facts["path.http_offered"]


@case("http")
def a_server_that_chooses_http_2_and_speaks_another_is_said_so(machine):
    with tempfile.TemporaryDirectory() as folder, secure_server(folder, "h2") as server:
        result = run(machine, server.port, "quicker", scheme="https",
                     env={**os.environ, "SSL_CERT_FILE": f"{folder}/crt"})
    assert result.code in (3, 4), result
    result.check(result.code, "breaks the rules|closed the connection|sends what is no HTTP/2")


NGINX = """daemon off; pid {folder}/pid; error_log {folder}/log; worker_processes 1;
events {{ }}
http {{
  access_log off; default_type application/octet-stream; client_body_temp_path {folder}/t;
  proxy_temp_path {folder}/t; fastcgi_temp_path {folder}/t; uwsgi_temp_path {folder}/t;
  scgi_temp_path {folder}/t;
  server {{ listen 127.0.0.1:{port} ssl http2; ssl_certificate {folder}/crt; root {folder};
    ssl_certificate_key {folder}/key; limit_rate 4m; location = /moved {{ return 302 /big; }} }}
}}
"""


class Nginx:
    """Debian's web server with a file that has no bytes on disk: HTTP/2, 4 MiB a second to each request."""

    def __init__(self, folder):
        self.program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if not self.program:
            raise Skip("nginx is not installed")
        self.folder = folder
        os.chmod(folder, 0o755)  # who serves is nobody
        certificate(folder)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        with open(f"{folder}/big", "wb") as big:
            big.truncate(BIG)
        with open(f"{folder}/nginx.conf", "w", encoding="ascii") as conf:
            conf.write(NGINX.format(folder=folder, port=self.port))

    def __enter__(self):
        self.process = subprocess.Popen([self.program, "-p", self.folder, "-c", f"{self.folder}/nginx.conf"],
                                        stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except OSError:
                time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


@case("http")
def a_real_server_that_chooses_http_2_is_measured_by_it(machine):
    with tempfile.TemporaryDirectory() as folder, Nginx(folder) as server:
        result = run(machine, server.port, "moved", "--json", "--stages", "stream", "--data-budget", "300MB",
                     scheme="https", env={**os.environ, "SSL_CERT_FILE": f"{folder}/crt"})
    document = result.document()
    validate(machine, document)
    facts = document["facts"]
    assert facts["path.http_spoken"]["value"] == "HTTP/2", facts["path.http_spoken"]
    assert 0 < facts["download.goodput_bps"]["value"] < 40e6, facts["download.goodput_bps"]


@case("http")
def behind_a_proxy_tls_goes_through_a_tunnel(machine):
    with tempfile.TemporaryDirectory() as folder, secure_server(folder) as server, Proxy() as proxy:
        settings = {**os.environ, "https_proxy": proxy.url}
        result = run(machine, server.port, "big", scheme="https", env=settings)
        result.check(result.code, "certificate of 127.0.0.1 is not to be trusted", "SSL_CERT_FILE names")
        result = run(machine, server.port, "quicker", "--json", "--stages", "stream",
                     scheme="https", env={**settings, "SSL_CERT_FILE": f"{folder}/crt"})
        assert set(proxy.asked) == {f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"}, proxy.asked
    facts = result.document()["facts"]
    assert 0 < facts["download.goodput_bps"]["value"] < 90e6, facts["download.goodput_bps"]
    assert facts["path.http_offered"]["state"] == "unknown", "it was asked, and does not"
