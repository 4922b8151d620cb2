/* The verdict of one direction: the lowest rung that agrees with the measured
 * rate and with the ledger; or what would be needed to name one. */
#include <math.h>
#include <string.h>

#include "judge.h"
#include "tightlink/base/units.h"
#include "tightlink/facts/run.h"
#include "tightlink/rules/verdict.h"

#define WINDOW_HELD_RATIO 0.9 /* as where the length of a test is decided (engine/tcp/steady.c) */

/* What was disturbed speaks for no cause; a starved host's rate not for one of the network. */
bool tl_verdict_rests(const struct tl_side *side, const struct tl_judged *judged)
{
    bool of_host = judged->rule->role == TL_ROLE_RECEIVER || judged->rule->role == TL_ROLE_SENDER;
    return side->disturbed || (side->starved && !of_host);
}

/* Found, limiting by nature, and nothing measured speaks against it. An unknown ledger does not
 * hinder (the other end may not tell it); an unknown rate or condition of the rule does. */
bool tl_verdict_is_candidate(const struct tl_side *side, const struct tl_judged *judged)
{
    return !tl_verdict_rests(side, judged) && judged->result == TL_FOUND &&
           judged->rule->severity == TL_LIMITS && judged->rate_agrees == TL_TRUE &&
           judged->ledger_agrees != TL_FALSE && judged->own_agrees == TL_TRUE;
}

bool tl_judged_yields(const struct tl_judged *judged, const struct tl_judged *other)
{
    for (size_t i = 0; i < judged->rule->yields_count; i++)
        if (strcmp(judged->rule->yields_to[i], other->rule->cause) == 0)
            return true;
    return false;
}

const struct tl_judged *tl_verdict_explainer(const struct tl_side *side,
                                             const struct tl_judged *judged)
{
    for (size_t i = 0; i < side->count; i++)
        if (&side->judged[i] != judged && tl_verdict_is_candidate(side, &side->judged[i]) &&
            tl_judged_yields(judged, &side->judged[i]))
            return &side->judged[i];
    return NULL;
}

/* What broke the transfer goes before whatever limits its rate. */
static struct tl_judged *breaker(struct tl_side *side)
{
    for (size_t i = 0; i < side->count; i++)
        if (side->judged[i].result == TL_FOUND && side->judged[i].rule->overrides)
            return &side->judged[i];
    return NULL;
}

/* What limits the rate, whatever broke. */
static struct tl_judged *limiter(struct tl_side *side)
{
    struct tl_judged *best = NULL;
    for (size_t i = 0; i < side->count; i++) {
        struct tl_judged *judged = &side->judged[i];
        if (judged->rule->overrides || !tl_verdict_is_candidate(side, judged) ||
            tl_verdict_explainer(side, judged))
            continue;
        if (!best || tl_judged_level(side, judged) < tl_judged_level(side, best))
            best = judged;
    }
    return best;
}

static struct tl_judged *choose(struct tl_side *side)
{
    struct tl_judged *broke = breaker(side);
    return broke ? broke : limiter(side);
}

/* What would contribute, but for the verdict's cause in the same place that it yields to. */
static bool is_explained_there(const struct tl_judged *judged, const struct tl_judged *verdict)
{
    return judged->result == TL_FOUND && judged->rule->severity == TL_CONTRIBUTES && verdict &&
           tl_judged_yields(judged, verdict) && strcmp(judged->segment, verdict->segment) == 0;
}

/* Near the verdict: limits too. Within reach of the rate: contributes. Clearly higher, without
 * agreement, or explained by the verdict: a note. */
static void grade(struct tl_side *side, const struct tl_judged *verdict)
{
    for (size_t i = 0; i < side->count; i++) {
        struct tl_judged *judged = &side->judged[i];
        if (is_explained_there(judged, verdict))
            judged->severity = TL_NOTE;
        if (judged->result != TL_FOUND || judged->rule->severity != TL_LIMITS || judged == verdict)
            continue;
        bool near =
            verdict && tl_verdict_is_candidate(side, judged) &&
            tl_judged_level(side, judged) <= TL_NEAR_FACTOR * tl_judged_level(side, verdict);
        bool reach = judged->has_rung && !tl_verdict_rests(side, judged) &&
                     judged->ledger_agrees != TL_FALSE &&
                     judged->low <= TL_CONTRIBUTES_FACTOR * side->goodput.number;
        bool explained = verdict && tl_judged_yields(judged, verdict);
        judged->severity = explained ? TL_NOTE
                           : near    ? TL_LIMITS
                           : reach   ? TL_CONTRIBUTES
                                     : TL_NOTE;
    }
}

static void decide_single(struct tl_arena *arena, struct tl_side *side, enum tl_fact_name fact)
{
    struct tl_verdict *verdict = &side->verdict;
    verdict->deciding = TL_ARENA_ARRAY(arena, 1, struct tl_fact_key);
    if (!verdict->deciding)
        return;
    verdict->deciding[0] = TL_KEY(tl_scope_of(side->direction), fact);
    verdict->deciding_count = 1;
}

static double number_of(const struct tl_side *side, struct tl_fact_key key)
{
    return tl_facts_number(side->facts, key, (double)NAN);
}

/* A rate that was reached within this share of the prediction backs it. */
#define NEAR_ENOUGH 0.9

bool tl_verdict_may_promise(const struct tl_side *side, const struct tl_judged *judged, double bps)
{
    if (!(bps > 0) || !(side->verdict.measured_bps > 0))
        return false;
    bool of_host = judged->rule->role == TL_ROLE_RECEIVER || judged->rule->role == TL_ROLE_SENDER;
    return of_host ||
           number_of(side, TL_FLOW(side->direction, best_goodput_bps)) >= NEAR_ENOUGH * bps;
}

static void forget_fix(struct tl_verdict *verdict)
{
    verdict->fixed_bps = NAN;
    verdict->fixed_at_least = verdict->fixed_promised = false;
    verdict->fixed_stage = NULL;
    verdict->next_cause = NULL;
}

static void say_limited(struct tl_arena *arena, struct tl_side *side, struct tl_judged *chosen)
{
    struct tl_verdict *verdict = &side->verdict;
    chosen->is_verdict = true;
    verdict->state = TL_LIMITED;
    verdict->cause = tl_arena_strdup(arena, chosen->rule->cause);
    verdict->segment = tl_arena_strdup(arena, chosen->segment);
    verdict->send_to = tl_arena_strdup(
        arena, tl_rule_send_to(chosen->rule, side->direction, side->question->overheard));
    verdict->ceiling_bps = chosen->told;
    verdict->fixed_bps = chosen->fixed;
    verdict->fixed_at_least = chosen->fixed_at_least;
    verdict->fixed_promised = tl_verdict_may_promise(side, chosen, chosen->fixed);
    verdict->fixed_stage = chosen->fixed_stage ? tl_arena_strdup(arena, chosen->fixed_stage) : NULL;
    verdict->next_cause = chosen->next ? tl_arena_strdup(arena, chosen->next->rule->cause) : NULL;
    side->told_by = verdict;
    verdict->sentence = tl_judged_render(arena, chosen, &chosen->rule->found);
    struct tl_sureness sureness = tl_sureness(arena, side, chosen);
    verdict->confidence = sureness.confidence;
    verdict->undisturbed = sureness.undisturbed;
    verdict->confidence_reasons = sureness.reasons;
    if (!chosen->rule->overrides)
        return;
    /* It explains no rate, so nobody knows what the rate will be without it; what limits what was
     * measured beside it does so then, too. */
    const struct tl_judged *beside = limiter(side);
    verdict->broken = true;
    forget_fix(verdict);
    verdict->next_cause = beside ? tl_arena_strdup(arena, beside->rule->cause) : NULL;
    if (!isfinite(verdict->measured_bps))
        verdict->measured_bps = number_of(side, TL_FLOW(side->direction, goodput_whole_bps));
}

/* Length of the steady part in round trips of the unloaded path: a queue that the test itself
 * makes must not make the test look short. NAN, which compares false, where it is unknown. */
static double steady_rtts(const struct tl_side *side, double *ret_length)
{
    *ret_length = number_of(side, TL_FLOW(side->direction, steady_ns));
    double rtts = *ret_length / number_of(side, TL_FLOW(side->direction, rtt_min_ns));
    return isfinite(rtts) ? rtts : number_of(side, TL_FLOW(side->direction, steady_rtts_count));
}

/* A receive window that holds the sender all the time, with nothing lost, hands on the same in each
 * round trip: there are no cycles to be waited for, and half of them tell the rate. */
static double rtts_needed(const struct tl_side *side)
{
    double held = number_of(side, TL_FLOW(side->direction, ledger_rwnd_ratio));
    double lost = number_of(side, TL_FLOW(side->direction, retrans_count));
    return held > WINDOW_HELD_RATIO && lost <= 0 ? TL_STEADY_RTTS_MIN / 2.0 : TL_STEADY_RTTS_MIN;
}

static char *why_unusable(struct tl_arena *arena, const char *reason, const char *direction)
{
    if (reason && strcmp(reason, TL_RUN_STOPPED) == 0)
        return tl_arena_printf(
            arena, "You stopped the measurement of the %s before it could tell anything.",
            direction);
    return tl_arena_printf(arena, "The measurement of the %s cannot be used: %s.", direction,
                           reason && *reason ? reason : "something disturbed it");
}

/* Preconditions of any verdict; true when one failed and the sentence is said. */
static bool unfit(struct tl_arena *arena, struct tl_side *side)
{
    struct tl_verdict *verdict = &side->verdict;
    const char *direction = tl_direction_name(side->direction);
    const struct tl_question *question = side->question;
    if (question->quality == TL_QUALITY_INVALID || question->quality == TL_QUALITY_ABORTED) {
        verdict->state = TL_VERDICT_INVALID;
        verdict->sentence = why_unusable(arena, question->quality_reason, direction);
        return true;
    }
    if (breaker(side))
        return false;
    verdict->state = TL_INCONCLUSIVE;
    if (side->goodput.state != TL_FACT_KNOWN) {
        const char *why = side->goodput.reason ? side->goodput.reason : "";
        bool told = why[0] && strcmp(why, "not measured") != 0; /* which the sentence says */
        verdict->sentence = tl_arena_printf(
            arena, "The rate of the %s was not measured%s%s%s, so nothing can be said about it.",
            direction, told ? " (" : "", told ? why : "", told ? ")" : "");
        decide_single(arena, side, TL_FACT_FLOW_goodput_bps);
        return true;
    }
    double length = NAN, rtts = steady_rtts(side, &length);
    bool brief = length < TL_STEADY_NS_MIN, few = rtts < rtts_needed(side);
    if (!brief && !few)
        return false;
    char time[TL_UNIT_TEXT_SIZE];
    verdict->sentence = tl_arena_printf(
        arena,
        "The %s was steady for only %s%s: too short for a verdict, which needs 3 s and 20 round "
        "trips. Allow it more time, or more data.",
        direction, isfinite(length) ? tl_format_ns(length, time) : "a moment",
        few ? ", less than 20 round trips" : "");
    decide_single(arena, side, brief ? TL_FACT_FLOW_steady_ns : TL_FACT_FLOW_steady_rtts_count);
    return true;
}

/* The lowest rung that would hold the rate below the goal over the goal's round-trip time. */
static struct tl_judged *goal_blocker(struct tl_side *side, double *ret_bps)
{
    const struct tl_question *question = side->question;
    struct tl_fact rtt;
    tl_facts_get(side->facts, TL_FLOW(side->direction, rtt_min_ns), &rtt);
    if (!(question->goal_rtt_ns > 0) || rtt.state != TL_FACT_KNOWN ||
        question->goal_rtt_ns <= rtt.number)
        return NULL;
    struct tl_judged *blocker = NULL;
    for (size_t i = 0; i < side->count; i++) {
        struct tl_judged *judged = &side->judged[i];
        if (!judged->has_rung || !judged->rule->scales_with_rtt)
            continue;
        double scaled = judged->bps * rtt.number / question->goal_rtt_ns;
        if (scaled < question->goal_bps && (!blocker || scaled < *ret_bps)) {
            blocker = judged;
            *ret_bps = scaled;
        }
    }
    return blocker;
}

static bool say_goal(struct tl_arena *arena, struct tl_side *side)
{
    struct tl_verdict *verdict = &side->verdict;
    double goal = side->question->goal_bps, scaled = NAN;
    if (!(goal > 0) || side->goodput.state != TL_FACT_KNOWN || side->goodput.number < goal)
        return false;
    char rate[TL_UNIT_TEXT_SIZE], wanted[TL_UNIT_TEXT_SIZE], rtt[TL_UNIT_TEXT_SIZE],
        would[TL_UNIT_TEXT_SIZE];
    tl_format_bps_bounded(side->goodput.number, side->goodput.low, side->goodput.high, rate);
    tl_format_bps(goal, wanted);
    const char *direction = tl_direction_name(side->direction);
    struct tl_judged *blocker = goal_blocker(side, &scaled);
    if (!blocker) {
        verdict->state = TL_GOAL_MET;
        verdict->sentence =
            tl_arena_printf(arena, "The goal is met: the %s reaches %s, %s was asked for.",
                            direction, rate, wanted);
        return true;
    }
    say_limited(arena, side, blocker);
    verdict->ceiling_bps = scaled;
    forget_fix(verdict);
    verdict->confidence = fmin(verdict->confidence, TL_UNCOUNTED_MAX);
    verdict->undisturbed = fmin(verdict->undisturbed, TL_UNCOUNTED_MAX);
    verdict->confidence_reasons = tl_arena_strdup(
        arena, "computed for a longer path than the one that was measured: no more than medium");
    verdict->sentence = tl_arena_printf(
        arena,
        "The %s reaches %s here, but over the goal's round-trip time of %s it could not exceed %s "
        "(%s wanted): %s.",
        direction, rate, tl_format_ns(side->question->goal_rtt_ns, rtt),
        tl_format_bps(scaled, would), wanted, blocker->rule->title);
    return true;
}

void tl_verdict_choose(struct tl_arena *arena, struct tl_side *side)
{
    struct tl_verdict *verdict = &side->verdict;
    *verdict = (struct tl_verdict){
        .direction = side->direction,
        .measured_bps = side->goodput.state == TL_FACT_KNOWN ? side->goodput.number : (double)NAN,
        .ceiling_bps = NAN,
        .fixed_bps = NAN};
    double wait;
    side->starved = tl_starved_role(side, &wait) >= 0;
    bool fit = !unfit(arena, side);
    char *disturbance = fit ? tl_disturbance(arena, side) : NULL;
    side->disturbed = disturbance != NULL;
    struct tl_judged *chosen = fit ? choose(side) : NULL;
    grade(side, chosen);
    struct tl_open_rules open = {0};
    if (fit)
        open = tl_open_rules_find(arena, side, chosen);
    if (fit && (breaker(side) || !say_goal(arena, side))) {
        if (chosen)
            say_limited(arena, side, chosen);
        else
            tl_open_rules_say(arena, side, &open);
        if (!disturbance && !chosen && side->starved)
            disturbance = tl_starved_sentence(arena, side);
        if (disturbance) {
            verdict->sentence = disturbance;
            verdict->undecided = false;
        }
    }
    if (!verdict->confidence_reasons)
        verdict->confidence_reasons = tl_arena_strdup(arena, "");
}

bool tl_findings_is_beside(const struct tl_findings *findings, const struct tl_finding *finding)
{
    const struct tl_verdict *verdict = &findings->verdict;
    bool same = verdict->cause && verdict->segment && finding->direction == verdict->direction &&
                strcmp(finding->cause, verdict->cause) == 0 &&
                strcmp(finding->segment, verdict->segment) == 0;
    return finding->result == TL_FOUND && !same;
}

const struct tl_finding *tl_findings_verdict(const struct tl_findings *findings)
{
    const struct tl_verdict *verdict = &findings->verdict;
    for (size_t i = 0; verdict->cause && verdict->segment && i < findings->finding_count; i++) {
        const struct tl_finding *finding = &findings->findings[i];
        if (finding->direction == verdict->direction && finding->result == TL_FOUND &&
            strcmp(finding->cause, verdict->cause) == 0 &&
            strcmp(finding->segment, verdict->segment) == 0)
            return finding; /* the verdict's own stands first */
    }
    return NULL;
}
