/* Whether packets wait for what the flow itself has in flight, and for how long they do; see
 * limits.h. */
#include <math.h>
#include <stdlib.h>

#include "half.h"
#include "tightlink/flow/limits.h"
#include "waits.h"

#define PAIRS_LEAST 50

void tl_packet_flight(const struct tl_packet_half *half, struct tl_packet_flight *ret_flight)
{
    double time_ns = (double)(half->last_data_ns - half->first_data_ns),
           rate = (double)half->acked_bytes / time_ns, swing;
    *ret_flight = (struct tl_packet_flight){(double)NAN, (double)NAN};
    double *room = malloc(2 * (size_t)half->bins_count * sizeof *room);
    if (!room || !(rate > 0)) {
        free(room);
        return;
    }
    double *flights = room, *rtts_ns = flights + half->bins_count;
    uint32_t count = 0;
    for (uint32_t i = 0; i < half->bins_count; i++) {
        double sent_ns = bins_sent_ns(half, i);
        uint32_t flight =
            sent_ns >= 0 ? half->bins[(uint32_t)(sent_ns / (double)half->bin_ns)].flight_max_bytes
                         : 0;
        if (flight == 0)
            continue;
        flights[count] = flight;
        rtts_ns[count++] = (double)half->bins[i].rtt_min_ns;
    }
    if (waits_compare(flights, rtts_ns, count, &swing, &ret_flight->delay_ns))
        ret_flight->swing_ns = swing / rate;
    free(room);
}

static bool is_timed(const struct tl_packet_bin *bin)
{
    return bin->rtt_count > 0 && isfinite((double)bin->rtt_min_ns);
}

double tl_packet_delay_memory(const struct tl_packet_half *half)
{
    double rtt_ns = tl_packet_rtt_mean_ns(half), n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    uint32_t lag = (uint32_t)fmax(round(rtt_ns / (double)half->bin_ns), 1);
    for (uint32_t i = 0; i + lag < half->bins_count; i++) {
        if (!is_timed(&half->bins[i]) || !is_timed(&half->bins[i + lag]))
            continue;
        double before = (double)half->bins[i].rtt_min_ns - rtt_ns,
               behind = (double)half->bins[i + lag].rtt_min_ns - rtt_ns;
        n++;
        x += before;
        y += behind;
        xx += before * before;
        yy += behind * behind;
        xy += before * behind;
    }
    double spread = (n * xx - x * x) * (n * yy - y * y);
    return n >= PAIRS_LEAST && spread > 0 ? (n * xy - x * y) / sqrt(spread) : (double)NAN;
}
