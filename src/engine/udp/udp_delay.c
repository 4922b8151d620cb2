/* Delays: collecting, the line below them, quantiles above it. */
#include "udp_delay.h"
#include "tightlink/base/stats.h"

#include <math.h>
#include <stdlib.h>

enum tl_status udp_delays_init(struct udp_delays *ret_delays, int64_t duration_ns)
{
    *ret_delays = (struct udp_delays){.bin_ns = duration_ns / UDP_DELAY_BINS + 1};
    tl_random_seed(&ret_delays->rng, (uint64_t)duration_ns);
    ret_delays->points = malloc(TL_UDP_DELAYS_MAX * sizeof *ret_delays->points);
    ret_delays->bins = malloc(UDP_DELAY_BINS * sizeof *ret_delays->bins);
    ret_delays->tops = malloc(UDP_DELAY_BINS * sizeof *ret_delays->tops);
    if (!ret_delays->points || !ret_delays->bins || !ret_delays->tops) {
        udp_delays_finish(ret_delays);
        return TL_NOMEM;
    }
    for (int i = 0; i < UDP_DELAY_BINS; i++)
        ret_delays->bins[i] = ret_delays->tops[i] = (struct udp_point){0, INT64_MAX};
    return TL_OK;
}

void udp_delays_finish(struct udp_delays *delays)
{
    free(delays->points);
    free(delays->bins);
    free(delays->tops);
    delays->points = delays->bins = delays->tops = NULL;
}

void udp_delays_add(struct udp_delays *delays, struct udp_point point)
{
    if (delays->seen > 0) /* RFC 3550, 6.4.1 */
        delays->jitter_ns +=
            (fabs((double)(point.delay_ns - delays->last_ns)) - delays->jitter_ns) / 16;
    delays->last_ns = point.delay_ns;
    uint64_t bin = (uint64_t)point.sent_ns / (uint64_t)delays->bin_ns;
    bin = bin < UDP_DELAY_BINS ? bin : UDP_DELAY_BINS - 1;
    if (point.delay_ns < delays->bins[bin].delay_ns)
        delays->bins[bin] = point;
    if (delays->tops[bin].delay_ns == INT64_MAX || point.delay_ns > delays->tops[bin].delay_ns)
        delays->tops[bin] = point;
    uint64_t place = delays->seen++;
    if (place < TL_UDP_DELAYS_MAX)
        delays->count = (uint32_t)place + 1;
    else /* every n-th would see one place of each burst alone */
        place = tl_random_next(&delays->rng) % delays->seen;
    if (place < TL_UDP_DELAYS_MAX)
        delays->points[place] = point;
}

/* > 0: c lies above the line from a through b. In long double: products of two times. */
static long double turn(struct udp_point a, struct udp_point b, struct udp_point c)
{
    return (long double)(b.sent_ns - a.sent_ns) * (long double)(c.delay_ns - a.delay_ns) -
           (long double)(b.delay_ns - a.delay_ns) * (long double)(c.sent_ns - a.sent_ns);
}

/* Andrew's monotone chain, the lower half; returns the number of corners. The points of one
 * departure time count once, by the smallest delay. */
static size_t lower_hull(const struct udp_point *points, size_t count, struct udp_point *ret_hull)
{
    size_t corners = 0;
    for (size_t i = 0; i < count; i++) {
        if (points[i].delay_ns == INT64_MAX)
            continue;
        while (corners >= 2 && turn(ret_hull[corners - 2], ret_hull[corners - 1], points[i]) <= 0)
            corners--;
        ret_hull[corners++] = points[i];
    }
    return corners;
}

/* The slope of the hull's piece above which the mean departure lies. */
static double hull_slope(const struct udp_point *points, size_t count, size_t *ret_used)
{
    struct udp_point hull[UDP_DELAY_BINS];
    double sum = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (points[i].delay_ns == INT64_MAX)
            continue;
        sum += (double)points[i].sent_ns;
        used++;
    }
    *ret_used = used;
    size_t corners = lower_hull(points, count, hull);
    for (size_t i = 0; i + 1 < corners; i++)
        if ((double)hull[i + 1].sent_ns >= sum / (double)used)
            return (double)(hull[i + 1].delay_ns - hull[i].delay_ns) /
                   (double)(hull[i + 1].sent_ns - hull[i].sent_ns);
    return NAN;
}

void udp_base_fit(const struct udp_point *points, size_t count, struct udp_base *ret_base)
{
    struct udp_base base = {.base_ns = NAN};
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    if (count > UDP_DELAY_BINS)
        count = UDP_DELAY_BINS;
    for (size_t i = 0; i < count; i++) {
        if (points[i].delay_ns == INT64_MAX)
            continue;
        first_ns = points[i].sent_ns < first_ns ? points[i].sent_ns : first_ns;
        last_ns = points[i].sent_ns > last_ns ? points[i].sent_ns : last_ns;
    }
    if (last_ns >= first_ns && last_ns - first_ns >= UDP_SKEW_MIN_NS) {
        size_t used;
        double slope = hull_slope(points, count, &used);
        base.skew_known = used >= 8 && isfinite(slope) && fabs(slope) <= UDP_SKEW_MAX_PPM / 1e6;
        base.slope = base.skew_known ? slope : 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (points[i].delay_ns == INT64_MAX)
            continue;
        double level = (double)points[i].delay_ns - base.slope * (double)points[i].sent_ns;
        base.base_ns = isnan(base.base_ns) ? level : fmin(base.base_ns, level);
    }
    *ret_base = base;
}

double udp_queueing_ns(const struct udp_base *base, struct udp_point point)
{
    double ns = (double)point.delay_ns - base->slope * (double)point.sent_ns - base->base_ns;
    return ns > 0 ? ns : isnan(ns) ? NAN : 0;
}

/* Hyndman and Fan, type 7, as tl_stats_quantile, which would sort for each. */
static double quantile(const double *sorted, size_t count, double q)
{
    double place = q * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* Sorted queueing delays, the caller's to free; NULL without points or memory. */
static double *sorted_queueing(const struct udp_base *base, const struct udp_point *points,
                               size_t count)
{
    double *values = count > 0 && isfinite(base->base_ns) ? malloc(count * sizeof *values) : NULL;
    if (!values)
        return NULL;
    for (size_t i = 0; i < count; i++)
        values[i] = udp_queueing_ns(base, points[i]);
    tl_stats_sort(values, count);
    return values;
}

static double highest(const struct udp_delays *delays, const struct udp_base *base)
{
    double max_ns = 0;
    for (int i = 0; i < UDP_DELAY_BINS; i++)
        if (delays->tops[i].delay_ns != INT64_MAX)
            max_ns = fmax(max_ns, udp_queueing_ns(base, delays->tops[i]));
    return max_ns;
}

void udp_delays_analyse(const struct udp_delays *delays, const struct udp_base *base,
                        const struct udp_point *losses, size_t loss_count,
                        struct tl_udp_delay *ret_delay)
{
    struct tl_udp_delay delay = {.sample_count = delays->count,
                                 .p10_ns = NAN,
                                 .median_ns = NAN,
                                 .p90_ns = NAN,
                                 .p99_ns = NAN,
                                 .max_ns = NAN,
                                 .jitter_ns = delays->seen > 1 ? delays->jitter_ns : NAN,
                                 .skew_ppm = base->skew_known ? base->slope * 1e6 : NAN,
                                 .before_loss_median_ns = NAN,
                                 .before_loss_p10_ns = NAN,
                                 .gap_count = loss_count};
    double *values = sorted_queueing(base, delays->points, delays->count);
    if (values) {
        delay.p10_ns = quantile(values, delays->count, 0.1);
        delay.median_ns = quantile(values, delays->count, 0.5);
        delay.p90_ns = quantile(values, delays->count, 0.9);
        delay.p99_ns = quantile(values, delays->count, 0.99);
        delay.max_ns = highest(delays, base);
    }
    free(values);
    values = sorted_queueing(base, losses, loss_count);
    if (values) {
        delay.before_loss_p10_ns = quantile(values, loss_count, 0.1);
        delay.before_loss_median_ns = quantile(values, loss_count, 0.5);
    }
    free(values);
    *ret_delay = delay;
}
