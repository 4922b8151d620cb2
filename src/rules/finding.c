/* Turns a judged rule into a finding: sentences with their numbers, evidence,
 * missing facts, remedies. */
#include <math.h>
#include <string.h>

#include "judge.h"
#include "tightlink/base/utf8.h"

/* The sentence that fits what the test saw. */
static char *evidence_text(struct tl_arena *arena, const struct tl_judged *judged,
                           const struct tl_test *test, const struct tl_trace *trace)
{
    if (trace->truth == TL_TRUE && test->say.text)
        return tl_judged_render(arena, judged, &test->say);
    if (trace->truth == TL_FALSE && test->against.text)
        return tl_judged_render(arena, judged, &test->against);
    if (trace->truth != TL_UNKNOWN_TRUTH)
        return tl_arena_printf(arena, "%s is %s", test->written, tl_truth_name(trace->truth));
    tl_fact_set missing = trace->left.missing | trace->right.missing;
    const char *problem = trace->left.problem ? trace->left.problem : trace->right.problem;
    if (missing)
        problem = tl_judged_lacking(arena, judged, missing);
    return tl_arena_printf(arena, "not tested: %s", problem ? problem : "no value");
}

/* A text fact may come from the other end (promise P12). */
static char *clean_copy(struct tl_arena *arena, const char *text)
{
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text, false);
    return tl_judged_keep_text(arena, &clean);
}

static void fill_values(struct tl_arena *arena, const struct tl_judged *judged,
                        const struct tl_test *test, struct tl_evidence *evidence)
{
    const struct tl_formula_scope *scope = &judged->rule->scope;
    tl_fact_set set = test->left.facts | test->right.facts;
    size_t count = tl_fact_set_count(set);
    evidence->values = TL_ARENA_ARRAY(arena, count + 1, struct tl_evidence_value);
    if (!evidence->values)
        return;
    for (size_t i = 0; i < scope->fact_count; i++) {
        if (!(set >> i & 1))
            continue;
        const struct tl_fact *fact = &judged->env->facts[i];
        bool known = fact->state == TL_FACT_KNOWN, text = fact->unit == TL_UNIT_TEXT;
        evidence->values[evidence->value_count++] = (struct tl_evidence_value){
            .key = tl_judged_fact(judged, i),
            .known = known,
            .number = known && !text ? fact->number : (double)NAN,
            .text = known && text ? clean_copy(arena, fact->text) : NULL,
        };
    }
}

static tl_test_set spare_tests(const struct tl_judged *judged)
{
    const struct tl_rule *rule = judged->rule;
    tl_test_set spare =
        tl_logic_spare(rule->applies, judged->traces) | tl_logic_spare(rule->when, judged->traces);
    for (size_t i = 0; i < rule->ceiling_count; i++)
        spare |= tl_logic_spare(rule->ceilings[i].when, judged->traces);
    return spare;
}

/* Its rule has no sentence for this outcome, for it speaks for nothing. */
static bool has_no_words(const struct tl_test *test, enum tl_truth truth)
{
    return (truth == TL_TRUE && !test->say.text) || (truth == TL_FALSE && !test->against.text);
}

/* Nobody measured what it asks about: its rule says what holds then, and that is no evidence. */
static bool rests_on_nothing(const struct tl_trace *trace)
{
    return trace->left.is_assumed || trace->right.is_assumed;
}

static void fill_evidence(struct tl_arena *arena, const struct tl_judged *judged,
                          struct tl_finding *finding)
{
    const struct tl_rule *rule = judged->rule;
    finding->evidence = TL_ARENA_ARRAY(arena, rule->test_count + 1, struct tl_evidence);
    if (!finding->evidence)
        return;
    tl_test_set spare = spare_tests(judged);
    for (size_t i = 0; i < rule->test_count; i++) {
        const struct tl_test *test = &rule->tests[i];
        const struct tl_trace *trace = &judged->traces[i];
        struct tl_evidence *evidence = &finding->evidence[finding->evidence_count++];
        *evidence = (struct tl_evidence){
            .id = tl_arena_strdup(arena, test->id),
            .say = evidence_text(arena, judged, test, trace),
            .test = tl_arena_strdup(arena, test->written),
            .truth = trace->truth,
            .is_for = trace->truth == TL_FALSE ? !test->is_for : test->is_for,
            .is_spare = (spare >> i & 1) != 0 || has_no_words(test, trace->truth) ||
                        rests_on_nothing(trace),
        };
        fill_values(arena, judged, test, evidence);
    }
}

/* A remedy for another system, or whose numbers are not known, helps nobody. */
static bool remedy_fits(const struct tl_side *side, const struct tl_judged *judged,
                        const struct tl_remedy_rule *remedy)
{
    if (tl_logic_evaluate(remedy->when, judged->traces) != TL_TRUE)
        return false;
    bool host = remedy->where == TL_ROLE_RECEIVER || remedy->where == TL_ROLE_SENDER;
    if (!*remedy->os || !host)
        return true;
    struct tl_fact os;
    enum tl_end end = remedy->where == TL_ROLE_RECEIVER ? TL_RECEIVER : TL_SENDER;
    tl_facts_get(side->facts, TL_HOST_OF(side->direction, end, os), &os);
    return os.state != TL_FACT_KNOWN || strcmp(os.text, remedy->os) == 0;
}

static double number_of(const struct tl_judged *judged, const struct tl_formula *formula)
{
    if (!formula->code)
        return (double)NAN;
    struct tl_value value = tl_formula_evaluate(formula, judged->env);
    return value.known ? value.number : (double)NAN;
}

/* The remedy's own formulas, or the next rung. A range without its upper end is open. */
static struct tl_prediction predicted(const struct tl_judged *judged,
                                      const struct tl_remedy_rule *remedy)
{
    double nan = (double)NAN;
    if (!remedy->predicted.code)
        return (struct tl_prediction){judged->fixed, nan,
                                      judged->fixed_at_least ? (double)INFINITY : nan};
    struct tl_prediction own = {number_of(judged, &remedy->predicted),
                                number_of(judged, &remedy->predicted_low),
                                number_of(judged, &remedy->predicted_high)};
    if (!remedy->predicted_high.code)
        return own;
    own.low_bps = fmin(own.low_bps, own.bps); /* fmin passes over NAN */
    own.high_bps = isfinite(own.high_bps) ? fmax(own.high_bps, own.bps) : (double)INFINITY;
    if (isinf(own.high_bps)) /* "at least": only the lower end is sure */
        own.bps = own.low_bps;
    return own;
}

/* The names live as long as the rules; the findings need one of their own. */
static struct tl_trial trial(struct tl_arena *arena, const struct tl_judged *judged,
                             const struct tl_remedy_rule *remedy)
{
    struct tl_trial trial = {.kind = remedy->trial,
                             .value = (double)NAN,
                             .name = tl_arena_strdup(arena, remedy->trial_name)};
    if (remedy->trial_value.code) {
        struct tl_value value = tl_formula_evaluate(&remedy->trial_value, judged->env);
        trial.value = value.known && value.number > 0 ? value.number : (double)NAN;
    }
    return trial;
}

/* A command, or why there is none: names in it come from the far end, or from a file. *ret_complete
 * false: a number of it is not known. */
static char *command(struct tl_arena *arena, const struct tl_judged *judged,
                     const struct tl_template *template, bool *ret_complete)
{
    struct tl_buf text = TL_BUF_INIT;
    struct tl_template_words words = tl_judged_words(judged);
    const char *unsafe;
    *ret_complete = tl_template_render_command(template, judged->env, &words, &unsafe, &text);
    if (!unsafe)
        return tl_judged_keep_text(arena, &text);
    tl_buf_finish(&text);
    *ret_complete = true;
    return tl_arena_printf(arena,
                           "No command is written here: the name that %s has cannot be written "
                           "safely, for it holds characters that a shell takes for its own.",
                           unsafe);
}

/* What was found in a part of the way is mended there, not somewhere on the whole of it. */
static const char *place(const struct tl_judged *judged, const struct tl_remedy_rule *remedy)
{
    bool found_within = judged->rule->is_located && remedy->where == TL_ROLE_PATH;
    return found_within ? judged->segment : tl_role_segment(remedy->where, judged->direction);
}

static void fill_remedies(struct tl_arena *arena, const struct tl_side *side,
                          const struct tl_judged *judged, struct tl_finding *finding)
{
    const struct tl_rule *rule = judged->rule;
    if (judged->result != TL_FOUND || !rule->remedy_count)
        return;
    finding->remedies = TL_ARENA_ARRAY(arena, rule->remedy_count, struct tl_remedy);
    if (!finding->remedies)
        return;
    for (size_t i = 0; i < rule->remedy_count; i++) {
        const struct tl_remedy_rule *from = &rule->remedies[i];
        bool complete = false, undo_complete = false, persist_complete = false;
        if (!remedy_fits(side, judged, from))
            continue;
        char *does = command(arena, judged, &from->does, &complete);
        if (!complete)
            continue;
        char *undo = command(arena, judged, &from->undo, &undo_complete);
        char *persist = command(arena, judged, &from->persist, &persist_complete);
        struct tl_prediction prediction = predicted(judged, from);
        finding->remedies[finding->remedy_count++] = (struct tl_remedy){
            .where = tl_arena_strdup(arena, place(judged, from)),
            .os = tl_arena_strdup(arena, from->os),
            .needs = tl_arena_strdup(arena, from->needs),
            .does = does,
            .undo = undo_complete ? undo : tl_arena_strdup(arena, ""),
            .persist = persist_complete ? persist : tl_arena_strdup(arena, ""),
            .why = tl_judged_render(arena, judged, &from->why),
            .risk = tl_judged_render(arena, judged, &from->risk),
            .predicted = prediction,
            .promised = tl_verdict_may_promise(side, judged, prediction.bps),
            .trial = trial(arena, judged, from),
        };
    }
}

static void fill_references(struct tl_arena *arena, const struct tl_rule *rule,
                            struct tl_finding *finding)
{
    finding->references = TL_ARENA_ARRAY(arena, rule->reference_count + 1, char *);
    if (!finding->references)
        return;
    for (size_t i = 0; i < rule->reference_count; i++)
        finding->references[finding->reference_count++] =
            tl_arena_strdup(arena, rule->references[i]);
}

static char *sentence(struct tl_arena *arena, const struct tl_judged *judged)
{
    const struct tl_rule *rule = judged->rule;
    switch (judged->result) {
    case TL_FOUND:
        return tl_judged_render(arena, judged, &rule->found);
    case TL_RULED_OUT:
        return tl_judged_render(arena, judged, &rule->ruled_out);
    case TL_CANNOT_TELL:
        return tl_judged_render(arena, judged, &rule->unsure);
    default:
        return tl_arena_strdup(arena, "");
    }
}

void tl_finding_fill(struct tl_arena *arena, const struct tl_side *side,
                     const struct tl_judged *judged, struct tl_finding *ret_finding)
{
    const struct tl_rule *rule = judged->rule;
    struct tl_sureness sureness = {0};
    if (judged->result == TL_FOUND)
        sureness = tl_sureness(arena, side, judged);
    *ret_finding = (struct tl_finding){
        .rule = tl_arena_strdup(arena, rule->id),
        .cause = tl_arena_strdup(arena, rule->cause),
        .title = tl_arena_strdup(arena, rule->title),
        .segment = tl_arena_strdup(arena, judged->segment),
        .direction = judged->direction,
        .result = judged->result,
        .severity = judged->severity,
        .confidence = sureness.confidence,
        .ceiling_bps = judged->told,
        .ceiling_low_bps = judged->low,
        .ceiling_high_bps = fmax(judged->high, judged->told),
        .sentence = sentence(arena, judged),
        .send_to =
            tl_arena_strdup(arena, tl_rule_send_to(rule, judged->direction, judged->overheard)),
        .standing = tl_standing_text(arena, side, judged),
        .would_change = tl_judged_render(arena, judged, &rule->change),
    };
    fill_evidence(arena, judged, ret_finding);
    ret_finding->missing =
        tl_judged_facts(arena, judged, judged->missing, &ret_finding->missing_count);
    fill_remedies(arena, side, judged, ret_finding);
    fill_references(arena, rule, ret_finding);
}
