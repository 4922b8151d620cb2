/* Small statistics over measured numbers. No errors: NAN values in the input are left out (a
 * missing reading is no reading), and a result that cannot be formed is NAN. No allocation, but for
 * tl_stats_sort_ns(). Thread-safe. */
#ifndef TL_BASE_STATS_H
#define TL_BASE_STATS_H

#include <stddef.h>
#include <stdint.h>

double tl_stats_mean(const double *values, size_t count);
/* Sample standard deviation (n - 1), by Welford's method; NAN below two values. */
double tl_stats_stddev(const double *values, size_t count);
double tl_stats_min(const double *values, size_t count);
double tl_stats_max(const double *values, size_t count);

/* Sorts in place, the least first; NANs last. */
void tl_stats_sort(double *values, size_t count);
void tl_stats_sort_ns(int64_t *values, size_t count); /* by qsort(), which may allocate */

/* Quantile q (0 to 1, else NAN) with linear interpolation (Hyndman and Fan 1996,
 * type 7). Sorts values in place, NANs last. */
double tl_stats_quantile(double *values, size_t count, double q);
/* tl_stats_quantile(…, 0.5). */
double tl_stats_median(double *values, size_t count);

/* Exact 95 % bounds of a Poisson mean when count events were seen (Garwood 1936):
 * low = chi2(0.025; 2 count) / 2, high = chi2(0.975; 2 count + 2) / 2. For 0 events
 * low is 0 and high 3.689 (the one-sided bound would be 3.0). A count that is
 * negative or not finite gives NAN. count need not be whole. */
void tl_stats_poisson95(double count, double *ret_low, double *ret_high);

/* Quantile of Student's t: p in (0, 1), degrees of freedom > 0, else NAN. The half
 * width of the 95 % interval of a mean of n values is
 * tl_stats_student_t(0.975, n - 1) * stddev / sqrt(n). */
double tl_stats_student_t(double p, double freedom);

/* 95 % interval of mean(b) / mean(a) - 1 for two series of readings at equal steps, by the
 * circular block bootstrap (Politis and Romano 1992; percentiles of 1000 resamples). Blocks of
 * about the square root of the count keep the correlation of neighbouring readings, which one
 * by one would make the interval too narrow. The same input gives the same interval. NAN where
 * a series has fewer than TL_STATS_BOOTSTRAP_MIN readings, a NAN among them, or a mean that is
 * not positive. */
#define TL_STATS_BOOTSTRAP_MIN 8
void tl_stats_bootstrap_ratio95(const double *a, size_t a_count, const double *b, size_t b_count,
                                double *ret_low, double *ret_high);

#endif
