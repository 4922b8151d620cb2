/* Statistics without allocation. Special functions follow the series and continued
 * fractions of Abramowitz and Stegun (6.5.29, 6.5.31, 26.5.8); quantiles are found by
 * bisection, which needs no good start and cannot run away. */
#include "tightlink/base/stats.h"

#include <math.h>
#include <stdlib.h>

#include "tightlink/base/random.h"

#define NO_VALUE ((double)NAN)

double tl_stats_mean(const double *values, size_t count)
{
    double mean = 0;
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            mean += (values[i] - mean) / (double)++n;
    return n ? mean : NO_VALUE;
}

double tl_stats_stddev(const double *values, size_t count)
{
    double mean = 0, squares = 0;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i]))
            continue;
        double before = values[i] - mean;
        mean += before / (double)++n;
        squares += before * (values[i] - mean);
    }
    return n > 1 ? sqrt(squares / (double)(n - 1)) : NO_VALUE;
}

double tl_stats_min(const double *values, size_t count)
{
    double least = NO_VALUE;
    for (size_t i = 0; i < count; i++)
        least = fmin(least, values[i]); /* fmin prefers the number to a NAN */
    return least;
}

double tl_stats_max(const double *values, size_t count)
{
    double most = NO_VALUE;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, values[i]);
    return most;
}

/* a sorts after b; NANs sort last. */
static int is_after(double a, double b)
{
    return isnan(a) ? !isnan(b) : a > b;
}

static void sift_down(double *values, size_t root, size_t count)
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && is_after(values[child + 1], values[child]))
            child++;
        if (!is_after(values[child], values[root]))
            return;
        double swap = values[root];
        values[root] = values[child];
        values[child] = swap;
    }
}

/* Heapsort: in place and n log n at worst; qsort() may allocate. */
void tl_stats_sort(double *values, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift_down(values, i, count);
    for (size_t last = count; last-- > 1;) {
        double swap = values[0];
        values[0] = values[last];
        values[last] = swap;
        sift_down(values, 0, last);
    }
}

static int compare_ns(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

void tl_stats_sort_ns(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_ns);
}

double tl_stats_quantile(double *values, size_t count, double q)
{
    tl_stats_sort(values, count);
    while (count && isnan(values[count - 1]))
        count--;
    if (count == 0 || !(q >= 0 && q <= 1))
        return NO_VALUE;
    double place = q * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return values[count - 1];
    return values[below] + (place - (double)below) * (values[below + 1] - values[below]);
}

double tl_stats_median(double *values, size_t count)
{
    return tl_stats_quantile(values, count, 0.5);
}

static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign); /* lgamma() writes a global */
}

/* Regularized lower incomplete gamma function P(a, x), a > 0, x >= 0. */
static double gamma_p(double a, double x)
{
    if (x <= 0)
        return 0;
    double scale = exp(a * log(x) - x - log_gamma(a));
    if (x < a + 1) { /* series */
        double term = 1 / a, sum = term;
        for (int n = 1; term > sum * 1e-16; n++) {
            term *= x / (a + n);
            sum += term;
        }
        return sum * scale;
    }
    /* Lentz's continued fraction for Q = 1 - P */
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int i = 1; i < 100000; i++) {
        double numerator = -i * (i - a);
        b += 2;
        d = 1 / (numerator * d + b);
        c = b + numerator / c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return 1 - scale * h;
}

/* The x for which P(a, x) = p. */
static double gamma_p_inverse(double a, double p)
{
    double low = 0, high = a + 10 * sqrt(a) + 10; /* far beyond both 95 % bounds */
    for (int i = 0; i < 100 && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;
        if (gamma_p(a, middle) < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

/* Wilson and Hilferty 1931: exact to 1e-6 and better for the large a it is used for. */
static double gamma_p_inverse_large(double a, double z)
{
    double t = 1 - 1 / (9 * a) + z / (3 * sqrt(a));
    return a * t * t * t;
}

void tl_stats_poisson95(double count, double *ret_low, double *ret_high)
{
    static const double large = 1e5, z = 1.959963984540054;
    if (!(count >= 0) || isinf(count)) {
        *ret_low = *ret_high = NO_VALUE;
    } else if (count > large) {
        *ret_low = gamma_p_inverse_large(count, -z);
        *ret_high = gamma_p_inverse_large(count + 1, z);
    } else {
        *ret_low = count > 0 ? gamma_p_inverse(count, 0.025) : 0;
        *ret_high = gamma_p_inverse(count + 1, 0.975);
    }
}

/* Continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / fmax(1 - (a + b) * x / (a + 1), 1e-300), h = d;
    for (int m = 1; m < 1000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        h *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return h;
}

/* Regularized incomplete beta function I_x(a, b). */
static double beta_i(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x >= 1;
    double scale = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return scale * beta_fraction(a, b, x) / a;
    return 1 - scale * beta_fraction(b, a, 1 - x) / b;
}

double tl_stats_student_t(double p, double freedom)
{
    if (!(p > 0 && p < 1) || !(freedom > 0))
        return NO_VALUE;
    if (isinf(freedom))
        freedom = 1e9; /* the normal distribution, to nine digits */
    /* Both tails together: I_x(v/2, 1/2) with x = v / (v + t^2); falls as t grows. */
    double tails = 2 * fmin(p, 1 - p), low = 0, high = 1;
    while (beta_i(freedom / 2, 0.5, freedom / (freedom + high * high)) > tails && high < 1e30)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-13 * high; i++) {
        double t = (low + high) / 2;
        if (beta_i(freedom / 2, 0.5, freedom / (freedom + t * t)) > tails)
            low = t;
        else
            high = t;
    }
    double t = p == 0.5 ? 0 : (low + high) / 2;
    return p < 0.5 ? -t : t;
}

/* The mean of as many readings as there are, drawn in blocks that wrap around. */
static double resampled_mean(struct tl_random *random, const double *values, size_t count)
{
    size_t block = (size_t)ceil(sqrt((double)count)), at = 0;
    double sum = 0;
    for (size_t i = 0; i < count; i++, at++) {
        if (i % block == 0)
            at = (size_t)(tl_random_unit(random) * (double)count);
        sum += values[at % count];
    }
    return sum / (double)count;
}

/* Every reading is a number, there are enough, and their mean is above 0. */
static int can_be_resampled(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i]; /* NAN and infinity stay */
    return count >= TL_STATS_BOOTSTRAP_MIN && isfinite(sum) && sum > 0;
}

void tl_stats_bootstrap_ratio95(const double *a, size_t a_count, const double *b, size_t b_count,
                                double *ret_low, double *ret_high)
{
    enum { RESAMPLES = 1000 };
    double changes[RESAMPLES];
    struct tl_random random;
    *ret_low = *ret_high = NO_VALUE;
    if (!can_be_resampled(a, a_count) || !can_be_resampled(b, b_count))
        return;
    tl_random_seed(&random, 1);
    for (int i = 0; i < RESAMPLES; i++)
        changes[i] = resampled_mean(&random, b, b_count) / resampled_mean(&random, a, a_count) - 1;
    *ret_low = tl_stats_quantile(changes, RESAMPLES, 0.025);
    *ret_high = tl_stats_quantile(changes, RESAMPLES, 0.975);
}
