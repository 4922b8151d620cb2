/* Stage streams: several TCP streams at once. What one stream cannot fill, several do:
 * a limit per stream, random loss and shallow buffers scale with their number, a full
 * link does not. Trains of datagrams behind them tell a full link from one that others fill. Where
 * the network held one stream and several get much more, two follow on short paths, for a second:
 * they tell a limit for each from a share of one for all. Where the rate of one had fallen for
 * good, one more follows behind a rest. */
#include <math.h>

#include "flow_facts.h"
#include "one_stream.h"
#include "outcome.h"
#include "received.h"
#include "rested.h"
#include "streams_again.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/far.h"
#include "tightlink/probes/probes.h"
#include "trains.h"
#include "transfer.h"

/* Two streams: slow start and some round trips behind it. */
#define PAIR_NS      (900 * TL_NS_PER_MS)
#define PAIR_RTT_MAX (50e6) /* on longer paths a second is no more than slow start */
/* Several that get less than that are no sign of a limit for each (rules/path/per-flow-limit.json);
 * and where the hosts held the one, its rate is theirs. */
#define PAIR_GAIN    1.8
#define PAIR_NETWORK 0.5

/* Where they are read in turn eight got 27 of 50 Mb/s, four 29, two 47. */
#define STREAMS_IN_TURN 2

/* What several streams are given on short paths. */
#define SHORT_NS (4200 * TL_NS_PER_MS)

static double number(const struct tl_facts *facts, struct tl_fact_key key)
{
    return tl_facts_number(facts, key, (double)NAN);
}

static void set_facts(struct tl_facts *facts, enum tl_direction direction,
                      const struct tl_tcp_result *result, const struct tl_beside *beside)
{
    static const char not_told[] = "the sender's kernel does not tell it";
    const struct tl_steady *steady = &result->steady;
    const struct tl_flow_stats *sender = &steady->sender;
    tl_flow_set_compared(facts, direction, TL_FLOW_COMPARED(streams), steady);
    tl_flow_set(facts, TL_FLOW(direction, streams_count), result->streams, "");
    tl_flow_set(facts, TL_FLOW(direction, streams_fairness_ratio), steady->fairness_ratio,
                not_told);
    tl_flow_set(facts, TL_FLOW(direction, streams_rtt_min_ns), steady->sender_whole.rtt_min_ns,
                not_told);
    tl_flow_set(facts, TL_FLOW(direction, streams_rtt_at_loss_ns), sender->rtt_at_loss_ns,
                "no loss was seen");
    tl_flow_set(facts, TL_FLOW(direction, streams_loss_event_ratio),
                sender->loss_event_count / sender->segments_count, not_told);
    tl_flow_set(facts, TL_FLOW(direction, streams_segments_count), sender->segments_count,
                not_told);
    tl_flow_set(facts, TL_FLOW(direction, streams_retrans_count), sender->retrans_count, not_told);
    tl_flow_set_members(facts, direction, result);
    tl_flow_set_responsiveness(facts, direction, sender, &beside->load);
    tl_flow_set_queue(facts, direction, TL_FLOW_QUEUE(streams_), &beside->queue);
    tl_flow_set_ranks(facts, direction, result);
    tl_flow_set(facts, TL_FLOW(direction, streams_sender_cpu_ratio),
                tl_cpu_pressure(&result->sender.cpu, steady->sender.thread_cpu_ratio),
                "it was not read");
    tl_flow_set(facts, TL_FLOW(direction, streams_receiver_cpu_ratio),
                tl_cpu_pressure(&result->receiver.cpu, steady->receiver.thread_cpu_ratio),
                "it was not read");
    if (tl_received_alone(result))
        tl_received_set_streams(facts, direction, result);
}

/* A receiver that reads its connections in turn lets all of them wait for the slowest, and
 * acknowledges late what it has not read yet (delayed acknowledgements, up to 40 ms). */
static bool is_read_in_turn(const struct tl_probe *probe, enum tl_direction direction)
{
    return direction == TL_UPLOAD && !tl_far_can(probe->far, TL_FAR_APART);
}

/* That wait stands in the round trips of several, and is no queue of the path. */
static void forget_round_trips(struct tl_facts *facts, enum tl_direction direction)
{
    static const enum tl_fact_name names[] = {
        TL_FACT_FLOW_streams_rtt_mean_ns,           TL_FACT_FLOW_streams_rtt_at_loss_ns,
        TL_FACT_FLOW_streams_queue_standing_ratio,  TL_FACT_FLOW_streams_full_bps,
        TL_FACT_FLOW_streams_loss_delay_rank_ratio,
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tl_facts_set_unknown(facts, TL_KEY(tl_scope_of(direction), names[i]),
                             "the far end reads its connections in turn, so that round trips of "
                             "several hold its own wait: " TL_FAR_WOULD);
}

static int64_t bytes_left(const struct tl_probe_limits *limits,
                          const struct tl_probe_outcome *outcome)
{
    return limits->bytes - outcome->record.sent_bytes - outcome->record.received_bytes;
}

#define AGAIN_NS   (2500 * TL_NS_PER_MS)
#define AGAIN_RTTS 25

/* One connection once more: first one, then several, then one again (A B A). */
static enum tl_status run_again(const struct tl_probe *probe, enum tl_direction direction,
                                const struct tl_tcp_spec *top, int64_t bytes,
                                struct tl_probe_outcome *outcome, struct tl_error *reterr)
{
    struct tl_probe_outcome turn;
    struct tl_tcp_result *result;
    struct tl_tcp_spec spec = tl_transfer_one_more(probe, top, AGAIN_NS, AGAIN_RTTS, bytes);
    spec.enough.rate = true;
    tl_outcome_begin(&turn, "streams");
    enum tl_status status = tl_transfer_run(probe, &spec, &turn, &result, reterr);
    if (!result)
        return status;
    const struct tl_steady_rate *rate = &result->steady.rate;
    bool counts = tl_transfer_counts(&turn) && rate->valid;
    tl_flow_set_range(probe->facts, TL_FLOW(direction, again_bps),
                      counts ? rate->goodput_bps : (double)NAN, rate->low_bps, rate->high_bps,
                      "the turn had no steady part");
    tl_outcome_add(outcome, &turn);
    tl_transfer_free(result);
    return status;
}

/* Behind the load: trains, one connection again where the path may have changed, and trains again:
 * whether the link's own rate is the same some seconds later. */
static enum tl_status look_behind(const struct tl_probe *probe, enum tl_direction direction,
                                  const struct tl_tcp_spec *top, bool trains,
                                  const struct tl_probe_limits *limits,
                                  struct tl_probe_outcome *outcome, struct tl_error *reterr)
{
    double carried_bps = number(probe->facts, TL_FLOW(direction, streams_goodput_bps));
    enum tl_status status = TL_OK;
    if (trains)
        status = tl_trains_measure(probe, direction, false, carried_bps,
                                   bytes_left(limits, outcome), outcome, reterr);
    if (status != TL_OK || bytes_left(limits, outcome) <= 0 ||
        !tl_streams_want_again(probe->facts, direction))
        return status;
    status = run_again(probe, direction, top, bytes_left(limits, outcome), outcome, reterr);
    if (status == TL_OK && isfinite(number(probe->facts, TL_FLOW(direction, trains_bps))))
        status = tl_trains_measure(probe, direction, true, carried_bps, bytes_left(limits, outcome),
                                   outcome, reterr);
    return status;
}

static bool is_short(const struct tl_facts *facts)
{
    return number(facts, TL_PATH(rtt_min_ns)) <= PAIR_RTT_MAX;
}

static bool wants_pair(const struct tl_facts *facts, enum tl_direction direction)
{
    double one_bps = number(facts, TL_FLOW(direction, goodput_bps));
    double many_bps = number(facts, TL_FLOW(direction, streams_goodput_bps));
    double network = tl_facts_number(facts, TL_FLOW(direction, ledger_network_ratio), 1);
    return is_short(facts) && many_bps >= PAIR_GAIN * one_bps && network >= PAIR_NETWORK;
}

/* One that fails says nothing and is no reason to stop, unless the connection is gone or the user
 * wants it. */
static enum tl_status run_pair(const struct tl_probe *probe, enum tl_direction direction,
                               const struct tl_tcp_spec *top, int64_t bytes,
                               struct tl_probe_outcome *outcome, struct tl_error *reterr)
{
    struct tl_probe_outcome turn;
    struct tl_tcp_result *result;
    struct tl_tcp_spec spec = *top;
    spec.streams = 2;
    spec.duration_ns = PAIR_NS;
    spec.max_bytes = (uint64_t)bytes;
    spec.enough = (struct tl_steady_enough){.rate = true};
    tl_outcome_begin(&turn, "streams");
    enum tl_status status = tl_transfer_run(probe, &spec, &turn, &result, reterr);
    if (tl_transfer_counts(&turn)) {
        const struct tl_steady_rate *rate = &result->steady.rate;
        tl_flow_set(probe->facts, TL_FLOW(direction, streams_2_goodput_bps),
                    rate->valid ? rate->goodput_bps : (double)NAN,
                    "the transfer had no steady part");
    }
    tl_outcome_add(outcome, &turn);
    tl_trust_lower(&outcome->trust, turn.trust.quality, "%s", turn.trust.reason);
    if (status != TL_OK)
        tl_outcome_state(outcome, turn.record.state, "%s", turn.record.reason);
    tl_transfer_free(result);
    return status;
}

static struct tl_tcp_spec plan_streams(const struct tl_probe *probe, enum tl_direction direction,
                                       const struct tl_probe_limits *limits)
{
    struct tl_tcp_spec spec = tl_transfer_spec(direction, limits);
    unsigned most = tl_far_info(probe->far)->max_streams;
    spec.streams = most && most < TL_PROBE_STREAMS ? most : TL_PROBE_STREAMS;
    if (is_read_in_turn(probe, direction) && spec.streams > STREAMS_IN_TURN)
        spec.streams = STREAMS_IN_TURN;
    spec.enough.agrees_bps = tl_probe_known_bps(probe->facts, direction);
    spec.enough.surpasses_bps = tl_probe_held_bps(probe->facts, direction);
    if (spec.enough.surpasses_bps == 0)
        spec.enough.multiplies_bps = tl_one_stream_most_bps(probe->facts, direction);
    if (is_short(probe->facts) && spec.duration_ns > SHORT_NS)
        spec.duration_ns = SHORT_NS;
    return spec;
}

enum tl_status tl_probe_streams(const struct tl_probe *probe, enum tl_direction direction,
                                const struct tl_probe_limits *limits,
                                struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    struct tl_probe_limits loading = *limits;
    bool trains = limits->duration_ns > 2 * TL_TRAINS_NS;
    loading.duration_ns -= trains ? TL_TRAINS_NS : 0;
    struct tl_tcp_spec spec = plan_streams(probe, direction, &loading);
    struct tl_tcp_result *result;
    struct tl_beside beside;
    tl_outcome_begin(ret_outcome, "streams");
    enum tl_status status =
        tl_transfer_run_loaded(probe, &spec, ret_outcome, &result, &beside, reterr);
    bool counts = tl_transfer_counts(ret_outcome);
    if (counts)
        set_facts(probe->facts, direction, result, &beside);
    if (counts && is_read_in_turn(probe, direction))
        forget_round_trips(probe->facts, direction);
    if (status == TL_OK && counts)
        status = look_behind(probe, direction, &spec, trains, limits, ret_outcome, reterr);
    if (status == TL_OK && counts && bytes_left(limits, ret_outcome) > 0 &&
        wants_pair(probe->facts, direction))
        status =
            run_pair(probe, direction, &spec, bytes_left(limits, ret_outcome), ret_outcome, reterr);
    if (status == TL_OK && counts && bytes_left(limits, ret_outcome) > 0)
        status = tl_rested_measure(probe, direction, &spec, bytes_left(limits, ret_outcome),
                                   ret_outcome, reterr);
    tl_transfer_free(result);
    return status;
}
