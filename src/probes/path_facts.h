/* What the engine measured about the way itself, as facts. Pure; private to the probes. */
#ifndef TL_PROBES_PATH_FACTS_H
#define TL_PROBES_PATH_FACTS_H

#include "tightlink/engine/client.h"
#include "tightlink/engine/pmtu.h"
#include "tightlink/engine/syn.h"
#include "tightlink/facts/facts.h"

/* Sizes, black holes and traffic class of both directions. */
void tl_path_facts_pmtu(struct tl_facts *facts, const struct tl_pmtu_result *result);
/* Sizes of one direction, as TCP's own segments told them. */
void tl_path_facts_segments(struct tl_facts *facts, enum tl_direction direction,
                            const struct tl_pmtu_way *way);
/* All of them unknown, for that reason. */
void tl_path_facts_no_pmtu(struct tl_facts *facts, const char *reason);

/* MSS, options and addresses of a handshake; what this host's SYN had in it comes from its
 * settings (near.tcp_*). */
void tl_path_facts_syn(struct tl_facts *facts, const struct tl_syn_result *result, bool ipv6);
void tl_path_facts_no_syn(struct tl_facts *facts, const char *reason);

/* The most payload that was acknowledged to the sender of stream 0 before the receiver can have
 * had it: 0 on an honest path. Two clocks that began within a round trip of one another are
 * compared with that much to spare. NAN where one end has no readings. */
double tl_path_acked_ahead(const struct tl_tcp_result *result);

/* The segment that lies between two hops counted from this PC, of hops links in all: "lan" up to
 * the first router, "far-lan" behind the last one, "path" between; NULL where the two hops
 * enclose more than one segment. */
const char *tl_path_segment(int first_hop, int last_hop, int hops);

#endif
