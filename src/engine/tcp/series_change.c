/* The one lasting fall of the rate in a series: a boost that ends. */
#include <math.h>

#include "series_private.h"
#include "tightlink/base/units.h"

#define STEP_MIN_NS 100e6 /* of a batch; and at least a round trip */
#define BATCHES_MAX 640
#define FALL_RATIO  1.3
#define GROUP_COUNT 5 /* batches: what a scheduler holds up for a moment averages out in them */

/* What makes a fall, tried in this order: one that is plain and early, or one that is small or late
 * with a rest so even that it hides none. */
static const struct look {
    bool late;           /* the rest is the last rest_min_ns, else the second half */
    double faster_ratio; /* of a batch before the fall, over the mean of the rest */
    double vary_ratio;   /* of the rest, standard deviation over mean, at most */
    double rest_min_ns;
} looks[] = {
    {false, FALL_RATIO, 0.25, 2e9},
    {false, 1.15, 0.1, 2e9},
    {true, 1.15, 0.1, 1.5e9},
};

struct curve {
    size_t count;
    double bps[BATCHES_MAX];
    size_t end[BATCHES_MAX]; /* index of the point behind each batch */
};

static void make_curve(const struct tl_series *series, struct curve *curve)
{
    double width_ns = fmax(STEP_MIN_NS, series->rtt_min_ns);
    size_t from = 0;
    curve->count = 0;
    for (size_t i = 1; i < series->count && curve->count < BATCHES_MAX; i++) {
        double ns = (double)(series->points[i].time_ns - series->points[from].time_ns);
        /* Readings come late by some: nine tenths of a batch are one. */
        if (ns < 0.9 * width_ns)
            continue;
        curve->bps[curve->count] = series_bps(&series->points[from], &series->points[i]);
        curve->end[curve->count++] = i;
        from = i;
    }
}

static double mean_from(const struct curve *curve, size_t from, double *ret_variation)
{
    double sum = 0, squares = 0, count = (double)(curve->count - from);
    for (size_t i = from; i < curve->count; i++) {
        sum += curve->bps[i];
        squares += curve->bps[i] * curve->bps[i];
    }
    double mean = sum / count;
    *ret_variation = sqrt(fmax(squares / count - mean * mean, 0)) / mean;
    return mean;
}

/* How the rate swings from one group of batches to the next, standard deviation over mean: a
 * token bucket's hardly does, what other traffic leaves does. NAN below three groups. */
static double swing_from(const struct curve *curve, size_t from)
{
    double sum = 0, squares = 0, count = 0;
    for (size_t end = curve->count; end >= from + GROUP_COUNT; end -= GROUP_COUNT) {
        double group = 0;
        for (size_t i = end - GROUP_COUNT; i < end; i++)
            group += curve->bps[i] / GROUP_COUNT;
        sum += group;
        squares += group * group;
        count++;
    }
    double mean = sum / count;
    return count >= 3 && mean > 0 ? sqrt(fmax(squares / count - mean * mean, 0)) / mean : NAN;
}

static double rest_ns(const struct tl_series *series, const struct curve *curve, size_t fall)
{
    return (double)(series->points[series->count - 1].time_ns -
                    series->points[curve->end[fall - 1]].time_ns);
}

static size_t rest_begin(const struct tl_series *series, const struct curve *curve,
                         const struct look *look)
{
    size_t begin = curve->count / 2;
    while (look->late && begin < curve->count &&
           rest_ns(series, curve, begin + 1) >= look->rest_min_ns)
        begin++;
    return begin;
}

/* The first batch of the rest: behind the last one before it that was faster. 0: none was. */
static size_t find_fall(const struct tl_series *series, const struct curve *curve,
                        const struct look *look)
{
    double variation;
    size_t begin = rest_begin(series, curve, look);
    double late_bps = mean_from(curve, begin, &variation);
    for (size_t i = begin; i > 0; i--)
        if (curve->bps[i - 1] > look->faster_ratio * late_bps)
            return i;
    return 0;
}

/* Mean of the batches before the fall from 80 % of the peak on, and the peak's own begin: slow
 * start's climb is no part of a boost. */
static double best_before(const struct curve *curve, size_t fall)
{
    double peak = 0, sum = 0, count = 0;
    for (size_t i = 0; i < fall; i++)
        peak = fmax(peak, curve->bps[i]);
    for (size_t i = 0; i < fall; i++) {
        if (curve->bps[i] >= 0.8 * peak) {
            sum += curve->bps[i];
            count++;
        }
    }
    return sum / count;
}

static double mean_rtt(const struct tl_series *series, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += series->points[i].rtt_ns;
    return to > from ? sum / (double)(to - from) : NAN;
}

/* The round-trip time around the fall. The queue before it belongs to the link
 * that carried the boost: it may be there, but the one behind it is another. */
static void look_around(const struct tl_series *series, size_t at, struct tl_rate_change *change)
{
    double time_ns = (double)series->points[at].time_ns;
    size_t after = series_at(series, time_ns + 1e9);
    size_t early = series_at(series, time_ns - 2 * series->points[at].rtt_ns);
    if (after >= series->count)
        after = series->count - 1;
    change->rtt_rise_ns = mean_rtt(series, at, after + 1) - mean_rtt(series, 0, early + 1);
}

static bool set_fall(const struct tl_series *series, const struct curve *curve,
                     const struct look *look, struct tl_rate_change *ret_change)
{
    size_t fall = find_fall(series, curve, look);
    double variation;
    if (fall == 0)
        return false;
    double after_bps = mean_from(curve, fall, &variation);
    double before_bps = best_before(curve, fall);
    size_t at = curve->end[fall - 1];
    if (variation > look->vary_ratio || rest_ns(series, curve, fall) < look->rest_min_ns ||
        !(before_bps > FALL_RATIO * after_bps))
        return false;
    *ret_change = (struct tl_rate_change){
        .ratio = before_bps / after_bps,
        .at_ns = (double)series->points[at].time_ns,
        .before_bps = before_bps,
        .after_bps = after_bps,
        .after_swing_ratio = swing_from(curve, fall),
        .bytes = series->points[at].delivered_bytes,
        .excess_bytes = series_burst_before(series, at, after_bps),
    };
    look_around(series, at, ret_change);
    return true;
}

void tl_series_rate_change(const struct tl_series *series, struct tl_rate_change *ret_change)
{
    struct curve curve;
    *ret_change = (struct tl_rate_change){1, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    make_curve(series, &curve);
    if (curve.count < 10)
        ret_change->ratio = NAN;
    else
        for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
            if (set_fall(series, &curve, &looks[i], ret_change))
                return;
}

double tl_series_ahead(const struct tl_series *series, double rate_bps)
{
    double most_bytes = series->count >= 2 ? 0 : NAN;
    for (size_t i = 1; i < series->count; i++) {
        double ns = (double)(series->points[i].time_ns - series->points[0].time_ns);
        double ahead_bytes = series->points[i].delivered_bytes - tl_bytes_from_bps_ns(rate_bps, ns);
        most_bytes = fmax(most_bytes, ahead_bytes);
    }
    return most_bytes;
}
