/* The timestamps of one end (RFC 7323) on their way to the other and back. Private to src/flow.
 *
 * They grow, and come back in the order in which they went: a queue, from which an echo takes all
 * that is older. It holds what is on its way in a round trip, one a millisecond with most systems,
 * and grows to that. */
#ifndef TL_FLOW_STAMPS_H
#define TL_FLOW_STAMPS_H

#include <stdbool.h>
#include <stdint.h>

#define STAMPS_MAX 2048u /* beyond, the oldest make room */

struct stamp {
    int64_t time_ns;
    uint32_t value;
};

struct stamps {
    struct stamp *ring;
    uint32_t head, count, room; /* room: a power of two, or 0 */
};

void stamps_finish(struct stamps *stamps);
/* One passed. Without memory it is left out. */
void stamps_sent(struct stamps *stamps, uint32_t value, int64_t time_ns);
/* One came back: when it passed first; 0: not known. */
int64_t stamps_echoed(struct stamps *stamps, uint32_t value);

#endif
