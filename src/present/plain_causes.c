/* What is wrong, cause by cause; plain.h says in which words. */
#include <string.h>

#include "plain.h"

/* {p} is the place of the cause, {P} the same at the beginning of a sentence. */
static const struct {
    const char *cause, *says;
} causes[] = {
    {"ack-path", "The way back is full or slow, so that confirmations come late."},
    {"app-window", "The program on {p} takes too little data at once for such a distance."},
    {"bufferbloat",
     "A device on the way stores too much data: all else has to wait while this transfer runs."},
    {"burst-loss", "The line loses data, several packets at a time."},
    {"capacity", "The line is full; only a faster line helps."},
    {"cloud-allowance", "What the provider allows {p} is used up."},
    {"congestion-control", "The way in which {p} chooses its speed does not suit this line."},
    {"conntrack", "{P} has more connections than its firewall can keep track of."},
    {"corruption", "A device on the way damages data."},
    {"cpu", "The processor of {p} has no more to give to this transfer."},
    {"cross-traffic", "Others use the line at the same time."},
    {"delayed-ack", "The two programs wait for each other with every small message."},
    {"disk-read", "The disk of {p} reads too slowly."},
    {"disk-write", "The disk of {p} writes too slowly."},
    {"dscp-bleached", "A device on the way takes the priority away that the data had."},
    {"duplex-mismatch",
     "{P} and the device at the other end of its cable disagree about how to use the cable."},
    {"ecmp-member", "One of several parallel lines is bad, and what uses it is slow."},
    {"ecn-marks", "A device on the way asks the sender to slow down."},
    {"family-difference", "IPv4 and IPv6 take different ways, and one of them is slower."},
    {"idle-restart", "After every pause {p} starts to send slowly again."},
    {"jumbo-mismatch", "Larger packets are sent than {p} takes, and they vanish."},
    {"link-errors", "A cable, plug or port at {p} damages data."},
    {"local-qdisc", "A speed limit on {p} itself slows the transfer down."},
    {"mss-clamp", "A device on the way makes the packets smaller."},
    {"mtu-black-hole",
     "Large packets vanish on {p} and nobody tells: small pages work, transfers hang."},
    {"mtu-low", "The line takes only small packets."},
    {"nic-at-best", "The network card of {p} runs as fast as it can; only a faster one helps."},
    {"nic-ring", "The network card of {p} cannot hold what arrives, and loses some of it."},
    {"nic-speed", "The network link of {p} runs slower than it could."},
    {"offloads-off", "The processor of {p} does work that its network card could do."},
    {"option-stripping", "A device on the way removes what fast connections need."},
    {"packet-software",
     "VPN or security software on {p} cannot work faster; it holds the transfer."},
    {"pause-frames", "A switch in {p} stops the sender again and again."},
    {"per-flow-limit",
     "The line holds each single connection to this rate; several at once get more."},
    {"policer", "A speed limit on the line throws away whatever is above it."},
    {"power-saving", "Power saving slows the processor of {p} down."},
    {"random-loss", "The line loses data again and again, also when there is little traffic."},
    {"receive-window", "{P} accepts too little data at once for such a distance."},
    {"receiver-app", "The receiving program on {p} takes its data too slowly."},
    {"reordering", "Data arrives in the wrong order, and the sender slows down for it."},
    {"rx-imbalance", "On {p} one processor core does all the work of the network."},
    {"sack-off", "For every lost packet others are sent again too, because a setting is off."},
    {"send-buffer", "{P} sends too little data at once for such a distance."},
    {"sender-app", "The sending program on {p} does not deliver fast enough."},
    {"shallow-buffer", "A device on the way can store too little for a single connection."},
    {"shaper-boost", "The line is fast at the beginning only, then it is slowed down."},
    {"shared-directions",
     "Sending and receiving share the line: while one runs the other one gets less."},
    {"short-transfer", "The transfer is over before it can reach its full speed."},
    {"small-files", "There are many small files, and each costs waiting time."},
    {"softnet-drops", "{P} does not handle arriving data fast enough, and loses some of it."},
    {"split-tcp", "A device on the way takes the connection apart and passes the data on."},
    {"stateful-firewall", "A firewall or address translator on the way may slow each connection."},
    {"tcp-memory", "{P} is short of memory for its connections."},
    {"tunnel", "A tunnel or VPN carries the data and slows it down."},
    {"udp-receive-buffer", "{P} has no room for all that arrives, and loses some of it."},
    {"unpaced-bursts", "{P} sends in bursts that a device on the way cannot store."},
    {"unstable-path", "The line was interrupted, or changed, while data went over it."},
    {"variable-rate", "The line itself is faster and slower from second to second, as radio is."},
    {"wifi", "The wireless connection in {p} is the slowest part."},
    {"window-scaling-off", "Only 64 KiB can be on the way at once, because a setting is off; such "
                           "a distance needs more."},
};

/* Of a full line; a window that falls from its full queue and grows again hardly leaves any. */
#define WHOLE_RATIO 0.85

/* What only watched could not ask whether others use the line. */
static const char *words_of(const struct tl_run *run, const struct tl_verdict *verdict)
{
    const char *cause = verdict->cause;
    bool full = strcmp(cause, "capacity") == 0;
    if (full && tl_run_is_watched(run))
        return "The line is full, with this transfer alone or with others' beside it.";
    if (full && verdict->measured_bps < WHOLE_RATIO * verdict->ceiling_bps) /* NAN: not */
        return "The line is full, though a single connection gets only a part of it.";
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (strcmp(causes[i].cause, cause) == 0)
            return causes[i].says;
    return "";
}

#define ON " on "

void plain_add_cause(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    const char *says = verdict->cause ? words_of(source->run, verdict) : "";
    bool nowhere = verdict->segment && strcmp(verdict->segment, "flow") == 0;
    while (*says) {
        size_t len = strcspn(says, "{");
        bool on =
            nowhere && len >= strlen(ON) && strncmp(says + len - strlen(ON), ON, strlen(ON)) == 0;
        tl_buf_add(out, says, on ? len - strlen(ON) : len);
        says += len;
        if (!*says)
            break;
        if (on) { /* "The program" of a transfer, at neither end */
            says += strlen("{p}");
            continue;
        }
        plain_add_place(source, verdict->segment, says[1] == 'P', out);
        says += strlen("{p}");
    }
}
