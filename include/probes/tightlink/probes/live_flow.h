/* Facts of a transfer that another program runs, from this end alone (flow/watch.h). The other
 * direction, the other end and what only a test could tell stay unknown, with that reason. */
#ifndef TL_PROBES_LIVE_FLOW_H
#define TL_PROBES_LIVE_FLOW_H

#include <stddef.h>

#include "tightlink/facts/facts.h"
#include "tightlink/flow/watch.h"

/* The direction in which the connection moved more in the intervals that were joined, or had to
 * while it stood. */
enum tl_direction tl_live_flow_direction(const struct tl_live_flow *flow,
                                         const struct tl_live_interval *joined);

/* Sets the facts of that direction from the last `count` intervals; program may be NULL. The rate
 * is known with at least two intervals in which something moved. */
void tl_live_flow_facts(const struct tl_live_flow *flow, size_t count,
                        const struct tl_flow_watch_program *program, struct tl_facts *facts);

#endif
