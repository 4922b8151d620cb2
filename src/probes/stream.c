/* Stage stream: one TCP stream as the hosts are configured. The rate, the ledger, and
 * nearly everything the first judgement rests on. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "counter_facts.h"
#include "flow_facts.h"
#include "outcome.h"
#include "path_facts.h"
#include "received.h"
#include "tightlink/base/units.h"
#include "tightlink/host/process.h"
#include "tightlink/probes/probes.h"
#include "transfer.h"

/* Of a far end without our engine there is none to tell. */
static void set_call(struct tl_facts *facts, enum tl_direction direction,
                     const struct tl_tcp_result *result)
{
#define TEXT(name, text) text,
    static const char *const paths[] = {TL_SEND_PATH_MAP(TEXT)};
#undef TEXT
    const struct tl_tcp_side *near = result->near_sends ? &result->sender : &result->receiver;
    char bytes[TL_UNIT_TEXT_SIZE], call[64];
    if (near->call_bytes == 0)
        return;
    snprintf(call, sizeof call, "%s %s", result->near_sends ? paths[near->send_path] : "recv",
             tl_format_bytes(near->call_bytes, bytes));
    tl_facts_set_text(facts, TL_FLOW(direction, near_call), call, "");
}

static void set_http2(struct tl_facts *facts, enum tl_direction direction,
                      const struct tl_tcp_result *result)
{
    static const char reason[] = "nothing was uploaded by HTTP/2";
    tl_flow_set(facts, TL_FLOW(direction, http2_window_bytes), result->http2_window_bytes, reason);
    tl_flow_set(facts, TL_FLOW(direction, http2_held_ratio), result->http2_held_ratio, reason);
}

static void set_facts(struct tl_facts *facts, enum tl_direction direction,
                      const struct tl_tcp_result *result, const struct tl_beside *beside)
{
    const struct tl_steady *steady = &result->steady;
    tl_flow_set_stream(facts, direction, steady, result->sender.congestion);
    tl_flow_set_port(facts, TL_FLOW(direction, client_port), result);
    tl_flow_set_series(facts, direction, &result->sender.logs[0], &steady->rate);
    tl_flow_set_loaded(facts, direction, &beside->load);
    tl_flow_set_queue(facts, direction, TL_FLOW_QUEUE(), &beside->queue);
    tl_flow_set(facts, TL_FLOW(direction, ce_ratio),
                steady->sender.delivered_ce_count / steady->sender.segments_count,
                "the sender's kernel does not tell it");
    tl_flow_set(facts, TL_FLOW(direction, received_bytes), (double)result->receiver.bytes, "");
    set_http2(facts, direction, result);
    set_call(facts, direction, result);
    tl_flow_set(facts, TL_FLOW(direction, acked_ahead_bytes), tl_path_acked_ahead(result),
                "one end has too few readings");
    tl_flow_set(facts, TL_FLOW(direction, ends_agree_ratio), result->ends_agree_ratio,
                "one end did not count");
    tl_flow_set_cpu(facts, direction, TL_SENDER, &result->sender.cpu,
                    steady->sender.thread_cpu_ratio, steady->sender.thread_wait_ratio);
    tl_flow_set_cpu(facts, direction, TL_RECEIVER, &result->receiver.cpu,
                    steady->receiver.thread_cpu_ratio, steady->receiver.thread_wait_ratio);
    tl_flow_set(facts, TL_FLOW(direction, receiver_queue_ratio),
                fmin(steady->receiver.inq_mean_bytes / steady->receiver.rcvbuf_max_bytes, 1),
                "the receiver's kernel does not tell it");
    tl_flow_set(facts, TL_FLOW(direction, receiver_data_wait_ratio),
                steady->receiver.data_wait_ratio, "the receiver does not tell it");
    tl_counter_facts_set(facts, direction, TL_SENDER, &result->sender.counters);
    tl_counter_facts_set(facts, direction, TL_RECEIVER, &result->receiver.counters);
    tl_flow_set(facts, TL_FLOW(direction, sender_other_traffic_ratio),
                tl_other_traffic(result, true), "the sender does not tell its interface's traffic");
    tl_flow_set(facts, TL_FLOW(direction, receiver_other_traffic_ratio),
                tl_other_traffic(result, false),
                "the receiver does not tell its interface's traffic");
    tl_received_set_offered(facts, direction, result);
    if (tl_received_alone(result))
        tl_received_set(facts, direction, result);
}

/* Of this PC alone: a responder tells nobody what else runs on its host. */
static void set_busiest(struct tl_facts *facts, enum tl_direction direction,
                        const struct tl_host_busy_reading *before,
                        const struct tl_host_busy_reading *after)
{
    enum tl_end near = direction == TL_DOWNLOAD ? TL_RECEIVER : TL_SENDER;
    enum tl_end far = near == TL_RECEIVER ? TL_SENDER : TL_RECEIVER;
    struct tl_host_busy busy;
    bool known = tl_host_busy_between(before, after, getpid(), &busy);
    tl_flow_set(facts, TL_END(direction, near, other_program_ratio),
                known ? busy.cores_ratio : (double)NAN, "/proc cannot be read");
    if (known && busy.pid)
        tl_facts_set_text(facts, TL_END(direction, near, other_program_name), busy.name, "");
    else
        tl_facts_set_unknown(facts, TL_END(direction, near, other_program_name),
                             known ? "no other program was busy" : "/proc cannot be read");
    static const char nobody[] = "no responder tells what else runs on its host";
    tl_facts_set_unknown(facts, TL_END(direction, far, other_program_ratio), nobody);
    tl_facts_set_unknown(facts, TL_END(direction, far, other_program_name), nobody);
}

enum tl_status tl_probe_stream(const struct tl_probe *probe, enum tl_direction direction,
                               const struct tl_probe_limits *limits,
                               struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    struct tl_tcp_spec spec = tl_transfer_spec(direction, limits);
    struct tl_tcp_result *result;
    tl_outcome_begin(ret_outcome, "stream");
    struct tl_beside beside;
    struct tl_host_busy_reading *before = tl_host_busy_take("");
    enum tl_status status =
        tl_transfer_run_loaded(probe, &spec, ret_outcome, &result, &beside, reterr);
    struct tl_host_busy_reading *after = tl_host_busy_take("");
    if (tl_transfer_counts(ret_outcome)) {
        set_facts(probe->facts, direction, result, &beside);
        set_busiest(probe->facts, direction, before, after);
        if (!result->steady.rate.valid && ret_outcome->record.reason[0])
            tl_flow_set(probe->facts, TL_FLOW(direction, goodput_bps), (double)NAN,
                        ret_outcome->record.reason);
    } else if (ret_outcome->record.reason[0]) {
        tl_flow_explain_unknown(probe->facts, TL_FLOW(direction, goodput_bps),
                                ret_outcome->record.reason);
    }
    tl_host_busy_destroy(before);
    tl_host_busy_destroy(after);
    tl_transfer_free(result);
    return status;
}
