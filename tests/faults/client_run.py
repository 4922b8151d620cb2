"""tightlink run against a far end of tests/faults."""
import json
import signal
import subprocess
import time

LIGHT = "mtu,hops,calibrate"


class ClientRun:
    """tightlink against a far end, without what needs UDP."""

    def __init__(self, program, far, *options, direction="download", skip=LIGHT):
        self.process = subprocess.Popen(
            [program, "run", far.address, "--port", str(far.port), "--yes", "--json-lines",
             "--no-history", "--direction", direction, "--skip", skip, *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.begin = time.monotonic()

    def end(self, seconds):
        """Exit code, document, words for a person, seconds."""
        try:
            out, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            raise AssertionError(f"still there after {seconds} s: {err} {out[-600:]}")
        document = json.loads(out.splitlines()[-1])
        return self.process.returncode, document, err, time.monotonic() - self.begin

    def interrupt(self, *codes):
        """Ctrl-C; seconds until the program has ended."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        code, *_ = self.end(30)
        assert code in codes, code
        return time.monotonic() - begin
