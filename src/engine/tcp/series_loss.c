/* The pattern of losses in a series: runs, the rate before them, a token bucket. */
#include <math.h>

#include "series_private.h"
#include "tightlink/base/stats.h"

#define WINDOW_MIN_NS 100e6
#define WINDOW_RTTS   2
#define EVENTS_MAX    512

/* One loss event: the windows in a row that have losses. */
struct events {
    size_t count, flat_count;
    double rate_bps[EVENTS_MAX]; /* congestion window / RTT before it */
    double rtt_ns[EVENTS_MAX];   /* around it */
};

/* The rate that the congestion window made at a point. */
static double window_bps(const struct tl_series_point *point)
{
    return point->rtt_ns > 0 ? point->cwnd_bytes * 8e9 / point->rtt_ns : NAN;
}

/* A loss becomes known a round trip later, between two readings. */
static double around_ns(const struct tl_series *series, size_t at)
{
    return (series->points[at > 0 ? at - 1 : 0].rtt_ns + series->points[at].rtt_ns) / 2;
}

/* What was before the first loss after `at`: the reading before may already lie in the
 * recovery, whose window is the smaller one. */
static void add_event(const struct tl_series *series, size_t at, struct events *events)
{
    const struct tl_series_point *before = &series->points[at > 0 ? at - 1 : 0];
    double rate_bps = window_bps(before);
    if (events->count == EVENTS_MAX)
        return;
    events->flat_count += series_is_flat(series, before->rtt_ns);
    events->rtt_ns[events->count] = around_ns(series, at);
    events->rate_bps[events->count++] = rate_bps;
}

struct windows {
    size_t count;
    double lost[TL_SERIES_POINTS_MAX];
};

static double window_ns(const struct tl_series *series)
{
    return fmax(WINDOW_MIN_NS, WINDOW_RTTS * series->rtt_min_ns);
}

/* Counts losses window by window, and events by their gaps. */
static void walk(const struct tl_series *series, size_t from, size_t to, struct windows *windows,
                 struct events *events)
{
    double width_ns = window_ns(series);
    double open_ns = (double)series->points[from].time_ns, lost = 0, event_ns = -INFINITY;
    for (size_t i = from + 1; i < to; i++) {
        const struct tl_series_point *point = &series->points[i];
        double fresh = point->retrans_count - series->points[i - 1].retrans_count;
        double time_ns = (double)point->time_ns;
        if (fresh > 0 && time_ns - event_ns > width_ns)
            add_event(series, i, events);
        if (fresh > 0)
            event_ns = time_ns;
        lost += fresh;
        if (time_ns - open_ns < width_ns)
            continue;
        windows->lost[windows->count++] = lost;
        open_ns = time_ns;
        lost = 0;
    }
}

/* The window with the most losses. */
static size_t worst_of(const struct windows *windows)
{
    size_t worst = 0;
    for (size_t i = 1; i < windows->count; i++)
        if (windows->lost[i] > windows->lost[worst])
            worst = i;
    return worst;
}

/* NAN where too few are left. */
static double run_mean(const struct windows *windows, size_t left_out, bool leaves_out)
{
    double lost = 0, squares = 0, count = 0;
    for (size_t i = 0; i < windows->count; i++) {
        if (leaves_out && i + 1 >= left_out && i <= left_out + 1)
            continue;
        lost += windows->lost[i];
        squares += windows->lost[i] * windows->lost[i];
        count++;
    }
    if (lost < TL_SERIES_LOSSES_MIN || count < 2)
        return NAN;
    double batch = squares / lost - lost / count;
    return (fmax(batch, 1) + 1) / 2;
}

/* Windows with losses from which on the worst of them decides nothing. */
#define MANY_LOSSY 10

static bool is_among_many(const struct windows *windows)
{
    size_t lossy = 0;
    for (size_t i = 0; i < windows->count; i++)
        lossy += windows->lost[i] > 0;
    return lossy >= MANY_LOSSY;
}

/* Slow start overruns a queue once, whatever loses packets afterwards; and of few bursts one is a
 * large part. With fewer than enough losses beside the worst window anything may be so. */
static void fill_runs(const struct windows *windows, struct tl_loss_pattern *pattern)
{
    size_t worst = worst_of(windows);
    bool single = windows->count > 0 && windows->lost[worst] <= 1;
    double all = run_mean(windows, worst, false);
    double rest = single ? all : run_mean(windows, worst, true);
    pattern->run_mean_count = isnan(rest) ? all : rest;
    pattern->run_low_count = isnan(rest) && all > 1 ? 1 : fmin(all, rest);
    pattern->run_high_count = is_among_many(windows) ? rest : fmax(all, rest);
}

/* The share of readings whose rate lies below the rate before each event, and how much the
 * readings vary. */
static double share_below(const struct tl_series *series, size_t from, size_t to,
                          const struct events *events, double *ret_variation)
{
    double below = 0, readings = 0, sum = 0, squares = 0;
    for (size_t i = from; i < to; i++) {
        double rate_bps = window_bps(&series->points[i]);
        if (!isfinite(rate_bps))
            continue;
        readings++;
        sum += rate_bps;
        squares += rate_bps * rate_bps;
        for (size_t j = 0; j < events->count; j++)
            below += rate_bps < events->rate_bps[j] ? 1 : rate_bps == events->rate_bps[j] ? 0.5 : 0;
    }
    double mean = sum / readings;
    *ret_variation = sqrt(fmax(squares / readings - mean * mean, 0)) / mean;
    return below / (readings * (double)events->count);
}

static void fill_rates(const struct tl_series *series, size_t from, size_t to,
                       struct events *events, struct tl_loss_pattern *pattern)
{
    double variation = 0;
    if (events->count < TL_SERIES_LOSSES_MIN)
        return;
    double below = share_below(series, from, to, events, &variation);
    if (variation > 0.05)
        pattern->threshold_ratio = 2 * below - 1;
    tl_stats_sort(events->rate_bps, events->count);
    pattern->rate_at_loss_bps = events->rate_bps[events->count / 2];
}

static void fill_ranks(const struct tl_series *series, size_t from, size_t to,
                       const struct events *events, struct tl_loss_pattern *pattern)
{
    double below = 0, readings = 0;
    if (events->count < TL_SERIES_LOSSES_MIN)
        return;
    for (size_t i = from + 1; i < to; i++) {
        double rtt_ns = around_ns(series, i);
        readings++;
        for (size_t j = 0; j < events->count; j++)
            below += rtt_ns < events->rtt_ns[j] ? 1 : rtt_ns == events->rtt_ns[j] ? 0.5 : 0;
    }
    double rank = below / (readings * (double)events->count);
    double bound = TL_SERIES_RANK_BOUND / sqrt((double)events->count);
    pattern->delay_rank_ratio = rank;
    pattern->delay_rank_low = fmax(rank - bound, 0);
    pattern->delay_rank_high = fmin(rank + bound, 1);
}

void tl_series_losses(const struct tl_series *series, int64_t from_ns, int64_t to_ns,
                      struct tl_loss_pattern *ret_pattern)
{
    struct events events = {.count = 0};
    struct windows windows = {0};
    *ret_pattern = (struct tl_loss_pattern){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    size_t from = series_at(series, (double)from_ns), to = series_at(series, (double)to_ns + 1);
    if (from + 2 > to)
        return;
    walk(series, from, to, &windows, &events);
    ret_pattern->lost_count =
        series->points[to - 1].retrans_count - series->points[from].retrans_count;
    ret_pattern->event_count = (double)events.count;
    if (events.count > 0)
        ret_pattern->flat_ratio = (double)events.flat_count / (double)events.count;
    fill_runs(&windows, ret_pattern);
    fill_rates(series, from, to, &events, ret_pattern);
    fill_ranks(series, from, to, &events, ret_pattern);
}

double series_burst_before(const struct tl_series *series, size_t end, double rate_bps)
{
    double excess = 0, deepest = 0;
    for (size_t i = 1; i <= end && i < series->count; i++) {
        const struct tl_series_point *before = &series->points[i - 1], *point = &series->points[i];
        double tokens = rate_bps * (double)(point->time_ns - before->time_ns) / 8e9;
        excess = fmax(excess + point->delivered_bytes - before->delivered_bytes - tokens, 0);
        deepest = fmax(deepest, excess);
    }
    return deepest;
}

void tl_series_policer(const struct tl_series *series, int64_t from_ns, int64_t to_ns,
                       struct tl_policer_fit *ret_fit)
{
    struct tl_loss_pattern pattern;
    *ret_fit = (struct tl_policer_fit){NAN, NAN, NAN};
    tl_series_losses(series, from_ns, to_ns, &pattern);
    if (!(pattern.event_count >= TL_SERIES_LOSSES_MIN))
        return;
    size_t from = series_at(series, (double)from_ns), to = series_at(series, (double)to_ns + 1);
    size_t first = 0, last = 0, ever = 0;
    for (size_t i = 1; i < to; i++) {
        if (series->points[i].retrans_count <= series->points[i - 1].retrans_count)
            continue;
        ever = ever ? ever : i;
        if (i >= from) {
            first = first ? first : i;
            last = i;
        }
    }
    ret_fit->rate_bps = series_bps(&series->points[first], &series->points[last]);
    ret_fit->fit_ratio = fmax(pattern.threshold_ratio, 0) * pattern.flat_ratio;
    if (isnan(pattern.threshold_ratio))
        ret_fit->fit_ratio = NAN;
    ret_fit->burst_bytes = series_burst_before(series, ever, ret_fit->rate_bps);
}
