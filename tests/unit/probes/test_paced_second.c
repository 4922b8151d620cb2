/* How long losses are counted that stay at a low rate. */
#include <criterion/criterion.h>
#include <math.h>

#include "paced_second.h"

Test(paced_second, rare_losses_take_the_most)
{
    cr_expect_eq(tl_paced_count_ns(80e6, 1448, 0.001), TL_PACED_COUNT_MAX_NS);
    cr_expect_eq(tl_paced_count_ns(1e6, 1448, 0.01), TL_PACED_COUNT_MAX_NS);
}

Test(paced_second, many_losses_are_counted_soon)
{
    cr_expect_eq(tl_paced_count_ns(300e6, 1448, 0.01), TL_PACED_COUNT_MIN_NS);
    double ns = (double)tl_paced_count_ns(80e6, 1000, 0.0025); /* 25 a second */
    cr_expect_lt(fabs(ns - 4e9), 1e6);
}

Test(paced_second, what_is_not_known_takes_the_most)
{
    cr_expect_eq(tl_paced_count_ns((double)NAN, 1448, 0.01), TL_PACED_COUNT_MAX_NS);
    cr_expect_eq(tl_paced_count_ns(80e6, (double)NAN, 0.01), TL_PACED_COUNT_MAX_NS);
    cr_expect_eq(tl_paced_count_ns(80e6, 1448, 0), TL_PACED_COUNT_MAX_NS);
}
