/* A sender's log as a series of points; slow start in it. */
#include "tightlink/engine/series.h"

#include <math.h>

#include "series_private.h"

/* Longer tests are thinned so that they fit. */
static size_t step_for(size_t readings)
{
    return readings / (TL_SERIES_POINTS_MAX - 1) + 1;
}

static bool has_needed(const struct tl_tcp_sample *sample)
{
    static const enum tl_sample_field needed[] = {
        TL_SF_snd_mss_bytes,       TL_SF_rtt_ns,         TL_SF_total_retrans_count,
        TL_SF_data_segs_out_count, TL_SF_snd_cwnd_count, TL_SF_bytes_acked};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!tl_sample_has(sample, needed[i]))
            return false;
    return sample->rtt_ns > 0;
}

static double delivered_bytes(const struct tl_tcp_sample *sample)
{
    if (tl_sample_has(sample, TL_SF_delivered_count))
        return (double)sample->delivered_count * (double)sample->snd_mss_bytes;
    return (double)sample->bytes_acked;
}

static struct tl_series_point point_of(const struct tl_tcp_sample *sample)
{
    double least_ns = tl_sample_least_rtt_ns(sample);
    return (struct tl_series_point){
        .time_ns = sample->time_ns,
        .delivered_bytes = delivered_bytes(sample),
        .segments_count = (double)sample->data_segs_out_count,
        .retrans_count = (double)sample->total_retrans_count,
        .rtt_ns = (double)sample->rtt_ns,
        .min_rtt_ns = isnan(least_ns) ? (double)sample->rtt_ns : least_ns,
        .cwnd_bytes = (double)sample->snd_cwnd_count * (double)sample->snd_mss_bytes,
        .slow_start = tl_sample_has(sample, TL_SF_snd_ssthresh_count) &&
                      sample->snd_cwnd_count < sample->snd_ssthresh_count,
    };
}

/* A segment size that shrinks on the way makes delivered bytes run backwards: such a reading
 * is left out. */
static bool follows(const struct tl_series_point *before, const struct tl_series_point *point)
{
    return point->time_ns > before->time_ns && point->retrans_count >= before->retrans_count &&
           point->segments_count >= before->segments_count &&
           point->delivered_bytes >= before->delivered_bytes;
}

void tl_series_read(const struct tl_sample_log *sender, struct tl_series *ret_series)
{
    struct tl_series *series = ret_series;
    size_t step = step_for(sender->count);
    series->count = 0;
    series->mss_bytes = series->rtt_min_ns = NAN;
    series->scatter_ns = 0;
    for (size_t i = 0; i < sender->count && series->count < TL_SERIES_POINTS_MAX; i += step) {
        const struct tl_tcp_sample *sample = &sender->samples[i];
        if (!has_needed(sample))
            continue;
        struct tl_series_point point = point_of(sample);
        if (series->count > 0 && !follows(&series->points[series->count - 1], &point))
            continue;
        series->points[series->count++] = point;
        series->mss_bytes = (double)sample->snd_mss_bytes;
        series->rtt_min_ns = fmin(series->rtt_min_ns, fmin(point.min_rtt_ns, point.rtt_ns));
    }
    if (series->count > 0) {
        double segments = series->points[0].segments_count;
        double retrans = series->points[0].retrans_count;
        double delivered = series->points[0].delivered_bytes;
        for (size_t i = 0; i < series->count; i++) {
            series->points[i].segments_count -= segments;
            series->points[i].retrans_count -= retrans;
            series->points[i].delivered_bytes -= delivered;
        }
    }
}

size_t series_at(const struct tl_series *series, double time_ns)
{
    size_t low = 0, high = series->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((double)series->points[middle].time_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

double series_bps(const struct tl_series_point *from, const struct tl_series_point *to)
{
    double ns = (double)(to->time_ns - from->time_ns);
    return ns > 0 ? (to->delivered_bytes - from->delivered_bytes) * 8e9 / ns : NAN;
}

bool series_is_flat(const struct tl_series *series, double rtt_ns)
{
    return rtt_ns - series->rtt_min_ns < fmax(0.2 * series->rtt_min_ns, series->scatter_ns);
}

void tl_series_slow_start(const struct tl_series *series, struct tl_slow_start *ret_start)
{
    *ret_start = (struct tl_slow_start){NAN, NAN, NAN};
    for (size_t i = 0; i < series->count; i++) {
        const struct tl_series_point *point = &series->points[i];
        bool lost = point->retrans_count > 0;
        if (isnan(ret_start->end_ns) && (lost || !point->slow_start)) {
            ret_start->end_ns = (double)point->time_ns;
            ret_start->bytes = point->delivered_bytes;
        }
        if (lost) {
            ret_start->first_loss_ns = (double)point->time_ns;
            return;
        }
    }
}
