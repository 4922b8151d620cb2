/* The rate of synthetic curves whose truth is known, and of hostile ones. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "steady_expect.h"
#include "tightlink/base/random.h"

static struct tl_rate_point points[TL_STEADY_POINTS_MAX];

/* Rate as a function of time; context is the test's own. */
typedef double rate_function(double seconds, void *context);

static size_t make_curve(rate_function *rate, void *context, int64_t length_ns)
{
    size_t count = 1;
    points[0] = (struct tl_rate_point){0, 0};
    for (int64_t t = GRID; t <= length_ns; t += GRID, count++) {
        double bps = rate(((double)t - 0.5 * (double)GRID) / 1e9, context);
        points[count].time_ns = t;
        points[count].bytes = points[count - 1].bytes + bps / 8 * (double)GRID / 1e9;
    }
    return count;
}

/* --- Rate ---------------------------------------------------------------------------------- */

static double noisy_100m(double seconds, void *context)
{
    return 100e6 * (1 + 0.02 * (tl_random_unit(context) - 0.5));
}

Test(steady, a_flat_rate_is_steady_from_nearly_the_start)
{
    struct tl_random rng;
    struct tl_steady_rate rate;
    tl_random_seed(&rng, 1);
    tl_steady_rate(points, make_curve(noisy_100m, &rng, 5 * S), 20 * MS, &rate);
    cr_assert(rate.valid && rate.long_enough && fabs(rate.drift_ratio) <= 0.1);
    cr_assert_lt(rate.start_ns, 2 * S);
    assert_near(rate.goodput_bps, 100e6, 0.005, "rate");
    cr_assert(rate.low_bps <= 100e6 && rate.high_bps >= 100e6);
    cr_assert_lt(rate.high_bps - rate.low_bps, 2e6);
}

/* Doubles each RTT from 0.2 Mb/s, up to 30 Mb/s. */
static double slow_start(double seconds, void *context)
{
    double rtt_s = *(double *)context;
    return fmin(30e6, 0.2e6 * exp2(seconds / rtt_s));
}

Test(steady, long_slow_start_is_cut_off)
{
    double rtt_s = 0.6; /* full rate after 4.3 s */
    struct tl_steady_rate rate;
    tl_steady_rate(points, make_curve(slow_start, &rtt_s, 20 * S), 600 * MS, &rate);
    cr_assert(rate.valid && rate.long_enough);
    cr_assert(rate.start_ns > 3 * S && rate.start_ns < 6 * S, "start %.1f s",
              (double)rate.start_ns / 1e9);
    assert_near(rate.goodput_bps, 30e6, 0.01, "rate");
    cr_assert_lt(rate.whole_bps, 27e6);
    tl_steady_rate(points, make_curve(slow_start, &rtt_s, 10 * S), 600 * MS, &rate);
    cr_assert(rate.valid);
    cr_assert_not(rate.long_enough, "20 RTT are 12 s");
    assert_near(rate.goodput_bps, 30e6, 0.02, "rate");
}

Test(steady, a_test_that_ends_in_slow_start_says_so)
{
    double rtt_s = 0.6;
    struct tl_steady_rate rate;
    tl_steady_rate(points, make_curve(slow_start, &rtt_s, 4 * S), 600 * MS, &rate);
    cr_assert_gt(fabs(rate.drift_ratio), 0.1);
    cr_assert_not(rate.long_enough);
}

static double boosted(double seconds, void *context)
{
    return seconds < 0.8 ? 300e6 : 30e6;
}

Test(steady, a_shapers_boost_is_warm_up)
{
    struct tl_steady_rate rate;
    tl_steady_rate(points, make_curve(boosted, NULL, 6 * S), 20 * MS, &rate);
    cr_assert(rate.valid && rate.long_enough);
    assert_near((double)rate.start_ns, 0.8e9, 0.15, "start");
    assert_near(rate.goodput_bps, 30e6, 0.001, "rate");
}

/* First-order autoregressive noise of 20 % around 50 Mb/s. */
struct noise {
    struct tl_random rng;
    double correlation, value;
};

static double normal(struct tl_random *rng)
{
    return sqrt(-2 * log(1 - tl_random_unit(rng))) * cos(2 * M_PI * tl_random_unit(rng));
}

static double correlated(double seconds, void *context)
{
    struct noise *noise = context;
    double fresh = sqrt(1 - noise->correlation * noise->correlation);
    noise->value = noise->correlation * noise->value + fresh * normal(&noise->rng);
    return 50e6 * (1 + 0.2 * noise->value);
}

static int covered(double correlation)
{
    int hits = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct noise noise = {.correlation = correlation};
        struct tl_steady_rate rate;
        tl_random_seed(&noise.rng, seed);
        noise.value = normal(&noise.rng);
        tl_steady_rate(points, make_curve(correlated, &noise, 10 * S), 50 * MS, &rate);
        hits += rate.low_bps <= 50e6 && rate.high_bps >= 50e6;
    }
    return hits;
}

Test(steady, intervals_cover_the_truth_with_and_without_correlation)
{
    int independent = covered(0), strong = covered(0.9);
    cr_log_info("95 %% intervals that cover: %d of 300, with correlation 0.9: %d of 300",
                independent, strong);
    cr_assert_geq(independent, 275);
    cr_assert_geq(strong, 255); /* 0.9 at 50 ms: half a second of memory in 10 s */
}

/* --- Early stop ------------------------------------------------------------------------------ */

static struct tl_flow_stats network_limited(double rtt_ns)
{
    return (struct tl_flow_stats){.ledger = {.valid = true, .network_ratio = 1, .elapsed_ns = 1e9},
                                  .rtt_min_ns = rtt_ns,
                                  .rtt_floor_ns = rtt_ns,
                                  .rtt_mean_ns = rtt_ns,
                                  .loss_event_count = 1,
                                  .retrans_count = 5};
}

/* Cubic in a shallow buffer: 8 s an epoch, from 70 % up to the capacity and down again. */
static double sawtooth(double seconds, void *context)
{
    double phase = fmod(seconds + *(double *)context, 8) / 8;
    double root = phase - 0.8;
    return 100e6 * fmin(1, 1 - 0.3 * fabs(root * root * root) / 0.512);
}

static double sawtooth_mean(void)
{
    double sum = 0, phase = 0;
    for (int i = 0; i < 8000; i++)
        sum += sawtooth(i / 1000.0, &phase);
    return sum / 8000;
}

Test(steady, a_sawtooths_plateau_is_not_the_rate)
{
    /* With one loss in sight the plateau must not end the test, however flat it is. */
    struct tl_flow_stats stats = network_limited(20e6);
    for (double phase = 0; phase < 8; phase += 0.25)
        for (int length = 4; length <= 20; length++)
            cr_assert_not(tl_steady_known(points, make_curve(sawtooth, &phase, length * S), &stats,
                                          &stats, "cubic"),
                          "phase %g, %d s", phase, length);
    /* Over several cycles the interval holds the mean. */
    for (double phase = 0; phase < 8; phase += 0.5) {
        struct tl_steady_rate rate;
        tl_steady_rate(points, make_curve(sawtooth, &phase, 40 * S), 20 * MS, &rate);
        cr_assert(rate.low_bps <= sawtooth_mean() && rate.high_bps >= sawtooth_mean(),
                  "phase %g: %g .. %g", phase, rate.low_bps, rate.high_bps);
    }
}

static double interrupted(double seconds, void *context)
{
    return seconds > 2 && seconds < 5 ? 0 : 50e6;
}

Test(steady, an_outage_is_seen_with_its_time)
{
    struct tl_steady_rate rate;
    tl_steady_rate(points, make_curve(interrupted, NULL, 10 * S), 20 * MS, &rate);
    cr_assert_eq(rate.silence_ns, 3 * S);
    cr_assert_eq(rate.silence_at_ns, 2 * S);
}

static double flat(double seconds, void *context)
{
    return 25e6;
}

Test(steady, a_flat_rate_is_known_after_three_seconds_or_twenty_two_round_trips)
{
    struct tl_flow_stats held = network_limited(42e6);
    held.ledger = (struct tl_ledger){
        .valid = true, .rwnd_ratio = 0.95, .network_ratio = 0.05, .elapsed_ns = 1e9};
    cr_assert_not(tl_steady_known(points, make_curve(flat, NULL, 2.9 * S), &held, &held, "cubic"));
    cr_assert(tl_steady_known(points, make_curve(flat, NULL, 3.8 * S), &held, &held, "cubic"));
    held.rtt_mean_ns = held.rtt_floor_ns = held.rtt_min_ns = 600e6;
    cr_assert_not(tl_steady_known(points, make_curve(flat, NULL, 13 * S), &held, &held, "cubic"));
    cr_assert(tl_steady_known(points, make_curve(flat, NULL, 14 * S), &held, &held, "cubic"));
}

static double ever_slower(double seconds, void *context)
{
    return 25e6 / (1 + seconds);
}

/* Of a rate that never settles over a long way as much is kept as a verdict needs. */
Test(steady, a_rate_that_never_settles_keeps_twenty_round_trips)
{
    struct tl_steady_rate rate;
    tl_steady_rate(points, make_curve(ever_slower, NULL, 10.6 * S), 200 * MS, &rate);
    cr_assert_eq(rate.end_ns - rate.start_ns, 20 * 200 * MS);
    cr_assert(rate.long_enough);
    tl_steady_rate(points, make_curve(ever_slower, NULL, 10.6 * S), 20 * MS, &rate);
    cr_assert_eq(rate.end_ns - rate.start_ns, 3 * S);
    cr_assert(rate.long_enough);
}

/* Grants and aggregates: 12 % from point to point, and a warm-up of a quarter of a second. */
static double warm_then_grants(double seconds, void *context)
{
    return seconds < 0.25 ? 60e6 : 100e6 * (1 + 0.12 * (tl_random_unit(context) - 0.5));
}

/* The last look knows the round trip a little otherwise, and lays its batches by it. */
Test(steady, what_was_stopped_as_known_is_long_enough_at_the_last_look)
{
    struct tl_random rng;
    unsigned known = 0;
    for (unsigned seed = 1; seed <= 200; seed++) {
        struct tl_flow_stats stats = network_limited(12e6);
        stats.rtt_floor_ns = 20e6; /* a queue stood */
        tl_random_seed(&rng, seed);
        size_t all = make_curve(warm_then_grants, &rng, 6 * S), count = 50;
        while (count < all && !tl_steady_known(points, count, &stats, &stats, "cubic"))
            count++;
        known += count < all;
        for (double off = 0.8; off <= 1.2; off += 0.05) {
            struct tl_steady_rate rate;
            tl_steady_rate(points, count, (int64_t)(off * stats.rtt_mean_ns), &rate);
            cr_expect(rate.long_enough, "%.3f s of %.3f s",
                      (double)(rate.end_ns - rate.start_ns) / 1e9, (double)rate.end_ns / 1e9);
        }
    }
    cr_expect_gt(known, 150, "%u of 200 were known", known);
}

/* Halves that differ by more than 3 % until 2.7 s, by 2 % at 3.2 s. */
static double late_even(double seconds, void *context)
{
    return seconds < 1.6 ? 25e6 : seconds < 2.7 ? 26e6 : 24.5e6;
}

Test(steady, a_rate_that_was_uneven_half_a_second_ago_is_not_known_yet)
{
    struct tl_flow_stats held = network_limited(42e6);
    held.ledger = (struct tl_ledger){
        .valid = true, .rwnd_ratio = 0.95, .network_ratio = 0.05, .elapsed_ns = 1e9};
    cr_assert_not(
        tl_steady_known(points, make_curve(late_even, NULL, 3.2 * S), &held, &held, "cubic"));
    cr_assert(tl_steady_known(points, make_curve(late_even, NULL, 4 * S), &held, &held, "cubic"));
}

Test(steady, a_full_window_a_round_trip_needs_no_round_trips_to_spare)
{
    struct tl_flow_stats held = network_limited(600e6);
    held.ledger = (struct tl_ledger){
        .valid = true, .rwnd_ratio = 0.95, .network_ratio = 0.05, .elapsed_ns = 12e9};
    held.elapsed_ns = 12e9;
    held.acked_bytes = 25e6 / 8 * 12;
    held.mss_bytes = 1448;
    held.snd_wnd_max_bytes = 25e6 / 8 * 0.6 + 1000; /* not a whole segment more */
    cr_assert(tl_steady_known(points, make_curve(flat, NULL, 13 * S), &held, &held, "cubic"));
    cr_assert_not(tl_steady_known(points, make_curve(flat, NULL, 11 * S), &held, &held, "cubic"));
    held.snd_wnd_max_bytes *= 1.2; /* the window was larger: it was not what held */
    cr_assert_not(tl_steady_known(points, make_curve(flat, NULL, 13 * S), &held, &held, "cubic"));
    held.snd_wnd_max_bytes = NAN;
    cr_assert_not(tl_steady_known(points, make_curve(flat, NULL, 13 * S), &held, &held, "cubic"));
}

Test(steady, a_network_limited_rate_needs_a_reason_to_trust_the_window)
{
    struct tl_flow_stats stats = network_limited(20e6);
    size_t count = make_curve(flat, NULL, 5 * S);
    cr_assert_not(tl_steady_known(points, count, &stats, &stats, "cubic"));
    cr_assert(tl_steady_known(points, count, &stats, &stats, "bbr"));
    stats.rtt_floor_ns = 35e6;
    cr_assert(tl_steady_known(points, count, &stats, &stats, "cubic"), "the link is never idle");
    stats.rtt_floor_ns = 20e6;
    stats.loss_event_count = TL_STEADY_LOSS_EVENTS;
    cr_assert(tl_steady_known(points, count, &stats, &stats, "cubic"));
    stats.loss_event_count = 1;
    struct tl_flow_stats whole = stats;
    whole.retrans_count = 0;
    cr_assert(tl_steady_known(points, count, &stats, &whole, "cubic"));
    stats.rtt_mean_ns = NAN;
    cr_assert_not(tl_steady_known(points, count, &stats, &whole, "bbr"));
}

static double lossy(double seconds, void *context)
{
    return 35e6 * (1 + 0.5 * (tl_random_unit(context) - 0.5));
}

Test(steady, a_rate_that_jumps_is_not_known_early)
{
    struct tl_random rng;
    struct tl_flow_stats stats = network_limited(200e6);
    tl_random_seed(&rng, 3);
    stats.loss_event_count = 12;
    cr_assert_not(tl_steady_known(points, make_curve(lossy, &rng, 4 * S), &stats, &stats, "cubic"));
}

/* --- Hostile curves ----------------------------------------------------------------------------
 */

Test(steady, too_few_points_make_no_rate)
{
    struct tl_steady_rate rate;
    struct tl_flow_stats stats = network_limited(1e6);
    tl_steady_rate(points, 0, 0, &rate);
    cr_assert(!rate.valid && isnan(rate.goodput_bps));
    points[0] = (struct tl_rate_point){5 * S, 100};
    tl_steady_rate(points, 1, 0, &rate);
    cr_assert(!rate.valid && isnan(rate.goodput_bps));
    points[0] = (struct tl_rate_point){0, 0};
    points[1] = (struct tl_rate_point){50 * MS, 1000};
    tl_steady_rate(points, 2, 0, &rate);
    cr_assert_not(rate.valid);
    assert_near(rate.goodput_bps, 160000, 1e-9, "what there is");
    cr_assert_not(tl_steady_known(points, 2, &stats, &stats, "bbr"));
}

Test(steady, a_line_between_two_points_is_no_steady_rate)
{
    struct tl_steady_rate rate;
    struct tl_flow_stats stats = network_limited(1e6);
    for (size_t i = 0; i < 3; i++)
        points[i] = (struct tl_rate_point){(int64_t)i * 10 * S, (double)i * 1e6};
    tl_steady_rate(points, 3, MS, &rate);
    cr_assert_not(tl_steady_known(points, 3, &stats, &stats, "bbr"));
}

Test(steady, absurd_times_and_round_trips_do_no_harm)
{
    struct tl_steady_rate rate;
    points[0] = (struct tl_rate_point){0, 0};
    points[1] = (struct tl_rate_point){INT64_MAX - 1, 1e18};
    tl_steady_rate(points, 2, INT64_MAX, &rate);
    tl_steady_rate(points, 2, INT64_MIN, &rate);
    cr_assert(isfinite(rate.goodput_bps));
    struct tl_flow_stats stats = network_limited(1e30);
    cr_assert_not(tl_steady_known(points, 2, &stats, &stats, "bbr"));
}

/* A window of 65535 bytes each 40.3 ms, all at once. */
static double windows_of_40ms(double seconds, void *context)
{
    double from = (seconds - 0.025) / 0.0403, to = (seconds + 0.025) / 0.0403;
    return (floor(to) - floor(from)) * 65535 * 8 / 0.05;
}

Test(steady, windows_that_go_out_in_bursts_are_no_noise)
{
    struct tl_steady_rate rate;
    tl_steady_rate(points, make_curve(windows_of_40ms, NULL, 5 * S), 40300000, &rate);
    assert_near(rate.goodput_bps, 13.009e6, 0.01, "rate");
    cr_assert_lt(rate.high_bps - rate.goodput_bps, 0.03 * rate.goodput_bps, "%g",
                 rate.high_bps / rate.goodput_bps);
}
