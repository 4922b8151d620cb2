#!/usr/bin/env python3
"""Runs tightlink and its peers in turns and prints ratios of medians.

  ninja bench                           everything that the PATH offers
  ninja bench-cpu                       TCP's processor time for a byte, also beside other work
  tests/bench/run.py --engine-load P --tightlinkd P [--family tcp] [--row ID] [--network lo]
                     [--rounds 5] [--seconds 2] [--json FILE] [--markdown FILE]
                     [--iperf3 P[,P]] [--nuttcp P] ...

Exit: 0 every target that could be judged was met, 1 one was missed, 2 usage."""
import argparse
import sys

import bench_disk
import bench_tcp
import bench_udp
import common

FAMILIES = {"tcp": bench_tcp, "udp": bench_udp, "disk": bench_disk}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine-load", required=True, help="the engine's driver")
    parser.add_argument("--tightlinkd", required=True)
    parser.add_argument("--tightlink", metavar="PROGRAM", help="for rows on emulated paths")
    parser.add_argument("--bare-loop", metavar="PROGRAM", help="send() and recv() without an engine")
    parser.add_argument("--disk-load", metavar="PROGRAM", help="the engine's disk driver")
    parser.add_argument("--family", action="append", choices=FAMILIES, help="only this family")
    parser.add_argument("--row", action="append", help="only this row")
    parser.add_argument("--network", action="append", choices=("lo", "veth"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="of one run")
    parser.add_argument("--congestion", default="reno",
                        help="of every contestant; host: as this machine has it (default reno)")
    parser.add_argument("--cpu", action="store_true",
                        help="judge processor time alone: rates need a machine of one's own")
    parser.add_argument("--json", metavar="FILE", help="write the results there, too")
    parser.add_argument("--markdown", metavar="FILE", help="write them there as a table, too (-: here)")
    parser.add_argument("--list", action="store_true", help="show the rows and end")
    for tool in ("iperf3", "nuttcp", "tcp-stream", "udp-stream", "fio"):
        parser.add_argument("--" + tool, metavar="PROGRAM",
                            help="instead of the one on the PATH; several with commas")
    return parser.parse_args()


def select(options):
    rows = []
    for name in options.family or FAMILIES:
        rows += FAMILIES[name].rows(options)
    if options.row:
        unknown = set(options.row) - {row.id for row in rows}
        if unknown:
            sys.exit(f"run.py: no row {', '.join(sorted(unknown))}; see --list")
        rows = [row for row in rows if row.id in options.row]
    return rows


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def main():
    options = arguments()
    rows = select(options)
    if options.list:
        for row in rows:
            print(f"{row.id:<24}{row.title}")
        return 0
    results, networks = [], {}
    for row in rows:
        for name in [item for item in row.networks if item in (options.network or row.networks)] \
                or ([None] if not row.networks else []):
            try:
                if name and name not in networks:
                    networks[name] = common.make_network(name, options.congestion)
            except (common.Failure, OSError) as error:
                print(f"{row.id}: skipped on {name}: {error}", flush=True)
                continue
            result = common.measure(row, networks.get(name), options.rounds, options.seconds,
                                    progress, options.cpu)
            results.append(result)
            progress("")
            print(common.show(result), flush=True)
    if options.json:
        common.save(options.json, results)
    if options.markdown == "-":
        print(common.markdown(results))
    elif options.markdown:
        with open(options.markdown, "w") as file:
            file.write(common.markdown(results))
    missed = [f"{item['row']} {item['network'] or ''}".strip()
              for item in results if item["met"] is False]
    print(f"{sum(item['met'] is True for item in results)} met, {len(missed)} missed"
          + (": " + ", ".join(missed) if missed else ""))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
