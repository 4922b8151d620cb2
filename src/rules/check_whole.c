/* Unreachable and overlapping rules. */
#include "check_whole.h"

#include <stdarg.h>
#include <string.h>

#include "reach.h"

TL_PRINTF(3, 4)
static void note(struct tl_source *source, const struct tl_rule *rule, const char *fmt, ...)
{
    struct tl_error sentence;
    va_list args;
    va_start(args, fmt);
    (void)tl_error_setv(&sentence, TL_UNKNOWN, fmt, args);
    va_end(args);
    source->errors++;
    tl_buf_addf(source->report, "%s: %s\n", rule->file, sentence.text);
}

static void check_parts(struct tl_source *source, const struct tl_rule *rule)
{
    for (size_t i = 0; i < rule->ceiling_count; i++) {
        struct tl_goal goal = {rule, rule->ceilings[i].when, true};
        if (!tl_goals_may_hold(&goal, 1))
            note(source, rule, "/ceiling/%zu/when: can never hold", i);
    }
    for (size_t i = 0; i < rule->remedy_count; i++) {
        struct tl_goal goals[] = {{rule, rule->remedies[i].when, true},
                                  {rule, rule->when, true},
                                  {rule, rule->applies, true}};
        if (!tl_goals_may_hold(goals, sizeof goals / sizeof *goals))
            note(source, rule, "/remedies/%zu: can never be given when the rule is found", i);
    }
    struct tl_goal agrees[] = {
        {rule, rule->agrees, true}, {rule, rule->when, true}, {rule, rule->applies, true}};
    if (rule->agrees && !tl_goals_may_hold(agrees, sizeof agrees / sizeof *agrees))
        note(source, rule, "/agrees: can never hold when the rule is found");
}

void tl_check_reach(struct tl_source *source)
{
    for (size_t i = 0; i < source->rules->count; i++) {
        const struct tl_rule *rule = source->rules->rules[i];
        struct tl_goal no = {rule, rule->when, false}, applies = {rule, rule->applies, true},
                       excluded = {rule, rule->not_when, true};
        struct tl_goal never_out[] = {applies, no};
        if (rule->disabled)
            continue;
        if (!tl_rule_may_be_found(rule)) {
            note(source, rule,
                 "unreachable: no facts make it found; its conditions contradict "
                 "one another");
            continue;
        }
        if (!tl_goals_may_hold(never_out, 2) &&
            (!rule->not_when || !tl_goals_may_hold(&excluded, 1)))
            note(source, rule, "it can never be ruled out: its conditions always hold");
        check_parts(source, rule);
    }
}

static bool yields(const struct tl_rule *rule, const struct tl_rule *other)
{
    for (size_t i = 0; i < rule->yields_count; i++)
        if (strcmp(rule->yields_to[i], other->cause) == 0)
            return true;
    return false;
}

/* The same ceiling, or none at both: then the ladder does not tell which goes first. */
static bool share_a_rung(const struct tl_rule *rule, const struct tl_rule *other)
{
    if (rule->ceiling_count != other->ceiling_count)
        return false;
    bool same = true;
    for (size_t i = 0; i < rule->ceiling_count && same; i++) {
        struct tl_buf left = TL_BUF_INIT, right = TL_BUF_INIT;
        same = tl_formula_canonical(&rule->ceilings[i].bps, &rule->scope, &left) &&
               tl_formula_canonical(&other->ceilings[i].bps, &other->scope, &right) &&
               strcmp(tl_buf_text(&left), tl_buf_text(&right)) == 0;
        tl_buf_finish(&left);
        tl_buf_finish(&right);
    }
    return same;
}

static void check_pair(struct tl_source *source, const struct tl_rule *rule,
                       const struct tl_rule *other)
{
    if (rule->disabled || other->disabled || rule->severity != TL_LIMITS ||
        other->severity != TL_LIMITS || rule->overrides != other->overrides)
        return;
    if (strcmp(rule->cause, other->cause) == 0 && rule->role == other->role) {
        if (share_a_rung(rule, other) && tl_rules_may_meet(rule, other))
            note(source, rule,
                 "overlaps with %s (%s): both may name %s at one place on the same facts; make "
                 "them exclude one another, or one of them a note",
                 other->id, other->file, rule->cause);
        return;
    }
    if (yields(rule, other) || yields(other, rule) || !share_a_rung(rule, other))
        return;
    bool first = tl_rule_implies(rule, other), second = tl_rule_implies(other, rule);
    if (first || second)
        note(source, rule,
             "overlaps with %s (%s): whenever %s is found, so is %s, at the same rate; say with "
             "yields_to which goes first",
             other->id, other->file, first ? rule->id : other->id, first ? other->id : rule->id);
}

static bool is_replaced(const struct tl_rules *rules, const char *id)
{
    for (size_t i = 0; i < rules->count; i++)
        if (strcmp(rules->rules[i]->id, id) == 0)
            return true;
    return false;
}

void tl_check_overlaps(struct tl_source *source)
{
    const struct tl_rules *rules = source->rules;
    struct tl_rules *builtin = NULL;
    for (size_t i = 0; i < rules->count; i++)
        for (size_t k = i + 1; k < rules->count; k++)
            if (strcmp(rules->rules[i]->id, rules->rules[k]->id) != 0)
                check_pair(source, rules->rules[i], rules->rules[k]);
    if (tl_rules_load_builtin(&builtin, NULL) != TL_OK)
        return;
    for (size_t i = 0; i < rules->count; i++)
        for (size_t k = 0; k < builtin->count; k++)
            if (!is_replaced(rules, builtin->rules[k]->id))
                check_pair(source, rules->rules[i], builtin->rules[k]);
    tl_rules_destroy(builtin);
}
