/* Stage window: one stream whose socket buffers are as large as a program may ask for.
 * SO_RCVBUF and SO_SNDBUF go up to net.core.{r,w}mem_max, whatever tcp_rmem and tcp_wmem
 * say (socket(7), tcp(7)): so what a larger buffer brings can be measured without root. */
#include <math.h>

#include "flow_facts.h"
#include "outcome.h"
#include "received.h"
#include "tightlink/engine/far.h"
#include "tightlink/probes/probes.h"
#include "transfer.h"

/* Large enough for 10 Gb/s over 400 ms; the kernel cuts it to what it permits. */
#define WANTED_BYTES (512 * 1024 * 1024)

/* A buffer that is asked for is taken twice by the kernel, as autotuning's is not. */
#define KERNEL_DOUBLES 2.0

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
    spec.enough.agrees_bps = tl_probe_known_bps(probe->facts, direction);
    spec.enough.surpasses_bps = tl_probe_held_bps(probe->facts, direction);
    enum tl_status status = tl_transfer_run(probe, &spec, ret_outcome, &result, reterr);
    if (tl_transfer_counts(ret_outcome))
        set_facts(probe->facts, direction, result);
    tl_transfer_free(result);
    return status;
}
