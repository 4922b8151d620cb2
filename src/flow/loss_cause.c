/* What losses follow: the load, or nothing. Token buckets: policer.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loss_events.h"
#include "tightlink/base/stats.h"
#include "tightlink/flow/limits.h"

#define RTT_FLAT   1.2
#define EVENTS_MIN 3
#define DELAYS_MIN 5 /* loss events beside delays */
/* Of a round trip: what a train takes to leave its card is no queue. */
#define DELAY_STEP  0.01
#define PERIODS_MIN 4
#define PERIOD_MOST 2 /* medians: a single long one is another overrun */
/* Losses of an overrun follow each other closely, for as many round trips as it lasts. */
#define OVERRUN_RTTS 0.5

double tl_packet_rtt_mean_ns(const struct tl_packet_half *half)
{
    return half->rtt_count ? half->rtt_sum_ns / (double)half->rtt_count : (double)NAN;
}

/* The share of segments that were sent with less. */
static double rank_of(const uint32_t classes[TL_PACKETS_RTT_CLASSES], uint32_t bytes)
{
    unsigned class = tl_packet_flight_class(bytes);
    double below = 0, total = 0;
    for (unsigned i = 0; i < TL_PACKETS_RTT_CLASSES; i++) {
        total += classes[i];
        below += i < class ? classes[i] : 0;
    }
    return total > 0 ? (below + classes[class] / 2.0) / total : (double)NAN;
}

/* Ranks of the losses' events: by what was in flight, and by what was sent together. */
struct ranks {
    double events, flight, next, together, together_count, flat, known, far_ns;
};

static void add_event(struct ranks *ranks, const struct tl_packet_half *half,
                      const struct tl_packet_loss *loss, double flat_ns)
{
    double together =
        loss->backlog_bytes ? rank_of(half->backlog_classes, loss->backlog_bytes) : (double)NAN;
    ranks->events++;
    ranks->flight += rank_of(half->flight_classes, loss->flight_bytes);
    ranks->next += rank_of(half->flight_classes, loss->next_flight_bytes);
    if (isfinite(together)) {
        ranks->together += together;
        ranks->together_count++;
    }
    ranks->known += loss->rtt_ns > 0;
    ranks->far_ns += loss->far_rtt_ns;
    ranks->flat += loss->rtt_ns > 0 && loss->rtt_ns <= flat_ns;
}

static double mean_of(double sum, double count)
{
    return count >= EVENTS_MIN ? sum / count : (double)NAN;
}

static uint32_t count_less(const double *sorted, uint32_t count, double value)
{
    uint32_t begin = 0, end = count;
    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        if (sorted[middle] < value)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* The share of so many sorted whole numbers that are less, of equal ones a half. */
static double rank_among(const double *sorted, uint32_t count, double value)
{
    return (count_less(sorted, count, value) + count_less(sorted, count, value + 1)) / 2.0 / count;
}

/* What packets took beside losses, and all, in steps. */
struct delays {
    double *all, *lossy;
    uint32_t all_count, lossy_count;
};

static void gather_delays(const struct tl_packet_half *half, bool upstream, struct delays *delays)
{
    double rtt_us = tl_packet_rtt_mean_ns(half) / 1e3, last = NAN, shorter = NAN;
    uint32_t event_us = 0;
    for (uint32_t i = 0; i < half->passages_count; i++) {
        const struct tl_packet_passage *passage = &half->passages[i];
        uint32_t took_us = upstream ? passage->near_us : passage->far_us;
        bool begins =
            delays->lossy_count == 0 || passage->time_us - event_us >= EVENT_RTTS * rtt_us;
        if (passage->lost_bytes > 0 && begins && isfinite(shorter)) {
            event_us = passage->time_us;
            delays->lossy[delays->lossy_count++] = shorter;
        }
        if (took_us == 0)
            continue;
        double steps = floor(took_us / (DELAY_STEP * rtt_us));
        shorter = fmin(last, steps);
        last = steps;
        delays->all[delays->all_count++] = shorter;
    }
}

bool tl_packet_delay_rank(const struct tl_packet_half *half, bool upstream, double *ret_rank,
                          double *ret_low, double *ret_high)
{
    double *room = malloc((2 * (size_t)half->passages_count + 1) * sizeof *room), sum = 0;
    if (!room)
        return false;
    struct delays delays = {.all = room, .lossy = room + half->passages_count};
    gather_delays(half, upstream, &delays);
    tl_stats_sort(delays.all, delays.all_count);
    for (uint32_t i = 0; i < delays.lossy_count; i++)
        sum += rank_among(delays.all, delays.all_count, delays.lossy[i]);
    double bound = RANK_BOUND / sqrt(delays.lossy_count);
    *ret_rank = sum / delays.lossy_count;
    *ret_low = fmax(*ret_rank - bound, 0);
    *ret_high = fmin(*ret_rank + bound, 1);
    free(room);
    return delays.lossy_count >= DELAYS_MIN;
}

/* A loss that is none is part of no event. event_ns: when the last one began, 0 before the first.
 */
static bool begins_event(const struct tl_packet_loss *loss, double rtt_ns, int64_t *event_ns)
{
    if (loss->needless ||
        (*event_ns != 0 && (double)(loss->time_ns - *event_ns) < EVENT_RTTS * rtt_ns))
        return false;
    *event_ns = loss->time_ns;
    return true;
}

double tl_packet_loss_events(const struct tl_packet_half *half, double from_ns, double to_ns)
{
    double rtt_ns = tl_packet_rtt_mean_ns(half), events = 0;
    int64_t event_ns = 0;
    for (uint32_t i = 0; i < half->losses_count; i++) {
        double time_ns = (double)(half->losses[i].time_ns - half->bins_begin_ns);
        if (begins_event(&half->losses[i], rtt_ns, &event_ns))
            events += time_ns >= from_ns && time_ns < to_ns;
    }
    return events;
}

void tl_packet_loss_rank(const struct tl_packet_half *half, struct tl_packet_loss_rank *ret_rank)
{
    struct ranks ranks = {0};
    double rtt_ns = tl_packet_rtt_mean_ns(half),
           flat_ns = RTT_FLAT * tl_packet_classes_quantile(half->rtt_classes, 0.1);
    int64_t event_ns = 0;
    double losses = 0, upstream = 0;
    for (uint32_t i = 0; i < half->losses_count; i++) {
        const struct tl_packet_loss *loss = &half->losses[i];
        losses += !loss->needless;
        upstream += !loss->needless && loss->upstream;
        if (loss->flight_bytes > 0 && begins_event(loss, rtt_ns, &event_ns))
            add_event(&ranks, half, loss, flat_ns);
    }
    /* A queue that is short drops what comes together, a deep one or a bucket what exceeds it in
     * all: the load that the losses follow more is the one that makes them. */
    double flight = mean_of(ranks.flight, ranks.events),
           train = mean_of(ranks.together, ranks.together_count),
           next = mean_of(ranks.next, ranks.events);
    double flight_bound = RANK_BOUND / sqrt(ranks.events),
           train_bound = RANK_BOUND / sqrt(ranks.together_count);
    double mean = fmax(flight, train), bound = train > flight ? train_bound : flight_bound;
    *ret_rank = (struct tl_packet_loss_rank){
        .rank_ratio = mean,
        .low_ratio = fmax(mean - bound, 0),
        .high_ratio = fmin(mean + bound, 1),
        .train_ratio = train,
        .train_low_ratio = fmax(train - train_bound, 0),
        .train_high_ratio = fmin(train + train_bound, 1),
        .next_ratio = next,
        .next_low_ratio = fmax(next - flight_bound, 0),
        .next_high_ratio = fmin(next + flight_bound, 1),
        .upstream_ratio = losses > 0 ? upstream / losses : (double)NAN,
        .flat_ratio = ranks.known > 0 ? ranks.flat / ranks.known : (double)NAN,
        .far_rtt_ns = ranks.known > 0 ? ranks.far_ns / ranks.known : (double)NAN};
}

static double packets_of(const struct tl_packet_half *half, const struct tl_packet_loss *loss)
{
    double mss_bytes = half->mss_bytes ? half->mss_bytes : loss->len_bytes;
    return fmax(ceil(loss->len_bytes / fmax(mss_bytes, 1)), 1);
}

/* Rows of lost packets by their sequence numbers, and which of them the greatest overrun made. */
struct rows {
    double *packets;
    uint32_t count, worst_begin, worst_end;
};

static void gather_rows(const struct tl_packet_half *half, struct rows *rows)
{
    double gap_ns = OVERRUN_RTTS * tl_packet_rtt_mean_ns(half), event = 0, worst = 0;
    const struct tl_packet_loss *before = NULL;
    uint32_t event_begin = 0;
    for (uint32_t i = 0; i < half->losses_count; i++) {
        const struct tl_packet_loss *loss = &half->losses[i];
        if (loss->needless)
            continue;
        bool goes_on = before && before->offset_bytes + before->len_bytes == loss->offset_bytes;
        if (!before || (double)(loss->time_ns - before->time_ns) >= gap_ns) {
            event = 0;
            event_begin = rows->count - goes_on;
        }
        rows->count += !goes_on;
        rows->packets[rows->count - 1] += packets_of(half, loss);
        event += packets_of(half, loss);
        if (event > worst) {
            worst = event;
            rows->worst_begin = event_begin;
            rows->worst_end = rows->count;
        }
        before = loss;
    }
}

double tl_packet_loss_period(const struct tl_packet_half *half)
{
    struct rows rows = {.packets = calloc(half->losses_count + 1, sizeof *rows.packets)};
    double mean = NAN;
    if (!rows.packets)
        return mean;
    gather_rows(half, &rows);
    uint32_t worst = rows.worst_end - rows.worst_begin, count = rows.count - worst;
    memmove(rows.packets + rows.worst_begin, rows.packets + rows.worst_end,
            (rows.count - rows.worst_end) * sizeof *rows.packets);
    if (count >= PERIODS_MIN) {
        double most = PERIOD_MOST * tl_stats_median(rows.packets, count), sum = 0;
        for (uint32_t i = 0; i < count; i++)
            sum += fmin(rows.packets[i], most);
        mean = sum / count;
    }
    free(rows.packets);
    return mean;
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
