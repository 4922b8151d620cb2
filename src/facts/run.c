/* The words of a run's states, as findings.schema.json spells them, and its segments. */
#include "tightlink/facts/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *tl_quality_name(enum tl_quality quality)
{
    static const char *const names[] = {"valid", "degraded", "invalid", "aborted"};
    return names[quality];
}

const char *tl_stage_state_name(enum tl_stage_state state)
{
    static const char *const names[] = {"done", "limited", "skipped", "failed", "not-possible"};
    return names[state];
}

/* A connection of a capture. */
static bool is_captured(const struct tl_run *run)
{
    return strcmp(run->target_kind, "pcap") == 0;
}

bool tl_run_is_of_others(const struct tl_run *run)
{
    return is_captured(run) || strcmp(run->target_kind, "pscheduler") == 0;
}

bool tl_run_is_watched(const struct tl_run *run)
{
    return strcmp(run->target_kind, "live") == 0 || is_captured(run);
}

enum tl_far_kind tl_run_far_kind(const struct tl_run *run)
{
    bool demo = strcmp(run->target_kind, "demo") == 0;
    if (demo && !run->target_far[0])
        return TL_FAR_TIGHTLINK;
    return tl_far_kind_of_id(demo ? run->target_far : run->target_kind);
}

const char *tl_run_stranger(const struct tl_run *run)
{
    enum tl_far_kind kind = tl_run_far_kind(run);
    bool stranger = kind != TL_FAR_TIGHTLINK && kind != TL_FAR_KIND_COUNT;
    return stranger ? tl_far_row(kind)->what : NULL;
}

struct tl_segment_record *tl_run_add_segment(struct tl_run *run, const char *id, const char *name)
{
    struct tl_segment_record *segment = &run->segments[run->segment_count++];
    *segment = (struct tl_segment_record){.rtt_add_ns = (double)NAN,
                                          .mtu_bytes = (double)NAN,
                                          .loss_ratio = (double)NAN,
                                          .loaded_rtt_add_ns = (double)NAN,
                                          .prefix_rate_bps = (double)NAN,
                                          .prefix_ceiling_bps = (double)NAN,
                                          .prefix_rtt_ns = (double)NAN};
    snprintf(segment->id, sizeof segment->id, "%s", id);
    snprintf(segment->kind, sizeof segment->kind, "%s", id);
    snprintf(segment->name, sizeof segment->name, "%s", name);
    return segment;
}
