/* Choosing the next stage from what the rules still miss. */
#include "plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

/* The verdict is sure above this, and only its next rung may still be wanted. */
#define CONFIDENCE_SURE 0.85

/* Losses that a paced stream should expect to see, were the loss independent of
 * load: with 8, seeing none has a probability of 0.0003. */
#define PACED_LOSSES_WANTED 8.0

#define STREAM_MAX_NS (60 * TL_NS_PER_S) /* what a responder grants at most */
#define STREAM_MIN_NS (6 * TL_NS_PER_S)

/* A stage that cannot have this long tells nothing that counts. */
#define STAGE_WORTH_NS (3 * TL_NS_PER_S)

const char *tl_plan_stage_id(enum tl_plan_stage stage)
{
    static const char *const ids[] = {"stream", "window", "streams", "paced"};
    return ids[stage];
}

/* 20 round trips of steady state (never under 3 s); slow start from ten segments to a thousand
 * times that (ten round trips), and a receive buffer that opens behind it (some more); two
 * seconds to settle. The stream ends by itself once its rate is known. */
int64_t tl_plan_stream_ns(double rtt_ns)
{
    if (!(rtt_ns > 0))
        rtt_ns = 100e6;
    double ns = 38 * rtt_ns + 2e9;
    if (ns < (double)STREAM_MIN_NS)
        ns = (double)STREAM_MIN_NS;
    return ns > (double)STREAM_MAX_NS ? STREAM_MAX_NS : (int64_t)ns;
}

static double flow_number(const struct tl_plan_state *state, enum tl_direction direction,
                          const char *name)
{
    char id[96];
    snprintf(id, sizeof id, "%s.%s", tl_direction_name(direction), name);
    return tl_facts_number(state->facts, id, (double)NAN);
}

/* Whether a finding of this direction that cannot tell yet misses a fact of the stage. */
static bool is_missed(const struct tl_plan_state *state, enum tl_direction direction,
                      enum tl_plan_stage stage)
{
    for (size_t i = 0; i < state->findings->finding_count; i++) {
        const struct tl_finding *finding = &state->findings->findings[i];
        if (finding->direction != direction || finding->result != TL_CANNOT_TELL)
            continue;
        for (size_t j = 0; j < finding->missing_count; j++) {
            struct tl_fact fact;
            if (tl_facts_get(state->facts, finding->missing[j], &fact) &&
                strcmp(fact.stage, tl_plan_stage_id(stage)) == 0)
                return true;
        }
    }
    return false;
}

/* A buffer is in the way: only a stream with a larger one shows what is behind it. */
static bool buffer_limits(const struct tl_plan_state *state, enum tl_direction direction)
{
    return flow_number(state, direction, "ledger_rwnd_ratio") > 0.1 ||
           flow_number(state, direction, "ledger_sndbuf_ratio") > 0.1;
}

static bool is_sure(const struct tl_plan_state *state, enum tl_direction direction)
{
    const struct tl_verdict *verdict = &state->findings->verdict;
    return verdict->state == TL_LIMITED && verdict->direction == direction &&
           verdict->confidence >= CONFIDENCE_SURE && isfinite(verdict->fixed_bps);
}

static bool is_wanted(const struct tl_plan_state *state, enum tl_direction direction,
                      enum tl_plan_stage stage)
{
    if (is_sure(state, direction))
        return false;
    if (stage == TL_PLAN_WINDOW && buffer_limits(state, direction))
        return true;
    return is_missed(state, direction, stage);
}

/* The order in which stages are worth their time: what lies behind a buffer that limits
 * is seen only with a larger one; without such a limit the streams tell more. */
static const enum tl_plan_stage *order_for(const struct tl_plan_state *state,
                                           enum tl_direction direction)
{
    static const enum tl_plan_stage behind_buffer[] = {TL_PLAN_WINDOW, TL_PLAN_STREAMS,
                                                       TL_PLAN_PACED};
    static const enum tl_plan_stage plain[] = {TL_PLAN_STREAMS, TL_PLAN_PACED, TL_PLAN_WINDOW};
    return buffer_limits(state, direction) ? behind_buffer : plain;
}

/* The next stage of one direction; false when it wants none. */
static bool choose(const struct tl_plan_state *state, enum tl_direction direction,
                   enum tl_plan_stage *ret_stage)
{
    if (!state->done[TL_PLAN_STREAM][direction]) {
        *ret_stage = TL_PLAN_STREAM;
        return true;
    }
    if (!state->findings) /* nothing was judged yet: the other direction's stream comes first */
        return false;
    const enum tl_plan_stage *order = order_for(state, direction);
    for (int i = 0; i < TL_PLAN_COUNT - 1; i++) {
        if (!state->done[order[i]][direction] && is_wanted(state, direction, order[i])) {
            *ret_stage = order[i];
            return true;
        }
    }
    return false;
}

/* As many segments at half the rate as make the wanted losses likely. */
static int64_t paced_ns(const struct tl_plan_state *state, enum tl_direction direction)
{
    double loss = flow_number(state, direction, "retrans_ratio");
    double bps = flow_number(state, direction, "goodput_bps") / 2;
    double mss = flow_number(state, direction, "mss_bytes");
    double ns = PACED_LOSSES_WANTED / loss * mss * 8e9 / bps;
    if (!(ns > (double)STAGE_WORTH_NS))
        return STAGE_WORTH_NS;
    return ns > 10e9 ? 10 * TL_NS_PER_S : (int64_t)ns;
}

/* A stream with larger buffers goes through slow start to a far larger window: it gets the
 * whole time. Several streams get there together: half the round trips of steady state do. */
static int64_t wanted_ns(const struct tl_plan_state *state, enum tl_direction direction,
                         enum tl_plan_stage stage)
{
    double rtt_ns = tl_facts_number(state->facts, "path.rtt_min_ns", (double)NAN);
    int64_t whole_ns = tl_plan_stream_ns(rtt_ns);
    if (stage == TL_PLAN_STREAM || stage == TL_PLAN_WINDOW)
        return whole_ns;
    if (stage == TL_PLAN_PACED)
        return paced_ns(state, direction);
    int64_t short_ns = whole_ns - (int64_t)(14 * fmax(rtt_ns, 0));
    return short_ns > STREAM_MIN_NS ? short_ns : STREAM_MIN_NS;
}

static void describe(struct tl_plan_step *step)
{
    static const char *const whys[] = {
        "one stream with the hosts' own settings comes first",
        "a buffer limits: a larger one shows what it would bring",
        "several streams show whether the limit is per stream",
        "a slow, paced stream shows whether loss stays without load",
    };
    snprintf(step->why, sizeof step->why, "%s", whys[step->stage]);
}

static bool stop(struct tl_plan_step *ret_step, const char *why)
{
    snprintf(ret_step->why, sizeof ret_step->why, "%s", why);
    return false;
}

static bool begin_step(const struct tl_plan_state *state, enum tl_direction direction,
                       enum tl_plan_stage stage, struct tl_plan_step *ret_step)
{
    if (state->bytes_left <= 0)
        return stop(ret_step, "the data budget is spent");
    if (state->time_left_ns < STAGE_WORTH_NS)
        return stop(ret_step, "the time budget is spent");
    int64_t ns = wanted_ns(state, direction, stage);
    ret_step->stage = stage;
    ret_step->direction = direction;
    ret_step->bytes = state->bytes_left;
    ret_step->duration_ns = ns < state->time_left_ns ? ns : state->time_left_ns;
    describe(ret_step);
    return true;
}

bool tl_plan_next(const struct tl_plan_state *state, struct tl_plan_step *ret_step)
{
    const bool asked[2] = {[TL_DOWNLOAD] = state->download, [TL_UPLOAD] = state->upload};
    enum tl_plan_stage stage, best_stage = TL_PLAN_COUNT;
    enum tl_direction best = TL_DOWNLOAD;
    *ret_step = (struct tl_plan_step){0};
    for (int direction = 0; direction < 2; direction++) {
        if (!asked[direction] || !choose(state, (enum tl_direction)direction, &stage))
            continue;
        /* Both first streams before any second stage. */
        if (best_stage == TL_PLAN_COUNT ||
            (stage == TL_PLAN_STREAM && best_stage != TL_PLAN_STREAM)) {
            best = (enum tl_direction)direction;
            best_stage = stage;
        }
    }
    if (best_stage == TL_PLAN_COUNT)
        return stop(ret_step, "nothing that is missing could change the verdict");
    return begin_step(state, best, best_stage, ret_step);
}
