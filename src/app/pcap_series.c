/* A connection of a capture over time: what plots show. */
#include <math.h>

#include "capture_run.h"
#include "tightlink/base/units.h"
#include "tightlink/flow/limits.h"

_Static_assert(TL_APP_PCAP_STEPS_MAX >= TL_PACKETS_BINS_MAX, "a step a bin");

static void add_step(const struct tl_packet_half *half, const struct tl_packet_bin *bin,
                     struct tl_app_pcap_series *series)
{
    size_t i = series->count++;
    bool acked = half->acked_bytes > 0; /* else of one direction only: what was sent */
    double window = i ? series->window_bytes[i - 1] : (double)NAN;
    if (bin->window_min_bytes != UINT32_MAX && half->window_scale_known)
        window = bin->window_max_bytes;
    series->rate_bps[i] =
        tl_bps_from_bytes_ns((double)(acked ? bin->acked_bytes : bin->sent_bytes), series->step_ns);
    series->rtt_ns[i] = bin->rtt_count ? (double)bin->rtt_sum_ns / bin->rtt_count : (double)NAN;
    series->flight_bytes[i] = acked ? bin->flight_max_bytes : (double)NAN;
    series->window_bytes[i] = window;
    series->sent_bytes[i] = (i ? series->sent_bytes[i - 1] : 0) + (double)bin->sent_bytes;
    series->acked_bytes[i] = (i ? series->acked_bytes[i - 1] : 0) + (double)bin->acked_bytes;
    series->edge_bytes[i] = series->acked_bytes[i] + window;
    series->again_count[i] = bin->retrans_count;
}

enum tl_status tl_app_pcap_over_time(struct tl_app_pcap *pcap, size_t number,
                                     struct tl_app_pcap_series *ret_series, struct tl_error *reterr)
{
    struct tl_packet_brief brief;
    enum tl_status status = pcap_find(pcap, number, &brief, reterr);
    if (status == TL_OK && !brief.flow)
        status = pcap_no_detail(reterr);
    if (status != TL_OK)
        return status;
    const struct tl_packet_half *half = &brief.flow->halves[tl_packet_sender(brief.flow)];
    ret_series->count = 0;
    ret_series->step_ns = (double)half->bin_ns;
    for (uint32_t i = 0; i < half->bins_count; i++)
        add_step(half, &half->bins[i], ret_series);
    return TL_OK;
}
