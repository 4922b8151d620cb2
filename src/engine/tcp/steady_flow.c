/* What the sender's and the receiver's TCP did over a window of time: ledger, round
 * trips, losses, windows. One log a call; tl_*_stats_sum() add streams. */
#include <math.h>

#include "tightlink/engine/steady.h"

#define TCP_STATE_CLOSE 7 /* the kernel has let the connection's state go */
/* Chronometers count jiffies (4 ms at HZ=250) and are read apart from the clock. */
#define LEDGER_SLACK_RATIO 0.02
#define LEDGER_SLACK_NS    10e6

/* --- Readings of a window ----------------------------------------------------------- */

struct window {
    const struct tl_sample_log *log;
    int64_t from_ns, to_ns;
    size_t next;
    int64_t last_ns;
};

static struct window window_of(const struct tl_sample_log *log, int64_t from_ns, int64_t to_ns)
{
    return (struct window){.log = log, .from_ns = from_ns, .to_ns = to_ns, .last_ns = INT64_MIN};
}

/* The next reading in time order; NULL at the end. */
static const struct tl_tcp_sample *next_reading(struct window *window)
{
    while (window->next < window->log->count) {
        const struct tl_tcp_sample *sample = &window->log->samples[window->next++];
        if (sample->time_ns < window->from_ns || sample->time_ns > window->to_ns ||
            sample->time_ns <= window->last_ns ||
            (tl_sample_has(sample, TL_SF_state) && sample->state == TCP_STATE_CLOSE))
            continue;
        window->last_ns = sample->time_ns;
        return sample;
    }
    return NULL;
}

/* Growth of a counter over the readings that have it; NAN when it runs backwards, and
 * with fewer than two of them. */
static double counter_growth(struct window window, enum tl_sample_field field)
{
    const struct tl_tcp_sample *sample;
    uint64_t first = 0, last = 0;
    size_t readings = 0;
    while ((sample = next_reading(&window))) {
        uint64_t value = tl_sample_get(sample, field);
        if (!tl_sample_has(sample, field))
            continue;
        if (readings > 0 && value < last)
            return NAN;
        if (readings++ == 0)
            first = value;
        last = value;
    }
    return readings >= 2 ? (double)(last - first) : NAN;
}

/* Mean, extremes and last of a gauge over the readings that have it. */
struct gauge {
    double sum, max, min, last;
    size_t count;
};

static const struct gauge no_gauge = {.max = -INFINITY, .min = INFINITY, .last = NAN};

static void gauge_add(struct gauge *gauge, double value)
{
    gauge->sum += value;
    gauge->max = fmax(gauge->max, value);
    gauge->min = fmin(gauge->min, value);
    gauge->last = value;
    gauge->count++;
}

static double gauge_mean(const struct gauge *gauge)
{
    return gauge->count > 0 ? gauge->sum / (double)gauge->count : NAN;
}

static double finite_or_nan(double value)
{
    return isfinite(value) ? value : NAN;
}

static struct gauge gauge_of(struct window window, enum tl_sample_field field)
{
    const struct tl_tcp_sample *sample;
    struct gauge gauge = no_gauge;
    while ((sample = next_reading(&window)))
        if (tl_sample_has(sample, field))
            gauge_add(&gauge, (double)tl_sample_get(sample, field));
    return gauge;
}

static double gauge_max(struct window window, enum tl_sample_field field)
{
    return finite_or_nan(gauge_of(window, field).max);
}

static double gauge_last(struct window window, enum tl_sample_field field)
{
    return gauge_of(window, field).last;
}

static void measure_window(struct window window, size_t *ret_readings, double *ret_elapsed_ns)
{
    const struct tl_tcp_sample *sample = next_reading(&window);
    int64_t first_ns = sample ? sample->time_ns : 0;
    for (*ret_readings = 0; sample; sample = next_reading(&window))
        (*ret_readings)++;
    *ret_elapsed_ns = *ret_readings >= 2 ? (double)(window.last_ns - first_ns) : NAN;
}

/* --- Ledger --------------------------------------------------------------------------- */

/* A part that is negative by no more than the readings' skew is 0. */
static double clamp_part(double part_ns, double slack_ns)
{
    return part_ns < 0 && part_ns >= -slack_ns ? 0 : part_ns;
}

/* sndbuf_full_ratio: see the ledger in steady.h; NAN where it is not known. */
static struct tl_ledger make_ledger(double elapsed_ns, double busy_ns, double rwnd_ns,
                                    double sndbuf_ns, double sndbuf_full_ratio)
{
    struct tl_ledger none = {false, NAN, NAN, NAN, NAN, NAN, elapsed_ns};
    double slack_ns = LEDGER_SLACK_RATIO * elapsed_ns + LEDGER_SLACK_NS;
    double network_ns = clamp_part(busy_ns - rwnd_ns - sndbuf_ns, slack_ns);
    double application_ns = clamp_part(elapsed_ns - busy_ns, slack_ns);
    double sum_ns = network_ns + application_ns + rwnd_ns + sndbuf_ns;
    /* Written so that NAN fails, too. */
    if (!(elapsed_ns > 0 && network_ns >= 0 && application_ns >= 0 && sum_ns > 0))
        return none;
    struct tl_ledger ledger = {.valid = true,
                               .application_ratio = application_ns / sum_ns,
                               .sndbuf_ratio = sndbuf_ns / sum_ns,
                               .sndbuf_kernel_ratio = sndbuf_ns / sum_ns,
                               .rwnd_ratio = rwnd_ns / sum_ns,
                               .network_ratio = network_ns / sum_ns,
                               .elapsed_ns = elapsed_ns};
    if (sndbuf_full_ratio > ledger.sndbuf_ratio) { /* not so for NAN */
        double missed = fmin(sndbuf_full_ratio - ledger.sndbuf_ratio, ledger.network_ratio);
        ledger.sndbuf_ratio += missed;
        ledger.network_ratio -= missed;
    }
    return ledger;
}

/* --- Losses ----------------------------------------------------------------------------- */

struct losses {
    double events;
    struct gauge rtt_ns; /* at the losses */
    bool known;
};

/* New retransmissions between two readings. Several events may lie between them where
 * the interval is longer than a round trip. */
static void count_losses(const struct tl_tcp_sample *before, const struct tl_tcp_sample *now,
                         int64_t *event_ns, struct losses *losses)
{
    if (now->total_retrans_count <= before->total_retrans_count)
        return;
    double rtt_ns = fmax((double)before->rtt_ns, (double)now->rtt_ns);
    double segments = (double)(now->total_retrans_count - before->total_retrans_count);
    double round_trips = rtt_ns > 0 ? (double)(now->time_ns - before->time_ns) / rtt_ns : 1;
    if (rtt_ns > 0)
        gauge_add(&losses->rtt_ns, rtt_ns);
    if (round_trips >= 2) {
        losses->events += fmin(segments, floor(round_trips));
    } else if (*event_ns == INT64_MIN || (double)(now->time_ns - *event_ns) >= rtt_ns) {
        losses->events += 1;
        *event_ns = now->time_ns;
    }
}

static struct losses find_losses(struct window window)
{
    struct losses losses = {.rtt_ns = no_gauge};
    const struct tl_tcp_sample *before = NULL, *now;
    int64_t event_ns = INT64_MIN;
    while ((now = next_reading(&window))) {
        if (!tl_sample_has(now, TL_SF_total_retrans_count))
            return (struct losses){.events = NAN, .rtt_ns = no_gauge};
        if (before) {
            count_losses(before, now, &event_ns, &losses);
            losses.known = true;
        }
        before = now;
    }
    if (!losses.known)
        losses.events = NAN;
    return losses;
}

/* --- Windows ------------------------------------------------------------------------------ */

struct windows {
    struct gauge inflight, cwnd_bytes, delivery;
    double full;        /* readings that fill the peer's window */
    double with_window; /* readings that know both */
    double sndbuf_full; /* readings in which only the send buffer keeps the sender back */
    double with_sndbuf; /* readings that could tell */
};

/* Whether only the send buffer keeps the sender back: all that is in it is on the way, the
 * kernel takes no more (a writer is woken when a third of the buffer is free, net/core/
 * stream.c), and neither congestion window nor receive window is used up. The kernel's own
 * chronometer (TCP_CHRONO_SNDBUF_LIMITED) misses such time once a loss has brought the
 * congestion window near the size of the bursts, because it starts only where a transmission
 * found the congestion window unused (net/ipv4/tcp_output.c, tcp_cwnd_validate()). */
static void look_at_sndbuf(const struct tl_tcp_sample *sample, double inflight_bytes,
                           struct windows *windows)
{
    static const enum tl_sample_field needed[] = {TL_SF_mem_wqueued_bytes,  TL_SF_mem_sndbuf_bytes,
                                                  TL_SF_outq_notsent_bytes, TL_SF_snd_mss_bytes,
                                                  TL_SF_snd_cwnd_count,     TL_SF_snd_wnd_bytes};
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
        if (!tl_sample_has(sample, needed[i]))
            return;
    double mss_bytes = (double)sample->snd_mss_bytes;
    double cwnd_bytes = (double)sample->snd_cwnd_count * mss_bytes;
    windows->with_sndbuf++;
    windows->sndbuf_full +=
        3 * (double)sample->mem_wqueued_bytes >= 2 * (double)sample->mem_sndbuf_bytes &&
        (double)sample->outq_notsent_bytes < mss_bytes &&
        inflight_bytes + 2 * mss_bytes <= cwnd_bytes &&
        inflight_bytes < 0.9 * (double)sample->snd_wnd_bytes;
}

static void look_at_windows(const struct tl_tcp_sample *sample, struct windows *windows)
{
    uint64_t inflight_bytes;
    bool has_mss = tl_sample_has(sample, TL_SF_snd_mss_bytes);
    if (tl_sample_in_flight(sample, &inflight_bytes)) {
        gauge_add(&windows->inflight, (double)inflight_bytes);
        look_at_sndbuf(sample, (double)inflight_bytes, windows);
        if (tl_sample_has(sample, TL_SF_snd_wnd_bytes)) {
            windows->with_window++;
            windows->full += (double)inflight_bytes >= 0.9 * (double)sample->snd_wnd_bytes;
        }
    }
    if (has_mss && tl_sample_has(sample, TL_SF_snd_cwnd_count))
        gauge_add(&windows->cwnd_bytes,
                  (double)sample->snd_cwnd_count * (double)sample->snd_mss_bytes);
    if (tl_sample_has(sample, TL_SF_delivery_rate_bps) && sample->app_limited == 0)
        gauge_add(&windows->delivery, (double)sample->delivery_rate_bps);
}

static void fill_windows(struct window window, struct tl_flow_stats *stats)
{
    struct windows windows = {.inflight = no_gauge, .cwnd_bytes = no_gauge, .delivery = no_gauge};
    struct gauge snd_wnd = gauge_of(window, TL_SF_snd_wnd_bytes);
    const struct tl_tcp_sample *sample;
    while ((sample = next_reading(&window)))
        look_at_windows(sample, &windows);
    stats->inflight_mean_bytes = gauge_mean(&windows.inflight);
    stats->inflight_max_bytes = finite_or_nan(windows.inflight.max);
    stats->cwnd_mean_bytes = gauge_mean(&windows.cwnd_bytes);
    stats->cwnd_max_bytes = finite_or_nan(windows.cwnd_bytes.max);
    stats->delivery_rate_max_bps = finite_or_nan(windows.delivery.max);
    stats->window_full_ratio = windows.with_window > 0 ? windows.full / windows.with_window : NAN;
    stats->sndbuf_full_ratio =
        windows.with_sndbuf > 0 ? windows.sndbuf_full / windows.with_sndbuf : NAN;
    stats->snd_wnd_mean_bytes = gauge_mean(&snd_wnd);
    stats->snd_wnd_max_bytes = finite_or_nan(snd_wnd.max);
}

/* --- The sender ---------------------------------------------------------------------------- */

/* The kernel's is the connection's own: all readings up to the window's end have a part in it. */
static double least_rtt_ns(struct window window)
{
    struct window since_start = window_of(window.log, INT64_MIN, window.to_ns);
    const struct tl_tcp_sample *sample;
    double least_ns = NAN;
    while ((sample = next_reading(&since_start)))
        least_ns = fmin(least_ns, tl_sample_least_rtt_ns(sample));
    return least_ns;
}

static void fill_rtt(struct window window, struct tl_flow_stats *stats)
{
    struct gauge smoothed = gauge_of(window, TL_SF_rtt_ns);
    stats->rtt_floor_ns = finite_or_nan(smoothed.min);
    stats->rtt_mean_ns = gauge_mean(&smoothed);
    stats->rtt_max_ns = finite_or_nan(smoothed.max);
    stats->rtt_min_ns = finite_or_nan(fmin(least_rtt_ns(window), smoothed.min));
}

static void fill_counters(struct window window, struct tl_flow_stats *stats)
{
    struct losses losses = find_losses(window);
    stats->sent_bytes = counter_growth(window, TL_SF_bytes_sent);
    stats->acked_bytes = counter_growth(window, TL_SF_bytes_acked);
    stats->retrans_bytes = counter_growth(window, TL_SF_bytes_retrans);
    stats->segments_count = counter_growth(window, TL_SF_data_segs_out_count);
    stats->retrans_count = counter_growth(window, TL_SF_total_retrans_count);
    stats->rto_count = counter_growth(window, TL_SF_total_rto_count);
    stats->dsack_count = counter_growth(window, TL_SF_dsack_dups_count);
    stats->reord_seen_count = counter_growth(window, TL_SF_reord_seen_count);
    stats->delivered_ce_count = counter_growth(window, TL_SF_delivered_ce_count);
    stats->loss_event_count = losses.events;
    stats->rtt_at_loss_ns = gauge_mean(&losses.rtt_ns);
}

/* A counter since the start is its own growth; what was not read is NAN. */
static double counter_now(const struct tl_tcp_sample *sample, enum tl_sample_field field)
{
    return sample && tl_sample_has(sample, field) ? (double)tl_sample_get(sample, field) : NAN;
}

void tl_ledger_so_far(const struct tl_tcp_sample *sender, struct tl_ledger *ret_ledger)
{
    *ret_ledger =
        make_ledger(sender ? (double)sender->time_ns : 0, counter_now(sender, TL_SF_busy_ns),
                    counter_now(sender, TL_SF_rwnd_limited_ns),
                    counter_now(sender, TL_SF_sndbuf_limited_ns), NAN);
}

void tl_flow_stats(const struct tl_sample_log *log, int64_t from_ns, int64_t to_ns,
                   struct tl_flow_stats *ret_stats)
{
    struct tl_flow_stats stats = {0};
    struct window window = window_of(log, from_ns, to_ns);
    measure_window(window, &stats.readings, &stats.elapsed_ns);
    fill_rtt(window, &stats);
    fill_counters(window, &stats);
    fill_windows(window, &stats);
    stats.ledger =
        make_ledger(stats.elapsed_ns, counter_growth(window, TL_SF_busy_ns),
                    counter_growth(window, TL_SF_rwnd_limited_ns),
                    counter_growth(window, TL_SF_sndbuf_limited_ns), stats.sndbuf_full_ratio);
    stats.room_wait_ratio = counter_growth(window, TL_SF_wait_ns) / stats.elapsed_ns;
    stats.mss_bytes = gauge_last(window, TL_SF_snd_mss_bytes);
    stats.pmtu_bytes = gauge_last(window, TL_SF_pmtu_bytes);
    stats.sndbuf_max_bytes = gauge_max(window, TL_SF_mem_sndbuf_bytes);
    stats.options = gauge_last(window, TL_SF_options);
    stats.snd_wscale_count = gauge_last(window, TL_SF_snd_wscale_count);
    stats.rcv_wscale_count = gauge_last(window, TL_SF_rcv_wscale_count);
    stats.thread_cpu_ratio = counter_growth(window, TL_SF_cpu_ns) / stats.elapsed_ns;
    stats.thread_wait_ratio = counter_growth(window, TL_SF_run_delay_ns) / stats.elapsed_ns;
    *ret_stats = stats;
}

/* --- The receiver ---------------------------------------------------------------------------- */

void tl_receiver_stats(const struct tl_sample_log *log, int64_t from_ns, int64_t to_ns,
                       struct tl_receiver_stats *ret_stats)
{
    struct tl_receiver_stats stats = {0};
    struct window window = window_of(log, from_ns, to_ns);
    struct gauge inq = gauge_of(window, TL_SF_inq_bytes);
    measure_window(window, &stats.readings, &stats.elapsed_ns);
    stats.received_bytes = counter_growth(window, TL_SF_app_bytes);
    stats.rcv_wnd_max_bytes = gauge_max(window, TL_SF_rcv_wnd_bytes);
    stats.rcvbuf_max_bytes = gauge_max(window, TL_SF_mem_rcvbuf_bytes);
    stats.inq_mean_bytes = gauge_mean(&inq);
    stats.inq_max_bytes = finite_or_nan(inq.max);
    stats.data_wait_ratio = counter_growth(window, TL_SF_wait_ns) / stats.elapsed_ns;
    stats.ooo_count = counter_growth(window, TL_SF_rcv_ooopack_count);
    stats.drops_count = counter_growth(window, TL_SF_mem_drops_count);
    stats.mss_bytes = gauge_last(window, TL_SF_rcv_mss_bytes);
    stats.options = gauge_last(window, TL_SF_options);
    stats.snd_wscale_count = gauge_last(window, TL_SF_snd_wscale_count);
    stats.rcv_wscale_count = gauge_last(window, TL_SF_rcv_wscale_count);
    stats.thread_cpu_ratio = counter_growth(window, TL_SF_cpu_ns) / stats.elapsed_ns;
    stats.thread_wait_ratio = counter_growth(window, TL_SF_run_delay_ns) / stats.elapsed_ns;
    *ret_stats = stats;
}
