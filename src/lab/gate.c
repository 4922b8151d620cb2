/* Grants and wandering delays; see gate.h. */
#include "gate.h"

#include <string.h>

void tl_lab_gate_init(struct tl_lab_gate *gate, const struct tl_lab_link_config *link,
                      uint64_t seed)
{
    memset(gate, 0, sizeof *gate);
    gate->least_ns = (double)link->grant_least_ns;
    gate->most_ns = (double)link->grant_most_ns;
    tl_random_seed(&gate->chance, seed);
}

void tl_lab_gate_start(struct tl_lab_gate *gate, int64_t now_ns)
{
    gate->next_ns = now_ns;
}

int64_t tl_lab_gate_pass(struct tl_lab_gate *gate, int64_t at_ns)
{
    if (gate->most_ns <= 0)
        return at_ns;
    /* After a long pause whole periods are passed over: which grant it is makes no difference. */
    double mean_ns = (gate->least_ns + gate->most_ns) / 2;
    int64_t behind = (int64_t)((double)(at_ns - gate->next_ns) / mean_ns) - 1;
    if (behind > 0)
        gate->next_ns += (int64_t)((double)behind * mean_ns);
    while (gate->next_ns < at_ns)
        gate->next_ns += 1 + (int64_t)(gate->least_ns + (gate->most_ns - gate->least_ns) *
                                                            tl_random_unit(&gate->chance));
    return gate->next_ns;
}

void tl_lab_wander_init(struct tl_lab_wander *wander, const struct tl_lab_link_config *link,
                        uint64_t seed)
{
    memset(wander, 0, sizeof *wander);
    wander->most_ns = (double)link->wander_ns;
    wander->time_ns = link->wander_time_ns;
    tl_random_seed(&wander->chance, seed);
}

static void next_line(struct tl_lab_wander *wander)
{
    wander->from_value_ns = wander->to_value_ns;
    wander->to_value_ns = wander->most_ns * tl_random_unit(&wander->chance);
}

void tl_lab_wander_start(struct tl_lab_wander *wander, int64_t now_ns)
{
    wander->from_ns = now_ns;
    next_line(wander);
}

int64_t tl_lab_wander_at(struct tl_lab_wander *wander, int64_t at_ns)
{
    if (wander->most_ns <= 0)
        return 0;
    int64_t lines = (at_ns - wander->from_ns) / wander->time_ns;
    if (lines > 2) { /* after a pause: only the last two matter */
        wander->from_ns += (lines - 2) * wander->time_ns;
        next_line(wander);
    }
    while (at_ns - wander->from_ns >= wander->time_ns) {
        wander->from_ns += wander->time_ns;
        next_line(wander);
    }
    double share = (double)(at_ns - wander->from_ns) / (double)wander->time_ns;
    share = share < 0 ? 0 : share;
    return (int64_t)(wander->from_value_ns + (wander->to_value_ns - wander->from_value_ns) * share);
}
