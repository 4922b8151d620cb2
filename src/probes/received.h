/* What a receiver alone sees of a stream whose sender tells nothing. Pure. Private to the probes.
 */
#ifndef TL_PROBES_RECEIVED_H
#define TL_PROBES_RECEIVED_H

#include "tightlink/engine/far.h"
#include "tightlink/facts/facts.h"

/* Whether the sender told its TCP's account. */
bool tl_received_alone(const struct tl_tcp_result *result);

/* Why the sender's numbers are unknown, for a reader; so says each fact of the stages below that
 * the sender alone knows. */
#define TL_RECEIVED_WHY                                                                            \
    "this kind of far end does not tell what its TCP sees as sender: " TL_FAR_WOULD

/* Facts of stage "stream" that follow from the receiver: the window that it offered and how much of
 * it was on the way, segments, options, round trips as it estimates them, losses by the holes that
 * they left. Leaves alone what the sender alone knows: what it sent again, its ledger, its
 * buffers. */
void tl_received_set(struct tl_facts *facts, enum tl_direction direction,
                     const struct tl_tcp_result *result);

/* The same of stage "streams": losses alone, behind the facts of the load beside it. */
void tl_received_set_streams(struct tl_facts *facts, enum tl_direction direction,
                             const struct tl_tcp_result *result);

/* The window that was offered in a stream, whoever sent it, where this PC received it. */
void tl_received_set_offered(struct tl_facts *facts, enum tl_direction direction,
                             const struct tl_tcp_result *result);

#endif
