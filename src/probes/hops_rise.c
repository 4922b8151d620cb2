/* Which link fills under load: a change point over the hops. */
#include "hops_rise.h"

#include <math.h>

#include "path_facts.h"

/* Fewer answers under load say nothing about a hop. */
#define ANSWERS_MIN 3
/* A rise that counts: more than timers and routers' own slowness make. */
#define RISE_MIN_NS    2e6
#define RISE_MIN_RATIO 0.15
/* Shares of the whole rise. Medians of few readings of a queue that swings differ by a third;
 * what lies between the two may be either. A hop is flat by its 75th percentile: behind a queue
 * that comes and goes two low readings of three are no rarity, nearly all of them are. */
#define RISEN_RATIO 0.55
#define FLAT_RATIO  0.3
/* Rises of one queue under one stream and under several. */
#define ALIKE_RATIO 0.5

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
    double high_share = (hop->both_high_rtt_ns - hop->idle_rtt_ns) / whole_ns;
    /* A router took longer at rest than the far end behind it: it is slow, or its few answers had
     * waited in the queue already, which others kept. Then that it rose no more says nothing. */
    bool at_rest = hop->idle_rtt_ns - far->idle_rtt_ns <= FLAT_RATIO * whole_ns;
    return share >= RISEN_RATIO ? RISEN : at_rest && high_share <= FLAT_RATIO ? FLAT : UNKNOWN;
}

struct tl_hops_rise tl_hops_rise(const struct tl_hop_load *hops, int count, double echo_rtt_ns)
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
    if (echo_rtt_ns - hops[count].idle_rtt_ns < FLAT_RATIO * rise.rise_ns) {
        rise.reason = "of the packets to the far end some waited and others did not";
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

void tl_hops_rise_unknown(struct tl_facts *facts, enum tl_direction direction, const char *reason)
{
    const struct tl_fact_key keys[] = {
        TL_FLOW(direction, tight_first_hop), TL_FLOW(direction, tight_last_hop),
        TL_FLOW(direction, tight_segment), TL_FLOW(direction, tight_rtt_rise_ns)};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct tl_fact fact;
        tl_facts_get(facts, keys[i], &fact);
        if (fact.state != TL_FACT_KNOWN) /* another stage may have known it */
            tl_facts_set_unknown(facts, keys[i], "%s", reason);
    }
}

/* Whether it says more than what an earlier transfer told. Of two rises of a like size the one that
 * is placed within fewer links: routers that answered just before are silent for a while, so that a
 * later and shorter transfer places its rise less well. */
static bool says_more(const struct tl_hops_rise *rise, double before_ns, double before_links)
{
    double links = rise->last_hop - rise->first_hop;
    bool alike = fmin(rise->rise_ns, before_ns) >= ALIKE_RATIO * fmax(rise->rise_ns, before_ns);
    return alike && links != before_links ? links < before_links : rise->rise_ns >= before_ns;
}

void tl_hops_rise_set(struct tl_facts *facts, enum tl_direction direction,
                      const struct tl_hops_rise *rise, int count)
{
    if (!rise->known) {
        tl_hops_rise_unknown(facts, direction, rise->reason);
        return;
    }
    struct tl_fact_key place = TL_FLOW(direction, tight_segment);
    double before_ns = tl_facts_number(facts, TL_FLOW(direction, tight_rtt_rise_ns), 0);
    double before_links = tl_facts_number(facts, TL_FLOW(direction, tight_last_hop), 0) -
                          tl_facts_number(facts, TL_FLOW(direction, tight_first_hop), 0);
    if (before_ns > 0 && !says_more(rise, before_ns, before_links))
        return;
    tl_facts_set_number(facts, TL_FLOW(direction, tight_rtt_rise_ns), rise->rise_ns, "");
    tl_facts_set_number(facts, TL_FLOW(direction, tight_first_hop), rise->first_hop, "");
    tl_facts_set_number(facts, TL_FLOW(direction, tight_last_hop), rise->last_hop, "");
    const char *segment = tl_path_segment(rise->first_hop, rise->last_hop, count);
    if (segment)
        tl_facts_set_text(facts, place, segment, "round trips of every hop, idle and loaded");
    else
        tl_facts_set_unknown(facts, place, "the routers around it did not answer often enough");
}
