/* Running a TCP test, and what was seen of it beside its rate. */
#include "transfer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "counter_facts.h"
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
#include "tightlink/facts/trust.h"

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
        .enough.rate = true,
    };
}

struct tl_tcp_spec tl_transfer_one_more(const struct tl_probe *probe,
                                        const struct tl_tcp_spec *like, int64_t least_ns,
                                        unsigned rtts, int64_t bytes)
{
    struct tl_tcp_spec spec = *like;
    double rtt_ns = tl_facts_number(probe->facts, TL_PATH(rtt_min_ns), 0);
    spec.streams = 1;
    spec.duration_ns = (int64_t)fmax((double)least_ns, rtts * rtt_ns);
    spec.max_bytes = (uint64_t)bytes;
    spec.enough = (struct tl_steady_enough){0};
    return spec;
}

bool tl_transfer_meets_hole(const struct tl_facts *facts, enum tl_direction direction)
{
    return tl_facts_number(facts, TL_FLOW(direction, mtu_black_hole), 0) > 0 &&
           isnan(tl_facts_number(facts, TL_FLOW(direction, goodput_bps), (double)NAN));
}

/* Where packets of full size vanish and the sender's kernel never tries smaller ones (tcp(7),
 * tcp_mtu_probing), a transfer that stands still will not move any more. */
static void end_when_still(const struct tl_probe *probe, struct tl_tcp_spec *spec)
{
    enum tl_direction direction = tl_direction_of_wire(spec->direction);
    bool hole = tl_transfer_meets_hole(probe->facts, direction);
    double probing =
        tl_facts_number(probe->facts, TL_HOST_OF(direction, TL_SENDER, tcp_mtu_probing), 1);
    double rtt_ns = fmax(tl_facts_number(probe->facts, TL_PATH(rtt_min_ns), 0), 0);
    if (!hole || probing > 0 || spec->direction == TL_WIRE_BOTH)
        return;
    spec->still_ns = STILL_WAIT_NS + (int64_t)(STILL_WAIT_RTTS * rtt_ns);
    spec->still_bytes = TL_TRUST_STILL_BYTES;
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
        tl_live_say_queued(probe, live->place, live->wait_ns);
        return;
    }
    watch_clock(running);
    struct tl_probe_live out;
    tl_live_fill(live, &out);
    probe->live(probe->context, &out);
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
 * while the far end has given us up: then the longest silence counts; of all streams together, or,
 * where one of them never came back and its readings end with the path, of the control connection.
 */
static int64_t silent_since(const struct tl_tcp_result *result)
{
    const struct tl_steady_rate *rate = &result->steady.rate;
    int64_t last_ns = last_arrival_ns(result);
    bool before = rate->silence_ns >= TL_NS_PER_S && rate->silence_at_ns < last_ns;
    int64_t since_ns = result->elapsed_ns - (before ? rate->silence_at_ns : last_ns);
    return result->unacked_ns > since_ns ? result->unacked_ns : since_ns;
}

static double steal_ratio(const struct tl_tcp_side *side)
{
    const struct tl_host_value *steal = &side->cpu.values[TL_CPU_STEAL];
    return tl_host_is_known(*steal) ? steal->number : (double)NAN;
}

/* Beside a test of both directions the acknowledgements of one are traffic in the other. */
static double other_traffic(const struct tl_tcp_result *result, bool both)
{
    return both ? (double)NAN : tl_other_traffic(result, result->near_sends);
}

static struct tl_trust_transfer seen_of(const struct tl_tcp_result *result, bool both,
                                        enum tl_status status, int64_t held_up_ns)
{
    const struct tl_flow_stats *sender = &result->steady.sender;
    const struct tl_receiver_stats *receiver = &result->steady.receiver;
    return (struct tl_trust_transfer){
        .end = result->end,
        .failed = status != TL_OK,
        .end_signed = result->end_signed,
        .host_answered = tl_tcp_result_program_silent(result),
        .held_up_ns = (double)held_up_ns,
        .elapsed_ns = (double)result->elapsed_ns,
        .last_arrival_ns = (double)last_arrival_ns(result),
        .received_bytes = (double)result->receiver.bytes,
        /* What waits for a disk has arrived in the kernel: blocks have checksums instead. */
        .ends_agree_ratio = result->spec.file ? (double)NAN : result->ends_agree_ratio,
        .other_traffic_ratio = other_traffic(result, both),
        .sender = {steal_ratio(&result->sender), sender->thread_cpu_ratio,
                   sender->thread_wait_ratio},
        .receiver = {steal_ratio(&result->receiver), receiver->thread_cpu_ratio,
                     receiver->thread_wait_ratio}};
}

/* What the far end tells of a stream that this PC received, beside what was seen here. */
static void judge_told(struct tl_trust *trust, const struct tl_tcp_result *result,
                       const struct tl_echo_load *load)
{
    const struct tl_flow_stats *sender = &result->steady.sender;
    if (result->near_sends)
        return;
    tl_trust_told(trust, &(struct tl_trust_told){.rtt_min_ns = sender->rtt_min_ns,
                                                 .beside_rtt_ns = load->rtt_median_ns,
                                                 .lost_count = sender->retrans_count -
                                                               fmax(sender->dsack_count, 0),
                                                 .loss_event_count = sender->loss_event_count,
                                                 .ooo_count = result->steady.receiver.ooo_count});
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
    const struct tl_tcp_result *upload =
        spec->direction == TL_WIRE_UPLOAD ? result : result->upload;
    if (spec->direction != TL_WIRE_UPLOAD)
        outcome->record.received_bytes = (long long)result->receiver.bytes;
    if (upload)
        outcome->record.sent_bytes =
            (long long)(upload->end_signed ? upload->receiver.bytes : upload->sender.bytes);
}

/* A far end that answers no datagrams of given size tells of no hole: then segments are tried,
 * where they were as large as the hosts have them. */
static bool is_still(const struct tl_probe *probe, const struct tl_tcp_spec *spec,
                     const struct tl_trust_transfer *seen, struct tl_probe_outcome *outcome)
{
    struct tl_stage_record *record = &outcome->record;
    enum tl_direction direction = tl_direction_of_wire(spec->direction);
    bool hole = tl_transfer_meets_hole(probe->facts, direction);
    bool download = spec->direction == TL_WIRE_DOWNLOAD, vanish;
    uint64_t moved_bytes;
    if (spec->direction == TL_WIRE_BOTH)
        return false;
    if (hole && tl_trust_stood_still(seen))
        return true;
    if (tl_far_can(probe->far, TL_FAR_SYN) || spec->maxseg_bytes > 0 || !tl_trust_seems_still(seen))
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
        tl_outcome_state(outcome, TL_STAGE_SKIPPED, TL_RUN_STOPPED);
    else if (status != TL_OK)
        tl_outcome_state(outcome, TL_STAGE_FAILED, "%s", error->text);
    else if (result->end == TL_TCP_END_BYTES)
        note_spent(outcome, result);
    if (status == TL_OK && spec->direction != TL_WIRE_BOTH)
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
    bool both = spec->direction == TL_WIRE_BOTH;
    struct tl_trust_transfer seen = seen_of(result, both, status, running.held_up_ns);
    if (status != TL_CANCELLED && is_still(probe, spec, &seen, outcome)) {
        note_stall(probe, spec, result, outcome);
        tl_outcome_end(outcome);
        return TL_OK;
    }
    note_end(probe, spec, status, result, &error, outcome);
    if (result->upload) {
        struct tl_trust_transfer sent = seen_of(result->upload, both, status, running.held_up_ns);
        (void)tl_trust_transfer(&outcome->trust, &sent);
    }
    if (tl_trust_transfer(&outcome->trust, &seen)) {
        outcome->silent_ns = silent_since(result);
        outcome->silence = tl_silence_at_end(result, NULL, 0, outcome->silent_ns);
        /* A disk may pause, and so does one of two directions that starve one another. */
        *ret_whole = status == TL_OK && !spec->file && !both;
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

static void note_interruptions(const struct tl_probe *probe, struct tl_tcp_result *result,
                               const struct tl_echo_result *echo, int64_t start_ns,
                               struct tl_interruptions *found, struct tl_probe_outcome *outcome)
{
    if (echo)
        tl_interruptions_find_brief(result, echo, start_ns, found);
    tl_interruptions_place(result, echo, start_ns, found);
    tl_interruptions_trust(result, found, &outcome->trust);
    tl_interruptions_note(probe->facts, result, found, outcome);
}

enum tl_status tl_transfer_run(const struct tl_probe *probe, const struct tl_tcp_spec *spec,
                               struct tl_probe_outcome *outcome, struct tl_tcp_result **ret_result,
                               struct tl_error *reterr)
{
    struct tl_interruptions interruptions;
    bool whole;
    enum tl_status status = run(probe, spec, outcome, ret_result, &interruptions, &whole, reterr);
    if (whole)
        note_interruptions(probe, *ret_result, NULL, 0, &interruptions, outcome);
    return status;
}

/* Completes the spec by what is known of the path. */
static void find_queue(const struct tl_probe *probe, const struct tl_tcp_result *result,
                       const struct tl_interruptions *found, struct tl_queue_spec *spec,
                       struct tl_queue *ret_queue)
{
    struct tl_queue_gap gaps[TL_INTERRUPTIONS_MAX];
    *ret_queue = (struct tl_queue){.standing_ratio = NAN};
    if (!result)
        return;
    spec->scatter_ns = tl_facts_number(probe->facts, TL_PATH(rtt_scatter_ns), 0);
    spec->rtt_min_ns = tl_facts_number(probe->facts, TL_PATH(rtt_min_ns), (double)NAN);
    spec->gaps = gaps;
    for (unsigned i = 0; found && i < found->count; i++) {
        int64_t from_ns = found->at[i].from_ns, to_ns = found->at[i].to_ns;
        /* A sender's timer, doubled meanwhile, may run for as long again (RFC 6298, 5.5). */
        gaps[spec->gap_count++] = (struct tl_queue_gap){from_ns, to_ns + (to_ns - from_ns)};
    }
    tl_queue_find(result, spec, ret_queue);
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
    if (whole)
        note_interruptions(probe, result, echo, start_ns, &interruptions, outcome);
    else if (result && outcome->silent_ns > 0)
        outcome->silence = tl_silence_at_end(result, echo, start_ns, outcome->silent_ns);
    int64_t from_ns = start_ns, to_ns = end_ns;
    if (result && result->steady.rate.valid) {
        from_ns = start_ns + result->steady.rate.start_ns;
        to_ns = start_ns + result->steady.rate.end_ns;
    }
    struct tl_queue_spec queue = {.echo = echo,
                                  .start_ns = start_ns,
                                  .from_ns = from_ns - start_ns,
                                  .to_ns = to_ns - start_ns};
    find_queue(probe, result, whole ? &interruptions : NULL, &queue, &ret_beside->queue);
    tl_loaded_finish(loaded, from_ns, to_ns, &ret_beside->load);
    if (whole)
        judge_told(&outcome->trust, result, &ret_beside->load);
    tl_hops_load_finish(hops, probe, tl_direction_of_wire(spec->direction), from_ns, to_ns,
                        ret_beside->load.rtt_median_ns);
    return status;
}

bool tl_transfer_counts(const struct tl_probe_outcome *outcome)
{
    bool whole =
        outcome->record.state == TL_STAGE_DONE || outcome->record.state == TL_STAGE_LIMITED;
    return whole && !outcome->interrupted && !outcome->stalled &&
           outcome->trust.quality <= TL_QUALITY_DEGRADED;
}

void tl_transfer_free(struct tl_tcp_result *result)
{
    if (!result)
        return;
    tl_tcp_result_finish(result);
    free(result);
}
