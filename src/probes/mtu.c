/* Stage mtu: which packet sizes get through in each direction, and what the way does to
 * headers. Under a second and some 20 kB where nothing is wrong. */
#include <pthread.h>

#include "connect.h"
#include "outcome.h"
#include "path_facts.h"
#include "tightlink/base/thread.h"
#include "tightlink/engine/far.h"
#include "tightlink/probes/probes.h"

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
    enum tl_status status = tl_far_pmtu(probe->far, &spec, &result, &error);
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

/* The look at a handshake: a connection of its own, in a thread, as it waits for two round trips.
 */
struct handshake {
    pthread_t thread;
    struct tl_far *far;
    struct tl_syn_result result;
    struct tl_error error;
    enum tl_status status;
    bool runs;
};

static void *look(void *context)
{
    struct handshake *handshake = context;
    handshake->status = tl_far_syn(handshake->far, true, &handshake->result, &handshake->error);
    return NULL;
}

static void begin_look(const struct tl_probe *probe, struct handshake *handshake)
{
    *handshake = (struct handshake){.far = probe->far};
    if (tl_far_can(probe->far, TL_FAR_SYN))
        (void)!tl_far_wake(probe->far, NULL); /* the search says what is wrong */
    handshake->runs = tl_thread_start(&handshake->thread, look, handshake) == 0;
    if (!handshake->runs)
        look(handshake);
}

static enum tl_status end_look(const struct tl_probe *probe, struct handshake *handshake,
                               struct tl_error *reterr)
{
    if (handshake->runs)
        pthread_join(handshake->thread, NULL);
    if (handshake->status == TL_OK)
        tl_path_facts_syn(probe->facts, &handshake->result, tl_far_info(probe->far)->family == 6);
    else
        tl_path_facts_no_syn(probe->facts, handshake->error.text);
    if (handshake->status == TL_CANCELLED && reterr)
        *reterr = handshake->error;
    return handshake->status == TL_CANCELLED ? TL_CANCELLED : TL_OK;
}

enum tl_status tl_probe_mtu(const struct tl_probe *probe, struct tl_probe_outcome *ret_outcome,
                            struct tl_error *reterr)
{
    struct handshake handshake;
    tl_outcome_begin(ret_outcome, "mtu");
    begin_look(probe, &handshake);
    enum tl_status status = search(probe, ret_outcome, reterr);
    enum tl_status looked = end_look(probe, &handshake, status == TL_OK ? reterr : NULL);
    status = status == TL_OK ? looked : status;
    if (status == TL_CANCELLED)
        tl_outcome_state(ret_outcome, TL_STAGE_SKIPPED, TL_RUN_STOPPED);
    tl_outcome_end(ret_outcome);
    return status;
}
