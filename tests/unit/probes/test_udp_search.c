/* The search finds any knee to 3 %, in few steps, also when a rate passes only once. */
#include <criterion/criterion.h>
#include <math.h>

#include "udp_search.h"

/* Climbs a path that lets everything up to knee_bps pass; the number of steps. */
static int climb(struct udp_search *search, double knee_bps)
{
    int steps = 0;
    double rate_bps;
    while ((rate_bps = udp_search_next(search)) > 0) {
        cr_assert_lt(++steps, 60, "it does not end");
        udp_search_take(search, rate_bps, rate_bps <= knee_bps);
    }
    return steps;
}

Test(udp_search, finds_a_knee_to_three_percent)
{
    static const double knees_bps[] = {70e3, 1e6, 2.9e6, 47.9e6, 940e6, 9.99e9};
    for (size_t i = 0; i < sizeof knees_bps / sizeof *knees_bps; i++) {
        struct udp_search search;
        udp_search_begin(&search, 1e6, 20e9);
        int steps = climb(&search, knees_bps[i]);
        cr_expect(udp_search_has_knee(&search));
        cr_expect_leq(search.low_bps, knees_bps[i]);
        cr_expect_gt(search.low_bps * UDP_SEARCH_WIDTH * 1.0001, knees_bps[i]);
        cr_expect_leq(steps, 22, "%d steps to %g", steps, knees_bps[i]);
    }
}

Test(udp_search, a_start_near_the_knee_saves_steps)
{
    struct udp_search search;
    udp_search_begin(&search, 1e6, 20e9);
    udp_search_take(&search, 1e6, true);
    udp_search_take(&search, 0.8 * 940e6, true);
    cr_expect_leq(climb(&search, 940e6), 6);
    cr_expect_float_eq(search.low_bps, 940e6, 0.03 * 940e6);
}

Test(udp_search, no_rate_is_too_high_or_none_passes)
{
    struct udp_search search;
    udp_search_begin(&search, 1e6, 100e6);
    climb(&search, INFINITY);
    cr_expect_not(udp_search_has_knee(&search));
    cr_expect_eq(search.low_bps, 100e6);
    udp_search_begin(&search, 1e6, 100e6);
    climb(&search, 0);
    cr_expect_not(udp_search_has_knee(&search));
    cr_expect_eq(search.low_bps, 0);
}

Test(udp_search, a_rate_that_fails_the_second_time_is_taken_back)
{
    struct udp_search search;
    udp_search_begin(&search, 1e6, 20e9);
    climb(&search, 44e6); /* a full bucket lets more pass at first */
    double first_bps = search.low_bps;
    udp_search_take(&search, first_bps, false);
    cr_expect_lt(search.low_bps, first_bps);
    climb(&search, 40e6);
    cr_expect_leq(search.low_bps, 40e6);
    cr_expect_gt(search.low_bps, 40e6 / UDP_SEARCH_WIDTH - 1);
}

/* As when time runs out behind a rate that was taken back: the one below it is not forgotten. */
Test(udp_search, what_passed_below_counts_where_the_search_ends)
{
    struct udp_search search;
    udp_search_begin(&search, 1e6, 20e9);
    udp_search_take(&search, 1e6, true);
    udp_search_take(&search, 8e6, true);
    udp_search_take(&search, 16e6, false);
    udp_search_take(&search, 11e6, true);
    udp_search_settle(&search);
    cr_expect_eq(search.low_bps, 11e6);
    udp_search_take(&search, 11e6, false);
    cr_expect_eq(search.low_bps, 0, "the search goes on below");
    udp_search_settle(&search);
    cr_expect_eq(search.low_bps, 8e6);
    cr_expect_eq(search.high_bps, 11e6);
    udp_search_take(&search, 8e6, false);
    udp_search_settle(&search);
    cr_expect_eq(search.low_bps, 0, "nothing is known to pass");
}
