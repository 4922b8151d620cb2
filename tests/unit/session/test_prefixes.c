/* Which part of the way holds the limit, from rates made by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

#include "prefixes.h"

#define NONE ((double)NAN)

static struct session_prefix rate(double bps)
{
    return (struct session_prefix){bps, 0, 0, 1e7};
}

Test(prefixes, the_first_that_is_as_slow_bounds_the_limit)
{
    const struct session_prefix first[] = {rate(50e6), rate(49e6), rate(48e6)};
    const struct session_prefix second[] = {rate(400e6), rate(49e6), rate(48e6)};
    const struct session_prefix last[] = {rate(400e6), rate(390e6), rate(48e6)};
    cr_expect_eq(session_prefix_tight(first, 2, false), 0);
    cr_expect_eq(session_prefix_tight(second, 2, false), 1);
    cr_expect_eq(session_prefix_tight(last, 2, false), 2);
}

Test(prefixes, a_part_that_was_not_measured_leaves_it_open)
{
    const struct session_prefix hole[] = {rate(NONE), rate(390e6), rate(48e6)};
    const struct session_prefix shown[] = {rate(NONE), rate(49e6), rate(48e6)};
    cr_expect_eq(session_prefix_tight(hole, 2, false), SIZE_MAX);
    cr_expect_eq(session_prefix_tight(shown, 2, false), 1, "bounded from behind all the same");
}

Test(prefixes, loss_is_compared_as_loss)
{
    const struct session_prefix lossy[] = {
        {200e6, 0, 0, 2e6}, {90e6, 0.0009, 40, 2e7}, {35e6, 0.001, 30, 4e7}};
    cr_expect_eq(session_prefix_tight(lossy, 2, true), 1);
    cr_expect_eq(session_prefix_tight(lossy, 2, false), 2);
}
