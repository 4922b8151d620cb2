/* What a series of readings tells: made ones whose truth is known, recorded ones from emulated
 * paths, and hostile ones. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "../../../recorded/read.h"
#include "tightlink/base/random.h"
#include "tightlink/engine/series.h"

#define MS  INT64_C(1000000)
#define S   (1000 * MS)
#define MSS 1448.0

static struct tl_series series;
static struct recorded recorded;

static void load(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.tsv", TL_RECORDED_DIR, name);
    cr_assert(recorded_read(path, &recorded), "%s", path);
    tl_series_read(&recorded.senders[0], &series);
    cr_assert_gt(series.count, 100);
}

/* A point every 50 ms at a rate, a round-trip time and losses. */
static void add_point(double bps, double rtt_ns, double lost)
{
    struct tl_series_point point = {.rtt_ns = rtt_ns, .min_rtt_ns = 20e6};
    if (series.count > 0) {
        point = series.points[series.count - 1];
        point.time_ns += 50 * MS;
        point.rtt_ns = rtt_ns;
        point.delivered_bytes += bps / 8 * 0.05;
        point.segments_count += bps / 8 * 0.05 / MSS;
        point.retrans_count += lost;
    }
    point.cwnd_bytes = bps / 8 * rtt_ns / 1e9;
    series.points[series.count++] = point;
    series.rtt_min_ns = 20e6;
    series.mss_bytes = MSS;
}

static void add_points(int count, double bps, double rtt_ns)
{
    for (int i = 0; i < count; i++)
        add_point(bps, rtt_ns, 0);
}

/* --- Losses -------------------------------------------------------------------------------- */

/* Losses at probability p in each of n segments a point; after each one further ones with
 * probability more. */
static double lose(struct tl_random *rng, double segments, double p, double more)
{
    double lost = 0;
    for (int i = 0; i < (int)segments; i++) {
        if (tl_random_unit(rng) >= p)
            continue;
        do
            lost++;
        while (tl_random_unit(rng) < more);
    }
    return lost;
}

Test(series, single_losses_have_runs_of_one_at_any_rate)
{
    static const double rates_bps[] = {10e6, 100e6, 900e6};
    struct tl_random rng;
    tl_random_seed(&rng, 3);
    for (int r = 0; r < 3; r++) {
        struct tl_loss_pattern pattern;
        series.count = 0;
        for (int i = 0; i < 1200; i++)
            add_point(rates_bps[r], 20e6, lose(&rng, rates_bps[r] / 8 * 0.05 / MSS, 0.001, 0));
        tl_series_losses(&series, 0, 60 * S, &pattern);
        cr_assert_gt(pattern.lost_count, 20);
        cr_assert_leq(pattern.run_mean_count, 1.25, "%g Mb/s: %g", rates_bps[r] / 1e6,
                      pattern.run_mean_count);
        cr_assert_eq(pattern.flat_ratio, 1);
    }
}

Test(series, bursts_show_their_mean_length)
{
    struct tl_random rng;
    struct tl_loss_pattern pattern;
    series.count = 0;
    tl_random_seed(&rng, 5);
    for (int i = 0; i < 1200; i++) /* geometric with mean 1 / 0.3 */
        add_point(150e6, 20e6, lose(&rng, 150e6 / 8 * 0.05 / MSS, 0.0001, 0.7));
    tl_series_losses(&series, 0, 60 * S, &pattern);
    cr_assert(pattern.run_mean_count > 2.5 && pattern.run_mean_count < 4.2, "%g",
              pattern.run_mean_count);
}

/* 200 segments that slow start lost at once, sent again over three round trips. */
Test(series, one_overflow_among_single_losses_makes_no_runs)
{
    struct tl_random rng;
    struct tl_loss_pattern pattern;
    series.count = 0;
    tl_random_seed(&rng, 7);
    for (int i = 0; i < 200; i++)
        add_point(30e6, 20e6,
                  (i >= 3 && i <= 5 ? 66 : 0) + lose(&rng, 30e6 / 8 * 0.05 / MSS, 0.006, 0));
    tl_series_losses(&series, 0, 60 * S, &pattern);
    cr_assert_gt(pattern.lost_count, 260);
    cr_assert_leq(pattern.run_mean_count, 1.4, "%g", pattern.run_mean_count);
    cr_assert_eq(pattern.run_low_count, pattern.run_mean_count);
    cr_assert_eq(pattern.run_high_count, pattern.run_mean_count, "many windows say otherwise");
}

/* Two bursts and no more: whether the first is how packets are lost here is not known. */
Test(series, of_two_bursts_one_proves_no_runs)
{
    struct tl_loss_pattern pattern;
    series.count = 0;
    for (int i = 0; i < 100; i++)
        add_point(10e6, 20e6, i == 30 ? 8 : i == 60 ? 2 : 0);
    tl_series_losses(&series, 0, 60 * S, &pattern);
    cr_assert_eq(pattern.run_low_count, 1);
    cr_assert_gt(pattern.run_high_count, 3);
}

Test(series, too_few_losses_have_no_pattern)
{
    struct tl_loss_pattern pattern;
    series.count = 0;
    for (int i = 0; i < 100; i++)
        add_point(10e6, 20e6, i == 50 || i == 60);
    tl_series_losses(&series, 0, 60 * S, &pattern);
    cr_assert_eq(pattern.event_count, 2);
    cr_assert(isnan(pattern.run_mean_count) && isnan(pattern.threshold_ratio));
}

Test(series, losses_of_a_full_queue_are_not_flat)
{
    struct tl_loss_pattern pattern;
    load("capacity");
    tl_series_losses(&series, S, 6 * S, &pattern);
    cr_assert_eq(pattern.flat_ratio, 0);
}

Test(series, random_losses_on_a_path_stand_alone_and_hit_any_rate)
{
    struct tl_loss_pattern pattern;
    load("loss-long");
    tl_series_losses(&series, 4 * S, 59 * S, &pattern);
    cr_assert_gt(pattern.flat_ratio, 0.9);
    cr_assert_lt(pattern.run_mean_count, 1.3);
    cr_assert_lt(pattern.threshold_ratio, 0.5);
    recorded_finish(&recorded);
}

/* --- Policer ------------------------------------------------------------------------------- */

/* Round trips of a queue that others fill and drain; what is lost is lost where it is full. */
Test(series, losses_of_a_full_queue_rank_high_whoever_fills_it)
{
    struct tl_loss_pattern full, chance;
    struct tl_random rng;
    tl_random_seed(&rng, 11);
    series.count = 0;
    for (int i = 0; i < 400; i++) {
        double rtt_ns = 40e6 + 15e6 * sin(i * 0.4) + 2e6 * tl_random_unit(&rng);
        add_point(5e6, rtt_ns, rtt_ns > 53e6 && i % 3 == 0);
    }
    tl_series_losses(&series, 0, 60 * S, &full);
    cr_assert_gt(full.delay_rank_low, 0.6);
    series.count = 0;
    for (int i = 0; i < 400; i++)
        add_point(5e6, 40e6 + 15e6 * sin(i * 0.4) + 2e6 * tl_random_unit(&rng),
                  tl_random_unit(&rng) < 0.1);
    tl_series_losses(&series, 0, 60 * S, &chance);
    cr_assert(chance.delay_rank_low < 0.5 && chance.delay_rank_high > 0.5, "%g to %g",
              chance.delay_rank_low, chance.delay_rank_high);
}

Test(series, flat_is_what_scatters_no_more_than_without_load)
{
    struct tl_loss_pattern pattern;
    series.count = 0;
    for (int i = 0; i < 400; i++)
        add_point(5e6, i % 2 ? 20e6 : 26e6, i % 20 == 1);
    series.scatter_ns = 0;
    tl_series_losses(&series, 0, 60 * S, &pattern);
    cr_assert_lt(pattern.flat_ratio, 0.1);
    series.scatter_ns = 7e6;
    tl_series_losses(&series, 0, 60 * S, &pattern);
    cr_assert_eq(pattern.flat_ratio, 1);
    series.scatter_ns = 0;
}

Test(series, a_policer_fits_a_token_bucket)
{
    struct tl_policer_fit fit;
    load("policer"); /* 40 Mb/s of packets, 38.6 Mb/s of payload, 150 kB */
    tl_series_policer(&series, 500 * MS, 6 * S, &fit);
    cr_assert_gt(fit.fit_ratio, 0.8);
    cr_assert(fit.rate_bps > 33e6 && fit.rate_bps < 39e6, "%g", fit.rate_bps);
    cr_assert(fit.burst_bytes > 50e3 && fit.burst_bytes < 400e3, "%g", fit.burst_bytes);
    recorded_finish(&recorded);
}

Test(series, a_full_queue_fits_no_token_bucket)
{
    struct tl_policer_fit fit;
    load("capacity");
    tl_series_policer(&series, 0, 6 * S, &fit);
    cr_assert(!(fit.fit_ratio > 0.1));
    recorded_finish(&recorded);
}

/* --- The lasting fall ---------------------------------------------------------------------- */

Test(series, a_shapers_boost_ends_in_a_queue)
{
    struct tl_rate_change change;
    load("shaper"); /* 5 MB at 200 Mb/s, then 30 */
    tl_series_rate_change(&series, &change);
    cr_assert(change.ratio > 5 && change.ratio < 8, "%g", change.ratio);
    cr_assert(change.after_bps > 28e6 && change.after_bps < 30e6, "%g", change.after_bps);
    cr_assert(change.excess_bytes > 3.5e6 && change.excess_bytes < 6e6, "%g", change.excess_bytes);
    cr_assert_gt(change.rtt_rise_ns, 100e6);
    cr_assert_lt(change.after_swing_ratio, 0.05);
    recorded_finish(&recorded);
}

/* A slow start that lasts leaves tokens alone: what went beyond them went behind it. */
Test(series, a_boost_behind_a_long_slow_start_is_as_large)
{
    struct tl_rate_change change;
    series.count = 0;
    add_points(20, 5e6, 160e6);
    add_points(5, 280e6, 160e6);
    add_points(60, 100e6, 500e6);
    tl_series_rate_change(&series, &change);
    cr_assert_gt(change.ratio, 2);
    double beyond_bytes = 180e6 / 8 * 0.25; /* of a quarter of a second */
    cr_expect_float_eq(change.excess_bytes, beyond_bytes, 0.05 * beyond_bytes, "%g",
                       change.excess_bytes);
}

/* In points of 50 ms: a second of slow start, and six in all. */
static double boost(int fast_points, double fast_bps, double late_swing_ratio)
{
    struct tl_rate_change change;
    series.count = 0;
    add_points(20, 20e6, 20e6);
    add_points(fast_points, fast_bps, 25e6);
    for (int i = 20 + fast_points; i < 120; i++)
        add_point(60e6 * (1 + (i / 4 % 2 ? late_swing_ratio : -late_swing_ratio)), 60e6, 0);
    tl_series_rate_change(&series, &change);
    return change.ratio;
}

/* Of 6 s the last 1.5 are enough where they are even, or a third less where it is little. */
Test(series, a_boost_may_end_late_or_be_small_where_the_rest_is_even)
{
    cr_expect_float_eq(boost(66, 96e6, 0), 1.6, 0.02);
    cr_expect_float_eq(boost(66, 96e6, 0.08), 1.6, 0.02);
    cr_expect_eq(boost(66, 96e6, 0.16), 1);
    cr_expect_eq(boost(74, 96e6, 0), 1, "1.3 s are no rest");
    cr_expect_float_eq(boost(44, 79e6, 0), 1.317, 0.02);
    cr_expect_eq(boost(44, 77e6, 0), 1);
}

Test(series, what_others_leave_swings_behind_the_fall)
{
    struct tl_rate_change change;
    series.count = 0;
    add_points(20, 100e6, 20e6);
    for (int i = 0; i < 100; i++)
        add_point((i / 20) % 2 ? 36e6 : 24e6, 60e6, 0);
    tl_series_rate_change(&series, &change);
    cr_assert_gt(change.ratio, 2);
    cr_assert_gt(change.after_swing_ratio, 0.15);
}

Test(series, a_deep_policer_falls_without_a_queue)
{
    struct tl_rate_change change;
    load("policer-big"); /* 2 MB at 300 Mb/s, then 20 */
    tl_series_rate_change(&series, &change);
    cr_assert_gt(change.ratio, 3);
    cr_assert_lt(change.rtt_rise_ns, 2e6);
    recorded_finish(&recorded);
}

/* Slow start leaves tokens in the bucket that are caught up with: what counts is the sum. */
Test(series, what_a_bucket_held_is_the_most_ahead_of_its_rate)
{
    series.count = 0;
    add_point(0, 20e6, 0);
    for (int i = 0; i < 10; i++) /* half a second below the rate: 1.25 MB behind */
        add_point(20e6, 20e6, 0);
    for (int i = 0; i < 20; i++) /* a second above it: 5 MB */
        add_point(80e6, 20e6, 0);
    for (int i = 0; i < 20; i++)
        add_point(40e6, 20e6, 0);
    cr_expect_float_eq(tl_series_ahead(&series, 40e6), 3.75e6, 2e4, "%g",
                       tl_series_ahead(&series, 40e6));
    cr_expect_eq(tl_series_ahead(&series, 90e6), 0, "never ahead of that");
    series.count = 1;
    cr_expect(isnan(tl_series_ahead(&series, 40e6)));
}

Test(series, a_full_link_does_not_fall)
{
    struct tl_rate_change change;
    load("capacity");
    tl_series_rate_change(&series, &change);
    cr_assert_eq(change.ratio, 1);
    cr_assert(isnan(change.at_ns));
    recorded_finish(&recorded);
}

Test(series, a_sawtooth_does_not_fall_for_good)
{
    struct tl_rate_change change;
    series.count = 0;
    for (int i = 0; i < 160; i++)
        add_point(100e6 - 50e6 * ((i % 30) / 30.0), 20e6, i % 30 == 0);
    tl_series_rate_change(&series, &change);
    cr_assert_eq(change.ratio, 1);
}

/* --- Slow start ---------------------------------------------------------------------------- */

Test(series, slow_start_ends_before_the_steady_part)
{
    struct tl_slow_start start;
    load("policer");
    tl_series_slow_start(&series, &start);
    cr_assert(start.end_ns > 50e6 && start.end_ns < 500e6);
    cr_assert(start.first_loss_ns >= start.end_ns && start.bytes > 10e3);
    recorded_finish(&recorded);
}

/* --- Hostile ------------------------------------------------------------------------------- */

static void read_all(const struct tl_sample_log *log)
{
    struct tl_slow_start start;
    struct tl_loss_pattern pattern;
    struct tl_rate_change change;
    struct tl_policer_fit fit;
    tl_series_read(log, &series);
    tl_series_slow_start(&series, &start);
    tl_series_losses(&series, 0, INT64_MAX / 2, &pattern);
    tl_series_rate_change(&series, &change);
    tl_series_policer(&series, 0, INT64_MAX / 2, &fit);
}

Test(series, any_readings_are_survived)
{
    static struct tl_tcp_sample samples[3000];
    struct tl_sample_log log = {samples, 0, 3000};
    struct tl_random rng;
    tl_random_seed(&rng, 11);
    read_all(&log);
    for (int round = 0; round < 200; round++) {
        log.count = (size_t)(tl_random_unit(&rng) * 3000);
        for (size_t i = 0; i < log.count; i++) {
            samples[i] = (struct tl_tcp_sample){.time_ns = (int64_t)i * 50 * MS};
            for (int f = 0; f < TL_SAMPLE_FIELD_COUNT; f++) {
                uint64_t value = (uint64_t)(exp(44 * tl_random_unit(&rng)) - 1);
                if (round % 2)
                    value = i * (uint64_t)(f * 7); /* counters that grow: more points survive */
                if (tl_random_unit(&rng) < 0.99 || round % 2)
                    tl_sample_set(&samples[i], (enum tl_sample_field)f, value);
            }
        }
        read_all(&log);
    }
}
