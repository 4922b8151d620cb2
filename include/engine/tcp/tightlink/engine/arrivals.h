/* Losses as the receiver of a stream sees them, where the sender tells nothing.
 *
 * What arrives behind a lost segment waits out of order until that segment was sent again, which
 * takes a round trip: of the segments that arrive, the kernel counts those out of order
 * (tcpi_rcv_ooopack, Linux 5.4). Were losses to begin by chance, one in 1/p segments, each would
 * cover the W segments of one round trip, and the share that arrives in order would be
 * exp(-p W): p = -ln(1 - share) / W. Segments that overtake one another cover far fewer than W
 * each, so they count for little; whether they do at all, datagrams tell.
 *
 * Pure functions over one receiver's readings; any thread. What cannot be told is NAN. */
#ifndef TL_ENGINE_ARRIVALS_H
#define TL_ENGINE_ARRIVALS_H

#include <stddef.h>
#include <stdint.h>

#include "tightlink/engine/sample.h"

struct tl_arrivals {
    double segments_count; /* data segments that arrived */
    double ooo_count;      /* of them, behind a hole */
    double loss_count;     /* loss events: p times the segments */
    /* Arrivals behind loss events over those before them, mean and its 95 % bounds over the events
     * that stand clear of others: losses that make the sender slow down leave less than 1. NAN with
     * fewer than TL_ARRIVALS_FALLS_MIN such events. */
    double fall_ratio, fall_low, fall_high;
};

#define TL_ARRIVALS_FALLS_MIN 3

/* Readings between two times of the receiver's clock. rtt_ns: the round trip meanwhile. */
void tl_arrivals_read(const struct tl_sample_log *receiver, int64_t from_ns, int64_t to_ns,
                      double rtt_ns, struct tl_arrivals *ret_arrivals);

/* Several streams as one: counts are summed, NAN where one is; falls are not told. */
void tl_arrivals_add(struct tl_arrivals *sum, const struct tl_arrivals *one);

#endif
