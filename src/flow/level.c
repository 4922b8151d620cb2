/* The level of a token bucket, or of a queue, at losses and at what passes, and whether packets
 * wait for it. Buckets of a bounded depth: policer.c. */
#include <math.h>
#include <stdlib.h>

#include "half.h"
#include "loss_events.h"
#include "tightlink/flow/limits.h"
#include "waits.h"

#define EVENTS_LEAST 5
/* Of what passed between the first loss and the last: a bucket that is seldom empty wastes tokens,
 * and where much more than that is wasted no loss tells at which rate. */
#define RATE_LEAST  0.97
#define RATE_STEP   1.01
#define RATE_STEPS  26 /* to a quarter above the mean */
#define CLASSES     512
#define DEPTHS_MOST 1.2 /* above that a level says no more: it was no bucket's */

struct slot {
    float passed, weight, level;
};

/* One direction in slots: what passed, and the losses, each event of which weighs 1. */
struct course {
    struct slot slots[TL_PACKETS_SLOTS_MAX];
    uint32_t count, first, end; /* from the first loss to behind the last one */
    double slot_ns, rtt_ns, events;
};

static uint32_t slot_at(const struct course *course, const struct tl_packet_half *half,
                        double time_ns)
{
    double index = (time_ns - (double)half->bins_begin_ns) / course->slot_ns;
    return index <= 0 ? 0 : index >= course->count ? course->count - 1 : (uint32_t)index;
}

/* What was lost behind the capture had come by. */
static void place_losses(struct course *course, const struct tl_packet_half *half)
{
    for (uint32_t i = 0; i < half->losses_count; i++) {
        const struct tl_packet_loss *loss = &half->losses[i];
        if (loss->needless)
            continue;
        struct slot *slot = &course->slots[slot_at(course, half, (double)loss->time_ns)];
        slot->weight++;
        if (!loss->upstream)
            slot->passed = fmaxf(slot->passed - (float)loss->len_bytes, 0);
    }
}

/* Losses within a round trip and a half are one event. */
static void weigh_events(struct course *course)
{
    uint32_t width = (uint32_t)ceil(EVENT_RTTS * course->rtt_ns / course->slot_ns);
    for (uint32_t begin = 0; begin < course->count; begin++) {
        if (course->slots[begin].weight <= 0)
            continue;
        uint32_t end = begin + width < course->count ? begin + width : course->count;
        float losses = 0;
        for (uint32_t i = begin; i < end; i++)
            losses += course->slots[i].weight;
        for (uint32_t i = begin; i < end; i++) {
            course->end = course->slots[i].weight > 0 ? i + 1 : course->end;
            course->slots[i].weight /= losses;
        }
        course->first = course->events++ > 0 ? course->first : begin;
        begin = end - 1;
    }
}

/* The level in each slot, at its middle, for a rate in bytes a slot; the most since the first loss.
 */
static double fill(struct course *course, double rate)
{
    double level = 0, most = 0;
    for (uint32_t i = 0; i < course->count; i++) {
        level += (double)course->slots[i].passed - rate;
        course->slots[i].level = (float)fmax(level + rate / 2, 0);
        level = fmax(level, 0);
        if (i >= course->first && i < course->end)
            most = fmax(most, (double)course->slots[i].level);
    }
    return most;
}

/* The mean rank of the losses' levels among those of what passed. */
static double rank_of(const struct course *course, double most, double *ret_depth)
{
    double passed[CLASSES] = {0}, lost[CLASSES] = {0}, total = 0, below = 0, rank = 0, before = 0;
    for (uint32_t i = course->first; i < course->end; i++) {
        const struct slot *slot = &course->slots[i];
        int class = (int)((double)slot->level / most * (CLASSES - 1));
        passed[class] += (double)slot->passed;
        lost[class] += (double)slot->weight;
        total += (double)slot->passed;
    }
    *ret_depth = -1;
    for (int i = 0; i < CLASSES; i++) {
        rank += lost[i] * (below + passed[i] / 2);
        below += passed[i];
        before += lost[i];
        if (*ret_depth < 0 && 2 * before >= course->events)
            *ret_depth = (i + 0.5) / (CLASSES - 1) * most;
    }
    return rank / (total * course->events);
}

/* The rate (bytes a slot) for which the losses' levels are the highest of all. */
static double search(struct course *course, struct tl_packet_level *level)
{
    double passed = 0, best = 0;
    for (uint32_t i = course->first; i < course->end; i++)
        passed += (double)course->slots[i].passed;
    double mean = passed / (course->end - course->first);
    for (int step = 0; mean > 0 && step < RATE_STEPS; step++) {
        double rate = RATE_LEAST * mean * pow(RATE_STEP, step);
        double depth, most = fill(course, rate),
                      rank = most > 0 ? rank_of(course, most, &depth) : 0;
        if (!(rank > level->rank_ratio) && best > 0)
            continue;
        best = rate;
        level->rank_ratio = rank;
        level->depth_bytes = most > 0 ? depth : 0;
    }
    return best;
}

/* The shortest round trip of each bin, beside the level when its packets were sent. */
static uint32_t time_levels(const struct course *course, const struct tl_packet_half *half,
                            double depth, double *ret_levels, double *ret_rtts_ns)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < half->bins_count; i++) {
        double sent_ns = bins_sent_ns(half, i);
        if (isnan(sent_ns))
            continue;
        uint32_t index = slot_at(course, half, (double)half->bins_begin_ns + sent_ns);
        if (index < course->first || index >= course->end)
            continue;
        ret_levels[count] = fmin((double)course->slots[index].level, DEPTHS_MOST * depth);
        ret_rtts_ns[count++] = (double)half->bins[i].rtt_min_ns;
    }
    return count;
}

/* Whether round trips are longer where the level is higher. */
static void compare_delays(const struct course *course, const struct tl_packet_half *half,
                           double rate, struct tl_packet_level *level)
{
    double *room = malloc(2 * (size_t)TL_PACKETS_BINS_MAX * sizeof *room), swing;
    if (!room)
        return;
    double *levels = room, *rtts_ns = levels + TL_PACKETS_BINS_MAX;
    uint32_t count = time_levels(course, half, level->depth_bytes, levels, rtts_ns);
    if (waits_compare(levels, rtts_ns, count, &swing, &level->delay_ns))
        level->swing_ns = swing / rate * course->slot_ns;
    free(room);
}

static struct course *gather(const struct tl_packet_half *half)
{
    struct course *course = calloc(1, sizeof *course);
    if (!course)
        return NULL;
    course->count = half->slots_count;
    course->slot_ns = (double)(UINT64_C(1) << half->slot_shift);
    course->rtt_ns = tl_packet_rtt_mean_ns(half);
    for (uint32_t i = 0; i < course->count; i++)
        course->slots[i].passed = (float)half->slots[i];
    place_losses(course, half);
    weigh_events(course);
    return course;
}

void tl_packet_level(const struct tl_packet_half *half, struct tl_packet_level *ret_level)
{
    *ret_level = (struct tl_packet_level){(double)NAN, (double)NAN, (double)NAN, (double)NAN,
                                          (double)NAN, (double)NAN, (double)NAN};
    struct course *course =
        half->rtt_count && half->slots_count && half->losses_count ? gather(half) : NULL;
    if (!course)
        return;
    if (course->events >= EVENTS_LEAST) {
        double rate = search(course, ret_level), bound = RANK_BOUND / sqrt(course->events);
        ret_level->low_ratio = fmax(ret_level->rank_ratio - bound, 0);
        ret_level->high_ratio = fmin(ret_level->rank_ratio + bound, 1);
        ret_level->rate_bps = rate / course->slot_ns * 8e9;
        fill(course, rate);
        if (rate > 0)
            compare_delays(course, half, rate, ret_level);
    }
    free(course);
}
