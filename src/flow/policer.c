/* Whether losses follow a token bucket (Flach et al. 2016), and which.
 *
 * A bucket that fills at the token rate and is drained by what passes is the mirror of one that
 * leaks at that rate and is filled by what passes: its level is how many tokens are gone. The level
 * is the same at each loss, the bucket's depth; it is never far above that; and it is seldom there
 * without a loss. The rate is the one for which that holds best. */
#include <math.h>
#include <stdlib.h>

#include "tightlink/flow/limits.h"

#define RTT_TELLS   1.3 /* Flach et al. 2016: the median before losses over the low decile */
#define BUCKET_RTTS 2
#define DEPTH_SHARE 0.25 /* and no more than this share of the bucket */
#define RATE_LEAST                                                                                 \
    0.9 /* of what passed between first and last loss; a bucket that is full wastes */
#define RATE_MOST  2.0
#define RATE_STEP  1.02
#define PEAK_NS    50e6
#define RTTS_LEAST 20 /* between first and last loss */
/* A bucket must have been filled and emptied again and again, or it is a sum that nothing bounds.
 */
#define FILLS_LEAST  8
#define EVENTS_LEAST 5

/* What passed in a bin, and what was dropped there. */
struct step {
    float bytes, losses, level;
};

struct passing {
    struct step steps[TL_PACKETS_BINS_MAX];
    uint32_t first, count; /* steps from the first loss to the last one */
    double bin_ns, rtt_ns, losses;
    bool behind; /* most losses lie before the capturing machine */
};

static bool rtt_tells(const struct tl_packet_half *half)
{
    double limit_ns = RTT_TELLS * tl_packet_classes_quantile(half->rtt_classes, 0.1);
    unsigned known = 0, above = 0;
    for (uint32_t i = 0; i < half->losses_count; i++) {
        if (half->losses[i].needless || half->losses[i].rtt_ns == 0)
            continue;
        known++;
        above += half->losses[i].rtt_ns > limit_ns;
    }
    return known == 0 || 2 * above > known;
}

static uint32_t step_of(const struct tl_packet_half *half, int64_t time_ns)
{
    int64_t into_ns = time_ns - half->bins_begin_ns;
    uint32_t step = into_ns > 0 ? (uint32_t)(into_ns / half->bin_ns) : 0;
    return step < half->bins_count ? step : half->bins_count - 1;
}

/* What passed in each bin, and what was dropped; NULL without memory, or with more than fits. */
static struct passing *gather(const struct tl_packet_half *half)
{
    struct passing *passing = calloc(1, sizeof *passing);
    if (!passing)
        return NULL;
    int64_t upstream = 0; /* more than others */
    passing->bin_ns = (double)half->bin_ns;
    passing->rtt_ns = tl_packet_rtt_mean_ns(half);
    for (uint32_t i = 0; i < half->bins_count; i++) {
        const struct tl_packet_bin *bin = &half->bins[i];
        passing->steps[i].bytes = (float)bin->sent_bytes - (float)bin->vain_bytes +
                                  (float)bin->retrans_count * (float)half->mss_bytes;
    }
    for (uint32_t i = 0; i < half->losses_count && half->bins_count > 0; i++) {
        const struct tl_packet_loss *loss = &half->losses[i];
        struct step *step = &passing->steps[step_of(half, loss->time_ns)];
        if (loss->needless)
            continue;
        step->losses++;
        upstream += loss->upstream ? 1 : -1;
        if (!loss->upstream) /* else what was lost is in no count */
            step->bytes = fmaxf(step->bytes - (float)loss->len_bytes, 0);
    }
    passing->behind = upstream > 0;
    return passing;
}

/* False with too few losses, or over too short a time. */
static bool find_span(const struct tl_packet_half *half, struct passing *passing)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < half->bins_count; i++) {
        if (passing->steps[i].losses <= 0)
            continue;
        if (passing->losses <= 0)
            passing->first = i;
        last = i;
        passing->losses += (double)passing->steps[i].losses;
    }
    passing->count = last - passing->first + 1;
    return passing->losses >= TL_POLICER_LOSSES_MIN && half->loss_events_count >= EVENTS_LEAST &&
           passing->count * passing->bin_ns >= RTTS_LEAST * passing->rtt_ns;
}

static int compare_levels(const void *left, const void *right)
{
    const struct step *const *a = left, *const *b = right;
    return (*a)->level < (*b)->level ? -1 : (*a)->level > (*b)->level;
}

/* The level at which half of the losses were. */
static double depth_of(struct passing *passing)
{
    const struct step *at_loss[TL_PACKETS_BINS_MAX] = {NULL};
    uint32_t count = 0;
    double before = 0;
    for (uint32_t i = passing->first; i < passing->first + passing->count; i++)
        if (passing->steps[i].losses > 0)
            at_loss[count++] = &passing->steps[i];
    qsort(at_loss, count, sizeof *at_loss, compare_levels);
    for (uint32_t i = 0; i < count; i++) {
        before += at_loss[i]->losses;
        if (2 * before >= passing->losses)
            return at_loss[i]->level;
    }
    return 0;
}

/* How well a bucket of that rate (bytes a ns) explains the losses, and its depth. */
static double fit(struct passing *passing, double rate, double *ret_depth)
{
    double level = 0, empty = 0, quiet = 0, covered = 0, usual = 0;
    for (uint32_t i = 0; i < passing->first + passing->count; i++) {
        level = fmax(level + passing->steps[i].bytes - rate * passing->bin_ns, 0);
        passing->steps[i].level = (float)level;
    }
    double depth = depth_of(passing);
    double room = fmax(fmin(BUCKET_RTTS * passing->rtt_ns * rate, DEPTH_SHARE * depth),
                       rate * passing->bin_ns / 2);
    for (uint32_t i = passing->first; i < passing->first + passing->count; i++) {
        const struct step *step = &passing->steps[i];
        empty += fabs(step->level - depth) <= room ? step->losses : 0;
        if (step->losses > 0)
            continue;
        quiet++;
        covered += step->level <= depth + room;
        usual += step->level >= depth - room;
    }
    *ret_depth = depth;
    return quiet > 0 ? empty / passing->losses * covered / quiet * (1 - usual / quiet) : 0;
}

/* The most that passed in a window of so many steps: the lesser of what was sent and of what was
 * acknowledged later, where that counts. */
static double most_of(const struct tl_packet_half *half, const struct passing *passing,
                      uint32_t width, uint32_t later)
{
    double sent = 0, acked = 0, most = 0;
    for (uint32_t i = 0; i + later < half->bins_count; i++) {
        sent += (double)passing->steps[i].bytes;
        acked += (double)half->bins[i + later].delivered_bytes;
        if (i >= width) {
            sent -= (double)passing->steps[i - width].bytes;
            acked -= (double)half->bins[i + later - width].delivered_bytes;
        }
        most = fmax(most, passing->behind ? sent : fmin(sent, acked));
    }
    return most / (width * passing->bin_ns) * 8e9;
}

/* The most that passed in about a round trip. Before the place of the losses what enters a deep
 * queue is more than what leaves it, and what fills a gap is acknowledged at once: both what was
 * sent and what was acknowledged a round trip later count. Behind that place what comes by has
 * passed it, in any shorter time too that radio links and aggregation do not hand over at once. */
static double peak_of(const struct tl_packet_half *half, const struct passing *passing)
{
    if (!isfinite(passing->rtt_ns))
        return (double)NAN;
    uint32_t least = (uint32_t)ceil(PEAK_NS / passing->bin_ns),
             round = (uint32_t)ceil(passing->rtt_ns / passing->bin_ns);
    double most =
        most_of(half, passing, round > least ? round : least, passing->behind ? 0 : round);
    if (passing->behind && round > least)
        most = fmax(most, most_of(half, passing, least, 0));
    return most > 0 ? most : (double)NAN;
}

/* The rate for which a bucket fits best. */
static void search(struct passing *passing, struct tl_packet_policer *policer)
{
    double bytes = 0, best = 0;
    policer->fit_ratio = 0;
    for (uint32_t i = passing->first; i < passing->first + passing->count; i++)
        bytes += (double)passing->steps[i].bytes;
    double mean = bytes / (passing->count * passing->bin_ns);
    int steps = (int)(log(RATE_MOST / RATE_LEAST) / log(RATE_STEP));
    for (int step = 0; step <= steps && mean > 0; step++) {
        double rate = RATE_LEAST * mean * pow(RATE_STEP, step);
        double depth, score = fit(passing, rate, &depth);
        if (score <= best || FILLS_LEAST * depth > bytes)
            continue;
        best = policer->fit_ratio = score;
        policer->rate_bps = rate * 8e9;
        policer->burst_bytes = depth;
    }
}

void tl_packet_policer(const struct tl_packet_half *half, struct tl_packet_policer *ret_policer)
{
    *ret_policer = (struct tl_packet_policer){(double)NAN, (double)NAN, (double)NAN, (double)NAN};
    struct passing *passing = gather(half);
    if (!passing)
        return;
    ret_policer->peak_bps = peak_of(half, passing);
    if (find_span(half, passing)) {
        search(passing, ret_policer);
        if (rtt_tells(half))
            ret_policer->fit_ratio = 0;
    }
    free(passing);
}
