/* Interruptions: the path carried nothing for a while in the middle of a transfer. Private to
 * the probes. */
#ifndef TL_PROBES_INTERRUPT_H
#define TL_PROBES_INTERRUPT_H

#include "tightlink/engine/client.h"
#include "tightlink/probes/probes.h"

/* From the receiver's readings of all streams: times in which none of them got a byte although
 * bytes came before and after. Neither a stream that waits for its own timer (shorter than
 * 1.5 s or ten round trips) nor a host that stood still (no readings either) counts. */
struct tl_interruptions {
    unsigned count;
    int64_t total_ns;
    int64_t first_ns; /* into the transfer; -1 without */
};
/* before_ns: what went by from asking for the test to its start, without waiting for a turn. */
void tl_interruptions_find(const struct tl_tcp_result *result, int64_t before_ns,
                           struct tl_interruptions *ret_interruptions);

/* Adds them to the facts of the direction. With any the stage's rates do not count: its
 * outcome is marked and says when. */
void tl_interruptions_note(struct tl_facts *facts, const struct tl_tcp_result *result,
                           int64_t before_ns, struct tl_probe_outcome *outcome);

#endif
