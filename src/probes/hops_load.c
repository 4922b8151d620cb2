/* Hops beside a transfer. */
#include "hops_load.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hops_rise.h"
#include "tightlink/base/thread.h"
#include "tightlink/base/time.h"
#include "tightlink/base/wake.h"
#include "tightlink/engine/far.h"

/* A Linux router answers one probe a second, after a burst of six: what it answers falls into the
 * time of load, and a round in between costs nothing. */
#define INTERVAL_NS (350 * TL_NS_PER_MS)
/* The transfer may wait for its turn or for its end. */
#define LONGER_NS (120 * TL_NS_PER_S)

struct tl_hops_load {
    pthread_t thread;
    struct tl_far *far;
    struct tl_hops_spec spec;
    struct tl_hops_result result;
    enum tl_status status;
};

static void *run(void *context)
{
    struct tl_hops_load *load = context;
    load->status = tl_far_hops(load->far, &load->spec, &load->result, NULL);
    return NULL;
}

struct tl_hops_load *tl_hops_load_start(const struct tl_probe *probe, int64_t duration_ns)
{
    if (!probe->run || probe->run->hop_count < 1)
        return NULL; /* the idle measurement is missing: nothing to compare with */
    struct tl_hops_load *load = calloc(1, sizeof *load);
    if (!load)
        return NULL;
    load->far = probe->far;
    load->spec = (struct tl_hops_spec){.duration_ns = duration_ns + LONGER_NS,
                                       .interval_ns = INTERVAL_NS,
                                       .cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                                       .beside_test = true};
    if (load->spec.cancel_fd >= 0 && tl_thread_start(&load->thread, run, load) == 0)
        return load;
    if (load->spec.cancel_fd >= 0)
        close(load->spec.cancel_fd);
    free(load);
    return NULL;
}

/* The facts and the record of hops that were measured idle and loaded; pure. */
static void settle(const struct tl_probe *probe, enum tl_direction direction,
                   const struct tl_hops_result *loaded, int64_t from_ns, int64_t to_ns,
                   double echo_rtt_ns)
{
    struct tl_hop_load hops[TL_HOPS_MAX + 1];
    struct tl_run *run = probe->run;
    int count = loaded->count;
    if (!loaded->count_known || count != run->hop_count) {
        tl_hops_rise_unknown(probe->facts, direction,
                             loaded->count_known ? "the number of hops changed"
                                                 : "no probe arrived");
        return;
    }
    for (int hop = 1; hop <= count; hop++) {
        struct tl_hop_record *record = &run->hops[hop - 1];
        struct tl_hop idle = {.rtt_ns = {record->rtt_min_ns}, .sample_count = 1};
        hops[hop] = tl_hop_load(&idle, &loaded->hops[hop], &loaded->hops[count], from_ns, to_ns);
        double rtt_ns = hops[hop].loaded_rtt_ns;
        if (isfinite(rtt_ns) && !(record->loaded_rtt_ns > rtt_ns))
            record->loaded_rtt_ns = rtt_ns;
    }
    struct tl_hops_rise rise = tl_hops_rise(hops, count, echo_rtt_ns);
    tl_hops_rise_set(probe->facts, direction, &rise, count);
}

void tl_hops_load_finish(struct tl_hops_load *load, const struct tl_probe *probe,
                         enum tl_direction direction, int64_t from_ns, int64_t to_ns,
                         double echo_rtt_ns)
{
    if (!load) {
        tl_hops_rise_unknown(probe->facts, direction, "the hops of the way are not known");
        return;
    }
    tl_wake(load->spec.cancel_fd);
    pthread_join(load->thread, NULL);
    if (load->status == TL_OK)
        settle(probe, direction, &load->result, from_ns, to_ns, echo_rtt_ns);
    else
        tl_hops_rise_unknown(probe->facts, direction, "probes beside the load did not get through");
    close(load->spec.cancel_fd);
    free(load);
}
