"""Makes up paths of the kinds in the scenarios, with other numbers: seeded, so that a list
can be made again. What is true of each comes from oracle.py.

Steady paths (generate) are those of an emulator with fixed numbers. Changing paths
(generate_changing) are those that people have: families, each with several kinds. Faults on
changing paths are made by generate_faulted.py."""
import math
import pathlib
import random


def log_uniform(chance, low, high):
    return math.exp(chance.uniform(math.log(low), math.log(high)))


def rate_text(bps):
    return f"{float(f'{bps / 1e6:.3g}'):g}M"  # "1000M", which ".3g" alone would write as "1e+03M"


class Maker:
    """One path: what every kind draws first, and a kind's own keys."""

    def __init__(self, chance):
        self.chance = chance
        self.down = chance.random() < 0.6
        self.rtt_ms = log_uniform(chance, 1, 600)
        # A window of 30 MB is what 64 MiB of buffer carries; and the emulator's own limit.
        most = min(800e6, 20e6 * 8 / (self.rtt_ms / 1e3))
        self.rate = log_uniform(chance, 2e6, max(most, 4e6))
        self.v6 = chance.random() < 0.25
        self.packet_bytes = 1500  # the longest that gets as far as a fault of this path

    def uniform(self, low, high):
        return self.chance.uniform(low, high)

    def way(self, data=True):
        """The prefix of the direction that carries data, or acknowledgements."""
        return "down." if self.down == data else "up."

    def receiver(self):
        return "near." if self.down else "far."

    def sender(self):
        return "far." if self.down else "near."

    def base(self, at=""):
        text = f"rate={rate_text(self.rate)} delay={self.rtt_ms / 2:.3g}ms"
        return text + (" family=6" if self.v6 else "") + at

    def window_for(self, share):
        """A receive buffer (KiB) whose usable part carries this share of the rate."""
        return self.rate * share * self.rtt_ms / 1e3 / 8 / 0.62 / 1024


def receive_window(m):
    m.rtt_ms = max(m.rtt_ms, 5)
    kib = max(8, m.window_for(log_uniform(m.chance, 0.02, 0.6)))
    return m.base(f" {m.receiver()}rmem={kib:.0f}KiB")


def send_buffer(m):
    m.rtt_ms, m.rate = max(m.rtt_ms, 15), max(m.rate, 40e6)
    kib = max(32, m.window_for(0.62 * log_uniform(m.chance, 0.01, 0.08)))
    return m.base(f" {m.sender()}wmem={kib:.0f}KiB")


def window_scaling(m):
    m.rtt_ms = max(m.rtt_ms, 10)
    m.rate = max(m.rate, 3 * 65535 * 8 / (m.rtt_ms / 1e3))
    return m.base(f" {m.chance.choice(['near.', 'far.'])}wscale=off")


def capacity(m):
    return m.base()


def bbr(m):
    return m.base(" cc=bbr")


def capacity_elsewhere(m):
    m.rate = min(m.rate, 200e6)
    at = m.chance.choice(["lan", "far-lan", "3 routers=4", "4 routers=5", "2 routers=3"])
    return (f"link-at={at} rate={rate_text(m.rate)} delay={m.uniform(0, 2):.2g}ms "
            f"{'far-lan' if at == 'lan' else 'lan'}.delay={m.rtt_ms / 2:.3g}ms")


def asymmetric(m):
    m.rate = min(m.rate, 200e6)
    return (f"{m.way()}rate={rate_text(m.rate)} {m.way(False)}rate="
            f"{rate_text(m.rate * log_uniform(m.chance, 0.15, 8))} delay={m.rtt_ms / 2:.3g}ms")


def loss_path(m):
    m.rtt_ms, m.rate = min(max(m.rtt_ms, 10), 200), max(m.rate, 100e6)


def random_loss(m):
    loss_path(m)
    cc = m.chance.choice(["cubic", "reno"])
    return m.base(f" {m.way()}loss={log_uniform(m.chance, 0.0008, 0.02):.5f} cc={cc}")


def loss_elsewhere(m):
    loss_path(m)
    at, other = m.chance.choice([("lan", "wan"), ("far-lan", "wan")])
    return (f"link-at={at} rate={rate_text(m.rate)} delay=1ms {other}.delay={m.rtt_ms / 2:.3g}ms "
            f"{m.way()}loss={log_uniform(m.chance, 0.001, 0.02):.5f}")


def loss_bbr(m):
    m.rtt_ms, m.rate = min(max(m.rtt_ms, 5), 150), min(m.rate, 300e6)
    return m.base(f" {m.way()}loss={log_uniform(m.chance, 0.0005, 0.005):.5f} cc=bbr")


def burst_loss(m):
    loss_path(m)
    return m.base(f" {m.way()}burst-loss={log_uniform(m.chance, 0.0001, 0.001):.5f}/"
                  f"{m.uniform(0.15, 0.4):.2f}")


def policer(m):
    m.rtt_ms, m.rate = min(m.rtt_ms, 300), max(m.rate, 10e6)
    token = m.rate * m.uniform(0.05, 0.4)
    burst = max(20e3, token / 8 * m.uniform(0.01, 0.05))
    return m.base(f" {m.way()}policer={rate_text(token)}/{burst / 1e3:.0f}kB")


def shaper(m):
    m.rtt_ms, m.rate = min(m.rtt_ms, 250), min(max(m.rate, 20e6), 400e6)
    token = m.rate * m.uniform(0.1, 0.4)
    queue = max(50e3, token * m.rtt_ms / 1e3 / 8 * 2)
    return m.base(f" {m.way()}shaper={rate_text(token)}/{token / 8 * m.uniform(0.5, 1.5) / 1e6:.2f}MB"
                  f" queue={queue / 1e3:.0f}kB")


def black_hole(m):
    m.rtt_ms = min(m.rtt_ms, 200)
    length = m.chance.randrange(1280, 1490, 4)
    return m.base(m.chance.choice([f" wan-mtu={length} icmp=off", f" maxlen={length}",
                                   f" {m.way()}maxlen={length}"]))


def low_mtu(m):
    return m.base(f" wan-mtu={m.chance.randrange(1280, 1490, 4)}")


def bloat(m):
    m.rate, m.rtt_ms = min(m.rate, 50e6), min(m.rtt_ms, 100)
    return m.base(f" queue={m.rate / 8 * m.uniform(0.2, 0.8) / 1e3:.0f}kB")


def shallow(m):
    m.rtt_ms, m.rate = min(max(m.rtt_ms, 15), 300), min(max(m.rate, 10e6), 400e6)
    bdp = m.rate * m.rtt_ms / 1e3 / 8
    return m.base(f" queue={max(6e3, bdp * log_uniform(m.chance, 0.01, 0.06)) / 1e3:.0f}kB")


def reorder(m):
    m.rtt_ms, m.rate = min(max(m.rtt_ms, 10), 100), min(m.rate, 200e6)
    return m.base(f" {m.way()}reorder={m.uniform(0.01, 0.05):.3f}/{m.uniform(2, 8):.1f}ms cc=reno")


def per_flow(m):
    m.rtt_ms, m.rate = min(m.rtt_ms, 250), max(m.rate, 200e6)
    token = m.rate * m.uniform(0.03, 0.1)
    kind = m.chance.choice(["flow-policer", "flow-shaper"])
    burst = max(20e3, token / 8 * 0.02)
    queue = f" queue={max(60e3, token * m.rtt_ms / 8e3) / 1e3:.0f}kB" if kind == "flow-shaper" else ""
    return m.base(f" {m.way()}{kind}={rate_text(token)}/{burst / 1e3:.0f}kB{queue}")


def ack_path(m):
    m.rtt_ms, m.rate = min(m.rtt_ms, 80), max(m.rate, 100e6)
    return (f"{m.way()}rate={rate_text(m.rate)} {m.way(False)}rate={m.rate / 55 / 5 / 1e6:.3f}M "
            f"delay={m.rtt_ms / 2:.3g}ms")


def on_and_off(m, shortest_s, longest_s):
    """Mean times, in seconds, for which others send and pause; half of the time or more they send."""
    on = log_uniform(m.chance, shortest_s, longest_s)
    return on, on * m.uniform(0.1, 1)


def cross(m):
    m.rtt_ms, m.rate = min(m.rtt_ms, 100), min(max(m.rate, 10e6), 300e6)
    mean, burst = m.rate * m.uniform(0.3, 0.75), ""
    if m.chance.random() < 0.5:
        on, off = on_and_off(m, 0.1, 3)
        mean = min(mean * (on + off) / on, 0.95 * m.rate)
        burst = f" {m.way()}cross-burst={on:.2g}s/{off:.2g}s"
    return m.base(f" {m.way()}cross={rate_text(mean)}{burst}")


def sack(m):
    loss_path(m)
    m.rate = min(m.rate, 300e6)
    return m.base(f" {m.chance.choice(['near.', 'far.'])}sack=off "
                  f"{m.way()}loss={log_uniform(m.chance, 0.0004, 0.002):.5f}")


def corrupt(m):
    loss_path(m)
    m.rate = min(m.rate, 300e6)
    return m.base(f" {m.way()}corrupt={log_uniform(m.chance, 0.001, 0.01):.5f}")


def split(m):
    m.rtt_ms, m.rate = max(m.rtt_ms, 80), min(m.rate, 60e6)
    m.down = True
    return m.base(" near.rmem=256KiB split=on")


def mss_clamp(m):
    m.rate = min(m.rate, 200e6)
    return m.base(f" mss={m.chance.randrange(600, 1300, 20)}")


def strip_wscale(m):
    m.rtt_ms = max(m.rtt_ms, 10)
    m.rate = max(m.rate, 3 * 65535 * 8 / (m.rtt_ms / 1e3))
    return m.base(" strip=wscale")


def window_then_loss(m):
    loss_path(m)
    share = log_uniform(m.chance, 0.02, 0.2)
    return m.base(f" {m.receiver()}rmem={max(16, m.window_for(share)):.0f}KiB {m.way()}loss=0.00001")


def window_beside_policer(m):
    m.rtt_ms, m.rate = min(max(m.rtt_ms, 10), 100), max(m.rate, 80e6)
    token = m.rate * m.uniform(0.2, 0.5)
    share = token / m.rate * m.chance.choice([0.3, 4])
    return m.base(f" {m.receiver()}rmem={max(16, m.window_for(share)):.0f}KiB "
                  f"{m.way()}policer={rate_text(token)}/{max(20e3, token / 8 * 0.03) / 1e3:.0f}kB")


def window_and_bloat(m):
    m.rate, m.rtt_ms = min(m.rate, 40e6), min(max(m.rtt_ms, 20), 100)
    return m.base(f" queue={m.rate / 8 * 0.4 / 1e3:.0f}kB {m.receiver()}rmem="
                  f"{max(16, m.window_for(0.4)):.0f}KiB")


def unprivileged_window(m):
    return receive_window(m) + " near.unprivileged=on far.unprivileged=on"


KINDS = [receive_window, send_buffer, window_scaling, capacity, bbr, capacity_elsewhere, asymmetric,
         random_loss, loss_elsewhere, loss_bbr, burst_loss, policer, shaper, black_hole, low_mtu,
         bloat, shallow, reorder, per_flow, ack_path, cross, sack, corrupt, split, mss_clamp,
         strip_wscale, window_then_loss, window_beside_policer, window_and_bloat,
         unprivileged_window]


def generate(seed, count):
    """`count` rows (name, spec, direction); every kind in turn, the same for the same seed."""
    for i in range(count):
        kind = KINDS[i % len(KINDS)]
        maker = Maker(random.Random(f"{seed}/{i}"))
        spec = kind(maker)
        direction = "download" if maker.down else "upload"
        yield {"name": f"{kind.__name__.replace('_', '-')}-{seed}.{i}", "spec": spec,
               "direction": direction, "goal_bps": 0, "kind": kind.__name__}


# What changes by itself. Each maker takes numbers that a person's line may have; the steady
# faults beside jitter are drawn as above.

def bytes_of(bps, seconds):
    return f"{max(15e3, bps * seconds / 8) / 1e3:.0f}kB"


def both_ways(m, data, acks):
    """Keys of the direction that carries data, and of the other one."""
    ways = [m.way() + pair for pair in data.split()] + [m.way(False) + pair for pair in acks.split()]
    return " ".join(ways)


def rates_text(low, high):
    return f"{rate_text(low)}-{rate_text(high)}"


def recorded(m, recordings):
    down, up = m.chance.choice(recordings)
    data, acks = (down, up) if m.down else (up, down)
    low, mean, _ = trace_rates(data)
    ack_mean = trace_rates(acks)[1]
    delay = m.uniform(8, 40)
    return (f"{both_ways(m, f'trace={data} queue={bytes_of(mean, m.uniform(0.3, 2))}', f'trace={acks} queue={bytes_of(ack_mean, 1)}')}"
            f" delay={delay:.3g}ms")


def trace_rates(name):
    import oracle  # reads recordings, too
    return oracle.trace_rates(name)


def radio(m):
    low = log_uniform(m.chance, 1e6, 10e6)
    high = low * m.uniform(4, 14)
    data = f"radio={rates_text(low, high)} queue={bytes_of(high, m.uniform(0.15, 0.5))}"
    acks = f"radio={rates_text(low, high)} queue={bytes_of(high, 0.2)}"
    return both_ways(m, data, acks) + f" delay={m.uniform(10, 45):.3g}ms"


def radio_on_the_move(m):
    stop = m.uniform(0.3, 2.5)
    return radio(m) + f" handovers={m.uniform(8, 20):.3g}s/{stop:.2g}s"


def orbit(m):
    low = log_uniform(m.chance, 20e6, 60e6)
    high = low * m.uniform(1.5, 4)
    data = f"leo={rates_text(low, high)} queue={bytes_of(high, m.uniform(0.03, 0.12))}"
    acks = f"leo={rates_text(low / 5, high / 5)} queue={bytes_of(high / 5, 0.1)}"
    return both_ways(m, data, acks) + f" delay={m.uniform(10, 25):.3g}ms"


def grants(m):
    m.rtt_ms, m.rate = min(max(m.rtt_ms, 8), 120), min(m.rate, 200e6)
    gap = m.uniform(2, 10)
    text = m.chance.choice([f"{gap:.2g}ms", f"{gap / 2:.2g}ms-{gap:.2g}ms"])
    return m.base(f" {m.chance.choice([m.way(), m.way(False)])}grants={text} "
                  f"queue={bytes_of(m.rate, (m.rtt_ms + 2 * gap) / 1e3)}")


def jitter(m, spec):
    """Jitter that keeps order, of 1 to 6 ms, in the direction of data or in both."""
    most = m.uniform(1, 6)
    way = m.chance.choice([m.way(), ""])
    kind = m.chance.choice([f"jitter={most / 2:.2g}ms",
                            f"wander={most:.2g}ms/{m.uniform(5, 60):.0f}ms"])
    return f"{spec} {way}{kind}"


def jittered(make):
    def maker(m):
        m.rtt_ms = max(m.rtt_ms, 14)
        return jitter(m, make(m))
    maker.__name__ = "jitter_" + make.__name__
    return maker


def aqm(m):
    m.rtt_ms = min(max(m.rtt_ms, 6), 250)
    fits = 2.2e6 * 8 / (m.rtt_ms / 1e3)  # what the buffers of a stock kernel fill
    m.rate = min(max(m.rate, 5e6), 200e6, fits)
    kind = m.chance.choice(["codel", "fq-codel", "pie", "red"])
    ecn = m.chance.choice(["", "", ",ecn"])
    queue = bytes_of(m.rate, m.uniform(0.1, 0.4))
    return m.base(f" {m.way()}aqm={kind}{ecn} queue={queue}"
                  + (f" {m.chance.choice(['ecn=on', 'near.ecn=on'])}" if ecn else ""))


def congested(m):
    m.rtt_ms, m.rate = min(max(m.rtt_ms, 8), 80), min(max(m.rate, 10e6), 300e6)
    count = round(log_uniform(m.chance, 2, 64))
    burst = managed = ""
    if m.chance.random() < 0.5:
        on, off = on_and_off(m, 0.3, 5)
        burst = f" others-burst={on:.2g}s/{off:.2g}s"
    if m.chance.random() < 0.4:
        managed = f" aqm={m.chance.choice(['codel', 'fq-codel', 'pie'])}"
    queue = bytes_of(m.rate, m.uniform(0.5, 2) * m.rtt_ms / 1e3)
    return m.base(f" {m.way()}others={count}{burst}{managed} queue={queue}")


def wifi_lossy(m):
    others, failing = m.chance.randrange(0, 3), m.uniform(0.32, 0.41)
    air = f"wifi={rate_text(m.uniform(80e6, 300e6))}/{others}/{failing:.0%}"
    back = air.rsplit("/", 1)[0] + "/5%"
    return both_ways(m, air, back) + f" queue=300kB delay={m.uniform(4, 30):.3g}ms"


def lossy_aggregates(m):
    m.rate = min(max(m.rate, 30e6), 200e6)
    return (f"rate={rate_text(m.rate)} {m.way()}loss={m.uniform(0.01, 0.03):.4f} "
            f"grants={m.uniform(2, 5):.2g}ms jitter={m.uniform(0.3, 1.5):.2g}ms "
            f"delay={m.uniform(5, 30):.3g}ms")


def dropout(m):
    m.rate, m.rtt_ms = min(max(m.rate, 8e6), 200e6), min(max(m.rtt_ms, 6), 60)
    length = log_uniform(m.chance, 0.3, 5)
    home = m.chance.choice([" pppoe=on", ""])
    if m.chance.random() < 0.5:
        when = f"dropout={max(2.5 * length, m.uniform(5, 12)):.2g}s/{length:.2g}s"
    else:
        begin = m.uniform(2, 14)
        when = f"outage={begin:.3g}s-{begin + length:.3g}s"
    m.v6 = m.v6 and not home
    return m.base(f"{home} {when}")


def two_close(m):
    m.rtt_ms, m.rate = min(max(m.rtt_ms, 10), 80), min(max(m.rate, 20e6), 200e6)
    near = m.uniform(0.86, 0.97)
    kind = m.chance.choice(["policer", "window", "link"])
    if kind == "policer":
        token = m.rate * near
        return m.base(f" {m.way()}policer={rate_text(token)}/{max(30e3, token / 8 * 0.03) / 1e3:.0f}kB")
    if kind == "window":
        return m.base(f" {m.receiver()}rmem={max(16, m.window_for(near)):.0f}KiB")
    return m.base(f" {m.chance.choice(['lan', 'far-lan'])}.rate={rate_text(m.rate * near)}")


def stock(m):
    """Any steady kind, at hosts as they are installed."""
    return m.chance.choice([receive_window, capacity, asymmetric, random_loss, policer, shaper,
                            bloat, shallow, low_mtu, per_flow, ack_path, cross, mss_clamp,
                            strip_wscale])(m)


FAMILIES = {
    "radio-recorded": [recorded],
    "radio-model": [radio, radio_on_the_move, orbit],
    "grants": [grants],
    "jitter": [jittered(f) for f in (policer, receive_window, send_buffer, random_loss, shallow,
                                     capacity)],
    "aqm": [aqm],
    "congested": [congested],
    "wifi-lossy": [wifi_lossy, lossy_aggregates],
    "dropout": [dropout],
    "two-close": [two_close],
    "stock": [stock],
}
STOCK = " stock=on"


def find_recordings(directory):
    """Pairs (down, up) of a folder with recordings in mahimahi's format; where one way is
    missing the other one serves for both."""
    folder = pathlib.Path(directory).resolve()
    pairs = []
    for down in sorted(folder.rglob("*.down")):
        up = down.with_suffix(".up")
        pairs.append((str(down), str(up if up.exists() else down)))
    return pairs


def generate_changing(seed, count, recordings=(), stock_only=None):
    """`count` rows of changing paths: families in turn, each path privileged and then with
    stock settings and without privileges; only one of them with stock_only False or True.
    Without recordings that family is left out. Names tell all: FAMILY-SEED.NUMBER and "-stock"."""
    families = [f for f in FAMILIES if recordings or f != "radio-recorded"]
    for i in range(count):
        family = families[i % len(families)]
        chance = random.Random(f"{seed}/{family}/{i}")
        kinds = FAMILIES[family]
        kind = kinds[i // len(families) % len(kinds)]
        maker = Maker(chance)
        spec = kind(maker, recordings) if kind is recorded else kind(maker)
        direction = "download" if maker.down else "upload"
        for is_stock in (False, True):
            if (stock_only is not None and is_stock != stock_only) or \
                    (family == "stock" and not is_stock and stock_only is None):
                continue
            yield {"name": f"{family}-{seed}.{i}" + ("-stock" if is_stock else ""),
                   "spec": spec + (STOCK if is_stock else ""), "direction": direction,
                   "goal_bps": 0, "kind": kind.__name__, "family": family, "stock": is_stock}
