/* How sure a verdict is, as a number and as reasons a person can check. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "judge.h"
#include "tightlink/base/units.h"

/* Nothing measured on one run is certain. */
#define CONFIDENCE_MAX 0.97

/* A rung that is the measured rate agrees with it always: that confirms nothing. As a model that
 * misses the rate by a factor of one and a half, by judgement. */
#define REPEATED 0.88

struct weighing {
    double confidence;
    struct tl_buf reasons;
};

static void weigh(struct weighing *w, double factor, const char *reason)
{
    w->confidence *= factor;
    tl_buf_addf(&w->reasons, "%s%s", w->reasons.len ? "; " : "", reason);
}

static bool is_support(const struct tl_rule *rule, size_t test)
{
    for (size_t i = 0; i < rule->support_count; i++)
        if (rule->supports[i] == test)
            return true;
    return false;
}

/* The share of tests that had their facts; supporting evidence that spoke against the cause. */
static void weigh_evidence(struct weighing *w, const struct tl_judged *judged)
{
    const struct tl_rule *rule = judged->rule;
    size_t known = 0, contrary = 0;
    for (size_t i = 0; i < rule->test_count; i++) {
        enum tl_truth truth = judged->traces[i].truth;
        known += truth != TL_UNKNOWN_TRUTH;
        contrary += is_support(rule, i) && truth == TL_FALSE;
    }
    char text[96];
    snprintf(text, sizeof text, "%zu of %zu tests had their facts", known, rule->test_count);
    double share = rule->test_count ? (double)known / (double)rule->test_count : 1;
    weigh(w, 0.7 + 0.3 * share, text);
    if (contrary) {
        snprintf(text, sizeof text, "%zu supporting %s against it", contrary,
                 contrary == 1 ? "test speaks" : "tests speak");
        weigh(w, pow(0.85, (double)contrary), text);
    }
}

/* Agreement within the bounds is what made it a candidate; how near the rate came to the ceiling
 * itself is how well the model fits: a fifth less for each factor of two, at most 0.6. */
static void weigh_agreement(struct weighing *w, const struct tl_side *side,
                            const struct tl_judged *judged)
{
    if (!judged->has_rung)
        return;
    if (judged->repeats_rate) {
        weigh(w, REPEATED, "its ceiling only repeats the rate that was seen");
        return;
    }
    double share = side->goodput.number / judged->bps;
    char text[128], ceiling[TL_UNIT_TEXT_SIZE];
    snprintf(text, sizeof text, "the rate is %.0f %% of the ceiling %s", 100 * share,
             tl_format_bps_bounded(judged->bps, judged->low, judged->high, ceiling));
    weigh(w, fmax(1 - 0.2 * fabs(log2(share)), 0.6), text);
    if (judged->high > 3 * judged->low)
        weigh(w, 0.9, "the ceiling's bounds are wide");
}

static void weigh_steadiness(struct weighing *w, const struct tl_side *side)
{
    const struct tl_fact *goodput = &side->goodput;
    double spread = (goodput->high - goodput->low) / goodput->number;
    if (spread > 0.3)
        weigh(w, 0.75, "the rate varied much");
    else if (spread > 0.1)
        weigh(w, 0.9, "the rate varied");
}

static void weigh_rivals(struct weighing *w, const struct tl_side *side,
                         const struct tl_judged *judged)
{
    bool near = false;
    for (size_t i = 0; i < side->count; i++)
        near |= &side->judged[i] != judged && side->judged[i].result == TL_FOUND &&
                side->judged[i].severity == TL_LIMITS &&
                side->judged[i].rule->severity == TL_LIMITS;
    if (near)
        weigh(w, 0.85, "another cause lies within 15 %");
    if (judged->ledger_agrees == TL_UNKNOWN_TRUTH)
        weigh(w, 0.85, "the time ledger is not known");
}

double tl_confidence(struct tl_arena *arena, const struct tl_side *side,
                     const struct tl_judged *judged, char **ret_reasons)
{
    struct weighing w = {.confidence = CONFIDENCE_MAX};
    weigh_agreement(&w, side, judged);
    weigh_evidence(&w, judged);
    weigh_steadiness(&w, side);
    weigh_rivals(&w, side, judged);
    if (side->question->quality == TL_QUALITY_DEGRADED) {
        const char *reason = side->question->quality_reason;
        weigh(&w, 0.7, reason && *reason ? reason : "the measurement was disturbed");
    }
    *ret_reasons = tl_arena_strdup(arena, tl_buf_text(&w.reasons));
    arena->failed |= w.reasons.status != TL_OK;
    tl_buf_finish(&w.reasons);
    return w.confidence;
}
