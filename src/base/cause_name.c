/* Names of causes for lists, in the order of their ids. */
#include "tightlink/base/cause_name.h"

#include <string.h>
#include <strings.h>

static const char *const names[][2] = {
    {"ack-path", "full way back"},
    {"app-window", "program's buffer"},
    {"bufferbloat", "long queue"},
    {"burst-loss", "bursts of loss"},
    {"capacity", "full line"},
    {"cloud-allowance", "provider's limit"},
    {"congestion-control", "way of sending"},
    {"conntrack", "firewall full"},
    {"corruption", "damaged data"},
    {"cpu", "busy processor"},
    {"cross-traffic", "other traffic"},
    {"delayed-ack", "mutual waiting"},
    {"detour", "long way round"},
    {"disk-read", "slow disk, reading"},
    {"disk-write", "slow disk, writing"},
    {"dscp-bleached", "priority removed"},
    {"duplex-mismatch", "duplex mismatch"},
    {"ecmp-member", "bad parallel line"},
    {"ecn-marks", "asked to slow down"},
    {"family-difference", "IPv4, IPv6 differ"},
    {"idle-restart", "slow after pauses"},
    {"jumbo-mismatch", "packets too large"},
    {"link-errors", "bad cable or port"},
    {"local-qdisc", "own speed limit"},
    {"mss-clamp", "packets made small"},
    {"mtu-black-hole", "large packets lost"},
    {"mtu-low", "small packets only"},
    {"nic-at-best", "network card full"},
    {"nic-ring", "card loses data"},
    {"nic-speed", "slow network link"},
    {"offloads-off", "card does not help"},
    {"option-stripping", "options removed"},
    {"packet-software", "security software"},
    {"pause-frames", "paused by a switch"},
    {"per-flow-limit", "one-stream limit"},
    {"policer", "speed limit, drops"},
    {"power-saving", "power saving"},
    {"random-loss", "loss on the line"},
    {"receive-window", "receive buffer"},
    {"receiver-app", "receiving program"},
    {"reordering", "wrong order"},
    {"rx-imbalance", "one core does all"},
    {"sack-off", "repair setting off"},
    {"send-buffer", "send buffer"},
    {"sender-app", "sending program"},
    {"shallow-buffer", "small queue"},
    {"shaper-boost", "fast at first only"},
    {"shared-directions", "one way at a time"},
    {"short-transfer", "short transfer"},
    {"small-files", "many small files"},
    {"softnet-drops", "lost on arrival"},
    {"split-tcp", "proxy on the way"},
    {"stateful-firewall", "tracking firewall"},
    {"tcp-memory", "network memory"},
    {"tunnel", "tunnel or VPN"},
    {"udp-receive-buffer", "datagram buffer"},
    {"unpaced-bursts", "sends in bursts"},
    {"unstable-path", "unstable line"},
    {"variable-rate", "changing line rate"},
    {"wifi", "Wi-Fi"},
    {"window-scaling-off", "64 KiB limit"},
};
#define COUNT (sizeof names / sizeof *names)

/* What stands in a cause's place where none is named. */
static const char *const states[][2] = {
    {"goal-met", "nothing: goal met"},
    {"inconclusive", "cause not known"},
    {"invalid", "no verdict"},
};

const char *tl_cause_name(const char *id)
{
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(states[i][0], id) == 0)
            return states[i][1];
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(names[i][0], id) == 0)
            return names[i][1];
    return id;
}

const char *tl_cause_id_of(const char *text)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcasecmp(names[i][1], text) == 0)
            return names[i][0];
    return text;
}

const char *tl_cause_named_like(const char *text, size_t *at)
{
    while (*at < COUNT)
        if (strcasestr(names[(*at)++][1], text))
            return names[*at - 1][0];
    return NULL;
}
