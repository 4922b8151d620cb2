/* What a UDP test may be, what it can cost, and what both ends' accounts say together. Pure. */
#include "udp_result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/stats.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/limits.h"
#include "udp_flow.h"

#define WIRE_HEAD_BYTES 48 /* IPv6 and UDP */
#define TRAINS_NEEDED   5
#define FASTER_RATIO    1.1 /* a train that left this much faster than it came shows a link */

const char *tl_udp_end_text(enum tl_udp_end end)
{
    switch (end) {
#define TL_UDP_END_CASE(name, text)                                                                \
    case TL_UDP_END_##name:                                                                        \
        return text;
        TL_UDP_END_MAP(TL_UDP_END_CASE)
#undef TL_UDP_END_CASE
    }
    return "for an unknown reason";
}

/* --- The spec --------------------------------------------------------------------------------- */

static enum tl_status check_pattern(const struct tl_udp_spec *spec, struct tl_error *reterr)
{
    if (spec->burst_count > TL_UDP_BURST_MAX)
        return tl_error_set(reterr, TL_RANGE, "a burst has at most %d datagrams", TL_UDP_BURST_MAX);
    if (spec->gso_segments > TL_UDP_GSO_MAX)
        return tl_error_set(reterr, TL_RANGE, "a GSO send has at most %d datagrams",
                            TL_UDP_GSO_MAX);
    if (spec->rate_bps > 0 && !tl_limit_holds(TL_LIMIT_PACING_BPS, spec->rate_bps))
        return tl_error_set(reterr, TL_RANGE, "a rate is 8 kb/s to 1 Tb/s");
    if (spec->gro && (spec->rate_bps > 0 || spec->train_length > 0))
        return tl_error_set(reterr, TL_RANGE,
                            "UDP_GRO hides times of arrival: only for a test as fast as possible");
    if (spec->train_length == 0 && spec->train_count == 0)
        return TL_OK;
    if (spec->train_length < 2 || spec->train_length > TL_UDP_TRAIN_MAX || spec->train_count < 1 ||
        spec->train_count > TL_UDP_TRAINS_MAX)
        return tl_error_set(reterr, TL_RANGE, "a test has 1 to %d trains of 2 to %d datagrams",
                            TL_UDP_TRAINS_MAX, TL_UDP_TRAIN_MAX);
    if (spec->train_gap_ns != 0 && (spec->train_gap_ns < TL_UDP_TRAIN_GAP_MIN_US * TL_NS_PER_US ||
                                    spec->train_gap_ns > 10 * TL_NS_PER_S))
        return tl_error_set(reterr, TL_RANGE, "trains leave %d us to 10 s apart",
                            TL_UDP_TRAIN_GAP_MIN_US);
    return TL_OK;
}

enum tl_status tl_udp_spec_check(const struct tl_udp_spec *spec, struct tl_error *reterr)
{
    if (spec->direction != TL_WIRE_DOWNLOAD && spec->direction != TL_WIRE_UPLOAD)
        return tl_error_set(reterr, TL_RANGE, "a UDP test goes one way");
    if (spec->duration_ns < 100 * TL_NS_PER_MS || spec->duration_ns > 60 * TL_NS_PER_S)
        return tl_error_set(reterr, TL_RANGE, "a UDP test lasts 0.1 s to 60 s");
    if (spec->datagram_bytes != 0 &&
        (spec->datagram_bytes < TL_UDP_DATAGRAM_MIN || spec->datagram_bytes > TL_UDP_DATAGRAM_MAX))
        return tl_error_set(reterr, TL_RANGE, "a datagram has %d to %d bytes of payload",
                            TL_UDP_DATAGRAM_MIN, TL_UDP_DATAGRAM_MAX);
    if (spec->dscp > 63)
        return tl_error_set(reterr, TL_RANGE, "a DSCP is 0 to 63");
    if (spec->rcvbuf_bytes < 0)
        return tl_error_set(reterr, TL_RANGE, "a receive buffer is negative");
    if (spec->interval_ns != 0 &&
        (spec->interval_ns < 10 * TL_NS_PER_MS || spec->interval_ns > 100 * TL_NS_PER_MS))
        return tl_error_set(reterr, TL_RANGE, "an interval of the series is 10 to 100 ms");
    return check_pattern(spec, reterr);
}

uint64_t tl_udp_worst_bytes(const struct tl_udp_spec *spec)
{
    uint64_t size = spec->datagram_bytes ? spec->datagram_bytes : TL_UDP_DATAGRAM_BYTES;
    uint64_t datagrams = UINT64_MAX;
    if (spec->train_length > 0) {
        datagrams = (uint64_t)spec->train_length * spec->train_count;
    } else if (spec->rate_bps > 0) {
        double bytes = (double)spec->rate_bps / 8 * (double)spec->duration_ns / 1e9;
        uint64_t burst = spec->burst_count > 1 ? spec->burst_count : 1;
        datagrams = (uint64_t)(bytes / (double)size) + burst + 1;
    }
    if (spec->max_bytes > 0 && spec->max_bytes / size < datagrams)
        datagrams = spec->max_bytes / size;
    return datagrams < UINT64_MAX / (size + WIRE_HEAD_BYTES) ? datagrams * (size + WIRE_HEAD_BYTES)
                                                             : UINT64_MAX;
}

/* --- The result ------------------------------------------------------------------------------- */

enum tl_status udp_result_init(struct tl_udp_result *result, const struct tl_udp_spec *spec)
{
    memset(result, 0, sizeof *result);
    result->spec = *spec;
    result->near_sends = spec->direction == TL_WIRE_UPLOAD;
    struct tl_udp_fields none = {0};
    udp_sender_from_fields(&none, &result->sender);
    udp_receiver_from_fields(&none, &result->receiver);
    result->loss_ratio = result->loss_low_ratio = result->loss_high_ratio = NAN;
    result->wait_behind_ns = NAN;
    for (unsigned i = 0; i < TL_CPU_USAGE_COUNT; i++)
        result->sender_cpu.values[i] = result->receiver_cpu.values[i] =
            tl_host_unknown(TL_HOST_WHY_NOT_READ);
    for (unsigned i = 0; i < TL_HOST_COUNTER_COUNT; i++)
        result->sender_counters.values[i] = result->receiver_counters.values[i] =
            tl_host_unknown(TL_HOST_WHY_NOT_READ);
    result->intervals = calloc(TL_UDP_INTERVALS_MAX, sizeof *result->intervals);
    result->train_count = spec->train_count <= TL_UDP_TRAINS_MAX ? spec->train_count : 0;
    result->trains = calloc(result->train_count + 1, sizeof *result->trains);
    if (!result->intervals || !result->trains) {
        result->train_count = 0;
        return TL_NOMEM;
    }
    for (unsigned i = 0; i < TL_UDP_INTERVALS_MAX; i++)
        result->intervals[i].delay_min_ns = result->intervals[i].delay_mean_ns =
            result->intervals[i].delay_max_ns = NAN;
    for (unsigned i = 0; i < result->train_count; i++)
        result->trains[i] = (struct tl_udp_train){
            .dispersion_ns = -1, .gap_min_ns = -1, .gap_median_ns = -1, .delay_first_ns = -1};
    return TL_OK;
}

void tl_udp_result_finish(struct tl_udp_result *result)
{
    free(result->intervals);
    free(result->trains);
    result->intervals = NULL;
    result->trains = NULL;
    result->interval_count = result->train_count = 0;
}

static void take_interval(struct tl_udp_interval *to, const struct udp_flow *flow, unsigned i)
{
    struct udp_sent_piece sent = {to->sent_count, to->sent_bytes};
    if (flow->spec.send)
        sent = flow->sent_pieces[i];
    else
        *to = flow->intervals[i];
    to->sent_count = sent.count;
    to->sent_bytes = sent.bytes;
}

static void take_train(struct tl_udp_train *to, const struct udp_flow *flow, unsigned i)
{
    unsigned count = to->sent_count;
    int64_t sent_ns = to->sent_ns;
    if (flow->spec.send) {
        count = flow->sent_trains[i].count;
        sent_ns = flow->sent_trains[i].last_ns - flow->sent_trains[i].first_ns;
    } else {
        *to = flow->trains[i];
    }
    to->sent_count = count;
    to->sent_ns = sent_ns;
}

void udp_result_take_flow(struct tl_udp_result *result, const struct udp_flow *flow)
{
    bool sends = flow->spec.send;
    unsigned pieces = sends ? flow->sent_piece_count : flow->interval_count;
    if (sends)
        result->sender = flow->sender;
    else
        result->receiver = flow->receiver;
    for (unsigned i = 0; i < pieces; i++)
        take_interval(&result->intervals[i], flow, i);
    if (pieces > result->interval_count)
        result->interval_count = pieces;
    for (unsigned i = 0; i < result->train_count; i++)
        take_train(&result->trains[i], flow, i);
    (void)snprintf(result->note, sizeof result->note, "%s", flow->note);
}

static uint64_t take(uint64_t *left, uint64_t wanted)
{
    uint64_t some = wanted == UINT64_MAX ? 0 : wanted < *left ? wanted : *left;
    *left -= some;
    return some;
}

/* Losses that come in runs are as many events as there are runs, each of their mean length. */
static void bound_loss(struct tl_udp_result *result)
{
    const struct tl_udp_receiver *receiver = &result->receiver;
    double sent = (double)result->sender.sent_count, lost = (double)receiver->lost_count;
    double low, high, length = 1;
    if (result->sender.sent_count == 0)
        return;
    if (receiver->runs.run_count > 0 && receiver->missing_count > receiver->runs.run_count)
        length = (double)receiver->missing_count / (double)receiver->runs.run_count;
    tl_stats_poisson95(lost / length, &low, &high);
    result->loss_ratio = lost / sent;
    result->loss_low_ratio = fmin(low * length / sent, 1);
    result->loss_high_ratio = fmin(high * length / sent, 1);
}

void udp_result_merge(struct tl_udp_result *result, int64_t interval_ns)
{
    struct tl_udp_sender *sender = &result->sender;
    struct tl_udp_receiver *receiver = &result->receiver;
    bool trains = result->spec.train_length > 0;
    sender->offered_bps = result->granted_rate_bps > 0 ? (double)result->granted_rate_bps : NAN;
    if (sender->elapsed_ns > 0 && !trains)
        sender->achieved_bps = (double)sender->sent_bytes * 8e9 / (double)sender->elapsed_ns;
    uint64_t left = sender->sent_count > receiver->received_count
                        ? sender->sent_count - receiver->received_count
                        : 0;
    receiver->missing_count = left;
    receiver->local_drop_count = take(&left, receiver->local_drop_count);
    receiver->checksum_error_count = take(&left, receiver->checksum_error_count);
    receiver->damaged_count = take(&left, receiver->damaged_count);
    receiver->lost_count = left;
    bound_loss(result);
    for (unsigned i = 0; i < result->interval_count; i++)
        result->intervals[i].start_ns = (int64_t)i * interval_ns;
}

/* --- Trains ----------------------------------------------------------------------------------- */

/* Half-sample mode of sorted values: the half of them that lies closest together, again and
 * again (Bickel and Fruehwirth, 2006). */
static double half_sample_mode(const double *values, unsigned count)
{
    while (count > 3) {
        unsigned half = (count + 1) / 2, best = 0;
        for (unsigned i = 1; i + half <= count; i++)
            if (values[i + half - 1] - values[i] < values[best + half - 1] - values[best])
                best = i;
        values += best;
        count = half;
    }
    if (count < 3)
        return (values[0] + values[count - 1]) / 2;
    bool low = values[1] - values[0] < values[2] - values[1];
    return low ? (values[0] + values[1]) / 2 : (values[1] + values[2]) / 2;
}

/* Whole and in order; or some missing and the rest evenly spaced: a full queue before the narrow
 * link refuses datagrams without a hole in what it serves, and one lost behind that link changes
 * the rate by less than the tenth of which the middle gap and the mean one may differ. */
#define RECEIVED_RATIO 0.75
#define EVEN_RATIO     0.1
#define EVEN_COUNT     4

double tl_udp_train_even_ns(const struct tl_udp_train *train)
{
    return (double)train->gap_median_ns * (train->received_count - 1);
}

bool tl_udp_train_tells(const struct tl_udp_train *train)
{
    if (train->received_count < 2 || train->dispersion_ns <= 0)
        return false;
    if (train->in_order)
        return true;
    return train->received_count >= EVEN_COUNT &&
           train->received_count >= RECEIVED_RATIO * train->sent_count &&
           fabs(tl_udp_train_even_ns(train) - (double)train->dispersion_ns) <=
               EVEN_RATIO * (double)train->dispersion_ns;
}

double tl_udp_train_rate(const struct tl_udp_train *trains, unsigned count, unsigned datagram_bytes,
                         bool *ret_sender_limited)
{
    double rates[TL_UDP_TRAINS_MAX], left[TL_UDP_TRAINS_MAX];
    unsigned good = 0;
    if (ret_sender_limited)
        *ret_sender_limited = false;
    for (unsigned i = 0; i < count && good < TL_UDP_TRAINS_MAX; i++) {
        const struct tl_udp_train *train = &trains[i];
        if (!tl_udp_train_tells(train))
            continue;
        double bits = 8e9 * datagram_bytes * (train->received_count - 1);
        rates[good] = log(bits / (double)train->dispersion_ns);
        left[good] = log(bits / (double)(train->sent_ns > 0 ? train->sent_ns : 1));
        good++;
    }
    if (good < TRAINS_NEEDED)
        return NAN;
    tl_stats_sort(rates, good);
    tl_stats_sort(left, good);
    double rate = exp(half_sample_mode(rates, good));
    if (ret_sender_limited)
        *ret_sender_limited = exp(left[good / 2]) < FASTER_RATIO * rate;
    return rate;
}
