/* What a hop answered beside a load. */
#include <math.h>
#include <stdlib.h>

#include "tightlink/base/stats.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/hops.h"

/* Probes of one round leave within this time; rounds are further apart. */
#define ROUND_NS (100 * TL_NS_PER_MS)

/* The far end's answer of the round in which at_ns was sent; NAN. */
static double answer_of_round(const struct tl_hop *far, int64_t at_ns)
{
    for (size_t i = 0; i < far->sample_count; i++)
        if (llabs(far->sent_ns[i] - at_ns) <= ROUND_NS)
            return far->rtt_ns[i];
    return (double)NAN;
}

struct tl_hop_load tl_hop_load(const struct tl_hop *idle, const struct tl_hop *loaded,
                               const struct tl_hop *far, int64_t from_ns, int64_t to_ns)
{
    double values[TL_HOPS_SAMPLES], both[TL_HOPS_SAMPLES], fars[TL_HOPS_SAMPLES];
    size_t count = 0, both_count = 0;
    for (size_t i = 0; i < loaded->sample_count; i++) {
        if (loaded->sent_ns[i] < from_ns || loaded->sent_ns[i] > to_ns)
            continue;
        values[count++] = loaded->rtt_ns[i];
        both[both_count] = loaded->rtt_ns[i];
        fars[both_count] = answer_of_round(far, loaded->sent_ns[i]);
        both_count += isfinite(fars[both_count]);
    }
    struct tl_hop_load load = {.loaded_rtt_ns = tl_stats_median(values, count),
                               .loaded_count = (unsigned)count,
                               .both_rtt_ns = tl_stats_median(both, both_count),
                               .both_high_rtt_ns = tl_stats_quantile(both, both_count, 0.75),
                               .both_far_rtt_ns = tl_stats_median(fars, both_count),
                               .both_count = (unsigned)both_count};
    /* A router that was too busy to answer at once while idle may have done so beside the load,
     * before the queue grew. */
    double least = tl_stats_min(idle->rtt_ns, idle->sample_count);
    double beside = tl_stats_min(loaded->rtt_ns, loaded->sample_count);
    load.idle_rtt_ns = isnan(least) || beside < least ? beside : least;
    return load;
}
