/* What a connection of a capture did over time, for plots. */
#include <math.h>

#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/flow/limits.h"
#include "tightlink/probes/packet_flow.h"

#define STEP_NS (100 * TL_NS_PER_MS)

/* Bins of one step together. */
struct step {
    double bytes, rtt_sum_ns, rtt_count, flight_bytes, window_bytes;
    int64_t span_ns;
};

static void add_bin(const struct tl_packet_bin *bin, struct step *step)
{
    step->rtt_sum_ns += (double)bin->rtt_sum_ns;
    step->rtt_count += bin->rtt_count;
    step->flight_bytes = fmax(step->flight_bytes, bin->flight_max_bytes);
    if (bin->window_min_bytes != UINT32_MAX)
        step->window_bytes = bin->window_max_bytes;
}

void tl_packet_flow_samples(const struct tl_packet_flow *flow, struct tl_samples *samples)
{
    const struct tl_packet_half *half = &flow->halves[tl_packet_sender(flow)];
    const double nan = (double)NAN;
    struct tl_reading reading = {.stage = "stream",
                                 .has_direction = true,
                                 .direction = tl_packet_flow_direction(flow),
                                 .cwnd_bytes = nan,
                                 .app_ratio = nan,
                                 .sndbuf_ratio = nan,
                                 .rwnd_ratio = nan,
                                 .network_ratio = nan};
    struct step step = {.window_bytes = nan};
    bool acked = half->acked_bytes > 0; /* else of one direction only: what was sent */
    for (uint32_t i = 0; i < half->bins_count; i++) {
        const struct tl_packet_bin *bin = &half->bins[i];
        add_bin(bin, &step);
        step.bytes += (double)(acked ? bin->acked_bytes : bin->sent_bytes);
        step.span_ns += half->bin_ns;
        reading.retrans_count += bin->retrans_count;
        bool only = reading.elapsed_ns == 0 && i + 1 == half->bins_count;
        if (step.span_ns < STEP_NS && !only) /* a rest of a step would be a rate of its own */
            continue;
        reading.elapsed_ns = (double)(i + 1) * (double)half->bin_ns;
        reading.bytes += step.bytes;
        reading.rate_bps = tl_bps_from_bytes_ns(step.bytes, (double)step.span_ns);
        reading.rtt_ns = step.rtt_count > 0 ? step.rtt_sum_ns / step.rtt_count : nan;
        reading.inflight_bytes = step.flight_bytes;
        reading.snd_wnd_bytes = half->window_scale_known ? step.window_bytes : nan;
        tl_samples_add(samples, &reading);
        step = (struct step){.window_bytes = step.window_bytes};
    }
}
