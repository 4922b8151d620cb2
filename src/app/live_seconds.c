/* What a connection did second by second, for plots. */
#include <math.h>

#include "live_private.h"
#include "tightlink/base/units.h"
#include "tightlink/probes/live_flow.h"

static double share(uint32_t part, uint32_t whole)
{
    return whole ? (double)part / whole : NAN;
}

static void add_second(const struct tl_live_interval *interval, bool sends,
                       struct tl_app_live_series *series)
{
    size_t at = series->count++;
    uint64_t bytes = sends ? interval->sent_bytes : interval->received_bytes;
    uint64_t window = sends ? interval->snd_wnd_max_bytes : interval->rcv_wnd_max_bytes;
    const double *parts = interval->parts_ratio;

    /* A second that was missed is a gap, not a zero. */
    series->rate_bps[at] = interval->span_ns > 0
                               ? tl_bps_from_bytes_ns((double)bytes, (double)interval->span_ns)
                               : NAN;
    series->rtt_ns[at] = sends ? interval->rtt_mean_ns : interval->rcv_rtt_ns;
    series->retrans_ratio[at] =
        sends ? share(interval->retrans_count, interval->segments_count) : NAN;
    series->inflight_bytes[at] = sends ? interval->inflight_mean_bytes : NAN;
    series->window_bytes[at] = window ? (double)window : NAN;
    series->rwnd_ratio[at] = sends ? parts[TL_LIVE_RWND] : NAN;
    series->sndbuf_ratio[at] = sends ? parts[TL_LIVE_SNDBUF] : NAN;
    series->network_ratio[at] = sends ? parts[TL_LIVE_NETWORK] : NAN;
    series->app_ratio[at] = sends ? parts[TL_LIVE_APP] : NAN;
    series->queue_ratio[at] = sends ? NAN : interval->read_queue_ratio;
}

bool tl_app_live_seconds(const struct tl_app_live *live, uint64_t cookie,
                         struct tl_app_live_series *ret_series)
{
    const struct tl_live_flow *flow = tl_live_find(tl_flow_watch_live(live->watch), cookie);

    if (!flow || !tl_live_interval_at(flow, 0))
        return false;
    struct tl_live_interval joined;
    tl_live_join(flow, LIVE_JUDGED_INTERVALS, &joined);
    bool sends = tl_live_flow_direction(flow, &joined) == TL_UPLOAD;
    size_t back = flow->interval_count;
    back = back > TL_APP_LIVE_SECONDS ? TL_APP_LIVE_SECONDS : back;
    for (ret_series->count = 0; back-- > 0;)
        add_second(tl_live_interval_at(flow, back), sends, ret_series);
    return true;
}
