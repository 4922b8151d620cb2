/* Which part of the way holds the limit, from rates made by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

#include "prefixes.h"

#define NONE ((double)NAN)

static struct session_prefix rate(double bps)
{
    return (struct session_prefix){bps, 0, 0, 1e7, 0};
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
        {200e6, 0, 0, 2e6, 0}, {90e6, 0.0009, 40, 2e7, 0}, {35e6, 0.001, 30, 4e7, 0}};
    cr_expect_eq(session_prefix_tight(lossy, 2, true), 1);
    cr_expect_eq(session_prefix_tight(lossy, 2, false), 2);
}

static const char *lost(struct session_prefix first, struct session_prefix second,
                        struct session_prefix whole)
{
    const struct session_prefix all[] = {first, second, whole};
    return session_prefix_loss_segment(all, 2, 3);
}

Test(prefixes, loss_lies_between_the_points_that_show_it)
{
    struct session_prefix r1 = {2e9, 0, 0, 2e6, 1}, r2 = {1e9, 0, 0, 3e7, 2};
    struct session_prefix r1_loses = {90e6, 0.002, 40, 2e6, 1}, r2_loses = {9e6, 0.002, 20, 3e7, 2};
    struct session_prefix whole = {9e6, 0.002, 20, 3e7, 0};
    cr_expect_str_eq(lost(r1_loses, r2_loses, whole), "lan");
    cr_expect_str_eq(lost(r1, r2_loses, whole), "path");
    cr_expect_str_eq(lost(r1, r2, whole), "far-lan");
}

Test(prefixes, loss_is_not_placed_by_a_guess)
{
    struct session_prefix r1 = {2e9, 0, 0, 2e6, 1}, r2 = {1e9, 0, 0, 3e7, 2}, host = r2;
    struct session_prefix whole = {9e6, 0.002, 20, 3e7, 0}, clean = {9e6, 0.002, 2, 3e7, 0};
    struct session_prefix failed = {NONE, NONE, NONE, NONE, 2};
    host.hop = 0; /* a host beside the way, no router of it */
    cr_expect_null(lost(r1, r2, clean), "too few losses");
    cr_expect_null(lost(r1, host, whole));
    cr_expect_null(lost(r1, failed, whole));
}
