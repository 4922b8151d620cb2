"""Disk rows: the engine's tests against fio, 1 MiB blocks past the page cache, the same depth;
and a transfer from disk to disk (needs root) against the lowest of its three rungs."""
import itertools
import json
import subprocess
import tempfile

import common

DEPTHS = (4, 16)
TURNS = 3  # rates of a virtual machine's disk differ threefold between two seconds
SOURCE = "/var/tmp"  # a disk
# Two ends on one machine share its processors: disks that both can feed at once.
DISKS = "plain=on far.disk=read:200MB/s near.disk=write:150MB/s"


def _load(program, mode, depth, seconds):
    done = subprocess.run([program, mode, SOURCE, str(depth), str(seconds)], capture_output=True,
                          text=True, timeout=120)
    if done.returncode != 0:
        raise common.Failure(done.stderr.strip())
    bps, cpu_s = map(float, done.stdout.split())
    return bps, cpu_s


def _tightlink(options, mode, depth):
    def run(network, seconds):
        bps, cpu_s = _load(options.disk_load, mode, depth, seconds)
        return common.Run(bps / 8e6, cpu_s / (bps / 8e9 * seconds))
    return common.Contestant("tightlink", run)


def _fio(program, mode, depth):
    def run(network, seconds):
        with tempfile.TemporaryDirectory(prefix="tightlink-bench-", dir=SOURCE) as folder:
            done = subprocess.run(
                [program, "--name=job", "--directory=" + folder, "--rw=" + mode, "--bs=1M",
                 "--direct=1", "--ioengine=libaio", f"--iodepth={depth}", "--size=1G",
                 "--time_based", f"--runtime={seconds}", "--output-format=json"],
                capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise common.Failure(done.stderr.strip()[-200:])
        job = json.loads(done.stdout)["jobs"][0]
        bytes_s = job[mode]["bw_bytes"]
        cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100
        return common.Run(bytes_s / 1e6, cpu / (bytes_s / 1e9))
    return common.Contestant("fio", run)


def _transfer(options, name, pick):
    def run(network, seconds):
        done = subprocess.run(
            [options.tightlink, "demo", "--link", DISKS, "--stages", "stream,disk,disk-to-disk",
             "--json"], capture_output=True, text=True, timeout=170)
        if not done.stdout:
            raise common.Failure(done.stderr.strip())
        facts = json.loads(done.stdout)["facts"]
        return common.Run(pick(lambda fact: facts[fact]["value"]) / 8e6)
    return common.Contestant(name, run)


def rows(options):
    if not options.disk_load:
        return []
    fio = common.find_tool(options.fio, ["fio"])
    result = []
    for mode, depth in itertools.product(("write", "read"), DEPTHS):
        peers = [_fio(fio, mode, depth)] if fio else []
        result.append(common.Row(
            f"disk-{mode}-{depth}", f"sequential {mode}, 1 MiB, O_DIRECT, depth {depth}", "MB/s", 0.97,
            [_tightlink(options, mode, depth)] + peers, [] if fio else ["fio"], (), None, turns=TURNS))
    if options.tightlink:
        result.append(common.Row(
            "disk-to-disk", "over a plain wire, one stream, from 200 MB/s to 150 MB/s", "MB/s",
            0.9, [_transfer(options, "tightlink", lambda get: get("download.file_disk_bps")),
                  _transfer(options, "lowest of its rungs", lambda get: min(
                      get("far.disk_read_bps"), get("download.file_memory_bps"),
                      get("near.disk_write_bps")))], [], (), None))
    return result
