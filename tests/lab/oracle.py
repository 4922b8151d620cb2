"""What is true of an emulated path, computed from its specification alone.

Nothing here looks at what tightlink measured or how it judges. Every cause that the
specification contains becomes a rung: a range of payload rates that it alone would allow.
The lowest rung is the truth. Rungs that overlap, or lie within 15 % of each other, are all
accepted: which of them is lower is then a matter of chance.

The models and where they come from:
  capacity   rate x payload / packet; 1448 of 1500 bytes for TCP over IPv4 with timestamps
  windows    window / RTT, in whole segments, over a round trip that is as long as its jitter at
             most makes it; Linux advertises between 0.45 and 0.85 of tcp_rmem's maximum. Of
             tcp_wmem's maximum it keeps 0.72 (4 MiB) to 3.1 times (100 KiB) in flight: overhead
             counts, and the last segments of 64 KiB are let in whole, of which half is on the way in
             the mean
  loss       Mathis 1997 for reno, RFC 9438 section 5.1 for cubic, none for BBR; a range,
             because single runs of some seconds stray far from the mean
  ack path   one acknowledgement of 52 to 72 bytes for two segments, fewer with GRO
  traces     what single seconds of the recording carry, 10th to 90th percentile
  radio, LEO between half of the lowest and the highest rate
  Wi-Fi      the share of the air that contention leaves, and what four failed attempts lose
  others     a fair share of the link, within a factor: flows of other round trips get another
             one; TCP's share of a link that CoDel, PIE or RED manages is no less than 70 %

What has no rate of its own but may rightly be named all the same (an outage in the middle) is
kept apart from the rungs: no interval is so wide that it accepts everything.
"""
import functools
import pathlib

from specification import Path, disk_rate, off, rate, ratio, size, span

AMBIGUOUS = 1.15
MTU = 1500
QUEUE_MIN = 32 * MTU  # bytes: what the lab gives a link at least
FASTEST = 1e12  # bits per second: no bound
OUTAGE_S = 0.3  # what lasts as long is a finding
DEAD_S = 2.5  # and that the verdict, where no rate beside it tells more


class Rung:
    """A cause, where it lies and the payload rates it allows; no rate for a cause that
    stops everything or cannot be put into a number."""

    def __init__(self, cause, segment, low=None, high=None, number=True):
        self.cause, self.segment, self.low, self.high = cause, segment, low, high
        self.number = number  # whether low and high bound a ceiling that is reported

    def __repr__(self):
        return f"{self.cause}@{self.segment}[{self.low}..{self.high}]"


class Truth:
    def __init__(self):
        self.rungs = []  # all that the specification contains
        self.accept = []  # rungs that may be named as the limit
        self.also_right = []  # the same, without a rate of their own: an outage
        self.when_filled = []  # the same, where the transfer itself got all of the link
        self.beside = set()  # causes with ground to be called contributing, or noted
        self.notes = set()  # causes that should at least be noted
        self.state = "limited"
        self.swollen = False  # a queue that delays by 200 ms where a transfer fills it
        self.why_invalid = False  # saying "invalid, because ..." is right, too


def loss_window(p, rtt, cc):
    reno = 1.22 / p ** 0.5
    return max(reno, 1.054 * (rtt / p) ** 0.75) if cc == "cubic" else reno


def loss_rate(p, rtt, cc, segment_bytes=1448):
    return loss_window(p, max(rtt, 1e-3), cc) * segment_bytes * 8 / max(rtt, 1e-3)


def payload_share(path, sender, receiver, data):
    header = (40 if path.family() == 4 else 60)
    stamps = 0 if any(off(h, "timestamps") for h in (sender, receiver)) else 12
    packet = MTU
    for _, settings in data:
        if "mss" in settings:
            packet = min(packet, float(settings["mss"]) + header)
        if "clamp" in settings:
            packet = min(packet, float(settings["clamp"]))
    if path.lab.get("wan-mtu") and path.lab.get("icmp") not in ("off", "silent"):
        packet = min(packet, float(path.lab["wan-mtu"]))
    return (packet - header - stamps) / packet, packet - header - stamps


def send_share(window, share, kib):
    """Bits that a send buffer of so many bytes keeps in flight: a share, and whole segments."""
    return 8 * (share * window + kib * 1024)


def whole_segments(window, segment_bytes):
    """A sender sends whole segments into a window: what a small one leaves over stays unused."""
    return max(1, window // segment_bytes) * segment_bytes


def host_rungs(path, truth, sender, receiver, ends, segment_bytes):
    sender_at, receiver_at = ends
    # With the proxy, the half beside c has its own round trip; the far half has buffers of
    # 64 MiB at the proxy.
    rtt = {e: path.near_rtt() if path.lab.get("split") == "on" and e == "near-host" else path.rtt()
           for e in ends}
    stripped = any("wscale" in s.get("strip", "") for w in ("up", "down") for _, s in path.way(w))
    receive_rtt, send_rtt = max(rtt[receiver_at], 1e-4), max(rtt[sender_at], 1e-4)
    if "rmem" in receiver:
        window = size(receiver["rmem"])
        least = whole_segments(0.40 * window, segment_bytes)
        truth.rungs.append(Rung("receive-window", receiver_at,
                                least * 8 / (receive_rtt + path.longest_jitter()),
                                0.85 * window * 8 / receive_rtt))
    if "wmem" in sender:
        window = size(sender["wmem"])
        truth.rungs.append(Rung("send-buffer", sender_at,
                                send_share(window, 0.65, 32) / (send_rtt + path.longest_jitter()),
                                send_share(window, 1.1, 320) / send_rtt, number=False))
    plain_window = 65535 * 8 / receive_rtt
    least_plain = 0.9 * 65535 * 8 / (receive_rtt + path.longest_jitter())
    for host, at in ((sender, sender_at), (receiver, receiver_at)):
        if off(host, "wscale"):
            truth.rungs.append(Rung("window-scaling-off", at, least_plain, plain_window))
    if stripped:
        truth.rungs.append(Rung("option-stripping", None, least_plain, plain_window))
    for host, at, verb in ((sender, sender_at, "read"), (receiver, receiver_at, "write")):
        held = disk_rate(host.get("disk", ""), verb)
        if held:
            truth.rungs.append(Rung("disk-" + verb, at, 0.94 * held, 1.06 * held))
    for host, at in ((sender, sender_at), (receiver, receiver_at)):
        if "cpu" in host:
            share = ratio(host["cpu"])
            truth.rungs.append(Rung("cpu", at, 0.8e9 * share, 40e9 * share, number=False))


def loss_rungs(path, truth, prefix, s, cc, rtt, segment_bytes, sack_off, host_at):
    where = path.segment(prefix)
    causes = [("random-loss", ratio(s["loss"])) if "loss" in s else None,
              ("random-loss", air_rate(s["wifi"])[1]) if "wifi" in s else None,
              ("burst-loss", ratio(s["burst-loss"].split("/")[0])) if "burst-loss" in s else None,
              ("corruption", ratio(s["corrupt"])) if "corrupt" in s else None]
    for cause, p in filter(None, causes):
        if p <= 0:
            continue
        if cc == "bbr":
            truth.beside |= {cause, "random-loss"}
            if p > 0.001:
                truth.notes.add(cause)
            continue
        model = loss_rate(p, rtt, cc, segment_bytes)
        slowest = loss_rate(p, rtt + path.longest_jitter(), cc, segment_bytes)
        truth.beside.add("random-loss")
        if sack_off:
            truth.rungs.append(Rung("sack-off", host_at, 0.1 * model, 3 * model, number=False))
        elif cause == "burst-loss":
            truth.rungs.append(Rung("burst-loss", where, 0.4 * slowest, 5 * model, number=False))
        else:
            truth.rungs.append(Rung(cause, where, 0.5 * slowest, 4 * model, number=False))


@functools.lru_cache
def trace_gap(name):
    """The longest time of a recording in which nothing may leave, in seconds."""
    times = [int(line) for line in pathlib.Path(name).read_text().splitlines()
             if line.strip() and not line.startswith("#")]
    return max((b - a for a, b in zip([0, *times], times)), default=0) / 1e3


@functools.lru_cache
def trace_rates(name):
    """(10th percentile, mean, 90th percentile) of a recording's whole seconds, bit/s."""
    times = [int(line) for line in pathlib.Path(name).read_text().splitlines()
             if line.strip() and not line.startswith("#")]
    seconds = [0] * max(1, times[-1] // 1000)
    for at in times:
        if at // 1000 < len(seconds):
            seconds[at // 1000] += 1504 * 8
    seconds.sort()
    last = len(seconds) - 1
    return seconds[round(0.1 * last)], sum(seconds) / len(seconds), seconds[round(0.9 * last)]


def air_turn(level_bps, floor_bps, others, failing):
    """(bits, seconds) in the mean of one turn on the air that starts at this rate: failed
    attempts cost a frame's time each, widen the window and halve the turn's rate."""
    gap, slot, frame = 34e-6, 9e-6, 1.4e-3
    bits = seconds = 0.0
    for failures in range(4):
        chance = failing ** failures * (1 - failing if failures < 3 else 1)
        bps = max(level_bps / 2 ** failures, min(level_bps, floor_bps))
        carried = min(64e3 * 8, bps * 4e-3) // (MTU * 8) * MTU * 8
        contention = sum(gap + slot * 8 * 2 ** i + others * (gap + frame)
                         for i in range(failures + 1))
        bits += chance * carried
        seconds += chance * (contention + failures * frame + carried / bps)
    return bits, seconds


def air_rate(setting):
    """What one station gets of shared air (src/lab/server.c), bit/s, and the loss behind it.
    Each of five rates holds for as long as the others in the mean."""
    air, others, failing = setting.split("/")
    air, others, failing = rate(air), int(others), ratio(failing)
    shares = (1, 0.78, 0.58, 0.39, 0.29)
    turns = [air_turn(air * share, air * 0.29 / 4, others, failing) for share in shares]
    return sum(bits / seconds for bits, seconds in turns) / len(turns), failing ** 4


def service(s):
    """(low, typical, high) of what a link carries, bit/s of IP; None for a plain wire."""
    if "trace" in s:
        return trace_rates(s["trace"])
    if "radio" in s or "leo" in s:
        low, high = map(rate, (s.get("radio") or s["leo"]).split("-"))
        return 0.5 * low, (low * high) ** 0.5, high
    if "wifi" in s:
        typical, _ = air_rate(s["wifi"])
        return 0.4 * typical, typical, 2 * typical
    if "rate" in s:
        wire = rate(s["rate"])
        return 0.92 * wire, wire, 1.005 * wire
    return None


def others_rung(truth, s, where, wire, share):
    """What is left beside connections of others."""
    count = int(s.get("others", s.get("cross-flows", 0)))
    duty = 1.0
    if "others-burst" in s:
        sending, resting = map(span, s["others-burst"].split("/"))
        duty = sending / (sending + resting)
    fair = wire / (1 + count * duty)
    truth.rungs.append(Rung("cross-traffic", where, 0.1 * fair * share,
                            min(wire, 3 * fair) * share, number=False))
    truth.beside |= {"capacity", "shallow-buffer", "bufferbloat"}
    if count * duty < 1:
        truth.rungs.append(Rung("capacity", where, fair * share, wire * share, number=False))
    if duty < 1 and "rate" in s:  # all may rest for as long as a transfer takes
        truth.when_filled.append(Rung("capacity", where, 0.92 * wire * share, 1.005 * wire * share))


def queue_notes(truth, s, service_bps, rtt):
    """What the queue alone does to delay."""
    low, typical, high = service_bps
    if "aqm" in s and s["aqm"] != "off":
        return
    if "trace" in s and "queue" not in s:
        queue = 256 * MTU
    else:
        queue = size(s["queue"]) if "queue" in s else max(high * rtt / 8, QUEUE_MIN)
    if queue * 8 / low > 0.1:
        truth.beside.add("bufferbloat")
    if queue * 8 / typical > 0.2:
        truth.swollen = True


def changing_rungs(path, truth, prefix, s, share, rtt):
    """A link whose rate is not one number, or whose queue is managed."""
    where = path.segment(prefix)
    low, typical, high = service(s)
    if "aqm" in s and s["aqm"] != "off":
        low *= 0.75
    queue_notes(truth, s, (low, typical, high), rtt)
    if "others" in s:
        others_rung(truth, s, where, typical, share)
    else:
        truth.rungs.append(Rung("capacity", where, low * share, high * share))
        truth.beside.add("capacity")
    if "rate" not in s:
        truth.beside |= {"variable-rate", "unstable-path"}
    if "trace" in s and trace_gap(s["trace"]) >= DEAD_S:
        truth.also_right.append(Rung("unstable-path", where, number=False))
    if ",ecn" in s.get("aqm", ""):
        truth.beside.add("ecn-marks")


def link_rungs(path, truth, prefix, s, share, rtt, cc):
    where = path.segment(prefix)
    if any(key in s for key in ("trace", "radio", "leo", "wifi", "aqm")):
        changing_rungs(path, truth, prefix, s, share, rtt)
    elif "rate" in s:
        wire = rate(s["rate"])
        free = wire
        if "cross" in s:
            sends, pauses = (span(text) for text in s.get("cross-burst", "1s/0").split("/"))
            part = sends / (sends + pauses)
            free = wire - part * min(rate(s["cross"]), 0.95 * wire)
            truth.rungs.append(Rung("cross-traffic", where, 0.85 * free * share,
                                    1.05 * free * share, number="cross-burst" not in s))
            truth.beside.add("capacity")
        elif "cross-flows" in s or "others" in s:
            others_rung(truth, s, where, wire, share)
        else:
            truth.rungs.append(Rung("capacity", where, 0.92 * wire * share, 1.005 * wire * share))
        queue = size(s["queue"]) if "queue" in s else wire * rtt / 8
        if "queue" not in s:
            queue = max(queue, QUEUE_MIN)
        if queue * 8 / wire > 0.1:
            truth.beside.add("bufferbloat")
        if queue * 8 / wire > 0.2:
            truth.swollen = True
        shared = "others" in s or "cross-flows" in s
        if cc != "bbr" and not shared and "queue" in s and queue < 0.5 * wire * rtt / 8:
            least, most = (0.01, 0.75) if queue < 0.1 * wire * rtt / 8 else (0.5, 0.95)
            truth.rungs.append(Rung("shallow-buffer", where, least * wire * share,
                                    most * wire * share, number=False))
            truth.beside.add("unpaced-bursts")
            if queue > 0.1 * wire * rtt / 8:
                truth.beside.add("capacity")
    if "policer" in s:
        token = rate(s["policer"].split("/")[0])
        truth.rungs.append(Rung("policer", where, 0.88 * token * share, 1.02 * token))
    if "shaper" in s:
        token = rate(s["shaper"].split("/")[0])
        truth.rungs.append(Rung("shaper-boost", where, 0.92 * token * share, 1.01 * token))
        truth.beside.add("bufferbloat")
    for key in ("flow-policer", "flow-shaper"):
        if key in s:
            token = rate(s[key].split("/")[0])
            truth.rungs.append(Rung("per-flow-limit", where, 0.85 * token * share, 1.02 * token))
            truth.beside |= {"policer", "bufferbloat"}
    if "port-loss" in s:
        model = loss_rate(ratio(s["port-loss"].split(":")[1]), rtt, cc)
        truth.rungs.append(Rung("ecmp-member", where, 0.3 * model, 4 * model, number=False))
        truth.beside |= {"random-loss", "capacity"}
    if "collision" in s:
        # Only a packet that comes while an acknowledgement of 4 us or so is on the wire collides:
        # some parts in a hundred of the time.
        model = loss_rate(ratio(s["collision"]) * 0.03, rtt, cc)
        truth.rungs.append(Rung("duplex-mismatch", None, 0.1 * model, 10 * model, number=False))
        truth.beside |= {"random-loss", "ack-path"}
    if "reorder" in s:
        truth.beside.add("reordering")
        truth.notes.add("reordering")
        if ratio(s["reorder"].split("/")[0]) > 0.002:
            most = rate(s["rate"]) * share if "rate" in s else 1e9 * share
            truth.rungs.append(Rung("reordering", where, 0.02 * most, most, number=False))
            truth.beside.add("capacity")


def mtu_rungs(path, truth, data):
    silent = path.lab.get("icmp") in ("off", "silent")
    wan = float(path.lab.get("wan-mtu", MTU))
    clamped = all(float(s.get("clamp", MTU)) <= wan for p, s in data if p in ("", "v6."))
    if wan < MTU:
        if silent and clamped:
            truth.beside |= {"mtu-low", "mss-clamp"}
        elif silent:
            truth.rungs.append(Rung("mtu-black-hole", "path", 0, 1e3, number=False))
        else:
            truth.notes.add("mtu-low")
            truth.beside.add("mtu-low")
    for prefix, s in data:
        if float(s.get("maxlen", MTU)) < min(wan, MTU):
            truth.rungs.append(Rung("mtu-black-hole", path.segment(prefix), 0, 1e3, number=False))
    for host in path.hosts.values():
        if float(host.get("mtu", MTU)) > float(host.get("lan-mtu", host.get("mtu", MTU))):
            truth.rungs.append(Rung("jumbo-mismatch", None, 0, 1e3, number=False))


def others_the_other_way(path, truth, prefix, s, data):
    """Their queue is in each round trip: what that leaves is no number. And what acknowledges their
    data, a packet of 66 bytes for two of 1514, takes its part of the link that carries ours."""
    truth.rungs.append(Rung("ack-path", path.segment(prefix), 0, FASTEST, number=False))
    theirs = service(s)[1] * 66 / (2 * 1514)
    for own_prefix, own in data:
        if "rate" in own and theirs > 0.05 * rate(own["rate"]):
            truth.rungs.append(Rung("cross-traffic", path.segment(own_prefix), 0, rate(own["rate"]),
                                    number=False))


def ack_rungs(path, truth, acks, data, segment_bytes):
    for prefix, s in acks:
        if service(s) and "cross" not in s:
            ack_bytes = 52 if path.family() == 4 else 72
            model = service(s)[0] / (ack_bytes * 8) * 2 * segment_bytes * 8
            truth.rungs.append(Rung("ack-path", path.segment(prefix), 0.5 * model, 3 * model,
                                    number=False))
        if "others" in s:
            others_the_other_way(path, truth, prefix, s, data)
        if "loss" in s and ratio(s["loss"]) > 0.05:
            truth.beside.add("ack-path")


def longest_outage(s):
    lengths = [span(s["dropout"].split("/")[1])] if "dropout" in s else []
    if "outage" in s:
        begin, end = map(span, s["outage"].split("-"))
        lengths.append(end - begin)
    return max(lengths, default=0)


def middleboxes(path, truth, acks, data):
    for _, s in [*acks, *data]:
        if "mss" in s:
            truth.notes.add("mss-clamp")
            truth.beside.add("mss-clamp")
        if "dscp" in s:
            truth.notes.add("dscp-bleached")
            truth.beside.add("dscp-bleached")
        if "strip" in s:
            truth.notes.add("option-stripping")
            truth.beside |= {"option-stripping", "window-scaling-off", "sack-off"}
        if "outage" in s or "delay-step" in s or "dropout" in s:
            truth.also_right.append(Rung("unstable-path", "path", number=False))
            truth.beside |= {"capacity", "unstable-path"}
            truth.why_invalid = "delay-step" in s
        if longest_outage(s) >= OUTAGE_S:
            truth.notes.add("unstable-path")
        if "clamp" in s:
            truth.beside.add("mss-clamp")
        if "v6." in {p for p, _ in path.links} or path.lab.get("family") == "both":
            truth.beside.add("family-difference")
    if path.lab.get("split") == "on":
        truth.notes.add("split-tcp")
        truth.beside.add("split-tcp")


def choose(truth):
    """The lowest rungs. What only stops a transfer or has no number wins where it is lowest."""
    if not truth.rungs:  # no link with a rate: the processors, which carry some Gb/s here
        truth.accept = [Rung("capacity", None, 1e9, 1e12, number=False),
                        Rung("cpu", None, 1e9, 1e12, number=False)]
        return
    lowest = min(truth.rungs, key=lambda r: r.high)
    truth.accept = [r for r in truth.rungs if r.low <= lowest.high * AMBIGUOUS] \
        + truth.also_right


def truth_of(spec, direction, goal_bps=0):
    """The truth about a transfer in that direction ("download" or "upload")."""
    path, truth = Path(spec), Truth()
    down = direction == "download"
    near, far = path.hosts["near"], path.hosts["far"]
    sender, receiver = (far, near) if down else (near, far)
    ends = ("far-host", "near-host") if down else ("near-host", "far-host")
    data, acks = path.way("down" if down else "up"), path.way("up" if down else "down")
    share, segment_bytes = payload_share(path, sender, receiver, data)
    cc, rtt = sender.get("cc", "cubic"), path.rtt()
    stripped_sack = any("sack" in s.get("strip", "") for _, s in [*data, *acks])
    sack_off = off(near, "sack") or off(far, "sack")
    host_rungs(path, truth, sender, receiver, ends, segment_bytes)
    for prefix, s in data:
        link_rungs(path, truth, prefix, s, share, rtt, cc)
        loss_rungs(path, truth, prefix, s, cc, rtt, segment_bytes, sack_off,
                   "near-host" if off(near, "sack") else "far-host")
        if stripped_sack and "loss" in s:
            model = loss_rate(ratio(s["loss"]), rtt, cc)
            truth.rungs.append(Rung("option-stripping", None, 0.1 * model, 3 * model,
                                    number=False))
    mtu_rungs(path, truth, data)
    ack_rungs(path, truth, acks, data, segment_bytes)
    middleboxes(path, truth, acks, data)
    choose(truth)
    if truth.swollen and cc != "bbr" and {r.cause for r in truth.accept} == {"capacity"}:
        truth.notes.add("bufferbloat")
    if goal_bps > 0 and all(r.low > goal_bps for r in truth.rungs if r.low is not None):
        truth.state = "goal-met"
    # What limits next, or might, has ground to be named beside.
    truth.beside |= {r.cause for r in truth.accept}
    return truth
