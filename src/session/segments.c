/* The segments of a run: which there are, and what is known of each. */
#include "segments.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SEARCHED_BYTES 9244 /* the largest packet of the search (engine/pmtu.h) */

static double larger(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : fmax(a, b);
}

static double smaller(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : fmin(a, b);
}

static double number(const struct tl_facts *facts, struct tl_fact_key key)
{
    return tl_facts_number(facts, key, (double)NAN);
}

/* Whether a queue grew in that segment in either direction. */
static bool is_tight(const struct tl_facts *facts, const char *segment)
{
    for (int d = TL_DOWNLOAD; d <= TL_UPLOAD; d++) {
        struct tl_fact fact;
        tl_facts_get(facts, TL_FLOW((enum tl_direction)d, tight_segment), &fact);
        if (fact.state == TL_FACT_KNOWN && strcmp(fact.text, segment) == 0)
            return true;
    }
    return false;
}

/* What the hops up to first and up to last add, idle and loaded; hop 0 is this PC. */
static void fill_between(const struct tl_run *run, int first, int last,
                         struct tl_segment_record *segment)
{
    static const struct tl_hop_record here;
    const struct tl_hop_record *from = first ? &run->hops[first - 1] : &here;
    const struct tl_hop_record *to = &run->hops[last - 1];
    double loaded = to->loaded_rtt_ns - to->rtt_min_ns;
    double before = first ? from->loaded_rtt_ns - from->rtt_min_ns : 0;
    segment->rtt_add_ns = fmax(to->rtt_min_ns - from->rtt_min_ns, 0); /* noise takes no time back */
    segment->loaded_rtt_add_ns = isnan(loaded - before) ? (double)NAN : fmax(loaded - before, 0);
    segment->first_hop = first;
    segment->last_hop = last;
}

/* Up to the first router, between routers, and behind the last one, where hops are known. A path
 * without routers is one wire, and one whose routers are silent is one segment. */
static void fill_hops(const struct tl_facts *facts, struct tl_run *run)
{
    int hops = run->hop_count;
    bool first = hops >= 2 && isfinite(run->hops[0].rtt_min_ns);
    bool last = hops >= 3 && isfinite(run->hops[hops - 2].rtt_min_ns);
    if (hops < 2 || hops != (int)tl_facts_number(facts, TL_PATH(hops_count), 0))
        return;
    struct tl_segment_record *path = &run->segments[run->segment_count - 1];
    if (first) {
        struct tl_segment_record whole = *path;
        fill_between(run, 0, 1, path);
        snprintf(path->id, sizeof path->id, "lan");
        snprintf(path->kind, sizeof path->kind, "lan");
        snprintf(path->name, sizeof path->name, "up to the first router");
        path->mtu_bytes = path->loss_ratio = (double)NAN;
        path->tight = is_tight(facts, "lan");
        run->segments[run->segment_count++] = whole;
        path = &run->segments[run->segment_count - 1];
    }
    path->first_hop = first;
    path->last_hop = last ? hops - 1 : hops;
    if (first && last)
        fill_between(run, 1, hops - 1, path);
    else if (first)
        fill_between(run, 1, hops, path);
    path->tight = is_tight(facts, "path");
    if (!last)
        return;
    struct tl_segment_record *far = tl_run_add_segment(run, "far-lan", "behind the last router");
    fill_between(run, hops - 1, hops, far);
    far->tight = is_tight(facts, "far-lan");
}

void tl_segments_fill(const struct tl_facts *facts, struct tl_run *run)
{
    bool proxied = run->target_proxy[0] != '\0';
    run->segment_count = 0;
    tl_run_add_segment(run, "near-host", "this PC")->mtu_bytes =
        number(facts, TL_NEAR(link_mtu_bytes));
    struct tl_segment_record *path = tl_run_add_segment(
        run, "path", proxied ? "the path to the proxy" : "the path between the two hosts");
    path->rtt_add_ns = number(facts, TL_PATH(rtt_min_ns));
    double found = smaller(number(facts, TL_FLOW(TL_DOWNLOAD, path_mtu_bytes)),
                           number(facts, TL_FLOW(TL_UPLOAD, path_mtu_bytes)));
    /* The search stops at what a jumbo frame can be; loopback takes more. */
    double known = number(facts, TL_PATH(mtu_bytes));
    path->mtu_bytes = isnan(found) || (found >= SEARCHED_BYTES && known > found) ? known : found;
    path->loss_ratio = number(facts, TL_PATH(echo_loss_ratio));
    path->loaded_rtt_add_ns = larger(number(facts, TL_FLOW(TL_DOWNLOAD, queue_delay_ns)),
                                     number(facts, TL_FLOW(TL_UPLOAD, queue_delay_ns)));
    fill_hops(facts, run);
    tl_run_add_segment(run, "far-host", proxied ? run->target_proxy : run->target_name)->mtu_bytes =
        number(facts, TL_FAR(link_mtu_bytes));
}
