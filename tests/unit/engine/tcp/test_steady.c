/* Analysis of synthetic samples whose truth is known, and of hostile ones. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/random.h"
#include "tightlink/engine/steady.h"

#define MS    INT64_C(1000000)
#define S     (1000 * MS)
#define GRID  (50 * MS)
#define LIMIT 20000

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

static void assert_near(double got, double want, double ratio, const char *what)
{
    cr_assert(fabs(got - want) <= ratio * fabs(want), "%s: %g, expected %g", what, got, want);
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
    cr_assert(rate.valid && rate.long_enough && !rate.drifting);
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
    cr_assert_lt(rate.warmup_bps, 15e6);
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
    cr_assert(rate.drifting);
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
    assert_near(rate.warmup_bps, 300e6, 0.15, "boost");
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

Test(steady, a_flat_rate_is_known_after_three_seconds_or_twenty_five_round_trips)
{
    struct tl_flow_stats held = network_limited(42e6);
    held.ledger = (struct tl_ledger){
        .valid = true, .rwnd_ratio = 0.95, .network_ratio = 0.05, .elapsed_ns = 1e9};
    cr_assert_not(tl_steady_known(points, make_curve(flat, NULL, 3 * S), &held, &held, "cubic"));
    cr_assert(tl_steady_known(points, make_curve(flat, NULL, 4 * S), &held, &held, "cubic"));
    held.rtt_mean_ns = held.rtt_floor_ns = held.rtt_min_ns = 600e6;
    cr_assert_not(tl_steady_known(points, make_curve(flat, NULL, 15 * S), &held, &held, "cubic"));
    cr_assert(tl_steady_known(points, make_curve(flat, NULL, 18 * S), &held, &held, "cubic"));
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
    cr_assert(tl_steady_known(points, make_curve(flat, NULL, 14 * S), &held, &held, "cubic"));
    cr_assert_not(tl_steady_known(points, make_curve(flat, NULL, 11 * S), &held, &held, "cubic"));
    held.snd_wnd_max_bytes *= 1.2; /* the window was larger: it was not what held */
    cr_assert_not(tl_steady_known(points, make_curve(flat, NULL, 14 * S), &held, &held, "cubic"));
    held.snd_wnd_max_bytes = NAN;
    cr_assert_not(tl_steady_known(points, make_curve(flat, NULL, 14 * S), &held, &held, "cubic"));
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
    cr_assert_eq(rate.batch_ns, 10 * S);
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

/* --- Logs
 * ------------------------------------------------------------------------------------------ */

static void add_sample(struct tl_sample_log *log, const struct tl_tcp_sample *sample)
{
    cr_assert_eq(tl_sample_log_add(log, sample, LIMIT), TL_OK);
}

static struct tl_tcp_sample received(int64_t time_ns, uint64_t bytes)
{
    struct tl_tcp_sample sample = {.time_ns = time_ns};
    tl_sample_set(&sample, TL_SF_app_bytes, bytes);
    return sample;
}

Test(steady, log_refuses_more_than_its_limit)
{
    struct tl_sample_log log = {0};
    struct tl_tcp_sample sample = received(0, 0);
    for (int i = 0; i < 200; i++)
        cr_assert_eq(tl_sample_log_add(&log, &sample, 200), TL_OK);
    cr_assert_eq(tl_sample_log_add(&log, &sample, 200), TL_LIMIT);
    cr_assert_eq(log.count, 200);
    tl_sample_log_finish(&log);
    cr_assert_eq(log.count, 0);
}

Test(steady, curve_adds_streams_until_the_first_ends)
{
    struct tl_sample_log logs[3] = {0};
    for (int64_t t = 0; t <= 1000; t += 50)
        for (int i = 0; i < 3; i++) {
            if (i == 1 && t > 700)
                continue;
            /* Each stream has a rate and a phase of its own. */
            struct tl_tcp_sample sample =
                received((t + 7 * i) * MS, (uint64_t)((t + 7 * i) * 1000 * (i + 1)));
            add_sample(&logs[i], &sample);
        }
    size_t count = tl_steady_curve(logs, 3, points, TL_STEADY_POINTS_MAX);
    cr_assert_eq(points[0].time_ns, 0);
    cr_assert_eq(points[count - 1].time_ns, 700 * MS);
    for (size_t i = 1; i < count; i++)
        assert_near(points[i].bytes, (double)points[i].time_ns / 1e6 * 6000, 1e-6, "sum");
    cr_assert_eq(tl_steady_curve(logs, 3, points, 4), 4);
    cr_assert_eq(tl_steady_curve(logs, 0, points, 4), 0);
    tl_sample_log_finish(&logs[2]);
    cr_assert_eq(tl_steady_curve(logs, 3, points, 4), 0, "one stream has no sample");
    tl_sample_log_finish(&logs[0]);
    tl_sample_log_finish(&logs[1]);
}

Test(steady, curve_survives_samples_that_run_backwards)
{
    struct tl_sample_log log = {0};
    static const struct {
        int64_t ms;
        uint64_t bytes;
    } readings[] = {{-5, 1}, {50, 100}, {40, 900}, {100, 50}, {150, 300}, {150, 999}, {200, 300}};
    for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
        struct tl_tcp_sample sample = received(readings[i].ms * MS, readings[i].bytes);
        add_sample(&log, &sample);
    }
    struct tl_tcp_sample nothing = {.time_ns = 250 * MS}; /* app_bytes absent */
    add_sample(&log, &nothing);
    size_t count = tl_steady_curve(&log, 1, points, TL_STEADY_POINTS_MAX);
    cr_assert_eq(count, 4, "%zu", count); /* the silent tail is cut */
    cr_assert_eq(points[1].bytes, 100);
    cr_assert_eq(points[2].bytes, 100, "no progress, not less than before");
    cr_assert_eq(points[3].bytes, 300);
    tl_sample_log_finish(&log);
}

/* --- Flow
 * ---------------------------------------------------------------------------------------------- */

struct truth {
    double busy, rwnd, sndbuf; /* shares of time */
    uint64_t rtt_ns, inflight_bytes, wnd_bytes;
    int loss_every; /* readings, 0 = never */
};

static struct tl_tcp_sample sender_reading(const struct truth *truth, int index)
{
    int64_t t = index * GRID;
    uint64_t losses = truth->loss_every > 0 ? (uint64_t)(index / truth->loss_every) : 0;
    struct tl_tcp_sample sample = {.time_ns = t};
    tl_sample_set(&sample, TL_SF_state, 1);
    tl_sample_set(&sample, TL_SF_busy_ns, (uint64_t)(truth->busy * (double)t));
    tl_sample_set(&sample, TL_SF_rwnd_limited_ns, (uint64_t)(truth->rwnd * (double)t));
    tl_sample_set(&sample, TL_SF_sndbuf_limited_ns, (uint64_t)(truth->sndbuf * (double)t));
    tl_sample_set(&sample, TL_SF_rtt_ns, truth->rtt_ns + (uint64_t)(index % 3) * 1000000);
    tl_sample_set(&sample, TL_SF_min_rtt_ns, truth->rtt_ns - 100000);
    tl_sample_set(&sample, TL_SF_bytes_sent, (uint64_t)index * 100000 + losses * 2896);
    tl_sample_set(&sample, TL_SF_bytes_retrans, losses * 2896);
    tl_sample_set(&sample, TL_SF_bytes_acked, (uint64_t)index * 100000 - truth->inflight_bytes);
    tl_sample_set(&sample, TL_SF_total_retrans_count, losses * 2);
    tl_sample_set(&sample, TL_SF_data_segs_out_count, (uint64_t)index * 69 + losses * 2);
    tl_sample_set(&sample, TL_SF_snd_wnd_bytes, truth->wnd_bytes);
    tl_sample_set(&sample, TL_SF_snd_cwnd_count, 100);
    tl_sample_set(&sample, TL_SF_snd_mss_bytes, 1448);
    tl_sample_set(&sample, TL_SF_cpu_ns, (uint64_t)t / 4);
    return sample;
}

static struct tl_sample_log sender_log(const struct truth *truth, int readings)
{
    struct tl_sample_log log = {0};
    for (int i = 2; i < readings; i++) { /* so that bytes_acked is not negative */
        struct tl_tcp_sample sample = sender_reading(truth, i);
        add_sample(&log, &sample);
    }
    return log;
}

Test(steady, ledger_takes_limits_out_of_busy_time)
{
    struct truth truth = {.busy = 0.9, .rwnd = 0.5, .sndbuf = 0.1, .rtt_ns = 40 * MS};
    struct tl_sample_log log = sender_log(&truth, 100);
    struct tl_flow_stats stats;
    tl_flow_stats(&log, 0, INT64_MAX, &stats);
    cr_assert(stats.ledger.valid);
    assert_near(stats.ledger.application_ratio, 0.1, 0.01, "application");
    assert_near(stats.ledger.rwnd_ratio, 0.5, 0.01, "rwnd");
    assert_near(stats.ledger.sndbuf_ratio, 0.1, 0.01, "sndbuf");
    assert_near(stats.ledger.network_ratio, 0.3, 0.01, "network");
    assert_near(stats.ledger.application_ratio + stats.ledger.rwnd_ratio +
                    stats.ledger.sndbuf_ratio + stats.ledger.network_ratio,
                1, 1e-12, "sum");
    assert_near(stats.thread_cpu_ratio, 0.25, 0.001, "cpu");
    tl_sample_log_finish(&log);
}

Test(steady, ledger_forgives_skew_and_nothing_more)
{
    /* 0.5 % more busy than time has passed, limits that add up to all of it. */
    struct truth truth = {.busy = 1.005, .rwnd = 1.008, .sndbuf = 0, .rtt_ns = 40 * MS};
    struct tl_sample_log log = sender_log(&truth, 100);
    struct tl_flow_stats stats;
    tl_flow_stats(&log, 0, INT64_MAX, &stats);
    cr_assert(stats.ledger.valid);
    cr_assert_eq(stats.ledger.rwnd_ratio, 1);
    cr_assert_eq(stats.ledger.network_ratio, 0);
    tl_sample_log_finish(&log);
    truth.busy = 0.5;
    log = sender_log(&truth, 100);
    tl_flow_stats(&log, 0, INT64_MAX, &stats);
    cr_assert_not(stats.ledger.valid, "limited for longer than busy");
    cr_assert(isnan(stats.ledger.rwnd_ratio));
    tl_sample_log_finish(&log);
}

Test(steady, one_reading_has_the_ledger_since_the_start)
{
    struct truth truth = {.busy = 0.9, .rwnd = 0.5, .sndbuf = 0.1, .rtt_ns = 40 * MS};
    struct tl_tcp_sample sample = sender_reading(&truth, 100), without = {.time_ns = 5000 * MS};
    struct tl_ledger ledger;
    tl_ledger_so_far(&sample, &ledger);
    cr_assert(ledger.valid);
    assert_near(ledger.application_ratio, 0.1, 0.01, "application");
    assert_near(ledger.rwnd_ratio, 0.5, 0.01, "rwnd");
    assert_near(ledger.network_ratio, 0.3, 0.01, "network");
    tl_ledger_so_far(&without, &ledger);
    cr_assert(!ledger.valid && isnan(ledger.rwnd_ratio), "the kernel did not tell");
    tl_ledger_so_far(NULL, &ledger);
    cr_assert_not(ledger.valid);
}

Test(steady, readings_of_a_full_send_buffer_count_where_the_kernel_does_not)
{
    struct truth truth = {.busy = 1, .sndbuf = 0.1, .rtt_ns = 40 * MS, .wnd_bytes = 1000000};
    struct tl_sample_log log = sender_log(&truth, 102);
    for (size_t i = 0; i < log.count; i++) {
        tl_sample_set(&log.samples[i], TL_SF_mem_sndbuf_bytes, 131072);
        tl_sample_set(&log.samples[i], TL_SF_mem_wqueued_bytes, i % 5 == 0 ? 80000 : 100000);
        tl_sample_set(&log.samples[i], TL_SF_outq_notsent_bytes, i % 5 == 1 ? 1448 : 0);
    }
    struct tl_flow_stats stats;
    tl_flow_stats(&log, 0, INT64_MAX, &stats);
    assert_near(stats.sndbuf_full_ratio, 0.6, 1e-9, "full");
    assert_near(stats.ledger.sndbuf_ratio, 0.6, 0.001, "sndbuf");
    assert_near(stats.ledger.sndbuf_kernel_ratio, 0.1, 0.001, "the kernel's part");
    assert_near(stats.ledger.network_ratio, 0.4, 0.001, "network");
    for (size_t i = 0; i < log.count; i++)
        log.samples[i].snd_cwnd_count = 1; /* the congestion window holds it back, too */
    tl_flow_stats(&log, 0, INT64_MAX, &stats);
    assert_near(stats.ledger.sndbuf_ratio, 0.1, 0.001, "sndbuf");
    tl_sample_log_finish(&log);
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

Test(steady, counters_that_run_backwards_are_not_numbers)
{
    struct truth truth = {.busy = 0.9, .rtt_ns = 40 * MS};
    struct tl_sample_log log = sender_log(&truth, 100);
    log.samples[50].busy_ns = 1;
    log.samples[51].bytes_sent = 1;
    struct tl_flow_stats stats;
    tl_flow_stats(&log, 0, INT64_MAX, &stats);
    cr_assert_not(stats.ledger.valid);
    cr_assert(isnan(stats.sent_bytes) && isnan(stats.retrans_bytes_ratio));
    assert_near(stats.rtt_mean_ns, 41e6, 0.01, "what is left is used");
    tl_sample_log_finish(&log);
}

Test(steady, missing_fields_are_not_zero)
{
    struct truth truth = {.busy = 0.9, .rtt_ns = 40 * MS};
    struct tl_sample_log log = sender_log(&truth, 100);
    for (size_t i = 0; i < log.count; i++)
        memset(log.samples[i].present, 0, sizeof(log.samples[i].present));
    struct tl_flow_stats stats;
    tl_flow_stats(&log, 0, INT64_MAX, &stats);
    cr_assert_not(stats.ledger.valid);
    cr_assert(isnan(stats.rtt_mean_ns) && isnan(stats.rtt_min_ns) && isnan(stats.retrans_count));
    cr_assert(isnan(stats.inflight_max_bytes) && isnan(stats.loss_event_count));
    cr_assert(isnan(stats.snd_wnd_max_bytes) && isnan(stats.window_full_ratio));
    struct tl_receiver_stats receiver;
    tl_receiver_stats(&log, 0, INT64_MAX, &receiver);
    cr_assert(isnan(receiver.received_bytes) && isnan(receiver.rcv_wnd_max_bytes));
    tl_sample_log_finish(&log);
}

Test(steady, one_reading_and_none_give_no_differences)
{
    struct truth truth = {.busy = 0.9, .rtt_ns = 40 * MS, .inflight_bytes = 1000};
    struct tl_sample_log log = sender_log(&truth, 3);
    struct tl_flow_stats stats;
    tl_flow_stats(&log, 0, INT64_MAX, &stats);
    cr_assert_eq(stats.readings, 1);
    cr_assert(!stats.ledger.valid && isnan(stats.sent_bytes) && isnan(stats.elapsed_ns));
    assert_near(stats.inflight_max_bytes, 1000, 0, "in flight");
    tl_flow_stats(&log, 0, 1, &stats);
    cr_assert_eq(stats.readings, 0);
    cr_assert(isnan(stats.rtt_mean_ns) && isnan(stats.mss_bytes));
    tl_sample_log_finish(&log);
}

Test(steady, windows_and_losses_are_counted)
{
    struct truth truth = {.busy = 1,
                          .rtt_ns = 40 * MS,
                          .inflight_bytes = 64000,
                          .wnd_bytes = 65535,
                          .loss_every = 10};
    struct tl_sample_log log = sender_log(&truth, 101);
    struct tl_flow_stats stats;
    tl_flow_stats(&log, 0, INT64_MAX, &stats);
    cr_assert_eq(stats.inflight_max_bytes, 64000);
    cr_assert_eq(stats.window_full_ratio, 1);
    cr_assert_eq(stats.snd_wnd_max_bytes, 65535);
    cr_assert_eq(stats.cwnd_mean_bytes, 144800);
    cr_assert_eq(stats.retrans_count, 20);
    cr_assert_eq(stats.loss_event_count, 10, "%g", stats.loss_event_count);
    assert_near(stats.rtt_at_loss_ns, 41.5e6, 0.03, "RTT at loss");
    cr_assert_eq(stats.rtt_min_ns, 39.9e6);
    cr_assert_eq(stats.rtt_floor_ns, 40e6);
    cr_assert_eq(stats.rtt_max_ns, 42e6);
    assert_near(stats.retrans_bytes_ratio, 10 * 2896 / stats.sent_bytes, 1e-9, "ratio");
    tl_sample_log_finish(&log);
}

Test(steady, losses_of_one_round_trip_are_one_event)
{
    /* 600 ms: retransmissions in each of 12 readings after another belong together. */
    struct truth truth = {.busy = 1, .rtt_ns = 600 * MS, .loss_every = 1};
    struct tl_sample_log log = sender_log(&truth, 14);
    struct tl_flow_stats stats;
    tl_flow_stats(&log, 0, INT64_MAX, &stats);
    cr_assert_eq(stats.loss_event_count, 1, "%g", stats.loss_event_count);
    tl_sample_log_finish(&log);
    /* 1 ms: two retransmissions in 50 round trips may be two events. */
    truth.rtt_ns = 1 * MS;
    truth.loss_every = 10;
    log = sender_log(&truth, 22);
    tl_flow_stats(&log, 0, INT64_MAX, &stats);
    cr_assert_eq(stats.loss_event_count, 4, "%g", stats.loss_event_count);
    tl_sample_log_finish(&log);
}

Test(steady, readings_of_a_closed_connection_do_not_count)
{
    struct truth truth = {.busy = 1, .rtt_ns = 40 * MS, .wnd_bytes = 65535};
    struct tl_sample_log log = sender_log(&truth, 20);
    log.samples[log.count - 1].state = 7;
    log.samples[log.count - 1].rtt_ns = 900 * (uint64_t)S;
    struct tl_flow_stats stats;
    tl_flow_stats(&log, 0, INT64_MAX, &stats);
    cr_assert_eq(stats.rtt_max_ns, 42e6);
    tl_sample_log_finish(&log);
}

Test(steady, streams_add_up)
{
    struct truth held = {.busy = 1, .rwnd = 1, .rtt_ns = 40 * MS, .wnd_bytes = 10000};
    struct truth idle = {.busy = 0, .rtt_ns = 20 * MS, .wnd_bytes = 30000};
    struct tl_sample_log logs[2] = {sender_log(&held, 100), sender_log(&idle, 100)};
    struct tl_flow_stats stats[3], sum;
    tl_flow_stats(&logs[0], 0, INT64_MAX, &stats[0]);
    tl_flow_stats(&logs[1], 0, INT64_MAX, &stats[2]);
    tl_flow_stats(&logs[1], 0, 1, &stats[1]); /* a stream without readings */
    tl_flow_stats_sum(stats, 3, &sum);
    assert_near(sum.ledger.rwnd_ratio, 0.5, 1e-6, "rwnd");
    assert_near(sum.ledger.application_ratio, 0.5, 1e-6, "application");
    cr_assert(sum.ledger.valid);
    cr_assert_eq(sum.snd_wnd_max_bytes, 40000);
    cr_assert_eq(sum.rtt_min_ns, 19.9e6);
    assert_near(sum.rtt_mean_ns, 31e6, 0.01, "mean RTT");
    cr_assert_eq(sum.sent_bytes, stats[0].sent_bytes + stats[2].sent_bytes);
    tl_flow_stats_sum(&stats[1], 1, &sum);
    cr_assert(sum.readings == 0 && isnan(sum.sent_bytes) && !sum.ledger.valid);
    tl_sample_log_finish(&logs[0]);
    tl_sample_log_finish(&logs[1]);
}

Test(steady, random_samples_never_break_the_analysis)
{
    struct tl_random rng;
    struct tl_steady steady;
    tl_random_seed(&rng, 7);
    for (int round = 0; round < 300; round++) {
        struct tl_sample_log logs[4] = {0};
        size_t readings = tl_random_next(&rng) % 60;
        for (size_t i = 0; i < readings; i++) {
            struct tl_tcp_sample sample;
            tl_random_fill(&rng, &sample, sizeof(sample));
            sample.last = false;
            if (tl_random_next(&rng) % 2)
                sample.time_ns = (int64_t)i * GRID;
            add_sample(&logs[tl_random_next(&rng) % 4], &sample);
        }
        tl_steady_analyse(logs, logs + 2, 2, "cubic", points, &steady);
        cr_assert_not(steady.known);
        cr_assert(!steady.rate.valid || steady.rate.low_bps <= steady.rate.high_bps);
        for (int i = 0; i < 4; i++)
            tl_sample_log_finish(&logs[i]);
    }
}

Test(steady, a_whole_test_is_analysed)
{
    struct truth truth = {
        .busy = 1, .rwnd = 0.96, .rtt_ns = 42 * MS, .inflight_bytes = 60000, .wnd_bytes = 65535};
    struct tl_sample_log sender = sender_log(&truth, 120), receiver = {0};
    for (int i = 0; i < 120; i++) {
        struct tl_tcp_sample sample = received(i * GRID, (uint64_t)i * 100000);
        add_sample(&receiver, &sample);
    }
    struct tl_steady steady;
    tl_steady_analyse(&sender, &receiver, 1, "cubic", points, &steady);
    cr_assert(steady.known && steady.cycles_inside);
    assert_near(steady.rate.goodput_bps, 16e6, 0.001, "rate");
    assert_near(steady.sender.ledger.rwnd_ratio, 0.96, 0.01, "rwnd");
    assert_near(steady.fairness_ratio, 1, 1e-9, "fairness of one");
    tl_sample_log_finish(&sender);
    tl_sample_log_finish(&receiver);
}
