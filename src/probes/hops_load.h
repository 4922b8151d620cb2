/* Hops probed beside a transfer, in a thread of their own: where a queue grows. Private. */
#ifndef TL_PROBES_HOPS_LOAD_H
#define TL_PROBES_HOPS_LOAD_H

#include "tightlink/engine/hops.h"
#include "tightlink/probes/probes.h"

struct tl_hops_load;

/* NULL where it cannot run: then the finish sets the reason. */
struct tl_hops_load *tl_hops_load_start(const struct tl_probe *probe, int64_t duration_ns);

/* Ends it. What was measured in [from_ns, to_ns] of tl_now_ns() becomes facts of the direction
 * (tight_*) and goes into the run's hops, where the load made a larger rise than one before.
 * echo_rtt_ns as of tl_hops_rise(). */
void tl_hops_load_finish(struct tl_hops_load *load, const struct tl_probe *probe,
                         enum tl_direction direction, int64_t from_ns, int64_t to_ns,
                         double echo_rtt_ns);

#endif
