/* Times of phantom packets; see cross.h. */
#include "cross.h"

#include <math.h>
#include <string.h>

#include "tightlink/base/time.h"

#define FIRST_WINDOW_PACKETS 10 /* RFC 6928 */
#define LEAST_WINDOW_PACKETS 2
#define LEAST_RTT_NS         TL_NS_PER_MS

void tl_lab_cross_init(struct tl_lab_cross *cross, const struct tl_lab_link_config *link,
                       uint64_t seed)
{
    memset(cross, 0, sizeof *cross);
    cross->constant = link->cross_bps > 0;
    cross->flow_count = link->cross_flows;
    cross->gap_ns =
        cross->constant ? TL_LAB_CROSS_PACKET_BYTES * 8e9 / link->cross_bps : (double)INFINITY;
    cross->on_mean_ns = (double)link->cross_on_ns;
    cross->off_mean_ns = (double)link->cross_off_ns;
    cross->rtt_ns = 2 * link->delay_ns > LEAST_RTT_NS ? 2 * link->delay_ns : LEAST_RTT_NS;
    tl_random_seed(&cross->chance, seed);
}

static double exponential_ns(struct tl_lab_cross *cross, double mean_ns)
{
    return -mean_ns * log1p(-tl_random_unit(&cross->chance));
}

void tl_lab_cross_start(struct tl_lab_cross *cross, int64_t now_ns)
{
    cross->next_ns = (double)now_ns;
    cross->burst_end_ns = cross->on_mean_ns > 0
                              ? (double)now_ns + exponential_ns(cross, cross->on_mean_ns)
                              : (double)INFINITY;
    for (int i = 0; i < cross->flow_count; i++)
        cross->flows[i] = (struct tl_lab_cross_flow){
            .window_packets = FIRST_WINDOW_PACKETS,
            .threshold_packets = (double)INFINITY,
            .next_ns = now_ns + i * cross->rtt_ns / cross->flow_count,
        };
}

bool tl_lab_cross_next(const struct tl_lab_cross *cross, int64_t now_ns, int64_t *ret_at_ns,
                       int *ret_flow)
{
    int first = -1;
    int64_t at_ns = cross->constant ? (int64_t)cross->next_ns : INT64_MAX;
    for (int i = 0; i < cross->flow_count; i++)
        if (cross->flows[i].next_ns < at_ns) {
            at_ns = cross->flows[i].next_ns;
            first = i;
        }
    *ret_at_ns = at_ns;
    *ret_flow = first;
    return at_ns <= now_ns;
}

/* The sender learns of a loss a round trip after it; what it loses until the round trip
 * behind that one is over belongs to the same reduction. */
static void flow_sent(struct tl_lab_cross_flow *flow, int64_t at_ns, bool dropped, int64_t rtt_ns)
{
    if (flow->reduce_ns != 0 && at_ns >= flow->reduce_ns) {
        flow->threshold_packets = fmax(flow->window_packets / 2, LEAST_WINDOW_PACKETS);
        flow->window_packets = flow->threshold_packets;
        flow->recovered_ns = at_ns + rtt_ns;
        flow->reduce_ns = 0;
    }
    if (dropped && flow->reduce_ns == 0 && at_ns >= flow->recovered_ns)
        flow->reduce_ns = at_ns + rtt_ns;
    if (flow->reduce_ns == 0)
        flow->window_packets +=
            flow->window_packets < flow->threshold_packets ? 1 : 1 / flow->window_packets;
    flow->next_ns = at_ns + 1 + (int64_t)((double)rtt_ns / flow->window_packets);
}

void tl_lab_cross_sent(struct tl_lab_cross *cross, int flow, int64_t at_ns, bool dropped,
                       int64_t queue_ns)
{
    if (flow >= 0) {
        flow_sent(&cross->flows[flow], at_ns, dropped, cross->rtt_ns + queue_ns);
        return;
    }
    /* Equal gaps would fall into step with a paced stream and always find room, or never. */
    cross->next_ns += cross->gap_ns * (0.5 + tl_random_unit(&cross->chance));
    while (cross->next_ns > cross->burst_end_ns) {
        double begin_ns = cross->burst_end_ns + exponential_ns(cross, cross->off_mean_ns);
        cross->burst_end_ns = begin_ns + exponential_ns(cross, cross->on_mean_ns);
        cross->next_ns = fmax(cross->next_ns, begin_ns);
    }
}

void tl_lab_cross_skip(struct tl_lab_cross *cross, int64_t now_ns, int64_t back_ns)
{
    int64_t first_ns;
    int flow;
    if (!tl_lab_cross_next(cross, now_ns - back_ns, &first_ns, &flow))
        return;
    int64_t by_ns = now_ns - back_ns - first_ns;
    cross->next_ns += (double)by_ns;
    cross->burst_end_ns += (double)by_ns;
    for (int i = 0; i < cross->flow_count; i++) {
        cross->flows[i].next_ns += by_ns;
        cross->flows[i].recovered_ns += by_ns;
        if (cross->flows[i].reduce_ns != 0)
            cross->flows[i].reduce_ns += by_ns;
    }
}
