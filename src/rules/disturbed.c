/* Measurements that say nothing, or nothing of the network, because of what else the hosts
 * did meanwhile (doc/architecture.md, "Faults during a diagnosis"). */
#include <math.h>
#include <stdio.h>

#include "judge.h"
#include "tightlink/base/units.h"

static double number_of(const struct tl_side *side, const char *role_id)
{
    struct tl_fact fact;
    (void)tl_fact_view_get(&side->view, role_id, &fact);
    return fact.state == TL_FACT_KNOWN ? fact.number : (double)NAN;
}

static const char *near_role(const struct tl_side *side)
{
    return side->direction == TL_DOWNLOAD ? "receiver" : "sender";
}

char *tl_disturbance(struct tl_arena *arena, const struct tl_side *side)
{
    char id[64], share[TL_UNIT_TEXT_SIZE], before[TL_UNIT_TEXT_SIZE];
    struct tl_fact name;
    snprintf(id, sizeof id, "flow.%s_other_traffic_ratio", near_role(side));
    double ratio = number_of(side, id);
    if (!(ratio > TL_OTHER_TRAFFIC_MAX))
        return NULL;
    snprintf(id, sizeof id, "%s.link_name", near_role(side));
    (void)tl_fact_view_get(&side->view, id, &name);
    snprintf(id, sizeof id, "%s.other_%s_bps", near_role(side),
             side->direction == TL_DOWNLOAD ? "rx" : "tx");
    double idle_bps = number_of(side, id);
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
 * receiver that mostly waited for data, and left none lying; a sender whose socket never ran
 * empty. Unknown is no. */
static bool kept_up(const struct tl_side *side, enum tl_role role)
{
    if (role == TL_ROLE_SENDER) {
        const struct tl_fact *idle = &side->shares[TL_SHARE_APP];
        return idle->state == TL_FACT_KNOWN && idle->number <= TL_KEPT_UP_APP_MAX;
    }
    return number_of(side, "flow.receiver_data_wait_ratio") >= TL_KEPT_UP_WAIT_MIN &&
           number_of(side, "flow.receiver_queue_ratio") <= TL_KEPT_UP_QUEUE_MAX;
}

int tl_starved_role(const struct tl_side *side, double *ret_wait_ratio)
{
    static const struct {
        enum tl_role role;
        const char *wait, *run;
    } ends[] = {
        {TL_ROLE_RECEIVER, "flow.receiver_cpu_wait_ratio", "flow.receiver_thread_cpu_ratio"},
        {TL_ROLE_SENDER, "flow.sender_cpu_wait_ratio", "flow.sender_thread_cpu_ratio"},
    };
    int starved = -1;
    *ret_wait_ratio = 0;
    for (size_t i = 0; i < 2; i++) {
        double wait = number_of(side, ends[i].wait), run = number_of(side, ends[i].run);
        if (wait > TL_STARVED_WAIT_MAX && wait + run >= TL_STARVED_WORK_MIN &&
            wait > *ret_wait_ratio && !kept_up(side, ends[i].role)) {
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
        tl_format_ratio(wait, share),
        tl_direction_name(side->direction));
}
