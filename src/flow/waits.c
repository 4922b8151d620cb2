/* Levels beside round trips; see waits.h. */
#include "waits.h"

#include <stdlib.h>
#include <string.h>

#include "tightlink/base/stats.h"

#define FIFTH       0.2
#define TIMED_LEAST 20

/* Of those whose level lies on that side of a bound: their mean level and median time. */
static void side_of(const double *levels, const double *times_ns, uint32_t count, double bound,
                    bool above, double *workspace, double *ret_level, double *ret_time_ns)
{
    double sum = 0;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (above ? levels[i] < bound : levels[i] > bound)
            continue;
        sum += levels[i];
        workspace[taken++] = times_ns[i];
    }
    tl_stats_sort(workspace, taken);
    *ret_level = sum / taken;
    *ret_time_ns = workspace[taken / 2];
}

bool waits_compare(const double *levels, const double *times_ns, uint32_t count, double *ret_swing,
                   double *ret_delay_ns)
{
    double *workspace = count >= TIMED_LEAST ? malloc(count * sizeof *workspace) : NULL;
    if (!workspace)
        return false;
    memcpy(workspace, levels, count * sizeof *workspace);
    tl_stats_sort(workspace, count);
    double low = workspace[(uint32_t)(FIFTH * count)],
           high = workspace[(uint32_t)((1 - FIFTH) * count)], below, above, short_ns, long_ns;
    side_of(levels, times_ns, count, low, false, workspace, &below, &short_ns);
    side_of(levels, times_ns, count, high, true, workspace, &above, &long_ns);
    *ret_swing = above - below;
    *ret_delay_ns = long_ns - short_ns;
    free(workspace);
    return true;
}
