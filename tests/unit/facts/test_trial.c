/* Scoring a prediction: points, ranges, lower bounds. */
#include <criterion/criterion.h>
#include <math.h>

#include "tightlink/facts/trial.h"

static enum tl_score score(double bps, double low, double high, double measured)
{
    struct tl_prediction prediction = {bps, low, high};
    return tl_prediction_score(&prediction, measured);
}

Test(trial, a_point_is_hit_within_ten_per_cent)
{
    cr_expect_eq(score(100e6, NAN, NAN, 109.9e6), TL_SCORE_HIT);
    cr_expect_eq(score(100e6, NAN, NAN, 90.1e6), TL_SCORE_HIT);
    cr_expect_eq(score(100e6, NAN, NAN, 111e6), TL_SCORE_MISS);
    cr_expect_eq(score(100e6, NAN, NAN, 89e6), TL_SCORE_MISS);
}

Test(trial, a_narrow_range_counts_apart_from_a_hit)
{
    cr_expect_eq(score(100e6, 80e6, 120e6, 105e6), TL_SCORE_HIT);
    cr_expect_eq(score(100e6, 80e6, 120e6, 119e6), TL_SCORE_INSIDE);
    cr_expect_eq(score(100e6, 80e6, 120e6, 121e6), TL_SCORE_MISS);
    cr_expect_eq(score(100e6, 80e6, 120e6, 79e6), TL_SCORE_MISS);
}

Test(trial, a_wide_range_promises_no_number)
{
    cr_expect_eq(score(100e6, 80e6, 130e6, 125e6), TL_SCORE_BOUND);
    cr_expect_eq(score(100e6, 80e6, 130e6, 131e6), TL_SCORE_MISS);
    cr_expect_eq(score(100e6, 70e6, 110e6, 75e6), TL_SCORE_BOUND);
}

Test(trial, a_lower_bound_holds_above_and_is_missed_below)
{
    cr_expect_eq(score(4.2e6, NAN, INFINITY, 28.9e6), TL_SCORE_BOUND);
    cr_expect_eq(score(4.2e6, NAN, INFINITY, 4.3e6), TL_SCORE_HIT);
    cr_expect_eq(score(4.2e6, NAN, INFINITY, 3.7e6), TL_SCORE_MISS);
}
