/* The verdict of one direction: the lowest rung that agrees with the measured
 * rate and with the ledger; or what would be needed to name one. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"
#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"

#define UNSURE_RULES_MAX 2 /* more would not be read */
#define TRIED_STAGES_MAX 2

/* The upper bound of the rate below this share of the goal leaves no doubt. */
#define CLEARLY_BELOW 0.95

static double level(const struct tl_side *side, const struct tl_judged *judged)
{
    return judged->has_rung ? judged->bps : side->goodput.number;
}

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

static bool yields(const struct tl_judged *judged, const struct tl_judged *other)
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
            yields(judged, &side->judged[i]))
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

static struct tl_judged *choose(struct tl_side *side)
{
    struct tl_judged *best = breaker(side);
    if (best)
        return best;
    for (size_t i = 0; i < side->count; i++) {
        struct tl_judged *judged = &side->judged[i];
        if (!tl_verdict_is_candidate(side, judged) || tl_verdict_explainer(side, judged))
            continue;
        if (!best || level(side, judged) < level(side, best))
            best = judged;
    }
    return best;
}

/* What would contribute, but for the verdict's cause in the same place that it yields to. */
static bool is_explained_there(const struct tl_judged *judged, const struct tl_judged *verdict)
{
    return judged->result == TL_FOUND && judged->rule->severity == TL_CONTRIBUTES && verdict &&
           yields(judged, verdict) && strcmp(judged->segment, verdict->segment) == 0;
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
        bool near = verdict && tl_verdict_is_candidate(side, judged) &&
                    level(side, judged) <= TL_NEAR_FACTOR * level(side, verdict);
        bool reach = judged->has_rung && !tl_verdict_rests(side, judged) &&
                     judged->ledger_agrees != TL_FALSE &&
                     judged->low <= TL_CONTRIBUTES_FACTOR * side->goodput.number;
        bool explained = verdict && yields(judged, verdict);
        judged->severity = explained ? TL_NOTE
                           : near    ? TL_LIMITS
                           : reach   ? TL_CONTRIBUTES
                                     : TL_NOTE;
    }
}

/* Nobody can say yet, and nothing that is known speaks against it. */
static bool is_open(const struct tl_side *side, const struct tl_judged *judged,
                    const struct tl_judged *verdict)
{
    bool undecided = judged->result == TL_CANNOT_TELL ||
                     (judged->result == TL_FOUND && judged->own_agrees == TL_UNKNOWN_TRUTH);
    if (!undecided || judged->rule->severity != TL_LIMITS)
        return false;
    if (judged->rule->overrides) /* explains no rate */
        return false;
    if (judged->rate_agrees == TL_FALSE || judged->ledger_agrees == TL_FALSE ||
        judged->own_agrees == TL_FALSE)
        return false;
    return !verdict || !judged->has_rung || judged->bps <= TL_NEAR_FACTOR * level(side, verdict);
}

/* The share of a rule's tests that already speak for its cause. */
static double promise(const struct tl_judged *judged)
{
    size_t speaking = 0;
    for (size_t i = 0; i < judged->rule->test_count; i++) {
        enum tl_truth truth = judged->traces[i].truth;
        speaking += truth == (judged->rule->tests[i].is_for ? TL_TRUE : TL_FALSE);
    }
    return judged->rule->test_count ? (double)speaking / (double)judged->rule->test_count : 0;
}

/* Derived facts have none of their own: what they are computed from has. */
static bool has_stage(const struct tl_fact *fact)
{
    return *fact->stage && strcmp(fact->stage, "derived") != 0;
}

/* Whether something that can still be measured would tell; what was tried in vain tells nobody
 * anything the next time either. */
static bool is_in_reach(const struct tl_facts *facts, const struct tl_judged *judged)
{
    uint64_t missing = judged->missing | judged->agrees_missing;
    for (size_t f = 0; f < judged->rule->scope.fact_count; f++) {
        struct tl_fact fact;
        if (!(missing >> f & 1))
            continue;
        tl_facts_get_lacking(facts, tl_judged_fact(judged, f), &fact);
        if (has_stage(&fact) && !fact.tried)
            return true;
    }
    return false;
}

struct open_rule {
    const struct tl_judged *judged;
    bool in_reach;
};

static int compare_promise(const void *left, const void *right)
{
    const struct open_rule *a = left, *b = right;
    double difference = promise(b->judged) - promise(a->judged);
    if (a->in_reach != b->in_reach)
        return a->in_reach ? -1 : 1;
    return difference > 0   ? 1
           : difference < 0 ? -1
                            : strcmp(a->judged->rule->id, b->judged->rule->id);
}

/* The open rules: those that can still be decided first, of them the most promising. */
struct open_rules {
    size_t count;
    struct open_rule *rules;
};

static struct open_rules find_open(struct tl_arena *arena, const struct tl_side *side,
                                   const struct tl_judged *chosen)
{
    struct open_rules open = {.rules = TL_ARENA_ARRAY(arena, side->count + 1, struct open_rule)};
    for (size_t i = 0; open.rules && i < side->count; i++) {
        const struct tl_judged *judged = &side->judged[i];
        if (is_open(side, judged, chosen))
            open.rules[open.count++] = (struct open_rule){judged, is_in_reach(side->facts, judged)};
    }
    if (open.count)
        qsort(open.rules, open.count, sizeof *open.rules, compare_promise);
    return open;
}

static void add_deciding(struct tl_verdict *verdict, struct tl_fact_key key)
{
    for (size_t i = 0; i < verdict->deciding_count; i++)
        if (tl_fact_key_is(verdict->deciding[i], key))
            return;
    verdict->deciding[verdict->deciding_count++] = key;
}

static void collect_deciding(struct tl_arena *arena, const struct open_rules *open,
                             struct tl_verdict *verdict)
{
    size_t room = 1;
    for (size_t i = 0; i < open->count; i++)
        room += open->rules[i].judged->rule->scope.fact_count;
    verdict->deciding = TL_ARENA_ARRAY(arena, room, struct tl_fact_key);
    for (size_t i = 0; verdict->deciding && i < open->count; i++) {
        const struct tl_judged *judged = open->rules[i].judged;
        uint64_t missing = judged->missing | judged->agrees_missing;
        for (size_t f = 0; f < judged->rule->scope.fact_count; f++)
            if (missing >> f & 1)
                add_deciding(verdict, tl_judged_fact(judged, f));
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

/* A stage whose facts would decide: it can still be run, or was run, or tried, in vain. */
struct stages {
    size_t count;
    struct tl_fact facts[8]; /* the first that each lacks */
};

static void collect_stages(const struct tl_side *side, bool tried, struct stages *ret_stages)
{
    const size_t room = sizeof ret_stages->facts / sizeof *ret_stages->facts;
    ret_stages->count = 0;
    for (size_t i = 0; i < side->verdict.deciding_count; i++) {
        struct tl_fact fact;
        tl_facts_get_lacking(side->facts, side->verdict.deciding[i], &fact);
        bool known = !has_stage(&fact) || fact.tried != tried;
        for (size_t s = 0; s < ret_stages->count && !known; s++)
            known = strcmp(ret_stages->facts[s].stage, fact.stage) == 0;
        if (!known && ret_stages->count < room)
            ret_stages->facts[ret_stages->count++] = fact;
    }
}

/* "The streams and paced stages would decide." Of those that were tried the reason instead. */
static void add_stages(struct tl_buf *text, const struct tl_side *side)
{
    struct stages open, tried;
    collect_stages(side, false, &open);
    collect_stages(side, true, &tried);
    for (size_t s = 0; s < open.count; s++)
        tl_buf_addf(text, "%s%s",
                    s == 0                ? " The "
                    : s + 1 == open.count ? " and "
                                          : ", ",
                    open.facts[s].stage);
    if (open.count)
        tl_buf_adds(text, open.count == 1 ? " stage would decide." : " stages would decide.");
    for (size_t s = 0; s < tried.count && s < TRIED_STAGES_MAX; s++) {
        tl_buf_addf(text, " What the %s stage measures would %sdecide, but is not to be had here: ",
                    tried.facts[s].stage, open.count || s ? "also " : "");
        tl_utf8_add_clean(text, tried.facts[s].reason, false);
        tl_buf_adds(text, ".");
    }
}

static char *finish_text(struct tl_arena *arena, struct tl_buf *text)
{
    char *copy = tl_arena_strdup(arena, tl_buf_text(text));
    arena->failed |= text->status != TL_OK;
    tl_buf_finish(text);
    return copy;
}

bool tl_goal_is_missed(double goal_bps, const struct tl_fact *goodput)
{
    return goal_bps > 0 && goodput->state == TL_FACT_KNOWN &&
           fmax(goodput->high, goodput->number) < CLEARLY_BELOW * goal_bps;
}

/* "Cannot tell, and here is what would decide." */
static void say_inconclusive(struct tl_arena *arena, struct tl_side *side,
                             const struct open_rules *open)
{
    struct tl_buf text = TL_BUF_INIT;
    char rate[TL_UNIT_TEXT_SIZE];
    tl_buf_addf(&text, "Cannot tell yet what holds the %s at %s.",
                tl_direction_name(side->direction), tl_format_bps(side->goodput.number, rate));
    if (tl_goal_is_missed(side->question->goal_bps, &side->goodput))
        tl_buf_addf(&text, " The goal of %s is missed, whatever the cause.",
                    tl_format_bps(side->question->goal_bps, rate));
    size_t said = 0;
    for (; said < open->count && said < UNSURE_RULES_MAX && open->rules[said].in_reach; said++) {
        const struct tl_judged *judged = open->rules[said].judged;
        tl_buf_addf(&text, " %s", tl_judged_render(arena, judged, &judged->rule->unsure, NULL));
    }
    if (!said)
        tl_buf_adds(&text, " None of the causes that were tested explains it.");
    add_stages(&text, side);
    side->verdict.state = TL_INCONCLUSIVE;
    side->verdict.undecided = true;
    side->verdict.sentence = finish_text(arena, &text);
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
        arena, tl_role_send_to(chosen->rule->role, side->direction, side->question->overheard));
    verdict->ceiling_bps = chosen->bps;
    verdict->fixed_bps = chosen->fixed;
    verdict->fixed_at_least = chosen->fixed_at_least;
    verdict->fixed_promised = tl_verdict_may_promise(side, chosen, chosen->fixed);
    verdict->fixed_stage = chosen->fixed_stage ? tl_arena_strdup(arena, chosen->fixed_stage) : NULL;
    verdict->next_cause = chosen->next ? tl_arena_strdup(arena, chosen->next->rule->cause) : NULL;
    verdict->sentence = tl_judged_render(arena, chosen, &chosen->rule->found, NULL);
    verdict->confidence = tl_confidence(arena, side, chosen, &verdict->confidence_reasons);
    if (!chosen->rule->overrides)
        return;
    /* It explains no rate, so nobody knows what the rate will be without it. */
    verdict->broken = true;
    forget_fix(verdict);
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

/* Preconditions of any verdict; true when one failed and the sentence is said. */
static bool unfit(struct tl_arena *arena, struct tl_side *side)
{
    struct tl_verdict *verdict = &side->verdict;
    const char *direction = tl_direction_name(side->direction);
    const struct tl_question *question = side->question;
    if (question->quality == TL_QUALITY_INVALID || question->quality == TL_QUALITY_ABORTED) {
        const char *reason = question->quality_reason && *question->quality_reason
                                 ? question->quality_reason
                                 : "something disturbed it";
        verdict->state = TL_VERDICT_INVALID;
        verdict->sentence =
            tl_arena_printf(arena, "The measurement of the %s cannot be used: %s. Run it again.",
                            direction, reason);
        return true;
    }
    if (breaker(side))
        return false;
    verdict->state = TL_INCONCLUSIVE;
    if (side->goodput.state != TL_FACT_KNOWN) {
        verdict->sentence = tl_arena_printf(
            arena, "The rate of the %s was not measured (%s), so nothing can be said about it.",
            direction, side->goodput.reason ? side->goodput.reason : "not measured");
        decide_single(arena, side, TL_FACT_FLOW_goodput_bps);
        return true;
    }
    double length = NAN, rtts = steady_rtts(side, &length);
    bool brief = length < TL_STEADY_NS_MIN, few = rtts < TL_STEADY_RTTS_MIN;
    if (!brief && !few)
        return false;
    char time[TL_UNIT_TEXT_SIZE];
    verdict->sentence = tl_arena_printf(
        arena,
        "The %s was steady for only %s%s: too short for a verdict, which needs 3 s and 20 round "
        "trips. Let it run longer.",
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
    tl_format_bps(side->goodput.number, rate);
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
    verdict->confidence *= 0.8;
    verdict->confidence_reasons =
        tl_arena_strdup(arena, "computed for a longer path than the one that was measured");
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
    struct open_rules open = {0};
    if (fit) {
        open = find_open(arena, side, chosen);
        collect_deciding(arena, &open, verdict);
    }
    if (fit && (breaker(side) || !say_goal(arena, side))) {
        if (chosen)
            say_limited(arena, side, chosen);
        else
            say_inconclusive(arena, side, &open);
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
