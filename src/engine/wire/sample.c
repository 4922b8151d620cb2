/* A sample's table of fields, and what it holds. */
#include "tightlink/engine/sample.h"

#include <math.h>
#include <string.h>

#define TICK_NS UINT64_C(1000000) /* Linux TCP_TS_HZ: a thousand timestamps a second */

_Static_assert(TL_SAMPLE_FIELD_COUNT <= 64 * TL_SAMPLE_PRESENT_WORDS, "present has too few bits");

#define FIELD_INFO(member, unit, meaning)                                                          \
    {#member, unit, meaning, offsetof(struct tl_tcp_sample, member)},
const struct tl_sample_field_info tl_sample_fields[TL_SAMPLE_FIELD_COUNT] = {
    TL_SAMPLE_FIELDS(FIELD_INFO)};
#undef FIELD_INFO

bool tl_sample_has(const struct tl_tcp_sample *sample, enum tl_sample_field field)
{
    return (sample->present[field / 64] >> (field % 64)) & 1;
}

static uint64_t *member_of(struct tl_tcp_sample *sample, enum tl_sample_field field)
{
    return (uint64_t *)(void *)((char *)sample + tl_sample_fields[field].offset);
}

uint64_t tl_sample_get(const struct tl_tcp_sample *sample, enum tl_sample_field field)
{
    if (!tl_sample_has(sample, field))
        return 0;
    uint64_t value;
    memcpy(&value, (const char *)sample + tl_sample_fields[field].offset, sizeof(value));
    return value;
}

void tl_sample_set(struct tl_tcp_sample *sample, enum tl_sample_field field, uint64_t value)
{
    *member_of(sample, field) = value;
    sample->present[field / 64] |= UINT64_C(1) << (field % 64);
}

double tl_sample_least_rtt_ns(const struct tl_tcp_sample *sample)
{
    if (!tl_sample_has(sample, TL_SF_min_rtt_ns) || sample->min_rtt_ns == 0)
        return (double)NAN;
    bool is_rounded = tl_sample_has(sample, TL_SF_options) &&
                      (sample->options & TL_TCP_OPT_TIMESTAMPS) != 0 &&
                      sample->min_rtt_ns % TICK_NS == 0;
    return (double)sample->min_rtt_ns + (is_rounded ? (double)TICK_NS : 0);
}

static uint64_t difference_or_0(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

bool tl_sample_in_flight(const struct tl_tcp_sample *sample, uint64_t *ret_bytes)
{
    if (tl_sample_has(sample, TL_SF_bytes_sent) && tl_sample_has(sample, TL_SF_bytes_retrans) &&
        tl_sample_has(sample, TL_SF_bytes_acked))
        *ret_bytes = difference_or_0(difference_or_0(sample->bytes_sent, sample->bytes_retrans),
                                     sample->bytes_acked);
    else if (tl_sample_has(sample, TL_SF_outq_bytes) &&
             tl_sample_has(sample, TL_SF_outq_notsent_bytes))
        *ret_bytes = difference_or_0(sample->outq_bytes, sample->outq_notsent_bytes);
    else if (tl_sample_has(sample, TL_SF_unacked_count) &&
             tl_sample_has(sample, TL_SF_snd_mss_bytes))
        *ret_bytes = sample->unacked_count * sample->snd_mss_bytes;
    else
        return false;
    return true;
}
