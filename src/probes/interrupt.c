/* Interruptions of the path during a transfer. */
#include "interrupt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "flow_facts.h"
#include "outcome.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

/* A stream alone may wait that long for its own timer: two of its repeats lost, 200 + 400 + 800
 * ms (RFC 6298 with Linux' least timeout). */
#define LEAST_NS   (1500 * TL_NS_PER_MS)
#define LEAST_RTTS 10

/* Beside the transfer itself other things wait as well: a lost SYN a second, a far receiver 1.5 s
 * for its sender's end. */
#define EDGE_MORE_NS (1000 * TL_NS_PER_MS)

/* Readings come every 100 ms at most; a longer hole is the host's. */
#define HOLE_NS (500 * TL_NS_PER_MS)

/* When the log's bytes last grew at or before time_ns, and when they first did after it. */
static void progress_around(const struct tl_sample_log *log, int64_t time_ns, int64_t *ret_before,
                            int64_t *ret_after)
{
    *ret_before = 0;
    *ret_after = INT64_MAX;
    for (size_t i = 1; i < log->count; i++) {
        if (log->samples[i].app_bytes <= log->samples[i - 1].app_bytes)
            continue;
        if (log->samples[i].time_ns <= time_ns) {
            *ret_before = log->samples[i].time_ns;
        } else {
            *ret_after = log->samples[i - 1].time_ns;
            return;
        }
    }
}

static bool has_hole(const struct tl_sample_log *log, int64_t from_ns, int64_t to_ns)
{
    for (size_t i = 1; i < log->count; i++)
        if (log->samples[i].time_ns > from_ns && log->samples[i - 1].time_ns < to_ns &&
            log->samples[i].time_ns - log->samples[i - 1].time_ns > HOLE_NS)
            return true;
    return false;
}

static int64_t least_ns(const struct tl_tcp_result *result)
{
    double rtt_ns = fmax(result->steady.sender_whole.rtt_mean_ns, (double)result->data_rtt_ns);
    int64_t rtts_ns = rtt_ns > 0 ? (int64_t)(LEAST_RTTS * rtt_ns) : 0;
    return rtts_ns > LEAST_NS ? rtts_ns : LEAST_NS;
}

/* The part of [from, to], in which one stream stood, in which all others stood too. */
static void add_common(const struct tl_tcp_result *result, int64_t from_ns, int64_t to_ns,
                       struct tl_interruptions *found)
{
    int64_t middle_ns = from_ns + (to_ns - from_ns) / 2, before_ns, after_ns;
    for (unsigned i = 0; i < result->streams; i++) {
        const struct tl_sample_log *log = &result->receiver.logs[i];
        progress_around(log, middle_ns, &before_ns, &after_ns);
        from_ns = before_ns > from_ns ? before_ns : from_ns;
        to_ns = after_ns < to_ns ? after_ns : to_ns;
        if (has_hole(log, from_ns, to_ns))
            return;
    }
    if (to_ns - from_ns < least_ns(result))
        return;
    if (found->count++ == 0)
        found->first_ns = from_ns;
    found->total_ns += to_ns - from_ns;
}

static void find_in(const struct tl_tcp_result *result, const struct tl_sample_log *log,
                    struct tl_interruptions *found)
{
    int64_t grown_ns = -1, least = least_ns(result);
    for (size_t i = 1; i < log->count; i++) {
        if (log->samples[i].app_bytes <= log->samples[i - 1].app_bytes)
            continue;
        int64_t until_ns = log->samples[i - 1].time_ns;
        if (grown_ns >= 0 && until_ns - grown_ns >= least)
            add_common(result, grown_ns, until_ns, found);
        grown_ns = log->samples[i].time_ns;
    }
}

/* When the last byte of all arrived. */
static int64_t last_progress_ns(const struct tl_tcp_result *result)
{
    int64_t last_ns = -1;
    for (unsigned i = 0; i < result->streams; i++) {
        const struct tl_sample_log *log = &result->receiver.logs[i];
        for (size_t s = log->count; s-- > 1;) {
            if (log->samples[s].app_bytes <= log->samples[s - 1].app_bytes)
                continue;
            last_ns = log->samples[s].time_ns > last_ns ? log->samples[s].time_ns : last_ns;
            break;
        }
    }
    return last_ns;
}

/* A path that fails shortly before the end keeps back the far end's word, which came in the
 * end; one that fails before the beginning keeps the connections from opening. */
static void add_edges(const struct tl_tcp_result *result, int64_t before_ns,
                      struct tl_interruptions *found)
{
    int64_t last_ns = last_progress_ns(result), least = least_ns(result) + EDGE_MORE_NS;
    if (result->end_signed && last_ns >= 0 && result->elapsed_ns - last_ns >= least) {
        if (found->count++ == 0)
            found->first_ns = last_ns;
        found->total_ns += result->elapsed_ns - last_ns;
    }
    if (before_ns >= least) {
        if (found->count++ == 0)
            found->first_ns = 0;
        found->total_ns += before_ns;
    }
}

void tl_interruptions_find(const struct tl_tcp_result *result, int64_t before_ns,
                           struct tl_interruptions *ret_interruptions)
{
    *ret_interruptions = (struct tl_interruptions){.first_ns = -1};
    for (unsigned i = 0; i < result->streams; i++) {
        struct tl_interruptions found = {.first_ns = -1};
        find_in(result, &result->receiver.logs[i], &found);
        if (found.total_ns > ret_interruptions->total_ns)
            *ret_interruptions = found;
    }
    add_edges(result, before_ns, ret_interruptions);
}

/* Counts them, says when the last one began, and takes the stage's rates away. */
static void note(struct tl_facts *facts, enum tl_direction direction,
                 const struct tl_interruptions *found, int64_t began_realtime_ns,
                 struct tl_probe_outcome *outcome)
{
    char at[TL_UNIT_TEXT_SIZE], length[TL_UNIT_TEXT_SIZE], clock[TL_TIME_TEXT_SIZE], when[128];
    double count = tl_facts_number(facts, TL_FLOW(direction, interrupted_count), 0) + found->count;
    double total_ns =
        tl_facts_number(facts, TL_FLOW(direction, interrupted_ns), 0) + (double)found->total_ns;
    tl_flow_set(facts, TL_FLOW(direction, interrupted_count), count, "");
    tl_flow_set(facts, TL_FLOW(direction, interrupted_ns), total_ns, "");
    if (!found->count)
        return;
    tl_time_format_utc(began_realtime_ns, clock);
    tl_format_ns((double)found->first_ns, at);
    tl_format_ns((double)found->total_ns, length);
    snprintf(when, sizeof when, "%.8s UTC, %s into the measurement %s", clock + 11, at,
             outcome->record.id);
    tl_flow_set_text(facts, TL_FLOW(direction, interrupted_when), when);
    outcome->interrupted = true;
    tl_outcome_state(outcome, TL_STAGE_LIMITED,
                     "the path carried nothing for %s at %s: the rates of this stage do not count",
                     length, when);
}

void tl_interruptions_note(struct tl_facts *facts, const struct tl_tcp_result *result,
                           int64_t before_ns, struct tl_probe_outcome *outcome)
{
    enum tl_direction direction =
        result->spec.direction == TL_WIRE_DOWNLOAD ? TL_DOWNLOAD : TL_UPLOAD;
    struct tl_interruptions found;
    tl_interruptions_find(result, before_ns, &found);
    note(facts, direction, &found, tl_realtime_ns() - result->elapsed_ns + found.first_ns, outcome);
}

void tl_outage_note(struct tl_facts *facts, enum tl_direction direction, int64_t since_ns,
                    int64_t until_ns, struct tl_probe_outcome *outcome)
{
    int64_t into_ns = (int64_t)outcome->record.duration_ns - outcome->silent_ns;
    struct tl_interruptions found = {
        .count = 1, .total_ns = until_ns - since_ns, .first_ns = into_ns > 0 ? into_ns : 0};
    note(facts, direction, &found, tl_realtime_ns() - (tl_now_ns() - since_ns), outcome);
    outcome->quality = TL_QUALITY_VALID; /* the dead path is told as what it was */
    outcome->quality_reason[0] = '\0';
}
