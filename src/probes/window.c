/* Stage window: one stream whose socket buffers are as large as a program may ask for.
 * SO_RCVBUF and SO_SNDBUF go up to net.core.{r,w}mem_max, whatever tcp_rmem and tcp_wmem
 * say (socket(7), tcp(7)): so what a larger buffer brings can be measured without root. */
#include <stdio.h>

#include <math.h>

#include "flow_facts.h"
#include "outcome.h"
#include "received.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/engine/far.h"
#include "tightlink/probes/probes.h"
#include "transfer.h"

/* Large enough for 10 Gb/s over 400 ms; the kernel cuts it to what it permits. */
#define WANTED_BYTES (512 * 1024 * 1024)

/* A buffer that is asked for is taken twice by the kernel, as autotuning's is not. */
#define KERNEL_DOUBLES 2.0

/* On short paths a step with half the window comes first: whether the rate follows the window. */
#define SMALL_NS      (1200 * TL_NS_PER_MS)
#define SMALL_RTT_MAX (50e6)
/* Below that share of its time held by windows or buffers a stream found another limit. */
#define UNHELD_RATIO 0.3

/* What to ask for, 0 when asking gives no more than autotuning has already. */
static int larger_buffer(const struct tl_facts *facts, struct tl_fact_key core_max,
                         struct tl_fact_key tcp_max)
{
    double core_bytes = tl_facts_number(facts, core_max, WANTED_BYTES);
    double tcp_bytes = tl_facts_number(facts, tcp_max, 0);
    if (KERNEL_DOUBLES * core_bytes <= tcp_bytes)
        return 0;
    return core_bytes < WANTED_BYTES ? (int)core_bytes : WANTED_BYTES;
}

/* The largest window, as the sender saw it, or as the receiver offered it to one that says nothing.
 */
static double offered_bytes(const struct tl_tcp_result *result)
{
    const struct tl_steady *steady = &result->steady;
    return tl_received_alone(result) ? steady->receiver.rcv_wnd_max_bytes
                                     : steady->sender.snd_wnd_max_bytes;
}

static void set_facts(struct tl_facts *facts, enum tl_direction direction,
                      const struct tl_tcp_result *result)
{
    const char *far_end = "the far end does not tell it";
    int rcvbuf = result->receiver.streams[0].rcvbuf_bytes;
    int sndbuf = result->sender.streams[0].sndbuf_bytes;
    tl_flow_set_compared(facts, direction, TL_FLOW_COMPARED(window), &result->steady);
    tl_flow_set(facts, TL_FLOW(direction, window_rcvbuf_bytes), rcvbuf > 0 ? rcvbuf : (double)NAN,
                far_end);
    tl_flow_set(facts, TL_FLOW(direction, window_sndbuf_bytes), sndbuf > 0 ? sndbuf : (double)NAN,
                far_end);
    tl_flow_set(facts, TL_FLOW(direction, window_snd_wnd_max_bytes), offered_bytes(result),
                "the sender's kernel does not tell it");
}

/* The window from which on a larger one brings no more: what fills the path at the rate that the
 * large buffers reached, where they did not hold the stream back themselves. */
static void set_knee(struct tl_facts *facts, enum tl_direction direction,
                     const struct tl_tcp_result *result)
{
    const struct tl_steady *steady = &result->steady;
    const struct tl_ledger *ledger = &steady->sender.ledger;
    double rtt_ns = tl_facts_number(facts, TL_PATH(rtt_min_ns), steady->sender.rtt_min_ns);
    bool held = !ledger->valid || ledger->rwnd_ratio + ledger->sndbuf_ratio > UNHELD_RATIO;
    double knee_bytes = steady->rate.valid && !held
                            ? tl_bytes_from_bps_ns(steady->rate.goodput_bps, rtt_ns)
                            : (double)NAN;
    tl_flow_set(facts, TL_FLOW(direction, window_knee_bytes), knee_bytes,
                "the large buffers held the stream back, too");
}

/* Half of what the stream was seen to use; 0 where the path is long or nothing is known. */
static int small_buffer(const struct tl_facts *facts, enum tl_direction direction)
{
    double window_bytes = tl_facts_number(facts, TL_FLOW(direction, snd_wnd_max_bytes), 0);
    double rtt_ns = tl_facts_number(facts, TL_PATH(rtt_min_ns), (double)NAN);
    /* The kernel doubles what is asked for and makes about half of it the window. */
    return rtt_ns <= SMALL_RTT_MAX && window_bytes < WANTED_BYTES ? (int)(window_bytes / 2) : 0;
}

/* The small step: one fact more; that it failed is no reason to stop. */
static enum tl_status run_small(const struct tl_probe *probe, enum tl_direction direction,
                                const struct tl_tcp_spec *large, struct tl_probe_outcome *outcome,
                                struct tl_error *reterr)
{
    struct tl_tcp_spec spec = *large;
    struct tl_probe_outcome small;
    struct tl_tcp_result *result;
    spec.rcvbuf_bytes = small_buffer(probe->facts, direction);
    spec.sndbuf_bytes = 0;
    spec.duration_ns = SMALL_NS;
    if (spec.rcvbuf_bytes == 0)
        return TL_OK;
    tl_outcome_begin(&small, "window");
    enum tl_status status = tl_transfer_run(probe, &spec, &small, &result, reterr);
    if (tl_transfer_counts(&small)) {
        const struct tl_steady *steady = &result->steady;
        tl_flow_set(probe->facts, TL_FLOW(direction, window_small_bytes), offered_bytes(result),
                    "the sender's kernel does not tell it");
        tl_flow_set(probe->facts, TL_FLOW(direction, window_small_goodput_bps),
                    steady->rate.valid ? steady->rate.goodput_bps : (double)NAN,
                    "the transfer had no steady part");
    }
    outcome->record.sent_bytes += small.record.sent_bytes;
    outcome->record.received_bytes += small.record.received_bytes;
    tl_transfer_free(result);
    return status;
}

enum tl_status tl_probe_window(const struct tl_probe *probe, enum tl_direction direction,
                               const struct tl_probe_limits *limits,
                               struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    struct tl_tcp_spec spec = tl_transfer_spec(direction, limits);
    struct tl_tcp_result *result;
    tl_outcome_begin(ret_outcome, "window");
    spec.rcvbuf_bytes =
        larger_buffer(probe->facts, TL_HOST_OF(direction, TL_RECEIVER, core_rmem_max_bytes),
                      TL_HOST_OF(direction, TL_RECEIVER, tcp_rmem_max_bytes));
    spec.sndbuf_bytes =
        larger_buffer(probe->facts, TL_HOST_OF(direction, TL_SENDER, core_wmem_max_bytes),
                      TL_HOST_OF(direction, TL_SENDER, tcp_wmem_max_bytes));
    if (direction == TL_DOWNLOAD && !tl_far_can(probe->far, TL_FAR_SNDBUF))
        spec.sndbuf_bytes = 0;
    if (!spec.rcvbuf_bytes && !spec.sndbuf_bytes) {
        static const char why[] =
            "neither host lets a program ask for a larger buffer than it gets by itself; a larger "
            "net.core.rmem_max at the receiver or wmem_max at the sender would";
        tl_outcome_state(ret_outcome, TL_STAGE_NOT_POSSIBLE, why);
        tl_outcome_end(ret_outcome);
        return TL_OK;
    }
    enum tl_status status = run_small(probe, direction, &spec, ret_outcome, reterr);
    if (status != TL_OK) {
        tl_outcome_state(ret_outcome, TL_STAGE_FAILED, "the step with a small window failed");
        tl_outcome_end(ret_outcome);
        return status;
    }
    struct tl_stage_record before = ret_outcome->record;
    status = tl_transfer_run(probe, &spec, ret_outcome, &result, reterr);
    ret_outcome->record.sent_bytes += before.sent_bytes;
    ret_outcome->record.received_bytes += before.received_bytes;
    if (tl_transfer_counts(ret_outcome)) {
        set_facts(probe->facts, direction, result);
        set_knee(probe->facts, direction, result);
    }
    tl_transfer_free(result);
    return status;
}
