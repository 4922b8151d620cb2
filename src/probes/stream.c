/* Stage stream: one TCP stream as the hosts are configured. The rate, the ledger, and
 * nearly everything the first judgement rests on. */
#include <math.h>

#include "flow_facts.h"
#include "outcome.h"
#include "tightlink/probes/probes.h"
#include "transfer.h"

static void set_facts(struct tl_facts *facts, enum tl_direction direction,
                      const struct tl_tcp_result *result)
{
    const struct tl_steady *steady = &result->steady;
    tl_flow_set_stream(facts, direction, steady, result->sender.congestion);
    tl_flow_set(facts, direction, "received_bytes", (double)result->receiver.bytes, "");
    tl_flow_set(facts, direction, "ends_agree_ratio", result->ends_agree_ratio,
                "one end did not count");
    tl_flow_set_cpu(facts, direction, "sender", &result->sender.cpu,
                    steady->sender.thread_cpu_ratio, steady->sender.thread_wait_ratio);
    tl_flow_set_cpu(facts, direction, "receiver", &result->receiver.cpu,
                    steady->receiver.thread_cpu_ratio, steady->receiver.thread_wait_ratio);
}

enum tl_status tl_probe_stream(const struct tl_probe *probe, enum tl_direction direction,
                               const struct tl_probe_limits *limits,
                               struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    struct tl_tcp_spec spec = tl_transfer_spec(direction, limits);
    struct tl_tcp_result *result;
    tl_outcome_begin(ret_outcome, "stream");
    enum tl_status status = tl_transfer_run(probe, &spec, ret_outcome, &result, reterr);
    if (tl_transfer_counts(ret_outcome)) {
        set_facts(probe->facts, direction, result);
        if (!result->steady.rate.valid && ret_outcome->record.reason[0])
            tl_flow_set(probe->facts, direction, "goodput_bps", (double)NAN,
                        ret_outcome->record.reason);
    }
    tl_transfer_free(result);
    return status;
}
