/* Two groups among the streams of a test. */
#include "tightlink/engine/members.h"

#include <math.h>
#include <stdlib.h>

#include "tightlink/base/stats.h"

#define STEP_RATIO       2.0
#define STEP_ALONE_RATIO 3.0 /* where losses do not tell the groups apart */
#define STEP_WIDTHS      1.5
#define LOSS_RATIO       3.0

struct sorted {
    double log_bps;
    size_t index;
};

static int compare(const void *a, const void *b)
{
    double x = ((const struct sorted *)a)->log_bps, y = ((const struct sorted *)b)->log_bps;
    return (x > y) - (x < y);
}

static double squared_deviations(const struct sorted *from, size_t count)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += from[i].log_bps;
        squares += from[i].log_bps * from[i].log_bps;
    }
    return squares - sum * sum / (double)count;
}

/* The size of the slow group that fits best. */
static size_t best_split(const struct sorted *sorted, size_t count)
{
    size_t best = 1;
    double least = INFINITY;
    for (size_t slow = 1; slow < count; slow++) {
        double rest =
            squared_deviations(sorted, slow) + squared_deviations(sorted + slow, count - slow);
        if (rest < least) {
            least = rest;
            best = slow;
        }
    }
    return best;
}

/* Losses and segments of a group. */
struct losses {
    double lost, sent;
};

static struct losses losses_of(const struct tl_member *members, const struct sorted *from,
                               size_t count)
{
    struct losses losses = {0, 0};
    for (size_t i = 0; i < count; i++) {
        losses.lost += members[from[i].index].retrans_count;
        losses.sent += members[from[i].index].segments_count;
    }
    return losses;
}

static bool loses_more(struct losses slow, struct losses fast)
{
    double low, high, unused;
    if (!(slow.sent > 0 && fast.sent > 0) || isnan(slow.lost + fast.lost))
        return false;
    tl_stats_poisson95(slow.lost, &low, &unused);
    tl_stats_poisson95(fast.lost, &unused, &high);
    return low / slow.sent > LOSS_RATIO * high / fast.sent;
}

static bool is_split(const struct tl_member *members, const struct sorted *sorted, size_t count,
                     size_t slow)
{
    double step = sorted[slow].log_bps - sorted[slow - 1].log_bps;
    double width = fmax(sorted[slow - 1].log_bps - sorted[0].log_bps,
                        sorted[count - 1].log_bps - sorted[slow].log_bps);
    if (step < log(STEP_RATIO) || step < STEP_WIDTHS * width)
        return false;
    if (loses_more(losses_of(members, sorted, slow),
                   losses_of(members, sorted + slow, count - slow)))
        return true;
    return slow >= 2 && count - slow >= 2 && step >= log(STEP_ALONE_RATIO);
}

static double mean_bps(const struct tl_member *members, const struct sorted *from, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += members[from[i].index].bps;
    return sum / (double)count;
}

static void fill_groups(const struct tl_member *members, const struct sorted *sorted, size_t slow,
                        struct tl_members *split)
{
    size_t fast = split->count - slow;
    struct losses slow_losses = losses_of(members, sorted, slow);
    struct losses fast_losses = losses_of(members, sorted + slow, fast);
    split->bimodal = true;
    split->slow_count = slow;
    split->slow_bps = mean_bps(members, sorted, slow);
    split->fast_bps = mean_bps(members, sorted + slow, fast);
    split->slow_retrans_ratio = slow_losses.lost / slow_losses.sent;
    split->fast_retrans_ratio = fast_losses.lost / fast_losses.sent;
    for (size_t i = 0; i < slow; i++)
        split->slow[sorted[i].index] = true;
}

static void fill_spread(const struct tl_member *members, const struct sorted *sorted,
                        struct tl_members *split)
{
    double squares = 0;
    split->min_bps = members[sorted[0].index].bps;
    split->max_bps = members[sorted[split->count - 1].index].bps;
    split->mean_bps = mean_bps(members, sorted, split->count);
    for (size_t i = 0; i < split->count; i++) {
        double off = members[sorted[i].index].bps - split->mean_bps;
        squares += off * off;
    }
    split->spread_ratio = sqrt(squares / (double)split->count) / split->mean_bps;
}

void tl_members_split(const struct tl_member *members, size_t count, struct tl_members *ret_split)
{
    struct sorted sorted[TL_MEMBERS_MAX];
    struct tl_members split = {.min_bps = NAN,
                               .max_bps = NAN,
                               .mean_bps = NAN,
                               .spread_ratio = NAN,
                               .slow_bps = NAN,
                               .fast_bps = NAN,
                               .slow_retrans_ratio = NAN,
                               .fast_retrans_ratio = NAN};
    for (size_t i = 0; i < count && i < TL_MEMBERS_MAX; i++)
        if (isfinite(members[i].bps) && members[i].bps > 0)
            sorted[split.count++] = (struct sorted){log(members[i].bps), i};
    if (split.count > 0) {
        qsort(sorted, split.count, sizeof *sorted, compare);
        fill_spread(members, sorted, &split);
    }
    if (split.count >= TL_MEMBERS_MIN) {
        size_t slow = best_split(sorted, split.count);
        if (is_split(members, sorted, split.count, slow))
            fill_groups(members, sorted, slow, &split);
    }
    *ret_split = split;
}
