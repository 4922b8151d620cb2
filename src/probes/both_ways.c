/* Stage both-ways: one stream down and one up at the same time, then each of them alone once more
 * (A B A: the first turn is stage stream). What the two take from one another shows a medium that
 * carries one way at a time, and acknowledgements that wait behind the other direction's data. */
#include <math.h>

#include "flow_facts.h"
#include "loaded.h"
#include "outcome.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/probes/probes.h"
#include "transfer.h"

/* What each turn is given of the stage's time, of seven parts. */
#define TOGETHER_PARTS 3
#define ALONE_PARTS    2
#define ALL_PARTS      (TOGETHER_PARTS + 2 * ALONE_PARTS)

/* In which one direction got nothing: an outage, or a direction that starves; nobody tells. */
#define SILENT_NS TL_NS_PER_S

static void set_rate(struct tl_facts *facts, struct tl_fact_key key,
                     const struct tl_steady_rate *rate)
{
    tl_flow_set_range(facts, key, rate->valid ? rate->goodput_bps : (double)NAN, rate->low_bps,
                      rate->high_bps, "the transfer had no steady part");
}

static bool fell_silent(const struct tl_tcp_result *result)
{
    return result->steady.rate.silence_ns >= SILENT_NS ||
           result->upload->steady.rate.silence_ns >= SILENT_NS;
}

static void set_facts(struct tl_facts *facts, const struct tl_tcp_result *result,
                      const struct tl_echo_load *load)
{
    static const char not_read[] = "it was not read";
    const struct tl_tcp_side *near = &result->receiver, *far = &result->sender;
    set_rate(facts, TL_FLOW(TL_DOWNLOAD, both_goodput_bps), &result->steady.rate);
    set_rate(facts, TL_FLOW(TL_UPLOAD, both_goodput_bps), &result->upload->steady.rate);
    tl_flow_set(facts, TL_PATH(both_rtt_ns), load->rtt_median_ns,
                "too few probes were answered beside it");
    tl_flow_set(facts, TL_HOST(TL_SCOPE_NEAR, both_cpu_ratio),
                fmax(tl_cpu_pressure(&near->cpu, result->steady.receiver.thread_cpu_ratio),
                     result->upload->steady.sender.thread_cpu_ratio),
                not_read);
    tl_flow_set(facts, TL_HOST(TL_SCOPE_FAR, both_cpu_ratio),
                tl_cpu_pressure(&far->cpu, result->steady.sender.thread_cpu_ratio), not_read);
}

static enum tl_status run_together(const struct tl_probe *probe,
                                   const struct tl_probe_limits *limits,
                                   struct tl_probe_outcome *outcome, struct tl_error *reterr)
{
    struct tl_tcp_spec spec = tl_transfer_spec(TL_DOWNLOAD, limits);
    struct tl_tcp_result *result;
    struct tl_echo_load load;
    spec.direction = TL_WIRE_BOTH;
    struct tl_loaded *loaded = tl_loaded_start(probe, spec.duration_ns);
    enum tl_status status = tl_transfer_run(probe, &spec, outcome, &result, reterr);
    int64_t end_ns = tl_now_ns();
    bool steady = result && result->steady.rate.valid;
    int64_t start_ns = end_ns - (result ? result->elapsed_ns : 0);
    tl_loaded_finish(loaded, start_ns + (steady ? result->steady.rate.start_ns : 0), end_ns, &load);
    bool counts = result && result->upload && tl_transfer_counts(outcome);
    if (counts && fell_silent(result))
        tl_outcome_state(outcome, TL_STAGE_LIMITED,
                         "for a second and more one direction got nothing: an outage, or the other "
                         "one's doing");
    else if (counts)
        set_facts(probe->facts, result, &load);
    tl_transfer_free(result);
    return status;
}

static enum tl_status run_alone(const struct tl_probe *probe, enum tl_direction direction,
                                const struct tl_probe_limits *limits,
                                struct tl_probe_outcome *outcome, struct tl_error *reterr)
{
    struct tl_tcp_spec spec = tl_transfer_spec(direction, limits);
    struct tl_probe_outcome turn;
    struct tl_tcp_result *result;
    spec.enough.agrees_bps = tl_probe_known_bps(probe->facts, direction);
    tl_outcome_begin(&turn, "both-ways");
    enum tl_status status = tl_transfer_run(probe, &spec, &turn, &result, reterr);
    if (tl_transfer_counts(&turn))
        set_rate(probe->facts, TL_FLOW(direction, both_alone_bps), &result->steady.rate);
    outcome->record.sent_bytes += turn.record.sent_bytes;
    outcome->record.received_bytes += turn.record.received_bytes;
    outcome->record.duration_ns += turn.record.duration_ns;
    tl_trust_lower(&outcome->trust, turn.trust.quality, "%s", turn.trust.reason);
    tl_transfer_free(result);
    return status;
}

/* Alone before and behind: a path that became slower by itself takes nothing from itself. */
static void set_shares(struct tl_facts *facts, enum tl_direction direction)
{
    static const char untold[] = "its rate alone, or beside the other direction, is not known";
    double before_bps = tl_facts_number(facts, TL_FLOW(direction, goodput_bps), (double)NAN);
    double behind_bps = tl_facts_number(facts, TL_FLOW(direction, both_alone_bps), (double)NAN);
    double both_bps = tl_facts_number(facts, TL_FLOW(direction, both_goodput_bps), (double)NAN);
    double share = both_bps / fmin(before_bps, behind_bps); /* fmin passes over NAN */
    tl_flow_set(facts, TL_FLOW(direction, both_share_ratio), share, untold);
    tl_flow_set(facts, TL_FLOW(!direction, both_other_share_ratio), share, untold);
}

/* A part of a second tells nothing, and a far end whose connections are cut off at the last byte
 * takes that for a failure. */
static bool has_bytes(const struct tl_probe *probe, const struct tl_probe_limits *together,
                      struct tl_probe_outcome *outcome)
{
    char left[TL_UNIT_TEXT_SIZE];
    double bps = tl_facts_number(probe->facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 0) +
                 tl_facts_number(probe->facts, TL_FLOW(TL_UPLOAD, goodput_bps), 0);
    if ((double)together->bytes >= tl_bytes_from_bps_ns(bps, (double)TL_NS_PER_S))
        return true;
    tl_outcome_state(outcome, TL_STAGE_SKIPPED,
                     "the data budget leaves %s for it, less than a second: allow more",
                     tl_format_traffic((double)together->bytes, left));
    tl_outcome_end(outcome);
    return false;
}

static struct tl_probe_limits part_of(const struct tl_probe_limits *limits, int parts)
{
    struct tl_probe_limits part = *limits;
    part.duration_ns = limits->duration_ns / ALL_PARTS * parts;
    part.bytes = limits->bytes / ALL_PARTS * parts;
    return part;
}

enum tl_status tl_probe_both_ways(const struct tl_probe *probe, enum tl_direction direction,
                                  const struct tl_probe_limits *limits,
                                  struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    struct tl_probe_limits together = part_of(limits, TOGETHER_PARTS);
    struct tl_probe_limits alone = part_of(limits, ALONE_PARTS);
    struct tl_error error = {0};
    tl_outcome_begin(ret_outcome, "both-ways");
    if (!has_bytes(probe, &together, ret_outcome))
        return TL_OK;
    enum tl_status status = run_together(probe, &together, ret_outcome, &error);
    if (status == TL_UNSUPPORTED || status == TL_DENIED) { /* the run is none the worse for it */
        tl_outcome_state(ret_outcome, TL_STAGE_NOT_POSSIBLE, "%s", error.text);
        ret_outcome->trust = (struct tl_trust){0};
        return TL_OK;
    }
    for (int i = 0; i < 2 && status == TL_OK && tl_transfer_counts(ret_outcome); i++)
        status = run_alone(probe, i ? !direction : direction, &alone, ret_outcome, &error);
    set_shares(probe->facts, TL_DOWNLOAD);
    set_shares(probe->facts, TL_UPLOAD);
    if (status != TL_OK && reterr)
        *reterr = error;
    return status;
}
