/* Measurements that say nothing, or nothing of the network, because of what else the hosts
 * did meanwhile (doc/architecture.md, "Faults during a diagnosis"). */
#include <math.h>

#include "judge.h"
#include "tightlink/base/units.h"
#include "tightlink/facts/trust.h"

static double number_of(const struct tl_side *side, struct tl_fact_key key)
{
    return tl_facts_number(side->facts, key, (double)NAN);
}

char *tl_disturbance(struct tl_arena *arena, const struct tl_side *side)
{
    enum tl_direction direction = side->direction;
    enum tl_end near = direction == TL_DOWNLOAD ? TL_RECEIVER : TL_SENDER;
    char share[TL_UNIT_TEXT_SIZE], before[TL_UNIT_TEXT_SIZE];
    struct tl_fact name;
    double ratio = number_of(side, TL_END(direction, near, other_traffic_ratio));
    if (!(ratio > TL_OTHER_TRAFFIC_MAX))
        return NULL;
    tl_facts_get(side->facts, TL_NEAR(link_name), &name);
    double idle_bps =
        number_of(side, direction == TL_DOWNLOAD ? TL_NEAR(other_rx_bps) : TL_NEAR(other_tx_bps));
    tl_format_bps(idle_bps, before);
    return tl_arena_printf(
        arena,
        "Other programs of this PC made %s of the traffic on its network link%s%s during the "
        "%s%s%s%s: what is left for one transfer says little about the path. Stop them and run "
        "again.",
        tl_format_ratio(ratio, share), name.state == TL_FACT_KNOWN ? " " : "",
        name.state == TL_FACT_KNOWN ? name.text : "", tl_direction_name(side->direction),
        idle_bps > 0 ? " (" : "", idle_bps > 0 ? before : "",
        idle_bps > 0 ? " before it began)" : "");
}

/* That end's program did all that was to do although it waited for a core now and then: a
 * receiver that left nothing lying, whatever its window; a sender whose socket never ran empty.
 * Unknown is no. */
static bool kept_up(const struct tl_side *side, enum tl_role role)
{
    if (role == TL_ROLE_SENDER) {
        const struct tl_fact *idle = &side->shares[TL_SHARE_APP];
        return idle->state == TL_FACT_KNOWN && idle->number <= TL_KEPT_UP_APP_MAX;
    }
    return number_of(side, TL_FLOW(side->direction, receiver_queue_ratio)) <= TL_KEPT_UP_QUEUE_MAX;
}

int tl_starved_role(const struct tl_side *side, double *ret_wait_ratio)
{
    const struct {
        enum tl_role role;
        struct tl_fact_key wait, run;
    } ends[] = {
        {TL_ROLE_RECEIVER, TL_FLOW(side->direction, receiver_cpu_wait_ratio),
         TL_FLOW(side->direction, receiver_thread_cpu_ratio)},
        {TL_ROLE_SENDER, TL_FLOW(side->direction, sender_cpu_wait_ratio),
         TL_FLOW(side->direction, sender_thread_cpu_ratio)},
    };
    int starved = -1;
    *ret_wait_ratio = 0;
    for (size_t i = 0; i < 2; i++) {
        double wait = number_of(side, ends[i].wait), run = number_of(side, ends[i].run);
        if (tl_trust_is_starved(run, wait) && wait > *ret_wait_ratio &&
            !kept_up(side, ends[i].role)) {
            starved = (int)ends[i].role;
            *ret_wait_ratio = wait;
        }
    }
    return starved;
}

char *tl_starved_sentence(struct tl_arena *arena, const struct tl_side *side)
{
    double wait;
    char share[TL_UNIT_TEXT_SIZE];
    int role = tl_starved_role(side, &wait);
    if (role < 0)
        return NULL;
    return tl_arena_printf(
        arena,
        "The program at %s had to wait for a processor core %s of the time: other work there "
        "may hold the %s, so nothing is said about the network. Run again when that host has "
        "less to do.",
        tl_role_place((enum tl_role)role, side->direction, side->question->overheard),
        tl_format_ratio(wait, share), tl_direction_name(side->direction));
}
