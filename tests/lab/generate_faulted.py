"""Makes up faults on paths that change by themselves: what people have who complain. A fault
of FAULTS is drawn behind a nature of NATURES; no recording is needed. Seeded as generate.py,
and what is true of each comes from oracle.py.

A nature gives the path and the rate that it carries at its worst: the fault is drawn to lie
well below that, so that it is the fault and not the path that limits."""
import random

from generate import STOCK, Maker, bytes_of, log_uniform, rate_text, rates_text


class Path:
    """The words of a nature; `low` bit/s is what it carries at its worst."""

    def __init__(self, words, low):
        self.words, self.low = words, low


def varying_link(m, model, low, high, queue_s, carried):
    """A link of a changing rate where the data goes, a steady one for what comes back."""
    data, acks = m.way(), m.way(False)
    words = (f"{data}{model}={rates_text(low, high)} {data}queue={bytes_of(high, queue_s)}"
             f" {acks}rate=20M delay={m.rtt_ms / 2:.3g}ms")
    return Path(words, carried * low)


def radio(m):
    low = log_uniform(m.chance, 8e6, 25e6)
    m.rtt_ms = m.uniform(30, 90)
    return varying_link(m, "radio", low, low * m.uniform(2, 6), 0.3, 0.5)


def orbit(m):
    low = log_uniform(m.chance, 30e6, 80e6)
    m.rtt_ms = m.uniform(25, 60)
    return varying_link(m, "leo", low, low * m.uniform(1.5, 3), 0.08, 1)


def wifi(m):
    m.rtt_ms = m.uniform(10, 60)
    air = f"{rate_text(m.uniform(100e6, 300e6))}/{m.chance.randrange(0, 3)}/5%"
    return Path(f"{m.way()}wifi={air} {m.way(False)}wifi=150M/1/5% queue=400kB"
                f" delay={m.rtt_ms / 2:.3g}ms", 25e6)


def line(m, back=1.0):
    """A link of one rate; `back` is the other direction's share of it."""
    m.rtt_ms, m.rate = log_uniform(m.chance, 8, 120), log_uniform(m.chance, 20e6, 200e6)
    return (f"{m.way()}rate={rate_text(m.rate)} {m.way(False)}rate="
            f"{rate_text(max(1e6, m.rate * back))} delay={m.rtt_ms / 2:.3g}ms")


def either_way(m):
    return m.chance.choice([m.way(), m.way(False), ""])


def grants(m):
    words = line(m)
    return Path(f"{words} {m.chance.choice(['up.', 'down.'])}grants={m.uniform(3, 10):.2g}ms", m.rate)


def jitter(m):
    words = line(m)
    return Path(f"{words} {either_way(m)}jitter={m.uniform(1, 8):.2g}ms", m.rate)


def wander(m):
    words = line(m)
    return Path(f"{words} {either_way(m)}wander={m.uniform(2, 10):.2g}ms/{m.uniform(5, 80):.0f}ms",
                m.rate)


def scatter(m):
    words = line(m)
    return Path(f"{words} {m.chance.choice(['up.', 'down.'])}scatter={m.uniform(0.3, 2):.2g}ms",
                0.5 * m.rate)


def managed(m):
    words = line(m)
    kind = m.chance.choice(["codel", "fq-codel", "pie"])
    return Path(f"{words} {m.way()}aqm={kind} {m.way()}queue={bytes_of(m.rate, 0.3)}", 0.7 * m.rate)


def dialled(m):
    words = line(m)
    return Path(f"{words} pppoe=on", m.rate)


def beside_others(m):
    words = line(m)
    return Path(f"{words} {m.way()}cross={rate_text(m.rate * m.uniform(0.1, 0.3))}", 0.6 * m.rate)


def slow_back(m):
    words = line(m, back=1 / 15)
    return Path(words, m.rate)


def slow_granted_back(m):
    words = line(m, back=1 / 10)
    return Path(f"{words} {m.way(False)}grants={m.uniform(4, 9):.2g}ms", m.rate)


OF_ONE_RATE = [grants, jitter, wander, scatter, dialled, beside_others, slow_back, slow_granted_back]
NATURES = OF_ONE_RATE + [radio, orbit, wifi, managed]


def window_bytes(m, path):
    """What a fault's share of the path's rate keeps on the way."""
    return path.low * m.uniform(0.2, 0.5) * m.rtt_ms / 1e3 / 8


def token_bps(m, path):
    return path.low * m.uniform(0.2, 0.5)


def receive_window(m, path):
    return f"{m.receiver()}rmem={max(12, window_bytes(m, path) / 0.62 / 1024):.0f}KiB"


def send_buffer(m, path):
    return f"{m.sender()}wmem={max(32, window_bytes(m, path) / 1.5 / 1024):.0f}KiB"


def window_scaling(m, _path):
    return f"{m.chance.choice(['near.', 'far.'])}wscale=off"


def random_loss(m, path):
    segments = window_bytes(m, path) / 1448
    return f"{m.way()}loss={min(0.03, max(0.0008, (1.22 / segments) ** 2)):.5f}"


def burst_loss(m, _path):
    return (f"{m.way()}burst-loss={log_uniform(m.chance, 0.0002, 0.001):.5f}/"
            f"{m.uniform(0.15, 0.4):.2f}")


def member_loss(m, _path):
    return f"{m.way()}port-loss=1/{m.chance.choice([2, 4])}:{m.uniform(1, 4):.1f}%"


def policer(m, path):
    token = token_bps(m, path)
    burst = max(20e3, token / 8 * m.uniform(0.01, 0.05))
    return f"{m.way()}policer={rate_text(token)}/{burst / 1e3:.0f}kB"


def flow_policer(m, path):
    token = token_bps(m, path) / 2
    return f"{m.way()}flow-policer={rate_text(token)}/{max(20e3, token / 8 * 0.03) / 1e3:.0f}kB"


def shaper(m, path):
    token = token_bps(m, path)
    return f"{m.way()}shaper={rate_text(token)}/{token / 8 * m.uniform(0.4, 1.2) / 1e6:.2f}MB"


def short_queue(m, path):
    bdp = path.low * m.rtt_ms / 1e3 / 8
    return f"{m.way()}queue={max(9e3, bdp * m.uniform(0.03, 0.15)) / 1e3:.0f}kB"


def black_hole(m, _path):
    return f"{m.way()}maxlen={m.chance.randrange(1280, min(1480, m.packet_bytes), 4)}"


def no_fault(_m, _path):
    return ""


FAULTS = [receive_window, send_buffer, window_scaling, random_loss, burst_loss, member_loss, policer,
          flow_policer, shaper, short_queue, black_hole, no_fault]


# Faults that belong to some natures alone: a queue of its own is what the others have, and the
# emulator has no shaper on a link of a changing rate, a managed queue or one with cross traffic.
BEHIND = {short_queue: OF_ONE_RATE, shaper: [n for n in OF_ONE_RATE if n is not beside_others]}


def named(*parts):
    return "-".join(part.__name__.replace("_", "-") for part in parts)


def row(m, fault, nature, path, number, family, is_stock):
    """What the matrix runs; number: SEED.I, by which it is drawn again."""
    spec = f"{path.words} {fault(m, path)}".strip()
    return {"name": f"{named(fault, nature)}-{number}" + ("-stock" if is_stock else ""),
            "spec": spec + (STOCK if is_stock else ""),
            "direction": "download" if m.down else "upload", "goal_bps": 0,
            "kind": fault.__name__, "family": family, "stock": is_stock}


def generate_faulted(seed, count):
    """`count` rows; faults in turn, natures by chance, half of the hosts as installed."""
    for i in range(count):
        m = Maker(random.Random(f"{seed}/faulted/{i}"))
        fault = FAULTS[i % len(FAULTS)]
        nature = m.chance.choice(BEHIND.get(fault, NATURES))
        is_stock = m.chance.random() < 0.5
        yield row(m, fault, nature, nature(m), f"{seed}.{i}", "faulted", is_stock)
