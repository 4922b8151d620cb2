/* The pure model of one direction; see model.h. */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/time.h"

/* Pauses of the real traffic: the other traffic is followed for this long at most.
 * It is longer than a queue of the usual size takes to settle. */
#define CROSS_CATCH_UP_NS TL_NS_PER_S

/* The first chances keep their seeds when more are added. */
#define SEEDS_PER_LINK 6

static uint64_t chance_seed(uint64_t seed, int chance)
{
    uint64_t more = (uint64_t)(chance / SEEDS_PER_LINK) << 32;
    return seed * SEEDS_PER_LINK + (uint64_t)(chance % SEEDS_PER_LINK) + more;
}

enum tl_status tl_lab_model_init(struct tl_lab_model *model, const struct tl_lab_link_config *link,
                                 int64_t queue_bytes, uint32_t capacity, struct tl_error *reterr)
{
    memset(model, 0, sizeof *model);
    model->link = *link;
    model->queue_bytes = queue_bytes;
    model->rate_bps = (uint64_t)llround(link->rate_bps);
    for (int i = 0; i < TL_LAB_CHANCE_COUNT; i++)
        tl_random_seed(&model->chance[i], chance_seed(link->seed, i));
    tl_lab_bucket_init(&model->policer, link->policer_bps, link->policer_burst_bytes);
    tl_lab_bucket_init(&model->shaper, link->shaper_bps, link->shaper_burst_bytes);
    tl_lab_cross_init(&model->cross, link, chance_seed(link->seed, TL_LAB_CHANCE_CROSS));
    tl_lab_gate_init(&model->gate, link, chance_seed(link->seed, TL_LAB_CHANCE_GATE));
    tl_lab_wander_init(&model->wander, link, chance_seed(link->seed, TL_LAB_CHANCE_WANDER));
    model->by_flow = link->member != TL_LAB_MEMBER_NONE || link->flow_policer_bps > 0 ||
                     link->flow_shaper_bps > 0 || link->aqm != TL_LAB_AQM_NONE;
    if (!tl_lab_station_needed(link))
        return TL_OK;
    model->station = malloc(sizeof *model->station);
    if (!model->station)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a queue of the link emulator");
    enum tl_status status =
        tl_lab_station_init(model->station, link, queue_bytes, capacity,
                            chance_seed(link->seed, TL_LAB_CHANCE_STATION), reterr);
    if (status != TL_OK) {
        free(model->station);
        model->station = NULL;
    }
    return status;
}

void tl_lab_model_finish(struct tl_lab_model *model)
{
    if (model->station)
        tl_lab_station_finish(model->station);
    free(model->station);
    model->station = NULL;
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
    int64_t every_ns = model->link.dropout_every_ns;
    return every_ns > 0 && at_ns >= every_ns && at_ns % every_ns < model->link.dropout_length_ns;
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
    tl_lab_bucket_fill(policer, now_ns);
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
    tl_lab_bucket_fill(shaper, *at_ns);
    if (!has_room(model, -shaper->tokens_bytes, len))
        return false;
    shaper->tokens_bytes -= len;
    if (shaper->tokens_bytes < 0) {
        *ret_backlog = -shaper->tokens_bytes;
        *at_ns += (int64_t)ceil(-shaper->tokens_bytes / shaper->bytes_per_ns);
    }
    return true;
}

/* Half duplex: whoever comes first has the medium for one packet. The other direction's thread
 * takes it, too. */
static bool serialise_in_turn(struct tl_lab_model *model, uint32_t len_bytes, int64_t *at_ns,
                              double *ret_backlog)
{
    int64_t work_ns = (int64_t)((uint64_t)len_bytes * 8 * UINT64_C(1000000000) / model->rate_bps);
    int64_t free_ns = atomic_load_explicit(model->medium_free_ns, memory_order_relaxed), begin_ns;
    double backlog;
    do {
        begin_ns = free_ns > *at_ns ? free_ns : *at_ns;
        backlog = (double)(begin_ns - *at_ns) * (double)model->rate_bps / 8e9;
        if (!has_room(model, backlog, len_bytes))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(model->medium_free_ns, &free_ns,
                                                    begin_ns + work_ns, memory_order_relaxed,
                                                    memory_order_relaxed));
    *at_ns = begin_ns + work_ns;
    *ret_backlog = fmax(*ret_backlog, backlog + len_bytes);
    return true;
}

/* Serialisation: integers, so that no rounding adds up over millions of packets. */
static bool serialise(struct tl_lab_model *model, uint32_t len_bytes, int64_t *at_ns,
                      double *ret_backlog)
{
    if (model->rate_bps == 0)
        return true;
    double backlog = 0;
    if (model->medium_free_ns)
        return serialise_in_turn(model, len_bytes, at_ns, ret_backlog);
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

/* The other traffic that came since the last packet takes its places in the queue. */
static void pass_cross(struct tl_lab_model *model, int64_t now_ns)
{
    int64_t at_ns;
    int flow;
    double unused;
    if (!model->cross.constant && model->cross.flow_count == 0)
        return;
    tl_lab_cross_skip(&model->cross, now_ns, CROSS_CATCH_UP_NS);
    while (tl_lab_cross_next(&model->cross, now_ns, &at_ns, &flow)) {
        int64_t wait_ns = model->link_free_ns > at_ns ? model->link_free_ns - at_ns : 0;
        int64_t sent_ns = at_ns;
        bool passed = serialise(model, TL_LAB_CROSS_PACKET_BYTES, &sent_ns, &unused);
        tl_lab_cross_sent(&model->cross, flow, at_ns, !passed, wait_ns);
    }
}

/* Carried by the bad member of a link bundle, and lost there. */
static bool lost_on_member(struct tl_lab_model *model, const struct tl_lab_flow *flow)
{
    const struct tl_lab_link_config *link = &model->link;
    bool on_it = false;
    if (link->member == TL_LAB_MEMBER_ODD || link->member == TL_LAB_MEMBER_EVEN)
        on_it =
            flow && flow->near_port && (flow->near_port & 1) == (link->member == TL_LAB_MEMBER_ODD);
    else if (link->member == TL_LAB_MEMBER_HASH)
        on_it = flow && flow->hash % (uint64_t)link->member_count == 0;
    return on_it && happens(model, TL_LAB_CHANCE_MEMBER, link->member_loss_ratio);
}

/* One end of a duplex mismatch breaks off when it hears the other (IEEE 802.3 clause
 * 4): what both sent is gone, though it had its time on the wire. */
static bool collided(struct tl_lab_model *model, int64_t now_ns)
{
    return model->link.collision_ratio > 0 && model->other_free_ns > now_ns &&
           happens(model, TL_LAB_CHANCE_COLLISION, model->link.collision_ratio);
}

/* The connection's own shaper stands behind the link, so that it holds up nobody else. */
static bool shape_flow(struct tl_lab_model *model, struct tl_lab_flow_state *state, double len,
                       int64_t *at_ns)
{
    if (!state || state->shaper.bytes_per_ns <= 0)
        return true;
    struct tl_lab_bucket *shaper = &state->shaper;
    tl_lab_bucket_fill(shaper, *at_ns);
    if (!has_room(model, -shaper->tokens_bytes, len))
        return false;
    shaper->tokens_bytes -= len;
    if (shaper->tokens_bytes < 0)
        *at_ns += (int64_t)ceil(-shaper->tokens_bytes / shaper->bytes_per_ns);
    return true;
}

static int64_t delay_at(const struct tl_lab_model *model, int64_t at_ns)
{
    int64_t delay_ns = model->link.delay_ns;
    if (model->station)
        delay_ns += tl_lab_server_extra_delay_ns(&model->station->server);
    for (int i = 0; i < model->link.delay_step_count; i++)
        if (at_ns - model->mark_ns >= model->link.delay_step[i].at_ns)
            delay_ns += model->link.delay_step[i].extra_ns;
    return delay_ns;
}

/* last_depart_ns is that of the packets which this one must not overtake. */
static void propagate(struct tl_lab_model *model, int64_t at_ns, int64_t *last_depart_ns,
                      struct tl_lab_fate *fate)
{
    const struct tl_lab_link_config *link = &model->link;
    at_ns = tl_lab_gate_pass(&model->gate, at_ns);
    int64_t delay_ns = delay_at(model, at_ns) + tl_lab_wander_at(&model->wander, at_ns);
    if (link->jitter_ns > 0) {
        double swing = 2 * tl_random_unit(&model->chance[TL_LAB_CHANCE_JITTER]) - 1;
        delay_ns += (int64_t)(swing * (double)link->jitter_ns);
    }
    int64_t depart_ns = at_ns + (delay_ns > 0 ? delay_ns : 0);
    if (depart_ns < *last_depart_ns)
        depart_ns = *last_depart_ns;
    *last_depart_ns = depart_ns;
    fate->reordered = happens(model, TL_LAB_CHANCE_REORDER, link->reorder_ratio);
    fate->depart_ns = depart_ns + (fate->reordered ? link->reorder_extra_ns : 0);
    if (link->scatter_ns > 0)
        fate->depart_ns += (int64_t)(tl_random_unit(&model->chance[TL_LAB_CHANCE_SCATTER]) *
                                     (double)link->scatter_ns);
    fate->duplicated = happens(model, TL_LAB_CHANCE_DUPLICATE, link->duplicate_ratio);
}

static void start(struct tl_lab_model *model, int64_t now_ns)
{
    model->policer.filled_ns = model->shaper.filled_ns = now_ns;
    model->last_depart_ns = now_ns;
    tl_lab_cross_start(&model->cross, now_ns);
    tl_lab_gate_start(&model->gate, now_ns);
    tl_lab_wander_start(&model->wander, now_ns);
    if (model->station)
        tl_lab_station_start(model->station, now_ns);
    model->started = true;
}

/* Losses that look neither at time nor at the queue. Every chance is drawn for every
 * packet, so that one does not move another. */
static enum tl_lab_drop lost_by_chance(struct tl_lab_model *model, const struct tl_lab_flow *flow,
                                       double *ret_corrupt_at)
{
    bool lost = happens(model, TL_LAB_CHANCE_LOSS, model->link.loss_ratio);
    bool lost_burst = lost_in_burst(model);
    bool lost_member = lost_on_member(model, flow);
    if (happens(model, TL_LAB_CHANCE_CORRUPT, model->link.corrupt_ratio))
        *ret_corrupt_at = tl_random_unit(&model->chance[TL_LAB_CHANCE_CORRUPT]);
    return lost          ? TL_LAB_DROP_LOSS
           : lost_burst  ? TL_LAB_DROP_BURST
           : lost_member ? TL_LAB_DROP_MEMBER
                         : TL_LAB_DROP_NONE;
}

/* Everything from the policers to the wire; *at_ns becomes the time behind it. */
static enum tl_lab_drop pass_link(struct tl_lab_model *model, int64_t now_ns, uint32_t len_bytes,
                                  struct tl_lab_flow_state *state, int64_t *at_ns,
                                  double *ret_backlog)
{
    if (policed(&model->policer, now_ns, len_bytes))
        return TL_LAB_DROP_POLICER;
    if (state && policed(&state->policer, now_ns, len_bytes))
        return TL_LAB_DROP_FLOW_POLICER;
    if (!shape(model, len_bytes, at_ns, ret_backlog))
        return TL_LAB_DROP_QUEUE;
    if (!serialise(model, len_bytes, at_ns, ret_backlog))
        return TL_LAB_DROP_QUEUE;
    if (collided(model, now_ns))
        return TL_LAB_DROP_COLLISION;
    return shape_flow(model, state, len_bytes, at_ns) ? TL_LAB_DROP_NONE : TL_LAB_DROP_QUEUE;
}

/* Behind the policers, in line for the link. */
static void come_to_station(struct tl_lab_model *model, int64_t now_ns, uint32_t len_bytes,
                            const struct tl_lab_flow *flow, struct tl_lab_flow_state *state,
                            uint32_t ticket, struct tl_lab_fate *fate)
{
    if (policed(&model->policer, now_ns, len_bytes))
        fate->drop = TL_LAB_DROP_POLICER;
    else if (state && policed(&state->policer, now_ns, len_bytes))
        fate->drop = TL_LAB_DROP_FLOW_POLICER;
    else
        fate->drop =
            tl_lab_station_come(model->station, now_ns, ticket, len_bytes, flow ? flow->hash : 0,
                                flow && flow->can_mark, &fate->marked);
    fate->waits = fate->drop == TL_LAB_DROP_NONE;
    fate->backlog_bytes = model->station->backlog_bytes;
}

struct tl_lab_fate tl_lab_model_pass(struct tl_lab_model *model, int64_t now_ns, uint32_t len_bytes,
                                     const struct tl_lab_flow *flow, uint32_t ticket)
{
    const struct tl_lab_link_config *link = &model->link;
    struct tl_lab_fate fate = {.drop = TL_LAB_DROP_NONE, .corrupt_at = -1};
    if (!model->started)
        start(model, now_ns);
    pass_cross(model, now_ns);
    enum tl_lab_drop by_chance = lost_by_chance(model, flow, &fate.corrupt_at);
    struct tl_lab_flow_state *state = NULL;
    if (flow && (link->flow_policer_bps > 0 || link->flow_shaper_bps > 0))
        state = tl_lab_flow_find(&model->flows, flow->hash, link, now_ns);

    int64_t at_ns = now_ns;
    if (link_is_down(model, now_ns))
        fate.drop = TL_LAB_DROP_OUTAGE;
    else if (model->icmp_filtered && flow && flow->is_icmp)
        fate.drop = TL_LAB_DROP_ICMP;
    else if (link->maxlen_bytes > 0 && len_bytes > (uint32_t)link->maxlen_bytes)
        fate.drop = TL_LAB_DROP_MAXLEN;
    else if (by_chance != TL_LAB_DROP_NONE)
        fate.drop = by_chance;
    else if (model->station)
        come_to_station(model, now_ns, len_bytes, flow, state, ticket, &fate);
    else
        fate.drop = pass_link(model, now_ns, len_bytes, state, &at_ns, &fate.backlog_bytes);
    if (fate.drop != TL_LAB_DROP_NONE || fate.waits)
        return fate;
    bool own_order = state && link->flow_shaper_bps > 0;
    propagate(model, at_ns, own_order ? &state->last_depart_ns : &model->last_depart_ns, &fate);
    return fate;
}

bool tl_lab_model_serve(struct tl_lab_model *model, int64_t now_ns, uint32_t *ret_ticket,
                        uint32_t *ret_len_bytes, struct tl_lab_fate *ret_fate)
{
    struct tl_lab_leaving leaving;
    if (!model->station || !model->started ||
        !tl_lab_station_serve(model->station, now_ns, &leaving))
        return false;
    *ret_ticket = leaving.ticket;
    *ret_len_bytes = leaving.len_bytes;
    *ret_fate =
        (struct tl_lab_fate){.drop = leaving.drop, .corrupt_at = -1, .marked = leaving.marked};
    if (leaving.drop == TL_LAB_DROP_NONE)
        propagate(model, leaving.done_ns, &model->last_depart_ns, ret_fate);
    return true;
}

int64_t tl_lab_model_next_ns(const struct tl_lab_model *model)
{
    return model->station ? tl_lab_station_next_ns(model->station) : INT64_MAX;
}
