/* Losses from what arrives behind holes: right in number where they come by chance, few where
 * packets only overtake one another; and how far the rate falls behind each. */
#include <criterion/criterion.h>
#include <math.h>

#include "tightlink/base/random.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/arrivals.h"

#define READING_NS (50 * TL_NS_PER_MS)
#define RTT_NS     (40 * TL_NS_PER_MS)

static void add_reading(struct tl_sample_log *log, int64_t time_ns, uint64_t segments, uint64_t ooo)
{
    struct tl_tcp_sample sample = {.time_ns = time_ns};
    tl_sample_set(&sample, TL_SF_data_segs_in_count, segments);
    tl_sample_set(&sample, TL_SF_rcv_ooopack_count, ooo);
    cr_assert(tl_sample_log_add(log, &sample, 10000) == TL_OK);
}

/* Segments that arrive evenly, `window` in a round trip. One in 1/p begins a hole, behind which the
 * next `behind` arrive out of order; *ret_holes: how many began. */
static struct tl_sample_log arrive(double p, int window, int behind, int seconds, int *ret_holes)
{
    struct tl_sample_log log = {0};
    struct tl_random random;
    int64_t gap_ns = RTT_NS / window, next_ns = 0;
    uint64_t segments = 0, ooo = 0;
    int left = 0;
    *ret_holes = 0;
    tl_random_seed(&random, 4711);
    for (int64_t now_ns = 0; now_ns < seconds * TL_NS_PER_S; now_ns += gap_ns) {
        if (now_ns >= next_ns) {
            add_reading(&log, now_ns, segments, ooo);
            next_ns += READING_NS;
        }
        segments++;
        ooo += left > 0;
        left -= left > 0;
        if (tl_random_unit(&random) < p) {
            (*ret_holes)++;
            left = behind;
        }
    }
    return log;
}

static struct tl_arrivals read_all(struct tl_sample_log *log)
{
    struct tl_arrivals arrivals;
    tl_arrivals_read(log, 0, INT64_MAX, RTT_NS, &arrivals);
    tl_sample_log_finish(log);
    return arrivals;
}

Test(arrivals, losses_by_chance_are_counted_however_close_they_come)
{
    const double ratios[] = {0.0005, 0.002, 0.01, 0.02};
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        int holes;
        struct tl_sample_log log = arrive(ratios[i], 50, 50, 60, &holes);
        struct tl_arrivals arrivals = read_all(&log);
        cr_assert_gt(holes, 20);
        cr_expect_float_eq(arrivals.loss_count / holes, 1, 0.25, "%g: %g of %d", ratios[i],
                           arrivals.loss_count, holes);
    }
}

Test(arrivals, packets_that_overtake_one_another_are_few_losses)
{
    int late;
    struct tl_sample_log log = arrive(0.01, 100, 3, 30, &late);
    struct tl_arrivals arrivals = read_all(&log);
    cr_assert_gt(late, 300);
    cr_expect_lt(arrivals.loss_count, 0.05 * late);
}

Test(arrivals, nothing_out_of_order_is_no_loss)
{
    int holes;
    struct tl_sample_log log = arrive(0, 50, 50, 5, &holes);
    struct tl_arrivals arrivals = read_all(&log);
    cr_expect_eq(arrivals.loss_count, 0);
    cr_expect_gt(arrivals.segments_count, 5000);
    cr_expect(isnan(arrivals.fall_ratio), "there was nothing to fall behind");
}

/* Ten seconds, a hole each second; behind it `fall` of the rate, which then climbs back. */
static struct tl_arrivals sawtooth(double fall)
{
    struct tl_sample_log log = {0};
    double segments = 0, ooo = 0;
    for (int i = 0; i < 200; i++) {
        int phase = i % 20;
        double rate = 100 * (fall + (1 - fall) * phase / 19.0);
        segments += rate;
        ooo += phase == 0 ? rate / 2 : 0;
        add_reading(&log, i * READING_NS, (uint64_t)segments, (uint64_t)ooo);
    }
    return read_all(&log);
}

Test(arrivals, a_sender_that_slows_down_for_losses_shows_it)
{
    struct tl_arrivals slows = sawtooth(0.7), goes_on = sawtooth(1);
    cr_expect_float_eq(slows.fall_ratio, 0.74, 0.05, "%g", slows.fall_ratio);
    cr_expect_lt(slows.fall_high, 0.8);
    cr_expect_float_eq(goes_on.fall_ratio, 1, 0.01, "%g", goes_on.fall_ratio);
    cr_expect_gt(goes_on.fall_low, 0.97);
}

Test(arrivals, what_is_not_told_is_not_known)
{
    struct tl_sample_log log = {0};
    struct tl_tcp_sample bare = {.time_ns = 0};
    cr_expect(isnan(read_all(&log).segments_count), "no reading");
    for (int i = 0; i < 10; i++) {
        bare.time_ns = i * READING_NS;
        tl_sample_set(&bare, TL_SF_data_segs_in_count, (uint64_t)(i * 100));
        cr_assert(tl_sample_log_add(&log, &bare, 100) == TL_OK);
    }
    struct tl_arrivals arrivals = read_all(&log);
    cr_expect(isnan(arrivals.segments_count) && isnan(arrivals.loss_count), "an older kernel");
}

Test(arrivals, counters_that_run_backwards_harm_nothing)
{
    struct tl_sample_log log = {0};
    for (int i = 0; i < 20; i++)
        add_reading(&log, i * READING_NS, i % 2 ? 5 : 1000000, i % 3 ? UINT64_MAX : 0);
    struct tl_arrivals arrivals = read_all(&log);
    cr_expect(isnan(arrivals.loss_count) || arrivals.loss_count >= 0);
}
