#!/usr/bin/env python3
"""run --compare over an emulated path: what is slow to one is that one's, what is slow to all is shared.

    beside.py IN_PATH TIGHTLINK TIGHTLINKD [CASE...]

Web servers stand on the far host beside the responder, in a PID namespace of their own that dies with the
path: one that gives what TCP takes, one that hands each connection little, one by one port. Each case is
run as tests/realtime/policy.py says. Exit 77: this machine permits no emulated path."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "realtime"))
import policy  # noqa: E402 (it lies beside)

SKIP = 77
TIMEOUT_S = 150
FREE, HELD = 8080, 8081

SERVE = """#!/bin/bash
exec unshare --pid --fork --kill-child "$D/far" "$@"
"""
FAR = f"""#!/bin/bash
python3 "$D/web.py" {FREE} 0 {HELD} 1000000 >"$D/web.log" 2>&1 </dev/null &
for port in {FREE} {HELD}; do
  for i in $(seq 100); do (echo > /dev/tcp/127.0.0.1/$port) 2>/dev/null && break; sleep 0.1; done
done
exec "$TIGHTLINKD" "$@"
"""
# A file of 1 TB at each port, at so many bytes a second and connection (0: as fast as it is taken).
WEB = """
import os, socket, sys, threading, time
NOISE = os.urandom(1 << 20)
def give(client, bytes_per_s):
    request = b""
    while b"\\r\\n\\r\\n" not in request:
        got = client.recv(4096)
        if not got:
            return
        request += got
    client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Type: application/octet-stream\\r\\n"
                   b"Content-Length: 1000000000000\\r\\n\\r\\n")
    piece = NOISE[:bytes_per_s // 50] if bytes_per_s else NOISE
    try:
        while True:
            client.sendall(piece)
            if bytes_per_s:
                time.sleep(0.02)
    except OSError:
        client.close()
def serve(port, bytes_per_s):
    listener = socket.create_server(("0.0.0.0", port), backlog=64)
    while True:
        threading.Thread(target=give, args=(listener.accept()[0], bytes_per_s), daemon=True).start()
for port, rate in zip(sys.argv[1::2], sys.argv[2::2]):
    thread = threading.Thread(target=serve, args=(int(port), int(rate)))
    thread.start()
thread.join()
"""

free, held = f"http://$FAR:{FREE}/big", f"http://$FAR:{HELD}/big"
# (what, path, HOST, OTHER, what the sentence must hold; FAR stands for the far end's address)
CASES = (
    ("the one that was asked for is slow", "rate=300M delay=10ms", held, free,
     rf"http://FAR:{HELD}/big gets [0-9.]+ Mb/s where this PC and its access carry [0-9.]+ Mb/s "
     rf"\(with http://FAR:{FREE}/big\): what limits it lies there or on the way to it\."),
    ("the one beside it is slow", "rate=300M delay=10ms", free, held,
     rf"http://FAR:{HELD}/big gets [0-9.]+ Mb/s where this PC and its access carry [0-9.]+ Mb/s "
     rf"\(with http://FAR:{FREE}/big\): what limits it lies there or on the way to it\."),
    ("the access is slow to all", "rate=50M delay=10ms", free, "$FAR",
     r"All 2 get about the same, 4[5-9][0-9.]* Mb/s at most: what they share limits them, this PC or its "
     rf"access to the network, not http://FAR:{FREE}/big alone\."),
)


def attempt(tools, case):
    """See policy.py."""
    _, path, host, other, wanted = case
    with tempfile.TemporaryDirectory(prefix="tightlink-beside-") as name:
        folder = pathlib.Path(name)
        for script, text in (("serve", SERVE), ("far", FAR), ("web.py", WEB)):
            (folder / script).write_text(text)
            (folder / script).chmod(0o755)
        script = (f'echo "$FAR" > "$D/address"; exec "$T" run "{host}" --compare "{other}" --yes '
                  '--no-history --direction download')
        environment = dict(os.environ, D=name, T=tools.tightlink, TIGHTLINKD=tools.tightlinkd)
        with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
            try:
                done = subprocess.run([tools.in_path, path, folder / "serve", "bash", "-c", script],
                                      env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                      stderr=err, timeout=TIMEOUT_S, check=False)
            except subprocess.TimeoutExpired as error:
                raise policy.Broken(f"it did not end within {TIMEOUT_S} s") from error
        said, complaints = ((folder / name).read_text(errors="replace") for name in ("out", "err"))
        if done.returncode == SKIP:
            raise policy.Skip(f"no emulated path here: {complaints}")
        if done.returncode != 0 and not said:
            raise policy.Broken(f"exit code {done.returncode}: {complaints}")
        table = " ".join(said.split("Beside one another", 1)[-1].split())
        address = (folder / "address").read_text().strip()
        found = re.search(wanted.replace("FAR", re.escape(address)), table)
        return [] if found else [table or complaints]


def main():
    class tools:
        in_path, tightlink, tightlinkd = sys.argv[1:4]
    only = sys.argv[4:]
    return policy.Gate().run_all(((case[0], case) for case in CASES if not only or case[0] in only),
                                 lambda case: attempt(tools, case))


if __name__ == "__main__":
    sys.exit(main())
