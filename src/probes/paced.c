/* Stage paced: one stream held to half the rate that was seen. A queue or a policer that
 * dropped packets at the full rate drops none now; a bad cable goes on losing its share. */
#include <math.h>
#include <stdio.h>

#include "flow_facts.h"
#include "outcome.h"
#include "tightlink/probes/probes.h"
#include "transfer.h"

static void set_facts(struct tl_facts *facts, enum tl_direction direction,
                      const struct tl_tcp_result *result)
{
    const char *reason = "the sender's kernel does not tell it";
    const struct tl_steady *steady = &result->steady;
    /* The whole transfer: pacing holds from the first segment, there is no slow start to leave
     * out, and every segment counts. */
    const struct tl_flow_stats *sender = &steady->sender_whole;
    tl_flow_set(facts, direction, "paced_offered_bps", (double)result->spec.pacing_bps, "");
    tl_flow_set(facts, direction, "paced_goodput_bps",
                steady->rate.valid ? steady->rate.goodput_bps : (double)NAN,
                "the transfer had no steady part");
    tl_flow_set(facts, direction, "paced_segments_count", sender->segments_count, reason);
    tl_flow_set_loss(facts, direction, "paced_retrans", sender->retrans_count,
                     sender->segments_count);
    tl_flow_set(facts, direction, "paced_rtt_mean_ns", sender->rtt_mean_ns, reason);
}

enum tl_status tl_probe_paced(const struct tl_probe *probe, enum tl_direction direction,
                              const struct tl_probe_limits *limits,
                              struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    char id[64];
    struct tl_tcp_spec spec = tl_transfer_spec(direction, limits);
    struct tl_tcp_result *result;
    tl_outcome_begin(ret_outcome, "paced");
    snprintf(id, sizeof id, "%s.goodput_bps", tl_direction_name(direction));
    double rate_bps = tl_facts_number(probe->facts, id, (double)NAN);
    if (!isfinite(rate_bps)) {
        tl_outcome_state(ret_outcome, TL_STAGE_NOT_POSSIBLE,
                         "no rate is known that could be halved");
        tl_outcome_end(ret_outcome);
        return TL_OK;
    }
    spec.pacing_bps = (uint64_t)(rate_bps * TL_PROBE_PACED_RATIO);
    spec.stop_when_known = false; /* its rate is known before; its losses need the time */
    enum tl_status status = tl_transfer_run(probe, &spec, ret_outcome, &result, reterr);
    if (tl_transfer_counts(ret_outcome))
        set_facts(probe->facts, direction, result);
    tl_transfer_free(result);
    return status;
}
