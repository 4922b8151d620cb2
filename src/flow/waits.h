/* Whether packets wait for a level: a queue's, or a token bucket's for which none waits. Private to
 * src/flow. */
#ifndef TL_FLOW_WAITS_H
#define TL_FLOW_WAITS_H

#include <stdbool.h>
#include <stdint.h>

/* From the lowest fifth of the levels to the highest: by how much they are higher, means, and by
 * how much what was timed beside them took longer, medians. False where too few were timed, or
 * without memory: then nothing is said. */
bool waits_compare(const double *levels, const double *times_ns, uint32_t count, double *ret_swing,
                   double *ret_delay_ns);

#endif
