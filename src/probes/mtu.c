/* Stage mtu: which packet sizes get through in each direction, and what the way does to
 * headers. Under a second and some 20 kB where nothing is wrong. */
#include "connect.h"
#include "outcome.h"
#include "path_facts.h"
#include "tightlink/engine/far.h"
#include "tightlink/probes/probes.h"

static bool has_hole(const struct tl_pmtu_result *result)
{
    return result->up.black_hole || result->down.black_hole;
}

/* A line that fails for a second while the large ones are under way looks like a black hole: what
 * vanishes for its size vanishes again. */
static enum tl_status search_twice(const struct tl_probe *probe, const struct tl_pmtu_spec *spec,
                                   struct tl_pmtu_result *ret_result, struct tl_error *reterr)
{
    struct tl_pmtu_result again;
    enum tl_status status = tl_far_pmtu(probe->far, spec, ret_result, reterr);
    if (status != TL_OK || !has_hole(ret_result))
        return status;
    status = tl_far_pmtu(probe->far, spec, &again, reterr);
    if (status != TL_OK)
        return status;
    again.sent_bytes += ret_result->sent_bytes;
    again.received_bytes += ret_result->received_bytes;
    if (!has_hole(&again))
        *ret_result = again;
    ret_result->sent_bytes = again.sent_bytes;
    ret_result->received_bytes = again.received_bytes;
    return TL_OK;
}

static enum tl_status search(const struct tl_probe *probe, struct tl_probe_outcome *outcome,
                             struct tl_error *reterr)
{
    struct tl_pmtu_spec spec = {
        .up_max_bytes = (int)tl_facts_number(probe->facts, TL_NEAR(link_mtu_bytes), 0),
        .down_max_bytes = (int)tl_facts_number(probe->facts, TL_FAR(link_mtu_bytes), 0),
        .rtt_ns = (int64_t)tl_facts_number(probe->facts, TL_PATH(rtt_idle_ns),
                                           (double)tl_connect_rtt_ns(probe->far)),
        .cancel_fd = -1};
    struct tl_pmtu_result result;
    struct tl_error error = {0};
    enum tl_status status = search_twice(probe, &spec, &result, &error);
    if (status == TL_OK) {
        tl_path_facts_pmtu(probe->facts, &result);
        outcome->record.sent_bytes += (long long)result.sent_bytes;
        outcome->record.received_bytes += (long long)result.received_bytes;
        int hops = result.up.hops_count ? result.up.hops_count : result.down.hops_count;
        if (hops > 0)
            tl_facts_set_number(probe->facts, TL_PATH(hops_count), hops, "TTL as it arrived");
        return TL_OK;
    }
    /* TCP goes through: UDP that does not is something to say, not the end. */
    tl_path_facts_no_pmtu(probe->facts, error.text);
    if (status != TL_CANCELLED)
        tl_outcome_state(outcome, TL_STAGE_LIMITED, "%s", error.text);
    if (reterr)
        *reterr = error;
    return status == TL_TIMEOUT || status == TL_REFUSED ? TL_OK : status;
}

static enum tl_status look_at_handshake(const struct tl_probe *probe, struct tl_error *reterr)
{
    struct tl_syn_result result;
    struct tl_error error = {0};
    enum tl_status status = tl_far_syn(probe->far, &result, &error);
    if (status == TL_OK)
        tl_path_facts_syn(probe->facts, &result, tl_far_info(probe->far)->family == 6);
    else
        tl_path_facts_no_syn(probe->facts, error.text);
    if (status == TL_CANCELLED && reterr)
        *reterr = error;
    return status == TL_CANCELLED ? status : TL_OK;
}

enum tl_status tl_probe_mtu(const struct tl_probe *probe, struct tl_probe_outcome *ret_outcome,
                            struct tl_error *reterr)
{
    tl_outcome_begin(ret_outcome, "mtu");
    enum tl_status status = look_at_handshake(probe, reterr);
    if (status == TL_OK)
        status = search(probe, ret_outcome, reterr);
    if (status == TL_CANCELLED)
        tl_outcome_state(ret_outcome, TL_STAGE_SKIPPED, TL_RUN_STOPPED);
    tl_outcome_end(ret_outcome);
    return status;
}
