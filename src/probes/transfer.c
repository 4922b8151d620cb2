/* Running a TCP test and judging whether it can be trusted. */
#include "transfer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "counter_facts.h"
#include "ends.h"
#include "flow_facts.h"
#include "hops_load.h"
#include "interrupt.h"
#include "live.h"
#include "loaded.h"
#include "outcome.h"
#include "segment_sizes.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/engine/far.h"

/* More than this between the two ends' counts is not a matter of data on the way. */
#define ENDS_DISAGREE_RATIO 0.02
/* Time that a hypervisor takes from a core: above this the rate is the host's, not the path's. */
#define STEAL_DEGRADED_RATIO 0.05
/* Of the traffic on our own interface that was not ours. */
#define OTHER_TRAFFIC_DEGRADED_RATIO 0.05
/* As in rules/judge.h. */
#define STARVED_WAIT_RATIO 0.1
#define STARVED_WORK_RATIO 0.5

/* Longer than that without a turn, and the rate is that of this program's absence: the responder
 * stops sending after a second without our word (promise P4). */
#define HELD_UP_NS TL_NS_PER_S

/* A transfer that moved less than this, over a time that lets every kernel repeat itself often. */
#define STANDS_STILL_BYTES (64 * 1024)
#define STANDS_STILL_NS    (2500 * TL_NS_PER_MS)

/* Later than the least time, by the last answers that may be under way. */
#define STILL_WAIT_NS   (2600 * TL_NS_PER_MS)
#define STILL_WAIT_RTTS 4

/* A transfer that lasted so much of its time was not cut short by its bytes. */
#define WHOLE_TIME_RATIO 0.9

struct tl_tcp_spec tl_transfer_spec(enum tl_direction direction,
                                    const struct tl_probe_limits *limits)
{
    return (struct tl_tcp_spec){
        .direction = tl_direction_to_wire(direction),
        .streams = 1,
        .duration_ns = limits->duration_ns,
        .max_bytes = (uint64_t)limits->bytes,
        .pacing_bps = (uint64_t)limits->max_bps,
        .stop_when_known = true,
    };
}

/* Where packets of full size vanish and the sender's kernel never tries smaller ones (tcp(7),
 * tcp_mtu_probing), a transfer that stands still will not move any more. */
static void end_when_still(const struct tl_probe *probe, struct tl_tcp_spec *spec)
{
    enum tl_direction direction = tl_direction_of_wire(spec->direction);
    bool hole = tl_facts_number(probe->facts, TL_FLOW(direction, mtu_black_hole), 0) > 0;
    double probing =
        tl_facts_number(probe->facts, TL_HOST_OF(direction, TL_SENDER, tcp_mtu_probing), 1);
    double rtt_ns = fmax(tl_facts_number(probe->facts, TL_PATH(rtt_min_ns), 0), 0);
    if (!hole || probing > 0)
        return;
    spec->still_ns = STILL_WAIT_NS + (int64_t)(STILL_WAIT_RTTS * rtt_ns);
    spec->still_bytes = STANDS_STILL_BYTES;
}

/* A transfer under way. Live numbers come every TL_CLIENT_LIVE_NS: where they did not, this
 * program did not run (stopped, swapped out, starved), and the far end saw a dead peer. */
struct running {
    const struct tl_probe *probe;
    int64_t live_ns; /* of the last live number, 0 before the first */
    int64_t held_up_ns;
};

static void watch_clock(struct running *running)
{
    int64_t now_ns = tl_now_ns();
    if (running->live_ns > 0 && now_ns - running->live_ns > running->held_up_ns)
        running->held_up_ns = now_ns - running->live_ns;
    running->live_ns = now_ns;
}

static void on_live(void *context, const struct tl_tcp_live *live)
{
    struct running *running = context;
    const struct tl_probe *probe = running->probe;
    if (live->queued) {
        char sentence[160], wait[TL_UNIT_TEXT_SIZE];
        snprintf(sentence, sizeof sentence, "the far end is busy: place %u, about %s to wait",
                 live->place, tl_format_ns((double)live->wait_ns, wait));
        probe->note(probe->context, sentence);
        return;
    }
    watch_clock(running);
    struct tl_probe_live out;
    tl_live_fill(live, &out);
    probe->live(probe->context, &out);
}

/* NAN compares false: what is not known starves nobody. */
static bool is_starved(double run_ratio, double wait_ratio)
{
    return wait_ratio > STARVED_WAIT_RATIO && run_ratio + wait_ratio >= STARVED_WORK_RATIO;
}

static void judge_steal(struct tl_probe_outcome *outcome, const char *where,
                        const struct tl_tcp_side *side)
{
    const struct tl_host_value *steal = &side->cpu.values[TL_CPU_STEAL];
    char text[TL_UNIT_TEXT_SIZE];
    if (tl_host_is_known(*steal) && steal->number > STEAL_DEGRADED_RATIO)
        tl_outcome_quality(outcome, TL_QUALITY_DEGRADED,
                           "a hypervisor took %s of a core's time from %s",
                           tl_format_ratio(steal->number, text), where);
}

/* Other programs' traffic on our own interface, and programs that took the cores: what the
 * rules make of more of it stands in rules/disturbed.c. */
static void judge_others(struct tl_probe_outcome *outcome, const struct tl_tcp_result *result)
{
    const struct tl_flow_stats *sender = &result->steady.sender;
    const struct tl_receiver_stats *receiver = &result->steady.receiver;
    double ratio = tl_other_traffic(result, result->near_sends);
    char text[TL_UNIT_TEXT_SIZE];
    if (ratio > OTHER_TRAFFIC_DEGRADED_RATIO)
        tl_outcome_quality(outcome, TL_QUALITY_DEGRADED,
                           "other programs made %s of the traffic on this PC's link",
                           tl_format_ratio(ratio, text));
    bool starved = is_starved(sender->thread_cpu_ratio, sender->thread_wait_ratio);
    if (starved || is_starved(receiver->thread_cpu_ratio, receiver->thread_wait_ratio))
        tl_outcome_quality(
            outcome, TL_QUALITY_DEGRADED,
            "the %s program waited for a processor core %s of the time",
            starved ? "sending" : "receiving",
            tl_format_ratio(starved ? sender->thread_wait_ratio : receiver->thread_wait_ratio,
                            text));
}

/* Whether we were away. Then the far end seemed to break off or to be silent, and is not to
 * blame for it. */
static bool judge_hold_up(struct tl_probe_outcome *outcome, int64_t held_up_ns)
{
    char text[TL_UNIT_TEXT_SIZE];
    bool held_up = held_up_ns > HELD_UP_NS;
    if (held_up)
        tl_outcome_quality(outcome, TL_QUALITY_INVALID,
                           "tightlink itself was held up for %s: it was stopped, or this PC is "
                           "overloaded",
                           tl_format_ns((double)held_up_ns, text));
    return held_up;
}

/* When something last arrived at the receiver: a dead path is noticed seconds later. */
static int64_t last_arrival_ns(const struct tl_tcp_result *result)
{
    int64_t last_ns = 0;
    for (unsigned i = 0; i < result->streams; i++) {
        const struct tl_sample_log *log = &result->receiver.logs[i];
        int64_t at_ns = !result->near_sends ? result->receiver.streams[i].last_byte_ns
                        : log->count > 0    ? log->samples[log->count - 1].time_ns
                                            : 0;
        last_ns = at_ns > last_ns ? at_ns : last_ns;
    }
    return last_ns > 0 && last_ns < result->elapsed_ns ? last_ns : result->elapsed_ns;
}

/* How long ago the path fell silent. The last bytes of a queue may come through when it is back,
 * while the far end has given us up: then the longest silence counts. */
static int64_t silent_since(const struct tl_tcp_result *result)
{
    const struct tl_steady_rate *rate = &result->steady.rate;
    int64_t last_ns = last_arrival_ns(result);
    bool before = rate->silence_ns >= TL_NS_PER_S && rate->silence_at_ns < last_ns;
    return result->elapsed_ns - (before ? rate->silence_at_ns : last_ns);
}

static void judge_quality(struct tl_probe_outcome *outcome, enum tl_status status,
                          const struct tl_tcp_result *result)
{
    char at[TL_UNIT_TEXT_SIZE], ratio[TL_UNIT_TEXT_SIZE];
    bool silent = result->end == TL_TCP_END_SILENT;
    tl_format_ns((double)(silent ? last_arrival_ns(result) : result->elapsed_ns), at);
    outcome->silent_ns = silent_since(result);
    if (silent)
        tl_outcome_quality(outcome, TL_QUALITY_ABORTED,
                           "the path or the far end went dead %s into the transfer", at);
    else if (result->end == TL_TCP_END_UNHEARD)
        tl_outcome_quality(outcome, TL_QUALITY_INVALID,
                           "the far end heard nothing from this program %s into the transfer", at);
    else if (result->end == TL_TCP_END_LOST || result->end == TL_TCP_END_FAILED)
        tl_outcome_quality(outcome, TL_QUALITY_INVALID,
                           "the far end broke off %s into the transfer", at);
    else if (result->end == TL_TCP_END_UNRULY)
        tl_outcome_quality(outcome, TL_QUALITY_INVALID,
                           "the far end did not keep to what was agreed: it said or sent more, or "
                           "something else, %s into the transfer",
                           at);
    else if (status == TL_OK && !result->end_signed)
        tl_outcome_quality(outcome, TL_QUALITY_INVALID,
                           "the far end ended the transfer without saying so");
    else if (status == TL_OK && !result->spec.file &&
             result->ends_agree_ratio > ENDS_DISAGREE_RATIO)
        tl_outcome_quality(outcome, TL_QUALITY_INVALID,
                           "the two ends disagree by %s about what was transferred",
                           tl_format_ratio(result->ends_agree_ratio, ratio));
    judge_steal(outcome, "the sending host", &result->sender);
    judge_steal(outcome, "the receiving host", &result->receiver);
    judge_others(outcome, result);
}

/* Bytes ended the transfer before its time: those of the budget, or fewer that were granted.
 * A responder with a rate cap grants bytes for the whole time; that takes nothing away. */
static void note_spent(struct tl_probe_outcome *outcome, const struct tl_tcp_result *result)
{
    char bytes[TL_UNIT_TEXT_SIZE], time[TL_UNIT_TEXT_SIZE];
    bool granted_less = result->granted_bytes > 0 && result->granted_bytes < result->spec.max_bytes;
    if ((double)result->elapsed_ns > WHOLE_TIME_RATIO * (double)result->granted_ns)
        return;
    tl_format_traffic((double)result->receiver.bytes, bytes);
    tl_format_ns((double)result->elapsed_ns, time);
    if (granted_less)
        tl_outcome_state(outcome, TL_STAGE_LIMITED, "the far end granted only %s, through in %s",
                         bytes, time);
    else
        tl_outcome_state(outcome, TL_STAGE_LIMITED,
                         "the data budget let only %s through, in %s: allow more for a sure rate",
                         bytes, time);
}

/* A black hole for packets of full size looks like a dead path to the data connection, while the
 * control connection, whose segments are small, goes on: the far end signed its word. What came
 * through is less than a first window of any kernel. */
static bool stands_still(const struct tl_probe *probe, const struct tl_tcp_spec *spec,
                         const struct tl_tcp_result *result)
{
    enum tl_direction direction = tl_direction_of_wire(spec->direction);
    bool over = result->end == TL_TCP_END_SILENT || result->end == TL_TCP_END_FAILED ||
                result->elapsed_ns >= STANDS_STILL_NS;
    return tl_facts_number(probe->facts, TL_FLOW(direction, mtu_black_hole), 0) > 0 &&
           result->end_signed && over && result->receiver.bytes < STANDS_STILL_BYTES;
}

/* The same at a far end that answers no datagrams of given size and whose own word may be held up
 * by the hole: a transfer of segments as the hosts have them, of which next to nothing came. */
static bool seems_still(const struct tl_probe *probe, const struct tl_tcp_spec *spec,
                        const struct tl_tcp_result *result)
{
    bool broke = result->end == TL_TCP_END_SILENT || result->end == TL_TCP_END_FAILED ||
                 result->end == TL_TCP_END_LOST;
    return !tl_far_can(probe->far, TL_FAR_SYN) && spec->maxseg_bytes == 0 &&
           (broke || result->end == TL_TCP_END_DEADLINE) && result->elapsed_ns >= STANDS_STILL_NS &&
           result->receiver.bytes < STANDS_STILL_BYTES;
}

static void note_stall(const struct tl_probe *probe, const struct tl_tcp_spec *spec,
                       const struct tl_tcp_result *result, struct tl_probe_outcome *outcome)
{
    enum tl_direction direction = tl_direction_of_wire(spec->direction);
    char bytes[TL_UNIT_TEXT_SIZE], time[TL_UNIT_TEXT_SIZE];
    tl_facts_set_bool(probe->facts, TL_FLOW(direction, stalled), outcome != NULL, "");
    if (!outcome)
        return;
    tl_flow_set(probe->facts, TL_FLOW(direction, goodput_whole_bps),
                (double)result->receiver.bytes * 8e9 / (double)result->elapsed_ns, "");
    tl_flow_set(probe->facts, TL_FLOW(direction, goodput_bps), (double)NAN,
                "the transfer stood still: packets of full size vanish");
    outcome->stalled = true;
    tl_outcome_state(outcome, TL_STAGE_LIMITED,
                     "the transfer stood still (%s in %s): packets of full size vanish",
                     tl_format_traffic((double)result->receiver.bytes, bytes),
                     tl_format_ns((double)result->elapsed_ns, time));
}

/* The receiver counts; a far one that went away told nothing, but we sent all the same. */
static void count_bytes(const struct tl_tcp_spec *spec, const struct tl_tcp_result *result,
                        struct tl_probe_outcome *outcome)
{
    if (spec->direction == TL_WIRE_DOWNLOAD)
        outcome->record.received_bytes = (long long)result->receiver.bytes;
    else
        outcome->record.sent_bytes =
            (long long)(result->end_signed ? result->receiver.bytes : result->sender.bytes);
}

static bool is_still(const struct tl_probe *probe, const struct tl_tcp_spec *spec,
                     const struct tl_tcp_result *result, struct tl_probe_outcome *outcome)
{
    struct tl_stage_record *record = &outcome->record;
    bool download = spec->direction == TL_WIRE_DOWNLOAD, vanish;
    uint64_t moved_bytes;
    if (stands_still(probe, spec, result))
        return true;
    if (!seems_still(probe, spec, result))
        return false;
    vanish = tl_segments_vanish(probe, spec, &moved_bytes);
    *(download ? &record->received_bytes : &record->sent_bytes) += (long long)moved_bytes;
    return vanish;
}

static void note_end(const struct tl_probe *probe, const struct tl_tcp_spec *spec,
                     enum tl_status status, const struct tl_tcp_result *result,
                     const struct tl_error *error, struct tl_probe_outcome *outcome)
{
    if (status == TL_CANCELLED)
        tl_outcome_state(outcome, TL_STAGE_SKIPPED, "stopped by you");
    else if (status != TL_OK)
        tl_outcome_state(outcome, TL_STAGE_FAILED, "%s", error->text);
    else if (result->end == TL_TCP_END_BYTES)
        note_spent(outcome, result);
    if (status == TL_OK)
        note_stall(probe, spec, result, NULL);
}

/* The test and its quality. ret_interruptions: those that the receiver's readings tell; none where
 * nothing can be told. */
static enum tl_status run(const struct tl_probe *probe, const struct tl_tcp_spec *spec,
                          struct tl_probe_outcome *outcome, struct tl_tcp_result **ret_result,
                          struct tl_interruptions *ret_interruptions, bool *ret_whole,
                          struct tl_error *reterr)
{
    struct tl_error error = {0};
    *ret_whole = false;
    ret_interruptions->count = 0;
    struct tl_tcp_result *result = calloc(1, sizeof *result);
    *ret_result = result;
    if (!result) {
        tl_outcome_end(outcome);
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    }
    struct running running = {.probe = probe};
    struct tl_tcp_spec ending = *spec;
    end_when_still(probe, &ending);
    int64_t asked_ns = tl_now_ns();
    enum tl_status status = tl_far_tcp_test(probe->far, &ending, on_live, &running, result, &error);
    int64_t took_ns = tl_now_ns() - asked_ns;
    watch_clock(&running);
    count_bytes(spec, result, outcome);
    if (status != TL_CANCELLED && is_still(probe, spec, result, outcome)) {
        note_stall(probe, spec, result, outcome);
        tl_outcome_end(outcome);
        return TL_OK;
    }
    note_end(probe, spec, status, result, &error, outcome);
    if (!judge_hold_up(outcome, running.held_up_ns)) {
        judge_quality(outcome, status, result);
        /* A disk may pause, and what waits for it at its end has arrived in the kernel: blocks
         * have checksums instead of counts. */
        *ret_whole = status == TL_OK && !spec->file;
        if (*ret_whole)
            tl_interruptions_find(
                result, took_ns - result->elapsed_ns - result->queued_ns - result->exchange_ns,
                ret_interruptions);
    }
    tl_outcome_end(outcome);
    if (status != TL_OK && reterr)
        *reterr = error;
    return status;
}

enum tl_status tl_transfer_run(const struct tl_probe *probe, const struct tl_tcp_spec *spec,
                               struct tl_probe_outcome *outcome, struct tl_tcp_result **ret_result,
                               struct tl_error *reterr)
{
    struct tl_interruptions interruptions;
    bool whole;
    enum tl_status status = run(probe, spec, outcome, ret_result, &interruptions, &whole, reterr);
    if (whole)
        tl_interruptions_note(probe->facts, *ret_result, &interruptions, outcome);
    return status;
}

enum tl_status tl_transfer_run_loaded(const struct tl_probe *probe, const struct tl_tcp_spec *spec,
                                      struct tl_probe_outcome *outcome,
                                      struct tl_tcp_result **ret_result,
                                      struct tl_beside *ret_beside, struct tl_error *reterr)
{
    struct tl_loaded *loaded = tl_loaded_start(probe, spec->duration_ns);
    struct tl_hops_load *hops = tl_hops_load_start(probe, spec->duration_ns);
    struct tl_interruptions interruptions;
    bool whole;
    enum tl_status status = run(probe, spec, outcome, ret_result, &interruptions, &whole, reterr);
    struct tl_tcp_result *result = *ret_result;
    /* The two ends of a test start their clocks within a round trip of one another. */
    int64_t end_ns = tl_now_ns(), start_ns = end_ns - (result ? result->elapsed_ns : 0);
    const struct tl_echo_result *echo = tl_loaded_stop(loaded);
    if (whole && echo)
        tl_interruptions_find_brief(result, echo, start_ns, &interruptions);
    if (whole)
        tl_interruptions_note(probe->facts, result, &interruptions, outcome);
    int64_t from_ns = start_ns, to_ns = end_ns;
    if (result && result->steady.rate.valid) {
        from_ns = start_ns + result->steady.rate.start_ns;
        to_ns = start_ns + result->steady.rate.end_ns;
    }
    struct tl_queue_spec queue = {
        .echo = echo,
        .start_ns = start_ns,
        .from_ns = from_ns - start_ns,
        .to_ns = to_ns - start_ns,
        .scatter_ns = tl_facts_number(probe->facts, TL_PATH(rtt_scatter_ns), 0),
        .rtt_min_ns = tl_facts_number(probe->facts, TL_PATH(rtt_min_ns), (double)NAN)};
    ret_beside->queue = (struct tl_queue){.standing_ratio = NAN};
    if (result)
        tl_queue_find(result, &queue, &ret_beside->queue);
    tl_loaded_finish(loaded, from_ns, to_ns, &ret_beside->load);
    if (whole)
        tl_ends_judge(outcome, result, &ret_beside->load);
    tl_hops_load_finish(hops, probe, tl_direction_of_wire(spec->direction), from_ns, to_ns);
    return status;
}

bool tl_transfer_counts(const struct tl_probe_outcome *outcome)
{
    bool whole =
        outcome->record.state == TL_STAGE_DONE || outcome->record.state == TL_STAGE_LIMITED;
    return whole && !outcome->interrupted && !outcome->stalled &&
           outcome->quality <= TL_QUALITY_DEGRADED;
}

void tl_transfer_free(struct tl_tcp_result *result)
{
    if (!result)
        return;
    tl_tcp_result_finish(result);
    free(result);
}
