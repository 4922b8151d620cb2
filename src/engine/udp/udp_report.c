/* Accounts to numbers on the wire and back. */
#include "udp_report.h"

#include <math.h>

#include "udp_flow.h"

#define NS_MAX    (INT64_C(1) << 53) /* 104 days: exact in a double, absurd in a test */
#define COUNT_MAX (UINT64_C(1) << 60)

/* --- To numbers ------------------------------------------------------------------------------- */

/* An unknown number stays out. */
static void set_ns(struct tl_udp_fields *fields, unsigned field, double ns)
{
    if (isfinite(ns) && ns >= 0 && ns < (double)NS_MAX)
        tl_udp_field_set(fields, field, (uint64_t)llround(ns));
}

static void set_known(struct tl_udp_fields *fields, unsigned field, uint64_t value)
{
    if (value != UINT64_MAX)
        tl_udp_field_set(fields, field, value);
}

static void set_signed(struct tl_udp_fields *fields, unsigned field, double value)
{
    if (!isfinite(value) || fabs(value) > 1e12)
        return;
    int64_t n = llround(value);
    tl_udp_field_set(fields, field, n >= 0 ? 2 * (uint64_t)n : 2 * (uint64_t)(-n) - 1);
}

static void from_sender(const struct udp_flow *flow, struct tl_udp_fields *f)
{
    const struct tl_udp_sender *s = &flow->sender;
    tl_udp_field_set(f, TL_US_sent_count, s->sent_count);
    tl_udp_field_set(f, TL_US_sent_bytes, s->sent_bytes);
    tl_udp_field_set(f, TL_US_elapsed_ns, (uint64_t)s->elapsed_ns);
    tl_udp_field_set(f, TL_US_largest_burst_count, s->largest_burst_count);
    tl_udp_field_set(f, TL_US_blocked_count, s->blocked_count);
    tl_udp_field_set(f, TL_US_local_drop_count, s->local_drop_count);
    tl_udp_field_set(f, TL_US_forfeited_ns, (uint64_t)s->forfeited_ns);
    tl_udp_field_set(f, TL_US_gso_segments_count, s->gso_segments);
    tl_udp_field_set(f, TL_US_end, flow->sender_end);
    tl_udp_field_set(f, TL_US_errnum, (uint64_t)flow->errnum);
    set_known(f, TL_US_cpu_ns, s->cpu_ns);
    set_known(f, TL_US_run_delay_ns, s->run_delay_ns);
}

static void from_delay(const struct tl_udp_delay *d, struct tl_udp_fields *f)
{
    tl_udp_field_set(f, TL_UR_delay_sample_count, d->sample_count);
    set_ns(f, TL_UR_delay_p10_ns, d->p10_ns);
    set_ns(f, TL_UR_delay_median_ns, d->median_ns);
    set_ns(f, TL_UR_delay_p90_ns, d->p90_ns);
    set_ns(f, TL_UR_delay_p99_ns, d->p99_ns);
    set_ns(f, TL_UR_delay_max_ns, d->max_ns);
    set_ns(f, TL_UR_jitter_ns, d->jitter_ns);
    set_signed(f, TL_UR_skew_ppb, d->skew_ppm * 1e3);
    set_ns(f, TL_UR_before_loss_median_ns, d->before_loss_median_ns);
    set_ns(f, TL_UR_before_loss_p10_ns, d->before_loss_p10_ns);
    tl_udp_field_set(f, TL_UR_gap_count, d->gap_count);
    tl_udp_field_set(f, TL_UR_clock_stepped, d->clock_stepped);
}

static void from_receiver(const struct udp_flow *flow, struct tl_udp_fields *f)
{
    const struct tl_udp_receiver *r = &flow->receiver;
    tl_udp_field_set(f, TL_UR_received_count, r->received_count);
    tl_udp_field_set(f, TL_UR_received_bytes, r->received_bytes);
    tl_udp_field_set(f, TL_UR_first_bytes, flow->account.first_bytes);
    tl_udp_field_set(f, TL_UR_span_ns, (uint64_t)r->span_ns);
    tl_udp_field_set(f, TL_UR_missing_count, r->missing_count);
    set_known(f, TL_UR_local_drop_count, r->local_drop_count);
    set_known(f, TL_UR_checksum_error_count, r->checksum_error_count);
    tl_udp_field_set(f, TL_UR_damaged_count, r->damaged_count);
    tl_udp_field_set(f, TL_UR_duplicate_count, r->duplicate_count);
    tl_udp_field_set(f, TL_UR_reordered_count, r->reordered_count);
    tl_udp_field_set(f, TL_UR_reorder_extent_max_count, r->reorder_extent_max_count);
    tl_udp_field_set(f, TL_UR_reorder_extent_sum_count, flow->account.track.extent_sum);
    tl_udp_field_set(f, TL_UR_reorder_late_max_ns, (uint64_t)r->reorder_late_max_ns);
    tl_udp_field_set(f, TL_UR_foreign_count, r->foreign_count);
    tl_udp_field_set(f, TL_UR_run_count, r->runs.run_count);
    tl_udp_field_set(f, TL_UR_run_longest_count, r->runs.longest_count);
    for (unsigned i = 0; i < TL_UDP_RUN_CLASSES; i++)
        if (r->runs.classes[i] > 0 || i == 0)
            tl_udp_field_set(f, TL_UR_runs_0_count + i, r->runs.classes[i]);
    from_delay(&r->delay, f);
    tl_udp_field_set(f, TL_UR_rcvbuf_bytes, (uint64_t)r->rcvbuf_bytes);
    tl_udp_field_set(f, TL_UR_gro, r->gro);
    tl_udp_field_set(f, TL_UR_head_crc, r->crc == TL_UDP_CRC_HEAD);
    set_known(f, TL_UR_cpu_ns, r->cpu_ns);
    set_known(f, TL_UR_run_delay_ns, r->run_delay_ns);
    set_known(f, TL_UR_host_rcvbuf_error_count, r->host_rcvbuf_error_count);
    set_known(f, TL_UR_host_checksum_error_count, r->host_checksum_error_count);
    set_known(f, TL_UR_host_softnet_drop_count, r->host_softnet_drop_count);
}

void udp_report_from_flow(const struct udp_flow *flow, struct tl_wire_udp_report *ret_report)
{
    *ret_report = (struct tl_wire_udp_report){.test_id = flow->spec.test_id,
                                              .role = flow->spec.send ? TL_UDP_ROLE_SENDER
                                                                      : TL_UDP_ROLE_RECEIVER,
                                              .is_final = true};
    if (flow->spec.send)
        from_sender(flow, &ret_report->fields);
    else
        from_receiver(flow, &ret_report->fields);
}

static void from_interval(const struct udp_flow *flow, unsigned i, struct tl_udp_fields *f)
{
    tl_udp_field_set(f, TL_UI_index, i);
    if (flow->spec.send) {
        tl_udp_field_set(f, TL_UI_sent_count, flow->sent_pieces[i].count);
        tl_udp_field_set(f, TL_UI_sent_bytes, flow->sent_pieces[i].bytes);
        return;
    }
    const struct tl_udp_interval *interval = &flow->intervals[i];
    tl_udp_field_set(f, TL_UI_received_count, interval->received_count);
    tl_udp_field_set(f, TL_UI_received_bytes, interval->received_bytes);
    tl_udp_field_set(f, TL_UI_arrived_bytes, interval->arrived_bytes);
    set_ns(f, TL_UI_delay_min_ns, interval->delay_min_ns);
    set_ns(f, TL_UI_delay_mean_ns, interval->delay_mean_ns);
    set_ns(f, TL_UI_delay_max_ns, interval->delay_max_ns);
}

static void from_train(const struct udp_flow *flow, unsigned i, struct tl_udp_fields *f)
{
    tl_udp_field_set(f, TL_UT_index, i);
    if (flow->spec.send) {
        const struct udp_sent_train *sent = &flow->sent_trains[i];
        tl_udp_field_set(f, TL_UT_sent_count, sent->count);
        tl_udp_field_set(f, TL_UT_sent_ns, (uint64_t)(sent->last_ns - sent->first_ns));
        return;
    }
    const struct tl_udp_train *train = &flow->trains[i];
    tl_udp_field_set(f, TL_UT_received_count, train->received_count);
    set_ns(f, TL_UT_dispersion_ns, (double)train->dispersion_ns); /* -1 stays out */
    set_ns(f, TL_UT_gap_min_ns, (double)train->gap_min_ns);
    set_ns(f, TL_UT_gap_median_ns, (double)train->gap_median_ns);
    set_ns(f, TL_UT_delay_first_ns, (double)train->delay_first_ns);
    tl_udp_field_set(f, TL_UT_in_order, train->in_order);
    tl_udp_field_set(f, TL_UT_bundle_count, train->bundle_count);
}

bool udp_series_from_flow(const struct udp_flow *flow, enum tl_udp_series_kind kind, unsigned *at,
                          struct tl_wire_udp_series *ret_series)
{
    unsigned pieces = flow->spec.send ? flow->sent_piece_count : flow->interval_count;
    unsigned count = kind == TL_UDP_SERIES_INTERVALS ? pieces : flow->spec.train_count;
    *ret_series = (struct tl_wire_udp_series){.test_id = flow->spec.test_id, .kind = kind};
    for (; *at < count && ret_series->count < TL_UDP_SERIES_MAX; ++*at) {
        struct tl_udp_fields *fields = &ret_series->records[ret_series->count++];
        if (kind == TL_UDP_SERIES_INTERVALS)
            from_interval(flow, *at, fields);
        else
            from_train(flow, *at, fields);
    }
    return ret_series->count > 0;
}

/* --- And back --------------------------------------------------------------------------------- */

static uint64_t get_count(const struct tl_udp_fields *fields, unsigned field)
{
    uint64_t value = tl_udp_field_has(fields, field) ? fields->values[field] : 0;
    return value < COUNT_MAX ? value : 0;
}

static uint64_t get_known(const struct tl_udp_fields *fields, unsigned field)
{
    bool good = tl_udp_field_has(fields, field) && fields->values[field] < COUNT_MAX;
    return good ? fields->values[field] : UINT64_MAX;
}

static int64_t get_time(const struct tl_udp_fields *fields, unsigned field, int64_t unknown_ns)
{
    bool good = tl_udp_field_has(fields, field) && fields->values[field] < NS_MAX;
    return good ? (int64_t)fields->values[field] : unknown_ns;
}

static double get_ns(const struct tl_udp_fields *fields, unsigned field)
{
    int64_t ns = get_time(fields, field, -1);
    return ns >= 0 ? (double)ns : NAN;
}

static double get_signed(const struct tl_udp_fields *fields, unsigned field)
{
    if (!tl_udp_field_has(fields, field) || fields->values[field] >= NS_MAX)
        return NAN;
    uint64_t value = fields->values[field];
    uint64_t half = value >> 1;
    return value & 1 ? -(double)half - 1 : (double)half;
}

void udp_sender_from_fields(const struct tl_udp_fields *f, struct tl_udp_sender *ret_sender)
{
    *ret_sender = (struct tl_udp_sender){
        .sent_count = get_count(f, TL_US_sent_count),
        .sent_bytes = get_count(f, TL_US_sent_bytes),
        .elapsed_ns = get_time(f, TL_US_elapsed_ns, 0),
        .offered_bps = NAN,
        .achieved_bps = NAN,
        .largest_burst_count = get_count(f, TL_US_largest_burst_count),
        .blocked_count = get_count(f, TL_US_blocked_count),
        .local_drop_count = get_count(f, TL_US_local_drop_count),
        .forfeited_ns = get_time(f, TL_US_forfeited_ns, 0),
        .gso_segments = (unsigned)(get_count(f, TL_US_gso_segments_count) & 255),
        .cpu_ns = get_known(f, TL_US_cpu_ns),
        .run_delay_ns = get_known(f, TL_US_run_delay_ns)};
}

static void get_delay(const struct tl_udp_fields *f, struct tl_udp_delay *delay)
{
    *delay = (struct tl_udp_delay){.sample_count = get_count(f, TL_UR_delay_sample_count),
                                   .p10_ns = get_ns(f, TL_UR_delay_p10_ns),
                                   .median_ns = get_ns(f, TL_UR_delay_median_ns),
                                   .p90_ns = get_ns(f, TL_UR_delay_p90_ns),
                                   .p99_ns = get_ns(f, TL_UR_delay_p99_ns),
                                   .max_ns = get_ns(f, TL_UR_delay_max_ns),
                                   .jitter_ns = get_ns(f, TL_UR_jitter_ns),
                                   .skew_ppm = get_signed(f, TL_UR_skew_ppb) / 1e3,
                                   .before_loss_median_ns = get_ns(f, TL_UR_before_loss_median_ns),
                                   .before_loss_p10_ns = get_ns(f, TL_UR_before_loss_p10_ns),
                                   .gap_count = get_count(f, TL_UR_gap_count),
                                   .clock_stepped = get_count(f, TL_UR_clock_stepped) == 1};
}

void udp_receiver_from_fields(const struct tl_udp_fields *f, struct tl_udp_receiver *ret_receiver)
{
    struct tl_udp_receiver r = {
        .received_count = get_count(f, TL_UR_received_count),
        .received_bytes = get_count(f, TL_UR_received_bytes),
        .received_bps = NAN,
        .span_ns = get_time(f, TL_UR_span_ns, 0),
        .missing_count = get_count(f, TL_UR_missing_count),
        .local_drop_count = get_known(f, TL_UR_local_drop_count),
        .checksum_error_count = get_known(f, TL_UR_checksum_error_count),
        .damaged_count = get_count(f, TL_UR_damaged_count),
        .duplicate_count = get_count(f, TL_UR_duplicate_count),
        .reordered_count = get_count(f, TL_UR_reordered_count),
        .reorder_extent_max_count = get_count(f, TL_UR_reorder_extent_max_count),
        .reorder_late_max_ns = get_time(f, TL_UR_reorder_late_max_ns, 0),
        .foreign_count = get_count(f, TL_UR_foreign_count),
        .rcvbuf_bytes = (int)(get_count(f, TL_UR_rcvbuf_bytes) & INT32_MAX),
        .gro = get_count(f, TL_UR_gro) == 1,
        .crc = get_count(f, TL_UR_head_crc) == 1 ? TL_UDP_CRC_HEAD : TL_UDP_CRC_WHOLE,
        .cpu_ns = get_known(f, TL_UR_cpu_ns),
        .run_delay_ns = get_known(f, TL_UR_run_delay_ns),
        .host_rcvbuf_error_count = get_known(f, TL_UR_host_rcvbuf_error_count),
        .host_checksum_error_count = get_known(f, TL_UR_host_checksum_error_count),
        .host_softnet_drop_count = get_known(f, TL_UR_host_softnet_drop_count)};
    uint64_t first = get_count(f, TL_UR_first_bytes);
    if (r.span_ns > 0 && r.received_bytes >= first)
        r.received_bps = (double)(r.received_bytes - first) * 8e9 / (double)r.span_ns;
    r.runs.run_count = get_count(f, TL_UR_run_count);
    r.runs.longest_count = get_count(f, TL_UR_run_longest_count);
    for (unsigned i = 0; i < TL_UDP_RUN_CLASSES; i++)
        r.runs.classes[i] = get_count(f, TL_UR_runs_0_count + i);
    get_delay(f, &r.delay);
    *ret_receiver = r;
}

bool udp_interval_merge(const struct tl_udp_fields *f, bool far_sends, int64_t interval_ns,
                        struct tl_udp_interval *intervals, unsigned max, unsigned *count)
{
    uint64_t index = get_known(f, TL_UI_index);
    if (index >= max)
        return false;
    struct tl_udp_interval *interval = &intervals[index];
    if (index >= *count)
        *count = (unsigned)index + 1;
    if (far_sends) {
        interval->sent_count = get_count(f, TL_UI_sent_count);
        interval->sent_bytes = get_count(f, TL_UI_sent_bytes);
    } else {
        interval->received_count = get_count(f, TL_UI_received_count);
        interval->received_bytes = get_count(f, TL_UI_received_bytes);
        interval->arrived_bytes = get_count(f, TL_UI_arrived_bytes);
        interval->delay_min_ns = get_ns(f, TL_UI_delay_min_ns);
        interval->delay_mean_ns = get_ns(f, TL_UI_delay_mean_ns);
        interval->delay_max_ns = get_ns(f, TL_UI_delay_max_ns);
    }
    interval->start_ns = (int64_t)index * interval_ns;
    return true;
}

bool udp_train_merge(const struct tl_udp_fields *f, bool far_sends, struct tl_udp_train *trains,
                     unsigned count)
{
    uint64_t index = get_known(f, TL_UT_index);
    if (index >= count)
        return false;
    struct tl_udp_train *train = &trains[index];
    if (far_sends) {
        train->sent_count = (unsigned)(get_count(f, TL_UT_sent_count) & 255);
        train->sent_ns = get_time(f, TL_UT_sent_ns, 0);
        return true;
    }
    train->received_count = (unsigned)(get_count(f, TL_UT_received_count) & 255);
    train->dispersion_ns = get_time(f, TL_UT_dispersion_ns, -1);
    train->gap_min_ns = get_time(f, TL_UT_gap_min_ns, -1);
    train->gap_median_ns = get_time(f, TL_UT_gap_median_ns, -1);
    train->delay_first_ns = get_time(f, TL_UT_delay_first_ns, -1);
    train->in_order = get_count(f, TL_UT_in_order) == 1;
    train->bundle_count = (unsigned)(get_count(f, TL_UT_bundle_count) & 255);
    return true;
}
