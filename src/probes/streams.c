/* Stage streams: several TCP streams at once. What one stream cannot fill, several do:
 * a limit per stream, random loss and shallow buffers scale with their number, a full
 * link does not. */
#include "flow_facts.h"
#include "outcome.h"
#include "tightlink/probes/probes.h"
#include "transfer.h"

static void set_facts(struct tl_facts *facts, enum tl_direction direction,
                      const struct tl_tcp_result *result)
{
    const struct tl_steady *steady = &result->steady;
    tl_flow_set_compared(facts, direction, "streams", steady);
    tl_flow_set(facts, direction, "streams_count", result->streams, "");
    tl_flow_set(facts, direction, "streams_fairness_ratio", steady->fairness_ratio,
                "the sender's kernel does not tell it");
    tl_flow_set(facts, direction, "streams_sender_cpu_ratio",
                tl_cpu_pressure(&result->sender.cpu, steady->sender.thread_cpu_ratio),
                "it was not read");
    tl_flow_set(facts, direction, "streams_receiver_cpu_ratio",
                tl_cpu_pressure(&result->receiver.cpu, steady->receiver.thread_cpu_ratio),
                "it was not read");
}

enum tl_status tl_probe_streams(const struct tl_probe *probe, enum tl_direction direction,
                                const struct tl_probe_limits *limits,
                                struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    struct tl_tcp_spec spec = tl_transfer_spec(direction, limits);
    struct tl_tcp_result *result;
    unsigned most = tl_client_info(probe->client)->max_streams;
    spec.streams = most && most < TL_PROBE_STREAMS ? most : TL_PROBE_STREAMS;
    tl_outcome_begin(ret_outcome, "streams");
    enum tl_status status = tl_transfer_run(probe, &spec, ret_outcome, &result, reterr);
    if (tl_transfer_counts(ret_outcome))
        set_facts(probe->facts, direction, result);
    tl_transfer_free(result);
    return status;
}
