/* Other programs' traffic before any test: what goes over the interface while we do next to
 * nothing. Private to the probes. */
#ifndef TL_PROBES_IDLE_H
#define TL_PROBES_IDLE_H

#include "tightlink/host/counters.h"
#include "tightlink/probes/probes.h"

/* Long enough to tell a download from the odd packet. */
#define TL_IDLE_WATCH_NS INT64_C(250000000)

struct tl_idle_watch {
    struct tl_host_counters before;
    uint64_t sent_bytes, received_bytes; /* our own by then */
};

void tl_idle_begin(const struct tl_probe *probe, struct tl_idle_watch *ret_watch);

/* Sets other_rx_bps and other_tx_bps from what the interface carried since then, but for our own
 * probes. Waits where that is not TL_IDLE_WATCH_NS ago. */
void tl_idle_end(const struct tl_probe *probe, const struct tl_idle_watch *watch);

#endif
