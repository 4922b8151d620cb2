/* The rate of the slowest link, by how far apart packets arrive that left together, and what waits
 * before a link of that rate when packets are lost; see limits.h. */
#include <math.h>
#include <stdlib.h>

#include "half.h"
#include "loss_events.h"
#include "tightlink/base/stats.h"
#include "tightlink/flow/limits.h"

#define GAPS_FIRST 16u
#define GAPS_LEAST 20
/* They left in less than half of the time that lies between them now: the later one waited. */
#define STRETCHED 2
/* What several segments joined is told with is no measure of single ones. */
#define SEGMENTS_MOST 64
/* So late one segment is acknowledged by the receiver's timer (40 ms and more). */
#define TIMER_NS     INT64_C(35000000)
#define EVENTS_LEAST 2 /* behind the first */
/* Above what is lost by that much, and two segments more: the queue can hold more. */
#define ABOVE_SHARE 1.25
#define EXACT_MOST  12 /* events: beyond, the sum of their ranks is normal */

void dispersion_add(struct half *half, int64_t time_ns, int64_t sent_ns, uint64_t bytes)
{
    struct tl_packet_half *out = half->out;
    int64_t gap_ns = time_ns - half->last_move_ns, together_ns = sent_ns - half->timed_ns;
    bool stretched =
        half->timed_ns && gap_ns > 0 && together_ns >= 0 && STRETCHED * together_ns <= gap_ns;
    bool by_timer = gap_ns >= TIMER_NS && bytes <= half_mss(half);
    uint32_t count = out->gaps_count;
    half->timed_ns = sent_ns;
    if (!stretched || by_timer || bytes < half_mss(half) ||
        bytes > SEGMENTS_MOST * half_mss(half) || count == TL_PACKETS_GAPS_MAX)
        return;
    struct tl_packet_gap *gaps =
        bins_with_room(out, out->gaps, count, count + 1, GAPS_FIRST, sizeof *gaps);
    if (!gaps)
        return;
    out->gaps = gaps;
    gaps[out->gaps_count++] = (struct tl_packet_gap){(float)gap_ns / (float)bytes, (uint32_t)bytes};
}

static int by_length(const void *a, const void *b)
{
    float left = ((const struct tl_packet_gap *)a)->byte_ns,
          right = ((const struct tl_packet_gap *)b)->byte_ns;
    return (left > right) - (left < right);
}

/* Below it lies that share of the bytes. */
static double quantile(const struct tl_packet_gap *gaps, uint32_t count, double total, double share)
{
    double before = 0;
    for (uint32_t i = 0; i < count; i++) {
        before += gaps[i].bytes;
        if (before >= share * total)
            return (double)gaps[i].byte_ns;
    }
    return (double)NAN;
}

/* Bits a second of so many nanoseconds a byte. */
static double bps_of(double byte_ns)
{
    return 8e9 / byte_ns;
}

static bool measure_rate(const struct tl_packet_half *half, struct tl_packet_dispersion *dispersion)
{
    uint32_t count = half->gaps_count;
    struct tl_packet_gap *sorted = count >= GAPS_LEAST ? malloc(count * sizeof *sorted) : NULL;
    if (!sorted)
        return false;
    double total = 0;
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = half->gaps[i];
        total += sorted[i].bytes;
    }
    qsort(sorted, count, sizeof *sorted, by_length);
    dispersion->rate_bps = bps_of(quantile(sorted, count, total, 0.5));
    dispersion->low_bps = bps_of(quantile(sorted, count, total, 0.75));
    dispersion->high_bps = bps_of(quantile(sorted, count, total, 0.25));
    free(sorted);
    return true;
}

/* --- What waits before that link -------------------------------------------------------------- */

struct backlog {
    double bytes, weight; /* how much waits; how much came then */
};

/* Events of losses: how much waited. */
struct events {
    double *bytes;
    uint32_t count;
};

static int by_bytes(const void *a, const void *b)
{
    double left = ((const struct backlog *)a)->bytes, right = ((const struct backlog *)b)->bytes;
    return (left > right) - (left < right);
}

/* Behind each passage; a packet that was lost stood there, and found no room. */
static void play(const struct tl_packet_half *half, double rate_bps, struct backlog *backlogs)
{
    double rate = rate_bps / 8e6, level = 0; /* bytes a us */
    for (uint32_t i = 0; i < half->passages_count; i++) {
        const struct tl_packet_passage *passage = &half->passages[i];
        if (i > 0)
            level = fmax(level - rate * (passage->time_us - half->passages[i - 1].time_us), 0);
        level += passage->passed_bytes;
        backlogs[i] = (struct backlog){level + (passage->lost_bytes > 0 ? half->mss_bytes : 0),
                                       (double)passage->passed_bytes + passage->lost_bytes};
    }
}

/* All but the first: it ended a growth, and stands at the most so far whatever made it. */
static void gather_events(const struct tl_packet_half *half, const struct backlog *backlogs,
                          struct events *events)
{
    double event_us = EVENT_RTTS * tl_packet_rtt_mean_ns(half) / 1e3;
    uint32_t begin_us = 0, begun = 0;
    for (uint32_t i = 0; i < half->passages_count; i++) {
        const struct tl_packet_passage *passage = &half->passages[i];
        if (passage->lost_bytes == 0 || (begun > 0 && passage->time_us - begin_us <= event_us))
            continue;
        begin_us = passage->time_us;
        if (begun++ > 0)
            events->bytes[events->count++] = backlogs[i].bytes;
    }
}

/* By how much waits; each then weighs what all up to it did. Returns what all weigh. */
static double add_up(struct backlog *backlogs, uint32_t count)
{
    double total = 0;
    qsort(backlogs, count, sizeof *backlogs, by_bytes);
    for (uint32_t i = 0; i < count; i++)
        total = backlogs[i].weight += total;
    return total;
}

static double weight_below(const struct backlog *sums, uint32_t count, double bytes, bool or_equal)
{
    uint32_t begin = 0, end = count;
    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        if (sums[middle].bytes < bytes || (or_equal && sums[middle].bytes == bytes))
            begin = middle + 1;
        else
            end = middle;
    }
    return begin > 0 ? sums[begin - 1].weight : 0;
}

/* The share that came with less waiting; of what came with as much, a half. */
static double rank_among(const struct backlog *sums, uint32_t count, double total, double bytes)
{
    return (weight_below(sums, count, bytes, false) + weight_below(sums, count, bytes, true)) / 2 /
           total;
}

/* The chance that so many numbers between 0 and 1 have at most that sum (Irwin, Hall). */
static double sum_chance(uint32_t count, double sum)
{
    if (count > EXACT_MOST)
        return 0.5 * erfc((count / 2.0 - sum) / sqrt(count / 12.0) / sqrt(2));
    double chance = 0, term = 1; /* (-1)^k (n over k) / n! */
    for (uint32_t i = 2; i <= count; i++)
        term /= i;
    for (uint32_t k = 0; k < sum && k <= count; k++) {
        chance += term * pow(sum - k, count);
        term *= -(double)(count - k) / (k + 1);
    }
    return fmin(fmax(chance, 0), 1);
}

/* Round trips without a loss in which more waited than that. */
static uint32_t rounds_above(const struct tl_packet_half *half, const struct backlog *backlogs,
                             double bytes)
{
    double rtt_us = fmax(tl_packet_rtt_mean_ns(half) / 1e3, 1);
    uint32_t rounds = 0, round = UINT32_MAX;
    bool above = false, lossy = false;
    for (uint32_t i = 0; i < half->passages_count; i++) {
        uint32_t now = (uint32_t)(half->passages[i].time_us / rtt_us);
        if (now != round) {
            rounds += above && !lossy;
            above = lossy = false;
            round = now;
        }
        above |= backlogs[i].bytes > bytes;
        lossy |= half->passages[i].lost_bytes > 0;
    }
    return rounds + (above && !lossy);
}

/* backlogs: in the order of the passages; added up here. */
static void judge_events(const struct tl_packet_half *half, struct backlog *backlogs,
                         struct events *events, struct tl_packet_dispersion *dispersion)
{
    uint32_t count = half->passages_count;
    double sum = 0, mss = half->mss_bytes, median = tl_stats_median(events->bytes, events->count);
    double above = rounds_above(half, backlogs, ABOVE_SHARE * median + 2 * mss);
    double total = add_up(backlogs, count);
    for (uint32_t i = 0; i < events->count; i++)
        sum += 1 - rank_among(backlogs, count, total, events->bytes[i]);
    dispersion->chance_ratio = sum_chance(events->count, sum);
    dispersion->backlog_bytes = median;
    dispersion->backlog_low_bytes = tl_stats_quantile(events->bytes, events->count, 0.1);
    dispersion->backlog_high_bytes = tl_stats_quantile(events->bytes, events->count, 0.9);
    dispersion->above_ratio = above / (above + events->count);
}

void tl_packet_dispersion(const struct tl_packet_half *half,
                          struct tl_packet_dispersion *ret_dispersion)
{
    uint32_t count = half->passages_count;
    *ret_dispersion = tl_packet_no_dispersion();
    if (!measure_rate(half, ret_dispersion) || !half->rtt_count || count == 0)
        return;
    struct backlog *backlogs = malloc(count * sizeof *backlogs);
    struct events events = {.bytes = malloc(count * sizeof *events.bytes)};
    if (backlogs && events.bytes) {
        play(half, ret_dispersion->rate_bps, backlogs);
        gather_events(half, backlogs, &events);
        if (events.count >= EVENTS_LEAST)
            judge_events(half, backlogs, &events, ret_dispersion);
    }
    free(events.bytes);
    free(backlogs);
}
