/* Stage microscope: one short stream with another congestion control than the host's own. One
 * that heeds loss shows what BBR hides; BBR shows what loss costs the others. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "flow_facts.h"
#include "outcome.h"
#include "tightlink/probes/probes.h"
#include "transfer.h"

#define CANDIDATES_MAX 2

/* What to try, in this order; the first that the sender permits is taken. */
static void choose(const struct tl_probe *probe, enum tl_direction direction,
                   const char *ret_names[CANDIDATES_MAX + 1])
{
    struct tl_fact cc;
    tl_facts_get(probe->facts, TL_FLOW(direction, cc), &cc);
    bool known = cc.state == TL_FACT_KNOWN;
    bool heeds_loss = known && (strcmp(cc.text, "cubic") == 0 || strcmp(cc.text, "reno") == 0);
    memset(ret_names, 0, (CANDIDATES_MAX + 1) * sizeof *ret_names);
    if (heeds_loss) {
        ret_names[0] = "bbr";
    } else {
        ret_names[0] = "cubic";
        ret_names[1] = "reno";
    }
}

static void set_facts(struct tl_facts *facts, enum tl_direction direction,
                      const struct tl_tcp_result *result)
{
    static const char not_told[] = "the sender's kernel does not tell it";
    const struct tl_steady *steady = &result->steady;
    const struct tl_flow_stats *sender = &steady->sender;
    tl_flow_set_text(facts, TL_FLOW(direction, microscope_cc), result->sender.congestion);
    tl_flow_set_range(facts, TL_FLOW(direction, microscope_goodput_bps),
                      steady->rate.valid ? steady->rate.goodput_bps : (double)NAN,
                      steady->rate.low_bps, steady->rate.high_bps,
                      "the transfer had no steady part");
    tl_flow_set(facts, TL_FLOW(direction, microscope_segments_count), sender->segments_count,
                not_told);
    tl_flow_set_loss(facts, direction, TL_FLOW_LOSS(microscope_retrans), sender->retrans_count,
                     sender->segments_count);
    tl_flow_set(facts, TL_FLOW(direction, microscope_rtt_min_ns), sender->rtt_min_ns, not_told);
}

enum tl_status tl_probe_microscope(const struct tl_probe *probe, enum tl_direction direction,
                                   const struct tl_probe_limits *limits,
                                   struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    struct tl_tcp_spec spec = tl_transfer_spec(direction, limits);
    struct tl_tcp_result *result = NULL;
    const char *names[CANDIDATES_MAX + 1];
    enum tl_status status = TL_UNSUPPORTED;
    choose(probe, direction, names);
    for (int i = 0; names[i] && (status == TL_UNSUPPORTED || status == TL_DENIED); i++) {
        tl_transfer_free(result);
        tl_outcome_begin(ret_outcome, "microscope");
        snprintf(spec.congestion, sizeof spec.congestion, "%s", names[i]);
        status = tl_transfer_run(probe, &spec, ret_outcome, &result, reterr);
    }
    if (status == TL_UNSUPPORTED || status == TL_DENIED) {
        tl_outcome_state(ret_outcome, TL_STAGE_NOT_POSSIBLE,
                         "the sending host permits no other congestion control (%s)", names[0]);
        ret_outcome->trust = (struct tl_trust){0};
        status = TL_OK;
    } else if (tl_transfer_counts(ret_outcome)) {
        set_facts(probe->facts, direction, result);
    }
    tl_transfer_free(result);
    return status;
}
