/* What a step of the UDP ladder says: each kind of limit, and what must not be taken for one. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tightlink/base/stats.h"
#include "udp_step.h"

#define INTERVALS 10

static struct tl_udp_interval intervals[INTERVALS];

/* A step of 0.3 s at rate_bps of which lost datagrams are missing, one by one. */
static struct tl_udp_result step(double rate_bps, uint64_t lost)
{
    struct tl_udp_result result;
    memset(&result, 0, sizeof result);
    memset(intervals, 0, sizeof intervals);
    uint64_t sent = (uint64_t)(rate_bps * 0.3 / 8 / 1448);
    result.sender.sent_count = sent;
    result.sender.elapsed_ns = 300000000;
    result.sender.achieved_bps = rate_bps;
    result.receiver.received_count = sent - lost;
    result.receiver.lost_count = result.receiver.missing_count = lost;
    result.receiver.runs.run_count = lost;
    result.receiver.received_bps = rate_bps * (double)(sent - lost) / (double)sent;
    result.receiver.delay.p90_ns = 1e6;
    result.loss_ratio = (double)lost / (double)sent;
    tl_stats_poisson95((double)lost, &result.loss_low_ratio, &result.loss_high_ratio);
    result.loss_low_ratio /= (double)sent;
    result.loss_high_ratio /= (double)sent;
    result.interval_count = INTERVALS;
    result.intervals = intervals;
    for (unsigned i = 0; i < INTERVALS; i++)
        intervals[i] = (struct tl_udp_interval){.start_ns = i * INT64_C(30000000),
                                                .sent_count = sent / INTERVALS,
                                                .received_count = sent / INTERVALS,
                                                .received_bytes = sent / INTERVALS * 1448,
                                                .delay_mean_ns = 1e6};
    return result;
}

static void grow_delay(double to_ns)
{
    for (unsigned i = 0; i < INTERVALS; i++)
        intervals[i].delay_mean_ns = to_ns * i / (INTERVALS - 1);
}

/* A pool of clean steps below, or of steps that lose a share everywhere. */
static struct udp_pool pool_of(double loss_ratio)
{
    struct udp_pool pool;
    udp_pool_begin(&pool);
    for (int i = 0; i < 5; i++) {
        struct tl_udp_result result = step(50e6, 0);
        uint64_t lost = (uint64_t)(loss_ratio * (double)result.sender.sent_count + 0.5);
        result = step(50e6, lost);
        udp_pool_add(&pool, &result);
    }
    return pool;
}

Test(udp_step, a_clean_step_passes)
{
    struct udp_pool pool = pool_of(0);
    struct tl_udp_result result = step(100e6, 0);
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_PASSED);
    result = step(100e6, 1); /* one datagram in two thousand is no knee */
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_PASSED);
}

Test(udp_step, loss_above_a_rate_is_a_knee)
{
    struct udp_pool pool = pool_of(0);
    struct tl_udp_result result = step(100e6, 80);
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_LOSS);
}

Test(udp_step, datagrams_none_of_which_arrives_tell_of_no_loss)
{
    struct tl_udp_result none = step(2e6, 0);
    cr_assert_not(udp_step_none_arrived(&none), "a far receiver tells what came by this alone");
    none.receiver.received_count = 0;
    cr_assert(udp_step_none_arrived(&none));
    none.receiver.damaged_count = 1;
    cr_assert_not(udp_step_none_arrived(&none), "one came, but not whole");
    none.receiver.damaged_count = 0;
    none.receiver.local_drop_count = 1;
    cr_assert_not(udp_step_none_arrived(&none), "the host had no room for it");
    none.receiver.local_drop_count = 0;
    none.sender.sent_count = 0;
    cr_assert_not(udp_step_none_arrived(&none), "nothing was sent");
}

Test(udp_step, loss_that_is_the_same_at_every_rate_is_none)
{
    struct udp_pool pool = pool_of(0.01);
    struct tl_udp_result result = step(100e6, 28); /* 1.1 % */
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_PASSED);
    result = step(100e6, 150); /* 6 % */
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_LOSS);
}

Test(udp_step, a_queue_that_grows_is_a_knee_before_it_drops)
{
    struct udp_pool pool = pool_of(0);
    struct tl_udp_result result = step(100e6, 0);
    result.receiver.received_bps = 0.96 * 100e6;
    grow_delay(12e6);
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_DELAY);
    grow_delay(1e6); /* the same rate with a flat delay: datagrams that are still on the way */
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_PASSED);
    result = step(100e6, 0);
    result.receiver.delay.p90_ns = 120e6;
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_DELAY);
    pool.delay_p90_ns = 60e6; /* a path that jitters at rest */
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_PASSED);
}

Test(udp_step, the_ends_own_limits_are_not_the_paths)
{
    struct udp_pool pool = pool_of(0);
    struct tl_udp_result result = step(80e6, 0);
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_SENDER_LIMIT);
    result = step(100e6, 0);
    result.receiver.local_drop_count = 300;
    result.receiver.missing_count = 300;
    result.receiver.received_count -= 300;
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_RECEIVER);
}

/* Two pieces of time of ten get all that leaves, as from an iperf3 server of 3.1. */
static void leave_by_bursts(struct tl_udp_result *result)
{
    uint64_t each = result->sender.sent_count / 2;
    for (unsigned i = 0; i < INTERVALS; i++)
        intervals[i].sent_count = intervals[i].received_count = i == 0 || i == 5 ? each : 0;
}

Test(udp_step, what_waits_of_a_senders_own_bursts_is_no_queue_of_the_path)
{
    struct udp_pool pool = pool_of(0);
    struct tl_udp_result result = step(100e6, 0);
    result.receiver.delay.p90_ns = 120e6;
    leave_by_bursts(&result);
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_BURSTS);
    for (unsigned i = 0; i < INTERVALS; i++) /* an iperf3 server tells when what arrived left */
        intervals[i].sent_count = 0;
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_BURSTS);
    result = step(100e6, 80);
    leave_by_bursts(&result);
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_BURSTS);
    result = step(100e6, 0);
    leave_by_bursts(&result);
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_PASSED, "even so it passed");
}

Test(udp_step, an_outage_and_a_slow_step_are_no_bursts_of_the_sender)
{
    struct udp_pool pool = pool_of(0);
    struct tl_udp_result result = step(100e6, 600);
    for (unsigned i = 2; i < 7; i++) /* they left, and nothing of them arrived */
        intervals[i].received_count = 0;
    cr_expect_eq(udp_step_judge(&result, 100e6, &pool), UDP_STEP_LOSS);
    result = step(1e6, 0);
    result.receiver.delay.p90_ns = 120e6;
    for (unsigned i = 0; i < INTERVALS; i++) /* every second piece has a datagram's turn */
        intervals[i].sent_count = intervals[i].received_count = i % 2;
    cr_expect_eq(udp_step_judge(&result, 1e6, &pool), UDP_STEP_DELAY);
}

Test(udp_step, the_pool_bounds_loss_by_events)
{
    double low, high;
    struct udp_pool pool = {.sent_count = 100000, .lost_count = 30, .run_count = 30};
    cr_expect_float_eq(udp_pool_loss(&pool, &low, &high), 3e-4, 1e-9);
    double width = high - low;
    pool.run_count = 5; /* six at a time: as uncertain as five losses */
    cr_expect_float_eq(udp_pool_loss(&pool, &low, &high), 3e-4, 1e-9);
    cr_expect_gt(high - low, 1.5 * width);
    pool = (struct udp_pool){.sent_count = 3000};
    cr_expect_eq(udp_pool_loss(&pool, &low, &high), 0);
    cr_expect_float_eq(high, 3.689 / 3000, 1e-5);
    udp_pool_begin(&pool);
    cr_expect(isnan(udp_pool_loss(&pool, &low, &high)));
}

Test(udp_step, the_tail_is_what_arrives_once_a_bucket_is_empty)
{
    struct tl_udp_result result = step(100e6, 0);
    cr_expect(isnan(udp_step_tail_bps(&result)), "nothing was lost");
    for (unsigned i = 3; i < INTERVALS; i++) {
        intervals[i].received_count = intervals[i].sent_count * 4 / 10;
        intervals[i].received_bytes = intervals[i].received_count * 1448;
    }
    cr_expect_float_eq(udp_step_tail_bps(&result), 40e6, 1e6);
    for (unsigned i = 3; i < INTERVALS - 2; i++)
        intervals[i].received_count = intervals[i].sent_count;
    cr_expect(isnan(udp_step_tail_bps(&result)), "too short to say");
}

/* --- A far end that tells totals alone ------------------------------------------------------- */

/* The same step at an iperf3 server: no series, no delays, a word behind the last datagram. */
static struct tl_udp_result totals(double rate_bps, uint64_t lost, double wait_behind_ns)
{
    struct tl_udp_result result = step(rate_bps, lost);
    result.receiver.totals_only = true;
    result.receiver.crc = TL_UDP_CRC_NONE;
    result.receiver.runs.run_count = 0;
    result.receiver.delay.p90_ns = (double)NAN;
    result.interval_count = 0;
    result.wait_behind_ns = wait_behind_ns;
    return result;
}

Test(udp_step, a_word_that_waits_behind_the_datagrams_is_a_queue)
{
    struct udp_pool below = pool_of(0);
    struct tl_udp_result waits = totals(100e6, 0, 60e6), chance = totals(100e6, 0, 20e6);
    struct tl_udp_result repeated = totals(100e6, 0, (double)NAN);
    cr_assert_eq(udp_step_judge(&waits, 100e6, &below), UDP_STEP_DELAY);
    cr_assert_eq(udp_step_judge(&chance, 100e6, &below), UDP_STEP_PASSED);
    cr_assert_eq(udp_step_judge(&repeated, 100e6, &below), UDP_STEP_PASSED);
}

Test(udp_step, what_a_far_socket_may_have_dropped_is_no_loss_of_the_path)
{
    struct udp_pool below = pool_of(0);
    struct tl_udp_result slow = totals(10e6, 30, 0), fast = totals(100e6, 300, 0);
    struct tl_udp_result queue = totals(100e6, 300, 60e6);
    cr_assert_eq(udp_step_judge(&slow, 10e6, &below), UDP_STEP_LOSS);
    cr_assert_eq(udp_step_judge(&fast, 100e6, &below), UDP_STEP_RECEIVER);
    cr_assert_eq(udp_step_judge(&queue, 100e6, &below), UDP_STEP_DELAY);
    cr_assert(udp_step_tells_loss(&slow, 10e6) && !udp_step_tells_loss(&fast, 100e6));
}

Test(udp_step, a_pool_remembers_what_it_was_not_told)
{
    struct udp_pool pool = pool_of(0);
    struct tl_udp_result result = totals(10e6, 0, 0);
    cr_assert(!pool.totals_only && !pool.unchecked);
    udp_pool_add(&pool, &result);
    cr_assert(pool.totals_only && pool.unchecked);
}

Test(udp_step, whoever_adds_datagrams_hides_what_was_damaged)
{
    struct udp_pool pool;
    struct tl_udp_result result = step(50e6, 5);
    udp_pool_begin(&pool);
    result.receiver.damaged_count = 2;
    result.receiver.foreign_count = 1; /* a late word of another test */
    udp_pool_add(&pool, &result);
    cr_expect(!pool.meddled && pool.corrupt_count == 2);
    result.receiver.damaged_count = 0;
    result.receiver.foreign_count = result.receiver.received_count / 10;
    udp_pool_add(&pool, &result);
    cr_expect(pool.meddled);
}
