/* tl_rules_explain(): a cause, or one rule, as a page for people. */
#include <string.h>

#include "page.h"
#include "rule.h"

/* A sentence with its holes named instead of filled. */
static void add_sentence(struct tl_buf *out, unsigned indent, const struct tl_rule *rule,
                         const struct tl_template *template)
{
    struct tl_buf text = TL_BUF_INIT;
    tl_template_outline(template, tl_role_name(rule->role), &text);
    tl_page_wrap(out, indent, tl_buf_text(&text));
    tl_buf_finish(&text);
}

static void add_part(struct tl_buf *out, const char *heading, const struct tl_rule *rule,
                     const struct tl_template *template)
{
    if (!template->text)
        return;
    tl_buf_addf(out, "\n%s\n", heading);
    add_sentence(out, 2, rule, template);
}

/* Why the constants of what stands above are what they are. */
static void add_because(struct tl_buf *out, unsigned indent, const char *because)
{
    struct tl_buf text = TL_BUF_INIT;
    if (because) {
        tl_buf_addf(&text, "(%s)", because);
        tl_page_wrap(out, indent, tl_buf_text(&text));
    }
    tl_buf_finish(&text);
}

static void add_test(struct tl_buf *out, const struct tl_rule *rule, const struct tl_test *test,
                     unsigned indent)
{
    tl_buf_addf(out, "%*s%s\n", (int)indent, "", test->written);
    if (test->say.text)
        add_sentence(out, indent + 4, rule, &test->say);
    add_because(out, indent + 4, test->because);
}

/* Whether a condition stands on the page already; from now on it does. */
static bool is_told(const struct tl_rule *rule, const char *id, uint64_t *told)
{
    size_t i = 0;
    while (i < rule->group_count && strcmp(rule->groups[i]->id, id) != 0)
        i++;
    uint64_t bit = UINT64_C(1) << i;
    bool was = *told & bit;
    *told |= bit;
    return was;
}

/* With sentences, each test is followed by what it means when it holds. A condition with a name
 * stands there once; told: one bit for each that does. */
static void add_logic(struct tl_buf *out, const struct tl_rule *rule, const struct tl_logic *logic,
                      bool sentences, unsigned indent, uint64_t *told)
{
    if (logic->kind == TL_LOGIC_TEST && sentences) {
        add_test(out, rule, &rule->tests[logic->test], indent);
        return;
    }
    if (logic->kind == TL_LOGIC_TEST) {
        tl_buf_addf(out, "%*s%s\n", (int)indent, "", rule->tests[logic->test].written);
        return;
    }
    static const char *const words[] = {
        [TL_LOGIC_ALL] = "all of", [TL_LOGIC_ANY] = "any of", [TL_LOGIC_NOT] = "not"};
    if (logic->id && is_told(rule, logic->id, told)) {
        tl_buf_addf(out, "%*s%s, as above\n", (int)indent, "", logic->id);
        return;
    }
    tl_buf_addf(out, "%*s%s%s%s\n", (int)indent, "", logic->id ? logic->id : "",
                logic->id ? ": " : "", words[logic->kind]);
    add_because(out, indent + 4, logic->because);
    for (size_t i = 0; i < logic->child_count; i++)
        add_logic(out, rule, logic->children[i], sentences, indent + 2, told);
}

static void add_condition(struct tl_buf *out, const struct tl_rule *rule, const char *heading,
                          const struct tl_logic *logic, uint64_t *told)
{
    if (!logic)
        return;
    tl_buf_addf(out, "\n%s\n", heading);
    add_logic(out, rule, logic, true, 2, told);
}

static void add_supports(struct tl_buf *out, const struct tl_rule *rule)
{
    if (rule->support_count)
        tl_buf_adds(out, "\nSurer when\n");
    for (size_t i = 0; i < rule->support_count; i++)
        add_test(out, rule, &rule->tests[rule->supports[i]], 2);
}

static void add_ceiling(struct tl_buf *out, const struct tl_rule *rule, uint64_t *told)
{
    if (!rule->ceiling_count)
        return;
    tl_buf_adds(out, "\nThe rate that this alone would allow\n");
    for (size_t i = 0; i < rule->ceiling_count; i++) {
        const struct tl_ceiling *ceiling = &rule->ceilings[i];
        tl_page_wrap(out, 2, ceiling->bps.text);
        if (ceiling->low.code || ceiling->high.code)
            tl_buf_addf(out, "    between %s\n    and %s\n",
                        ceiling->low.code ? ceiling->low.text : ceiling->bps.text,
                        ceiling->high.code ? ceiling->high.text : ceiling->bps.text);
        add_because(out, 4, ceiling->because);
        if (ceiling->when) {
            tl_buf_adds(out, "    when\n");
            add_logic(out, rule, ceiling->when, false, 6, told);
        }
    }
}

static void add_names(struct tl_buf *out, const struct tl_rule *rule)
{
    const struct tl_formula_scope *scope = &rule->scope;
    if (scope->name_count)
        tl_buf_adds(out, "\nNames\n");
    for (size_t i = 0; i < scope->name_count; i++) {
        tl_buf_addf(out, "  %s (%s) =\n", scope->names[i], tl_unit_name(scope->formulas[i].unit));
        tl_page_wrap(out, 6, scope->formulas[i].text);
        add_because(out, 6, scope->becauses[i]);
    }
}

static void add_facts(struct tl_buf *out, const struct tl_rule *rule)
{
    tl_buf_adds(out, "\nFacts it reads\n");
    for (size_t i = 0; i < rule->scope.fact_count; i++) {
        const struct tl_fact_def *def = tl_fact_def(rule->scope.facts[i].fact);
        tl_buf_addf(out, "  %s (stage %s)\n", rule->scope.fact_ids[i], def->stage);
        tl_page_wrap(out, 6, def->meaning);
    }
}

static void add_remedies(struct tl_buf *out, const struct tl_rule *rule)
{
    if (rule->remedy_count)
        tl_buf_adds(out, "\nWhat helps\n");
    for (size_t i = 0; i < rule->remedy_count; i++) {
        const struct tl_remedy_rule *remedy = &rule->remedies[i];
        tl_buf_addf(out, "  at the %s%s%s, needs %s\n", tl_role_name(remedy->where),
                    *remedy->os ? ", " : "", remedy->os, remedy->needs);
        add_sentence(out, 6, rule, &remedy->does);
        if (remedy->why.text)
            add_sentence(out, 8, rule, &remedy->why);
        if (remedy->risk.text)
            add_sentence(out, 8, rule, &remedy->risk);
    }
}

static void add_rule(struct tl_buf *out, const struct tl_rule *rule)
{
    const struct tl_cause *cause = tl_cause_find(rule->cause);
    uint64_t told = 0;
    tl_buf_addf(out, "%s: %s\n  cause %s (%s), at the %s, %s\n", rule->id, rule->title, rule->cause,
                cause->title, tl_role_name(rule->role), tl_severity_name(rule->severity));
    add_part(out, "What it says", rule, &rule->found);
    add_condition(out, rule, "Applies when", rule->applies, &told);
    add_condition(out, rule, "Found when", rule->when, &told);
    add_condition(out, rule, "Not when", rule->not_when, &told);
    if (rule->ledger != TL_SHARE_NONE)
        tl_buf_addf(out,
                    "\nThe verdict only when\n  the time ledger's share \"%s\" is at least %g\n",
                    tl_share_name(rule->ledger), rule->ledger_ratio);
    add_because(out, 4, rule->ledger_because);
    add_condition(out, rule, "The verdict only when it agrees", rule->agrees, &told);
    add_supports(out, rule);
    add_ceiling(out, rule, &told);
    add_names(out, rule);
    add_remedies(out, rule);
    add_part(out, "What would change it", rule, &rule->change);
    add_facts(out, rule);
    if (rule->reference_count)
        tl_buf_adds(out, "\nReferences\n");
    for (size_t i = 0; i < rule->reference_count; i++)
        tl_page_wrap(out, 2, rule->references[i]);
}

/* Many a rule has the id of its cause: then both are meant. */
enum tl_status tl_rules_explain(const struct tl_rules *rules, const char *id, struct tl_buf *out)
{
    bool found = false;
    for (size_t i = 0; i < rules->count; i++) {
        const struct tl_rule *rule = rules->rules[i];
        if (strcmp(rule->id, id) != 0 && strcmp(rule->cause, id) != 0)
            continue;
        if (found)
            tl_buf_adds(out, "\n\n");
        add_rule(out, rule);
        found = true;
    }
    return found ? out->status : TL_UNKNOWN;
}
