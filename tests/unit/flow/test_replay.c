/* Losses played back packet by packet, and what stands beside them, from made passages. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tightlink/base/random.h"
#include "tightlink/flow/limits.h"

#define MS    INT64_C(1000000)
#define MSS   1448
#define RTT   30 /* ms */
#define ENDS  (9000 * MS)
#define TIMED 30000u /* us, without a queue */

struct made {
    struct tl_packet_half half;
    struct tl_packet_passage passages[TL_PACKETS_PASSAGES_MAX];
    struct tl_packet_loss losses[TL_PACKETS_LOSSES_MAX];
};

/* What drops: a bucket filled at that rate, or a queue that a link of it empties. */
struct store {
    double rate_bps, depth_bytes, level_bytes;
    int64_t last_ns;
};

static struct made *begin(void)
{
    struct made *made = calloc(1, sizeof *made);
    cr_assert(made);
    made->half = (struct tl_packet_half){.passages = made->passages,
                                         .losses = made->losses,
                                         .mss_bytes = MSS,
                                         .rtt_count = 100,
                                         .rtt_sum_ns = 100.0 * RTT * 1e6,
                                         .rtt_min_ns = RTT * 1e6};
    return made;
}

static void send(struct made *made, int64_t time_ns, bool lost, double waits_us)
{
    struct tl_packet_half *half = &made->half;
    cr_assert_lt(half->passages_count, TL_PACKETS_PASSAGES_MAX);
    made->passages[half->passages_count++] =
        (struct tl_packet_passage){.time_us = (uint32_t)(time_ns / 1000),
                                   .passed_bytes = lost ? 0 : MSS,
                                   .lost_bytes = lost ? MSS : 0,
                                   .far_us = lost ? 0 : TIMED + (uint32_t)waits_us};
    if (lost && half->losses_count < TL_PACKETS_LOSSES_MAX)
        made->losses[half->losses_count++] =
            (struct tl_packet_loss){.time_ns = time_ns, .flight_bytes = MSS, .len_bytes = MSS};
}

/* One more segment; false where it is dropped. */
static bool takes(struct store *store, int64_t time_ns)
{
    double left = store->rate_bps / 8e9 * (double)(time_ns - store->last_ns);
    store->level_bytes = fmax(store->level_bytes - left, 0);
    store->last_ns = time_ns;
    bool room = store->level_bytes + MSS <= store->depth_bytes;
    store->level_bytes += room ? MSS : 0;
    return room;
}

/* A sawtooth a second around the store's rate; waits: for its level, as in a queue. */
static struct made *sawtooth(double rate_bps, double depth_bytes, bool waits)
{
    struct made *made = begin();
    struct store store = {.rate_bps = rate_bps, .depth_bytes = depth_bytes};
    for (int64_t time_ns = 0; time_ns < ENDS;) {
        double sent_bps = rate_bps * (0.7 + 0.6 * fmod((double)time_ns / 1e9, 1));
        bool passes = takes(&store, time_ns);
        send(made, time_ns, !passes, waits ? store.level_bytes * 8e6 / rate_bps : 0);
        time_ns += (int64_t)(MSS * 8e9 / sent_bps);
    }
    return made;
}

Test(replay, a_bucket_foretells_its_losses_and_nothing_waits_for_it)
{
    struct made *made = sawtooth(8e6, 30e3, false);
    struct tl_packet_replay replay;
    tl_packet_replay(&made->half, false, &replay);
    cr_expect_gt(replay.told_ratio, 0.9);
    cr_expect_gt(replay.low_ratio, 0.5);
    cr_expect_float_eq(replay.rate_bps, 8e6, 0.2e6, "%g", replay.rate_bps);
    cr_expect_lt(replay.rate_high_bps / replay.rate_low_bps, 1.2);
    cr_expect(replay.depth_bytes > 30e3 / 1.4 && replay.depth_bytes < 30e3 * 1.4, "%g",
              replay.depth_bytes);
    cr_expect_gt(replay.swing_ns, 10e6);
    cr_expect_lt(replay.delay_ns, 0.01 * replay.swing_ns);
    free(made);
}

Test(replay, packets_wait_for_a_queue_of_the_same_rate)
{
    struct made *made = sawtooth(8e6, 30e3, true);
    struct tl_packet_replay replay;
    double rank, low, high;
    tl_packet_replay(&made->half, false, &replay);
    cr_expect_gt(replay.low_ratio, 0.5);
    cr_expect_gt(replay.swing_ns, 10e6);
    cr_expect_float_eq(replay.delay_ns / replay.swing_ns, 1, 0.3, "%g of %g", replay.delay_ns,
                       replay.swing_ns);
    cr_expect(tl_packet_delay_rank(&made->half, false, &rank, &low, &high));
    cr_expect_gt(low, 0.6, "%g", rank);
    free(made);
}

/* The same sawtooth, with events by chance, each of so many packets in a row. */
static void check_chance(double ratio, unsigned in_a_row, uint64_t seed)
{
    struct made *made = begin();
    struct tl_random random;
    struct tl_packet_replay replay;
    double rank, low, high;
    unsigned left = 0, events = 0;
    tl_random_seed(&random, seed);
    for (int64_t time_ns = 0; time_ns < ENDS;) {
        bool begins = left == 0 && tl_random_unit(&random) < ratio;
        events += begins;
        left = begins ? in_a_row : left;
        send(made, time_ns, left > 0, 0);
        left -= left > 0;
        time_ns += (int64_t)(MSS * 8e9 / (8e6 * (0.7 + 0.6 * fmod((double)time_ns / 1e9, 1))));
    }
    tl_packet_replay(&made->half, false, &replay);
    cr_expect_lt(replay.told_ratio, 0.4, "%u in a row: %g", in_a_row, replay.told_ratio);
    cr_expect_lt(replay.low_ratio, 0.3);
    cr_expect(tl_packet_delay_rank(&made->half, false, &rank, &low, &high));
    cr_expect_float_eq(rank, 0.5, 0.1, "all took the same: %g", rank);
    /* Few of them lie within a round trip and a half of another. */
    double counted = tl_packet_loss_events(&made->half, 0, ENDS);
    cr_expect(counted > 0.7 * events && counted <= events, "%g of %u", counted, events);
    free(made);
}

Test(replay, chance_is_foretold_by_nothing)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        check_chance(0.005, 1, seed);
        check_chance(0.003, 10, seed);
    }
}

/* A queue of 200 kB before 180 Mb/s: what is written in one go is too much for it at times, and
 * each slower link would drop the same. */
Test(replay, what_a_program_sends_in_one_go_fits_many_rates)
{
    struct made *made = begin();
    struct store store = {.rate_bps = 180e6, .depth_bytes = 200e3};
    struct tl_packet_replay replay;
    for (int burst = 0; burst < 90; burst++)
        for (int i = 0; i < (burst % 4 == 3 ? 180 : 120); i++) {
            int64_t time_ns = burst * 40 * MS + i * 12000; /* the card's own rate */
            send(made, time_ns, !takes(&store, time_ns), 0);
        }
    tl_packet_replay(&made->half, false, &replay);
    cr_expect_gt(replay.told_ratio, 0.9);
    cr_expect_gt(replay.rate_high_bps / replay.rate_low_bps, 1.5, "%g to %g", replay.rate_low_bps,
                 replay.rate_high_bps);
    free(made);
}

Test(replay, few_losses_tell_nothing)
{
    struct made *made = begin();
    struct tl_packet_replay replay;
    double rank, low, high;
    for (int i = 0; i < 5000; i++)
        send(made, i * MS, i % 1000 == 999, 0);
    tl_packet_replay(&made->half, false, &replay);
    cr_expect(isnan(replay.told_ratio) && isnan(replay.rate_bps) && isnan(replay.delay_ns));
    cr_expect(tl_packet_delay_rank(&made->half, false, &rank, &low, &high),
              "five are enough for delays");
    made->half.passages_count = 4000;
    cr_expect_not(tl_packet_delay_rank(&made->half, false, &rank, &low, &high));
    free(made);
}

/* Behind a loss nothing comes that makes the receiver acknowledge: the last one before it is timed
 * with the receiver's timer. */
Test(replay, a_receivers_timer_is_no_queue)
{
    struct made *made = begin();
    double rank, low, high;
    for (int i = 0; i < 9000; i++)
        send(made, i * MS, i % 450 == 449, i % 450 == 448 ? 40000 : i % 3);
    cr_expect(tl_packet_delay_rank(&made->half, false, &rank, &low, &high));
    cr_expect_float_eq(rank, 0.5, 0.1, "%g", rank);
    free(made);
}

/* Times of a capture may be anything: all round trips took none. */
Test(replay, round_trips_of_no_time_are_no_division_by_them)
{
    struct made *made = sawtooth(8e6, 30e3, false);
    struct tl_packet_replay replay;
    made->half.rtt_sum_ns = 0;
    tl_packet_replay(&made->half, false, &replay);
    cr_expect(replay.told_ratio >= 0 && replay.told_ratio <= 1, "%g", replay.told_ratio);
    free(made);
}
