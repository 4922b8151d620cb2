/* Whether several streams of one test fall into two groups, as they do where one member of a link
 * bundle is bad and the source port decides which member carries a stream (ECMP, LACP).
 *
 * Pure, no allocation. Two groups are claimed only where chance does not make them: streams that
 * share a queue are unequal, too. */
#ifndef TL_ENGINE_MEMBERS_H
#define TL_ENGINE_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

#define TL_MEMBERS_MAX 32
/* Fewer streams make no groups. */
#define TL_MEMBERS_MIN 4

struct tl_member {
    double bps;               /* steady rate of the stream */
    double segments_count;    /* sent */
    double retrans_count;     /* of them, sent again; NAN = not known */
    double loss_events_count; /* times of loss, at most one a round trip; NAN = not known */
};

struct tl_members {
    size_t count;
    double min_bps, max_bps, mean_bps;
    double spread_ratio; /* standard deviation over mean */
    bool bimodal;
    bool slow[TL_MEMBERS_MAX]; /* member of the slow group; all false where not bimodal */
    size_t slow_count;
    double slow_bps, fast_bps; /* group means, NAN where not bimodal */
    double slow_retrans_ratio, fast_retrans_ratio;
    double slow_loss_event_ratio, fast_loss_event_ratio; /* times of loss for each segment */
};

/* Splits the sorted rates where the two groups' squared deviations of log rates are least (2-means
 * in one dimension, exact). The split counts where the slowest of the fast has at least twice
 * the rate of the fastest of the slow, that step is at least 1.5 times as wide (in logarithms) as
 * either group, and either the slow group's share of losses is above three times the fast one's
 * beyond chance (95 % bounds), or both groups have two members and the step is threefold.
 *
 * Where rates are too unequal for that, times of loss tell: one queue that overflows hits who
 * sends little no more often than who sends much, so streams that get less than half of what the
 * others get in the mean and yet lose 1.3 times as often as these, and six times as often for a
 * segment, both beyond chance, lose somewhere else. (Of draws that are slow for losses by chance
 * fewer than one in a hundred are.) Of the splits by their share of losses the one that tells the
 * groups best apart counts; two streams at least are fast.
 * Rates that are not finite or not positive do not count. */
void tl_members_split(const struct tl_member *members, size_t count, struct tl_members *ret_split);

#endif
