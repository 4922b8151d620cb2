/* A TCP test between two responders. */
#include "tightlink/probes/between.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "connect.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/far.h"

#define STANDARD_NS (10 * TL_NS_PER_S)

static void fill(const struct tl_tcp_result *result, struct tl_between_result *out)
{
    const struct tl_steady *steady = &result->steady;
    const struct tl_flow_stats *sender = &steady->sender;
    const struct tl_ledger *ledger = &sender->ledger;
    double nan = (double)NAN;
    bool steady_known = steady->rate.valid, ledger_known = ledger->valid;
    *out = (struct tl_between_result){
        .streams = result->streams,
        .rate_bps = steady_known ? steady->rate.goodput_bps : nan,
        .low_bps = steady_known ? steady->rate.low_bps : nan,
        .high_bps = steady_known ? steady->rate.high_bps : nan,
        .whole_bps = steady->rate.whole_bps,
        .received_bytes = (double)result->receiver.bytes,
        .elapsed_ns = (double)result->elapsed_ns,
        .rtt_min_ns = sender->rtt_min_ns,
        .rtt_mean_ns = sender->rtt_mean_ns,
        .retrans_ratio = sender->retrans_count / sender->segments_count,
        .app_ratio = ledger_known ? ledger->application_ratio : nan,
        .sndbuf_ratio = ledger_known ? ledger->sndbuf_ratio : nan,
        .rwnd_ratio = ledger_known ? ledger->rwnd_ratio : nan,
        .network_ratio = ledger_known ? ledger->network_ratio : nan,
        .sender_cpu_ratio = sender->thread_cpu_ratio,
        .receiver_cpu_ratio = steady->receiver.thread_cpu_ratio,
    };
    snprintf(out->congestion, sizeof out->congestion, "%s", result->sender.congestion);
}

static enum tl_status test(struct tl_client *from, struct tl_client *to,
                           const struct tl_between_spec *spec, struct tl_between_result *ret_result,
                           struct tl_error *reterr)
{
    struct tl_tcp_spec tcp = {
        .streams = spec->streams ? spec->streams : 1,
        .duration_ns = spec->duration_ns ? spec->duration_ns : STANDARD_NS,
        .max_bytes = (uint64_t)spec->max_bytes,
    };
    struct tl_tcp_result *result = calloc(1, sizeof *result);
    if (!result)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    enum tl_status status = tl_client_peer_test(from, to, &tcp, result, reterr);
    if (status == TL_OK)
        fill(result, ret_result);
    tl_tcp_result_finish(result);
    free(result);
    return status;
}

enum tl_status tl_probe_between(const struct tl_between_spec *spec, int cancel_fd,
                                struct tl_between_result *ret_result, struct tl_error *reterr)
{
    struct tl_far *from = NULL, *to = NULL;
    enum tl_status status = tl_connect_reach(&spec->from, cancel_fd, &from, reterr);
    if (status == TL_OK)
        status = tl_connect_reach(&spec->to, cancel_fd, &to, reterr);
    if (status == TL_OK)
        status = test(tl_far_client(from), tl_far_client(to), spec, ret_result, reterr);
    tl_far_close(from);
    tl_far_close(to);
    return status;
}
