/* Kleene's tables, and which missing facts would decide. */
#include <criterion/criterion.h>

#include "logic.h"

static struct tl_logic leaves[3] = {{.kind = TL_LOGIC_TEST, .test = 0},
                                    {.kind = TL_LOGIC_TEST, .test = 1},
                                    {.kind = TL_LOGIC_TEST, .test = 2}};

static struct tl_trace trace(enum tl_truth truth, tl_fact_set missing)
{
    return (struct tl_trace){.truth = truth, .left = {.missing = missing}};
}

static enum tl_truth fold(enum tl_logic_kind kind, enum tl_truth a, enum tl_truth b)
{
    struct tl_logic *children[] = {&leaves[0], &leaves[1]};
    struct tl_logic node = {.kind = kind, .child_count = 2, .children = children};
    struct tl_trace traces[] = {trace(a, 1), trace(b, 2)};
    return tl_logic_evaluate(&node, traces);
}

Test(logic, all_is_the_least_and_any_the_greatest)
{
    enum tl_truth values[] = {TL_FALSE, TL_UNKNOWN_TRUTH, TL_TRUE};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            enum tl_truth a = values[i], b = values[j];
            cr_expect_eq(fold(TL_LOGIC_ALL, a, b), a < b ? a : b);
            cr_expect_eq(fold(TL_LOGIC_ANY, a, b), a > b ? a : b);
        }
    }
}

Test(logic, not_leaves_unknown_unknown)
{
    cr_expect_eq(tl_truth_not(TL_TRUE), TL_FALSE);
    cr_expect_eq(tl_truth_not(TL_FALSE), TL_TRUE);
    cr_expect_eq(tl_truth_not(TL_UNKNOWN_TRUTH), TL_UNKNOWN_TRUTH);
}

Test(logic, what_is_not_asked_does_not_hinder)
{
    cr_expect_eq(tl_logic_evaluate(NULL, NULL), TL_TRUE);
    cr_expect_eq(tl_logic_missing(NULL, NULL), 0);
}

/* all(any(true, A unknown), B unknown): A no longer matters. */
Test(logic, only_facts_that_would_decide_are_missing)
{
    struct tl_logic *inner[] = {&leaves[0], &leaves[1]};
    struct tl_logic any = {.kind = TL_LOGIC_ANY, .child_count = 2, .children = inner};
    struct tl_logic *outer[] = {&any, &leaves[2]};
    struct tl_logic all = {.kind = TL_LOGIC_ALL, .child_count = 2, .children = outer};
    struct tl_trace traces[] = {trace(TL_TRUE, 0), trace(TL_UNKNOWN_TRUTH, 1),
                                trace(TL_UNKNOWN_TRUTH, 2)};
    cr_expect_eq(tl_logic_missing(&all, traces), 2);
    traces[0] = trace(TL_FALSE, 0);
    cr_expect_eq(tl_logic_missing(&all, traces), 3);
    traces[2] = trace(TL_FALSE, 0);
    cr_expect_eq(tl_logic_missing(&all, traces), 0, "it is decided: nothing can change it");
}

/* all(any(A true, B false), C false): B was not needed, C speaks against. */
Test(logic, a_branch_that_was_not_needed_speaks_neither_way)
{
    struct tl_logic *inner[] = {&leaves[0], &leaves[1]};
    struct tl_logic any = {.kind = TL_LOGIC_ANY, .child_count = 2, .children = inner};
    struct tl_logic *outer[] = {&any, &leaves[2]};
    struct tl_logic all = {.kind = TL_LOGIC_ALL, .child_count = 2, .children = outer};
    struct tl_trace traces[] = {trace(TL_TRUE, 0), trace(TL_FALSE, 0), trace(TL_FALSE, 0)};
    cr_expect_eq(tl_logic_spare(&all, traces), 2);
    traces[0] = trace(TL_FALSE, 0);
    cr_expect_eq(tl_logic_spare(&all, traces), 0, "no branch holds: each speaks against");
    cr_expect_eq(tl_logic_spare(NULL, traces), 0);
}
