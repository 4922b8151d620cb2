/* What a connection's packets say of its limits, beyond counts: where the capture was taken, what
 * made the sender wait, whether losses follow the load or a token bucket. Pure functions. */
#ifndef TL_FLOW_LIMITS_H
#define TL_FLOW_LIMITS_H

#include <math.h>

#include "tightlink/flow/packets.h"

/* Where the capturing machine stands on the way. */
enum tl_packet_place {
    TL_PLACE_UNKNOWN, /* one direction only, or no handshake and no timestamps; or a path so short
                         that both ends are equally near */
    TL_PLACE_SENDER,
    TL_PLACE_MIDDLE,
    TL_PLACE_RECEIVER,
};
const char *tl_packet_place_name(enum tl_packet_place place); /* "at the sender" … */

/* The end whose data is looked at: who sent more. */
int tl_packet_sender(const struct tl_packet_flow *flow);
enum tl_packet_place tl_packet_place(const struct tl_packet_flow *flow, int sender);

/* What made the sender wait while data was in flight and the receiver's window open. */
enum tl_packet_wait {
    TL_WAIT_UNKNOWN,
    TL_WAIT_NETWORK, /* congestion window: losses, a standing queue, or it still grows */
    TL_WAIT_SNDBUF,  /* acknowledgements make it send, and nothing on the way holds it back */
    TL_WAIT_APP,     /* it sends by its own clock */
};

/* Shares of a sender's time; they sum to 1. */
struct tl_packet_ledger {
    bool known;
    const char *why; /* not known: a half sentence */
    double app_ratio, sndbuf_ratio, rwnd_ratio, network_ratio;
    /* Known in any case: idle with nothing in flight, and the window closed. */
    double idle_ratio, closed_ratio;
    enum tl_packet_wait wait, slack; /* how those parts were counted */
    bool window_known;     /* else the receive window is at least as large as its half says */
    bool spent;            /* waiting behind segments that were not full counts as the program's */
    double clocked_ratio;  /* share of trains that an acknowledgement set off, beyond chance; NAN */
    double standing_ratio; /* of half seconds in which a queue stood throughout; NAN: too short */
};

void tl_packet_ledger(const struct tl_packet_flow *flow, int sender,
                      struct tl_packet_ledger *ret_ledger);

/* Token bucket, after T. Flach et al., An Internet-Wide Analysis of Traffic Policing, SIGCOMM 2016,
 * section 3.1, with the bucket's depth: filled at the token rate up to its depth, the bucket must
 * be empty at each loss, within two round trips' worth and a quarter of its depth, must not be
 * overdrawn while nothing is lost, and must seldom be empty then; and the round-trip time must not
 * tell of a loss beforehand: before half of the losses it is at most 1.3 times its 10th percentile.
 */
#define TL_POLICER_LOSSES_MIN 15
struct tl_packet_policer {
    double rate_bps;    /* for which that holds best; NAN below that many losses */
    double fit_ratio;   /* share of losses with an empty bucket, times that of other times without
                         * overdraft, times that of other times when it was not empty; 0 where the
                         * round-trip time tells */
    double burst_bytes; /* its depth */
    double peak_bps; /* most that passed within about a round trip: above the token rate while the
                      * bucket is not empty, never above a link's */
};

void tl_packet_policer(const struct tl_packet_half *half, struct tl_packet_policer *ret_policer);

/* The same bucket without a bound on its depth, in steps of about a millisecond: its level, how
 * much of what it holds is gone, is highest where something is lost, and lower where something
 * passes. A queue of a link with that rate has the same level: what tells the two apart is whether
 * packets wait for it. */
struct tl_packet_level {
    /* Share of what passed while the level was lower than at a loss, mean over loss events with its
     * 95 % bounds, at the rate for which that is most: 1 for a bucket or a queue, one half for
     * losses by chance, and a little more for the choice of the rate. NAN below five events. */
    double rank_ratio, low_ratio, high_ratio;
    double rate_bps;    /* that rate */
    double depth_bytes; /* the level at half of the losses */
    /* From the lowest fifth of the levels to the highest: what a queue would have made packets wait
     * more, and by how much the round trips were longer, medians. NAN: too few were timed. */
    double swing_ns, delay_ns;
};

void tl_packet_level(const struct tl_packet_half *half, struct tl_packet_level *ret_level);

/* Share of the time in which what was sent is what its program wrote, for what was to be sent ran
 * out at least every half second; 0 where that came behind fewer than a quarter of the segments
 * that were not full, at which a write may have ended: behind 0.12 of them at most where small
 * writes fill a send buffer (Nagle off). NAN: a single packet. */
double tl_packet_dry_ratio(const struct tl_packet_half *half);

/* From the fifth of the time in which least was in flight to that in which most was: by how much
 * more a link that is full all the while hands on later, at the flow's own rate (Little's law), and
 * by how much the round trips of what left then were longer, medians. As much where a queue of the
 * flow's own stands before a link, whatever that link's rate is; no more where the way had room.
 * What was in flight when a packet left is not what its own delay makes. NAN: too few were timed.
 */
struct tl_packet_flight {
    double swing_ns, delay_ns;
};

void tl_packet_flight(const struct tl_packet_half *half, struct tl_packet_flight *ret_flight);

/* Correlation (Pearson's r) of the shortest round trips of two bins that lie a mean round trip
 * apart: near 1 where what makes packets wait stays for several of them, as a queue does that fills
 * and drains; near 0 where each waits by itself, as on shared air or behind jitter. NAN: too few.
 */
double tl_packet_delay_memory(const struct tl_packet_half *half);

/* Of all round trips; NAN: none was timed. */
double tl_packet_rtt_mean_ns(const struct tl_packet_half *half);

/* The same bucket packet by packet, of the first packets: what came by is played back into a bucket
 * (or a queue, which is its mirror) of each rate and depth, and where it is empty the next packet
 * must be lost. At a loss it is empty, whatever was reckoned before; and where a packet passed that
 * it had no token for, it is just empty: so a small error of the rate does not grow.
 *
 * Losses of others' packets, by chance or in bursts are foretold by none. */
struct tl_packet_replay {
    /* Share of loss events that the best one foretells, less the share of round trips without a
     * loss in which it foretells one, less that of packets that passed where it had no token or
     * were lost where it had some: 1 for a bucket or a queue, about 0 for other losses. The bounds:
     * of that many events, 95 %, Wilson. NAN below 8 losses or 4 events behind the first. */
    double told_ratio, low_ratio, high_ratio;
    double rate_bps, depth_bytes;       /* payload */
    double rate_low_bps, rate_high_bps; /* of all that foretell nearly as well */
    /* As in tl_packet_level, of single packets. */
    double swing_ns, delay_ns;
};

/* upstream: most losses lie before the capturing machine. */
void tl_packet_replay(const struct tl_packet_half *half, bool upstream,
                      struct tl_packet_replay *ret_replay);

/* The slowest link's rate by the dispersion of packets: what left together, and is acknowledged
 * apart, was held apart by that link (V. Jacobson, Congestion avoidance and control, SIGCOMM 1988,
 * figure 1; C. Dovrolis, P. Ramanathan, D. Moore, Packet-dispersion techniques and a
 * capacity-estimation methodology, IEEE/ACM Transactions on Networking, 2004). With what was sent
 * when, that rate tells what waited before the link at each packet, whether packets were timed or
 * not; and losses of a queue that drops what it has no room for come where most waited, all before
 * the same amount. */
struct tl_packet_dispersion {
    /* Payload; the median by bytes and the quartiles. NAN: fewer than 20 pairs waited for each
     * other. Others' packets on that link, and delays that scatter, set the quartiles apart. */
    double rate_bps, low_bps, high_bps;
    /* The chance that losses which nothing of that has a part in come where so much waits: of the
     * mean rank of the loss events behind the first among all that passed (Irwin-Hall). NAN below
     * two of them: the first one ended a growth, at the most so far. */
    double chance_ratio;
    /* That waited, with the packet that was lost: median of those events, and their deciles. */
    double backlog_bytes, backlog_low_bytes, backlog_high_bytes;
    /* Of the round trips in which so much, a quarter and two segments more waited without a loss,
     * and of the events together: the share of the former. 0 where a queue of that size drops. */
    double above_ratio;
};

static inline struct tl_packet_dispersion tl_packet_no_dispersion(void)
{
    double none = (double)NAN;
    return (struct tl_packet_dispersion){none, none, none, none, none, none, none, none};
}

/* Where the losses lie behind the capturing machine, and packets come to it as they were sent. */
void tl_packet_dispersion(const struct tl_packet_half *half,
                          struct tl_packet_dispersion *ret_dispersion);

/* Where the load at a loss stands among that at all segments sent, mean over loss events: 0.5 for
 * losses that do not care for load, near 1 for those that load makes. Load is what was in flight,
 * or what was sent together (the backlog before a link half as fast again as the flow), whichever
 * the losses follow more. NAN bounds below 3 events. */
struct tl_packet_loss_rank {
    double rank_ratio, low_ratio, high_ratio;
    double train_ratio, train_low_ratio, train_high_ratio; /* by what was sent together alone */
    /* By what was in flight when the packet behind the loss was sent: of a gap nobody has seen
     * which of the two it was sent with. */
    double next_ratio, next_low_ratio, next_high_ratio;
    double upstream_ratio; /* share of losses that came before the capturing machine; NAN: none */
    double flat_ratio;     /* share of events before which the round-trip time was within 1.2 of its
                            * 10th percentile */
    double far_rtt_ns;     /* mean of the part of it behind the capturing machine, then */
};

void tl_packet_loss_rank(const struct tl_packet_half *half, struct tl_packet_loss_rank *ret_rank);

/* Where the delay stands, on the side where packets are lost, that those sent just before a loss
 * took there and back, among what all took, mean over loss events: 0.5 where delay has no part in
 * losses, near 1 at a queue that overflows. Of the passages, each with the shorter one of two that
 * follow each other: the very last before a loss waits for a receiver's timer. In steps of a
 * hundredth of the round trip. False below 5 events. */
bool tl_packet_delay_rank(const struct tl_packet_half *half, bool upstream, double *ret_rank,
                          double *ret_low, double *ret_high);

/* Loss events that began so long after the first data: losses sent within a round trip and a half
 * of the first of them are one (RFC 5348, section 5.2, asks for one round trip). */
double tl_packet_loss_events(const struct tl_packet_half *half, double from_ns, double to_ns);

/* Packets lost in a row, mean over loss periods (RFC 3357, section 3) by sequence number, but those
 * of the most that come within half a round trip of each other: slow start overruns a queue once,
 * whatever loses packets at other times. A period counts for two medians at most: it may overrun
 * another one. 1 for losses by chance, at any rate. NAN below 4 periods.
 */
double tl_packet_loss_period(const struct tl_packet_half *half);

/* To what share the window falls at a loss, median: 0.7 for CUBIC (RFC 9438), 0.5 for Reno (RFC
 * 5681). NAN below three recoveries. */
double tl_packet_backoff(const struct tl_packet_half *half);

#endif
