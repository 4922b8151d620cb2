#!/usr/bin/env python3
"""A failure of a case that measures real time stays one; see policy.py."""
import concurrent.futures
import contextlib
import io
import time
import unittest
import unittest.mock

import fitness
import policy

FIT = fitness.Figures(0, 1, 0)
LATE = fitness.Figures(0.02, 1, 0)


def judged(attempts, looks=(FIT, FIT)):
    """The outcome and the line of one case; how many attempts and looks were used."""
    attempts, looks = list(attempts), list(looks)

    def attempt():
        result = attempts.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    gate = policy.Gate(wait=lambda seconds: looks.pop(0))
    with contextlib.redirect_stdout(io.StringIO()) as out:
        outcome = gate.run("case", attempt)
    return outcome, out.getvalue(), len(attempts), gate.exit_code()


class Policy(unittest.TestCase):
    def test_a_pass_needs_one_attempt(self):
        self.assertEqual(judged([[], ["unused"]]), ("ok", "real time: case: ok\n", 1, 0))

    def test_one_repetition_is_allowed_and_told(self):
        outcome, line, _, code = judged([["slow"], []])
        self.assertEqual((outcome, code), (policy.REPEATED, 0))
        self.assertEqual(line, "real time: case: repeated, then ok: slow\n")

    def test_two_failures_are_one(self):
        outcome, line, left, code = judged([["slow"], ["wrong"], []])
        self.assertEqual((outcome, left, code), (policy.FAILED, 1, 1))
        self.assertIn("slow; then: wrong", line)

    def test_what_is_broken_is_not_repeated(self):
        outcome, line, left, code = judged([policy.Broken("signal 11"), []])
        self.assertEqual((outcome, left, code), (policy.FAILED, 1, 1))
        self.assertIn("signal 11", line)

    def test_a_failure_then_a_skip_is_a_failure(self):
        outcome, _, _, code = judged([["slow"], policy.Skip("no namespaces")])
        self.assertEqual((outcome, code), (policy.FAILED, 1))

    def test_a_failure_on_a_machine_that_then_is_unfit_is_a_failure(self):
        outcome, line, left, code = judged([["slow"], []], looks=[FIT, LATE])
        self.assertEqual((outcome, left, code), (policy.FAILED, 1, 1))
        self.assertIn("20.0 ms late", line)

    def test_a_failure_then_something_broken_is_a_failure(self):
        self.assertEqual(judged([["slow"], policy.Broken("signal 6")])[0], policy.FAILED)

    def test_an_unfit_machine_runs_nothing_and_says_its_figures(self):
        outcome, line, left, code = judged([["unused"]], looks=[LATE])
        self.assertEqual((outcome, left, code), (policy.SKIPPED, 1, 77))
        self.assertIn("a sleeper was woken 20.0 ms late (limit 1)", line)

    def test_the_wait_of_all_cases_is_bounded(self):
        asked = []
        gate = policy.Gate(wait=lambda seconds: asked.append(seconds) or LATE)
        gate.waited_s = policy.WAIT_IN_ALL_S - 10
        gate.unfit()
        gate.waited_s = policy.WAIT_IN_ALL_S + 10
        gate.unfit()
        self.assertEqual([round(seconds) for seconds in asked], [10, 0])

    def test_each_figure_alone_makes_a_machine_unfit(self):
        for figures in (fitness.Figures(0.002, 1, 0), fitness.Figures(0, 0.5, 0),
                        fitness.Figures(0, 1, 0.2)):
            self.assertFalse(figures.fit(), figures)
        self.assertTrue(FIT.fit())

    def test_looks_of_two_threads_do_not_meet(self):
        inside, met = [], []

        def look_alone():
            met.append(len(inside))
            inside.append(1)
            time.sleep(0.02)
            inside.pop()
            return FIT

        with unittest.mock.patch.object(fitness, "look_alone", look_alone), \
                concurrent.futures.ThreadPoolExecutor(4) as pool:
            looks = list(pool.map(lambda _: fitness.wait(0), range(4)))
        self.assertEqual((looks, met), ([FIT] * 4, [0] * 4))

    def test_the_look_measures(self):
        figures = fitness.look()
        self.assertGreaterEqual(figures.late_s, 0)
        self.assertGreater(figures.share, 0)
        self.assertGreaterEqual(figures.steal, 0)


if __name__ == "__main__":
    unittest.main()
