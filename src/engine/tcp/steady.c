/* The rate: curve, truncation of the warm-up, batch means, early stop. What the
 * sender's TCP did lives in steady_flow.c. */
#include "tightlink/engine/steady.h"

#include <math.h>
#include <string.h>

#include "tightlink/base/stats.h"
#include "tightlink/base/units.h"

#define BATCHES_MIN       5    /* the fewest that an interval is made of */
#define GROUPS_MAX        20   /* more groups are too short to show how batches hang together */
#define BATCHES_MAX       1024 /* longer tests get longer batches */
#define SAME_RATIO        0.01 /* differences that are no warm-up */
#define HELD_RATIO        0.2  /* with less of the time left to the network, it is not the limit */
#define WINDOW_HELD_RATIO 0.9  /* with more of the time held by the window, nothing else is */
#define CPU_BOUND_RATIO   0.9  /* of a core: the thread itself is the limit */
#define KNOWN_DRIFT_RATIO 0.03 /* halves of a test that ends early */
#define RTT_MAX_NS        60000000000LL /* beyond any path; a far end may report anything */

/* --- Curve ------------------------------------------------------------------------ */

/* Walks one log as a function of time: skips what runs backwards. */
struct walker {
    const struct tl_sample_log *log;
    size_t next;
    struct tl_rate_point before, after; /* the readings around the time asked for */
};

static bool walker_step(struct walker *walker)
{
    while (walker->next < walker->log->count) {
        const struct tl_tcp_sample *sample = &walker->log->samples[walker->next++];
        if (!tl_sample_has(sample, TL_SF_app_bytes) || sample->time_ns <= walker->after.time_ns)
            continue;
        double bytes = (double)sample->app_bytes;
        walker->before = walker->after;
        walker->after.time_ns = sample->time_ns;
        walker->after.bytes = bytes > walker->before.bytes ? bytes : walker->before.bytes;
        return true;
    }
    return false;
}

/* Bytes at a time that does not go backwards; the last value behind the end. */
static double walker_bytes_at(struct walker *walker, int64_t time_ns)
{
    while (walker->after.time_ns < time_ns)
        if (!walker_step(walker))
            return walker->after.bytes;
    double span_ns = (double)(walker->after.time_ns - walker->before.time_ns);
    if (span_ns <= 0)
        return walker->after.bytes;
    double share = (double)(time_ns - walker->before.time_ns) / span_ns;
    return walker->before.bytes + share * (walker->after.bytes - walker->before.bytes);
}

/* The last time at which every stream was still read; -1 when one never was. */
static int64_t common_end_ns(const struct tl_sample_log *logs, size_t log_count)
{
    int64_t end_ns = INT64_MAX;
    for (size_t i = 0; i < log_count; i++) {
        int64_t last_ns = -1;
        for (size_t j = 0; j < logs[i].count; j++)
            if (logs[i].samples[j].time_ns > last_ns)
                last_ns = logs[i].samples[j].time_ns;
        if (last_ns < end_ns)
            end_ns = last_ns;
    }
    return log_count > 0 ? end_ns : -1;
}

static size_t cut_silent_tail(const struct tl_rate_point *points, size_t count)
{
    while (count > 1 && points[count - 1].bytes <= points[count - 2].bytes)
        count--;
    return count;
}

size_t tl_steady_curve(const struct tl_sample_log *logs, size_t log_count,
                       struct tl_rate_point *ret_points, size_t max)
{
    struct walker walkers[TL_STEADY_STREAMS_MAX];
    size_t count = 0;
    int64_t end_ns = common_end_ns(logs, log_count);
    if (end_ns < 0 || log_count > TL_STEADY_STREAMS_MAX)
        return 0;
    for (size_t i = 0; i < log_count; i++)
        walkers[i] = (struct walker){.log = &logs[i]};
    if (max > 0)
        ret_points[count++] = (struct tl_rate_point){0, 0};
    while (count < max && walker_step(&walkers[0]) && walkers[0].after.time_ns <= end_ns) {
        struct tl_rate_point *point = &ret_points[count++];
        point->time_ns = walkers[0].after.time_ns;
        point->bytes = walkers[0].after.bytes;
        for (size_t i = 1; i < log_count; i++)
            point->bytes += walker_bytes_at(&walkers[i], point->time_ns);
    }
    return cut_silent_tail(ret_points, count);
}

/* --- Batches ---------------------------------------------------------------------- */

struct batches {
    double bps[BATCHES_MAX];
    unsigned count;
    int64_t start_ns; /* of the first batch */
    int64_t width_ns;
};

/* Batches are no finer than what was read: a straight line between two points far apart
 * would pass for a steady rate. */
static int64_t batch_width_ns(const struct tl_rate_point *points, size_t count, int64_t rtt_ns)
{
    /* Whole round trips: a window goes out once in each. */
    int64_t round_trips = rtt_ns > 0 ? (TL_STEADY_BATCH_NS + rtt_ns - 1) / rtt_ns : 0;
    int64_t width_ns = rtt_ns > 0 ? round_trips * rtt_ns : TL_STEADY_BATCH_NS;
    int64_t end_ns = points[count - 1].time_ns;
    for (size_t i = 1; i < count; i++)
        if (points[i].time_ns - points[i - 1].time_ns > width_ns)
            width_ns = points[i].time_ns - points[i - 1].time_ns;
    return end_ns / width_ns > BATCHES_MAX ? end_ns / BATCHES_MAX + 1 : width_ns;
}

/* Linear between points; index moves forward only. */
static double bytes_at(const struct tl_rate_point *points, size_t count, size_t *index,
                       int64_t time_ns)
{
    while (*index + 1 < count && points[*index + 1].time_ns < time_ns)
        (*index)++;
    if (*index + 1 >= count)
        return points[count - 1].bytes;
    const struct tl_rate_point *a = &points[*index], *b = a + 1;
    double share = (double)(time_ns - a->time_ns) / (double)(b->time_ns - a->time_ns);
    return a->bytes + share * (b->bytes - a->bytes);
}

/* Equal batches from the end of the curve towards its begin. */
static void make_batches(const struct tl_rate_point *points, size_t count, int64_t rtt_ns,
                         struct batches *ret_batches)
{
    size_t index = 0;
    int64_t end_ns = points[count - 1].time_ns;
    int64_t width_ns = batch_width_ns(points, count, rtt_ns);
    ret_batches->count = (unsigned)(end_ns / width_ns);
    ret_batches->width_ns = width_ns;
    ret_batches->start_ns = end_ns - (int64_t)ret_batches->count * width_ns;
    double before = bytes_at(points, count, &index, ret_batches->start_ns);
    for (unsigned i = 0; i < ret_batches->count; i++) {
        double bytes =
            bytes_at(points, count, &index, ret_batches->start_ns + (int64_t)(i + 1) * width_ns);
        ret_batches->bps[i] = tl_bps_from_bytes_ns(bytes - before, (double)width_ns);
        before = bytes;
    }
}

/* Batches that warm-up may take of a test that is hardly longer than a verdict needs. */
#define WARM_UP_BATCHES 4

/* Batches that the steady part keeps at least. */
static unsigned remainder_min(const struct batches *batches, int64_t rtt_ns)
{
    int64_t wanted_ns = TL_STEADY_MIN_RTTS_COUNT * rtt_ns;
    if (wanted_ns < TL_STEADY_MIN_NS)
        wanted_ns = TL_STEADY_MIN_NS;
    unsigned wanted = (unsigned)((wanted_ns + batches->width_ns - 1) / batches->width_ns);
    /* Not half: of a test of 6 s that is a batch short of 3 s. */
    if (wanted + WARM_UP_BATCHES > batches->count && wanted > 2 * batches->count / 3)
        wanted = 2 * batches->count / 3;
    if (wanted < BATCHES_MIN)
        wanted = BATCHES_MIN;
    return wanted < batches->count ? wanted : batches->count;
}

/* --- Interval ---------------------------------------------------------------------- */

/* Student's t, two-sided 95 %. */
static double student_95(unsigned freedom)
{
    return freedom > 0 ? tl_stats_student_t(0.975, freedom) : NAN;
}

static double mean_of(const double *values, unsigned count)
{
    double sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += values[i];
    return sum / count;
}

/* Standard error of the mean, from groups of `size` batches laid from the end. */
static double group_error(const double *bps, unsigned count, unsigned size)
{
    unsigned groups = count / size;
    const double *from = bps + (count - groups * size);
    double mean = mean_of(from, groups * size), squares = 0;
    for (unsigned i = 0; i < groups; i++) {
        double off = mean_of(from + i * size, size) - mean;
        squares += off * off;
    }
    return groups > 1 ? sqrt(squares / (groups - 1) / groups) : 0;
}

/* The smallest group worth looking at: batches that take turns in being large and small
 * (a window that fell into this one or the next) would look like noise. */
static unsigned smallest_group(unsigned count)
{
    unsigned size = 1;
    while (count / size > GROUPS_MAX)
        size *= 2;
    return size;
}

/* The largest over group sizes: correlation shows in the large ones. */
static double standard_error(const double *bps, unsigned count)
{
    double largest = group_error(bps, count, smallest_group(count));
    for (unsigned size = 2 * smallest_group(count); count / size >= BATCHES_MIN; size *= 2)
        largest = fmax(largest, group_error(bps, count, size));
    return largest;
}

/* Relative difference of the second half against the first. */
static double drift_ratio(const double *bps, unsigned count, double mean)
{
    unsigned half = count / 2;
    if (half == 0 || mean <= 0)
        return 0;
    return (mean_of(bps + (count - half), half) - mean_of(bps, half)) / mean;
}

/* The half width of the 95 % interval: the widest over group sizes, and half of the
 * halves' difference. */
static double half_width(const double *bps, unsigned count, double mean)
{
    double widest = fabs(drift_ratio(bps, count, mean)) * mean / 2;
    unsigned first = smallest_group(count);
    for (unsigned size = first; size == first || count / size >= BATCHES_MIN; size *= 2)
        widest = fmax(widest, student_95(count / size - 1) * group_error(bps, count, size));
    return widest;
}

/* --- Truncation --------------------------------------------------------------------- */

/* Whether the first fifth of the batches is of one kind with the last half. */
static bool begins_as_it_ends(const double *bps, unsigned count)
{
    unsigned first = count / 5 > 0 ? count / 5 : 1, last = count / 2;
    double mean = mean_of(bps + (count - last), last);
    double error = standard_error(bps + (count - last), last);
    double allowed = 2 * error * sqrt(1 + (double)last / first) + SAME_RATIO * mean;
    return fabs(mean_of(bps, first) - mean) <= allowed;
}

/* The number of batches to drop. */
static unsigned truncation(const struct batches *batches, int64_t rtt_ns)
{
    unsigned least = remainder_min(batches, rtt_ns), dropped = 0;
    while (batches->count - dropped > least &&
           !begins_as_it_ends(batches->bps + dropped, batches->count - dropped))
        dropped++;
    return dropped;
}

/* The longest stretch without progress. */
static void fill_silence(const struct tl_rate_point *points, size_t count,
                         struct tl_steady_rate *rate)
{
    size_t heard = 0; /* the last point with progress */
    for (size_t i = 1; i < count; i++) {
        if (points[i].bytes > points[i - 1].bytes)
            heard = i;
        int64_t silence_ns = points[i].time_ns - points[heard].time_ns;
        if (silence_ns > rate->silence_ns) {
            rate->silence_ns = silence_ns;
            rate->silence_at_ns = points[heard].time_ns;
        }
    }
}

static void fill_extremes(const double *bps, unsigned count, struct tl_steady_rate *rate)
{
    rate->max_bps = rate->min_bps = bps[0];
    for (unsigned i = 1; i < count; i++) {
        rate->max_bps = fmax(rate->max_bps, bps[i]);
        rate->min_bps = fmin(rate->min_bps, bps[i]);
    }
}

/* What can be said of any curve, however short. */
static void fill_whole(const struct tl_rate_point *points, size_t count,
                       struct tl_steady_rate *ret_rate)
{
    *ret_rate = (struct tl_steady_rate){.goodput_bps = NAN,
                                        .low_bps = NAN,
                                        .high_bps = NAN,
                                        .whole_bps = NAN,
                                        .max_bps = NAN,
                                        .min_bps = NAN};
    if (count < 2 || points[count - 1].time_ns <= 0)
        return;
    ret_rate->end_ns = points[count - 1].time_ns;
    ret_rate->whole_bps = tl_bps_from_bytes_ns(points[count - 1].bytes, (double)ret_rate->end_ns);
    ret_rate->goodput_bps = ret_rate->low_bps = ret_rate->high_bps = ret_rate->whole_bps;
}

void tl_steady_rate(const struct tl_rate_point *points, size_t count, int64_t rtt_ns,
                    struct tl_steady_rate *ret_rate)
{
    struct batches batches;
    rtt_ns = rtt_ns < 0 ? 0 : rtt_ns > RTT_MAX_NS ? RTT_MAX_NS : rtt_ns;
    fill_whole(points, count, ret_rate);
    fill_silence(points, count, ret_rate);
    if (isnan(ret_rate->whole_bps))
        return;
    make_batches(points, count, rtt_ns, &batches);
    if (batches.count < 2)
        return;
    unsigned dropped = truncation(&batches, rtt_ns);
    const double *bps = batches.bps + dropped;
    unsigned kept = batches.count - dropped;
    double mean = mean_of(bps, kept), half = half_width(bps, kept, mean);
    ret_rate->valid = true;
    ret_rate->start_ns = batches.start_ns + (int64_t)dropped * batches.width_ns;
    ret_rate->goodput_bps = mean;
    ret_rate->low_bps = fmax(0, mean - half);
    ret_rate->high_bps = mean + half;
    ret_rate->drift_ratio = drift_ratio(bps, kept, mean);
    int64_t steady_ns = ret_rate->end_ns - ret_rate->start_ns;
    ret_rate->long_enough =
        steady_ns >= TL_STEADY_MIN_NS && steady_ns >= TL_STEADY_MIN_RTTS_COUNT * rtt_ns;
    fill_extremes(bps, kept, ret_rate);
}

/* --- Early stop -------------------------------------------------------------------- */

/* The last look at the same test lays its batches anew and may take more for warm-up: so many are
 * to spare beyond what a verdict needs, and of the whole test so many that it cannot take too much.
 * A batch is a round trip at least. */
static bool long_enough_with_spare(const struct tl_rate_point *points, size_t count, int64_t rtt_ns,
                                   const struct tl_steady_rate *rate, unsigned spare_batches)
{
    double width_ns = (double)batch_width_ns(points, count, rtt_ns); /* which may be any number */
    double end_ns = (double)rate->end_ns, least_ns = (double)TL_STEADY_MIN_NS;
    double steady_ns = end_ns - (double)rate->start_ns - spare_batches * width_ns;
    return steady_ns >= least_ns && end_ns - (WARM_UP_BATCHES + 2) * width_ns >= least_ns &&
           steady_ns >= TL_STEADY_MIN_RTTS_COUNT * (double)rtt_ns;
}

/* Even, and known to TL_STEADY_KNOWN_RATIO, however long it lasted. */
static bool is_even(const struct tl_steady_rate *rate)
{
    double half = rate->high_bps - rate->goodput_bps;
    return rate->valid && rate->goodput_bps > 0 && fabs(rate->drift_ratio) <= KNOWN_DRIFT_RATIO &&
           half <= TL_STEADY_KNOWN_RATIO * rate->goodput_bps;
}

/* A longer round trip than that waited in a queue. */
static double unqueued_ns(const struct tl_flow_stats *stats)
{
    return 1.1 * stats->rtt_min_ns + 1e6;
}

static bool stood_a_queue(const struct tl_flow_stats *stats)
{
    return stats->rtt_floor_ns > unqueued_ns(stats);
}

/* Comparisons with NAN are false: what is not known does not permit to stop. */
bool tl_steady_cycles_inside(const struct tl_flow_stats *steady, const struct tl_flow_stats *whole,
                             const char *congestion)
{
    return (steady->ledger.valid && steady->ledger.network_ratio < HELD_RATIO) ||
           steady->thread_cpu_ratio > CPU_BOUND_RATIO || strncmp(congestion, "bbr", 3) == 0 ||
           whole->retrans_count == 0 || stood_a_queue(steady) ||
           steady->loss_event_count >= TL_STEADY_LOSS_EVENTS;
}

static bool is_near(double bps, double other_bps)
{
    return fabs(bps - other_bps) <= TL_STEADY_KNOWN_RATIO * other_bps;
}

/* Held by the receive window nearly all the time, and what arrived is that window a round trip:
 * two ways to the same number. The interval of the batches is not asked: one window more or less
 * falls into a batch of one round trip, which says nothing of the rate. */
static bool is_window_a_round_trip(const struct tl_steady_rate *rate,
                                   const struct tl_flow_stats *stats)
{
    if (!rate->valid || !stats->ledger.valid || !(stats->ledger.rwnd_ratio > WINDOW_HELD_RATIO))
        return false;
    double window_bps = stats->snd_wnd_max_bytes * 8e9 / stats->rtt_mean_ns;
    double segment_bps = stats->mss_bytes * 8e9 / stats->rtt_mean_ns;
    double off_bps = rate->goodput_bps - window_bps;
    return off_bps <= TL_STEADY_KNOWN_RATIO * window_bps &&
           off_bps >= -TL_STEADY_KNOWN_RATIO * window_bps - segment_bps;
}

static bool lasts_for_comparison(const struct tl_steady *steady, unsigned rtts_count)
{
    int64_t steady_ns = steady->rate.end_ns - steady->rate.start_ns;
    return steady->rate.valid && steady->cycles_inside && steady_ns >= TL_STEADY_AGREES_NS &&
           (double)steady_ns >= rtts_count * steady->sender.rtt_mean_ns;
}

bool tl_steady_surpasses(const struct tl_steady *steady, double one_high_bps)
{
    const struct tl_steady_rate *rate = &steady->rate;
    double half = rate->high_bps - rate->goodput_bps;
    return one_high_bps > 0 && lasts_for_comparison(steady, TL_STEADY_MORE_RTTS_COUNT) &&
           !(steady->fairness_ratio < TL_STEADY_AGREES_FAIRNESS) &&
           half <= TL_STEADY_MORE_WITHIN * rate->goodput_bps &&
           fabs(rate->drift_ratio) <= TL_STEADY_MORE_WITHIN &&
           rate->low_bps >= TL_STEADY_MORE_RATIO * one_high_bps;
}

/* All the time, not only at times. */
static bool is_flat(const struct tl_flow_stats *stats)
{
    return stats->rtt_mean_ns <= unqueued_ns(stats);
}

bool tl_steady_multiplies(const struct tl_steady *steady, double one_high_bps)
{
    return one_high_bps > 0 && lasts_for_comparison(steady, TL_STEADY_AGREES_RTTS_COUNT) &&
           !(steady->fairness_ratio < TL_STEADY_AGREES_FAIRNESS) && is_flat(&steady->sender) &&
           steady->sender.loss_event_count >= TL_STEADY_LOSS_EVENTS &&
           steady->rate.low_bps >= TL_STEADY_MULTIPLE * one_high_bps;
}

bool tl_steady_agrees(const struct tl_steady *steady, double one_bps, unsigned streams)
{
    const struct tl_steady_rate *rate = &steady->rate;
    double half = rate->high_bps - rate->goodput_bps;
    bool even = half <= TL_STEADY_AGREES_WITHIN * rate->goodput_bps;
    bool shared_alike = !(steady->fairness_ratio < TL_STEADY_AGREES_FAIRNESS);
    bool same = shared_alike && (is_near(rate->goodput_bps, one_bps) ||
                                 is_near(rate->goodput_bps, streams * one_bps));
    bool foretold = streams == 1 && is_window_a_round_trip(rate, &steady->sender);
    return one_bps > 0 && lasts_for_comparison(steady, TL_STEADY_AGREES_RTTS_COUNT) &&
           fabs(rate->drift_ratio) <= KNOWN_DRIFT_RATIO && ((even && same) || foretold);
}

static bool lost_enough(const struct tl_steady *steady, unsigned lost_events)
{
    double end_ns = (double)steady->rate.end_ns;
    return lost_events > 0 && steady->rate.valid && end_ns >= (double)TL_STEADY_MIN_NS &&
           end_ns >= TL_STEADY_AGREES_RTTS_COUNT * steady->sender.rtt_mean_ns &&
           steady->sender.loss_event_count >= lost_events;
}

bool tl_steady_settles(const struct tl_steady *steady, const struct tl_steady_enough *enough,
                       unsigned streams)
{
    bool rate =
        enough->rate && (steady->known || tl_steady_agrees(steady, enough->agrees_bps, streams) ||
                         tl_steady_surpasses(steady, enough->surpasses_bps) ||
                         tl_steady_multiplies(steady, enough->multiplies_bps));
    return rate || lost_enough(steady, enough->lost_events);
}

static bool is_window_known(const struct tl_rate_point *points, size_t count,
                            const struct tl_flow_stats *stats, int64_t rtt_ns)
{
    struct tl_steady_rate rate;
    tl_steady_rate(points, count, rtt_ns, &rate);
    return is_window_a_round_trip(&rate, stats) &&
           long_enough_with_spare(points, count, rtt_ns, &rate, 1);
}

bool tl_steady_known(const struct tl_rate_point *points, size_t count,
                     const struct tl_flow_stats *steady_stats,
                     const struct tl_flow_stats *whole_stats, const char *congestion)
{
    if (count < 2 || isnan(steady_stats->rtt_mean_ns) ||
        !tl_steady_cycles_inside(steady_stats, whole_stats, congestion))
        return false;
    int64_t rtt_ns = (int64_t)fmin(steady_stats->rtt_mean_ns, RTT_MAX_NS);
    if (is_window_known(points, count, steady_stats, rtt_ns))
        return true;
    int64_t before_ns = points[count - 1].time_ns - 500000000 - 2 * rtt_ns;
    size_t before = count;
    while (before > 0 && points[before - 1].time_ns > before_ns)
        before--;
    if (before < 2)
        return false;
    struct tl_steady_rate now, then;
    tl_steady_rate(points, count, rtt_ns, &now);
    tl_steady_rate(points, before, rtt_ns, &then);
    return long_enough_with_spare(points, count, rtt_ns, &now, 2) && is_even(&now) &&
           is_even(&then);
}
