/* Facts about what an end's kernel counted while a stream ran. Private. */
#ifndef TL_PROBES_COUNTER_FACTS_H
#define TL_PROBES_COUNTER_FACTS_H

#include "tightlink/engine/client.h"
#include "tightlink/facts/facts.h"

/* Every fact of "what each end's kernel counted" of table.def for one end. A counter
 * that the kernel does not have leaves the others alone. */
void tl_counter_facts_set(struct tl_facts *facts, enum tl_direction direction, enum tl_end end,
                          const struct tl_host_counters_growth *growth);

/* Share of the interface's traffic in the payload's direction that was not ours, at the
 * sender (sends) or at the receiver. NAN where it cannot be told. */
double tl_other_traffic(const struct tl_tcp_result *result, bool sends);

#endif
