"""Three hosts beside each other, in namespaces: an attacker, a responder, a third party."""
import os
import shutil
import socket
import struct
import subprocess

from cases import Skipped


def ip(*args, check=True):
    return subprocess.run(["ip", *args], capture_output=True, text=True, check=check, timeout=10)


class Three:
    """Attacker .1, responder .2, third party .3, all beside each other on one bridge."""

    def __init__(self):
        self.names = [f"tls{number}-{os.getpid()}" for number in range(4)]

    def __enter__(self):
        if os.geteuid() != 0 or not shutil.which("ip"):
            raise Skipped("namespaces need root and ip")
        hub = self.names[0]
        for name in self.names:
            if ip("netns", "add", name, check=False).returncode:
                raise Skipped("this machine permits no namespaces")
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", hub, "link", "add", "br0", "type", "bridge")
        ip("-n", hub, "link", "set", "br0", "up")
        for host in (1, 2, 3):
            name = self.names[host]
            ip("-n", hub, "link", "add", f"p{host}", "type", "veth", "peer", "name", "e0", "netns",
               name)
            ip("-n", hub, "link", "set", f"p{host}", "master", "br0", "up")
            ip("-n", name, "addr", "add", f"10.97.0.{host}/24", "dev", "e0")
            ip("-n", name, "link", "set", "e0", "up")
        for host in (1, 2, 3):  # addresses are known: what comes later was sent on purpose
            for other in {1, 2, 3} - {host}:
                mac = self.read(other, "cat /sys/class/net/e0/address").strip()
                ip("-n", self.names[host], "neigh", "replace", f"10.97.0.{other}", "lladdr", mac,
                   "dev", "e0", "nud", "permanent")
        return self

    def __exit__(self, *_):
        for name in self.names:
            ip("netns", "delete", name, check=False)

    def inside(self, host, *command):
        return ["ip", "netns", "exec", self.names[host], *command]

    def read(self, host, command):
        return subprocess.run(self.inside(host, "sh", "-c", command), capture_output=True, text=True,
                              check=True, timeout=10).stdout

    def heard(self):
        """Datagrams, segments and ICMP messages that came to the third party; not what kernels say to
        each other about groups when a link comes up."""
        wanted = {"Udp": ("InDatagrams", "NoPorts", "InErrors"), "Tcp": ("InSegs",), "Icmp": ("InMsgs",)}
        lines = [line.split() for line in self.read(3, "cat /proc/net/snmp").splitlines()]
        return sum(int(values[names.index(field)])
                   for names, values in zip(lines[::2], lines[1::2])
                   for field in wanted.get(names[0].rstrip(":"), ()))


def checksum(data):
    """RFC 1071, of an even number of bytes."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def udp_packet(source, target, source_port, target_port, payload):
    """An IPv4 packet with whatever source; no UDP checksum, which IPv4 permits."""
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0,
                       socket.inet_aton(source), socket.inet_aton(target))
    return head + struct.pack(">HHHH", source_port, target_port, 8 + len(payload), 0) + payload
