/* Which link fills under load: a change point over the hops. */
#include <math.h>
#include <stdlib.h>

#include "tightlink/base/stats.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/hops.h"

/* Fewer answers under load say nothing about a hop. */
#define ANSWERS_MIN 3
/* A rise that counts: more than timers and routers' own slowness make. */
#define RISE_MIN_NS    2e6
#define RISE_MIN_RATIO 0.15
/* Shares of the whole rise. Medians of few readings of a queue that swings differ by a third;
 * what lies between the two may be either. */
#define RISEN_RATIO 0.55
#define FLAT_RATIO  0.3
/* Probes of one round leave within this time; rounds are further apart. */
#define ROUND_NS (100 * TL_NS_PER_MS)

enum state { UNKNOWN, FLAT, RISEN };

static double rise_ns(const struct tl_hop_load *hop)
{
    return hop->loaded_count >= ANSWERS_MIN ? hop->loaded_rtt_ns - hop->idle_rtt_ns : (double)NAN;
}

/* Of a hop, by its share of the far end's rise at the same time. */
static enum state state_of(const struct tl_hop_load *hop, const struct tl_hop_load *far)
{
    double whole_ns = hop->both_far_rtt_ns - far->idle_rtt_ns;
    if (hop->both_count < ANSWERS_MIN || !(whole_ns >= RISE_MIN_NS))
        return UNKNOWN; /* there was nothing to see when it answered */
    double share = (hop->both_rtt_ns - hop->idle_rtt_ns) / whole_ns;
    return share >= RISEN_RATIO ? RISEN : share <= FLAT_RATIO ? FLAT : UNKNOWN;
}

struct tl_hops_blame tl_hops_blame(const struct tl_hop_load *hops, int count)
{
    struct tl_hops_blame blame = {.rise_ns = (double)NAN, .reason = ""};
    if (count < 1 || count > TL_HOPS_MAX || isnan(rise_ns(&hops[count]))) {
        blame.reason = "the far end answered too few probes under load";
        return blame;
    }
    blame.rise_ns = rise_ns(&hops[count]);
    if (blame.rise_ns < RISE_MIN_NS || blame.rise_ns < RISE_MIN_RATIO * hops[count].idle_rtt_ns) {
        blame.reason = "no queue grew under load";
        return blame;
    }
    blame.known = true;
    blame.last_hop = count;
    /* From the far end back: the rise stays as long as no flat hop interrupts it. */
    for (int hop = count - 1; hop >= 1; hop--) {
        enum state state = state_of(&hops[hop], &hops[count]);
        if (state == FLAT) {
            blame.first_hop = hop;
            break;
        }
        if (state == RISEN)
            blame.last_hop = hop;
    }
    return blame;
}

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
                               .both_far_rtt_ns = tl_stats_median(fars, both_count),
                               .both_count = (unsigned)both_count};
    /* A router that was too busy to answer at once while idle may have done so beside the load,
     * before the queue grew. */
    double least = tl_stats_min(idle->rtt_ns, idle->sample_count);
    double beside = tl_stats_min(loaded->rtt_ns, loaded->sample_count);
    load.idle_rtt_ns = isnan(least) || beside < least ? beside : least;
    return load;
}
