/* What a test's samples say: where the steady part begins, the rate there and how
 * well it is known, and what the sender's TCP did meanwhile.
 *
 * Pure functions over samples: no clock, no socket, no allocation, any thread.
 * Samples may come from a hostile or broken far end: times and counters that run
 * backwards, fields that are missing, a single sample, none. What cannot be told is
 * NAN, or `valid` false; a number is never made up.
 *
 * The receiver's samples give the rate, the sender's the ledger and the TCP
 * statistics. The two ends have clocks of their own, both 0 at the start of the test
 * at that end: windows of one end fit the other to about one round trip, and every
 * window here is many of them. */
#ifndef TL_ENGINE_STEADY_H
#define TL_ENGINE_STEADY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/engine/sample.h"

/* A measurement shorter than both of these, in steady state, is inconclusive
 * (doc/architecture.md, "Faults"). */
#define TL_STEADY_MIN_NS         (3000 * INT64_C(1000000))
#define TL_STEADY_MIN_RTTS_COUNT 20
/* Stop early once the 95 % interval is at most that far from the rate. */
#define TL_STEADY_KNOWN_RATIO 0.03
/* Cycles of a sawtooth that must lie in the steady part before a test may end early. */
#define TL_STEADY_LOSS_EVENTS 4
/* Batches of the rate are one RTT long, but not shorter than this. */
#define TL_STEADY_BATCH_NS (100 * INT64_C(1000000))
/* A rate that is compared with one measured before is known after less: four pieces of a queue's
 * account (queue.h) and a quarter of a second to spare. */
#define TL_STEADY_AGREES_NS         (2250 * INT64_C(1000000))
#define TL_STEADY_AGREES_RTTS_COUNT 12
/* Both intervals may be that wide: of rates TL_STEADY_KNOWN_RATIO apart the bounds are 13 % apart
 * at most, and rules take 15 % for more than scatter. */
#define TL_STEADY_AGREES_WITHIN 0.05
/* 15 % is what rules take for more than the scatter between two tests; here both bounds are apart.
 */
#define TL_STEADY_MORE_RATIO  1.3
#define TL_STEADY_MORE_WITHIN 0.1
/* That much more shows in fewer round trips than a sameness does. */
#define TL_STEADY_MORE_RTTS_COUNT 8
/* What several that lose packets get beyond one that lost them: from 1.8 times on they are no
 * scatter (rules/path/per-flow-limit.json); here both bounds are apart. */
#define TL_STEADY_MULTIPLE 2.0
/* Connections shared out less alike than that (Jain's index) may belong to two groups, as on the
 * members of a bundle: the whole time tells (members.h). Chance makes 0.65 and more of eight. */
#define TL_STEADY_AGREES_FAIRNESS 0.6
/* Points a curve may have: 60 s at 10 ms. */
#define TL_STEADY_POINTS_MAX 6400

/* Streams of one test: TL_STREAMS_MAX, but nothing here knows sockets. */
#define TL_STEADY_STREAMS_MAX 128

/* --- Curve: payload so far over time, all streams together ---------------------- */

struct tl_rate_point {
    int64_t time_ns;
    double bytes; /* cumulative */
};

/* Sums app_bytes of the receiver's logs, one log a stream, on the grid of the first
 * log, up to the time where the first stream ends; between two samples of a stream
 * linearly. Samples that run backwards in time, or have no app_bytes, are skipped;
 * bytes that run backwards count as no progress. Returns the number of points, at most
 * max; 0 when a stream has no sample. Trailing points without progress are cut off. */
size_t tl_steady_curve(const struct tl_sample_log *logs, size_t log_count,
                       struct tl_rate_point *ret_points, size_t max);

/* --- Rate ------------------------------------------------------------------------- */

struct tl_steady_rate {
    bool valid;               /* a steady part of at least two batches exists */
    bool long_enough;         /* it lasts TL_STEADY_MIN_NS and TL_STEADY_MIN_RTTS_COUNT */
    double drift_ratio;       /* second half less first half, over the mean */
    int64_t start_ns, end_ns; /* the steady part; warm-up is what lies before */
    double goodput_bps;       /* mean of the steady part */
    double low_bps, high_bps; /* 95 % interval; goodput itself when not valid */
    double whole_bps;         /* mean from time 0 to the last byte */
    double max_bps, min_bps;  /* of the batches of the steady part */
    int64_t silence_ns;       /* longest stretch of the whole test without a byte … */
    int64_t silence_at_ns;    /* … and when it began: an outage, where it is seconds */
};

/* Splits warm-up from steady state and estimates the rate.
 *
 * Where: over batches of whole RTTs (>= 100 ms and >= the widest gap between points),
 * laid from the end, batches are dropped from the front until the first fifth of the rest differs
 * from its last half by no more than two standard errors and 1 % (Geweke 1992). At least 5 batches
 * remain, and what a verdict needs (3 s and 20 RTTs), or two thirds of a test that is too short
 * for that and some warm-up.
 *
 * How well: batch means. The half width is the largest of Student's 95 % intervals
 * over groups of 1, 2, 4 … batches, between 5 and 20 groups (fewer where there are fewer
 * batches), and of half the difference of the two halves. Correlated series (a sawtooth of seconds)
 * widen with the batch, so an interval from short, similar batches is not taken for knowledge.
 *
 * rtt_ns: mean RTT under load, 0 when not known. *ret_rate is filled in any case. */
void tl_steady_rate(const struct tl_rate_point *points, size_t count, int64_t rtt_ns,
                    struct tl_steady_rate *ret_rate);

/* --- The sender's TCP over a window ------------------------------------------------ */

/* Where one stream's time went (or the sum over streams). The four ratios sum to 1.
 *
 * The kernel starts its send-buffer chronometer only where a transmission empties the
 * write queue and finds the congestion window unused (net/ipv4/tcp_output.c,
 * tcp_cwnd_validate), and so misses a bulk sender whose bursts reach the window: seen on
 * Linux 6.18 with 0 % counted where the path idled for most of the time. Readings in
 * which only the send buffer held the sender back (sndbuf_full_ratio) therefore count,
 * too, taken from what the kernel leaves to the network. */
struct tl_ledger {
    bool valid;
    double application_ratio;   /* nothing to send: elapsed - busy */
    double sndbuf_ratio;        /* held by the send buffer: the larger of kernel and readings */
    double sndbuf_kernel_ratio; /* of it, as the kernel counts */
    double rwnd_ratio;          /* held by the peer's receive window */
    double network_ratio;       /* busy - rwnd - sndbuf: congestion window, pacing, the path */
    double elapsed_ns;          /* sum over streams */
};

/* NAN = not known. A "mean" is over readings, which come at a fixed interval. */
struct tl_flow_stats {
    size_t readings;
    double elapsed_ns; /* between first and last reading of the window */
    struct tl_ledger ledger;
    double rtt_min_ns;   /* the kernel's minimum where it has one, else of the readings */
    double rtt_floor_ns; /* smallest smoothed RTT reading: above the minimum, a queue stood */
    double rtt_mean_ns, rtt_max_ns;
    double rtt_at_loss_ns; /* mean of readings around new retransmissions */
    double sent_bytes, acked_bytes, retrans_bytes;
    double segments_count, retrans_count;
    double loss_event_count; /* new retransmissions, at most one event a RTT, and at most as
                              * many as segments were retransmitted */
    double rto_count, dsack_count, reord_seen_count, delivered_ce_count;
    double inflight_mean_bytes, inflight_max_bytes;
    double snd_wnd_max_bytes, snd_wnd_mean_bytes;
    double window_full_ratio; /* readings with in flight >= 90 % of the peer's window */
    double sndbuf_full_ratio; /* readings in which only the send buffer held the sender back */
    double cwnd_mean_bytes, cwnd_max_bytes;
    double mss_bytes, pmtu_bytes;                       /* last reading */
    double sndbuf_max_bytes;                            /* SO_SNDBUF as autotuning left it */
    double delivery_rate_max_bps;                       /* readings that are not app_limited */
    double options, snd_wscale_count, rcv_wscale_count; /* last reading, flags TL_TCP_OPT_* */
    double thread_cpu_ratio, thread_wait_ratio; /* of elapsed: on a CPU; ready, waiting for one */
    double room_wait_ratio;                     /* of elapsed: waiting for room in the buffer */
};

/* The ledger of one stream from its start to this reading: the kernel's chronometers as they stand.
 * NULL, or a reading without them: invalid, with NAN. */
void tl_ledger_so_far(const struct tl_tcp_sample *sender, struct tl_ledger *ret_ledger);

/* Statistics of one sender's log between two times of its own clock. The ledger's
 * chronometers count in the kernel's clock ticks and are read some microseconds apart
 * from the time: parts that are negative by up to 2 % + 10 ms are taken for 0, others
 * and counters that ran backwards make the ledger invalid. Kernel:
 * net/ipv4/tcp.c tcp_get_info_chrono_stats(). */
void tl_flow_stats(const struct tl_sample_log *log, int64_t from_ns, int64_t to_ns,
                   struct tl_flow_stats *ret_stats);

/* All streams as one flow: counts, bytes and windows are summed (NAN when one is not
 * known), times averaged by readings, ledgers added; of buffers and of the threads' CPU
 * shares the largest. Streams without readings do not count. */
void tl_flow_stats_sum(const struct tl_flow_stats *stats, size_t count,
                       struct tl_flow_stats *ret_sum);

struct tl_receiver_stats {
    size_t readings;
    double elapsed_ns;
    double received_bytes;                /* by the application */
    double rcv_wnd_max_bytes;             /* advertised (Linux >= 6.2) */
    double rcvbuf_max_bytes;              /* SO_RCVBUF as autotuning left it */
    double inq_mean_bytes, inq_max_bytes; /* waiting for the application */
    double ooo_count;                     /* segments out of order */
    double drops_count;                   /* dropped for want of socket memory */
    double mss_bytes;
    double options, snd_wscale_count, rcv_wscale_count;
    double thread_cpu_ratio, thread_wait_ratio; /* as above */
    double data_wait_ratio; /* waiting for data: near 0, the receiver itself is the limit */
};

void tl_receiver_stats(const struct tl_sample_log *log, int64_t from_ns, int64_t to_ns,
                       struct tl_receiver_stats *ret_stats);
void tl_receiver_stats_sum(const struct tl_receiver_stats *stats, size_t count,
                           struct tl_receiver_stats *ret_sum);

/* --- Early stop -------------------------------------------------------------------- */

/* Whether no sawtooth of the congestion window can hide outside the steady part: the
 * sender was held by a window, a buffer or itself (its ledger, or its thread's core); or a queue
 * stood at the bottleneck all the time (smallest RTT reading above the path's by 10 % and 1 ms), so
 * that the link was never idle; or the congestion control has no sawtooth (bbr); or nothing was
 * ever lost (whole_stats); or at least TL_STEADY_LOSS_EVENTS lie in the steady part. */
bool tl_steady_cycles_inside(const struct tl_flow_stats *steady_stats,
                             const struct tl_flow_stats *whole_stats, const char *congestion);

/* Whether the rate is known well enough to end the test now: the interval is within
 * TL_STEADY_KNOWN_RATIO, the steady part long enough with two batches to spare, its
 * halves differ by <= 3 %, it was as even half a second and two RTTs ago, if not as long, and
 * tl_steady_cycles_inside(). A sender that the receive window held for more than 0.9 of the time,
 * and whose rate is that window a round trip within 3 % and a segment, needs one batch to spare
 * and no second look. */
bool tl_steady_known(const struct tl_rate_point *points, size_t count,
                     const struct tl_flow_stats *steady_stats,
                     const struct tl_flow_stats *whole_stats, const char *congestion);

/* All of the above for one test: curve from the receiver's logs, then rate, then stats
 * over the steady part. The workspace is TL_STEADY_POINTS_MAX points of the caller. */
struct tl_steady {
    struct tl_steady_rate rate;
    struct tl_flow_stats sender; /* steady part, all streams; the whole test if not valid */
    struct tl_flow_stats sender_whole;
    struct tl_receiver_stats receiver;
    double fairness_ratio; /* Jain's index of the streams' bytes in the steady part */
    bool cycles_inside;    /* tl_steady_cycles_inside(): else a longer test may say otherwise */
    bool known;            /* tl_steady_known() */
};

void tl_steady_analyse(const struct tl_sample_log *senders, const struct tl_sample_log *receivers,
                       size_t streams, const char *congestion,
                       struct tl_rate_point workspace[TL_STEADY_POINTS_MAX],
                       struct tl_steady *ret_steady);

/* Whether a test says the same as the one of one connection before it: its halves differ by no more
 * than TL_STEADY_KNOWN_RATIO, no cycle hides outside of its steady part, and
 *   its interval is within TL_STEADY_AGREES_WITHIN, and what several got together is what the one
 *   got (a link is full) or each as much as the one (each is held alike), within
 *   TL_STEADY_KNOWN_RATIO, and they share it alike; or
 *   it is one connection with a larger window, held by that all the time, and its rate is that
 *   window a round trip, as tl_steady_known() has it: what the one before it foretold.
 * Two measurements bear one another out, so that TL_STEADY_AGREES_NS and
 * TL_STEADY_AGREES_RTTS_COUNT do instead of what one by itself needs. one_bps: a rate that is known
 * to TL_STEADY_AGREES_WITHIN; 0 or NAN: none, false. */
bool tl_steady_agrees(const struct tl_steady *steady, double one_bps, unsigned streams);

/* Whether a test shows beyond doubt that it gets more than the one before it, which a buffer held:
 * its rate, known within TL_STEADY_MORE_WITHIN, lies above TL_STEADY_MORE_RATIO of the other one's
 * upper bound, its halves differ by no more than TL_STEADY_MORE_WITHIN, its connections share it
 * alike, no cycle hides outside of its steady part, and it lasts TL_STEADY_AGREES_NS and
 * TL_STEADY_MORE_RTTS_COUNT. one_high_bps: 0 or NAN: none, false. */
bool tl_steady_surpasses(const struct tl_steady *steady, double one_high_bps);

/* Whether several connections that lose packets show beyond doubt that they get a multiple of what
 * one got, which the network held: their lower bound lies above TL_STEADY_MULTIPLE of its upper
 * one, no queue stands, TL_STEADY_LOSS_EVENTS were lost, they share it alike, and it lasts
 * TL_STEADY_AGREES_NS and TL_STEADY_AGREES_RTTS_COUNT. Losses keep the rate of each from being
 * known better, however long it lasts. one_high_bps: 0 or NAN: none, false. */
bool tl_steady_multiplies(const struct tl_steady *steady, double one_high_bps);

/* What a test may end with before its time; nothing of it: it lasts. */
struct tl_steady_enough {
    bool rate;             /* its rate is known, or one of these three */
    double agrees_bps;     /* a steady rate of one connection, measured before: tl_steady_agrees();
                            * 0: none */
    double surpasses_bps;  /* the most that one connection got which a buffer held:
                            * tl_steady_surpasses(); 0: none */
    double multiplies_bps; /* the most that one connection got which the network held:
                            * tl_steady_multiplies(); 0: none */
    unsigned lost_events; /* so many loss events of the steady part, where the sender tells them, in
                           * TL_STEADY_MIN_NS and TL_STEADY_AGREES_RTTS_COUNT at least; 0: never */
};

/* Whether it may. */
bool tl_steady_settles(const struct tl_steady *steady, const struct tl_steady_enough *enough,
                       unsigned streams);

/* The same of a part of the test, as if it had begun and ended there; times stay those of the whole
 * test, and so does sender_whole. For a test in which the path carried nothing for a while. */
void tl_steady_analyse_part(const struct tl_sample_log *senders,
                            const struct tl_sample_log *receivers, size_t streams,
                            const char *congestion, int64_t part_from_ns, int64_t part_to_ns,
                            struct tl_rate_point workspace[TL_STEADY_POINTS_MAX],
                            struct tl_steady *ret_steady);

#endif
