"""A specification of an emulated path, read the way the lab reads it (src/lab/parse.c)."""
import re

STOCK_RMEM, STOCK_WMEM = 6 << 20, 4 << 20
PREFIXES = ("v6.", "lan.", "wan.", "far-lan.") + tuple(f"link{i}." for i in range(1, 8))
UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
SIZES = {"": 1, "B": 1, "kB": 1e3, "MB": 1e6, "KiB": 1024, "MiB": 1 << 20}
SPANS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
SATELLITE_FARTHER_S = 0.015  # a satellite may be as much farther away (LEO_FARTHER, src/lab/server.c)
HOST_KEYS = {"rmem", "wmem", "wscale", "sack", "timestamps", "autotune", "cc", "mtu", "lan-mtu",
             "cpu", "cpu-period", "disk", "offloads", "unprivileged", "stock", "ecn"}
LAB_KEYS = {"routers", "link-at", "wan-mtu", "icmp", "icmp-interval", "family", "split",
            "split-port", "plain", "carrier", "pppoe"}


def number(text, units):
    match = re.fullmatch(r"([0-9.]+)\s*([A-Za-z]*)", text)
    return float(match.group(1)) * units[match.group(2)]


def rate(text):
    return number(text, UNITS)


def size(text):
    return number(text, SIZES)


def span(text):
    return number(text, SPANS) if text != "0" else 0.0


def ratio(text):
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def disk_rate(setting, verb):
    """bit/s of "read:40MB/s,write:20MB/s"; 0 without."""
    for part in setting.split(","):
        if part.startswith(verb + ":"):
            text = part.split(":")[1]
            return 8 * size(text[:-2]) if text.endswith("B/s") else rate(text)
    return 0


def on(settings, key):
    return settings.get(key) in ("on", "1")


def off(settings, key):
    return settings.get(key) in ("off", "0")


class Path:
    """A specification read the way the lab reads it: later pairs win."""

    def __init__(self, spec):
        self.links = {}  # (prefix, direction) -> {key: text}
        self.hosts = {"near": {}, "far": {}}
        self.lab = {}
        pairs = [pair.split("=", 1) for pair in spec.split()]
        for name, value in sorted(pairs, key=lambda p: p[0].startswith("v6.")):
            self.put(name, value)
        for host in self.hosts.values():
            if on(host, "stock"):
                for key, most in (("rmem", STOCK_RMEM), ("wmem", STOCK_WMEM)):
                    if key not in host or size(host[key]) > most:
                        host[key] = f"{most}B"
        if on(self.lab, "pppoe"):
            self.lab.update({"wan-mtu": "1492", "icmp": "silent"})
            for way in ("up", "down"):
                self.links.setdefault(("", way), {})["clamp"] = "1492"

    def put(self, name, value):
        prefix = next((p for p in PREFIXES if name.startswith(p)), "")
        name = name[len(prefix):]
        for host in ("near", "far"):
            if name.startswith(host + ".") and not prefix:
                self.hosts[host][name[len(host) + 1:]] = value
                return
        if name in HOST_KEYS:
            for host in self.hosts.values():
                host[name] = value
            return
        if name in LAB_KEYS:
            self.lab[name] = value
            return
        ways = [w for w in ("up", "down") if name.startswith(w + ".")] or ["up", "down"]
        key = name.split(".", 1)[1] if len(ways) == 1 else name
        for way in ways:
            if prefix == "v6." and ("v6.", way) not in self.links:
                self.links["v6.", way] = dict(self.links.get(("", way), {}))
            self.links.setdefault((prefix, way), {})[key] = value

    def routers(self):
        return int(self.lab.get("routers", 2))

    def place(self, prefix):
        """The number of a link, 1 for the LAN."""
        last = self.routers() + 1
        word = prefix[:-1] if prefix not in ("", "v6.") else self.lab.get("link-at", "wan")
        word = word.removeprefix("link")
        return {"lan": 1, "wan": 2, "far-lan": last}.get(word) or int(word)

    def segment(self, prefix):
        at = self.place(prefix)
        return "lan" if at == 1 else "far-lan" if at == self.routers() + 1 else "path"

    def family(self):
        """The family of the diagnosis: IPv4 where there is one."""
        return 6 if self.lab.get("family") == "6" else 4

    def way(self, direction):
        """(prefix, settings) of each link in one direction, for that family."""
        main = "v6." if self.family() == 6 and ("v6.", direction) in self.links else ""
        return [(p, s) for (p, way), s in self.links.items()
                if way == direction and p not in {"", "v6."} - {main}]

    def rtt(self):
        return sum(span(s["delay"]) for way in ("up", "down") for _, s in self.way(way)
                   if "delay" in s)

    def longest_jitter(self):
        """By which a round trip may be longer than rtt() while nothing queues."""
        links = [s for way in ("up", "down") for _, s in self.way(way)]
        return sum(span(re.split("[/-]", s[key])[-1 if key == "grants" else 0]) for s in links
                   for key in ("jitter", "wander", "scatter", "grants") if key in s) \
            + sum(SATELLITE_FARTHER_S for s in links if "leo" in s)

    def near_rtt(self):
        """Up to the proxy at r1."""
        return sum(span(s["delay"]) for way in ("up", "down") for p, s in self.way(way)
                   if "delay" in s and self.place(p) == 1)
