/* How each rule stands to the verdict: why it was named, or what kept it from being named.
 * Says what verdict.c decided and decides nothing itself. */
#include <math.h>

#include "judge.h"
#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"

static const struct tl_judged *verdict_of(const struct tl_side *side)
{
    for (size_t i = 0; i < side->count; i++)
        if (side->judged[i].is_verdict)
            return &side->judged[i];
    return NULL;
}

/* Reasons follow one another as sentences. */
static void begin(struct tl_buf *text)
{
    if (text->len)
        tl_buf_adds(text, " ");
}

/* "Its rung lies at 5.2 Mb/s (5.1 Mb/s to 5.3 Mb/s)" */
static void add_rung(struct tl_buf *text, const struct tl_side *side,
                     const struct tl_judged *judged)
{
    char rate[TL_UNIT_TEXT_SIZE], low[TL_UNIT_TEXT_SIZE], high[TL_UNIT_TEXT_SIZE];
    double most = fmax(judged->high, judged->told);
    tl_buf_addf(text, "Its rung lies at %s",
                tl_format_bps_known(judged->told, tl_judged_doubt(side, judged), rate));
    if (judged->low < judged->told || most > judged->told)
        tl_buf_addf(text, " (%s to %s)", tl_format_bps(judged->low, low),
                    tl_format_bps(most, high));
}

static void add_rate_agreement(struct tl_buf *text, const struct tl_side *side,
                               const struct tl_judged *judged)
{
    char rate[TL_UNIT_TEXT_SIZE];
    if (!judged->has_rung || side->goodput.state != TL_FACT_KNOWN)
        return;
    bool above = side->goodput.number < TL_AGREE_LOW * judged->low;
    begin(text);
    add_rung(text, side, judged);
    tl_format_bps_bounded(side->goodput.number, side->goodput.low, side->goodput.high, rate);
    if (judged->rate_agrees == TL_TRUE)
        tl_buf_addf(text, ", and the measured %s agrees with it.", rate);
    else
        tl_buf_addf(text,
                    ", %s the measured %s: the two agree from %g of the lower to %g of the upper "
                    "bound.",
                    above ? "higher than" : "lower than", rate, TL_AGREE_LOW, TL_AGREE_HIGH);
}

static void add_ledger(struct tl_buf *text, const struct tl_side *side,
                       const struct tl_judged *judged)
{
    const struct tl_rule *rule = judged->rule;
    if (rule->ledger == TL_SHARE_NONE)
        return;
    const struct tl_fact *share = &side->shares[rule->ledger];
    begin(text);
    if (share->state != TL_FACT_KNOWN) {
        tl_buf_adds(text, "The time ledger is not known (");
        tl_utf8_add_clean(text, share->reason && *share->reason ? share->reason : "not measured",
                          false);
        tl_buf_adds(text, "), which only lowers confidence.");
    } else {
        tl_buf_addf(text, "The time ledger gives \"%s\" %.1f %% of the time; from %g %% on it %s.",
                    tl_share_name(rule->ledger), 100 * share->number, 100 * rule->ledger_ratio,
                    judged->ledger_agrees == TL_TRUE ? "speaks for this cause, so they agree"
                                                     : "would speak for this cause");
    }
}

static void add_unknown(struct tl_buf *text, const struct tl_judged *judged)
{
    const char *between = "";
    for (size_t i = 0; i < judged->rule->scope.fact_count; i++) {
        if (!(judged->agrees_missing >> i & 1))
            continue;
        struct tl_fact_key key = tl_judged_fact(judged, i);
        char id[TL_FACT_ID_SIZE];
        tl_buf_addf(text, "%s%s (stage %s)", between, tl_fact_id(key, id),
                    tl_fact_def(key.fact)->stage);
        between = ", ";
    }
}

static void add_own(struct tl_arena *arena, struct tl_buf *text, const struct tl_judged *judged)
{
    if (judged->own_agrees == TL_TRUE)
        return;
    begin(text);
    if (judged->own_agrees == TL_FALSE) {
        tl_buf_adds(text, "The rule's further condition for being the verdict does not hold.");
        return;
    }
    tl_buf_adds(text, "Whether the rule's further condition for being the verdict holds is not "
                      "known");
    if (judged->agrees_missing) {
        tl_buf_adds(text, ": ");
        add_unknown(text, judged);
    }
    tl_buf_adds(text, ".");
}

/* What keeps a candidate from being the verdict. */
static void add_rivals(struct tl_buf *text, const struct tl_side *side,
                       const struct tl_judged *judged, const struct tl_judged *verdict)
{
    const struct tl_judged *explainer = tl_verdict_explainer(side, judged);
    char rate[TL_UNIT_TEXT_SIZE];
    begin(text);
    if (explainer)
        tl_buf_addf(text, "It agrees, but yields to %s, which explains what it shows.",
                    explainer->rule->cause);
    else if (!verdict)
        tl_buf_adds(text, side->verdict.state == TL_GOAL_MET
                              ? "It agrees, but the goal is met: no cause needs to be named."
                              : "It agrees, but the measurement is not fit for a verdict.");
    else if (verdict->has_rung)
        tl_buf_addf(text,
                    "It agrees too, but the verdict is the lowest rung that agrees: %s at %s.",
                    verdict->rule->cause,
                    tl_format_bps_known(verdict->told, tl_judged_doubt(side, verdict), rate));
    else
        tl_buf_addf(text, "It agrees too, but the verdict, %s, stands at the measured rate.",
                    verdict->rule->cause);
}

static void add_verdict(struct tl_buf *text, const struct tl_judged *judged)
{
    begin(text);
    tl_buf_adds(text, judged->rule->overrides
                          ? "It broke the transfer and so goes before every other cause."
                          : "No lower rung agrees: it is the verdict.");
}

static void add_found(struct tl_arena *arena, struct tl_buf *text, const struct tl_side *side,
                      const struct tl_judged *judged, const struct tl_judged *verdict)
{
    const struct tl_rule *rule = judged->rule;
    if (rule->severity != TL_LIMITS) {
        tl_buf_adds(text, rule->severity == TL_NOTE
                              ? "By its nature it is a note: it does not limit a rate."
                              : "By its nature it contributes and never is the verdict.");
        return;
    }
    if (judged->is_verdict && rule->overrides) {
        add_verdict(text, judged);
        return;
    }
    add_rate_agreement(text, side, judged);
    if (rule->ceiling_count && !judged->has_rung) {
        begin(text);
        tl_buf_adds(text, "It has no rung, so nobody can say whether it agrees with the rate.");
    }
    add_ledger(text, side, judged);
    add_own(arena, text, judged);
    if (judged->is_verdict) {
        add_verdict(text, judged);
        return;
    }
    if (verdict && verdict->rule->overrides) {
        begin(text);
        tl_buf_addf(text, "It is overridden by %s, which broke the transfer.",
                    verdict->rule->cause);
    } else if (tl_verdict_rests(side, judged)) {
        begin(text);
        tl_buf_adds(text, side->disturbed
                              ? "Every cause rests: something else disturbed the measurement."
                              : "Causes of the network rest: a program waited for a core.");
    } else if (tl_verdict_is_candidate(side, judged)) {
        add_rivals(text, side, judged, verdict);
    }
}

char *tl_standing_text(struct tl_arena *arena, const struct tl_side *side,
                       const struct tl_judged *judged)
{
    struct tl_buf text = TL_BUF_INIT;
    const struct tl_judged *verdict = verdict_of(side);
    if (judged->is_verdict && side->question->goal_bps > 0 &&
        side->goodput.number >= side->question->goal_bps && !judged->rule->overrides)
        tl_buf_adds(&text, "Over the goal's round-trip time it is the lowest rung.");
    else if (judged->result == TL_FOUND)
        add_found(arena, &text, side, judged, verdict);
    else if (judged->has_rung)
        add_rate_agreement(&text, side, judged);
    char *copy = tl_arena_strdup(arena, tl_buf_text(&text));
    arena->failed |= text.status != TL_OK;
    tl_buf_finish(&text);
    return copy;
}
