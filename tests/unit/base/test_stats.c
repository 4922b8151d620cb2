/* Statistics against published tables. */
#include <criterion/criterion.h>
#include <math.h>

#include "tightlink/base/random.h"
#include "tightlink/base/stats.h"

#define MISSING ((double)NAN)

Test(stats, missing_readings_do_not_count)
{
    double values[] = {MISSING, 4, 2, MISSING, 9, 5};
    cr_expect_float_eq(tl_stats_mean(values, 6), 5, 1e-12);
    cr_expect_float_eq(tl_stats_stddev(values, 6), 2.943920288775949, 1e-12);
    cr_expect(tl_stats_min(values, 6) == 2 && tl_stats_max(values, 6) == 9);
    cr_expect_float_eq(tl_stats_median(values, 6), 4.5, 1e-12);
    cr_expect(isnan(values[4]) && isnan(values[5]), "missing ones sort last");
}

Test(stats, nothing_gives_nothing)
{
    double values[] = {MISSING, MISSING};
    cr_expect(isnan(tl_stats_mean(values, 2)) && isnan(tl_stats_mean(values, 0)));
    cr_expect(isnan(tl_stats_median(values, 2)) && isnan(tl_stats_median(values, 0)));
    cr_expect(isnan(tl_stats_min(values, 2)) && isnan(tl_stats_max(values, 0)));
    double one[] = {3};
    cr_expect(isnan(tl_stats_stddev(one, 1)) && tl_stats_median(one, 1) == 3);
    cr_expect(isnan(tl_stats_quantile(one, 1, 1.5)) && isnan(tl_stats_quantile(one, 1, MISSING)));
}

Test(stats, quantiles_interpolate)
{
    double values[101];
    for (int i = 0; i < 101; i++)
        values[i] = (i * 37) % 101; /* 0 to 100 in a stirred order */
    cr_expect(tl_stats_quantile(values, 101, 0.95) == 95);
    cr_expect(tl_stats_quantile(values, 101, 0) == 0 && tl_stats_quantile(values, 101, 1) == 100);
    double four[] = {1, 2, 3, 4};
    cr_expect_float_eq(tl_stats_quantile(four, 4, 0.25), 1.75, 1e-12); /* R: quantile(1:4, .25) */
}

/* Garwood's table, as printed in Pearson and Hartley's Biometrika Tables 40. */
Test(stats, poisson_bounds_match_the_table)
{
    static const double table[][3] = {
        {0, 0, 3.689},      {1, 0.0253, 5.572},  {2, 0.242, 7.225},    {3, 0.619, 8.767},
        {5, 1.623, 11.668}, {10, 4.795, 18.390}, {20, 12.217, 30.888}, {50, 37.111, 65.919},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double low, high;
        tl_stats_poisson95(table[i][0], &low, &high);
        cr_expect_float_eq(low, table[i][1], 1e-3, "%g: low %g", table[i][0], low);
        cr_expect_float_eq(high, table[i][2], 1e-3, "%g: high %g", table[i][0], high);
    }
}

Test(stats, poisson_bounds_stay_good_for_large_counts)
{
    double low, high, low2, high2;
    tl_stats_poisson95(99999, &low, &high);
    tl_stats_poisson95(100001, &low2, &high2);
    cr_expect_float_eq(low2 - low, 2, 0.02, "no step where the method changes: %g", low2 - low);
    cr_expect_float_eq(high2 - high, 2, 0.02, "%g", high2 - high);
    tl_stats_poisson95(1e12, &low, &high);
    cr_expect(low < 1e12 && high > 1e12 && high - low < 5e6);
    tl_stats_poisson95(-1, &low, &high);
    cr_expect(isnan(low) && isnan(high));
    tl_stats_poisson95(MISSING, &low, &high);
    cr_expect(isnan(low) && isnan(high));
}

Test(stats, student_t_matches_the_table)
{
    static const double table[][3] = {
        {0.975, 1, 12.7062}, {0.975, 2, 4.30265}, {0.975, 5, 2.57058},    {0.975, 30, 2.04227},
        {0.95, 10, 1.81246}, {0.995, 3, 5.84091}, {0.975, 1000, 1.96234}, {0.5, 4, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double t = tl_stats_student_t(table[i][0], table[i][1]);
        cr_expect_float_eq(t, table[i][2], 1e-4, "t(%g, %g) = %g", table[i][0], table[i][1], t);
        t = tl_stats_student_t(1 - table[i][0], table[i][1]);
        cr_expect_float_eq(t, -table[i][2], 1e-4, "symmetric");
    }
    cr_expect_float_eq(tl_stats_student_t(0.975, (double)INFINITY), 1.959964, 1e-5);
    cr_expect(isnan(tl_stats_student_t(1, 5)) && isnan(tl_stats_student_t(0.9, 0)));
    cr_expect(isnan(tl_stats_student_t(MISSING, 5)) && isnan(tl_stats_student_t(0.9, MISSING)));
}

/* Readings around a mean, each leaning on the one before it. */
static void make_readings(struct tl_random *random, double mean, double *ret_values, size_t count)
{
    double lean = 0;
    for (size_t i = 0; i < count; i++) {
        lean = 0.6 * lean + (tl_random_unit(random) - 0.5) * 0.2 * mean;
        ret_values[i] = mean + lean;
    }
}

Test(stats, the_bootstrap_holds_the_true_change_about_as_often_as_it_says)
{
    enum { TRIES = 400, COUNT = 80 };
    double a[COUNT], b[COUNT], low, high;
    struct tl_random random;
    int held = 0;
    tl_random_seed(&random, 7);
    for (int i = 0; i < TRIES; i++) {
        make_readings(&random, 100, a, COUNT);
        make_readings(&random, 110, b, COUNT);
        tl_stats_bootstrap_ratio95(a, COUNT, b, COUNT, &low, &high);
        held += low <= 0.1 && 0.1 <= high;
    }
    /* Percentile intervals of correlated series are known to be a little narrow. */
    cr_expect(held >= TRIES * 86 / 100 && held < TRIES, "%d of %d", held, TRIES);
}

Test(stats, the_bootstrap_refuses_what_it_cannot_judge)
{
    double few[] = {1, 2, 3}, good[] = {1, 2, 3, 4, 5, 6, 7, 8, 9},
           holed[] = {1, 2, 3, 4, MISSING, 6, 7, 8, 9}, zero[9] = {0}, low = 0, high = 0;
    tl_stats_bootstrap_ratio95(few, 3, good, 9, &low, &high);
    cr_expect(isnan(low) && isnan(high));
    tl_stats_bootstrap_ratio95(good, 9, holed, 9, &low, &high);
    cr_expect(isnan(low) && isnan(high));
    tl_stats_bootstrap_ratio95(zero, 9, good, 9, &low, &high);
    cr_expect(isnan(low) && isnan(high));
    tl_stats_bootstrap_ratio95(good, 9, good, 9, &low, &high);
    cr_expect(low < 0 && high > 0, "the same series is no change");
}
