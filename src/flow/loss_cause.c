/* What losses follow: a token bucket, the load, or nothing. */
#include <math.h>

#include "tightlink/flow/limits.h"

#define RTT_TELLS   1.3 /* Flach et al. 2016: the median before losses over the low decile */
#define RTT_FLAT    1.2
#define BUCKET_RTTS 2
#define RANK_BOUND  (1.96 * 0.2887) /* half the 95 % interval of a mean of uniform ranks */
#define EVENTS_MIN  3

/* Payload that had passed at a time, lost segments not counted, by bins linearly. */
struct passed {
    const struct tl_packet_half *half;
    uint32_t bin, loss;
    double bytes, lost_bytes;
};

/* Times must rise from call to call. */
static double passed_at(struct passed *passed, int64_t time_ns)
{
    const struct tl_packet_half *half = passed->half;
    int64_t begin_ns = half->bins_begin_ns;
    while (passed->bin < half->bins_count &&
           begin_ns + (int64_t)(passed->bin + 1) * half->bin_ns <= time_ns) {
        const struct tl_packet_bin *bin = &half->bins[passed->bin++];
        passed->bytes += (double)bin->sent_bytes + (double)bin->retrans_count * half->mss_bytes;
    }
    while (passed->loss < half->losses_count && half->losses[passed->loss].time_ns < time_ns)
        passed->lost_bytes += half->losses[passed->loss++].needless ? 0 : half->mss_bytes;
    double part = 0;
    if (passed->bin < half->bins_count) {
        const struct tl_packet_bin *bin = &half->bins[passed->bin];
        int64_t into_ns = time_ns - begin_ns - (int64_t)passed->bin * half->bin_ns;
        part = ((double)bin->sent_bytes + (double)bin->retrans_count * half->mss_bytes) *
               (double)into_ns / (double)half->bin_ns;
    }
    return passed->bytes + part - passed->lost_bytes;
}

static bool rtt_tells(const struct tl_packet_half *half)
{
    double limit_ns = RTT_TELLS * tl_packet_classes_quantile(half->rtt_classes, 0.1);
    unsigned known = 0, above = 0;
    for (uint32_t i = 0; i < half->losses_count; i++) {
        if (half->losses[i].needless || half->losses[i].rtt_ns == 0)
            continue;
        known++;
        above += half->losses[i].rtt_ns > limit_ns;
    }
    return known == 0 || 2 * above > known;
}

static double mean_rtt(const struct tl_packet_half *half)
{
    return half->rtt_count ? half->rtt_sum_ns / (double)half->rtt_count : (double)NAN;
}

/* First and last loss that was one. False with too few of them. */
static bool find_span(const struct tl_packet_half *half, int64_t *ret_first_ns,
                      int64_t *ret_last_ns)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < half->losses_count; i++) {
        if (half->losses[i].needless)
            continue;
        int64_t time_ns = half->losses[i].time_ns;
        if (count == 0 || time_ns < *ret_first_ns)
            *ret_first_ns = time_ns;
        if (count == 0 || time_ns > *ret_last_ns)
            *ret_last_ns = time_ns;
        count++;
    }
    return count >= TL_POLICER_LOSSES_MIN && *ret_last_ns > *ret_first_ns;
}

/* A token bucket that is filled at a rate from the first loss on. */
struct bucket {
    double rate, room, before; /* bytes a ns; bytes */
    int64_t first_ns;
    unsigned losses, empty, quiet, covered;
};

static double tokens_at(const struct bucket *bucket, struct passed *passed, int64_t time_ns)
{
    return bucket->rate * (double)(time_ns - bucket->first_ns) -
           (passed_at(passed, time_ns) - bucket->before);
}

/* Losses at which it is empty, and bins without a loss in which it is not overdrawn. */
static void fill_bucket(const struct tl_packet_half *half, struct passed *passed, int64_t last_ns,
                        struct bucket *bucket)
{
    uint32_t next = 0;
    for (uint32_t i = passed->bin; i < half->bins_count; i++) {
        int64_t time_ns = half->bins_begin_ns + (int64_t)(i + 1) * half->bin_ns;
        bool lost = false;
        if (time_ns > last_ns)
            break;
        while (next < half->losses_count && half->losses[next].time_ns < time_ns) {
            const struct tl_packet_loss *loss = &half->losses[next++];
            if (loss->needless || loss->time_ns < bucket->first_ns)
                continue;
            bucket->losses++;
            bucket->empty += fabs(tokens_at(bucket, passed, loss->time_ns)) <= bucket->room;
            lost = true;
        }
        bucket->quiet += !lost;
        bucket->covered += !lost && tokens_at(bucket, passed, time_ns) >= -bucket->room;
    }
}

void tl_packet_policer(const struct tl_packet_half *half, struct tl_packet_policer *ret_policer)
{
    int64_t first_ns = 0, last_ns = 0;
    *ret_policer = (struct tl_packet_policer){(double)NAN, (double)NAN, (double)NAN};
    double rtt_ns = mean_rtt(half);
    if (!find_span(half, &first_ns, &last_ns) || !isfinite(rtt_ns) ||
        (double)(last_ns - first_ns) < 20 * rtt_ns)
        return;
    struct passed passed = {.half = half};
    double before = passed_at(&passed, first_ns);
    struct passed end = passed;
    double rate =
        (passed_at(&end, last_ns) - before) / (double)(last_ns - first_ns); /* bytes a ns */
    struct bucket bucket = {
        .rate = rate, .room = BUCKET_RTTS * rtt_ns * rate, .first_ns = first_ns, .before = before};
    fill_bucket(half, &passed, last_ns, &bucket);
    ret_policer->rate_bps = rate * 8e9;
    ret_policer->burst_bytes = fmax(before - rate * (double)(first_ns - half->first_data_ns), 0);
    ret_policer->fit_ratio =
        rtt_tells(half) || bucket.losses == 0 || bucket.quiet == 0
            ? 0
            : (double)bucket.empty / bucket.losses * bucket.covered / bucket.quiet;
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
