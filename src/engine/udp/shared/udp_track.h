/* The receiver's record of sequence numbers: what is missing, in what runs, what came twice,
 * what came late. Pure: numbers and times in, counts out; no socket, no clock.
 *
 * A number's fate stays open for a window of UDP_TRACK_WINDOW numbers behind the highest
 * one; then its bit is counted and forgotten, so that memory does not grow with the test. */
#ifndef TL_ENGINE_UDP_TRACK_H
#define TL_ENGINE_UDP_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/engine/udp.h"

#define UDP_TRACK_WINDOW (UINT64_C(1) << 20) /* 128 KiB of bits; 0.15 s at 7 million a second */
#define UDP_GAPS_OPEN    4096                /* newest gaps, to which late arrivals belong */
#define UDP_LOSSES_MAX   4096                /* closed gaps whose delay is kept */

/* A departure and the delay it had (receiver's clock less sender's: any offset). */
struct udp_point {
    int64_t sent_ns, delay_ns;
};

/* A jump of the highest number. */
struct udp_gap {
    uint64_t first, end;     /* numbers [first, end) were jumped over */
    uint64_t missing_count;  /* of them, still */
    uint64_t arrival_number; /* of the datagram that jumped */
    int64_t arrival_ns;
    struct udp_point before; /* the highest one before the jump */
};

struct udp_track {
    uint64_t *bits; /* of [base, base + window), a ring */
    uint64_t base;  /* multiple of 64: all numbers below are counted */
    uint64_t next;  /* one more than the highest that came */
    uint64_t unique_count, duplicate_count;
    uint64_t reordered_count, extent_max, extent_sum;
    int64_t late_max_ns;
    struct udp_point newest; /* of the highest number so far */
    struct tl_udp_runs runs;
    uint64_t run; /* missing numbers up to base */
    struct udp_gap *gaps;
    uint32_t gap_first, gap_count; /* ring of UDP_GAPS_OPEN */
    struct udp_point *losses;      /* the `before` of gaps that stayed */
    uint32_t loss_count;
    uint64_t losses_seen, loss_stride;
};

enum udp_fate { UDP_NEW, UDP_LATE, UDP_DUPLICATE };

enum tl_status udp_track_init(struct udp_track *ret_track) TL_WARN_UNUSED;
void udp_track_finish(struct udp_track *track);

/* Everything but the next number in order. */
enum udp_fate udp_track_out_of_order(struct udp_track *track, uint64_t sequence, int64_t arrival_ns,
                                     struct udp_point point);

/* A datagram came. A number behind the window counts as a duplicate. */
static inline enum udp_fate udp_track_add(struct udp_track *track, uint64_t sequence,
                                          int64_t arrival_ns, struct udp_point point)
{
    if (sequence != track->next || sequence - track->base >= UDP_TRACK_WINDOW)
        return udp_track_out_of_order(track, sequence, arrival_ns, point);
    track->bits[sequence / 64 % (UDP_TRACK_WINDOW / 64)] |= UINT64_C(1) << sequence % 64;
    track->next++;
    track->unique_count++;
    track->newest = point;
    return UDP_NEW;
}

/* Whether this number came. False for what is below the window. */
static inline bool udp_track_has(const struct udp_track *track, uint64_t sequence)
{
    return sequence >= track->base && sequence < track->next &&
           track->bits[sequence / 64 % (UDP_TRACK_WINDOW / 64)] >> sequence % 64 & 1;
}

/* No more will come of sent_count numbers (or of as many as came, if these are more): closes
 * all gaps, completes runs and losses. */
void udp_track_close(struct udp_track *track, uint64_t sent_count);

#endif
