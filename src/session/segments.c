/* The segments of a run: which there are, and what is known of each. */
#include "segments.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct tl_segment_record *add(struct tl_run *run, const char *kind, const char *name)
{
    struct tl_segment_record *segment = &run->segments[run->segment_count++];
    *segment = (struct tl_segment_record){.rtt_add_ns = (double)NAN,
                                          .mtu_bytes = (double)NAN,
                                          .loss_ratio = (double)NAN,
                                          .loaded_rtt_add_ns = (double)NAN};
    snprintf(segment->id, sizeof segment->id, "%s", kind);
    snprintf(segment->kind, sizeof segment->kind, "%s", kind);
    snprintf(segment->name, sizeof segment->name, "%s", name);
    return segment;
}

static double larger(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : fmax(a, b);
}

void tl_segments_fill(const struct tl_facts *facts, struct tl_run *run)
{
    const double unknown = (double)NAN;
    run->segment_count = 0;
    add(run, "near-host", "this PC")->mtu_bytes =
        tl_facts_number(facts, "near.link_mtu_bytes", unknown);
    struct tl_segment_record *path = add(run, "path", "the path between the two hosts");
    path->rtt_add_ns = tl_facts_number(facts, "path.rtt_min_ns", unknown);
    path->mtu_bytes = tl_facts_number(facts, "path.mtu_bytes", unknown);
    path->loss_ratio = tl_facts_number(facts, "path.echo_loss_ratio", unknown);
    path->loaded_rtt_add_ns = larger(tl_facts_number(facts, "download.queue_delay_ns", unknown),
                                     tl_facts_number(facts, "upload.queue_delay_ns", unknown));
    add(run, "far-host", run->target_name)->mtu_bytes =
        tl_facts_number(facts, "far.link_mtu_bytes", unknown);
}
