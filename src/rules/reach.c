/* Whether conditions can hold together: a search over the branches of `any`, and for each branch
 * whether its tests leave room for a value. */
#include "reach.h"

#include <math.h>
#include <string.h>

/* Branches tried before giving up; the rules of the program need fewer than 300. A hostile rule
 * has at most 64 tests, so this bounds the time too (P13). */
#define STEPS_MAX        4000
#define FACTS_MAX        128 /* tests of one branch */
#define PENDING_MAX      256
#define CANONICAL_MAX    2000
#define SEARCH_DEPTH_MAX 256 /* some 6 KB of stack each */

/* One test of a branch, with what it asks for. */
struct demand {
    const struct tl_rule *rule;
    const struct tl_test *test;
    bool wanted;
};

struct search {
    size_t steps, depth;
    struct demand demands[FACTS_MAX];
    size_t demand_count;
};

bool tl_formula_canonical(const struct tl_formula *formula, const struct tl_formula_scope *scope,
                          struct tl_buf *out)
{
    for (size_t i = 0; i < formula->code_count; i++) {
        const struct tl_formula_code *code = &formula->code[i];
        if (out->len > CANONICAL_MAX)
            return false;
        if (code->op == TL_OP_NUMBER)
            tl_buf_addf(out, "%.17g ", code->number);
        else if (code->op == TL_OP_FACT)
            tl_buf_addf(out, "%s ", scope->fact_ids[code->index]);
        else if (code->op == TL_OP_FACT_LOW || code->op == TL_OP_FACT_HIGH)
            tl_buf_addf(out, "%s#%d ", scope->fact_ids[code->index], (int)code->op);
        else if (code->op == TL_OP_NAME && code->index < scope->name_count) {
            if (!tl_formula_canonical(&scope->formulas[code->index], scope, out))
                return false;
        } else
            tl_buf_addf(out, "@%d/%u ", (int)code->op, code->argc);
    }
    return out->status == TL_OK;
}

static bool is_constant(const struct tl_formula *formula, const struct tl_formula_scope *scope,
                        double *ret_number)
{
    struct tl_formula_env env = {.scope = scope};
    if (formula->facts != 0)
        return false;
    for (size_t i = 0; i < scope->name_count; i++)
        if (scope->formulas[i].facts == 0)
            env.names[i] = tl_formula_evaluate(&scope->formulas[i], &env);
    struct tl_value value = tl_formula_evaluate(formula, &env);
    *ret_number = value.number;
    return value.known && !value.text;
}

/* What a test asks of a formula: the signs of (subject - other) that it takes, bit 0: <, 1: =,
 * 2: >. `other` is a constant or a formula. */
struct relation {
    struct tl_buf subject, other; /* canonical; other empty where it is a constant */
    double constant;
    unsigned signs;
    bool comparable;
};

static unsigned mirror(unsigned signs)
{
    return (signs & 2) | (signs & 1) << 2 | (signs & 4) >> 2;
}

static unsigned signs_of(enum tl_compare compare, bool wanted)
{
    static const unsigned signs[] = {
        [TL_LT] = 1, [TL_LE] = 3, [TL_GT] = 4, [TL_GE] = 6, [TL_EQ] = 2, [TL_NE] = 5};
    return wanted ? signs[compare] : 7u & ~signs[compare];
}

static void relation_finish(struct relation *relation)
{
    tl_buf_finish(&relation->subject);
    tl_buf_finish(&relation->other);
}

static struct relation relate(const struct demand *demand)
{
    const struct tl_test *test = demand->test;
    const struct tl_formula_scope *scope = &demand->rule->scope;
    struct relation relation = {.constant = NAN};
    double left, right;
    bool left_is = is_constant(&test->left, scope, &left),
         right_is = is_constant(&test->right, scope, &right);
    relation.signs = signs_of(test->compare, demand->wanted);
    if (left_is && right_is) {
        relation.constant = right;
        tl_buf_addf(&relation.subject, "%.17g ", left);
        relation.comparable = true;
        return relation;
    }
    if (left_is)
        relation.signs = mirror(relation.signs);
    relation.constant = left_is ? left : right_is ? right : (double)NAN;
    relation.comparable =
        tl_formula_canonical(left_is ? &test->right : &test->left, scope, &relation.subject);
    if (!left_is && !right_is)
        relation.comparable &= tl_formula_canonical(&test->right, scope, &relation.other);
    /* Of two formulas the smaller text comes first, so that a < b and b > a are the same. */
    if (relation.other.len && strcmp(relation.subject.data, relation.other.data) > 0) {
        struct tl_buf swap = relation.subject;
        relation.subject = relation.other;
        relation.other = swap;
        relation.signs = mirror(relation.signs);
    }
    return relation;
}

/* Whether some number has the asked sign against both constants. */
static bool leaves_room(const struct relation *a, const struct relation *b)
{
    /* Candidates: the constants, what lies between them, and beyond either. */
    double candidates[] = {a->constant, b->constant, a->constant / 2 + b->constant / 2,
                           fmin(a->constant, b->constant) - fabs(a->constant) - 1,
                           fmax(a->constant, b->constant) + fabs(b->constant) + 1};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        double x = candidates[i];
        unsigned sign_a = x < a->constant ? 1 : x > a->constant ? 4 : 2;
        unsigned sign_b = x < b->constant ? 1 : x > b->constant ? 4 : 2;
        if ((a->signs & sign_a) && (b->signs & sign_b))
            return true;
    }
    return false;
}

/* Amounts, rates, shares and counts are never negative; a yes or no is nothing between. */
static bool suits_its_unit(const struct demand *demand, const struct relation *relation)
{
    const struct tl_formula *fact = &demand->test->left;
    bool single = fact->code_count == 1 && fact->code[0].op == TL_OP_FACT;
    bool positive = fact->unit == TL_UNIT_BPS || fact->unit == TL_UNIT_BYTES ||
                    fact->unit == TL_UNIT_RATIO || fact->unit == TL_UNIT_COUNT;
    if (!single || isnan(relation->constant))
        return true;
    if (positive) {
        struct relation least = {.constant = 0, .signs = 6};
        return leaves_room(relation, &least);
    }
    return true;
}

static bool relations_agree(const struct demand *left, const struct demand *right)
{
    struct relation a = relate(left), b = relate(right);
    bool agree = true;
    if (a.comparable && b.comparable &&
        strcmp(tl_buf_text(&a.subject), tl_buf_text(&b.subject)) == 0) {
        if (!isnan(a.constant) && !isnan(b.constant))
            agree = left->test->left.unit == TL_UNIT_BOOL && a.constant != b.constant
                        ? (a.signs == 2) != (b.signs == 2)
                        : leaves_room(&a, &b);
        else if (a.other.len && strcmp(tl_buf_text(&a.other), tl_buf_text(&b.other)) == 0)
            agree = (a.signs & b.signs) != 0;
    }
    relation_finish(&a);
    relation_finish(&b);
    return agree;
}

static bool takes_text(const struct demand *demand, const char *text)
{
    bool listed = false;
    for (size_t i = 0; i < demand->test->text_count; i++)
        listed |= strcmp(demand->test->texts[i], text) == 0;
    return (demand->test->compare == TL_NE ? !listed : listed) == demand->wanted;
}

/* Of two demands on one text fact: if either names what it takes, one of those must do. */
static bool texts_agree(const struct demand *left, const struct demand *right)
{
    const struct demand *pair[] = {left, right};
    if (strcmp(left->test->left.text, right->test->left.text) != 0)
        return true;
    for (size_t p = 0; p < 2; p++) {
        const struct demand *demand = pair[p];
        if ((demand->test->compare == TL_NE) == demand->wanted)
            continue; /* takes all but some */
        for (size_t i = 0; i < demand->test->text_count; i++)
            if (takes_text(demand, demand->test->texts[i]) &&
                takes_text(pair[1 - p], demand->test->texts[i]))
                return true;
        return false;
    }
    return true;
}

static bool demands_agree(const struct demand *left, const struct demand *right)
{
    bool left_text = left->test->text_count > 0, right_text = right->test->text_count > 0;
    if (left->test == right->test)
        return left->wanted == right->wanted;
    if (left_text != right_text)
        return true;
    return left_text ? texts_agree(left, right) : relations_agree(left, right);
}

/* A test alone: constants on both sides, or a number that the fact never has. */
static bool demand_may_hold(const struct demand *demand)
{
    double left, right;
    if (demand->test->text_count)
        return true;
    struct relation relation = relate(demand);
    bool may = suits_its_unit(demand, &relation);
    relation_finish(&relation);
    if (is_constant(&demand->test->left, &demand->rule->scope, &left) &&
        is_constant(&demand->test->right, &demand->rule->scope, &right))
        may = signs_of(demand->test->compare, demand->wanted) & (left < right   ? 1u
                                                                 : left > right ? 4u
                                                                                : 2u);
    return may;
}

static bool solve(struct search *search, const struct tl_goal *pending, size_t count);

static bool solve_test(struct search *search, struct tl_goal goal, const struct tl_goal *pending,
                       size_t count)
{
    struct demand demand = {goal.rule, &goal.rule->tests[goal.logic->test], goal.wanted};
    if (search->demand_count == FACTS_MAX)
        return true;
    if (!demand_may_hold(&demand))
        return false;
    for (size_t i = 0; i < search->demand_count; i++)
        if (!demands_agree(&search->demands[i], &demand))
            return false;
    search->demands[search->demand_count++] = demand;
    bool may = solve(search, pending, count);
    search->demand_count--;
    return may;
}

/* Takes the last goal apart: what must hold together is added, what may hold is tried in turn. */
static bool solve_parts(struct search *search, const struct tl_goal *pending, size_t count)
{
    struct tl_goal goal = pending[count - 1], stack[PENDING_MAX];
    const struct tl_logic *logic = goal.logic;
    if (count + logic->child_count > PENDING_MAX)
        return true;
    memcpy(stack, pending, (count - 1) * sizeof *stack);
    bool wanted = logic->kind == TL_LOGIC_NOT ? !goal.wanted : goal.wanted;
    bool together = logic->kind == TL_LOGIC_NOT || (logic->kind == TL_LOGIC_ALL) == wanted;
    size_t at = count - 1;
    for (size_t i = logic->child_count; i-- > 0;) {
        stack[at] = (struct tl_goal){goal.rule, logic->children[i], wanted};
        if (together)
            at++;
        else if (solve(search, stack, count))
            return true;
    }
    return together && solve(search, stack, at);
}

static bool solve(struct search *search, const struct tl_goal *pending, size_t count)
{
    if (count == 0 || search->steps++ >= STEPS_MAX || search->depth >= SEARCH_DEPTH_MAX)
        return true;
    const struct tl_goal *goal = &pending[count - 1];
    bool may;
    search->depth++;
    if (!goal->logic)
        may = goal->wanted && solve(search, pending, count - 1);
    else if (goal->logic->kind == TL_LOGIC_TEST)
        may = solve_test(search, *goal, pending, count - 1);
    else
        may = solve_parts(search, pending, count);
    search->depth--;
    return may;
}

bool tl_goals_may_hold(const struct tl_goal *goals, size_t count)
{
    struct search search = {.steps = 0};
    struct tl_goal pending[PENDING_MAX];
    memcpy(pending, goals, count * sizeof *goals);
    return solve(&search, pending, count);
}

static size_t goals_of(const struct tl_rule *rule, struct tl_goal *ret_goals)
{
    ret_goals[0] = (struct tl_goal){rule, rule->when, true};
    ret_goals[1] = (struct tl_goal){rule, rule->applies, true};
    if (!rule->not_when)
        return 2;
    ret_goals[2] = (struct tl_goal){rule, rule->not_when, false};
    return 3;
}

bool tl_rule_may_be_found(const struct tl_rule *rule)
{
    struct tl_goal goals[TL_GOALS_MAX];
    return tl_goals_may_hold(goals, goals_of(rule, goals));
}

bool tl_rules_may_meet(const struct tl_rule *rule, const struct tl_rule *other)
{
    /* What they apply to is little and often settles it: beneath all the rest it is asked anew for
     * each way in which the rest may hold, more often than the search goes on. */
    struct tl_goal goals[TL_GOALS_MAX] = {{rule, rule->applies, true},
                                          {other, other->applies, true}};
    if (!tl_goals_may_hold(goals, 2))
        return false;
    size_t count = goals_of(rule, goals);
    return tl_goals_may_hold(goals, count + goals_of(other, goals + count));
}

static bool needs_only_facts_of(const struct tl_rule *rule, const struct tl_rule *other)
{
    for (size_t i = 0; i < rule->scope.fact_count; i++) {
        bool shared = false;
        for (size_t k = 0; k < other->scope.fact_count; k++)
            shared |= strcmp(rule->scope.fact_ids[i], other->scope.fact_ids[k]) == 0;
        if (!shared)
            return false;
    }
    return true;
}

bool tl_rule_implies(const struct tl_rule *rule, const struct tl_rule *other)
{
    struct tl_goal goals[TL_GOALS_MAX], parts[TL_GOALS_MAX];
    size_t count = goals_of(rule, goals), other_count = goals_of(other, parts);
    if (!needs_only_facts_of(other, rule) || !tl_rule_may_be_found(rule))
        return false;
    /* Found, and yet one part of the other fails: possible? */
    for (size_t i = 0; i < other_count; i++) {
        goals[count] = parts[i];
        goals[count].wanted = !parts[i].wanted;
        if (tl_goals_may_hold(goals, count + 1))
            return false;
    }
    return true;
}
