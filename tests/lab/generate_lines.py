"""Makes up whole lines as people have them: the numbers of both directions, of what waits, of grants,
jitter and of other people together, by the kind of the line, with a fault of generate_faulted.py or
none behind it. Seeded as generate.py, and what is true of each comes from oracle.py.

generate_faulted.py has one thing at a time beside a fault: here it is what comes with a line."""
import random

import generate_faulted as faulted
from generate import Maker, bytes_of, log_uniform, rate_text, rates_text


def two_ways(down_bps, up_bps, delay_ms):
    return f"down.rate={rate_text(down_bps)} up.rate={rate_text(up_bps)} delay={delay_ms:.3g}ms"


def queues(m, down_bps, up_bps, down_s, up_s):
    """As long as modems have them: so many seconds of each direction's rate, from and to."""
    return (f" down.queue={bytes_of(down_bps, m.uniform(*down_s))}"
            f" up.queue={bytes_of(up_bps, m.uniform(*up_s))}")


def set_line(m, rtt_ms, down_bps, up_bps):
    """Faults are drawn for these; returns the rate where the data goes."""
    m.rtt_ms, m.rate = rtt_ms, down_bps if m.down else up_bps
    return m.rate


def cable(m):
    """DOCSIS: the way up waits for grants, and its queue is long or managed by PIE (RFC 8034)."""
    down = log_uniform(m.chance, 50e6, 600e6)
    up = down / m.uniform(8, 20)
    rate = set_line(m, m.uniform(10, 50), down, up)
    managed = " up.aqm=pie" if m.chance.random() < 0.4 else ""
    return faulted.Path(f"{two_ways(down, up, m.rtt_ms / 2)} up.grants={m.uniform(2, 6):.2g}ms"
                        f"{queues(m, down, up, (0.04, 0.1), (0.1, 0.4))}{managed}",
                        (0.7 if managed and not m.down else 1) * rate)


def fibre(m):
    """GPON: grants of a fraction of a millisecond, both ways much the same."""
    down = log_uniform(m.chance, 100e6, 800e6)
    up = down * m.chance.choice([0.2, 0.5, 1])
    rate = set_line(m, log_uniform(m.chance, 3, 120), down, up)
    return faulted.Path(f"{two_ways(down, up, m.rtt_ms / 2)} up.grants={m.uniform(0.2, 1):.2g}ms", rate)


def dsl(m):
    """PPPoE, slow upwards, with a queue of some tenths of a second there."""
    down = log_uniform(m.chance, 8e6, 120e6)
    up = max(0.7e6, down / m.uniform(4, 12))
    rate = set_line(m, m.uniform(18, 80), down, up)
    return faulted.Path(f"{two_ways(down, up, m.rtt_ms / 2)} pppoe=on"
                        f"{queues(m, down, up, (0.05, 0.2), (0.1, 0.6))}", rate)


def mobile(m):
    """A radio link both ways, with grants upwards."""
    low = log_uniform(m.chance, 6e6, 30e6)
    high, up = low * m.uniform(2, 6), low / 4
    m.rtt_ms = m.uniform(30, 80)
    back = f"up.radio={rates_text(up, up * 4)} up.queue={bytes_of(up * 4, 0.2)}"
    return faulted.Path(f"down.radio={rates_text(low, high)}"
                        f" down.queue={bytes_of(high, m.uniform(0.15, 0.4))} {back}"
                        f" up.grants={m.uniform(3, 8):.2g}ms delay={m.rtt_ms / 2:.3g}ms",
                        0.5 * (low if m.down else up))


def office(m):
    """A shared line with the others' work on it, a tenth of it and more in the mean."""
    words = faulted.line(m)
    mean = m.rate * m.uniform(0.1, 0.4)
    burst = ""
    if m.chance.random() < 0.5:
        on, off = m.uniform(0.2, 2), m.uniform(0.2, 2)
        mean = min(mean * (on + off) / on, 0.95 * m.rate)
        burst = f" {m.way()}cross-burst={on:.2g}s/{off:.2g}s"
    return faulted.Path(f"{words} {m.way()}cross={rate_text(mean)}{burst}", 0.5 * m.rate)


def tunnel(m):
    """A VPN over somebody's line: packets of less than 1450 bytes, and some jitter."""
    words = faulted.line(m, m.chance.choice([0.1, 0.5, 1]))
    length = m.packet_bytes = m.chance.choice([1400, 1420, 1436, 1380])
    return faulted.Path(f"{words} wan-mtu={length} {faulted.either_way(m)}"
                        f"jitter={m.uniform(0.3, 3):.2g}ms", m.rate)


def satellites(m):
    """A low orbit, 15 s a satellite, both ways."""
    low = log_uniform(m.chance, 30e6, 80e6)
    high = low * m.uniform(1.5, 4)
    m.rtt_ms = m.uniform(25, 60)
    return faulted.Path(f"down.leo={rates_text(low, high)} down.queue={bytes_of(high, 0.08)}"
                        f" up.leo={rates_text(low / 5, high / 5)} up.queue={bytes_of(high / 5, 0.1)}"
                        f" delay={m.rtt_ms / 2:.3g}ms", low if m.down else low / 5)


def long_way(m):
    """Another continent: the way is long, the line fast."""
    down = log_uniform(m.chance, 50e6, 400e6)
    rate = set_line(m, m.uniform(120, 300), down, down)
    return faulted.Path(f"rate={rate_text(down)} delay={m.rtt_ms / 2:.3g}ms"
                        f" {faulted.either_way(m)}jitter={m.uniform(0.1, 1):.2g}ms", rate)


def household(m):
    """Somebody else's transfers the other way, one to three."""
    down = log_uniform(m.chance, 16e6, 300e6)
    up = max(1e6, down / m.uniform(2, 20))
    rate = set_line(m, m.uniform(8, 60), down, up)
    return faulted.Path(f"{two_ways(down, up, m.rtt_ms / 2)}"
                        f"{queues(m, down, up, (0.05, 0.2), (0.05, 0.4))}"
                        f" {m.way(False)}others={m.chance.randrange(1, 4)}", rate)


LINES = [cable, fibre, dsl, mobile, office, tunnel, satellites, faulted.wifi, long_way, household]
OF_CHANGING_RATE = {mobile, satellites, faulted.wifi}
# What the emulator does not put together, or what is another fault than its name says there.
NOT_ON = {faulted.shaper: OF_CHANGING_RATE | {office, cable},
          faulted.short_queue: OF_CHANGING_RATE | {office, cable, dsl}}


def fault_for(m, line):
    """A third of the lines have none, beside those that draw no_fault. Where others make the way longer
    no number tells what limits, a fault or they."""
    if m.chance.random() < 1 / 3 or line is household:
        return faulted.no_fault
    return m.chance.choice([f for f in faulted.FAULTS if line not in NOT_ON.get(f, ())])


def generate_lines(seed, count):
    """`count` rows; lines in turn, faults by chance, half of the hosts as installed."""
    for i in range(count):
        m = Maker(random.Random(f"{seed}/lines/{i}"))
        line = LINES[i % len(LINES)]
        path, fault = line(m), fault_for(m, line)
        is_stock = m.chance.random() < 0.5
        yield faulted.row(m, fault, line, path, f"{seed}.{i}", "lines", is_stock)
