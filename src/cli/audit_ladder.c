/* audit --goal: the ladder of this host alone. What its settings, link and processor would allow
 * over a path of the goal's round trip, lowest first, without sending anything. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>

#include "audit_ladder.h"
#include "tightlink/base/units.h"

/* Of a buffer the kernel keeps about half for its own bookkeeping (ip-sysctl, tcp_adv_win_scale);
 * more than that was seen on the way from a send buffer, so its rung is a lower bound;
 * of Ethernet's rate 1448 of 1538 bytes are payload; one connection without scaling has 65535 B. */
#define BUFFER_PAYLOAD 0.5
#define LINK_PAYLOAD   (1448.0 / 1538.0)
#define WINDOW_BYTES   65535.0
#define RUNGS          5

struct rung {
    const char *label, *fact;
    double bps;    /* NAN: not known */
    bool at_least; /* it may allow more than that */
};

static double number(const struct tl_facts *facts, struct tl_fact_key key)
{
    return tl_facts_number(facts, key, (double)NAN);
}

static int compare_rungs(const void *left, const void *right)
{
    const struct rung *a = left, *b = right;
    if (isnan(a->bps) || isnan(b->bps))
        return isnan(a->bps) - isnan(b->bps);
    return (a->bps > b->bps) - (a->bps < b->bps);
}

static void fill(const struct tl_facts *facts, double rtt_ns, struct rung rungs[RUNGS])
{
    bool scaling = number(facts, TL_NEAR(tcp_window_scaling)) != 0;
    bool nominal = number(facts, TL_NEAR(link_speed_nominal)) == 1;
    double per_second = 8e9 / rtt_ns;
    rungs[0] = (struct rung){.label = "receive buffer (download)",
                             .fact = "tcp_rmem_max_bytes",
                             .bps = BUFFER_PAYLOAD * number(facts, TL_NEAR(tcp_rmem_max_bytes)) *
                                    per_second};
    rungs[1] = (struct rung){.label = "send buffer, at least (upload)",
                             .fact = "tcp_wmem_max_bytes",
                             .bps = BUFFER_PAYLOAD * number(facts, TL_NEAR(tcp_wmem_max_bytes)) *
                                    per_second,
                             .at_least = true};
    rungs[2] = (struct rung){.label = "no window scaling",
                             .fact = "tcp_window_scaling",
                             .bps = scaling ? (double)INFINITY : WINDOW_BYTES * per_second};
    rungs[3] = (struct rung){
        .label = "link",
        .fact = "link_speed_bps",
        .bps = nominal ? (double)NAN : LINK_PAYLOAD * number(facts, TL_NEAR(link_speed_bps))};
    rungs[4] = (struct rung){.label = "processor, over loopback",
                             .fact = "alone_tcp_bps",
                             .bps = number(facts, TL_NEAR(alone_tcp_bps))};
    qsort(rungs, RUNGS, sizeof *rungs, compare_rungs);
}

bool cli_audit_ladder(const struct tl_facts *facts, double goal_bps, double rtt_ns)
{
    struct rung rungs[RUNGS];
    char rate[TL_UNIT_TEXT_SIZE], wanted[TL_UNIT_TEXT_SIZE], rtt[TL_UNIT_TEXT_SIZE];
    fill(facts, rtt_ns, rungs);
    tl_format_bps(goal_bps, wanted);
    printf("This host alone, against %s over %s:\n", wanted, tl_format_ns(rtt_ns, rtt));
    for (size_t i = 0; i < RUNGS; i++) {
        if (isinf(rungs[i].bps))
            continue; /* on, so no limit */
        printf("%s %-31s %-12s (%s)\n",
               isnan(rungs[i].bps)       ? "??"
               : rungs[i].bps < goal_bps ? "!!"
                                         : "ok",
               rungs[i].label,
               isnan(rungs[i].bps) ? "not known" : tl_format_bps(rungs[i].bps, rate),
               rungs[i].fact);
    }
    bool missed = rungs[0].bps < goal_bps;
    if (isnan(rungs[0].bps))
        puts("Nothing of it is known here.");
    else if (missed)
        printf("%s first: %s, at %s.\n", rungs[0].at_least ? "May limit" : "Limits", rungs[0].label,
               tl_format_bps(rungs[0].bps, rate));
    else
        printf("Nothing here stands in its way; the lowest is: %s,\nat %s. An audit sees neither "
               "path nor far end: tightlink run HOST --goal ...\n",
               rungs[0].label, tl_format_bps(rungs[0].bps, rate));
    if (missed && !isnan(rungs[0].bps))
        printf("The goal keeps %s on the way: buffers need twice that as their maximum.\n",
               tl_format_bytes(ceil(goal_bps * rtt_ns / 8e9), rate));
    return !missed;
}
