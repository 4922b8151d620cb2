/* Stage paced: one stream held to half the rate that was seen. A queue or a policer that
 * dropped packets at the full rate drops none now; a bad cable goes on losing its share.
 *
 * Where several streams get more than one, a second one follows, at once or, where several are run
 * later, in a turn of its own. Losses that vanished: near the
 * best rate, which tells whether even spacing is all that was missing. Losses that stayed: well
 * below the best rate, with BBR where the sender permits it; it does not slow down for them, and so
 * counts in seconds what would take the host's own congestion control a minute. */
#include <math.h>
#include <stdio.h>

#include "flow_facts.h"
#include "outcome.h"
#include "paced_flight.h"
#include "tightlink/base/time.h"
#include "tightlink/probes/probes.h"
#include "transfer.h"

#define FIRST_MAX_NS (6 * TL_NS_PER_S) /* the second one counts losses better */
/* The first one lasts until eight losses are to be expected, were they independent of the load
 * (session/stages.c). Three, which are more than VANISHED of eight, tell that they stayed. */
#define FIRST_LOSSES 3
#define NEAR_RATIO   0.9 /* of the best rate seen, where losses vanished … */
#define COUNT_RATIO  0.7 /* … and where they stayed */
#define NEAR_NS      (3 * TL_NS_PER_S)
#define NEAR_RTTS    15
/* So many losses tell their share to 20 %, and the rate that it allows, which goes with its root
 * (Mathis et al. 1997), to 10 %: less than the rate of one connection that loses them scatters by.
 */
#define COUNT_LOSSES 25
#define COUNT_MAX_NS (5 * TL_NS_PER_S)
/* What several streams must get more than one for the second one to be worth its time. */
#define NEAR_GAIN 1.3
/* Losses left, as a share of what was lost before, below which they vanished. */
#define VANISHED 0.3

static double number(const struct tl_facts *facts, struct tl_fact_key key)
{
    return tl_facts_number(facts, key, (double)NAN);
}

static void set_facts(struct tl_facts *facts, enum tl_direction direction,
                      const struct tl_tcp_result *result)
{
    const char *reason = "the sender's kernel does not tell it";
    const struct tl_steady *steady = &result->steady;
    /* All that was paced: there is no slow start to leave out, and every segment counts. */
    const struct tl_sample_log *log = &result->sender.logs[0];
    struct tl_flow_stats paced, *sender = &paced;
    tl_flow_stats(log, tl_paced_begin_ns(log), INT64_MAX, &paced);
    tl_flow_set_port(facts, TL_FLOW(direction, paced_client_port), result);
    tl_flow_set(facts, TL_FLOW(direction, paced_offered_bps), (double)result->spec.pacing_bps, "");
    tl_flow_set(facts, TL_FLOW(direction, paced_goodput_bps),
                steady->rate.valid ? steady->rate.goodput_bps : (double)NAN,
                "the transfer had no steady part");
    tl_flow_set(facts, TL_FLOW(direction, paced_segments_count), sender->segments_count, reason);
    tl_flow_set_loss(facts, direction, TL_FLOW_LOSS(paced_retrans), sender->retrans_count,
                     sender->segments_count);
    tl_flow_set(facts, TL_FLOW(direction, paced_loss_event_ratio),
                sender->loss_event_count / sender->segments_count, reason);
    tl_flow_set(facts, TL_FLOW(direction, paced_rtt_mean_ns), sender->rtt_mean_ns, reason);
}

static void set_near_facts(struct tl_facts *facts, enum tl_direction direction,
                           const struct tl_tcp_result *result)
{
    const char *reason = "the sender's kernel does not tell it";
    const struct tl_steady *steady = &result->steady;
    const struct tl_flow_stats *sender = &steady->sender;
    tl_flow_set_port(facts, TL_FLOW(direction, paced_near_client_port), result);
    tl_flow_set(facts, TL_FLOW(direction, paced_near_offered_bps), (double)result->spec.pacing_bps,
                "");
    tl_flow_set_text(facts, TL_FLOW(direction, paced_near_cc), result->sender.congestion);
    tl_flow_set(facts, TL_FLOW(direction, paced_near_goodput_bps),
                steady->rate.valid ? steady->rate.goodput_bps : (double)NAN,
                "the transfer had no steady part");
    tl_flow_set(facts, TL_FLOW(direction, paced_near_segments_count), sender->segments_count,
                reason);
    tl_flow_set_loss(facts, direction, TL_FLOW_LOSS(paced_near_retrans), sender->retrans_count,
                     sender->segments_count);
    tl_flow_set(facts, TL_FLOW(direction, paced_near_loss_event_ratio),
                sender->loss_event_count / sender->segments_count, reason);
}

/* A window that was cut down at the start may lose nothing since: then several tell. */
static double lost_ratio(const struct tl_facts *facts, enum tl_direction direction)
{
    return fmax(number(facts, TL_FLOW(direction, retrans_ratio)),
                number(facts, TL_FLOW(direction, streams_retrans_ratio)));
}

static bool second_tells_more(const struct tl_facts *facts, enum tl_direction direction)
{
    double one_bps = number(facts, TL_FLOW(direction, goodput_bps));
    double best_bps = number(facts, TL_FLOW(direction, streams_goodput_bps));
    return best_bps >= NEAR_GAIN * one_bps && lost_ratio(facts, direction) > 0 &&
           isnan(number(facts, TL_FLOW(direction, paced_near_goodput_bps)));
}

bool tl_probe_paced_again(const struct tl_facts *facts, enum tl_direction direction)
{
    return second_tells_more(facts, direction) &&
           isfinite(number(facts, TL_FLOW(direction, paced_retrans_ratio)));
}

static bool has_vanished(const struct tl_facts *facts, enum tl_direction direction)
{
    return number(facts, TL_FLOW(direction, paced_retrans_ratio)) <
           VANISHED * lost_ratio(facts, direction);
}

static int64_t second_ns(const struct tl_facts *facts, bool vanished)
{
    return (vanished ? NEAR_NS : COUNT_MAX_NS) +
           (int64_t)(NEAR_RTTS * tl_facts_number(facts, TL_PATH(rtt_min_ns), 0));
}

int64_t tl_probe_paced_ns(const struct tl_facts *facts, enum tl_direction direction,
                          int64_t first_ns)
{
    bool first_is_known = isfinite(number(facts, TL_FLOW(direction, paced_retrans_ratio)));
    bool vanished = !first_is_known || has_vanished(facts, direction);
    int64_t first = first_ns < FIRST_MAX_NS ? first_ns : FIRST_MAX_NS;
    return (first_is_known ? 0 : first) +
           (second_tells_more(facts, direction) ? second_ns(facts, vanished) : 0);
}

/* The second stream. */
static void plan_second(const struct tl_facts *facts, enum tl_direction direction,
                        struct tl_tcp_spec *spec)
{
    double best_bps = number(facts, TL_FLOW(direction, streams_goodput_bps));
    bool vanished = has_vanished(facts, direction);
    spec->pacing_bps = (uint64_t)(best_bps * (vanished ? NEAR_RATIO : COUNT_RATIO));
    spec->enough.lost_events = vanished ? 0 : COUNT_LOSSES;
    spec->duration_ns = second_ns(facts, vanished);
    if (!vanished)
        snprintf(spec->congestion, sizeof spec->congestion, "bbr");
}

/* Bytes and time go into the stage's outcome. A sender that does not permit BBR is no failure: its
 * own congestion control meets the same losses, only fewer of them in the time. */
static enum tl_status run_second(const struct tl_probe *probe, enum tl_direction direction,
                                 const struct tl_tcp_spec *spec, struct tl_probe_outcome *outcome,
                                 struct tl_error *reterr)
{
    struct tl_tcp_result *result;
    struct tl_probe_outcome before = *outcome;
    enum tl_status status = tl_transfer_run(probe, spec, outcome, &result, reterr);
    if (tl_transfer_counts(outcome))
        set_near_facts(probe->facts, direction, result);
    tl_transfer_free(result);
    if (status == TL_UNSUPPORTED || status == TL_DENIED) {
        struct tl_tcp_spec own = *spec;
        *outcome = before;
        own.congestion[0] = '\0';
        return spec->congestion[0] ? run_second(probe, direction, &own, outcome, reterr) : TL_OK;
    }
    outcome->record.sent_bytes += before.record.sent_bytes;
    outcome->record.received_bytes += before.record.received_bytes;
    return status;
}

/* False where it does not count. */
static bool run_first(const struct tl_probe *probe, enum tl_direction direction,
                      const struct tl_tcp_spec *wanted, struct tl_probe_outcome *outcome,
                      enum tl_status *ret_status, struct tl_error *reterr)
{
    struct tl_tcp_spec spec = *wanted;
    struct tl_tcp_result *result;
    double rate_bps = number(probe->facts, TL_FLOW(direction, goodput_bps));
    spec.pacing_bps = (uint64_t)(rate_bps * TL_PROBE_PACED_RATIO);
    spec.enough.lost_events = FIRST_LOSSES;
    if (spec.duration_ns > FIRST_MAX_NS)
        spec.duration_ns = FIRST_MAX_NS;
    *ret_status = tl_transfer_run(probe, &spec, outcome, &result, reterr);
    bool counts = tl_transfer_counts(outcome);
    if (counts)
        set_facts(probe->facts, direction, result);
    tl_transfer_free(result);
    return *ret_status == TL_OK && counts;
}

enum tl_status tl_probe_paced(const struct tl_probe *probe, enum tl_direction direction,
                              const struct tl_probe_limits *limits,
                              struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    struct tl_tcp_spec spec = tl_transfer_spec(direction, limits);
    enum tl_status status = TL_OK;
    tl_outcome_begin(ret_outcome, "paced");
    if (!isfinite(number(probe->facts, TL_FLOW(direction, goodput_bps)))) {
        tl_outcome_state(ret_outcome, TL_STAGE_NOT_POSSIBLE,
                         "no rate is known that could be halved");
        tl_outcome_end(ret_outcome);
        return TL_OK;
    }
    spec.enough.rate = false; /* that is known before; its losses need the time */
    if (!tl_probe_paced_again(probe->facts, direction)) {
        if (!run_first(probe, direction, &spec, ret_outcome, &status, reterr) ||
            !tl_probe_paced_again(probe->facts, direction))
            return status;
        ret_outcome->record.duration_ns -= tl_now_ns(); /* the clock goes on */
    }
    plan_second(probe->facts, direction, &spec);
    return run_second(probe, direction, &spec, ret_outcome, reterr);
}
