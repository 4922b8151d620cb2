/* Whether a queue stood at the bottleneck, piece of time by piece, and what arrived meanwhile.
 *
 * A link with a queue before it is never idle (work conservation): what arrives while a queue
 * stands all the time is the link's own rate then, however it changes. A standing queue is one that
 * does not drain: the smallest delay of a piece stays clear of the delay without load (the idea of
 * CoDel, RFC 8289, section 3.2). "Clear" is measured against the path's own scatter, so that
 * jitter, grants and aggregates are no queues.
 *
 * Two witnesses. The UDP probes beside the transfer tell which direction queues. The sender's own
 * round trips tell of a queue that the probes do not meet (fair queueing): they count where the
 * probes' growth does not explain them.
 *
 * Pure functions, any thread. Data may come from a hostile far end. NAN = cannot be told. */
#ifndef TL_ENGINE_QUEUE_H
#define TL_ENGINE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/engine/client.h"

/* Long enough for ten probes and for several round trips of most paths, short enough to see a radio
 * link change. */
#define TL_QUEUE_PIECE_NS   (500 * INT64_C(1000000))
#define TL_QUEUE_PIECES_MAX 128
/* Fewer pieces make no distribution. */
#define TL_QUEUE_PIECES_MIN 4

/* Delays over the smallest of them. */
struct tl_delay_spread {
    double median_ns, p75_ns;
};

/* The delays of a path without load. */
struct tl_idle_delay {
    struct tl_delay_spread round_trip, forward, backward; /* near to far, far to near */
    double memory_ratio; /* correlation of the ranks of neighbouring delays, of the round trips or
                          * of one way, whichever is larger: near 0 for jitter, which comes anew
                          * with each packet, high for a queue, which stays */
};

/* Over the answered probes of one train. Memory needs ten answers and some scatter. */
void tl_idle_delay(const struct tl_echo_result *echo, struct tl_idle_delay *ret_idle);

/* A time in which the path carried nothing, since the begin of the test. */
struct tl_queue_gap {
    int64_t from_ns, to_ns;
};

struct tl_queue_spec {
    const struct tl_echo_result *echo; /* probes beside the test; NULL: none */
    int64_t start_ns;                  /* begin of the test on the probes' clock */
    int64_t from_ns, to_ns;            /* what is looked at, since the begin of the test */
    double scatter_ns;                 /* by which round trips exceed the smallest without load */
    double rtt_min_ns;                 /* smallest round trip of the path; NAN: of this test */
    const struct tl_queue_gap *gaps;   /* what lies in one tells no rate of a link; borrowed */
    unsigned gap_count;
};

struct tl_queue {
    unsigned pieces, standing; /* pieces of time beside the gaps; those in which a queue stood
                                * throughout */
    double standing_ratio;     /* NAN below TL_QUEUE_PIECES_MIN */
    /* Payload rates of the pieces, 10th, 50th and 90th percentile: of all, and of those in which
     * a queue stood; by segments as they arrive where the receiver's kernel counts them. NAN below
     * TL_QUEUE_PIECES_MIN pieces of the kind. */
    double rate_bps[3], full_bps[3];
};

void tl_queue_find(const struct tl_tcp_result *result, const struct tl_queue_spec *spec,
                   struct tl_queue *ret_queue);

#endif
