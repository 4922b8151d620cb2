/* What of a paced stream is not paced. */
#include <criterion/criterion.h>

#include "paced_flight.h"
#include "tightlink/engine/steady.h"

#define MS INT64_C(1000000)

/* A reading each 100 ms: six of the first ten segments are lost and sent again within 300 ms, of
 * the hundred each second behind them none. */
static void fill(struct tl_tcp_sample samples[30])
{
    for (int i = 0; i < 30; i++) {
        struct tl_tcp_sample *sample = &samples[i];
        uint64_t sent = 10 * ((uint64_t)i + 1), lost = i < 1 ? 0 : i < 3 ? 3 : 6;
        *sample = (struct tl_tcp_sample){.time_ns = i * 100 * MS};
        tl_sample_set(sample, TL_SF_snd_mss_bytes, 1000);
        tl_sample_set(sample, TL_SF_data_segs_out_count, sent + lost);
        tl_sample_set(sample, TL_SF_total_retrans_count, lost);
        tl_sample_set(sample, TL_SF_bytes_acked, i < 4 ? 4001 : 1000 * (sent - 10) + 1);
    }
}

Test(paced_flight, losses_of_the_first_ten_segments_are_none_of_a_low_rate)
{
    struct tl_tcp_sample samples[30];
    struct tl_sample_log log = {.samples = samples, .count = 30};
    struct tl_flow_stats stats;
    fill(samples);
    int64_t from_ns = tl_paced_begin_ns(&log);
    cr_expect_eq(from_ns, 400 * MS);
    tl_flow_stats(&log, from_ns, INT64_MAX, &stats);
    cr_expect_eq(stats.retrans_count, 0);
    cr_expect_eq(stats.segments_count, 250);
}

Test(paced_flight, what_no_reading_tells_counts_as_a_whole)
{
    struct tl_tcp_sample samples[30];
    struct tl_sample_log none = {0}, early = {.samples = samples, .count = 4};
    fill(samples);
    cr_expect_eq(tl_paced_begin_ns(&none), 0);
    cr_expect_eq(tl_paced_begin_ns(&early), 0);
}
