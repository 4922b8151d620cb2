/* Whether packets wait for what the flow itself has in flight; see limits.h. */
#include <math.h>
#include <stdlib.h>

#include "half.h"
#include "tightlink/flow/limits.h"
#include "waits.h"

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
