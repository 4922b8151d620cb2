/* Stage udp: datagrams at rising rates up to the knee, then in bursts and in trains.
 *
 *   low rate -> search (doubling, halving) -> confirmed over a second -> bursts of 8, 64 -> trains
 *
 * Datagrams go one by one (GSO off), evenly paced, so that the probe makes no bursts of its
 * own but where it means to. What a queue still holds after a step that was too fast is given
 * time to drain. Every step is known to fit the budgets before it begins. */
#include <math.h>
#include <stdio.h>

#include "datagram.h"
#include "flow_facts.h"
#include "live.h"
#include "outcome.h"
#include "pause.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/engine/far.h"
#include "tightlink/engine/limits.h"
#include "tightlink/probes/probes.h"
#include "trains.h"
#include "udp_room.h"
#include "udp_search.h"
#include "udp_sender.h"
#include "udp_step.h"

#define LOW_BPS      1e6
#define LOW_NS       (500 * TL_NS_PER_MS)
#define STEP_NS      (300 * TL_NS_PER_MS)
#define CONFIRM_NS   TL_NS_PER_S
#define BURST_NS     (400 * TL_NS_PER_MS)
#define MAX_BPS      10e9
#define DRAIN_MAX_NS TL_NS_PER_S

#define TRAIN_LENGTH    16
#define TRAIN_COUNT     24
#define TRAIN_COUNT_MIN 8
#define TRAINS_NS       (600 * TL_NS_PER_MS)

/* Bursts leave the sender together, at half of the knee on average: no queue stays behind. */
#define BURST_RATE_RATIO 0.5
#define BURSTS_MIN       10

/* Why a number of the receiver's is missing. */
#define UNTOLD "nothing arrived, or the far end does not tell it"

/* Why no rate of a sender's tells, that paces none. */
#define SENDS_BURSTS "the sender sent by bursts of its own, which wait at any link"

/* Below that few losses a mean run is chance. */
#define RUNS_MIN 5

struct climb {
    const struct tl_probe *probe;
    enum tl_direction direction;
    struct tl_probe_outcome *outcome;
    unsigned datagram_bytes; /* of each step, train and burst */
    struct udp_room room;
    int64_t drain_ns; /* before the next step */
    struct udp_search search;
    struct udp_sender sender;
    struct udp_pool pool;
    unsigned steps;
    bool sender_limited, receiver_limited;
    bool sender_bursts; /* which is a limit of the sender's, too */
    bool drops_untold;  /* the receiver does not tell what its own socket dropped */
    bool spent;         /* the search found no room for its next step */
    bool cut;           /* something behind the search found none */
    uint64_t rxq_dropped_count;
    /* Of the lowest rate that did not pass. */
    double above_bps, above_loss_ratio, delay_before_loss_ns, tail_bps;
    struct tl_error error;
};

/* --- One step ------------------------------------------------------------------------------ */

static void on_live(void *context, const struct tl_udp_live *live)
{
    const struct climb *climb = context;
    const struct tl_probe *probe = climb->probe;
    if (live->queued) {
        tl_live_say_queued(probe, live->place, live->wait_ns);
        return;
    }
    struct tl_probe_live out;
    tl_live_fill_udp(live, &out);
    probe->live(probe->context, &out);
}

static void drain(struct climb *climb)
{
    tl_probe_pause(climb->probe, climb->drain_ns < DRAIN_MAX_NS ? climb->drain_ns : DRAIN_MAX_NS);
    climb->drain_ns = 0;
}

/* A stranger that sends hears of the end a round trip late. */
static bool fits(const struct climb *climb, const struct tl_udp_spec *spec)
{
    const struct tl_far *far = climb->probe->far;
    bool stranger = tl_far_kind(far) != TL_FAR_TIGHTLINK;
    int64_t rtt_ns = tl_far_info(far)->connect_rtt_ns;
    struct tl_udp_spec worst = *spec;
    if (stranger && climb->direction == TL_DOWNLOAD && worst.duration_ns < rtt_ns)
        worst.duration_ns = rtt_ns;
    return udp_room_fits(&climb->room, tl_now_ns(), worst.duration_ns, tl_udp_worst_bytes(&worst));
}

/* Whether the responder's rate cap lets so many datagrams leave at once. */
static bool is_within_cap(const struct climb *climb, unsigned count)
{
    double cap_bps = tl_far_info(climb->probe->far)->rate_cap_bps;
    return cap_bps <= 0 ||
           count * climb->datagram_bytes <= tl_bytes_from_bps_ns(cap_bps, TL_RATE_CAP_BURST_NS);
}

/* Runs one test and books its bytes; a result that does not count is TL_INVALID. */
static enum tl_status run(struct climb *climb, struct tl_udp_spec *spec,
                          struct tl_udp_result *ret_result)
{
    spec->direction = tl_direction_to_wire(climb->direction);
    drain(climb);
    climb->steps++;
    climb->room.tests--;
    enum tl_status status =
        tl_far_udp_test(climb->probe->far, spec, on_live, climb, ret_result, &climb->error);
    const struct tl_udp_receiver *receiver = &ret_result->receiver;
    struct tl_stage_record *record = &climb->outcome->record;
    uint64_t sent_bytes = ret_result->sender.sent_bytes; /* as the far end tells, in a download */
    bool down = climb->direction == TL_DOWNLOAD;
    if (down)
        record->received_bytes += (long long)receiver->came_bytes;
    else
        record->sent_bytes += (long long)sent_bytes;
    climb->room.bytes_left -=
        (int64_t)(down && receiver->came_bytes > sent_bytes ? receiver->came_bytes : sent_bytes);
    climb->rxq_dropped_count += receiver->local_drop_count;
    climb->drops_untold |= receiver->totals_only;
    if (isfinite(receiver->delay.max_ns))
        climb->drain_ns = (int64_t)receiver->delay.max_ns;
    if (status == TL_OK && !ret_result->valid)
        return tl_error_set(&climb->error, TL_INVALID, "%s", tl_udp_end_text(ret_result->end));
    return status;
}

/* What the lowest rate that did not pass looks like. */
static void keep_above(struct climb *climb, double rate_bps, const struct tl_udp_result *result)
{
    const struct tl_udp_delay *delay = &result->receiver.delay;
    if (climb->above_bps > 0 && rate_bps >= climb->above_bps)
        return;
    climb->above_bps = rate_bps;
    climb->above_loss_ratio = result->loss_ratio;
    climb->tail_bps = udp_step_tail_bps(result);
    /* A queue that grew without dropping anything has added at least what was seen. */
    climb->delay_before_loss_ns =
        result->receiver.lost_count > 0 ? delay->before_loss_median_ns : delay->p99_ns;
}

static enum tl_status climb_step(struct climb *climb, double rate_bps, int64_t duration_ns)
{
    struct tl_udp_spec spec = {.duration_ns = duration_ns,
                               .rate_bps = (uint64_t)rate_bps,
                               .datagram_bytes = climb->datagram_bytes};
    struct tl_udp_result result;
    climb->spent = !fits(climb, &spec);
    if (climb->spent)
        return TL_OK;
    enum tl_status status = run(climb, &spec, &result);
    if (status == TL_OK && climb->steps == 1 && udp_step_none_arrived(&result))
        status = tl_error_set(&climb->error, TL_UNSUPPORTED,
                              "none of %llu datagrams of %u bytes arrived: the path drops them all",
                              (unsigned long long)result.sender.sent_count, climb->datagram_bytes);
    if (status == TL_OK) {
        enum udp_step_verdict verdict = udp_step_judge(&result, rate_bps, &climb->pool);
        rate_bps = udp_sender_tells_bps(rate_bps, result.sender.achieved_bps, climb->search.low_bps,
                                        &verdict);
        if (udp_sender_was_held_up(&climb->sender, rate_bps, verdict)) {
            tl_udp_result_finish(&result);
            return TL_OK; /* the search asks for the same rate again */
        }
        udp_sender_take(&climb->sender, result.sender.achieved_bps);
        climb->sender_bursts |= verdict == UDP_STEP_BURSTS;
        climb->sender_limited |= verdict == UDP_STEP_SENDER_LIMIT || verdict == UDP_STEP_BURSTS;
        climb->receiver_limited |= verdict == UDP_STEP_RECEIVER;
        bool passed = verdict == UDP_STEP_PASSED;
        if (passed && udp_step_tells_loss(&result, rate_bps))
            udp_pool_add(&climb->pool, &result);
        else if (verdict == UDP_STEP_LOSS || verdict == UDP_STEP_DELAY)
            keep_above(climb, rate_bps, &result);
        /* A limit of an end's own ends the search at what passed. */
        if (climb->sender_limited || climb->receiver_limited)
            climb->search.max_bps = climb->search.low_bps;
        else
            udp_search_take(&climb->search, rate_bps, passed);
    }
    tl_udp_result_finish(&result);
    return status;
}

/* --- The climb ----------------------------------------------------------------------------- */

/* A rate that TCP has reached passes, or nearly: begin near it. */
static double start_bps(const struct climb *climb)
{
    const struct tl_fact_key keys[] = {TL_FLOW(climb->direction, goodput_bps),
                                       TL_FLOW(climb->direction, streams_goodput_bps),
                                       TL_FLOW(climb->direction, window_goodput_bps)};
    double best_bps = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        best_bps = fmax(best_bps, tl_facts_number(climb->probe->facts, keys[i], 0));
    return fmax(2 * LOW_BPS, 0.8 * best_bps);
}

static enum tl_status find_knee(struct climb *climb)
{
    double confirmed_bps = 0, rate_bps;
    enum tl_status status = climb_step(climb, LOW_BPS, LOW_NS);
    while (status == TL_OK && !climb->spent) {
        /* The first step above the low rate goes to where TCP has been already. */
        bool second = climb->steps == 1 && climb->search.low_bps > 0;
        rate_bps = second ? fmin(start_bps(climb), climb->search.max_bps)
                          : udp_search_next(&climb->search);
        bool confirms = rate_bps <= 0 && udp_search_has_knee(&climb->search) &&
                        confirmed_bps != climb->search.low_bps && !climb->sender_limited &&
                        !climb->receiver_limited;
        if (rate_bps <= 0 && !confirms)
            break;
        if (confirms)
            rate_bps = confirmed_bps = climb->search.low_bps;
        status = climb_step(climb, rate_bps, confirms ? CONFIRM_NS : STEP_NS);
    }
    return status;
}

/* What a far end cannot is left out with its sentence: the rest of the stage stands. The result is
 * then an empty one. */
static enum tl_status run_if_possible(struct climb *climb, struct tl_udp_spec *spec,
                                      struct tl_udp_result *ret_result, const char **ret_reason)
{
    enum tl_status status = run(climb, spec, ret_result);
    if (status != TL_UNSUPPORTED)
        return status;
    *ret_reason = climb->error.text;
    return TL_OK;
}

/* --- Bursts and trains ----------------------------------------------------------------------- */

static enum tl_status measure_trains(struct climb *climb, double knee_bps, double *ret_bps,
                                     const char **ret_reason)
{
    double train_ns = TRAIN_LENGTH * climb->datagram_bytes * 8e9 / knee_bps;
    int64_t gap_ns = (int64_t)fmax(10e6, 3 * train_ns);
    int64_t count = TRAINS_NS / gap_ns;
    struct tl_udp_spec spec = {.train_length = TRAIN_LENGTH,
                               .train_count = (unsigned)(count > TRAIN_COUNT       ? TRAIN_COUNT
                                                         : count < TRAIN_COUNT_MIN ? TRAIN_COUNT_MIN
                                                                                   : count),
                               .train_gap_ns = gap_ns,
                               .datagram_bytes = climb->datagram_bytes};
    spec.duration_ns = (int64_t)(spec.train_count + 1) * gap_ns;
    struct tl_udp_result result;
    if (!is_within_cap(climb, TRAIN_LENGTH)) {
        *ret_reason = "the responder's rate cap lets no train leave at once";
        return TL_OK;
    }
    if (!fits(climb, &spec)) {
        climb->cut = true;
        return TL_OK;
    }
    enum tl_status status = run_if_possible(climb, &spec, &result, ret_reason);
    bool sender_limited = false;
    double bps = (double)NAN;
    if (status == TL_OK)
        bps = tl_udp_train_rate(result.trains, result.train_count, climb->datagram_bytes,
                                &sender_limited);
    bool even =
        status != TL_OK ||
        tl_trains_are_even(result.trains, result.train_count,
                           tl_trains_scatter(climb->probe->facts, climb->direction), ret_reason);
    *ret_bps = sender_limited || !even ? (double)NAN : bps;
    tl_udp_result_finish(&result);
    return status;
}

static enum tl_status measure_burst(struct climb *climb, double knee_bps, unsigned count,
                                    struct tl_fact_key key)
{
    double burst_ns = count * climb->datagram_bytes * 8e9 / (BURST_RATE_RATIO * knee_bps);
    struct tl_udp_spec spec = {.rate_bps = (uint64_t)(BURST_RATE_RATIO * knee_bps),
                               .burst_count = count,
                               .datagram_bytes = climb->datagram_bytes,
                               .duration_ns = (int64_t)fmax(BURST_NS, BURSTS_MIN * burst_ns)};
    struct tl_udp_result result;
    const char *prevented =
        climb->sender_bursts ? SENDS_BURSTS
        : !is_within_cap(climb, count)
            ? "the responder's rate cap lets no burst of that size leave at once"
            : NULL;
    if (prevented) {
        tl_flow_set(climb->probe->facts, key, (double)NAN, prevented);
        return TL_OK;
    }
    if (!fits(climb, &spec)) {
        climb->cut = true;
        return TL_OK;
    }
    const char *reason = "nothing was sent";
    enum tl_status status = run_if_possible(climb, &spec, &result, &reason);
    bool tells = udp_step_tells_loss(&result, BURST_RATE_RATIO * knee_bps);
    if (status == TL_OK && !tells)
        tl_flow_set(climb->probe->facts, key, (double)NAN, UNTOLD);
    else if (status == TL_OK && result.receiver.local_drop_count == 0)
        tl_flow_set_range(climb->probe->facts, key, result.loss_ratio, result.loss_low_ratio,
                          result.loss_high_ratio, reason);
    tl_udp_result_finish(&result);
    return status;
}

/* --- Facts ----------------------------------------------------------------------------------- */

/* The knee lies between the highest rate that passed (or what arrived above it, where that is
 * less: then a full bucket let more pass for a while) and the lowest that did not. */
static void set_knee(const struct climb *climb)
{
    const struct udp_search *search = &climb->search;
    struct tl_facts *facts = climb->probe->facts;
    double knee_bps = search->low_bps, low_bps = knee_bps, high_bps = search->high_bps;
    const char *reason = climb->sender_bursts    ? SENDS_BURSTS
                         : climb->sender_limited ? "the sender could not offer more"
                         : climb->receiver_limited && climb->drops_untold
                             ? "datagrams were lost, and the far end does not tell whether its own "
                               "socket dropped them"
                         : climb->receiver_limited ? "the receiver's own socket dropped datagrams"
                         : climb->spent            ? "the budget ended before loss began"
                                                   : "no rate passed, or none was too high";
    if (isfinite(climb->tail_bps))
        low_bps = fmin(low_bps, climb->tail_bps);
    if (!udp_search_has_knee(search))
        knee_bps = (double)NAN;
    tl_flow_set_range(facts, TL_FLOW(climb->direction, udp_knee_bps), knee_bps, low_bps, high_bps,
                      reason);
    tl_flow_set(facts, TL_FLOW(climb->direction, udp_passed_bps),
                low_bps > 0 ? low_bps : (double)NAN, "no rate passed");
    tl_flow_set(facts, TL_FLOW(climb->direction, udp_loss_above_knee_ratio),
                climb->above_bps > 0 ? climb->above_loss_ratio : (double)NAN, reason);
    tl_flow_set(facts, TL_FLOW(climb->direction, udp_delay_before_loss_ns),
                climb->above_bps > 0 ? climb->delay_before_loss_ns : (double)NAN, reason);
    tl_facts_set_bool(facts, TL_FLOW(climb->direction, udp_sender_limited), climb->sender_limited,
                      "");
}

static void set_pool(const struct climb *climb)
{
    const struct udp_pool *pool = &climb->pool;
    struct tl_facts *facts = climb->probe->facts;
    enum tl_direction direction = climb->direction;
    double low, high, loss = udp_pool_loss(pool, &low, &high);
    double received = pool->received_count > 0 ? (double)pool->received_count : (double)NAN;
    double arrived = received + (double)pool->corrupt_count;
    double in_order = pool->totals_only ? (double)NAN : received;
    bool untold = pool->meddled || pool->unchecked;
    double checked = untold && pool->corrupt_count == 0 ? (double)NAN : arrived;
    double lost = (double)pool->lost_count, runs = (double)pool->run_count;
    bool telling = pool->lost_count >= RUNS_MIN && pool->run_count > 0;
    tl_flow_set_range(facts, TL_FLOW(direction, udp_loss_below_knee_ratio), loss, low, high,
                      "no rate passed");
    tl_flow_set(facts, TL_FLOW(direction, udp_loss_run_mean_count),
                telling ? lost / runs : (double)NAN, "too few were lost");
    tl_flow_set(facts, TL_FLOW(direction, udp_loss_run_excess_ratio),
                telling ? fmax(0, (lost - runs) / lost - loss) : (double)NAN, "too few were lost");
    tl_flow_set(facts, TL_FLOW(direction, udp_reorder_ratio),
                (double)pool->reordered_count / in_order, UNTOLD);
    tl_flow_set(facts, TL_FLOW(direction, udp_duplicate_ratio),
                (double)pool->duplicate_count / in_order, UNTOLD);
    tl_flow_set(facts, TL_FLOW(direction, udp_corrupt_ratio), (double)pool->corrupt_count / checked,
                pool->meddled ? "somebody adds datagrams to the test" : UNTOLD);
    tl_flow_set(facts, TL_FLOW(direction, udp_jitter_ns), pool->jitter_ns, "nothing arrived");
    tl_flow_set(facts, TL_FLOW(direction, udp_rxq_dropped_count),
                climb->drops_untold ? (double)NAN : (double)climb->rxq_dropped_count, UNTOLD);
}

static void set_dispersion(const struct climb *climb, double dispersion_bps, const char *reason)
{
    struct tl_facts *facts = climb->probe->facts;
    double knee_bps = udp_search_has_knee(&climb->search) ? climb->search.low_bps : (double)NAN;
    tl_flow_set(facts, TL_FLOW(climb->direction, udp_dispersion_bps), dispersion_bps, reason);
    double free_ratio = knee_bps / dispersion_bps; /* unknown stays so: fmax would make it 0 */
    tl_flow_set(facts, TL_FLOW(climb->direction, udp_other_traffic_ratio),
                free_ratio > 1 ? 0 : 1 - free_ratio, "capacity or knee is not known");
}

/* Bursts before trains, which stage streams sent as well: where time is short they tell more. */
static enum tl_status measure(struct climb *climb)
{
    double dispersion_bps = (double)NAN;
    const char *reason = "trains left no faster than they arrived, or did not arrive whole";
    enum tl_status status = find_knee(climb);
    udp_search_settle(&climb->search);
    double rate_bps = climb->search.low_bps;
    udp_room_release(&climb->room);
    set_knee(climb);
    set_pool(climb);
    if (status == TL_OK && rate_bps > 0)
        status =
            measure_burst(climb, rate_bps, 8, TL_FLOW(climb->direction, udp_burst8_loss_ratio));
    if (status == TL_OK && rate_bps > 0)
        status =
            measure_burst(climb, rate_bps, 64, TL_FLOW(climb->direction, udp_burst64_loss_ratio));
    if (status == TL_OK && rate_bps > 0)
        status = measure_trains(climb, climb->sender_bursts ? start_bps(climb) : rate_bps,
                                &dispersion_bps, &reason);
    set_dispersion(climb, dispersion_bps, reason);
    return status;
}

/* --- The stage ------------------------------------------------------------------------------- */

static void tell_end(const struct climb *climb, enum tl_status status)
{
    char rate[TL_UNIT_TEXT_SIZE];
    if (status == TL_CANCELLED)
        tl_outcome_state(climb->outcome, TL_STAGE_SKIPPED, TL_RUN_STOPPED);
    else if (status == TL_UNSUPPORTED || (status == TL_TIMEOUT && climb->search.low_bps <= 0))
        tl_outcome_state(climb->outcome, TL_STAGE_NOT_POSSIBLE, "%s", climb->error.text);
    else if (status != TL_OK)
        tl_outcome_state(climb->outcome, TL_STAGE_FAILED, "%s", climb->error.text);
    else if (climb->spent && !udp_search_has_knee(&climb->search))
        tl_outcome_state(climb->outcome, TL_STAGE_LIMITED,
                         "the budget let the rate rise to %s only",
                         tl_format_bps(climb->search.low_bps, rate));
    else if (climb->cut)
        tl_outcome_state(climb->outcome, TL_STAGE_LIMITED,
                         "the budget ended before all bursts and trains were sent");
}

enum tl_status tl_probe_udp(const struct tl_probe *probe, enum tl_direction direction,
                            const struct tl_probe_limits *limits,
                            struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    tl_outcome_begin(ret_outcome, "udp");
    struct climb climb = {.probe = probe,
                          .direction = direction,
                          .outcome = ret_outcome,
                          .datagram_bytes = tl_datagram_bytes(probe->facts, direction),
                          .tail_bps = (double)NAN};
    udp_room_begin(&climb.room, tl_now_ns(), limits->duration_ns, limits->bytes,
                   tl_facts_number(probe->facts, TL_PATH(rtt_min_ns), 0));
    udp_search_begin(&climb.search, LOW_BPS, MAX_BPS);
    udp_pool_begin(&climb.pool);
    enum tl_status status = measure(&climb);
    tell_end(&climb, status);
    tl_outcome_end(ret_outcome);
    /* Without UDP a diagnosis goes on. */
    bool goes_on = status == TL_UNSUPPORTED || status == TL_TIMEOUT || status == TL_INVALID;
    if (status != TL_OK && !goes_on && reterr)
        *reterr = climb.error;
    return goes_on ? TL_OK : status;
}
