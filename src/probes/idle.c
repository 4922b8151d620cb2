/* The interface's counters before and after the light probes, less what these sent. */
#include "idle.h"

#include <math.h>

#include "pause.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/engine/far.h"

/* A stranger's probes are not counted: some kilobits a second. */
static void read_own(const struct tl_probe *probe, uint64_t *ret_sent, uint64_t *ret_received)
{
    const struct tl_client *client = tl_far_client(probe->far);
    *ret_sent = *ret_received = 0;
    if (client)
        tl_client_own_bytes(client, ret_sent, ret_received);
}

void tl_idle_begin(const struct tl_probe *probe, struct tl_idle_watch *ret_watch)
{
    const struct tl_client_info *info = tl_far_info(probe->far);
    read_own(probe, &ret_watch->sent_bytes, &ret_watch->received_bytes);
    tl_host_counters_read(&ret_watch->before, "",
                          tl_host_link_index((const struct sockaddr *)&info->peer));
}

static void set(const struct tl_probe *probe, struct tl_fact_key key, struct tl_host_value carried,
                uint64_t own_bytes, int64_t elapsed_ns)
{
    if (tl_host_is_known(carried))
        tl_facts_set_number(
            probe->facts, key,
            tl_bps_from_bytes_ns(fmax(carried.number - (double)own_bytes, 0), (double)elapsed_ns),
            "interface counters before any test");
    else
        tl_facts_set_unknown(probe->facts, key, "%s", tl_host_why_text(carried.why));
}

void tl_idle_end(const struct tl_probe *probe, const struct tl_idle_watch *watch)
{
    struct tl_host_counters after;
    struct tl_host_counters_growth growth;
    uint64_t sent, received;
    tl_probe_pause(probe, watch->before.taken_ns + TL_IDLE_WATCH_NS - tl_now_ns());
    tl_host_counters_read(&after, "", watch->before.ifindex);
    read_own(probe, &sent, &received);
    tl_host_counters_between(&watch->before, &after, &growth);
    set(probe, TL_NEAR(other_rx_bps), growth.values[TL_HOST_COUNTER_LINK_RX_BYTES],
        received - watch->received_bytes, growth.elapsed_ns);
    set(probe, TL_NEAR(other_tx_bps), growth.values[TL_HOST_COUNTER_LINK_TX_BYTES],
        sent - watch->sent_bytes, growth.elapsed_ns);
}
