/* Judging a step of the UDP ladder. */
#include "udp_step.h"

#include <math.h>

#include "tightlink/base/stats.h"
#include "tightlink/base/units.h"

/* A step in which the receiver itself dropped so much says nothing of the path. */
#define LOCAL_DROP_RATIO 0.001
/* So many datagrams that are not the test's are no accident, and hide what was damaged. */
#define MEDDLED_RATIO 0.001
/* Delay that grew by so much of the step's length is a queue that fills. */
#define GROWTH_RATIO 0.01
/* A sender that paces leaves no piece of its time (20 ms) without a datagram where each has its
 * turn for several: one that leaves two of five empty sends by bursts. An iperf3 server of 3.1
 * sends the datagrams of 100 ms at once, a host whose quota of a processor is used up those of its
 * period. */
#define IDLE_RATIO 0.4
#define PIECE_MEAN 4

void udp_pool_begin(struct udp_pool *pool)
{
    *pool = (struct udp_pool){.jitter_ns = (double)NAN, .delay_p90_ns = (double)NAN};
}

void udp_pool_add(struct udp_pool *pool, const struct tl_udp_result *result)
{
    const struct tl_udp_receiver *receiver = &result->receiver;
    if (pool->sent_count == 0) {
        pool->jitter_ns = receiver->delay.jitter_ns;
        pool->delay_p90_ns = receiver->delay.p90_ns;
    }
    pool->sent_count += result->sender.sent_count;
    pool->received_count += receiver->received_count;
    pool->lost_count += receiver->lost_count;
    pool->run_count += receiver->runs.run_count;
    pool->reordered_count += receiver->reordered_count;
    pool->duplicate_count += receiver->duplicate_count;
    pool->corrupt_count += receiver->damaged_count + receiver->checksum_error_count;
    pool->local_drop_count += receiver->local_drop_count;
    pool->totals_only |= receiver->totals_only;
    pool->unchecked |= receiver->crc == TL_UDP_CRC_NONE;
    pool->meddled |=
        receiver->foreign_count > receiver->damaged_count &&
        (double)receiver->foreign_count > MEDDLED_RATIO * (double)receiver->received_count;
}

/* Bounds of a Poisson count hold for events that come by themselves: runs, not their members. */
double udp_pool_loss(const struct udp_pool *pool, double *ret_low, double *ret_high)
{
    double sent = (double)pool->sent_count, lost = (double)pool->lost_count;
    double events =
        pool->run_count > 0 && pool->run_count < pool->lost_count ? (double)pool->run_count : lost;
    double per_event = events > 0 ? lost / events : 1;
    tl_stats_poisson95(events, ret_low, ret_high);
    *ret_low = sent > 0 ? fmin(*ret_low * per_event / sent, 1) : (double)NAN;
    *ret_high = sent > 0 ? fmin(*ret_high * per_event / sent, 1) : (double)NAN;
    return sent > 0 ? lost / sent : (double)NAN;
}

static bool loses_more(const struct tl_udp_result *result, const struct udp_pool *below)
{
    double low, high, base = udp_pool_loss(below, &low, &high);
    if (!isfinite(base)) /* the first step has nothing below it */
        return result->loss_low_ratio > 0.5;
    return result->loss_low_ratio > fmax(high, UDP_KNEE_LOSS_RATIO) &&
           result->loss_ratio > 2 * base + UDP_KNEE_LOSS_RATIO;
}

/* Growth of the mean delay from the first quarter of a step to its last one, NAN when unknown. */
static double delay_growth_ns(const struct tl_udp_result *result)
{
    unsigned quarter = (result->interval_count + 3) / 4;
    double first = 0, last = 0;
    unsigned firsts = 0, lasts = 0;
    for (unsigned i = 0; i < result->interval_count; i++) {
        double delay_ns = result->intervals[i].delay_mean_ns;
        if (!isfinite(delay_ns))
            continue;
        if (i < quarter) {
            first += delay_ns;
            firsts++;
        }
        if (i + quarter >= result->interval_count) {
            last += delay_ns;
            lasts++;
        }
    }
    return firsts && lasts ? last / lasts - first / firsts : (double)NAN;
}

static bool queues(const struct tl_udp_result *result, const struct udp_pool *below)
{
    const struct tl_udp_delay *delay = &result->receiver.delay;
    double at_rest_ns = isfinite(below->delay_p90_ns) ? below->delay_p90_ns : 0;
    if (result->receiver.totals_only)
        return result->wait_behind_ns > UDP_WAIT_RATIO * (double)result->sender.elapsed_ns;
    if (isfinite(delay->p90_ns) && delay->p90_ns > at_rest_ns + UDP_KNEE_DELAY_NS)
        return true;
    return result->receiver.received_bps < UDP_KNEE_RATE_RATIO * result->sender.achieved_bps &&
           delay_growth_ns(result) > GROWTH_RATIO * (double)result->sender.elapsed_ns;
}

/* By the times of departure that came with what arrived, where the sender does not tell them. */
static uint64_t left_count(const struct tl_udp_interval *piece)
{
    return piece->sent_count > piece->received_count ? piece->sent_count : piece->received_count;
}

static bool sends_by_bursts(const struct tl_udp_result *result)
{
    uint64_t left = 0;
    unsigned idle = 0;
    for (unsigned i = 0; i < result->interval_count; i++) {
        left += left_count(&result->intervals[i]);
        idle += left_count(&result->intervals[i]) == 0;
    }
    return left >= PIECE_MEAN * (uint64_t)result->interval_count &&
           idle >= IDLE_RATIO * result->interval_count && idle > 0;
}

bool udp_step_none_arrived(const struct tl_udp_result *result)
{
    const struct tl_udp_receiver *receiver = &result->receiver;
    return result->sender.sent_count > 0 && receiver->received_count == 0 &&
           receiver->damaged_count == 0 && receiver->local_drop_count == 0;
}

bool udp_step_tells_loss(const struct tl_udp_result *result, double asked_bps)
{
    return !result->receiver.totals_only || asked_bps <= UDP_UNTOLD_MAX_BPS;
}

enum udp_step_verdict udp_step_judge(const struct tl_udp_result *result, double asked_bps,
                                     const struct udp_pool *below)
{
    double sent = (double)result->sender.sent_count;
    if ((double)result->receiver.local_drop_count > LOCAL_DROP_RATIO * sent)
        return UDP_STEP_RECEIVER;
    bool loses = loses_more(result, below), waits = queues(result, below);
    if ((loses || waits) && sends_by_bursts(result))
        return UDP_STEP_BURSTS;
    if (loses && !udp_step_tells_loss(result, asked_bps))
        return waits ? UDP_STEP_DELAY : UDP_STEP_RECEIVER;
    if (loses)
        return UDP_STEP_LOSS;
    if (waits)
        return UDP_STEP_DELAY;
    if (result->sender.achieved_bps < UDP_SENDER_LIMIT_RATIO * asked_bps)
        return UDP_STEP_SENDER_LIMIT;
    return UDP_STEP_PASSED;
}

double udp_step_tail_bps(const struct tl_udp_result *result)
{
    unsigned from = 0;
    while (from < result->interval_count &&
           result->intervals[from].received_count >= result->intervals[from].sent_count)
        from++;
    from++; /* the first loss was somewhere inside */
    if (from + 3 > result->interval_count)
        return (double)NAN;
    double bytes = 0;
    for (unsigned i = from; i + 1 < result->interval_count; i++)
        bytes += (double)result->intervals[i].received_bytes;
    int64_t ns =
        result->intervals[result->interval_count - 1].start_ns - result->intervals[from].start_ns;
    return ns > 0 ? tl_bps_from_bytes_ns(bytes, (double)ns) : (double)NAN;
}
