/* Stage watch: a plain stream that does not end when its rate is known. */
#include "tightlink/probes/vigil.h"
#include "tightlink/engine/far.h"

#include "outcome.h"
#include "transfer.h"

int64_t tl_probe_vigil_longest_ns(const struct tl_probe *probe)
{
    return tl_far_info(probe->far)->max_duration_ns;
}

enum tl_status tl_probe_vigil(const struct tl_probe *probe, enum tl_direction direction,
                              const struct tl_probe_limits *limits, double pacing_bps,
                              struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    struct tl_tcp_spec spec = tl_transfer_spec(direction, limits);
    struct tl_tcp_result *result;
    spec.enough.rate = false;
    spec.pacing_bps = pacing_bps > 0 ? (uint64_t)pacing_bps : 0;
    tl_outcome_begin(ret_outcome, "watch");
    enum tl_status status = tl_transfer_run(probe, &spec, ret_outcome, &result, reterr);
    tl_transfer_free(result);
    return status;
}
