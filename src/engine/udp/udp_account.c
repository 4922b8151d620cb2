/* A receiver's account: sequence numbers, delays, pieces of time, trains. */
#include "udp_account.h"
#include "tightlink/base/stats.h"

#include <math.h>
#include <stdlib.h>

enum tl_status udp_account_init(struct udp_account *ret_account,
                                const struct udp_account_spec *spec)
{
    struct udp_account account = {
        .spec = *spec, .first_ns = -1, .last_ns = -1, .newest_from_ns = INT64_MIN / 2};
    int64_t pieces = spec->duration_ns / spec->interval_ns + 10; /* arrivals behind the end */
    account.piece_max = pieces < TL_UDP_INTERVALS_MAX ? (unsigned)pieces : TL_UDP_INTERVALS_MAX;
    account.pieces = calloc(account.piece_max, sizeof *account.pieces);
    size_t arrivals = (size_t)spec->train_length * spec->train_count;
    if (arrivals > 0) {
        account.train_arrivals = malloc(arrivals * sizeof *account.train_arrivals);
        account.train_firsts = malloc(spec->train_count * sizeof *account.train_firsts);
        account.train_spans = malloc(spec->train_count * sizeof *account.train_spans);
    }
    bool whole =
        account.pieces &&
        (arrivals == 0 || (account.train_arrivals && account.train_firsts && account.train_spans));
    enum tl_status status = whole ? udp_track_init(&account.track) : TL_NOMEM;
    if (status == TL_OK)
        status = udp_delays_init(&account.delays, spec->duration_ns);
    if (status != TL_OK) {
        udp_account_finish(&account);
        return status;
    }
    for (size_t i = 0; i < arrivals; i++)
        account.train_arrivals[i] = -1;
    for (unsigned i = 0; arrivals > 0 && i < spec->train_count; i++) {
        account.train_firsts[i].sent_ns = -1;
        account.train_spans[i] = (struct udp_span){INT64_MAX, INT64_MIN};
    }
    *ret_account = account;
    return TL_OK;
}

void udp_account_finish(struct udp_account *account)
{
    udp_track_finish(&account->track);
    udp_delays_finish(&account->delays);
    free(account->pieces);
    free(account->train_arrivals);
    free(account->train_firsts);
    free(account->train_spans);
    account->pieces = NULL;
    account->train_arrivals = NULL;
    account->train_firsts = NULL;
    account->train_spans = NULL;
}

/* The newest one is remembered: two divisions for each datagram are felt at millions a second. */
static struct udp_piece *piece_at(struct udp_account *account, int64_t time_ns)
{
    int64_t interval_ns = account->spec.interval_ns;
    if (time_ns >= account->newest_from_ns && time_ns < account->newest_from_ns + interval_ns)
        return account->newest;
    int64_t index = time_ns > 0 ? time_ns / interval_ns : 0;
    unsigned i = index < account->piece_max ? (unsigned)index : account->piece_max - 1;
    if (i >= account->piece_count)
        account->piece_count = i + 1;
    account->newest = &account->pieces[i];
    account->newest_from_ns = index * interval_ns;
    return account->newest;
}

static void add_delay(struct udp_account *account, struct udp_piece *piece, struct udp_point point)
{
    udp_delays_add(&account->delays, point);
    if (piece->delay_count == 0 || point.delay_ns < piece->delay_min_ns)
        piece->delay_min_ns = point.delay_ns;
    if (piece->delay_count == 0 || point.delay_ns > piece->delay_max_ns)
        piece->delay_max_ns = point.delay_ns;
    piece->delay_sum_ns += (double)point.delay_ns;
    piece->delay_count++;
}

static void add_to_train(struct udp_account *account, uint64_t sequence, struct udp_point point,
                         int64_t arrival_ns)
{
    const struct udp_account_spec *spec = &account->spec;
    if (sequence >= (uint64_t)spec->train_length * spec->train_count)
        return;
    struct udp_span *span = &account->train_spans[sequence / spec->train_length];
    account->train_arrivals[sequence] = arrival_ns;
    span->first_ns = point.sent_ns < span->first_ns ? point.sent_ns : span->first_ns;
    span->last_ns = point.sent_ns > span->last_ns ? point.sent_ns : span->last_ns;
    if (sequence % spec->train_length == 0)
        account->train_firsts[sequence / spec->train_length] = point;
}

void udp_account_add(struct udp_account *account, uint64_t sequence, int64_t sent_ns,
                     unsigned bytes, int64_t arrival_ns, bool own_time)
{
    bool first = account->track.unique_count == 0;
    if (first)
        account->offset_ns = arrival_ns - sent_ns;
    struct udp_point point = {sent_ns, arrival_ns - sent_ns - account->offset_ns};
    if (udp_track_add(&account->track, sequence, arrival_ns, point) == UDP_DUPLICATE)
        return;
    if (first) {
        account->first_ns = arrival_ns;
        account->first_bytes = bytes;
    }
    if (arrival_ns > account->last_ns)
        account->last_ns = arrival_ns;
    account->bytes += bytes;
    struct udp_piece *piece = piece_at(account, sent_ns);
    piece->received_count++;
    piece->received_bytes += bytes;
    piece_at(account, arrival_ns - account->offset_ns)->arrived_bytes += bytes;
    if (own_time)
        add_delay(account, piece, point);
    add_to_train(account, sequence, point, arrival_ns);
}

static void close_pieces(const struct udp_account *account, const struct udp_base *base,
                         struct tl_udp_interval *ret_intervals)
{
    for (unsigned i = 0; i < account->piece_count; i++) {
        const struct udp_piece *piece = &account->pieces[i];
        int64_t start_ns = i * account->spec.interval_ns;
        double line_ns = base->base_ns +
                         base->slope * ((double)start_ns + 0.5 * (double)account->spec.interval_ns);
        bool known = piece->delay_count > 0 && !account->clock_stepped;
        double mean_ns = piece->delay_sum_ns / (double)piece->delay_count;
        ret_intervals[i] = (struct tl_udp_interval){
            .start_ns = start_ns,
            .received_count = piece->received_count,
            .received_bytes = piece->received_bytes,
            .arrived_bytes = piece->arrived_bytes,
            .delay_min_ns = known ? fmax((double)piece->delay_min_ns - line_ns, 0) : NAN,
            .delay_mean_ns = known ? fmax(mean_ns - line_ns, 0) : NAN,
            .delay_max_ns = known ? fmax((double)piece->delay_max_ns - line_ns, 0) : NAN};
    }
}

/* What came with less than half the mean gap between came together: a link that serves evenly
 * leaves nearly as many bundles as datagrams, a grant leaves one. */
static unsigned count_bundles(const int64_t *gaps, unsigned gap_count,
                              const struct tl_udp_train *train)
{
    unsigned count = 1;
    for (unsigned i = 0; i < gap_count; i++)
        count += 2 * gaps[i] * (train->received_count - 1) >= train->dispersion_ns;
    return count;
}

static void close_train(const int64_t *arrivals, unsigned length, struct tl_udp_train *ret_train)
{
    struct tl_udp_train train = {
        .dispersion_ns = -1, .gap_min_ns = -1, .gap_median_ns = -1, .delay_first_ns = -1};
    int64_t gaps[TL_UDP_TRAIN_MAX], first_ns = INT64_MAX, last_ns = INT64_MIN;
    unsigned gap_count = 0;
    bool rising = true;
    for (unsigned i = 0; i < length; i++) {
        if (arrivals[i] < 0)
            continue;
        train.received_count++;
        first_ns = arrivals[i] < first_ns ? arrivals[i] : first_ns;
        rising = rising && arrivals[i] >= last_ns;
        last_ns = arrivals[i] > last_ns ? arrivals[i] : last_ns;
        if (i > 0 && arrivals[i - 1] >= 0)
            gaps[gap_count++] = arrivals[i] - arrivals[i - 1];
    }
    if (train.received_count >= 2)
        train.dispersion_ns = last_ns - first_ns;
    train.in_order = rising && train.received_count == length;
    if (gap_count > 0) {
        tl_stats_sort_ns(gaps, gap_count);
        train.gap_min_ns = gaps[0] > 0 ? gaps[0] : 0;
        train.gap_median_ns = gaps[gap_count / 2] > 0 ? gaps[gap_count / 2] : 0;
        train.bundle_count = count_bundles(gaps, gap_count, &train);
    }
    *ret_train = train;
}

static void close_trains(const struct udp_account *account, const struct udp_base *base,
                         struct tl_udp_train *ret_trains)
{
    unsigned length = account->spec.train_length;
    for (unsigned i = 0; i < account->spec.train_count; i++) {
        const struct udp_span *span = &account->train_spans[i];
        close_train(account->train_arrivals + (size_t)i * length, length, &ret_trains[i]);
        if (span->last_ns > span->first_ns)
            ret_trains[i].sent_ns = span->last_ns - span->first_ns;
        if (account->train_firsts[i].sent_ns >= 0 && isfinite(base->base_ns))
            ret_trains[i].delay_first_ns = (int64_t)udp_queueing_ns(base, account->train_firsts[i]);
    }
}

static void close_numbers(struct udp_account *account, uint64_t sent_count)
{
    udp_damage_close(&account->damage, &account->track, sent_count);
    udp_track_close(&account->track, sent_count);
}

void udp_account_close(struct udp_account *account, uint64_t sent_count,
                       struct tl_udp_receiver *ret_receiver, struct tl_udp_interval *ret_intervals,
                       unsigned *ret_interval_count, struct tl_udp_train *ret_trains)
{
    struct udp_track *track = &account->track;
    struct udp_base base;
    close_numbers(account, sent_count);
    udp_base_fit(account->delays.bins, UDP_DELAY_BINS, &base);
    if (account->clock_stepped)
        base = (struct udp_base){.base_ns = NAN};
    struct tl_udp_receiver receiver = {
        .received_count = track->unique_count,
        .received_bytes = account->bytes,
        .received_bps = NAN,
        .span_ns = track->unique_count > 0 ? account->last_ns - account->first_ns : 0,
        .missing_count = sent_count > track->unique_count ? sent_count - track->unique_count : 0,
        .damaged_count = account->damage.damaged_count,
        .duplicate_count = track->duplicate_count,
        .reordered_count = track->reordered_count,
        .reorder_extent_max_count = track->extent_max,
        .reorder_late_max_ns = track->late_max_ns,
        .foreign_count = account->foreign_count + account->damage.added_count,
        .runs = track->runs,
    };
    if (receiver.span_ns > 0)
        receiver.received_bps =
            (double)(account->bytes - account->first_bytes) * 8e9 / (double)receiver.span_ns;
    udp_delays_analyse(&account->delays, &base, track->losses, track->loss_count, &receiver.delay);
    receiver.delay.gap_count = track->losses_seen;
    receiver.delay.clock_stepped = account->clock_stepped;
    if (account->clock_stepped)
        receiver.delay.jitter_ns = NAN;
    close_pieces(account, &base, ret_intervals);
    *ret_interval_count = account->piece_count;
    close_trains(account, &base, ret_trains);
    *ret_receiver = receiver;
}
