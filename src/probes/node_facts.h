/* Results of pScheduler as facts. Private to src/probes. */
#ifndef TL_PROBES_NODE_FACTS_H
#define TL_PROBES_NODE_FACTS_H

#include "tightlink/engine/pscheduler.h"
#include "tightlink/facts/facts.h"
#include "tightlink/facts/run.h"

/* One stream: facts of stage "stream". */
void node_set_stream(const struct tl_psched_throughput *got, enum tl_direction direction,
                     struct tl_facts *facts);
/* Several: of stage "streams". */
void node_set_streams(const struct tl_psched_throughput *got, int streams,
                      enum tl_direction direction, struct tl_facts *facts);
void node_set_rtt(const struct tl_psched_rtt *got, struct tl_facts *facts);
void node_set_mtu(double mtu_bytes, enum tl_direction direction, struct tl_facts *facts);
/* And run->hops. */
void node_set_hops(const struct tl_psched_trace *got, struct tl_run *run, struct tl_facts *facts);
/* Everything else: why it is not known. */
void node_explain(struct tl_facts *facts);

/* Payload that arrived, where it is known; else 0. */
double node_received_bytes(const struct tl_psched_throughput *got, int seconds);

#endif
