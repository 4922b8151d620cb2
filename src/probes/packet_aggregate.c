/* What the connections of a capture that share an end got together, while one of them ran: behind
 * its first quarter, since one that begins takes from the others. */
#include "flow_facts.h"
#include "tightlink/flow/aggregate.h"
#include "tightlink/flow/limits.h"
#include "tightlink/probes/packet_flow.h"

void tl_packet_aggregate_facts(const struct tl_packets *packets, const struct tl_packet_flow *flow,
                               struct tl_facts *facts)
{
    enum tl_direction direction = tl_packet_flow_direction(flow);
    int sender = tl_packet_sender(flow);
    const struct tl_packet_half *half = &flow->halves[sender];
    int64_t quarter_ns = (half->last_data_ns - half->first_data_ns) / 4;
    struct tl_packet_aggregate aggregate;
    tl_packet_aggregate(packets, flow, sender, half->first_data_ns + quarter_ns, half->last_data_ns,
                        &aggregate);
    static const char alone[] =
        "no other connection of the capture shares an end with it for long enough";
    tl_flow_set(facts, TL_FLOW(direction, aggregate_count), aggregate.others_count, "");
    tl_flow_set(facts, TL_FLOW(direction, aggregate_bps), aggregate.together_bps, alone);
    tl_flow_set(facts, TL_FLOW(direction, aggregate_pair_bps), aggregate.pair_bps, alone);
    tl_flow_set(facts, TL_FLOW(direction, aggregate_swing_ratio), aggregate.swing_ratio, alone);
    tl_flow_set(facts, TL_FLOW(direction, aggregate_compensation_ratio),
                aggregate.compensation_ratio, alone);
}
