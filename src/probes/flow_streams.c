/* From several streams, each for itself, and the UDP probes beside them, to facts. */
#include <math.h>
#include <stdio.h>

#include "flow_facts.h"
#include "tightlink/engine/members.h"

/* A stream's own rate over the steady part of all, from the receiver's readings. */
static double member_bps(const struct tl_sample_log *receiver, const struct tl_steady_rate *rate)
{
    struct tl_receiver_stats stats;
    tl_receiver_stats(receiver, rate->valid ? rate->start_ns : 0,
                      rate->valid ? rate->end_ns : INT64_MAX, &stats);
    return stats.elapsed_ns > 0 ? stats.received_bytes * 8e9 / stats.elapsed_ns : (double)NAN;
}

static void read_members(const struct tl_tcp_result *result, struct tl_members *ret_split)
{
    struct tl_member members[TL_STREAMS_MAX];
    const struct tl_steady_rate *rate = &result->steady.rate;
    for (unsigned i = 0; i < result->streams; i++) {
        struct tl_flow_stats stats;
        tl_flow_stats(&result->sender.logs[i], rate->valid ? rate->start_ns : 0,
                      rate->valid ? rate->end_ns : INT64_MAX, &stats);
        members[i] = (struct tl_member){.bps = member_bps(&result->receiver.logs[i], rate),
                                        .segments_count = stats.segments_count,
                                        .retrans_count = stats.retrans_count,
                                        .loss_events_count = stats.loss_event_count};
    }
    tl_members_split(members, result->streams, ret_split);
}

static void set_ports(struct tl_facts *facts, enum tl_direction direction,
                      const struct tl_tcp_result *result, const struct tl_members *split)
{
    char text[TL_STREAMS_MAX * 7 + 1] = "";
    size_t len = 0;
    for (unsigned i = 0; i < result->streams; i++)
        if (split->slow[i] && result->near_ports[i])
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%u", len ? " " : "",
                                    result->near_ports[i]);
    tl_flow_set_text(facts, TL_FLOW(direction, streams_slow_ports), text);
}

void tl_flow_set_members(struct tl_facts *facts, enum tl_direction direction,
                         const struct tl_tcp_result *result)
{
    static const char not_counted[] = "the streams were not counted one by one";
    static const char one_group[] = "the streams do not fall into two groups";
    struct tl_members split;
    read_members(result, &split);
    tl_flow_set(facts, TL_FLOW(direction, streams_each_min_bps), split.min_bps, not_counted);
    tl_flow_set(facts, TL_FLOW(direction, streams_each_max_bps), split.max_bps, not_counted);
    tl_flow_set(facts, TL_FLOW(direction, streams_each_spread_ratio), split.spread_ratio,
                not_counted);
    tl_flow_set(facts, TL_FLOW(direction, streams_slow_count),
                split.count >= TL_MEMBERS_MIN ? (double)split.slow_count : (double)NAN,
                not_counted);
    tl_flow_set(facts, TL_FLOW(direction, streams_slow_bps), split.slow_bps, one_group);
    tl_flow_set(facts, TL_FLOW(direction, streams_fast_bps), split.fast_bps, one_group);
    tl_flow_set(facts, TL_FLOW(direction, streams_slow_retrans_ratio), split.slow_retrans_ratio,
                one_group);
    tl_flow_set(facts, TL_FLOW(direction, streams_fast_retrans_ratio), split.fast_retrans_ratio,
                one_group);
    tl_flow_set(facts, TL_FLOW(direction, streams_slow_loss_event_ratio),
                split.slow_loss_event_ratio, one_group);
    tl_flow_set(facts, TL_FLOW(direction, streams_fast_loss_event_ratio),
                split.fast_loss_event_ratio, one_group);
    if (split.bimodal)
        set_ports(facts, direction, result, &split);
}

void tl_flow_set_responsiveness(struct tl_facts *facts, enum tl_direction direction,
                                const struct tl_flow_stats *sender, const struct tl_echo_load *load)
{
    static const char few[] = "too few UDP probes were answered beside the streams";
    bool download = direction == TL_DOWNLOAD;
    tl_flow_set(facts, TL_FLOW(direction, streams_loaded_rtt_ns), load->rtt_median_ns, few);
    tl_flow_set(facts, TL_FLOW(direction, streams_loaded_data_delay_ns),
                download ? load->backward_growth_ns : load->forward_growth_ns, few);
    tl_flow_set(facts, TL_FLOW(direction, streams_loaded_ack_delay_ns),
                download ? load->forward_growth_ns : load->backward_growth_ns, few);
    tl_flow_set(facts, TL_FLOW(direction, responsiveness_rpm), tl_rpm(load->rtt_mean_ns), few);
    tl_flow_set(facts, TL_FLOW(direction, responsiveness_tcp_rpm), tl_rpm(sender->rtt_mean_ns),
                "the sender's kernel does not tell it");
}
