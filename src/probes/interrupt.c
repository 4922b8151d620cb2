/* Interruptions of the path during a transfer. */
#include "interrupt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "flow_facts.h"
#include "outcome.h"
#include "tightlink/base/stats.h"
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

/* With probes that nobody answers either less suffices: a stream's own timer does not hold them.
 * So many of them, so that chance takes no part. */
#define BRIEF_NS      (300 * TL_NS_PER_MS)
#define BRIEF_PROBES  5
#define BRIEF_HOLE_NS (200 * TL_NS_PER_MS)
/* Two readings of bytes that arrive at one time with a probe's answer. */
#define READING_NS (20 * TL_NS_PER_MS)

/* What is left beside them of several streams, whose rate is compared with that of one. */
#define COMPARED_NS (1500 * TL_NS_PER_MS)

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

static bool has_hole(const struct tl_sample_log *log, int64_t from_ns, int64_t to_ns,
                     int64_t hole_ns)
{
    for (size_t i = 1; i < log->count; i++)
        if (log->samples[i].time_ns > from_ns && log->samples[i - 1].time_ns < to_ns &&
            log->samples[i].time_ns - log->samples[i - 1].time_ns > hole_ns)
            return true;
    return false;
}

static int64_t least_ns(const struct tl_tcp_result *result)
{
    double rtt_ns = fmax(result->steady.sender_whole.rtt_mean_ns, (double)result->data_rtt_ns);
    int64_t rtts_ns = rtt_ns > 0 ? (int64_t)(LEAST_RTTS * rtt_ns) : 0;
    return rtts_ns > LEAST_NS ? rtts_ns : LEAST_NS;
}

/* What meets one that is known is the same. Where there is no room for more it is one path that
 * hardly ever works, and the first ones tell it. */
static void add(struct tl_interruptions *found, int64_t from_ns, int64_t to_ns)
{
    for (unsigned i = 0; i < found->count; i++) {
        struct tl_interruption *other = &found->at[i];
        if (from_ns > other->to_ns || to_ns < other->from_ns)
            continue;
        other->from_ns = from_ns < other->from_ns ? from_ns : other->from_ns;
        other->to_ns = to_ns > other->to_ns ? to_ns : other->to_ns;
        return;
    }
    if (found->count < TL_INTERRUPTIONS_MAX)
        found->at[found->count++] = (struct tl_interruption){.from_ns = from_ns, .to_ns = to_ns};
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
        if (has_hole(log, from_ns, to_ns, HOLE_NS))
            return;
    }
    if (to_ns - from_ns >= least_ns(result))
        add(found, from_ns, to_ns);
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
    if (result->end_signed && last_ns >= 0 && result->elapsed_ns - last_ns >= least)
        add(found, last_ns, result->elapsed_ns);
    if (before_ns >= least)
        add(found, -before_ns, 0);
}

void tl_interruptions_find(const struct tl_tcp_result *result, int64_t before_ns,
                           struct tl_interruptions *ret_interruptions)
{
    *ret_interruptions = (struct tl_interruptions){.count = 0};
    for (unsigned i = 0; i < result->streams; i++)
        find_in(result, &result->receiver.logs[i], ret_interruptions);
    add_edges(result, before_ns, ret_interruptions);
}

/* --- Brief ones, with the probes' word ------------------------------------------------------ */

/* When answers came, since the begin of the test, in order. */
static size_t list_answers(const struct tl_echo_result *echo, int64_t start_ns,
                           int64_t ret_at_ns[TL_ECHO_MAX])
{
    size_t count = 0;
    for (unsigned i = 0; i < echo->sent_count && i < TL_ECHO_MAX; i++) {
        const struct tl_echo_probe *probe = &echo->probes[i];
        if (probe->rtt_ns >= 0)
            ret_at_ns[count++] = echo->start_ns - start_ns + probe->sent_ns + probe->rtt_ns;
    }
    tl_stats_sort_ns(ret_at_ns, count);
    return count;
}

static unsigned sent_between(const struct tl_echo_result *echo, int64_t start_ns, int64_t from_ns,
                             int64_t to_ns)
{
    unsigned count = 0;
    for (unsigned i = 0; i < echo->sent_count && i < TL_ECHO_MAX; i++) {
        int64_t at_ns = echo->start_ns - start_ns + echo->probes[i].sent_ns;
        count += at_ns > from_ns && at_ns < to_ns;
    }
    return count;
}

/* Whether a stream's bytes grew between two readings that lie in there, or nobody read. */
static bool is_alive(const struct tl_sample_log *log, int64_t from_ns, int64_t to_ns)
{
    for (size_t i = 1; i < log->count; i++)
        if (log->samples[i - 1].time_ns >= from_ns && log->samples[i].time_ns <= to_ns &&
            log->samples[i].app_bytes > log->samples[i - 1].app_bytes)
            return true;
    return has_hole(log, from_ns, to_ns, BRIEF_HOLE_NS);
}

/* Probes that are apart_ns apart tell no nearer when the path began to fail, and when it was back.
 */
static bool all_stood(const struct tl_tcp_result *result, int64_t from_ns, int64_t to_ns,
                      int64_t apart_ns)
{
    /* The far end's clock began within a round trip of ours. */
    int64_t rtt_ns = result->near_sends && result->data_rtt_ns > 0 ? result->data_rtt_ns : 0;
    int64_t margin_ns = READING_NS + rtt_ns + apart_ns;
    if (to_ns - from_ns < BRIEF_NS / 2 + 2 * margin_ns)
        return false;
    for (unsigned i = 0; i < result->streams; i++)
        if (is_alive(&result->receiver.logs[i], from_ns + margin_ns, to_ns - margin_ns))
            return false;
    return true;
}

void tl_interruptions_find_brief(const struct tl_tcp_result *result,
                                 const struct tl_echo_result *echo, int64_t start_ns,
                                 struct tl_interruptions *interruptions)
{
    int64_t at_ns[TL_ECHO_MAX] = {0};
    size_t count = list_answers(echo, start_ns, at_ns);
    for (size_t i = 1; i < count; i++) {
        int64_t from_ns = at_ns[i - 1], to_ns = at_ns[i];
        if (from_ns < 0 || to_ns > result->elapsed_ns || to_ns - from_ns < BRIEF_NS)
            continue;
        unsigned silent = sent_between(echo, start_ns, from_ns, to_ns);
        if (silent >= BRIEF_PROBES &&
            all_stood(result, from_ns, to_ns, (to_ns - from_ns) / (silent + 1)))
            add(interruptions, from_ns, to_ns);
    }
}

static void keep_longest(int64_t from_ns, int64_t to_ns, struct tl_probe_outcome *outcome)
{
    if (to_ns - from_ns < BRIEF_NS || to_ns - from_ns <= outcome->interrupted_ns)
        return;
    outcome->interrupted = true;
    outcome->interrupted_ns = to_ns - from_ns;
    outcome->silent_ns = tl_now_ns() - from_ns;
}

void tl_interruptions_of_probes(const struct tl_echo_result *echo, int64_t until_ns,
                                struct tl_probe_outcome *outcome)
{
    unsigned lost = 0;
    for (unsigned i = 0; i <= echo->sent_count && echo->answered_count > 0; i++) {
        bool more = i < echo->sent_count;
        if (more && echo->probes[i].rtt_ns < 0) {
            lost++;
            continue;
        }
        if (lost >= BRIEF_PROBES) {
            int64_t from_ns = echo->start_ns + echo->probes[i - lost].sent_ns;
            int64_t to_ns = more ? echo->start_ns + echo->probes[i].sent_ns : until_ns;
            keep_longest(from_ns, to_ns, outcome);
        }
        lost = 0;
    }
}

/* --- What is left ---------------------------------------------------------------------------- */

/* The longest part of the test beside them. */
static struct tl_interruption longest_between(const struct tl_tcp_result *result,
                                              const struct tl_interruptions *found)
{
    struct tl_interruption longest = {.from_ns = 0};
    for (unsigned i = 0; i <= found->count; i++) {
        int64_t from_ns = i < found->count ? found->at[i].to_ns : 0;
        int64_t to_ns = result->elapsed_ns;
        for (unsigned j = 0; j < found->count; j++)
            if (found->at[j].to_ns > from_ns && found->at[j].from_ns < to_ns)
                to_ns = found->at[j].from_ns;
        if (to_ns - from_ns > longest.to_ns - longest.from_ns)
            longest = (struct tl_interruption){.from_ns = from_ns, .to_ns = to_ns};
    }
    return longest;
}

/* A verdict rests on what one stream got; what several got is only compared with that. */
static bool is_enough(const struct tl_tcp_result *result, const struct tl_steady_rate *rate)
{
    double rtt_ns = result->steady.sender_whole.rtt_mean_ns;
    int64_t length_ns = rate->end_ns - rate->start_ns;
    bool compares = result->streams > 1 && length_ns >= COMPARED_NS &&
                    (double)length_ns >= TL_STEADY_MIN_RTTS_COUNT * rtt_ns;
    return rate->valid && (rate->long_enough || compares);
}

/* False where no part is long enough for a rate. */
static bool keep_what_is_whole(struct tl_tcp_result *result, const struct tl_interruptions *found)
{
    struct tl_interruption part = longest_between(result, found);
    struct tl_rate_point *points = malloc(TL_STEADY_POINTS_MAX * sizeof *points);
    struct tl_steady steady;
    if (!points)
        return false;
    tl_steady_analyse_part(result->sender.logs, result->receiver.logs, result->streams,
                           result->sender.congestion, part.from_ns, part.to_ns, points, &steady);
    free(points);
    if (!is_enough(result, &steady.rate))
        return false;
    result->steady = steady;
    return true;
}

struct told {
    double count, total_ns, longest_ns, first_ns;
};

/* Those of the path alone, or all. */
static struct told tell(const struct tl_interruptions *found, bool all)
{
    struct told told = {.first_ns = INFINITY};
    for (unsigned i = 0; i < found->count; i++) {
        if (!all && found->at[i].whose != TL_SILENCE_OF_PATH)
            continue;
        told.count++;
        double ns = (double)(found->at[i].to_ns - found->at[i].from_ns);
        told.total_ns += ns;
        told.longest_ns = fmax(told.longest_ns, ns);
        told.first_ns = fmin(told.first_ns, fmax((double)found->at[i].from_ns, 0));
    }
    return told;
}

/* Adds to the facts what happened in this stage, and says when; ret_when only with any. */
static void note(struct tl_facts *facts, enum tl_direction direction, const struct told *told,
                 int64_t began_realtime_ns, const char *stage, char ret_when[128])
{
    char at[TL_UNIT_TEXT_SIZE], clock[TL_TIME_TEXT_SIZE];
    double count = tl_facts_number(facts, TL_FLOW(direction, interrupted_count), 0) + told->count;
    double total_ns =
        tl_facts_number(facts, TL_FLOW(direction, interrupted_ns), 0) + told->total_ns;
    double longest_ns = fmax(tl_facts_number(facts, TL_FLOW(direction, interrupted_longest_ns), 0),
                             told->longest_ns);
    tl_flow_set(facts, TL_FLOW(direction, interrupted_count), count, "");
    tl_flow_set(facts, TL_FLOW(direction, interrupted_ns), total_ns, "");
    tl_flow_set(facts, TL_FLOW(direction, interrupted_longest_ns), longest_ns, "");
    if (!(told->count > 0))
        return;
    tl_time_format_utc(began_realtime_ns, clock);
    tl_format_ns(told->first_ns, at);
    snprintf(ret_when, 128, "%.8s UTC, %s into the measurement %s", clock + 11, at, stage);
    tl_flow_set_text(facts, TL_FLOW(direction, interrupted_when), ret_when);
}

static void take_rates(const struct told *told, const char *when, struct tl_probe_outcome *outcome)
{
    char length[TL_UNIT_TEXT_SIZE];
    outcome->interrupted = true;
    outcome->interrupted_ns = (int64_t)told->total_ns;
    tl_outcome_state(outcome, TL_STAGE_LIMITED,
                     "%s for %s%s%s: the rates of this stage do not count",
                     when ? "the path carried nothing" : "nothing arrived",
                     tl_format_ns(told->total_ns, length), when ? " at " : "", when ? when : "");
}

void tl_interruptions_note(struct tl_facts *facts, struct tl_tcp_result *result,
                           const struct tl_interruptions *found, struct tl_probe_outcome *outcome)
{
    enum tl_direction direction = tl_direction_of_wire(result->spec.direction);
    struct told of_path = tell(found, false), told = tell(found, true);
    char when[128];
    note(facts, direction, &of_path, tl_realtime_ns() - result->elapsed_ns + (int64_t)told.first_ns,
         outcome->record.id, when);
    if (found->count == 0 || keep_what_is_whole(result, found))
        return;
    /* A rate with a brief one in it is still a rate. */
    if (told.longest_ns >= (double)least_ns(result))
        take_rates(&told, of_path.count > 0 ? when : NULL, outcome);
}

void tl_outage_note(struct tl_facts *facts, enum tl_direction direction, int64_t since_ns,
                    int64_t until_ns, struct tl_probe_outcome *outcome)
{
    int64_t into_ns = (int64_t)outcome->record.duration_ns - outcome->silent_ns;
    double length_ns = (double)(until_ns - since_ns);
    struct told told = {.count = 1,
                        .total_ns = length_ns,
                        .longest_ns = length_ns,
                        .first_ns = (double)(into_ns > 0 ? into_ns : 0)};
    char when[128];
    note(facts, direction, &told, tl_realtime_ns() - (tl_now_ns() - since_ns), outcome->record.id,
         when);
    take_rates(&told, when, outcome);
    outcome->trust = (struct tl_trust){0}; /* the dead path is told as what it was */
}
