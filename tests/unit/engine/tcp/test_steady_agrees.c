/* When a test of several connections bears out the one before it, and when it does not. */
#include <criterion/criterion.h>
#include <math.h>

#include "tightlink/engine/steady.h"

#define MS INT64_C(1000000)

static struct tl_steady even_steady(double bps, int64_t steady_ns, double rtt_ns)
{
    return (struct tl_steady){.cycles_inside = true,
                              .rate = {.valid = true,
                                       .start_ns = 200 * MS,
                                       .end_ns = 200 * MS + steady_ns,
                                       .goodput_bps = bps,
                                       .low_bps = 0.99 * bps,
                                       .high_bps = 1.01 * bps},
                              .sender = {.rtt_mean_ns = rtt_ns}};
}

Test(steady_agrees, two_measurements_that_agree_need_less_time)
{
    struct tl_steady steady = even_steady(95e6, 2500 * MS, 20e6);
    cr_assert(tl_steady_agrees(&steady, 94e6, 8), "all together what one got: a link is full");
    cr_assert(tl_steady_agrees(&steady, 95e6 / 8, 8), "each what one got: each is held alike");
    cr_assert_not(tl_steady_agrees(&steady, 80e6, 8), "others took some, or a bucket was full");
    cr_assert_not(tl_steady_agrees(&steady, 95e6 / 2, 8));
    cr_assert_not(tl_steady_agrees(&steady, 0, 8), "nothing was measured before");
    cr_assert_not(tl_steady_agrees(&steady, NAN, 8));
}

Test(steady_agrees, an_agreement_by_chance_is_none)
{
    struct tl_steady steady = even_steady(95e6, 1500 * MS, 20e6);
    cr_assert_not(tl_steady_agrees(&steady, 95e6, 8), "too short for the queue's account");
    steady = even_steady(95e6, 2500 * MS, 300e6);
    cr_assert_not(tl_steady_agrees(&steady, 95e6, 8), "eight round trips");
    steady = even_steady(95e6, 2500 * MS, NAN);
    cr_assert_not(tl_steady_agrees(&steady, 95e6, 8), "nobody knows how many round trips");
    steady = even_steady(95e6, 2500 * MS, 20e6);
    steady.rate.high_bps = 1.1 * 95e6;
    cr_assert_not(tl_steady_agrees(&steady, 95e6, 8), "a wide interval");
    steady = even_steady(95e6, 2500 * MS, 20e6);
    steady.rate.drift_ratio = -0.05;
    cr_assert_not(tl_steady_agrees(&steady, 95e6, 8), "still falling");
    steady.rate.drift_ratio = 0;
    steady.cycles_inside = false;
    cr_assert_not(tl_steady_agrees(&steady, 95e6, 8), "the plateau of a sawtooth");
    steady.cycles_inside = true;
    steady.rate.valid = false;
    cr_assert_not(tl_steady_agrees(&steady, 95e6, 8));
}
