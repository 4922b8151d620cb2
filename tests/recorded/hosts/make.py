#!/usr/bin/env python3
"""Writes the recordings in this folder: answers of the kernel's interfaces in their real formats,
with values made by hand, for faults that no test machine can make. Run it after a change here;
the test reads the files, not this program.

CASE.rec holds files one after the other, each behind a line "== PATH", ended by an empty line:

    case.json            the rate as measured, and what must be said (doc/rule-format.md, "Cases")
    host/...             files of /proc and /sys at rest
    before/..., after/...     the same before and after a test of 5 s
    NAME.hex             netlink messages: rtnetlink(7), ethtool-netlink.rst, nl80211.h
    before.stats, after.stats   what `ethtool -S` prints
"""
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).parent
IFINDEX, MAC = 2, bytes.fromhex("3cecef112233")
RTM_NEWLINK, ETHTOOL, NL80211 = 16, 0x15, 0x1C


def attr(kind, payload, nested=False):
    head = struct.pack("=HH", 4 + len(payload), kind | (0x8000 if nested else 0))
    return head + payload + b"\0" * (-len(payload) % 4)


def nest(kind, *parts):
    return attr(kind, b"".join(parts), nested=True)


def u8(kind, value):
    return attr(kind, struct.pack("=B", value))


def u16(kind, value):
    return attr(kind, struct.pack("=H", value))


def u32(kind, value):
    return attr(kind, struct.pack("=I", value))


def text(kind, value):
    return attr(kind, value.encode() + b"\0")


def message(kind, body):
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 1, 1) + body


def generic(family, command, *attrs):
    return message(family, struct.pack("=BBH", command, 1, 0) + b"".join(attrs))


# struct rtnl_link_stats64, in order
STATS = ("rx_packets tx_packets rx_bytes tx_bytes rx_errors tx_errors rx_dropped tx_dropped multicast "
         "collisions rx_length_errors rx_over_errors rx_crc_errors rx_frame_errors rx_fifo_errors "
         "rx_missed_errors tx_aborted_errors tx_carrier_errors tx_fifo_errors tx_heartbeat_errors "
         "tx_window_errors rx_compressed tx_compressed rx_nohandler").split()


def link(stats, mtu=1500):
    """RTM_NEWLINK of an Ethernet card on a PCI bus."""
    head = struct.pack("=BBHiII", 0, 0, 1, IFINDEX, 0x11043, 0)
    values = b"".join(struct.pack("=Q", stats.get(name, 0)) for name in STATS)
    return message(RTM_NEWLINK, head + text(3, "eno1") + u32(13, 1000) + u8(16, 6) + u32(4, mtu)
                   + u8(33, 1) + u32(35, 2) + attr(1, MAC) + text(6, "fq_codel")
                   + attr(23, values) + text(56, "0000:00:1f.6"))


def bits(kind, names, nomask=False):
    rows = b"".join(nest(1, text(2, name), attr(3, b"")) for name in names)
    return nest(kind, *([attr(1, b"")] if nomask else []), u32(2, 92), nest(3, rows))


MODES = ["10baseT/Half", "10baseT/Full", "100baseT/Half", "100baseT/Full", "1000baseT/Full", "Autoneg"]


def linkmodes(speed, duplex, autoneg=1, partner=tuple(MODES)):
    return generic(ETHTOOL, 4, nest(1, u32(1, IFINDEX), text(2, "eno1")), u8(2, autoneg),
                   bits(3, MODES), *([bits(4, partner)] if partner else []), u32(5, speed),
                   u8(6, duplex))


def features(active):
    return generic(ETHTOOL, 11, nest(1, u32(1, IFINDEX)), bits(4, active, nomask=True))


FEATURES = ["tx-tcp-segmentation", "tx-generic-segmentation", "rx-gro", "tx-checksum-ip-generic",
            "rx-checksum"]


def rings(now, most):
    return generic(ETHTOOL, 16, nest(1, u32(1, IFINDEX)), u32(2, most), u32(5, most), u32(6, now),
                   u32(9, now))


def pause(on):
    return generic(ETHTOOL, 22, nest(1, u32(1, IFINDEX)), u8(2, 1), u8(3, on), u8(4, on))


def wireless(frequency_mhz, width):
    return generic(NL80211, 7, u32(3, IFINDEX), u32(38, frequency_mhz), u32(159, width))


def station(signal_dbm, bitrate_100k, packets, retries, failed):
    rate = nest(8, u16(1, min(bitrate_100k, 65535)), u32(5, bitrate_100k))
    back = nest(14, u16(1, min(bitrate_100k, 65535)), u32(5, bitrate_100k))
    info = nest(21, u8(7, signal_dbm & 255), rate, u32(9, packets), u32(10, packets),
                u32(11, retries), u32(12, failed), u8(13, signal_dbm & 255), back)
    return generic(NL80211, 19, u32(3, IFINDEX), attr(6, MAC), u32(46, 7), info)


def igb(**values):
    """What `ethtool -S` prints for a card of Intel's igb driver, shortened."""
    names = ("rx_packets tx_packets rx_bytes tx_bytes rx_crc_errors rx_missed_errors "
             "rx_flow_control_xon rx_flow_control_xoff tx_flow_control_xon tx_flow_control_xoff "
             "tx_abort_late_coll rx_align_errors rx_no_buffer_count rx_queue_0_packets "
             "rx_queue_0_drops").split()
    return "NIC statistics:\n" + "".join(f"     {n}: {values.get(n, 0)}\n" for n in names)


def ena(**values):
    """The same for Amazon's ena driver."""
    names = ("tx_timeout suspend resume wd_expired interface_up interface_down admin_q_pause "
             "bw_in_allowance_exceeded bw_out_allowance_exceeded pps_allowance_exceeded "
             "conntrack_allowance_exceeded linklocal_allowance_exceeded queue_0_rx_cnt").split()
    return "NIC statistics:\n" + "".join(f"     {n}: {values.get(n, 0)}\n" for n in names)


def stat(cores):
    """cores: (busy, softirq, idle) ticks"""
    lines = ["cpu  0 0 0 0 0 0 0 0 0 0"]
    for i, (busy, softirq, idle) in enumerate(cores):
        lines.append(f"cpu{i} {busy} 0 0 {idle} 0 0 {softirq} 0 0 0")
    return "\n".join(lines) + "\nintr 0\nctxt 0\n"


def softirqs(receive):
    head = " " * 20 + "".join(f"CPU{i:<8}" for i in range(len(receive)))
    row = "      NET_RX:" + "".join(f" {n:10}" for n in receive)
    return f"{head}\n          HI:{' 0' * len(receive)}\n{row}\n"


def softnet(dropped, squeezed=0, cores=4):
    row = "{:08x} {:08x} {:08x}" + " 00000000" * 10 + "\n"
    return "".join(row.format(500000, dropped if i == 0 else 0, squeezed if i == 0 else 0)
                   for i in range(cores))


def sockstat(pages):
    return f"sockets: used 150\nTCP: inuse 12 orphan 0 tw 3 alloc 20 mem {pages}\nUDP: inuse 2 mem 0\n"


def netstat(pressures=0, pruned=0):
    return ("TcpExt: PruneCalled RcvPruned TCPRcvCollapsed TCPMemoryPressures\n"
            f"TcpExt: {pruned} {pruned} 0 {pressures}\n")


def flow(rate_bps, rtt_ns, loaded_ns, lost=0, many_bps=None, ledger=(0.005, 0, 0), thread=0.1):
    segments = int(rate_bps * 5 / 8 / 1448)
    app, sndbuf, rwnd = ledger
    facts = {
        "flow.goodput_bps": [rate_bps, rate_bps * 0.99, rate_bps * 1.01], "flow.steady_ns": 5e9,
        "flow.steady_rtts_count": 5e9 / loaded_ns, "flow.warmup_ns": 5e8,
        "flow.ledger_app_ratio": app, "flow.ledger_sndbuf_ratio": sndbuf,
        "flow.ledger_rwnd_ratio": rwnd, "flow.ledger_network_ratio": 1 - app - sndbuf - rwnd,
        "flow.rtt_mean_ns": loaded_ns, "flow.rtt_min_ns": rtt_ns, "flow.segments_count": segments,
        "flow.retrans_count": lost, "flow.retrans_ratio": [lost / segments, 0.8 * lost / segments,
                                                           (1.25 * lost + 3) / segments],
        "flow.loss_event_ratio": 0.9 * lost / segments, "flow.reord_seen_count": 0,
        "flow.dsack_count": 0, "flow.snd_wnd_max_bytes": 29861888, "flow.mss_bytes": 1448,
        "flow.window_full_ratio": 0.01, "flow.wscale_ok": True, "flow.sack_ok": True,
        "flow.cc": "cubic", "flow.sndbuf_full_ratio": 0, "flow.streams_count": 8,
        "flow.streams_goodput_bps": many_bps or rate_bps * 1.005,
        "flow.streams_rtt_mean_ns": loaded_ns, "flow.streams_retrans_ratio": lost / segments,
        "flow.receiver_queue_ratio": 0.01, "flow.receiver_data_wait_ratio": 0.6,
        "path.mtu_bytes": 1500, "flow.receiver_thread_cpu_ratio": thread,
        "flow.receiver_cpu_wait_ratio": 0.01, "flow.sender_thread_cpu_ratio": 0.1,
        "flow.sender_cpu_wait_ratio": 0.01,
    }
    if lost:
        facts["flow.rtt_at_loss_ns"] = loaded_ns
    return facts


class Case:
    """A healthy host, to be changed."""

    def __init__(self, name, about, rule, facts, expect, direction="download"):
        self.name, self.files = name, {}
        body = {"rule": rule, "direction": direction,
                "cases": [{"name": about, "facts": facts, "expect": expect}]}
        self.put("case.json", json.dumps(body, indent=1) + "\n")
        self.counters("before", {}, igb())
        self.counters("after", {"rx_packets": 400000, "tx_packets": 200000, "rx_bytes": 6e8}, igb())
        self.hex("linkmodes", linkmodes(1000, 1))
        self.hex("features", features(FEATURES))
        self.hex("rings", rings(256, 4096))
        self.hex("pause", pause(0))
        self.put("host/sys/devices/system/cpu/online", "0-3\n")
        self.clock("performance", 4800000, 4800000)
        self.put("host/proc/sys/net/core/netdev_max_backlog", "1000\n")
        self.put("host/proc/sys/net/core/netdev_budget", "300\n")
        self.put("host/proc/sys/net/ipv4/tcp_mem", "90000\t120000\t180000\n")
        self.queues(4, {120: [10, 90000, 0, 0], 121: [0, 0, 80000, 0], 122: [70000, 0, 0, 0],
                        123: [0, 0, 0, 95000]})
        self.cores([(100, 20, 380)] * 4, [4000, 4100, 3900, 4050])
        self.soft(0)
        self.memory(300)

    def put(self, path, content):
        assert content.endswith("\n") and "\n\n" not in content, path
        self.files[path] = content

    def write(self):
        (HERE / f"{self.name}.rec").write_text(
            "".join(f"== {path}\n{self.files[path]}\n" for path in sorted(self.files)))

    def hex(self, name, data):
        digits = data.hex()
        self.put(f"{name}.hex", "".join(digits[i:i + 64] + "\n" for i in range(0, len(digits), 64)))

    def counters(self, when, stats, driver):
        self.hex(f"link-{when}", link({k: int(v) for k, v in stats.items()}))
        self.put(f"{when}.stats", driver)

    def clock(self, governor, now_khz, most_khz):
        for place in ("host", "after"):
            for core in range(4):
                base = f"{place}/sys/devices/system/cpu/cpu{core}/cpufreq/"
                self.put(base + "scaling_cur_freq", f"{now_khz}\n")
                self.put(base + "cpuinfo_max_freq", f"{most_khz}\n")
                self.put(base + "scaling_governor", f"{governor}\n")

    def queues(self, count, irqs):
        for path in [p for p in self.files if p.startswith("host/sys/class")]:
            del self.files[path]
        base = "host/sys/class/net/eno1/"
        self.put(base + "ifindex", f"{IFINDEX}\n")
        self.put(base + "address", MAC.hex(":") + "\n")
        for i in range(count):
            self.put(f"{base}queues/rx-{i}/rps_cpus", "0\n")
            self.put(f"{base}queues/tx-{i}/tx_maxrate", "0\n")
        rows = ["            CPU0       CPU1       CPU2       CPU3       \n"]
        for irq, counts in irqs.items():
            self.put(f"{base}device/msi_irqs/{irq}", "msix\n")
            rows.append(f"{irq:>4}:" + "".join(f" {n:10}" for n in counts)
                        + f"  IR-PCI-MSIX-0000:00:1f.6    {irq - 120}-edge      eno1-TxRx-{irq - 120}\n")
        self.put("host/proc/interrupts", "".join(rows) + " NMI:          0          0          0          0   Non-maskable interrupts\n")

    def cores(self, ticks, receive):
        self.put("before/proc/stat", stat([(1000, 100, 9000)] * 4))
        self.put("after/proc/stat", stat([(1000 + b, 100 + s, 9000 + i) for b, s, i in ticks]))
        self.put("before/proc/softirqs", softirqs([100] * 4))
        self.put("after/proc/softirqs", softirqs([100 + n for n in receive]))

    def soft(self, dropped, squeezed=0):
        self.put("before/proc/thread-self/net/softnet_stat", softnet(7))
        self.put("after/proc/thread-self/net/softnet_stat", softnet(7 + dropped, squeezed))

    def memory(self, pages, pressures=0, pruned=0):
        for when, level, count, lost in (("before", 280, 0, 0), ("after", pages, pressures, pruned)):
            self.put(f"{when}/proc/thread-self/net/sockstat", sockstat(level))
            self.put(f"{when}/proc/thread-self/net/netstat", netstat(count, lost))

    def wifi(self, signal, bitrate, frequency, width, retries):
        self.hex("interface", wireless(frequency, width))
        self.hex("station-before", station(signal, bitrate // 4, 1000, 10, 0))
        self.hex("station-after", station(signal, bitrate, 31000, 10 + int(30000 * retries), 3))
        for name in ("linkmodes", "rings", "pause"):
            del self.files[f"{name}.hex"]


def limited(cause, segment):
    return {"state": "limited", "cause": cause, "segment": segment}


RX = {"rx_packets": 250000, "tx_packets": 100000, "rx_bytes": 4e8}
FULL = flow(938e6, 20.1e6, 49.7e6, lost=227)
LOSSY = flow(250e6, 5e6, 5.1e6, lost=14, many_bps=900e6)


def main():
    case = Case("healthy", "a full path, and a host that is not to blame", "nic-ring", FULL,
         {"result": "ruled-out", "others": ["capacity", "nic-at-best"],
                 "verdict": limited("nic-at-best", "near-host")})

    case.write()
    case = Case("ring-full", "the receive ring of a gigabit card is full", "nic-ring", LOSSY,
                {"result": "found", "severity": "limits", "remedy": "ethtool -G eno1 rx 4096",
                 "others": [], "verdict": limited("nic-ring", "near-host")})
    case.counters("after", {**RX, "rx_missed_errors": 15, "rx_errors": 15}, igb(rx_missed_errors=15))

    case.write()
    case = Case("paused-by-the-switch", "the switch pauses the sender's card", "pause-frames-sender",
                flow(300e6, 2e6, 2.2e6),
                {"result": "found", "severity": "limits", "others": ["capacity"],
                 "verdict": limited("pause-frames", "lan")}, direction="upload")
    case.counters("after", RX, igb(rx_flow_control_xoff=900, rx_flow_control_xon=900))
    case.hex("pause", pause(1))

    case.write()
    case = Case("half-duplex", "the switch port is fixed, the card guessed half duplex",
                "duplex-mismatch-receiver", flow(12e6, 1e6, 1.4e6, lost=200, many_bps=13e6),
                {"result": "found", "severity": "limits",
                 "verdict": limited("duplex-mismatch", "near-host")})
    case.hex("linkmodes", linkmodes(100, 0, partner=("100baseT/Half",)))
    case.counters("after", {**RX, "collisions": 900, "tx_window_errors": 60},
                  igb(tx_abort_late_coll=60))

    case.write()
    case = Case("low-speed", "a gigabit card at 100 Mb/s after a damaged pair", "nic-speed-receiver",
                flow(93.9e6, 2e6, 6e6, lost=12),
                {"result": "found", "severity": "limits", "ceiling_bps": [92e6, 96e6],
                 "verdict": limited("nic-speed", "near-host")})
    case.hex("linkmodes", linkmodes(100, 1))

    case.write()
    case = Case("allowance-used-up", "a cloud machine beyond its inbound bandwidth",
                "cloud-allowance-receiver", flow(480e6, 5e6, 5.2e6, lost=900),
                {"result": "found", "severity": "limits",
                 "verdict": limited("cloud-allowance", "near-host")})
    case.counters("before", {}, ena(bw_in_allowance_exceeded=40000))
    case.counters("after", RX, ena(bw_in_allowance_exceeded=41200))

    case.write()
    case = Case("wifi-weak", "a laptop far from its access point", "wifi-receiver",
                flow(33e6, 5e6, 20e6, lost=20),
                {"result": "found", "severity": "limits", "segment": "lan",
                 "ceiling_bps": [38e6, 40e6], "verdict": limited("wifi", "lan")})
    case.wifi(-74, 650, 2437, 1, 0.3)

    case.write()
    # Its air may be shared: only hops could place the queue.
    case = Case("wifi-good", "good Wi-Fi before a slow path", "wifi-receiver",
                flow(47.9e6, 20.4e6, 39.6e6, lost=12),
                {"result": "cannot-tell", "verdict": limited("capacity", "path")})
    case.wifi(-48, 8667, 5180, 3, 0.02)

    case.write()
    case = Case("interrupts-on-one-core", "one queue, one core, and it is full", "rx-imbalance",
                flow(930e6, 0.3e6, 0.4e6, thread=0.3),
                {"result": "found", "severity": "limits", "remedy": "rps_cpus",
                 "verdict": limited("rx-imbalance", "near-host")})
    case.queues(1, {120: [0, 900000, 0, 0]})
    case.cores([(20, 5, 475), (30, 465, 5), (100, 0, 400), (30, 0, 470)], [60, 90000, 20, 10])
    case.hex("linkmodes", linkmodes(10000, 1))

    case.write()
    case = Case("power-saving", "a full processor at a third of its clock", "power-saving-receiver",
                flow(930e6, 0.3e6, 0.4e6, thread=0.98),
                {"result": "found", "severity": "contributes",
                 "verdict": limited("cpu", "near-host")})
    case.clock("powersave", 1600000, 4800000)
    case.cores([(480, 15, 5)] + [(20, 5, 475)] * 3, [4000, 4100, 3900, 4050])
    case.hex("linkmodes", linkmodes(10000, 1))

    case.write()
    case = Case("damaged-frames", "a bad patch cable", "link-errors-receiver",
                flow(11e6, 40e6, 40.4e6, lost=5, many_bps=80e6),
                {"result": "found", "severity": "limits", "ceiling_bps": [8e6, 14e6],
                 "verdict": limited("link-errors", "near-host")})
    case.counters("after", {"rx_packets": 4750, "tx_packets": 2400, "rx_bytes": 7e6,
                            "rx_crc_errors": 4, "rx_errors": 5}, igb(rx_crc_errors=4, rx_align_errors=1))

    case.write()
    case = Case("backlog-full", "a backlog of eight packets", "softnet-drops", LOSSY,
                {"result": "found", "severity": "limits", "others": [],
                 "remedy": "sysctl -w net.core.netdev_max_backlog=4000",
                 "verdict": limited("softnet-drops", "near-host")})
    case.put("host/proc/sys/net/core/netdev_max_backlog", "8\n")
    case.soft(16, 40)

    case.write()
    case = Case("tcp-memory", "other connections hold all TCP memory", "tcp-memory-receiver",
                flow(40e6, 20e6, 20.2e6, many_bps=41e6, ledger=(0.005, 0, 0.7)),
                {"result": "found", "severity": "limits",
                 "verdict": limited("tcp-memory", "near-host")})
    case.memory(119800, pressures=4, pruned=2)
    case.write()


main()
