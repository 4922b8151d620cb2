/* What the other connections of a capture that share an end with one got at the same time. Where
 * several fill a link, what they get together is even, and what one of them loses others gain; each
 * for itself looks as if something on the way had no constant rate. A pure function. */
#ifndef TL_FLOW_AGGREGATE_H
#define TL_FLOW_AGGREGATE_H

#include "tightlink/flow/packets.h"

struct tl_packet_aggregate {
    unsigned others_count;     /* that carry a fiftieth of it all and more */
    double together_bps;       /* payload that they and this one delivered */
    double pair_bps;           /* of that what joins the same two hosts: it shares the whole way */
    double swing_ratio;        /* of that from step to step: standard deviation over mean */
    double compensation_ratio; /* variance of the sum over the sum of variances: 1 where each goes
                                * its own way, 0 where one gets what another loses */
};

/* Data of the flow's sender from from_ns to to_ns of the capture's clock, in steps of half a second
 * and at least four round trips, with that of the connections to the same receiver or from the same
 * sender, whichever carry more, the TL_PACKETS_AGGREGATE_MAX largest of them. After
 * tl_packets_finish(). others_count 0 and NAN: there are none, or fewer than
 * TL_PACKETS_AGGREGATE_STEPS steps. */
#define TL_PACKETS_AGGREGATE_MAX   64
#define TL_PACKETS_AGGREGATE_STEPS 8
void tl_packet_aggregate(const struct tl_packets *packets, const struct tl_packet_flow *flow,
                         int sender, int64_t from_ns, int64_t to_ns,
                         struct tl_packet_aggregate *ret_aggregate);

#endif
