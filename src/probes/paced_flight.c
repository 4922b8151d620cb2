/* The unpaced beginning of a paced stream. */
#include "paced_flight.h"

#define UNPACED_SEGMENTS 10

int64_t tl_paced_begin_ns(const struct tl_sample_log *sender)
{
    for (size_t i = 0; i < sender->count; i++) {
        const struct tl_tcp_sample *sample = &sender->samples[i];
        if (tl_sample_has(sample, TL_SF_bytes_acked) &&
            tl_sample_has(sample, TL_SF_snd_mss_bytes) && sample->snd_mss_bytes > 0 &&
            sample->bytes_acked > UNPACED_SEGMENTS * sample->snd_mss_bytes)
            return sample->time_ns;
    }
    return 0;
}
