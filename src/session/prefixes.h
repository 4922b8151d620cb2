/* Comparing the parts of a way with the whole. Pure. Private to the session. */
#ifndef TL_SESSION_PREFIXES_H
#define TL_SESSION_PREFIXES_H

#include <stdbool.h>
#include <stddef.h>

/* A prefix that gets no more than this times the whole's rate shows the whole's limit: two
 * measurements of one full link differ by less. */
#define SAME_RATE 1.2
/* Loss of at least this share of the whole's, from so many lost packets on. */
#define LOSS_SHARE 0.5
#define LOSSES_MIN 5

/* What one stream from here to some point got. NAN where unknown. */
struct session_prefix {
    double rate_bps, loss_ratio, loss_count, rtt_ns;
    int hop; /* the router of the way that the point is, 0: not known */
};

/* Of count prefixes, nearest first, and the whole behind them: the first that shows the limit,
 * so that it lies between the point before and that one; count when only the whole does;
 * SIZE_MAX when one of them was not measured and nobody can say. */
size_t session_prefix_tight(const struct session_prefix *prefixes, size_t count, bool by_loss);

/* The segment (lan, path, far-lan) that loses the packets, of a way of so many hops: NULL where
 * too few were lost, or the points around the loss are not known to be on either side of it. */
const char *session_prefix_loss_segment(const struct session_prefix *prefixes, size_t count,
                                        int hops);

#endif
