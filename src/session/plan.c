/* Choosing the next stage by worth and cost. */
#include "plan.h"

#include <math.h>
#include <stdio.h>

#include "tightlink/base/units.h"
#include "worth.h"

/* Above every worth that a measurement can have. */
#define WORTH_FORCED 2.0
#define WORTH_FIRST  3.0

/* Nothing is free: keeps the quotient of worth and cost finite. */
#define COST_MIN 0.01

static double rate_seen(const struct tl_plan_state *state, enum tl_direction direction)
{
    struct tl_fact_key id = TL_FLOW(direction, best_goodput_bps);
    return tl_facts_number(state->facts, id, (double)NAN);
}

/* Time and bytes as shares of what is left of each. Both are those to expect, not the most that may
 * be: the bytes at the rate that was seen. */
static double cost_of(const struct tl_plan_state *state, const struct tl_plan_weight *weight)
{
    const struct tl_stage_cost *most = &weight->most;
    double bytes = (double)most->bytes;
    double ns = (double)(most->expected_ns > 0 ? most->expected_ns : most->time_ns);
    if (tl_stage_at(weight->stage)->loads) {
        double expected = tl_bytes_from_bps_ns(rate_seen(state, weight->direction), ns);
        bytes = fmin(isfinite(expected) ? expected : bytes, bytes);
    }
    double cost =
        ns / fmax((double)state->time_left_ns, 1) + bytes / fmax((double)state->bytes_left, 1);
    return fmax(cost, COST_MIN);
}

static void say(struct tl_plan_weight *weight, const char *why)
{
    snprintf(weight->why, sizeof weight->why, "%s", why);
}

/* Where packets of full size vanish every transfer stands still, and none tells more. */
static bool is_stalled(const struct tl_plan_state *state, const struct tl_plan_weight *weight)
{
    struct tl_fact_key id = TL_FLOW(weight->direction, stalled);
    return tl_stage_at(weight->stage)->loads && tl_facts_number(state->facts, id, 0) > 0;
}

/* What may not be run at all says why and weighs nothing. */
static bool is_barred(const struct tl_plan_state *state, struct tl_plan_weight *weight)
{
    const struct tl_stage *stage = tl_stage_at(weight->stage);
    char lacks[TL_PLAN_LACK_SIZE];
    bool forced = state->forced[weight->stage];
    if (state->skipped[weight->stage])
        say(weight, "skipped by you");
    else if (state->only_forced && !forced && stage->when != TL_WHEN_ALWAYS)
        say(weight, "not among the stages that you named");
    else if (stage->when == TL_WHEN_ASKED && !forced)
        say(weight, "only when asked for");
    else if (weight->stage == TL_PLAN_VERIFY)
        say(weight, "a trial follows the plan");
    else if (tl_plan_lacks(state, weight->stage, weight->direction, lacks))
        say(weight, lacks);
    else if (!forced && is_stalled(state, weight))
        say(weight, "packets of full size vanish: every transfer stands still");
    else
        return false;
    return true;
}

static void weigh_worth(const struct tl_plan_state *state, struct tl_plan_weight *weight)
{
    const struct tl_stage *stage = tl_stage_at(weight->stage);
    struct tl_worth worth = {0};
    if (stage->when == TL_WHEN_FIRST && !state->only_forced) {
        weight->worth = WORTH_FIRST;
        say(weight, stage->why);
    } else if (state->forced[weight->stage]) {
        weight->worth = stage->when == TL_WHEN_FIRST ? WORTH_FIRST : WORTH_FORCED;
        snprintf(weight->why, sizeof weight->why, "you asked for it: %s", stage->why);
    } else if (stage->when == TL_WHEN_WANTED && state->findings) {
        tl_worth_of(state, weight->stage, weight->direction, &worth);
        weight->worth = worth.value;
        if (worth.value >= TL_PLAN_WORTH_MIN)
            snprintf(weight->why, sizeof weight->why, "%s", worth.what);
        else if (worth.value > 0)
            snprintf(weight->why, sizeof weight->why, "could change too little: %s", worth.what);
        else
            say(weight, "nothing that it measures could change the verdict");
    } else {
        say(weight, "nothing was judged yet");
    }
}

static void weigh(const struct tl_plan_state *state, enum tl_plan_stage stage,
                  enum tl_direction direction, struct tl_plan_weight *ret_weight)
{
    *ret_weight = (struct tl_plan_weight){.stage = stage, .direction = direction};
    if (is_barred(state, ret_weight))
        return;
    tl_stage_at(stage)->cost(state, direction, &ret_weight->most);
    ret_weight->cost = cost_of(state, ret_weight);
    weigh_worth(state, ret_weight);
    ret_weight->eligible = true;
}

size_t tl_plan_weigh(const struct tl_plan_state *state,
                     struct tl_plan_weight ret_weights[TL_PLAN_WEIGHTS_MAX])
{
    const bool asked[2] = {[TL_DOWNLOAD] = state->download, [TL_UPLOAD] = state->upload};
    size_t count = 0;
    for (int i = 0; i < TL_PLAN_COUNT; i++) {
        enum tl_plan_stage stage = (enum tl_plan_stage)i;
        bool once = !tl_stage_at(stage)->per_direction;
        for (int d = 0; d < 2; d++) {
            if (!asked[d] || state->done[i][d])
                continue;
            weigh(state, stage, (enum tl_direction)d, &ret_weights[count++]);
            if (once)
                break;
        }
    }
    return count;
}

static bool stop(struct tl_plan_step *ret_step, const char *why)
{
    snprintf(ret_step->why, sizeof ret_step->why, "%s", why);
    return false;
}

/* The most worth for its cost; what comes first and what is forced goes before. Of equals the
 * one that stands first in the table. */
static const struct tl_plan_weight *choose(const struct tl_plan_weight *weights, size_t count)
{
    const struct tl_plan_weight *best = NULL;
    double best_merit = 0;
    for (size_t i = 0; i < count; i++) {
        if (!weights[i].eligible || weights[i].worth < TL_PLAN_WORTH_MIN)
            continue;
        double merit =
            weights[i].worth > 1 ? 1e9 * weights[i].worth : weights[i].worth / weights[i].cost;
        if (!best || merit > best_merit) {
            best = &weights[i];
            best_merit = merit;
        }
    }
    return best;
}

/* Why nothing is left: a sure verdict, or no idea that a stage could test. */
static bool say_done(const struct tl_plan_state *state, struct tl_plan_step *ret_step)
{
    const struct tl_verdict *verdict = state->findings ? &state->findings->verdict : NULL;
    if (verdict && verdict->state == TL_GOAL_MET)
        return stop(ret_step, "the goal is met: nothing more needs to be measured");
    return stop(ret_step, "nothing that is missing could change the verdict");
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A cause that people are told as a mere possibility settles nothing. */
static bool is_settled(const struct tl_plan_state *state)
{
    const struct tl_verdict *verdict = state->findings ? &state->findings->verdict : NULL;
    return verdict && verdict->state != TL_INCONCLUSIVE &&
           (verdict->state != TL_LIMITED || verdict->confidence >= TL_CONFIDENCE_MEDIUM);
}

static int64_t time_left_ns(const struct tl_plan_state *state)
{
    return state->time_left_ns - (is_settled(state) ? state->open_ns : 0);
}

bool tl_plan_next(const struct tl_plan_state *state, struct tl_plan_step *ret_step)
{
    struct tl_plan_weight weights[TL_PLAN_WEIGHTS_MAX];
    size_t count = tl_plan_weigh(state, weights);
    const struct tl_plan_weight *best = choose(weights, count);
    *ret_step = (struct tl_plan_step){0};
    if (!best)
        return say_done(state, ret_step);
    bool loads = tl_stage_at(best->stage)->loads;
    if (loads && state->bytes_left <= 0)
        return stop(ret_step, "the data budget is spent");
    if (loads && time_left_ns(state) < TL_STAGE_WORTH_NS)
        return stop(ret_step, is_settled(state) && state->open_ns > 0
                                  ? "the time budget of a run with a sure verdict is spent"
                                  : "the time budget is spent");
    ret_step->stage = best->stage;
    ret_step->direction = best->direction;
    ret_step->duration_ns = least(best->most.time_ns, time_left_ns(state));
    ret_step->bytes = least(best->most.bytes, state->bytes_left);
    ret_step->worth = best->worth;
    snprintf(ret_step->why, sizeof ret_step->why, "%s", best->why);
    return true;
}
