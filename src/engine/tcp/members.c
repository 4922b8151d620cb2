/* Two groups among the streams of a test. */
#include "tightlink/engine/members.h"

#include <math.h>
#include <stdlib.h>

#include "tightlink/base/stats.h"

#define STEP_RATIO       2.0
#define STEP_ALONE_RATIO 3.0 /* where losses do not tell the groups apart */
#define STEP_WIDTHS      1.5
#define LOSS_RATIO       3.0
#define EVENTS_RATIO     1.3
#define EVENT_LOSS_RATIO 6.0
#define RATE_RATIO       2.0

struct sorted {
    double key; /* logarithm of the rate; or minus the share of segments at which it lost */
    size_t index;
};

static int compare(const void *a, const void *b)
{
    double x = ((const struct sorted *)a)->key, y = ((const struct sorted *)b)->key;
    return (x > y) - (x < y);
}

static double squared_deviations(const struct sorted *from, size_t count)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += from[i].key;
        squares += from[i].key * from[i].key;
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

/* Losses, times of loss, and segments of a group. */
struct losses {
    double lost, events, sent;
};

static struct losses losses_of(const struct tl_member *members, const struct sorted *from,
                               size_t count)
{
    struct losses losses = {0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        losses.lost += members[from[i].index].retrans_count;
        losses.events += members[from[i].index].loss_events_count;
        losses.sent += members[from[i].index].segments_count;
    }
    return losses;
}

/* How many times as many there are of the first for each, beyond chance: bound against bound. */
static double times_more(double slow, double slow_of, double fast, double fast_of)
{
    double low, high, unused;
    if (!(slow_of > 0 && fast_of > 0) || isnan(slow + fast))
        return 0;
    tl_stats_poisson95(slow, &low, &unused);
    tl_stats_poisson95(fast, &unused, &high);
    return low / slow_of / (high / fast_of);
}

static bool loses_more(struct losses slow, struct losses fast)
{
    return times_more(slow.lost, slow.sent, fast.lost, fast.sent) > LOSS_RATIO;
}

static bool is_split(const struct tl_member *members, const struct sorted *sorted, size_t count,
                     size_t slow)
{
    double step = sorted[slow].key - sorted[slow - 1].key;
    double width =
        fmax(sorted[slow - 1].key - sorted[0].key, sorted[count - 1].key - sorted[slow].key);
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

/* How much more often than a fast stream a slow one loses where the first so many form the slow
 * group; 0 where they are no group. */
static double times_lossier(const struct tl_member *members, const struct sorted *sorted,
                            size_t count, size_t slow)
{
    struct losses some = losses_of(members, sorted, slow);
    struct losses others = losses_of(members, sorted + slow, count - slow);
    if (mean_bps(members, sorted + slow, count - slow) <
            RATE_RATIO * mean_bps(members, sorted, slow) ||
        !(times_more(some.events, some.sent, others.events, others.sent) > EVENT_LOSS_RATIO))
        return 0;
    return times_more(some.events, (double)slow, others.events, (double)(count - slow));
}

/* The size of the group that loses more often than chance and the others' queue make it; sorts
 * by it. 0: there is none. */
static size_t lossy_split(const struct tl_member *members, struct sorted *sorted, size_t count)
{
    size_t best = 0;
    double most = EVENTS_RATIO;
    for (size_t i = 0; i < count; i++) {
        const struct tl_member *member = &members[sorted[i].index];
        sorted[i].key = -member->loss_events_count / member->segments_count;
        if (!isfinite(sorted[i].key))
            return 0;
    }
    qsort(sorted, count, sizeof *sorted, compare);
    for (size_t slow = 1; slow + 2 <= count; slow++) {
        double times = times_lossier(members, sorted, count, slow);
        if (times > most) {
            most = times;
            best = slow;
        }
    }
    return best;
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
    split->slow_loss_event_ratio = slow_losses.events / slow_losses.sent;
    split->fast_loss_event_ratio = fast_losses.events / fast_losses.sent;
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
                               .fast_retrans_ratio = NAN,
                               .slow_loss_event_ratio = NAN,
                               .fast_loss_event_ratio = NAN};
    for (size_t i = 0; i < count && i < TL_MEMBERS_MAX; i++)
        if (isfinite(members[i].bps) && members[i].bps > 0)
            sorted[split.count++] = (struct sorted){log(members[i].bps), i};
    if (split.count > 0) {
        qsort(sorted, split.count, sizeof *sorted, compare);
        fill_spread(members, sorted, &split);
    }
    if (split.count >= TL_MEMBERS_MIN) {
        size_t slow = best_split(sorted, split.count);
        if (!is_split(members, sorted, split.count, slow))
            slow = lossy_split(members, sorted, split.count);
        if (slow > 0)
            fill_groups(members, sorted, slow, &split);
    }
    *ret_split = split;
}
