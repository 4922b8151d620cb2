/* The bins of a capture become readings, so that what a capture shows goes through the same
 * analysis as what this program measures. */
#include "packet_log.h"

#include <math.h>

#include "tightlink/base/time.h"
#include "tightlink/engine/series.h"

#define STEP_NS (50 * TL_NS_PER_MS)

/* Counters so far. */
struct sums {
    double sent, acked, delivered, segments, retrans, retrans_bytes, dsack, late;
    double busy, rwnd, sndbuf;
    double rtt_ns, rtt_min_ns;
    double window, flight; /* the most of a step */
    bool announced;
    bool lost;
};

/* A step's share of the ledger, by how its parts were counted. */
static void add_parts(struct sums *sums, const struct tl_packet_bin *bin,
                      const struct tl_packet_ledger *ledger)
{
    double spent_wait = ledger->spent ? (double)bin->spent_wait_ns : 0,
           spent_slack = ledger->spent ? (double)bin->spent_slack_ns : 0;
    double wait = bin->wait_ns - spent_wait, slack = bin->slack_ns - spent_slack;
    double app = bin->idle_ns + (ledger->wait == TL_WAIT_APP ? wait : 0) +
                 (ledger->slack == TL_WAIT_APP ? slack : 0);
    /* Busy is all time that is not the program's. */
    sums->busy += bin->idle_ns + wait + slack + bin->rwnd_ns + bin->recovery_ns - app;
    sums->rwnd += bin->rwnd_ns;
    sums->sndbuf +=
        (ledger->wait == TL_WAIT_SNDBUF ? wait : 0) + (ledger->slack == TL_WAIT_SNDBUF ? slack : 0);
}

static void add_bin(struct sums *sums, const struct tl_packet_half *half,
                    const struct tl_packet_bin *bin, const struct tl_packet_ledger *ledger)
{
    sums->sent += (double)bin->sent_bytes;
    sums->acked += (double)bin->acked_bytes;
    sums->delivered += (double)bin->delivered_bytes;
    sums->segments += bin->segments_count;
    sums->retrans += bin->retrans_count;
    sums->retrans_bytes += (double)bin->retrans_count * half->mss_bytes;
    sums->dsack += bin->dsack_count;
    sums->late += bin->late_count;
    sums->lost |= bin->retrans_count > 0;
    if (bin->rtt_count) {
        sums->rtt_ns = bin->rtt_sum_ns / bin->rtt_count;
        sums->rtt_min_ns = fmin(sums->rtt_min_ns, bin->rtt_min_ns);
    }
    if (bin->window_min_bytes != UINT32_MAX) {
        sums->window = fmax(sums->announced ? sums->window : 0, bin->window_max_bytes);
        sums->announced = true;
    }
    sums->flight = fmax(sums->flight, bin->flight_max_bytes);
    add_parts(sums, bin, ledger);
}

static void set(struct tl_tcp_sample *sample, enum tl_sample_field field, double value)
{
    if (isfinite(value) && value >= 0)
        tl_sample_set(sample, field, (uint64_t)value);
}

static uint64_t options_of(const struct tl_packet_flow *flow)
{
    const struct tl_packet_half *client = &flow->halves[TL_CLIENT],
                                *server = &flow->halves[TL_SERVER];
    return (client->has_timestamps && server->has_timestamps ? TL_TCP_OPT_TIMESTAMPS : 0) |
           (client->sack_permitted && server->sack_permitted ? TL_TCP_OPT_SACK : 0) |
           (client->has_wscale && server->has_wscale ? TL_TCP_OPT_WSCALE : 0);
}

static void fill_sender(const struct tl_packet_flow *flow, const struct tl_packet_half *half,
                        const struct sums *sums, const struct tl_packet_ledger *ledger,
                        struct tl_tcp_sample *sample)
{
    double mss = half->mss_bytes ? half->mss_bytes : 1448;
    set(sample, TL_SF_bytes_acked, sums->acked);
    set(sample, TL_SF_bytes_retrans, sums->retrans_bytes);
    /* In flight is what a sender's counters differ by. */
    set(sample, TL_SF_bytes_sent, sums->acked + sums->flight + sums->retrans_bytes);
    set(sample, TL_SF_data_segs_out_count, sums->segments);
    set(sample, TL_SF_total_retrans_count, sums->retrans);
    set(sample, TL_SF_dsack_dups_count, sums->dsack);
    set(sample, TL_SF_reord_seen_count, sums->late);
    set(sample, TL_SF_snd_mss_bytes, mss);
    set(sample, TL_SF_delivered_count, sums->delivered / mss);
    set(sample, TL_SF_snd_cwnd_count, fmax(sums->flight / mss, 1));
    set(sample, TL_SF_snd_ssthresh_count, sums->lost ? 1 : INT32_MAX);
    if (sums->rtt_ns > 0) {
        set(sample, TL_SF_rtt_ns, sums->rtt_ns);
        set(sample, TL_SF_min_rtt_ns, sums->rtt_min_ns);
    }
    if (ledger->window_known) {
        set(sample, TL_SF_snd_wnd_bytes, sums->window);
        if (half->window_scale_known)
            tl_sample_set(sample, TL_SF_options, options_of(flow));
    }
    if (ledger->known) {
        set(sample, TL_SF_busy_ns, sums->busy);
        set(sample, TL_SF_rwnd_limited_ns, sums->rwnd);
        set(sample, TL_SF_sndbuf_limited_ns, sums->sndbuf);
    }
}

enum tl_status tl_packet_log(const struct tl_packet_flow *flow, int sender,
                             const struct tl_packet_ledger *ledger,
                             struct tl_sample_log *ret_sender, struct tl_sample_log *ret_receiver)
{
    const struct tl_packet_half *half = &flow->halves[sender];
    struct sums sums = {.rtt_min_ns = INFINITY};
    enum tl_status status = TL_OK;
    int64_t span_ns = half->bin_ns * half->bins_count, step_ns = STEP_NS;
    if (step_ns < span_ns / (TL_SERIES_POINTS_MAX - 100))
        step_ns = span_ns / (TL_SERIES_POINTS_MAX - 100);
    int64_t next_ns = 0;
    for (uint32_t i = 0; i < half->bins_count && status == TL_OK; i++) {
        int64_t time_ns = (int64_t)(i + 1) * half->bin_ns;
        if (i == 0) /* where counting begins */
            next_ns = step_ns;
        add_bin(&sums, half, &half->bins[i], ledger);
        if (time_ns < next_ns && i + 1 < half->bins_count)
            continue;
        struct tl_tcp_sample sent = {.time_ns = time_ns, .last = i + 1 == half->bins_count},
                             received = sent;
        fill_sender(flow, half, &sums, ledger, &sent);
        set(&received, TL_SF_app_bytes, half->acked_bytes ? sums.delivered : sums.sent);
        status = tl_sample_log_add(ret_sender, &sent, TL_SERIES_POINTS_MAX);
        if (status == TL_OK)
            status = tl_sample_log_add(ret_receiver, &received, TL_SERIES_POINTS_MAX);
        sums.flight = 0;
        sums.announced = false;
        next_ns = time_ns + step_ns;
    }
    return status;
}
