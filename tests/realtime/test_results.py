#!/usr/bin/env python3
"""Whatever is red in a log stays red in the closing lines of scripts/test-results.

    test_results.py TEST-RESULTS
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "scripts/test-results"


def told(*logs, reports=None):
    """Exit code and closing lines for logs, each a list of (name, result, stdout) or None."""
    with tempfile.TemporaryDirectory() as folder:
        paths, options = [], []
        for number, log in enumerate(logs):
            path = pathlib.Path(folder, f"build-{number}", "meson-logs", "testlog.json")
            path.parent.mkdir(parents=True)
            if log is not None:
                path.write_text("".join(json.dumps(
                    {"name": "suite / " + name, "result": result, "stdout": said}) + "\n"
                    for name, result, said in log))
            paths.append(path)
        if reports is not None:
            directory = pathlib.Path(folder, "build-0", "reports")
            directory.mkdir(parents=True)
            for name, text in reports.items():
                (directory / name).write_text(text)
            options = ["--reports", directory]
        done = subprocess.run([sys.executable, PROGRAM, *options, *paths], capture_output=True,
                              text=True)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


def real_time(*outcomes):
    return "".join(f"real time: case {at}: {outcome}\n" for at, outcome in enumerate(outcomes))


class Results(unittest.TestCase):
    def expect(self, answer, code, *lines):
        self.assertEqual(answer[0], code, answer[1])
        for line in lines:
            self.assertIn(line, answer[1].splitlines())

    def test_all_passed(self):
        self.expect(told([("a", "OK", ""), ("b", "OK", "")]), 0, "2 passed, 0 failed, 0 skipped")

    def test_each_way_to_fail(self):
        for result in ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"):
            self.expect(told([("a", "OK", ""), ("b", result, "")]), 1, f"FAILED: b (build-0): {result}",
                        "1 passed, 1 failed, 0 skipped")

    def test_a_failure_says_which_case_and_why(self):
        said = ("one line\n[----] x.c:285: Assertion Failed\n[----]\n[----]   far.c: silent\n"
                "[FAIL] suite::case: (0.7s)\nend\n")
        self.expect(told([("a", "FAIL", said)]), 1, "FAILED: a (build-0): FAIL",
                    "    [----] x.c:285: Assertion Failed", "    [----]   far.c: silent",
                    "    [FAIL] suite::case: (0.7s)")
        self.expect(told([("a", "TIMEOUT", "first\n\nlast\n")]), 1, "    first", "    last")

    def test_a_pass_does_not_replace_a_failure(self):
        self.expect(told([("a", "FAIL", ""), ("a", "OK", "")]), 1, "0 passed, 1 failed, 0 skipped")

    def test_a_skip_does_not_replace_a_failure(self):
        self.expect(told([("a", "OK", ""), ("b", "FAIL", ""), ("b", "SKIP", "why")]), 1,
                    "1 passed, 1 failed, 0 skipped")

    def test_one_build_does_not_excuse_another(self):
        self.expect(told([("a", "OK", "")], [("a", "FAIL", "")]), 1, "FAILED: a (build-1): FAIL",
                    "1 passed, 1 failed, 0 skipped")

    def test_a_missing_or_empty_log_is_a_failure(self):
        self.expect(told([("a", "OK", "")], None), 1, "1 passed, 1 failed, 0 skipped")
        self.expect(told([("a", "OK", "")], []), 1, "1 passed, 1 failed, 0 skipped")

    def test_a_sanitizers_report_is_a_failure_though_its_test_passed(self):
        answer = told([("a", "OK", "")], reports={"asan.7": "ERROR: AddressSanitizer: leak"})
        self.expect(answer, 1, "1 passed, 1 failed, 0 skipped")
        self.assertIn("AddressSanitizer: leak", answer[1])
        self.expect(told([("a", "OK", "")], reports={}), 0, "1 passed, 0 failed, 0 skipped")

    def test_skips_are_named(self):
        self.expect(told([("a", "OK", "ok       one\nskipped  two: no namespaces\n"),
                          ("b", "SKIP", "skipped: no disk\n"), ("c", "SKIP", "")]), 0,
                    "skipped: a: two: no namespaces", "skipped: b: no disk", "skipped: c: it does not say why",
                    "1 passed, 0 failed, 2 skipped")

    def test_nothing_passed_is_a_failure(self):
        self.expect(told([("a", "SKIP", "skipped: no")]), 1, "0 passed, 0 failed, 1 skipped")

    def test_a_failed_case_makes_its_test_fail(self):
        self.expect(told([("a", "OK", real_time("FAILED: slow"))]), 1,
                    "FAILED: a (build-0): case 0: slow", "0 passed, 1 failed, 0 skipped")

    def test_repetitions_are_counted_and_named(self):
        said = real_time(*["ok"] * 19, "repeated, then ok: slow", "skipped: late")
        self.expect(told([("a", "OK", said)]), 0, "repeated: a: case 19: slow",
                    "skipped: a: case 20: late", "real time: 21 cases, 1 of them repeated")

    def test_a_long_reason_is_one_short_line(self):
        said = real_time(*["ok"] * 9, "repeated, then ok: " + "slow " * 1000 + "end")
        code, text = told([("a", "OK", said)])
        line = next(line for line in text.splitlines() if line.startswith("repeated: a: case 9: slow"))
        self.assertEqual(code, 0)
        self.assertLess(len(line), 400)

    def test_more_than_one_repetition_in_ten_is_a_failure(self):
        twice = ["repeated, then ok: slow"] * 2
        self.expect(told([("a", "OK", real_time(*["ok"] * 17, *twice))]), 1,
                    "1 passed, 1 failed, 0 skipped")
        self.expect(told([("a", "OK", real_time(*["ok"] * 18, *twice))]), 0)


if __name__ == "__main__":
    unittest.main()
