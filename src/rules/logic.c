/* Kleene's tables. */
#include "logic.h"

#include <string.h>

static const char *const compare_names[] = {
    [TL_LT] = "<",  [TL_LE] = "<=", [TL_GT] = ">",  [TL_GE] = ">=",
    [TL_EQ] = "==", [TL_NE] = "!=", [TL_IN] = "in",
};

const char *tl_compare_name(enum tl_compare compare)
{
    return compare_names[compare];
}

enum tl_truth tl_truth_not(enum tl_truth truth)
{
    return truth == TL_UNKNOWN_TRUTH ? truth : truth == TL_TRUE ? TL_FALSE : TL_TRUE;
}

static bool compare_numbers(enum tl_compare compare, double a, double b)
{
    switch (compare) {
    case TL_LT:
        return a < b;
    case TL_LE:
        return a <= b;
    case TL_GT:
        return a > b;
    case TL_GE:
        return a >= b;
    case TL_NE:
        return a != b;
    default:
        return a == b;
    }
}

struct tl_trace tl_test_evaluate(const struct tl_test *test, const struct tl_formula_env *env)
{
    struct tl_trace trace = {.truth = TL_UNKNOWN_TRUTH,
                             .left = tl_formula_evaluate(&test->left, env)};
    if (test->text_count == 0)
        trace.right = tl_formula_evaluate(&test->right, env);
    else
        trace.right.known = true;
    if (!trace.left.known || !trace.right.known)
        return trace;
    bool holds = false;
    if (test->text_count == 0) {
        holds = compare_numbers(test->compare, trace.left.number, trace.right.number);
    } else {
        for (size_t i = 0; i < test->text_count; i++)
            holds |= strcmp(trace.left.text, test->texts[i]) == 0;
        holds ^= test->compare == TL_NE;
    }
    trace.truth = holds ? TL_TRUE : TL_FALSE;
    return trace;
}

enum tl_truth tl_logic_evaluate(const struct tl_logic *logic, const struct tl_trace *traces)
{
    if (!logic)
        return TL_TRUE;
    if (logic->kind == TL_LOGIC_TEST)
        return traces[logic->test].truth;
    if (logic->kind == TL_LOGIC_NOT)
        return tl_truth_not(tl_logic_evaluate(logic->children[0], traces));
    /* The truths are ordered, so that all is the least and any the greatest of them. */
    bool all = logic->kind == TL_LOGIC_ALL;
    enum tl_truth truth = all ? TL_TRUE : TL_FALSE;
    for (size_t i = 0; i < logic->child_count; i++) {
        enum tl_truth child = tl_logic_evaluate(logic->children[i], traces);
        if (all ? child < truth : child > truth)
            truth = child;
    }
    return truth;
}

tl_fact_set tl_logic_missing(const struct tl_logic *logic, const struct tl_trace *traces)
{
    if (!logic || tl_logic_evaluate(logic, traces) != TL_UNKNOWN_TRUTH)
        return 0;
    if (logic->kind == TL_LOGIC_TEST)
        return traces[logic->test].left.missing | traces[logic->test].right.missing;
    tl_fact_set missing = 0;
    for (size_t i = 0; i < logic->child_count; i++)
        missing |= tl_logic_missing(logic->children[i], traces);
    return missing;
}

static tl_test_set tests_of(const struct tl_logic *logic)
{
    if (logic->kind == TL_LOGIC_TEST)
        return (tl_test_set)1 << logic->test;
    tl_test_set tests = 0;
    for (size_t i = 0; i < logic->child_count; i++)
        tests |= tests_of(logic->children[i]);
    return tests;
}

tl_test_set tl_logic_spare(const struct tl_logic *logic, const struct tl_trace *traces)
{
    if (!logic || logic->kind == TL_LOGIC_TEST)
        return 0;
    bool decided = logic->kind == TL_LOGIC_ANY && tl_logic_evaluate(logic, traces) == TL_TRUE;
    tl_test_set spare = 0;
    for (size_t i = 0; i < logic->child_count; i++) {
        const struct tl_logic *child = logic->children[i];
        spare |= decided && tl_logic_evaluate(child, traces) != TL_TRUE
                     ? tests_of(child)
                     : tl_logic_spare(child, traces);
    }
    return spare;
}
