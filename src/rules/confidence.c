/* How sure a verdict is. What may speak against being sure is a doubt. The number that people see
 * was counted: how many of the verdicts on emulated paths that were as doubtful as this one were
 * right (counted.json, made by tests/lab/count.py). The plan weighs further stages by it, too. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "judge.h"
#include "tightlink/base/units.h"

/* A doubt for the counts: fewer tests than that had their facts; the rate lies further than that
 * from the ceiling. */
#define KNOWN_MIN 0.9
#define FIT_LOW   0.85
#define FIT_HIGH  1.25

/* Names of doubts as counted.json has them; supporting tests have their own. */
#define REPEATS_RATE   "repeats-rate"
#define BELOW_CEILING  "below-ceiling"
#define ABOVE_CEILING  "above-ceiling"
#define WIDE_BOUNDS    "wide-bounds"
#define FACTS_MISSING  "facts-missing"
#define CONTRARY       "contrary"
#define VARIED         "varied"
#define VARIED_MUCH    "varied-much"
#define RIVAL          "rival"
#define LEDGER_UNKNOWN "ledger-unknown"
#define DISTURBED      "disturbed"

struct weighing {
    double right;          /* the share of such verdicts that is right, each doubt by itself */
    double most;           /* what the least proved doubt allows */
    bool uncounted;        /* a doubt that too few counted verdicts had */
    struct tl_buf reasons; /* for people */
};

static void say(struct weighing *w, const char *reason)
{
    tl_buf_addf(&w->reasons, "%s%s", w->reasons.len ? "; " : "", reason);
}

/* NULL: not counted. */
static const struct tl_counted_doubt *find_counted(const char *id)
{
    for (size_t i = 0; i < tl_counted_doubt_count; i++)
        if (strcmp(tl_counted_doubts[i].id, id) == 0)
            return &tl_counted_doubts[i];
    return NULL;
}

/* After the words for it. */
static void doubt(struct weighing *w, const char *id)
{
    const struct tl_counted_doubt *counted = find_counted(id);
    bool few = !counted || counted->verdicts < TL_COUNTED_MIN;
    w->uncounted |= few;
    if (!counted || (few && counted->weight >= 1))
        return;
    double best = tl_counted_levels[tl_counted_level_count - 1].low;
    if (counted->weight < 1 || counted->most < best)
        tl_buf_addf(&w->reasons, " (of %d such verdicts on emulated paths %d were right)",
                    counted->verdicts, counted->right);
    w->right *= counted->weight;
    w->most = fmin(w->most, counted->most);
}

static bool is_support(const struct tl_rule *rule, size_t test)
{
    for (size_t i = 0; i < rule->support_count; i++)
        if (rule->supports[i] == test)
            return true;
    return false;
}

/* A supporting test that speaks against the cause, where that was counted by itself: by its name,
 * in its own words. */
static void weigh_support(struct weighing *w, struct tl_arena *arena,
                          const struct tl_judged *judged, size_t test)
{
    const struct tl_test *support = &judged->rule->tests[test];
    if (!find_counted(support->id))
        return;
    say(w, tl_judged_render(arena, judged, &support->against));
    doubt(w, support->id);
}

/* How many tests had their facts; supporting evidence that spoke against the cause. */
static void weigh_evidence(struct weighing *w, struct tl_arena *arena,
                           const struct tl_judged *judged)
{
    const struct tl_rule *rule = judged->rule;
    size_t known = 0, contrary = 0;
    for (size_t i = 0; i < rule->test_count; i++) {
        enum tl_truth truth = judged->traces[i].truth;
        known += truth != TL_UNKNOWN_TRUTH;
        if (!is_support(rule, i) || truth != TL_FALSE)
            continue;
        contrary++;
        weigh_support(w, arena, judged, i);
    }
    char text[96];
    snprintf(text, sizeof text, "%zu of %zu tests had their facts", known, rule->test_count);
    say(w, text);
    double share = rule->test_count ? (double)known / (double)rule->test_count : 1;
    if (share < KNOWN_MIN)
        doubt(w, FACTS_MISSING);
    if (contrary) {
        snprintf(text, sizeof text, "%zu supporting %s against it", contrary,
                 contrary == 1 ? "test speaks" : "tests speak");
        say(w, text);
        doubt(w, CONTRARY);
    }
}

/* A mean over what was interrupted tells less than what passes between: half of the pieces passed
 * more than their median. */
static double rate_between(const struct tl_side *side)
{
    double pieces = tl_facts_number(side->facts, TL_FLOW(side->direction, piece_bps), (double)NAN);
    bool interrupted =
        tl_facts_number(side->facts, TL_FLOW(side->direction, interrupted_count), 0) > 0;
    return interrupted && pieces > side->goodput.number ? pieces : side->goodput.number;
}

/* Agreement within the bounds is what made it a candidate; how near the rate came to the ceiling
 * itself is how well the model fits. */
static void weigh_agreement(struct weighing *w, const struct tl_side *side,
                            const struct tl_judged *judged)
{
    if (!judged->has_rung)
        return;
    if (judged->repeats_rate) {
        say(w, "its ceiling only repeats the rate that was seen");
        doubt(w, REPEATS_RATE);
        return;
    }
    double rate = rate_between(side), share = rate / judged->bps;
    char text[128], ceiling[TL_UNIT_TEXT_SIZE];
    snprintf(text, sizeof text, "the rate is %.0f %% of the ceiling %s%s",
             100 * rate / judged->told,
             tl_format_bps_known(judged->told, tl_judged_doubt(side, judged), ceiling),
             rate > side->goodput.number ? " between interruptions" : "");
    say(w, text);
    if (share < FIT_LOW)
        doubt(w, BELOW_CEILING);
    if (share > FIT_HIGH)
        doubt(w, ABOVE_CEILING);
    if (judged->high > 3 * judged->low) {
        say(w, "the ceiling's bounds are wide");
        doubt(w, WIDE_BOUNDS);
    }
}

static void weigh_steadiness(struct weighing *w, const struct tl_side *side)
{
    const struct tl_fact *goodput = &side->goodput;
    double spread = (goodput->high - goodput->low) / goodput->number;
    if (spread > 0.3) {
        say(w, "the rate varied much");
        doubt(w, VARIED_MUCH);
    } else if (spread > 0.1) {
        say(w, "the rate varied");
        doubt(w, VARIED);
    }
}

static void weigh_rivals(struct weighing *w, const struct tl_side *side,
                         const struct tl_judged *judged)
{
    bool near = false;
    /* What breaks a transfer was seen to, whatever limits it beside that. */
    for (size_t i = 0; i < side->count && !judged->rule->overrides; i++)
        near |= &side->judged[i] != judged && side->judged[i].result == TL_FOUND &&
                side->judged[i].severity == TL_LIMITS &&
                side->judged[i].rule->severity == TL_LIMITS;
    if (near) {
        say(w, "another cause lies within 15 %");
        doubt(w, RIVAL);
    }
    if (judged->ledger_agrees == TL_UNKNOWN_TRUTH) {
        say(w, "the time ledger is not known");
        doubt(w, LEDGER_UNKNOWN);
    }
}

static void weigh_quality(struct weighing *w, const struct tl_question *question)
{
    if (question->quality != TL_QUALITY_DEGRADED)
        return;
    const char *reason = question->quality_reason;
    say(w, reason && *reason ? reason : "the measurement was disturbed");
    doubt(w, DISTURBED);
}

/* Levels are sorted by the score they begin at; the first holds whatever lies below. Never more
 * than the verdict's own doubts say: a good average must not lift a doubtful one. */
static double counted(const struct weighing *w, const struct tl_counted_level **ret_level)
{
    const struct tl_counted_level *level = &tl_counted_levels[0];
    for (size_t i = 1; i < tl_counted_level_count; i++)
        if (tl_counted_levels[i].score <= w->right + 1e-6)
            level = &tl_counted_levels[i];
    *ret_level = level;
    return fmin(fmin(level->low, w->right), w->most);
}

static double look_up(struct weighing *w)
{
    const struct tl_counted_level *level;
    double confidence = counted(w, &level);
    if (w->uncounted && confidence > TL_UNCOUNTED_MAX) {
        say(w, "too few were counted in these circumstances for more than medium");
        return TL_UNCOUNTED_MAX;
    }
    if (confidence < level->low)
        return confidence; /* the doubts have told their own counts */
    char text[128];
    snprintf(text, sizeof text, "of %d verdicts as sure as this on emulated paths, %d were right",
             level->verdicts, level->right);
    say(w, text);
    return confidence;
}

struct tl_sureness tl_sureness(struct tl_arena *arena, const struct tl_side *side,
                               const struct tl_judged *judged)
{
    struct weighing w = {.right = tl_counted_undoubted, .most = 1};
    weigh_agreement(&w, side, judged);
    weigh_evidence(&w, arena, judged);
    weigh_steadiness(&w, side);
    weigh_rivals(&w, side, judged);
    const struct tl_counted_level *level;
    struct tl_sureness sureness = {.undisturbed = counted(&w, &level)};
    if (w.uncounted)
        sureness.undisturbed = fmin(sureness.undisturbed, TL_UNCOUNTED_MAX);
    weigh_quality(&w, side->question);
    sureness.confidence = look_up(&w);
    sureness.reasons = tl_arena_strdup(arena, tl_buf_text(&w.reasons));
    arena->failed |= w.reasons.status != TL_OK;
    tl_buf_finish(&w.reasons);
    return sureness;
}
