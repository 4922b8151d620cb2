/* What one stream's readings tell over time: where slow start ended, whether the rate fell for
 * good, whether losses come singly or in runs, whether a token bucket explains them.
 *
 * steady.h splits a test into warm-up and steady state and gives means; here the order of
 * events counts. Pure functions over points: no clock, no socket, no allocation, any thread.
 * Points may come from a hostile or broken far end; what cannot be told is NAN. */
#ifndef TL_ENGINE_SERIES_H
#define TL_ENGINE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/engine/sample.h"

/* 60 s of readings at 50 ms, and some. Longer tests are read at a wider step. */
#define TL_SERIES_POINTS_MAX 1400

/* One reading of the sender, counters as growth since the first one. */
struct tl_series_point {
    int64_t time_ns;
    double delivered_bytes; /* arrived at the far TCP: SACKed ones count (RFC 2018) */
    double segments_count;  /* data segments sent, retransmissions too */
    double retrans_count;
    double rtt_ns;     /* smoothed */
    double min_rtt_ns; /* the connection's smallest so far */
    double cwnd_bytes;
    bool slow_start; /* the congestion window is below its threshold */
};

struct tl_series {
    size_t count;
    double mss_bytes;
    double rtt_min_ns; /* smallest of all */
    double scatter_ns; /* by which round trips exceed the smallest without load, 90th percentile;
                        * 0 until the caller, who knows it, sets it */
    struct tl_series_point points[TL_SERIES_POINTS_MAX];
};

/* The sender's log as points in time order. Readings that run backwards in time or in a
 * counter are left out. Delivered segments times the segment size, or, from kernels that do
 * not count them, acknowledged bytes, which jump when a hole closes. count is 0 when a needed
 * field (retransmissions, segments, round-trip time, window) is missing throughout. */
void tl_series_read(const struct tl_sample_log *sender, struct tl_series *ret_series);

/* Fewer losses than this make no statement about their pattern. */
#define TL_SERIES_LOSSES_MIN 3

struct tl_slow_start {
    double end_ns;        /* the threshold was set, or a first loss; NAN: neither came */
    double bytes;         /* delivered by then */
    double first_loss_ns; /* NAN without one */
};

void tl_series_slow_start(const struct tl_series *series, struct tl_slow_start *ret_start);

/* Losses between two times, in windows of two round trips, at least 100 ms.
 *
 * Runs: were losses independent, their numbers x in windows would be Poisson with mean m. Where
 * they come in batches of L, the size-biased mean batch is E[L^2]/E[L] = sum x^2 / sum x - m
 * (compound Poisson; Gilbert 1960 for the batches of a two-state channel). It is 1 for single
 * losses at any rate. A geometric L of mean l has 2l - 1. What happens once is no rule: the mean
 * is that without the worst window and those beside it, and where few windows have losses the
 * bounds hold that of all, too. */
struct tl_loss_pattern {
    double lost_count;     /* segments sent again */
    double event_count;    /* stretches with losses, at least a window apart */
    double run_mean_count; /* mean batch, >= 1; NAN below TL_SERIES_LOSSES_MIN losses */
    double run_low_count, run_high_count;
    double flat_ratio;       /* share of events before which the round-trip time was flat */
    double rate_at_loss_bps; /* median of congestion window / RTT before events */
    /* How well the rate tells when a loss comes: the probability that it was higher before a
     * loss than at other times, scaled so that 0 is chance and 1 is always. Losses above a
     * threshold (a policer, a full queue) give nearly 1, losses by chance about 0.15: they hit
     * large windows more often. NAN below TL_SERIES_LOSSES_MIN events, and where the rate does
     * not vary. */
    double threshold_ratio;
    /* Where the round-trip time before a loss event stands among all of them, mean over events: 0.5
     * for losses that come whatever the delay is (chance, a policer), near 1 for those of a queue
     * that was full, whoever filled it. A rank knows no scatter: jitter does not move it. The 95 %
     * bounds are those of a mean of so many uniform ranks. NAN below TL_SERIES_LOSSES_MIN events.
     */
    double delay_rank_ratio, delay_rank_low, delay_rank_high;
};

/* Half the 95 % interval of a mean of uniform ranks, times the root of their number. */
#define TL_SERIES_RANK_BOUND (1.96 * 0.2887)

/* A round-trip time is flat within 20 % of the smallest, or within the series' scatter. All NAN
 * where fewer than two points lie between the times. */
void tl_series_losses(const struct tl_series *series, int64_t from_ns, int64_t to_ns,
                      struct tl_loss_pattern *ret_pattern);

/* The one lasting fall of the rate, if there is one: a stretch faster than 1.3 times the rest,
 * then never again; the rest lasts 2 s and varies by less than a quarter, or 1.5 s and by less than
 * a tenth.
 * ratio is 1 where there is none. */
struct tl_rate_change {
    double ratio;      /* before_bps / after_bps */
    double at_ns;      /* NAN without one, like the rest */
    double before_bps; /* at its best: mean of the stretch from 80 % of the peak on */
    double after_bps;
    double after_swing_ratio; /* of it, between groups of half a second: deviation over mean */
    double bytes;             /* delivered by then */
    double excess_bytes;      /* of it, the most in one stretch that a link of after_bps would not
                               * have carried */
    double rtt_rise_ns;       /* mean of the second after less mean of the time before */
};

void tl_series_rate_change(const struct tl_series *series, struct tl_rate_change *ret_change);

/* The most by which what was delivered was ever ahead of that rate from the first point on, bytes,
 * 0 at least: the tokens that a bucket filled at that rate held when the series began, whatever
 * slow start took to spend them. NAN below two points. */
double tl_series_ahead(const struct tl_series *series, double rate_bps);

/* Token bucket, after T. Flach et al., An Internet-Wide Analysis of Traffic Policing, SIGCOMM
 * 2016, section 3: the rate between first and last loss is that of the tokens; with it the
 * bucket is empty whenever something is lost and holds tokens when nothing is; and the
 * round-trip time does not tell beforehand. Their algorithm sees packets; here readings some
 * round trips apart, so a loss fits when the window before it ran at or above the token rate
 * (threshold_ratio) and the round-trip time was flat (flat_ratio). */
struct tl_policer_fit {
    double rate_bps;    /* NAN without enough losses */
    double fit_ratio;   /* threshold_ratio x flat_ratio, cut at 0 */
    double burst_bytes; /* passed above that rate before the first loss */
};

void tl_series_policer(const struct tl_series *series, int64_t from_ns, int64_t to_ns,
                       struct tl_policer_fit *ret_fit);

#endif
