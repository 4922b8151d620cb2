/* The ladder of ceilings: which rungs there are, and which comes after a fix. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

/* A rung so far above every rate that was seen promises nothing: what lies between was never
 * loaded. */
#define FORESIGHT 10
/* A rung that is a share of use drawn out to the whole holds no further than this: from less than
 * half of a processor nobody knows what all of it carries. */
#define EXTRAPOLATION 2
/* Below this share of its time held by windows or buffers a stream found another limit. */
#define UNHELD_RATIO 0.3

static bool same_fault(const struct tl_judged *a, const struct tl_judged *b)
{
    return strcmp(a->rule->cause, b->rule->cause) == 0 && a->rule->role == b->rule->role;
}

/* Where a judged rule stands; a cause without a ceiling stands at the rate it was seen with. */
static double level(const struct tl_side *side, const struct tl_judged *judged)
{
    return judged->has_rung ? judged->bps : side->goodput.number;
}

/* Without the rung of an essential rule (the path's capacity) nobody knows what a fix brings,
 * except that a rate already seen by another stage can be had. */
static bool essential_untested(const struct tl_side *side, const struct tl_judged *judged)
{
    for (size_t i = 0; i < side->count; i++) {
        const struct tl_judged *other = &side->judged[i];
        if (other->rule->essential && !other->has_rung && !same_fault(other, judged) &&
            other->result != TL_NOT_APPLICABLE)
            return true;
    }
    return false;
}

static double known_number(const struct tl_side *side, struct tl_fact_key key)
{
    return tl_facts_number(side->facts, key, (double)NAN);
}

static double best_seen(const struct tl_side *side)
{
    return known_number(side, TL_FLOW(side->direction, best_goodput_bps));
}

static double best_of(const struct tl_side *side)
{
    return fmax(best_seen(side), side->goodput.number); /* fmax passes over NAN */
}

/* Nobody asked yet, rather than asked in vain. */
static bool never_measured(const struct tl_side *side, struct tl_fact_key key)
{
    struct tl_fact fact;
    tl_facts_get(side->facts, key, &fact);
    return fact.state != TL_FACT_KNOWN && !fact.tried;
}

/* A larger buffer is a remedy, so that stage window tries what the fix would be. */
static bool is_of_buffers(const struct tl_judged *judged)
{
    for (size_t i = 0; i < judged->rule->remedy_count; i++)
        if (judged->rule->remedies[i].trial == TL_TRIAL_RCVBUF ||
            judged->rule->remedies[i].trial == TL_TRIAL_SNDBUF)
            return true;
    return false;
}

/* One connection with large buffers, not held back by them and no longer rising: what was seen is
 * what the fix brings, no mere bound of it. */
static bool was_tried(const struct tl_side *side, const struct tl_judged *judged, double best)
{
    struct tl_fact large;
    tl_facts_get(side->facts, TL_FLOW(side->direction, window_goodput_bps), &large);
    double held = fmax(known_number(side, TL_FLOW(side->direction, window_rwnd_ratio)),
                       known_number(side, TL_FLOW(side->direction, window_sndbuf_ratio)));
    return is_of_buffers(judged) && large.state == TL_FACT_KNOWN && large.number >= best &&
           held < UNHELD_RATIO && large.high <= (1 + TL_RANGE_RATIO) * large.number;
}

/* Whether the path's own rung lacks a fact that only datagrams bring: then they tell where a fix
 * ends. That they arrive faster than a transfer does bounds nothing. */
static bool wait_for_datagrams(const struct tl_side *side)
{
    for (size_t i = 0; i < side->count; i++) {
        const struct tl_judged *judged = &side->judged[i];
        tl_fact_set missing = judged->rule->essential ? judged->ceiling_missing : 0;
        for (size_t f = 0; missing >> f; f++) {
            struct tl_fact fact;
            tl_facts_get_lacking(side->facts, tl_judged_fact(judged, f), &fact);
            if (missing >> f & 1 && !fact.tried && strcmp(fact.stage, "udp") == 0)
                return true;
        }
    }
    return false;
}

/* Several connections that no buffer held found what the path carries, and a program may not ask
 * for a buffer of any size: a larger one has to be able to bring more than was seen. */
static bool larger_buffer_tells(const struct tl_side *side)
{
    enum tl_direction direction = side->direction;
    double held = fmax(known_number(side, TL_FLOW(direction, streams_rwnd_ratio)),
                       known_number(side, TL_FLOW(direction, streams_sndbuf_ratio)));
    double reach_bps = known_number(side, TL_FLOW(direction, window_reach_bps));
    return never_measured(side, TL_FLOW(direction, window_goodput_bps)) && !(held < UNHELD_RATIO) &&
           !(reach_bps <= TL_AGREE_HIGH * best_of(side)); /* NAN: may */
}

/* What would tell more than a lower bound. Static storage; NULL where nothing is left to ask. */
static const char *telling_stage(const struct tl_side *side, const struct tl_judged *judged)
{
    if (is_of_buffers(judged) && larger_buffer_tells(side))
        return "window";
    if (never_measured(side, TL_FLOW(side->direction, streams_goodput_bps)))
        return "streams";
    return wait_for_datagrams(side) ? "udp" : NULL;
}

static bool out_of_sight(const struct tl_side *side, const struct tl_judged *next)
{
    double factor = next->rule->extrapolates ? EXTRAPOLATION : FORESIGHT;
    return next->bps > factor * best_of(side);
}

/* Only a rate that was already seen, where it is more than what is here. */
static void promise_seen(const struct tl_side *side, struct tl_judged *judged, double here)
{
    double best = best_seen(side);
    judged->next = NULL;
    judged->fixed = best > here * TL_AGREE_HIGH ? best : NAN;
    judged->fixed_at_least = isfinite(judged->fixed) && !was_tried(side, judged, best);
    if (judged->fixed_at_least || !isfinite(judged->fixed))
        judged->fixed_stage = telling_stage(side, judged);
}

/* Another cause that explains the very rate that was seen and bounds nothing above it: it may be
 * what is left when this one is mended. One connection that got more, with larger buffers,
 * disproves it. */
static bool has_rival(const struct tl_side *side, const struct tl_judged *judged, double here)
{
    if (known_number(side, TL_FLOW(side->direction, window_goodput_bps)) > here * TL_NEAR_FACTOR)
        return false;
    for (size_t i = 0; i < side->count; i++) {
        const struct tl_judged *other = &side->judged[i];
        if (other != judged && other->repeats_rate && !same_fault(other, judged) &&
            tl_verdict_is_candidate(side, other) && !tl_verdict_explainer(side, other))
            return true;
    }
    return false;
}

/* One connection got more, with larger buffers: what would hold each connection lower does not.
 * (Buffers themselves were larger then.) */
static bool is_disproved(const struct tl_side *side, const struct tl_judged *other)
{
    struct tl_fact large;
    tl_facts_get(side->facts, TL_FLOW(side->direction, window_goodput_bps), &large);
    return !is_of_buffers(other) && large.state == TL_FACT_KNOWN &&
           large.low > TL_AGREE_HIGH * other->high;
}

/* What this cause explains was measured through it (a full path behind a slow card): that, too,
 * says what holds the rate now. */
static bool is_explained(const struct tl_judged *judged, const struct tl_judged *other, double here)
{
    return other->has_rung && other->result == TL_FOUND && judged->result == TL_FOUND &&
           tl_judged_yields(other, judged) && other->bps <= TL_NEAR_FACTOR * here;
}

/* Then nobody saw the path alone. Another rung at the same rate bounds what a fix brings all the
 * same. */
static bool hides_the_path(const struct tl_side *side, const struct tl_judged *judged, double here)
{
    bool hidden = false;
    for (size_t i = 0; i < side->count; i++)
        hidden |= side->judged[i].rule->essential && is_explained(judged, &side->judged[i], here);
    return hidden && !(judged->next && judged->next->bps <= TL_AGREE_HIGH * here);
}

static void link_next(const struct tl_side *side, struct tl_judged *judged)
{
    double here = level(side, judged);
    for (size_t i = 0; i < side->count; i++) {
        const struct tl_judged *other = &side->judged[i];
        /* A rung that repeats the rate says what holds it now, not what comes behind. */
        if (!other->has_rung || other->repeats_rate || same_fault(other, judged) ||
            other->bps < here || is_disproved(side, other) || is_explained(judged, other, here))
            continue;
        if (!judged->next || other->bps < judged->next->bps)
            judged->next = other;
    }
    /* A stream from memory was faster than a file's other disk: that disk is what comes next. */
    bool disk_next = side->is_file && judged->next && judged->next->bps < best_seen(side);
    bool open = essential_untested(side, judged) && !disk_next;
    if (hides_the_path(side, judged, here)) {
        promise_seen(side, judged, here);
        judged->fixed_stage = NULL; /* no stage sees past it either */
    } else if (open || has_rival(side, judged, here)) {
        promise_seen(side, judged, here);
    } else if (judged->next && out_of_sight(side, judged->next)) {
        promise_seen(side, judged, here);
    } else if (judged->next) {
        judged->fixed = fmax(judged->next->bps, side->goodput.number);
    }
}

static struct tl_value rate(double bps)
{
    return (struct tl_value){.known = isfinite(bps), .number = bps};
}

/* The most that the path was shown to carry, by TCP or by datagrams that arrived. */
static double shown(const struct tl_side *side)
{
    double datagrams = fmax(known_number(side, TL_FLOW(side->direction, udp_knee_bps)),
                            known_number(side, TL_FLOW(side->direction, trains_bps)));
    return fmax(best_of(side), datagrams); /* fmax passes over NAN */
}

/* A setting is made for the rate that comes after the fix. Where that is not known, or known from
 * below only, it is made for the goal, and for what the path was shown to carry: never for a rate
 * that nobody measured or asked for. */
static double aim(const struct tl_side *side, const struct tl_judged *judged)
{
    if (isfinite(judged->fixed) && !judged->fixed_at_least)
        return judged->fixed;
    double goal = side->question->goal_bps;
    double known = fmax(judged->fixed, shown(side));
    return goal > 0 ? fmax(known, goal) : known;
}

static void tell_formulas(const struct tl_side *side, struct tl_judged *judged)
{
    struct tl_value *results = judged->env->results;
    results[TL_NAME_FIXED] = rate(judged->fixed);
    results[TL_NAME_AT_LEAST] = rate(judged->fixed_at_least ? judged->fixed : (double)NAN);
    results[TL_NAME_AIM] = rate(aim(side, judged));
}

void tl_ladder_link(struct tl_side *side)
{
    for (size_t i = 0; i < side->count; i++) {
        struct tl_judged *judged = &side->judged[i];
        judged->next = NULL;
        judged->fixed = NAN;
        judged->fixed_at_least = false;
        judged->fixed_stage = NULL;
        if (side->goodput.state == TL_FACT_KNOWN &&
            (judged->has_rung || judged->result == TL_FOUND))
            link_next(side, judged);
        tell_formulas(side, judged);
    }
}

static void fill_missing(struct tl_arena *arena, const struct tl_judged *judged,
                         struct tl_rung *rung)
{
    tl_fact_set missing = judged->has_rung ? 0 : judged->ceiling_missing;
    rung->missing = tl_judged_facts(arena, judged, missing, &rung->missing_count);
}

static void fill_rung(struct tl_arena *arena, const struct tl_judged *judged, struct tl_rung *rung)
{
    *rung = (struct tl_rung){
        .cause = tl_arena_strdup(arena, judged->rule->cause),
        .segment = tl_arena_strdup(arena, judged->segment),
        .direction = judged->direction,
        .tested = judged->has_rung,
        .bps = judged->told,
        .low_bps = judged->low,
        .high_bps = fmax(judged->high, judged->told),
        .limits = judged->is_verdict,
        .essential = judged->rule->essential,
    };
    fill_missing(arena, judged, rung);
    rung->label = judged->has_rung ? tl_judged_render(arena, judged, &judged->ceiling->label)
                                   : tl_arena_strdup(arena, judged->rule->title);
    if (judged->has_rung)
        rung->why_not = tl_arena_strdup(arena, "");
    else if (!judged->ceiling_missing && judged->rule->no_ceiling.text)
        rung->why_not = tl_judged_render(arena, judged, &judged->rule->no_ceiling);
    else
        rung->why_not =
            judged->ceiling_missing
                ? tl_arena_printf(arena, "not tested: %s",
                                  tl_judged_lacking(arena, judged, judged->ceiling_missing))
                : tl_arena_strdup(arena, "no number can be given");
}

/* Lowest first, untested last, then by name, so that the order is the same everywhere. */
static int compare_rungs(const void *left, const void *right)
{
    const struct tl_rung *a = left, *b = right;
    if (a->tested != b->tested)
        return a->tested ? -1 : 1;
    if (a->tested && a->bps != b->bps)
        return a->bps < b->bps ? -1 : 1;
    int order = strcmp(a->cause, b->cause);
    return order ? order : strcmp(a->segment, b->segment);
}

/* A rung that cannot exist here (the speed of a virtual interface) is not worth a line, unless the
 * rule says why there is none. */
static bool is_shown(const struct tl_judged *judged)
{
    return judged->rule->ceiling_count && judged->result != TL_NOT_APPLICABLE &&
           (judged->has_rung || judged->ceiling_missing || judged->rule->no_ceiling.text);
}

size_t tl_ladder_rungs(struct tl_arena *arena, const struct tl_side *side,
                       struct tl_rung *ret_rungs)
{
    size_t count = 0;
    for (size_t i = 0; i < side->count; i++) {
        const struct tl_judged *judged = &side->judged[i];
        if (is_shown(judged))
            fill_rung(arena, judged, &ret_rungs[count++]);
    }
    if (!arena->failed)
        qsort(ret_rungs, count, sizeof *ret_rungs, compare_rungs);
    return count;
}
