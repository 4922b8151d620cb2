/* The table of scenarios. A row is data only: the path as a specification text,
 * and the truth about it. Ceilings are payload rates of TCP with timestamps
 * (1448 of 1500 bytes); a window's ceiling is a range, because the kernel
 * advertises between half and all of a receive buffer. */
#include "tightlink/lab/scenario.h"

#include <string.h>

#define NEAR TL_LAB_SEGMENT_NEAR
#define FAR  TL_LAB_SEGMENT_FAR
#define PATH TL_LAB_SEGMENT_PATH
#define LAN  TL_LAB_SEGMENT_LAN
#define FARL TL_LAB_SEGMENT_FAR_LAN
#define UP   TL_LAB_UP
#define DOWN TL_LAB_DOWN

static const struct tl_lab_scenario scenarios[] = {
    {"satellite-8k", "satellite link, receive buffer stopped at 8 KiB",
     "rate=30M delay=300ms near.rmem=8KiB", DOWN, 0, "receive-window", NEAR, "", 30e3, 110e3},
    {"satellite-64k", "satellite link, receive buffer stopped at 64 KiB",
     "rate=30M delay=300ms near.rmem=64KiB", DOWN, 0, "receive-window", NEAR, "", 430e3, 880e3},
    {"satellite-500k", "satellite link, receive buffer stopped at 500 KiB",
     "rate=30M delay=300ms near.rmem=500KiB", DOWN, 0, "receive-window", NEAR, "", 3.4e6, 6.9e6},
    {"rwnd-upload", "upload into a far end whose receive buffer stops at 256 KiB",
     "rate=200M delay=25ms far.rmem=256KiB", UP, 0, "receive-window", FAR, "", 20e6, 42e6},
    {"sndbuf", "far end's send buffer stopped at 128 KiB", "rate=200M delay=20ms far.wmem=128KiB",
     DOWN, 0, "send-buffer", FAR, "", 0, 0},
    {"no-wscale", "TCP window scaling off at this end", "rate=200M delay=20ms near.wscale=off",
     DOWN, 0, "window-scaling-off", NEAR, "", 12.3e6, 13.2e6},
    {"capacity", "a 50 Mb/s link and nothing else", "rate=50M delay=10ms", DOWN, 0, "capacity",
     PATH, "", 46e6, 49e6},
    {"asymmetric", "100 Mb/s down, 10 Mb/s up; the download",
     "down.rate=100M up.rate=10M delay=10ms", DOWN, 0, "capacity", PATH, "", 92e6, 98e6},
    {"asymmetric-up", "100 Mb/s down, 10 Mb/s up; the upload",
     "down.rate=100M up.rate=10M delay=10ms", UP, 0, "capacity", PATH, "", 9.2e6, 9.8e6},
    {"loss", "one packet in a thousand is lost, cubic", "rate=300M delay=20ms down.loss=0.1%", DOWN,
     0, "random-loss", PATH, "", 0, 0},
    {"loss-bbr", "the same loss under BBR, which does not mind it",
     "rate=300M delay=20ms down.loss=0.1% cc=bbr", DOWN, 0, "capacity", PATH, "random-loss", 260e6,
     292e6},
    {"burst-loss", "packets are lost in bursts of three or so",
     "rate=200M delay=20ms down.burst-loss=0.01%/30%", DOWN, 0, "burst-loss", PATH, "", 0, 0},
    {"policer", "a policer drops what exceeds 40 Mb/s",
     "rate=500M delay=15ms down.policer=40M/150kB", DOWN, 0, "policer", PATH, "", 34e6, 40e6},
    {"shaper", "a shaper grants 5 MB at full speed, then 30 Mb/s",
     "rate=200M delay=10ms queue=1MB down.shaper=30M/5MB", DOWN, 0, "shaper-boost", PATH, "", 27e6,
     30e6},
    {"black-hole", "the WAN takes 1300 bytes and the routers keep silent about it",
     "rate=100M delay=10ms wan-mtu=1300 icmp=off", DOWN, 0, "mtu-black-hole", PATH, "", 0, 0},
    {"low-mtu", "the WAN takes 1400 bytes and the router says so",
     "rate=100M delay=10ms wan-mtu=1400", DOWN, 0, "capacity", PATH, "mtu-low", 90e6, 97.5e6},
    {"jumbo", "both hosts send 9000-byte frames into networks that take 1500",
     "rate=100M delay=10ms mtu=9000 lan-mtu=1500", DOWN, 0, "jumbo-mismatch", FARL, "", 0, 0},
    {"bloat", "10 Mb/s behind a queue of 1 MB", "rate=10M delay=10ms queue=1MB", DOWN, 0,
     "capacity", PATH, "bufferbloat", 9.2e6, 9.8e6},
    {"shallow", "200 Mb/s behind a queue of 20 KB", "rate=200M delay=20ms queue=20kB", DOWN, 0,
     "shallow-buffer", PATH, "", 0, 0},
    {"reorder", "three packets in a hundred arrive 5 ms late, reno",
     "rate=100M delay=15ms down.reorder=3%/5ms cc=reno", DOWN, 0, "reordering", PATH, "", 0, 0},
    {"cpu", "this end gets 15 % of one processor", "plain=on near.cpu=15%", DOWN, 0, "cpu", NEAR,
     "", 0, 0},
    {"cpu-far", "the far end gets 15 % of one processor", "plain=on far.cpu=15%", DOWN, 0, "cpu",
     FAR, "", 0, 0},
    {"disk-write", "this PC's disk writes 20 MB/s", "rate=500M delay=5ms near.disk=write:20MB/s",
     DOWN, 0, "disk-write", NEAR, "", 150e6, 168e6},
    {"disk-read", "the far end's disk reads 20 MB/s", "rate=500M delay=5ms far.disk=read:20MB/s",
     DOWN, 0, "disk-read", FAR, "", 150e6, 168e6},
    {"d2d", "disk to disk: the far end reads 40 MB/s, this PC writes 20 MB/s",
     "rate=500M delay=5ms far.disk=read:40MB/s near.disk=write:20MB/s", DOWN, 0, "disk-write", NEAR,
     "disk-read", 150e6, 168e6},
    {"sack-off", "no selective acknowledgement, and some loss",
     "rate=200M delay=20ms near.sack=off down.loss=0.05%", DOWN, 0, "sack-off", NEAR, "random-loss",
     0, 0},
    {"corrupt", "three packets in a thousand arrive with a flipped bit",
     "rate=100M delay=10ms down.corrupt=0.3%", DOWN, 0, "corruption", PATH, "", 0, 0},
    {"goal", "a goal of 60 Mb/s on a 100 Mb/s link", "rate=100M delay=10ms", DOWN, 60e6, "goal-met",
     "", "capacity", 92e6, 98e6},
    {"clean", "a gigabit link at 20 ms RTT without a fault", "rate=1G delay=10ms", DOWN, 0,
     "capacity", PATH, "", 900e6, 970e6},
    {"clean-veth", "two hosts on one wire, no emulator", "plain=on", DOWN, 0, "capacity", PATH,
     "cpu", 0, 0},
    {"v6", "a receive buffer of 256 KiB, over IPv6",
     "rate=200M delay=25ms near.rmem=256KiB family=6", DOWN, 0, "receive-window", NEAR, "", 20e6,
     42e6},
    {"ack-path", "200 Mb/s down, but 1 Mb/s up for the acknowledgements",
     "down.rate=200M up.rate=1M delay=10ms", DOWN, 0, "ack-path", PATH, "", 0, 0},
    {"outage", "the link is dead for 3 seconds in mid-run", "rate=100M delay=10ms outage=6s-9s",
     DOWN, 0, "unstable-path", PATH, "capacity", 0, 0},
    {"two", "a receive buffer of 200 KiB, and behind it a little loss",
     "rate=200M delay=20ms near.rmem=200KiB down.loss=0.0005%", DOWN, 0, "receive-window", NEAR,
     "random-loss", 20e6, 41e6},
    {"per-flow", "each connection is held to 20 Mb/s on a 400 Mb/s link",
     "rate=400M delay=10ms down.flow-policer=20M/50kB", DOWN, 0, "per-flow-limit", PATH, "policer",
     16e6, 20e6},
    {"per-flow-shaper", "each connection is slowed to 20 Mb/s on a 400 Mb/s link",
     "rate=400M delay=10ms down.flow-shaper=20M/50kB queue=100kB", DOWN, 0, "per-flow-limit", PATH,
     "capacity", 18e6, 20e6},
    {"ecmp", "one of two links of a bundle loses 3 packets in 100",
     "rate=200M delay=10ms down.port-loss=1/2:3%", DOWN, 0, "ecmp-member", PATH, "random-loss", 0,
     0},
    {"cross", "60 Mb/s of other traffic on a link of 100 Mb/s",
     "rate=100M delay=15ms down.cross=60M", DOWN, 0, "cross-traffic", PATH, "capacity", 36e6, 40e6},
    {"cross-bursts", "other traffic in bursts of 80 Mb/s, half of the time",
     "rate=100M delay=15ms down.cross=80M down.cross-burst=300ms/300ms", DOWN, 0, "cross-traffic",
     PATH, "capacity", 0, 0},
    {"cross-flows", "two other transfers share the link", "rate=100M delay=15ms down.cross-flows=2",
     DOWN, 0, "cross-traffic", PATH, "capacity", 0, 0},
    {"splitter", "a proxy ends TCP before 600 ms of satellite; a small window no longer limits",
     "rate=30M delay=300ms near.rmem=256KiB split=on", DOWN, 0, "capacity", PATH, "split-tcp", 27e6,
     29e6},
    {"mss-clamp", "a firewall lowers the segment size to 900", "rate=100M delay=10ms mss=900", DOWN,
     0, "capacity", PATH, "mss-clamp", 90e6, 94e6},
    {"strip-wscale", "a firewall removes window scaling", "rate=200M delay=20ms strip=wscale", DOWN,
     0, "option-stripping", PATH, "window-scaling-off", 12.3e6, 13.2e6},
    {"strip-sack", "a firewall removes SACK-permitted, and there is some loss",
     "rate=200M delay=20ms strip=sack down.loss=0.05%", DOWN, 0, "option-stripping", PATH,
     "random-loss", 0, 0},
    {"dscp", "routers reset the traffic class", "rate=100M delay=10ms dscp=0", DOWN, 0, "capacity",
     PATH, "dscp-bleached", 92e6, 98e6},
    {"v4-v6", "IPv6 takes a slower link than IPv4",
     "rate=100M delay=10ms family=both v6.rate=20M v6.delay=25ms", DOWN, 0, "capacity", PATH,
     "family-difference", 92e6, 98e6},
    {"silent", "64 KiB of receive buffer, and not one ICMP message on the path",
     "rate=100M delay=30ms near.rmem=64KiB icmp=silent", DOWN, 0, "receive-window", NEAR, "", 4.3e6,
     8.8e6},
    {"lan-loss", "the loss is on this side's own network",
     "rate=300M delay=2ms link-at=lan down.loss=0.2% wan.delay=15ms", DOWN, 0, "random-loss", LAN,
     "", 0, 0},
    {"lan-rate", "this side's own network is the slowest link",
     "rate=30M delay=1ms link-at=lan wan.delay=10ms", DOWN, 0, "capacity", LAN, "", 27e6, 29e6},
    {"far-lan-rate", "the far side's own network is the slowest link",
     "rate=30M delay=1ms link-at=far-lan wan.delay=10ms", DOWN, 0, "capacity", FARL, "", 27e6,
     29e6},
    {"middle-hop", "the third of five routers' links is full",
     "routers=5 link-at=3 rate=40M delay=8ms link2.delay=2ms link4.delay=4ms", DOWN, 0, "capacity",
     PATH, "", 37e6, 39e6},
    {"delay-step", "the route grows 40 ms longer in mid-run",
     "rate=100M delay=10ms delay-step=6s:+20ms", DOWN, 0, "unstable-path", PATH, "capacity", 0, 0},
    {"duplex", "packets collide as on a link with a duplex mismatch",
     "rate=100M delay=2ms down.collision=20%", DOWN, 0, "duplex-mismatch", NEAR, "random-loss", 0,
     0},
    {"ordinary-user", "a small receive buffer, diagnosed without any privilege",
     "rate=100M delay=20ms near.rmem=128KiB near.unprivileged=on far.unprivileged=on", DOWN, 0,
     "receive-window", NEAR, "", 13e6, 27e6},
};

const struct tl_lab_scenario *tl_lab_scenario_list(size_t *ret_count)
{
    *ret_count = sizeof scenarios / sizeof *scenarios;
    return scenarios;
}

const struct tl_lab_scenario *tl_lab_scenario_find(const char *name)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(scenarios[i].name, name) == 0)
            return &scenarios[i];
    return NULL;
}

enum tl_status tl_lab_scenario_config(const struct tl_lab_scenario *scenario,
                                      struct tl_lab_config *ret_config, struct tl_error *reterr)
{
    struct tl_lab_config config;
    tl_lab_config_init(&config);
    enum tl_status status = tl_lab_config_parse(scenario->spec, &config, reterr);
    if (status == TL_OK)
        *ret_config = config;
    else
        tl_error_prefix(reterr, "scenario %s", scenario->name);
    return status;
}
