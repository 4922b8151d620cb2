/* Three-valued logic over tests (Kleene): all, any, not.
 *
 * A test compares two formulas, or a text fact with texts. A test with an
 * unknown side is unknown; so is what depends on it, unless another branch
 * decides. Private to the rules layer. */
#ifndef TL_RULES_LOGIC_H
#define TL_RULES_LOGIC_H

#include "template.h"
#include "tightlink/rules/findings.h"

#define TL_RULE_TESTS_MAX  128 /* bits of tl_test_set */
#define TL_TEST_TEXTS_MAX  16
#define TL_LOGIC_DEPTH_MAX 10

/* Bit i: test i of the rule. */
typedef unsigned __int128 tl_test_set;

enum tl_compare { TL_LT, TL_LE, TL_GT, TL_GE, TL_EQ, TL_NE, TL_IN };
const char *tl_compare_name(enum tl_compare compare); /* "<", "in" … */

struct tl_test {
    const char *id;
    struct tl_formula left, right; /* right unused when texts are given */
    enum tl_compare compare;
    size_t text_count; /* > 0: left is a text fact */
    const char **texts;
    struct tl_template say, against; /* true; false */
    const char *written;             /* "flow.ledger_rwnd_ratio > 0.1" */
    const char *because;             /* why its constants are what they are; NULL: not said */
    bool is_for;                     /* true speaks for the cause (false under not, or not_when) */
    bool is_shared;                  /* it stands in shared.json */
};

enum tl_logic_kind { TL_LOGIC_ALL, TL_LOGIC_ANY, TL_LOGIC_NOT, TL_LOGIC_TEST };

/* A condition that others refer to stands below each of them: the tree is a graph without circles,
 * whose size as a tree is limited. */
#define TL_LOGIC_SIZE_MAX 512

struct tl_logic {
    enum tl_logic_kind kind;
    const char *id;      /* of a condition with a name; else NULL */
    const char *because; /* why its parts together mean what its name says; NULL: not said */
    size_t shared;       /* its number in shared.json, from 1; 0: the rule's own */
    size_t size, depth;  /* as a tree */
    size_t child_count;
    struct tl_logic **children;
    size_t test; /* index into the rule's tests */
};

/* What one test saw. */
struct tl_trace {
    enum tl_truth truth;
    struct tl_value left, right;
};

struct tl_trace tl_test_evaluate(const struct tl_test *test, const struct tl_formula_env *env);

/* NULL is true: what is not asked does not hinder. */
enum tl_truth tl_logic_evaluate(const struct tl_logic *logic, const struct tl_trace *traces);

/* The unknown facts that could decide: those of unknown tests that no decided branch has made
 * irrelevant. 0 when the result is known. */
tl_fact_set tl_logic_missing(const struct tl_logic *logic, const struct tl_trace *traces);

/* The tests that an `any` did not need, as another of its branches holds: they speak neither
 * for nor against. One bit a test. */
tl_test_set tl_logic_spare(const struct tl_logic *logic, const struct tl_trace *traces);

enum tl_truth tl_truth_not(enum tl_truth truth);

#endif
