/* The pure model of one direction; see model.h. */
#include "model.h"

#include <math.h>
#include <string.h>

#include "tightlink/base/time.h"

static void bucket_init(struct tl_lab_bucket *bucket, double bps, int64_t burst_bytes)
{
    bucket->bytes_per_ns = bps / 8e9;
    bucket->burst_bytes = (double)burst_bytes;
    bucket->tokens_bytes = bucket->burst_bytes;
    bucket->filled_ns = 0;
}

static void bucket_fill(struct tl_lab_bucket *bucket, int64_t now_ns)
{
    bucket->tokens_bytes += (double)(now_ns - bucket->filled_ns) * bucket->bytes_per_ns;
    bucket->filled_ns = now_ns;
    if (bucket->tokens_bytes > bucket->burst_bytes)
        bucket->tokens_bytes = bucket->burst_bytes;
}

void tl_lab_model_init(struct tl_lab_model *model, const struct tl_lab_link_config *link,
                       int64_t queue_bytes)
{
    memset(model, 0, sizeof *model);
    model->link = *link;
    model->queue_bytes = queue_bytes;
    model->rate_bps = (uint64_t)llround(link->rate_bps);
    for (int i = 0; i < TL_LAB_CHANCE_COUNT; i++)
        tl_random_seed(&model->chance[i], link->seed * TL_LAB_CHANCE_COUNT + (uint64_t)i);
    bucket_init(&model->policer, link->policer_bps, link->policer_burst_bytes);
    bucket_init(&model->shaper, link->shaper_bps, link->shaper_burst_bytes);
}

/* One draw for each packet that comes this far, whatever it decides. */
static bool happens(struct tl_lab_model *model, enum tl_lab_chance chance, double ratio)
{
    return ratio > 0 && tl_random_unit(&model->chance[chance]) < ratio;
}

static bool link_is_down(const struct tl_lab_model *model, int64_t now_ns)
{
    int64_t at_ns = now_ns - model->mark_ns;
    for (int i = 0; i < model->link.outage_count; i++)
        if (at_ns >= model->link.outage[i].from_ns && at_ns < model->link.outage[i].to_ns)
            return true;
    return false;
}

/* Gilbert (1960) with a loss of 1 in the bad state: the state moves first, then
 * the packet is lost if it is bad. */
static bool lost_in_burst(struct tl_lab_model *model)
{
    if (model->link.burst_enter_ratio <= 0)
        return false;
    double move = model->in_burst ? model->link.burst_leave_ratio : model->link.burst_enter_ratio;
    if (happens(model, TL_LAB_CHANCE_BURST, move))
        model->in_burst = !model->in_burst;
    return model->in_burst;
}

static bool policed(struct tl_lab_bucket *policer, int64_t now_ns, double len)
{
    if (policer->bytes_per_ns <= 0)
        return false;
    bucket_fill(policer, now_ns);
    if (policer->tokens_bytes < len)
        return true;
    policer->tokens_bytes -= len;
    return false;
}

/* A packet finds room when the queue is empty, however small the queue is. */
static bool has_room(const struct tl_lab_model *model, double backlog, double len)
{
    return backlog <= 0 || backlog + len <= (double)model->queue_bytes;
}

/* The shaper owes what it let in but has not let out; owing is its queue. */
static bool shape(struct tl_lab_model *model, double len, int64_t *at_ns, double *ret_backlog)
{
    struct tl_lab_bucket *shaper = &model->shaper;
    if (shaper->bytes_per_ns <= 0)
        return true;
    bucket_fill(shaper, *at_ns);
    if (!has_room(model, -shaper->tokens_bytes, len))
        return false;
    shaper->tokens_bytes -= len;
    if (shaper->tokens_bytes < 0) {
        *ret_backlog = -shaper->tokens_bytes;
        *at_ns += (int64_t)ceil(-shaper->tokens_bytes / shaper->bytes_per_ns);
    }
    return true;
}

/* Serialisation: integers, so that no rounding adds up over millions of packets. */
static bool serialise(struct tl_lab_model *model, uint32_t len_bytes, int64_t *at_ns,
                      double *ret_backlog)
{
    if (model->rate_bps == 0)
        return true;
    double backlog = 0;
    if (model->link_free_ns > *at_ns) {
        backlog = (double)(model->link_free_ns - *at_ns) * (double)model->rate_bps / 8e9;
    } else {
        model->link_free_ns = *at_ns;
        model->link_remainder = 0;
    }
    if (!has_room(model, backlog, len_bytes))
        return false;
    uint64_t work = (uint64_t)len_bytes * 8 * UINT64_C(1000000000) + model->link_remainder;
    model->link_free_ns += (int64_t)(work / model->rate_bps);
    model->link_remainder = work % model->rate_bps;
    *at_ns = model->link_free_ns;
    *ret_backlog = fmax(*ret_backlog, backlog + len_bytes);
    return true;
}

static void propagate(struct tl_lab_model *model, int64_t at_ns, struct tl_lab_fate *fate)
{
    const struct tl_lab_link_config *link = &model->link;
    int64_t delay_ns = link->delay_ns;
    if (link->jitter_ns > 0) {
        double swing = 2 * tl_random_unit(&model->chance[TL_LAB_CHANCE_JITTER]) - 1;
        delay_ns += (int64_t)(swing * (double)link->jitter_ns);
    }
    int64_t depart_ns = at_ns + (delay_ns > 0 ? delay_ns : 0);
    if (depart_ns < model->last_depart_ns)
        depart_ns = model->last_depart_ns;
    model->last_depart_ns = depart_ns;
    fate->reordered = happens(model, TL_LAB_CHANCE_REORDER, link->reorder_ratio);
    fate->depart_ns = depart_ns + (fate->reordered ? link->reorder_extra_ns : 0);
    fate->duplicated = happens(model, TL_LAB_CHANCE_DUPLICATE, link->duplicate_ratio);
}

struct tl_lab_fate tl_lab_model_pass(struct tl_lab_model *model, int64_t now_ns, uint32_t len_bytes)
{
    const struct tl_lab_link_config *link = &model->link;
    struct tl_lab_fate fate = {.drop = TL_LAB_DROP_NONE, .corrupt_at = -1};
    if (!model->started) {
        model->policer.filled_ns = model->shaper.filled_ns = now_ns;
        model->last_depart_ns = now_ns;
        model->started = true;
    }
    bool down = link_is_down(model, now_ns);
    bool too_long = link->maxlen_bytes > 0 && len_bytes > (uint32_t)link->maxlen_bytes;
    bool lost = happens(model, TL_LAB_CHANCE_LOSS, link->loss_ratio);
    bool lost_burst = lost_in_burst(model);
    bool corrupted = happens(model, TL_LAB_CHANCE_CORRUPT, link->corrupt_ratio);
    if (corrupted)
        fate.corrupt_at = tl_random_unit(&model->chance[TL_LAB_CHANCE_CORRUPT]);

    int64_t at_ns = now_ns;
    if (down)
        fate.drop = TL_LAB_DROP_OUTAGE;
    else if (too_long)
        fate.drop = TL_LAB_DROP_MAXLEN;
    else if (lost)
        fate.drop = TL_LAB_DROP_LOSS;
    else if (lost_burst)
        fate.drop = TL_LAB_DROP_BURST;
    else if (policed(&model->policer, now_ns, len_bytes))
        fate.drop = TL_LAB_DROP_POLICER;
    else if (!shape(model, len_bytes, &at_ns, &fate.backlog_bytes) ||
             !serialise(model, len_bytes, &at_ns, &fate.backlog_bytes))
        fate.drop = TL_LAB_DROP_QUEUE;
    else
        propagate(model, at_ns, &fate);
    return fate;
}
