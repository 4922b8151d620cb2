/* How long operations took: a histogram whose steps grow with the time. */
#include <math.h>

#include "disk_private.h"

static unsigned step_of(int64_t ns)
{
    if (ns < 1)
        return 0;
    unsigned step = (unsigned)(log2((double)ns) * DISK_TIMES_STEPS);
    return step < DISK_TIMES_COUNT ? step : DISK_TIMES_COUNT - 1;
}

void disk_times_add(struct disk_times *times, int64_t ns)
{
    times->counts[step_of(ns)]++;
    times->total++;
    if (ns > times->max_ns)
        times->max_ns = ns;
}

void disk_times_merge(struct disk_times *times, const struct disk_times *other)
{
    for (unsigned i = 0; i < DISK_TIMES_COUNT; i++)
        times->counts[i] += other->counts[i];
    times->total += other->total;
    if (other->max_ns > times->max_ns)
        times->max_ns = other->max_ns;
}

int64_t disk_times_quantile(const struct disk_times *times, double q)
{
    uint64_t below = 0;
    if (times->total == 0)
        return -1;
    for (unsigned i = 0; i < DISK_TIMES_COUNT; i++) {
        below += times->counts[i];
        if ((double)below < q * (double)times->total || below == 0)
            continue;
        /* The middle of the step; never more than the longest one seen. */
        int64_t ns = (int64_t)exp2((i + 0.5) / DISK_TIMES_STEPS);
        return ns < times->max_ns ? ns : times->max_ns;
    }
    return times->max_ns;
}
