/* Stage path: the idle round trip, by small UDP probes at a low rate. */
#include <math.h>
#include <stdlib.h>

#include "family.h"
#include "flow_facts.h"
#include "idle.h"
#include "interrupt.h"
#include "outcome.h"
#include "running.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/far.h"
#include "tightlink/engine/queue.h"
#include "tightlink/probes/probes.h"

/* Sixty probes in 0.6 s: enough for a median, a minimum and the shape of their scatter, not enough
 * to say much of loss, which the other stages count. */
#define ECHO_COUNT       60
#define ECHO_INTERVAL_NS (10 * TL_NS_PER_MS)

static void set_spread(struct tl_facts *facts, enum tl_direction direction,
                       const struct tl_delay_spread *data, const struct tl_delay_spread *ack,
                       const char *reason)
{
    tl_flow_set(facts, TL_FLOW(direction, idle_data_delay_ns), data->median_ns, reason);
    tl_flow_set(facts, TL_FLOW(direction, idle_data_delay_p75_ns), data->p75_ns, reason);
    tl_flow_set(facts, TL_FLOW(direction, idle_ack_delay_ns), ack->median_ns, reason);
    tl_flow_set(facts, TL_FLOW(direction, idle_ack_delay_p75_ns), ack->p75_ns, reason);
}

/* What the path's delay does without us: every later "grew" and "flat" is measured against it. */
static void set_idle(struct tl_facts *facts, const struct tl_echo_result *echo,
                     const char *one_way_reason)
{
    struct tl_idle_delay idle;
    tl_idle_delay(echo, &idle);
    tl_facts_set_number(facts, TL_PATH(rtt_idle_p75_ns),
                        (double)echo->min_rtt_ns + idle.round_trip.p75_ns, "");
    if (isfinite(idle.memory_ratio))
        tl_facts_set_number(facts, TL_PATH(rtt_idle_memory_ratio), fmax(idle.memory_ratio, 0), "");
    else
        tl_facts_set_unknown(facts, TL_PATH(rtt_idle_memory_ratio), "too few probes were answered");
    set_spread(facts, TL_UPLOAD, &idle.forward, &idle.backward, one_way_reason);
    set_spread(facts, TL_DOWNLOAD, &idle.backward, &idle.forward, one_way_reason);
}

static void set_facts(struct tl_facts *facts, const struct tl_echo_result *echo, bool one_way)
{
    const char *method = one_way ? "UDP echo, time at the responder taken out"
                                 : "ICMP echo, or a closed port's refusal";
    tl_facts_set_number(facts, TL_PATH(echo_sent_count), echo->sent_count, method);
    tl_facts_set_number(facts, TL_PATH(echo_loss_ratio),
                        (double)echo->lost_count / (double)echo->sent_count, method);
    if (echo->answered_count == 0) {
        tl_facts_set_unknown(facts, TL_PATH(rtt_idle_ns), "no UDP probe was answered");
        tl_facts_set_unknown(facts, TL_PATH(rtt_idle_min_ns), "no UDP probe was answered");
        return;
    }
    tl_facts_set_number(facts, TL_PATH(rtt_idle_ns), (double)echo->median_rtt_ns, method);
    tl_facts_set_number(facts, TL_PATH(rtt_idle_min_ns), (double)echo->min_rtt_ns, method);
    set_idle(
        facts, echo,
        one_way
            ? "no UDP probe was answered"
            : "this kind of far end does not tell in which direction delay grows: " TL_FAR_WOULD);
}

/* TCP goes through: UDP that does not is something to say, not the end. */
static void set_nothing(struct tl_facts *facts, const char *why, struct tl_probe_outcome *outcome)
{
    tl_outcome_state(outcome, TL_STAGE_LIMITED, "%s", why);
    tl_facts_set_unknown(facts, TL_PATH(rtt_idle_ns), "%s", why);
    tl_facts_set_unknown(facts, TL_PATH(rtt_idle_min_ns), "%s", why);
    tl_facts_set_unknown(facts, TL_PATH(echo_loss_ratio), "%s", why);
}

enum tl_status tl_probe_path(const struct tl_probe *probe, struct tl_probe_outcome *ret_outcome,
                             struct tl_error *reterr)
{
    struct tl_echo_spec spec = {
        .count = ECHO_COUNT, .interval_ns = ECHO_INTERVAL_NS, .scattered = true, .cancel_fd = -1};
    struct tl_error error = {0};
    tl_outcome_begin(ret_outcome, "path");
    struct tl_echo_result *echo = calloc(1, sizeof *echo);
    if (!echo)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    struct tl_idle_watch idle;
    tl_idle_begin(probe, &idle);
    enum tl_status status = tl_far_echo(probe->far, &spec, echo, &error);
    tl_idle_end(probe, &idle);
    if (status == TL_OK) {
        set_facts(probe->facts, echo, tl_far_can(probe->far, TL_FAR_ONE_WAY));
        ret_outcome->record.sent_bytes = echo->sent_count * TL_WIRE_UDP_PROBE_SIZE;
        ret_outcome->record.received_bytes = echo->answered_count * TL_WIRE_UDP_PROBE_SIZE;
    } else {
        set_nothing(probe->facts, error.text, ret_outcome);
    }
    int64_t until_ns = tl_now_ns();
    if (status != TL_CANCELLED && status != TL_CLOSED) {
        tl_running_watch(probe);
        tl_family_look(probe);
    }
    /* A responder answers each; other hosts answer some, as often as they please (RFC
     * 1812, 4.3.2.8). */
    if (status == TL_OK && tl_far_can(probe->far, TL_FAR_ONE_WAY))
        tl_interruptions_of_probes(echo, until_ns, ret_outcome);
    free(echo);
    tl_outcome_end(ret_outcome);
    if (status == TL_TIMEOUT || status == TL_UNSUPPORTED)
        return TL_OK;
    if (status != TL_OK && reterr)
        *reterr = error;
    return status;
}
