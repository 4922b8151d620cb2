#!/usr/bin/env python3
"""The command line against wrong arguments, strangers, dying peers, full disks and
impatient users: what it says, how it exits, and that nothing measured is lost.

    run.py TIGHTLINK TIGHTLINKD GROUP [CASE...]

Prints a line a case. Exit: 0 passed, 1 failed, 77 nothing of the group is possible here."""
import sys

import cases_budget
import cases_captures
import cases_compare
import cases_demo
import cases_far_end
import cases_fix
import cases_history
import cases_hostile
import cases_http
import cases_https
import cases_key
import cases_librespeed
import cases_live
import cases_mover
import cases_nodes
import cases_nuttcp
import cases_output
import cases_pager
import cases_pcap
import cases_plan
import cases_stop
import cases_strangers
import cases_usage
from harness import Machine, suite

assert all((cases_budget, cases_captures, cases_compare, cases_demo, cases_far_end, cases_fix, cases_history,
            cases_hostile, cases_http, cases_https, cases_key, cases_librespeed, cases_live, cases_mover,
            cases_nodes, cases_nuttcp, cases_output, cases_pager, cases_pcap, cases_plan, cases_stop,
            cases_strangers, cases_usage))


def main():
    machine = Machine(sys.argv[1], sys.argv[2])
    try:
        return suite.run(sys.argv[3], machine, sys.argv[4:])
    finally:
        machine.close()


sys.exit(main())
