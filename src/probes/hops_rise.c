/* Which link fills under load: a change point over the hops. */
#include "hops_rise.h"

#include <math.h>

/* Fewer answers under load say nothing about a hop. */
#define ANSWERS_MIN 3
/* A rise that counts: more than timers and routers' own slowness make. */
#define RISE_MIN_NS    2e6
#define RISE_MIN_RATIO 0.15
/* Shares of the whole rise. Medians of few readings of a queue that swings differ by a third;
 * what lies between the two may be either. */
#define RISEN_RATIO 0.55
#define FLAT_RATIO  0.3

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

struct tl_hops_rise tl_hops_rise(const struct tl_hop_load *hops, int count)
{
    struct tl_hops_rise rise = {.rise_ns = (double)NAN, .reason = ""};
    if (count < 1 || count > TL_HOPS_MAX || isnan(rise_ns(&hops[count]))) {
        rise.reason = "the far end answered too few probes under load";
        return rise;
    }
    rise.rise_ns = rise_ns(&hops[count]);
    if (rise.rise_ns < RISE_MIN_NS || rise.rise_ns < RISE_MIN_RATIO * hops[count].idle_rtt_ns) {
        rise.reason = "no queue grew under load";
        return rise;
    }
    rise.known = true;
    rise.last_hop = count;
    /* From the far end back: the rise stays as long as no flat hop interrupts it. */
    for (int hop = count - 1; hop >= 1; hop--) {
        enum state state = state_of(&hops[hop], &hops[count]);
        if (state == FLAT) {
            rise.first_hop = hop;
            break;
        }
        if (state == RISEN)
            rise.last_hop = hop;
    }
    return rise;
}
