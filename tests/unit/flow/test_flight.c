/* Whether what is added in flight waits: before a full link, whatever its rate, and not else; and
 * whether round trips remember. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tightlink/base/random.h"
#include "tightlink/flow/limits.h"

#define MS     1e6
#define BINS   1000
#define BIN_NS (10 * INT64_C(1000000))
#define RTT_NS (40 * MS)
#define RATE   2.5e-3 /* bytes a ns: 20 Mb/s */
#define BDP    (RATE * RTT_NS)

struct made {
    struct tl_packet_half half;
    struct tl_packet_bin bins[BINS];
};

/* A window from one to three times what the way holds, as a saw. */
static double window_at(int bin)
{
    return BDP * (1 + 2 * (bin % 100) / 100.0);
}

static struct tl_packet_flight judge(struct made *made)
{
    made->half.bins = made->bins;
    made->half.bins_count = BINS;
    made->half.bin_ns = BIN_NS;
    made->half.first_data_ns = 1;
    made->half.last_data_ns = BINS * BIN_NS;
    made->half.acked_bytes = (uint64_t)(RATE * BINS * (double)BIN_NS);
    struct tl_packet_flight flight;
    tl_packet_flight(&made->half, &flight);
    return flight;
}

static void add(struct made *made, int bin, double flight, double rtt_ns)
{
    made->bins[bin].flight_max_bytes = (uint32_t)flight;
    int timed = bin + (int)(rtt_ns / (double)BIN_NS);
    if (timed >= BINS)
        return;
    made->bins[timed].rtt_count = 1;
    made->bins[timed].rtt_min_ns = (float)rtt_ns;
    made->half.rtt_sum_ns += rtt_ns;
    made->half.rtt_count++;
}

Test(flight, waits_before_a_full_link)
{
    struct made made = {0};
    for (int i = 0; i < BINS; i++)
        add(&made, i, window_at(i), window_at(i) / RATE);
    struct tl_packet_flight flight = judge(&made);
    cr_expect_float_eq(flight.swing_ns, 1.5 * RTT_NS, 0.15 * RTT_NS, "%g", flight.swing_ns / MS);
    cr_expect_float_eq(flight.delay_ns, flight.swing_ns, 0.15 * flight.swing_ns, "%g",
                       flight.delay_ns / MS);
}

Test(flight, waits_nowhere_where_there_is_room)
{
    struct made made = {0};
    for (int i = 0; i < BINS; i++)
        add(&made, i, window_at(i), RTT_NS);
    struct tl_packet_flight flight = judge(&made);
    cr_expect_gt(flight.swing_ns, RTT_NS);
    cr_expect_eq(flight.delay_ns, 0);
}

Test(flight, does_not_make_what_jitter_makes)
{
    struct made made = {0};
    struct tl_random random;
    tl_random_seed(&random, 7);
    for (int i = 0; i < BINS; i++)
        add(&made, i, window_at(i), RTT_NS * (1 + 3 * tl_random_unit(&random)));
    struct tl_packet_flight flight = judge(&made);
    cr_expect_lt(fabs(flight.delay_ns), 0.3 * flight.swing_ns, "%g", flight.delay_ns / MS);
}

Test(flight, is_not_told_of_too_few)
{
    struct made made = {0};
    for (int i = 0; i < 10; i++)
        add(&made, i, window_at(i), RTT_NS);
    cr_expect(isnan(judge(&made).delay_ns) && isnan(judge(&made).swing_ns));
}

static double memory_of(struct made *made)
{
    made->half.bins = made->bins;
    made->half.bins_count = BINS;
    made->half.bin_ns = BIN_NS;
    return tl_packet_delay_memory(&made->half);
}

Test(delay_memory, is_long_where_a_queue_fills_and_drains)
{
    struct made made = {0};
    for (int i = 0; i < BINS; i++)
        add(&made, i, 1, RTT_NS * (1 + 0.02 * abs(i % 200 - 100)));
    cr_expect_gt(memory_of(&made), 0.8, "%g", memory_of(&made));
}

Test(delay_memory, is_none_behind_jitter)
{
    struct made made = {0};
    struct tl_random random;
    tl_random_seed(&random, 7);
    for (int i = 0; i < BINS; i++)
        add(&made, i, 1, RTT_NS * (1 + 2 * tl_random_unit(&random)));
    cr_expect_lt(fabs(memory_of(&made)), 0.15, "%g", memory_of(&made));
}

Test(delay_memory, is_not_told_of_too_few)
{
    struct made made = {0};
    for (int i = 0; i < 20; i++)
        add(&made, i, 1, RTT_NS * (1 + 0.02 * i));
    cr_expect(isnan(memory_of(&made)));
}
