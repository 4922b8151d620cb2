/* What is made of readings of the kernel: logs, the curve of their sum, the ledger; of synthetic
 * ones whose truth is known, and of hostile ones. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "steady_expect.h"
#include "tightlink/base/random.h"

#define LIMIT 20000

static struct tl_rate_point points[TL_STEADY_POINTS_MAX];

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

Test(samples, log_refuses_more_than_its_limit)
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

Test(samples, curve_adds_streams_until_the_first_ends)
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

Test(samples, curve_survives_samples_that_run_backwards)
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

Test(samples, ledger_takes_limits_out_of_busy_time)
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

Test(samples, ledger_forgives_skew_and_nothing_more)
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

/* A connection over 1.7 ms of which the kernel tells: `early`, then, behind a loss, `late`. */
static double least_rtt(uint64_t options, uint64_t early_ns, uint64_t late_ns)
{
    struct truth truth = {.busy = 1, .rtt_ns = 2300000};
    struct tl_sample_log log = {0};
    for (int i = 2; i < 100; i++) {
        struct tl_tcp_sample sample = sender_reading(&truth, i);
        tl_sample_set(&sample, TL_SF_options, options);
        tl_sample_set(&sample, TL_SF_min_rtt_ns, i < 10 ? early_ns : late_ns);
        add_sample(&log, &sample);
    }
    struct tl_flow_stats stats;
    tl_flow_stats(&log, 50 * GRID, INT64_MAX, &stats);
    tl_sample_log_finish(&log);
    return stats.rtt_min_ns;
}

Test(samples, a_least_round_trip_of_a_timestamp_is_rounded_down)
{
    const uint64_t with = TL_TCP_OPT_TIMESTAMPS;
    assert_near(least_rtt(with, 1701000, 1000000), 1.701e6, 1e-9, "the finer one read before");
    assert_near(least_rtt(with, 1000000, 1000000), 2e6, 1e-9, "a millisecond more at most");
    assert_near(least_rtt(with, 3000000, 3000000), 2.3e6, 1e-9, "no more than the smoothed one");
    assert_near(least_rtt(with, 1701000, 900000), 0.9e6, 1e-9, "one of microseconds");
    assert_near(least_rtt(0, 1701000, 1000000), 1e6, 1e-9, "without timestamps");
}

Test(samples, one_reading_has_the_ledger_since_the_start)
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

Test(samples, readings_of_a_full_send_buffer_count_where_the_kernel_does_not)
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

Test(samples, counters_that_run_backwards_are_not_numbers)
{
    struct truth truth = {.busy = 0.9, .rtt_ns = 40 * MS};
    struct tl_sample_log log = sender_log(&truth, 100);
    log.samples[50].busy_ns = 1;
    log.samples[51].bytes_sent = 1;
    struct tl_flow_stats stats;
    tl_flow_stats(&log, 0, INT64_MAX, &stats);
    cr_assert_not(stats.ledger.valid);
    cr_assert(isnan(stats.sent_bytes));
    assert_near(stats.rtt_mean_ns, 41e6, 0.01, "what is left is used");
    tl_sample_log_finish(&log);
}

Test(samples, missing_fields_are_not_zero)
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

Test(samples, one_reading_and_none_give_no_differences)
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

Test(samples, windows_and_losses_are_counted)
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
    cr_assert_eq(stats.retrans_bytes, 10 * 2896);
    tl_sample_log_finish(&log);
}

Test(samples, losses_of_one_round_trip_are_one_event)
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

Test(samples, readings_of_a_closed_connection_do_not_count)
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

Test(samples, streams_add_up)
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

Test(samples, random_samples_never_break_the_analysis)
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

Test(samples, a_whole_test_is_analysed)
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
