/* One rule against the facts of one direction: result, missing facts, ceiling,
 * agreement with what was measured. */
#include <math.h>
#include <string.h>

#include "judge.h"

/* applies, then all(when, not not_when). */
static void decide(struct tl_judged *judged)
{
    const struct tl_rule *rule = judged->rule;
    const struct tl_trace *traces = judged->traces;
    enum tl_truth applies = tl_logic_evaluate(rule->applies, traces);
    enum tl_truth when = tl_logic_evaluate(rule->when, traces);
    enum tl_truth not_when = rule->not_when ? tl_logic_evaluate(rule->not_when, traces) : TL_FALSE;
    if (applies == TL_FALSE) {
        judged->result = TL_NOT_APPLICABLE;
    } else if (when == TL_FALSE || not_when == TL_TRUE) {
        judged->result = TL_RULED_OUT;
    } else if (applies == TL_TRUE && when == TL_TRUE && not_when == TL_FALSE) {
        judged->result = TL_FOUND;
    } else {
        judged->result = TL_CANNOT_TELL;
        judged->missing = tl_logic_missing(rule->applies, traces) |
                          tl_logic_missing(rule->when, traces) |
                          (rule->not_when ? tl_logic_missing(rule->not_when, traces) : 0);
    }
}

static double bound(const struct tl_formula *formula, const struct tl_formula_env *env,
                    double fallback)
{
    if (!formula->code)
        return fallback;
    struct tl_value value = tl_formula_evaluate(formula, env);
    return value.known && value.number >= 0 ? value.number : fallback;
}

/* A ceiling that is the measured rate itself: it explains that rate and bounds no other. */
static bool is_the_rate(const struct tl_formula *formula, const struct tl_formula_scope *scope)
{
    return formula->code_count == 1 && formula->code[0].op == TL_OP_FACT &&
           scope->facts[formula->code[0].index].fact == TL_FACT_FLOW_goodput_bps;
}

static void take_ceiling(struct tl_judged *judged, const struct tl_ceiling *ceiling)
{
    struct tl_value value = tl_formula_evaluate(&ceiling->bps, judged->env);
    if (!value.known || value.number <= 0) {
        judged->ceiling_missing = value.missing;
        return;
    }
    judged->has_rung = true;
    judged->ceiling = ceiling;
    judged->bps = value.number;
    judged->low = fmin(bound(&ceiling->low, judged->env, value.number), value.number);
    judged->high = fmax(bound(&ceiling->high, judged->env, value.number), value.number);
    judged->repeats_rate = is_the_rate(&ceiling->bps, &judged->rule->scope);
}

/* A ceiling is computed whatever the result: it is a rung of the ladder. */
static void find_ceiling(struct tl_judged *judged)
{
    judged->bps = judged->low = judged->high = NAN;
    if (judged->result == TL_NOT_APPLICABLE)
        return;
    for (size_t i = 0; i < judged->rule->ceiling_count; i++) {
        const struct tl_ceiling *ceiling = &judged->rule->ceilings[i];
        enum tl_truth truth = tl_logic_evaluate(ceiling->when, judged->traces);
        if (truth == TL_TRUE) {
            take_ceiling(judged, ceiling);
            return;
        }
        if (truth == TL_UNKNOWN_TRUTH) {
            judged->ceiling_missing = tl_logic_missing(ceiling->when, judged->traces);
            return;
        }
    }
}

static enum tl_truth rate_agrees(const struct tl_judged *judged, const struct tl_side *side)
{
    if (judged->rule->ceiling_count == 0)
        return TL_TRUE; /* the rule's own agrees has the say */
    if (!judged->has_rung || side->goodput.state != TL_FACT_KNOWN)
        return TL_UNKNOWN_TRUTH;
    double rate = side->goodput.number;
    return rate >= TL_AGREE_LOW * judged->low && rate <= TL_AGREE_HIGH * judged->high ? TL_TRUE
                                                                                      : TL_FALSE;
}

/* What was seen can be had: a ceiling that agrees with it is off by what it lies below it, where
 * its upper bound does too, and where the two are one number as far as the rate is known. (Rungs
 * are compared by what their formulas give; of losses, "11 Mb/s in the long run" stays below 35
 * seen.) */
static double told(const struct tl_judged *judged, const struct tl_side *side)
{
    const struct tl_fact *seen = &side->goodput;
    bool off =
        seen->number > judged->high || (seen->number > judged->bps && seen->low <= judged->bps);
    bool exceeded = judged->has_rung && judged->rate_agrees == TL_TRUE && off;
    return exceeded ? side->goodput.number : judged->bps;
}

static enum tl_truth ledger_agrees(const struct tl_judged *judged, const struct tl_side *side)
{
    if (judged->rule->ledger == TL_SHARE_NONE)
        return TL_TRUE;
    const struct tl_fact *share = &side->shares[judged->rule->ledger];
    if (share->state != TL_FACT_KNOWN)
        return TL_UNKNOWN_TRUTH;
    return share->number >= judged->rule->ledger_ratio ? TL_TRUE : TL_FALSE;
}

/* The segment of a rule in this direction. Static storage. */
static const char *segment_of(const struct tl_rule *rule, const struct tl_side *side)
{
    static const char *const places[] = {"lan", "path", "far-lan"};
    struct tl_fact fact;
    const char *segment = tl_role_segment(rule->role, side->direction);
    if (!rule->is_located)
        return segment;
    tl_facts_get(side->facts, tl_role_fact_key(rule->located_by, side->direction), &fact);
    if (fact.state != TL_FACT_KNOWN)
        return segment;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(fact.text, places[i]) == 0)
            segment = places[i];
    return segment;
}

void tl_judge_rule(struct tl_arena *arena, const struct tl_rule *rule, const struct tl_side *side,
                   struct tl_judged *ret_judged)
{
    *ret_judged = (struct tl_judged){.rule = rule,
                                     .direction = side->direction,
                                     .overheard = side->question->overheard,
                                     .segment = segment_of(rule, side),
                                     .severity = rule->severity,
                                     .fixed = NAN};
    ret_judged->env = TL_ARENA_NEW(arena, struct tl_formula_env);
    ret_judged->traces = TL_ARENA_ARRAY(arena, rule->test_count + 1, struct tl_trace);
    if (!ret_judged->env || !ret_judged->traces)
        return;
    tl_formula_env_init(ret_judged->env, &rule->scope, side->facts, side->direction);
    for (size_t i = 0; i < rule->test_count; i++)
        ret_judged->traces[i] = tl_test_evaluate(&rule->tests[i], ret_judged->env);
    decide(ret_judged);
    find_ceiling(ret_judged);
    ret_judged->rate_agrees = rate_agrees(ret_judged, side);
    ret_judged->told = told(ret_judged, side);
    ret_judged->ledger_agrees = ledger_agrees(ret_judged, side);
    ret_judged->own_agrees = tl_logic_evaluate(rule->agrees, ret_judged->traces);
    ret_judged->agrees_missing = tl_logic_missing(rule->agrees, ret_judged->traces);
}
