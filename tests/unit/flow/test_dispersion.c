/* How far packets come apart that left together, and what waits before a link of that rate. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "script.h"
#include "tightlink/base/random.h"

#define TRAIN    10
#define TRAINS   10
#define RTT_NS   (30 * MS)
#define RATE     1.25 /* bytes a us: 10 Mb/s */
#define QUEUE    (14 * MSS)
#define ENDS_US  20000000u
#define SEGMENTS (TL_PACKETS_PASSAGES_MAX + 100)

/* --- From packets ----------------------------------------------------------------------------- */

/* Trains whose segments leave so far apart, and are acknowledged one a millisecond. */
static struct tl_packet_dispersion trains(int64_t apart_ns)
{
    struct script script = script_begin();
    script_shake(&script, 0, RTT_NS);
    uint32_t seq = 1000;
    for (int train = 0; train < TRAINS; train++) {
        int64_t begin_ns = script.time_ns;
        for (uint32_t i = 0; i < TRAIN; i++, script.time_ns += apart_ns)
            script_send(&script, CLIENT, seq + i * MSS, 1000, MSS);
        for (uint32_t i = 0; i < TRAIN; i++) {
            script.time_ns = begin_ns + RTT_NS + i * MS;
            script_send(&script, SERVER, 1000, seq + (i + 1) * MSS, 0);
        }
        seq += TRAIN * MSS;
        script.time_ns += MS;
    }
    struct tl_packet_dispersion dispersion;
    tl_packet_dispersion(&script_end(&script)->halves[TL_CLIENT], &dispersion);
    tl_packets_destroy(script.packets);
    return dispersion;
}

Test(dispersion, of_what_left_together_is_the_slowest_links_rate)
{
    struct tl_packet_dispersion dispersion = trains(1000);
    double one_a_ms = MSS * 8 * 1e3;
    cr_expect_float_eq(dispersion.rate_bps, one_a_ms, 0.01 * one_a_ms, "%g", dispersion.rate_bps);
    cr_expect_lt(dispersion.high_bps / dispersion.low_bps, 1.01);
    cr_expect(isnan(dispersion.chance_ratio), "nothing was lost");
}

Test(dispersion, of_what_left_as_far_apart_tells_nothing)
{
    cr_expect(isnan(trains(MS).rate_bps));
}

/* The list of what came by is full by then. */
Test(dispersion, losses_behind_what_is_kept_stand_at_no_passage)
{
    struct script script = script_begin();
    script_shake(&script, 0, MS);
    uint32_t seq = 1000;
    for (uint32_t i = 0; i < SEGMENTS; i++, seq += MSS, script.time_ns += 10000) {
        script_send(&script, CLIENT, seq, 1000, MSS);
        if (i == 10 || i == SEGMENTS - 1) /* sent again */
            script_send(&script, CLIENT, seq, 1000, MSS);
        if (i % 16 == 15)
            script_send(&script, SERVER, 1000, seq + MSS, 0);
    }
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_CLIENT];
    cr_expect_eq(half->losses_count, 2);
    cr_assert_eq(half->passages_count, TL_PACKETS_PASSAGES_MAX);
    cr_expect_eq(half->passages[half->passages_count - 1].lost_bytes, 0);
    tl_packets_destroy(script.packets);
}

/* --- What waits, from what came by ------------------------------------------------------------ */

struct made {
    struct tl_packet_half half;
    struct tl_packet_gap gaps[100];
    struct tl_packet_passage passages[TL_PACKETS_PASSAGES_MAX];
};

static struct made *begin(void)
{
    struct made *made = calloc(1, sizeof *made);
    cr_assert(made);
    made->half = (struct tl_packet_half){.passages = made->passages,
                                         .gaps = made->gaps,
                                         .gaps_count = 100,
                                         .mss_bytes = MSS,
                                         .rtt_count = 100,
                                         .rtt_sum_ns = 100.0 * (double)RTT_NS};
    for (int i = 0; i < 100; i++)
        made->gaps[i] = (struct tl_packet_gap){(float)(1e3 / RATE), MSS};
    return made;
}

static void pass(struct made *made, uint32_t time_us, bool lost)
{
    cr_assert_lt(made->half.passages_count, TL_PACKETS_PASSAGES_MAX);
    made->passages[made->half.passages_count++] = (struct tl_packet_passage){
        .time_us = time_us, .passed_bytes = lost ? 0 : MSS, .lost_bytes = lost ? MSS : 0};
}

/* Trains of two segments at a rate that rises in each second from half of the link's to half as
 * much again; what room there is before it is a queue's of that size (0: no end). */
static struct tl_packet_dispersion sawtooth(double room, double chance)
{
    struct made *made = begin();
    struct tl_random random;
    double level = 0, then_us = 0;
    tl_random_seed(&random, 11);
    for (double time_us = 0; time_us < ENDS_US;) {
        level = fmax(level - RATE * (time_us - then_us), 0);
        then_us = time_us;
        for (int i = 0; i < 2; i++) {
            bool lost = tl_random_unit(&random) < chance || (room > 0 && level + MSS > room);
            level += lost ? 0 : MSS;
            pass(made, (uint32_t)time_us + (uint32_t)i, lost);
        }
        time_us += 2 * MSS / (RATE * (0.5 + fmod(time_us / 1e6, 1)));
    }
    struct tl_packet_dispersion dispersion;
    tl_packet_dispersion(&made->half, &dispersion);
    free(made);
    return dispersion;
}

Test(dispersion, a_short_queue_drops_where_most_waits)
{
    struct tl_packet_dispersion dispersion = sawtooth(QUEUE, 0);
    cr_expect_float_eq(dispersion.rate_bps, RATE * 8e6, 1);
    cr_expect_lt(dispersion.chance_ratio, 1e-6);
    cr_expect_float_eq(dispersion.backlog_bytes, QUEUE, 1.5 * MSS, "%g", dispersion.backlog_bytes);
    cr_expect_eq(dispersion.above_ratio, 0);
}

Test(dispersion, losses_by_chance_come_with_as_much_as_ever)
{
    struct tl_packet_dispersion dispersion = sawtooth(0, 0.002);
    cr_expect_gt(dispersion.chance_ratio, 0.01, "%g", dispersion.chance_ratio);
    cr_expect_gt(dispersion.above_ratio, 0.3, "%g", dispersion.above_ratio);
}

/* Ranks of 0.9 and more: two of them are no wonder, ten are. */
Test(dispersion, the_chance_is_that_of_so_many)
{
    double chances[2];
    for (int many = 0; many < 2; many++) {
        struct made *made = begin();
        uint32_t time_us = 0;
        for (int round = 0; round < 20; round++, time_us += 200000)
            for (int i = 0; i < 20; i++)
                pass(made, time_us + (uint32_t)i, i == 18 && round < (many ? 11 : 3));
        struct tl_packet_dispersion dispersion;
        tl_packet_dispersion(&made->half, &dispersion);
        chances[many] = dispersion.chance_ratio;
        free(made);
    }
    cr_expect(chances[0] > 0.002 && chances[0] < 0.02, "%g", chances[0]);
    cr_expect(chances[1] > 0 && chances[1] < 1e-8, "%g", chances[1]);
}

/* The first one ends a growth, whatever made it. */
Test(dispersion, one_loss_behind_the_first_is_too_few)
{
    struct made *made = begin();
    for (uint32_t i = 0; i < 1000; i++)
        pass(made, i * 1000, i == 300 || i == 700);
    struct tl_packet_dispersion dispersion;
    tl_packet_dispersion(&made->half, &dispersion);
    cr_expect(isfinite(dispersion.rate_bps));
    cr_expect(isnan(dispersion.chance_ratio));
    cr_expect(isnan(dispersion.backlog_bytes));
    cr_expect(isnan(dispersion.above_ratio));
    free(made);
}
