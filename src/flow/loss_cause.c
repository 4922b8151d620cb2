/* What losses follow: the load, or nothing. Token buckets: policer.c. */
#include <math.h>

#include "tightlink/flow/limits.h"

#define RTT_FLAT   1.2
#define RANK_BOUND (1.96 * 0.2887) /* half the 95 % interval of a mean of uniform ranks */
#define EVENTS_MIN 3

static double mean_rtt(const struct tl_packet_half *half)
{
    return half->rtt_count ? half->rtt_sum_ns / (double)half->rtt_count : (double)NAN;
}

/* The share of segments that were sent with less in flight. */
static double rank_of(const struct tl_packet_half *half, double total, uint32_t flight_bytes)
{
    unsigned class = tl_packet_flight_class(flight_bytes);
    double below = 0;
    for (unsigned i = 0; i < class; i++)
        below += half->flight_classes[i];
    return (below + half->flight_classes[class] / 2.0) / total;
}

void tl_packet_loss_rank(const struct tl_packet_half *half, struct tl_packet_loss_rank *ret_rank)
{
    double total = 0, sum = 0, events = 0, flat = 0, known = 0;
    double rtt_ns = mean_rtt(half),
           flat_ns = RTT_FLAT * tl_packet_classes_quantile(half->rtt_classes, 0.1);
    int64_t event_ns = 0; /* of the last event that counts, where there is one */
    for (unsigned i = 0; i < TL_PACKETS_RTT_CLASSES; i++)
        total += half->flight_classes[i];
    for (uint32_t i = 0; i < half->losses_count; i++) {
        const struct tl_packet_loss *loss = &half->losses[i];
        if (loss->needless || loss->flight_bytes == 0 ||
            (events > 0 && (double)(loss->time_ns - event_ns) < 1.5 * rtt_ns))
            continue;
        event_ns = loss->time_ns;
        sum += rank_of(half, total, loss->flight_bytes);
        events++;
        known += loss->rtt_ns > 0;
        flat += loss->rtt_ns > 0 && loss->rtt_ns <= flat_ns;
    }
    double mean = events >= EVENTS_MIN ? sum / events : (double)NAN;
    double bound = RANK_BOUND / sqrt(events);
    *ret_rank = (struct tl_packet_loss_rank){.rank_ratio = mean,
                                             .low_ratio = fmax(mean - bound, 0),
                                             .high_ratio = fmin(mean + bound, 1),
                                             .events_count = events,
                                             .flat_ratio = known > 0 ? flat / known : (double)NAN};
}

double tl_packet_backoff(const struct tl_packet_half *half)
{
    unsigned count = 0, before = 0;
    for (int i = 0; i < TL_PACKETS_SHARES; i++)
        count += half->backoff_shares[i];
    for (int i = 0; i < TL_PACKETS_SHARES && count >= EVENTS_MIN; i++) {
        before += half->backoff_shares[i];
        if (2 * before >= count)
            return (double)i / (TL_PACKETS_SHARES - 1);
    }
    return (double)NAN;
}
