/* What live, pcap, mover and nodes do alike: a transfer that this program did not make as a run. */
#ifndef TL_APP_OVERHEARD_H
#define TL_APP_OVERHEARD_H

#include "tightlink/base/time.h"
#include "tightlink/flow/segment.h"
#include "tightlink/session/session.h"

/* Longer than what a burst of losses takes from one connection: two timeouts, the second doubled.
 */
#define OVERHEARD_UNANSWERED_NS (2 * TL_NS_PER_S)

struct overheard {
    const char *kind;          /* of the target: "live", "pcap", "pscheduler" */
    int64_t begin_ns, span_ns; /* wall clock; time that was seen */
    enum tl_direction direction;
    const struct tl_flow_address *peer; /* NULL: its address is not known */
};

/* Into a run that is zero; its target's name and its bytes are the caller's. */
void overheard_begin(const struct overheard *seen, struct tl_run *run);

/* "192.0.2.1:443", "[2001:db8::1]:443". */
void overheard_format_end(const struct tl_flow_address *address, uint16_t port, char *ret_text,
                          size_t size);

#endif
