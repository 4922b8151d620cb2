/* Losses as a receiver sees them: arrivals.h. */
#include "tightlink/engine/arrivals.h"

#include <math.h>

#include "tightlink/base/stats.h"

/* Where nearly everything waits behind a hole, how many holes there are cannot be told. */
#define COVERED_MAX 0.95
/* Readings that make the rate before an event, and behind it. */
#define BESIDE_READINGS 3
#define EVENTS_MAX      256

/* Readings in order, from the first to the last that lies between the times and is complete. */
struct readings {
    const struct tl_sample_log *log;
    size_t from, to; /* to: one past the last */
};

static bool is_told(const struct tl_tcp_sample *sample)
{
    return tl_sample_has(sample, TL_SF_data_segs_in_count) &&
           tl_sample_has(sample, TL_SF_rcv_ooopack_count);
}

static struct readings between(const struct tl_sample_log *log, int64_t from_ns, int64_t to_ns)
{
    struct readings readings = {.log = log};
    while (readings.from < log->count && log->samples[readings.from].time_ns < from_ns)
        readings.from++;
    readings.to = readings.from;
    while (readings.to < log->count && log->samples[readings.to].time_ns <= to_ns &&
           is_told(&log->samples[readings.to]))
        readings.to++;
    return readings;
}

static const struct tl_tcp_sample *at(const struct readings *readings, size_t i)
{
    return &readings->log->samples[i];
}

/* From the reading before i to i; a counter of a broken kernel that ran backwards did not grow. */
static double holes(const struct readings *readings, size_t i)
{
    uint64_t before = at(readings, i - 1)->rcv_ooopack_count;
    uint64_t now = at(readings, i)->rcv_ooopack_count;
    return now > before ? (double)(now - before) : 0;
}

/* Segments a nanosecond from reading a to b; NAN where no time lies between. */
static double arrival_rate(const struct readings *readings, size_t a, size_t b)
{
    double ns = (double)(at(readings, b)->time_ns - at(readings, a)->time_ns);
    double segments =
        (double)at(readings, b)->data_segs_in_count - (double)at(readings, a)->data_segs_in_count;
    return ns > 0 && segments >= 0 ? segments / ns : (double)NAN;
}

/* Whether nothing arrived out of order in the readings a+1 to b. */
static bool is_clear(const struct readings *readings, size_t a, size_t b)
{
    for (size_t i = a + 1; i <= b; i++)
        if (holes(readings, i) > 0)
            return false;
    return true;
}

/* One value for each stretch with holes that has clear readings on both sides. */
static size_t find_falls(const struct readings *readings, double *ret_ratios)
{
    size_t count = 0, i = readings->from + 1;
    while (i < readings->to && count < EVENTS_MAX) {
        if (holes(readings, i) == 0) {
            i++;
            continue;
        }
        size_t before = i - 1;
        while (i < readings->to && holes(readings, i) > 0)
            i++;
        size_t behind = i - 1; /* the last reading of the stretch */
        if (before < readings->from + BESIDE_READINGS || behind + BESIDE_READINGS >= readings->to ||
            !is_clear(readings, before - BESIDE_READINGS, before) ||
            !is_clear(readings, behind, behind + BESIDE_READINGS))
            continue;
        double ratio = arrival_rate(readings, behind, behind + BESIDE_READINGS) /
                       arrival_rate(readings, before - BESIDE_READINGS, before);
        if (isfinite(ratio))
            ret_ratios[count++] = ratio;
    }
    return count;
}

static void fill_falls(const struct readings *readings, struct tl_arrivals *arrivals)
{
    double ratios[EVENTS_MAX];
    size_t count = find_falls(readings, ratios);
    if (count < TL_ARRIVALS_FALLS_MIN)
        return;
    double half = tl_stats_student_t(0.975, (double)count - 1) * tl_stats_stddev(ratios, count) /
                  sqrt((double)count);
    arrivals->fall_ratio = tl_stats_mean(ratios, count);
    arrivals->fall_low = arrivals->fall_ratio - half;
    arrivals->fall_high = arrivals->fall_ratio + half;
}

void tl_arrivals_read(const struct tl_sample_log *receiver, int64_t from_ns, int64_t to_ns,
                      double rtt_ns, struct tl_arrivals *ret_arrivals)
{
    double nan = (double)NAN;
    struct tl_arrivals arrivals = {nan, nan, nan, nan, nan, nan};
    struct readings readings = between(receiver, from_ns, to_ns);
    *ret_arrivals = arrivals;
    if (readings.to < readings.from + 2)
        return;
    double rate = arrival_rate(&readings, readings.from, readings.to - 1);
    arrivals.segments_count = (double)at(&readings, readings.to - 1)->data_segs_in_count -
                              (double)at(&readings, readings.from)->data_segs_in_count;
    arrivals.ooo_count = 0;
    for (size_t i = readings.from + 1; i < readings.to; i++)
        arrivals.ooo_count += holes(&readings, i);
    double covered = arrivals.ooo_count / arrivals.segments_count;
    double window = fmax(rate * rtt_ns, 1);
    if (covered < COVERED_MAX && isfinite(window) && rtt_ns > 0)
        arrivals.loss_count = -log1p(-covered) / window * arrivals.segments_count;
    fill_falls(&readings, &arrivals);
    *ret_arrivals = arrivals;
}

void tl_arrivals_add(struct tl_arrivals *sum, const struct tl_arrivals *one)
{
    sum->segments_count += one->segments_count;
    sum->ooo_count += one->ooo_count;
    sum->loss_count += one->loss_count;
    sum->fall_ratio = sum->fall_low = sum->fall_high = (double)NAN;
}
