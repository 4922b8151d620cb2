/* Facts of a connection that a capture shows (flow/packets.h): the same facts that a test of our
 * own sets, from the same analysis. What packets cannot tell stays unknown, with the reason. */
#ifndef TL_PROBES_PACKET_FLOW_H
#define TL_PROBES_PACKET_FLOW_H

#include "tightlink/facts/facts.h"
#include "tightlink/facts/samples.h"
#include "tightlink/flow/packets.h"

/* The direction of the connection's data: near is the end that opened it, so that data which the
 * other end sends is a download. */
enum tl_direction tl_packet_flow_direction(const struct tl_packet_flow *flow);

/* Sets the facts of that direction. TL_NOMEM. */
enum tl_status tl_packet_flow_facts(const struct tl_packet_flow *flow,
                                    struct tl_facts *facts) TL_WARN_UNUSED;

/* Adds those of the capture's connections that share an end with it; behind tl_packet_flow_facts().
 */
void tl_packet_aggregate_facts(const struct tl_packets *packets, const struct tl_packet_flow *flow,
                               struct tl_facts *facts);

/* Adds what that direction did over time, for plots: ten readings a second, fewer of a long
 * connection. */
void tl_packet_flow_samples(const struct tl_packet_flow *flow, struct tl_samples *samples);

#endif
