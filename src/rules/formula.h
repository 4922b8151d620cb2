/* Formulas: arithmetic over facts with units checked when a rule is loaded and
 * "unknown" instead of a wrong number when it is evaluated.
 *
 *   expression := term (("+" | "-") term)*
 *   term       := factor (("*" | "/") factor)*
 *   factor     := "-" factor | number | fact | name | call | "(" expression ")"
 *   number     := digits with an optional unit: 0.95  96%  512KiB  10ms  40Mbps
 *   fact       := role "." id            sender. receiver. path. flow.
 *   name       := a formula of the rule's "names", a shared one, or a result (ceiling, fixed)
 *   call       := function "(" expression ("," expression)* ")"
 *   text       := "'" characters "'"     an argument of a function only
 *
 * A formula is compiled to postfix code, so that evaluating needs a small fixed
 * stack, and recursion only as deep as shared functions call one another.
 * doc/rule-format.md tells the same for authors.
 * Private to the rules layer. */
#ifndef TL_RULES_FORMULA_H
#define TL_RULES_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "tightlink/facts/facts.h"

/* Limits on one formula and on one rule (P13). The facts of a rule fit a tl_fact_set. */
#define TL_FORMULA_CHARS_MAX 2048
#define TL_FORMULA_CODE_MAX  256
#define TL_FORMULA_DEPTH_MAX 24
#define TL_FORMULA_STACK_MAX 64
#define TL_SCOPE_FACTS_MAX   128
#define TL_SCOPE_NAMES_MAX   64
#define TL_FUNCTION_ARGS_MAX 8
#define TL_FUNCTION_NEST_MAX 8 /* functions that call one another: 3 KB of stack each */
#define TL_FORMULA_COST_MAX                                                                        \
    20000 /* operations, those of the functions called included: else eight                        \
           * functions that each call the next one often never end */

/* Bit i: fact i of the rule's scope. */
typedef unsigned __int128 tl_fact_set;
#define TL_FACT_BIT(i) ((tl_fact_set)1 << (i))

static inline size_t tl_fact_set_count(tl_fact_set set)
{
    return (size_t)(__builtin_popcountll((uint64_t)set) +
                    __builtin_popcountll((uint64_t)(set >> 64)));
}

enum tl_formula_op {
    TL_OP_NUMBER,
    TL_OP_FACT,
    TL_OP_FACT_LOW,
    TL_OP_FACT_HIGH,
    TL_OP_NAME,
    TL_OP_ADD,
    TL_OP_SUB,
    TL_OP_MUL,
    TL_OP_DIV,
    TL_OP_NEG,
    TL_OP_MIN,
    TL_OP_MAX,
    TL_OP_MAX_KNOWN, /* the largest of those that are known */
    TL_OP_FIRST,
    TL_OP_SQRT,
    TL_OP_CBRT,
    TL_OP_POW,
    TL_OP_BPS,
    TL_OP_BYTES,
    TL_OP_NS,
    TL_OP_POW2CEIL,
    TL_OP_IF_KNOWN,   /* if_known(a, b, c): b where a is known, else c */
    TL_OP_WHEN_KNOWN, /* when_known(a, b): b once a is known, unknown before */
    TL_OP_TEXT,
    TL_OP_ARGUMENT, /* of the function whose body this is */
    TL_OP_CALL,
};

struct tl_formula_code {
    enum tl_formula_op op;
    unsigned argc;  /* of functions */
    unsigned index; /* of a fact, a name or an argument */
    union {
        double number;
        const char *text;                   /* TL_OP_TEXT */
        const struct tl_function *function; /* TL_OP_CALL */
    };
};

struct tl_formula {
    const char *text; /* as written */
    enum tl_unit unit;
    unsigned cost;     /* operations that it takes at most */
    tl_fact_set facts; /* what it reads of the scope's facts, also through names */
    size_t code_count;
    struct tl_formula_code *code; /* NULL: not given */
};

/* A named function of shared.json: a formula over its parameters, or one for each value of a
 * parameter that is a text. It reads no facts. */
struct tl_function {
    const char *name, *because;
    unsigned argc, nest; /* nest: how deep its bodies call others */
    unsigned cost;       /* of its dearest body */
    struct {
        const char *name;
        enum tl_unit unit;
    } parameters[TL_FUNCTION_ARGS_MAX];
    enum tl_unit unit; /* of the result */
    unsigned by;       /* the parameter that chooses the body; argc: there is one body */
    size_t body_count;
    struct {
        const char *value; /* of the parameter `by` */
        struct tl_formula formula;
    } bodies[TL_FUNCTION_ARGS_MAX];
};

/* What the formulas of one rule may name. Facts, and the shared names that it uses, are collected
 * while compiling. */
struct tl_formula_scope {
    struct tl_shared *shared;           /* names and functions for all rules; NULL without */
    const struct tl_function *function; /* its body is compiled: parameters, no facts; else NULL */
    unsigned nest;                      /* the deepest call compiled so far */
    uint64_t cost;                      /* of all formulas compiled so far */
    size_t shared_below; /* > 0: a shared formula is compiled, which may use the shared names below
                          * this number and none of the rule's own */
    size_t fact_count;
    const char *fact_ids[TL_SCOPE_FACTS_MAX]; /* as the rule writes them, for people */
    struct tl_role_fact facts[TL_SCOPE_FACTS_MAX];
    size_t name_count;
    const char *names[TL_SCOPE_NAMES_MAX];
    const char *becauses[TL_SCOPE_NAMES_MAX]; /* NULL where nothing is said */
    size_t shared_number[TL_SCOPE_NAMES_MAX]; /* of a shared name, from 1; 0: the rule's own */
    struct tl_formula formulas[TL_SCOPE_NAMES_MAX];
};

/* Results of judging that texts and remedies may name; they follow the rule's own names. */
enum tl_result_name_index {
    TL_NAME_CEILING,
    TL_NAME_CEILING_LOW,
    TL_NAME_CEILING_HIGH,
    TL_NAME_FIXED,
    TL_NAME_AT_LEAST, /* known where fixed is a lower bound only */
    TL_NAME_AIM,      /* what a setting is made for, see tl_ladder_link() */
    TL_NAME_COUNT
};

/* Number, yes or no, text, or unknown with the facts that are missing. */
struct tl_value {
    bool known;
    double number;
    const char *text;    /* of a text fact */
    tl_fact_set missing; /* bit i: fact i of the scope is unknown; 0 when known */
    const char *problem; /* unknown though nothing is missing: "division by zero"; else NULL */
    bool is_constant;    /* a number that stands in the rule */
    bool is_assumed;     /* known only because such a number stands in for a fact that is not */
};

/* The facts of one rule, read once for a judgement, and the values of its names. */
struct tl_formula_env {
    const struct tl_formula_scope *scope;
    const struct tl_facts *store; /* where the facts come from */
    struct tl_fact facts[TL_SCOPE_FACTS_MAX];
    struct tl_value names[TL_SCOPE_NAMES_MAX];
    struct tl_value results[TL_NAME_COUNT];
    /* Rates that are told elsewhere as well: half of what such a one may be off by there. NULL:
     * there is none. */
    bool (*told)(const void *context, double bps, double *ret_doubt);
    const void *told_context;
};

/* Compiles text[0..len). With results, the names ceiling, ceiling_low, ceiling_high, fixed,
 * at_least and aim are known too. *ret_formula is untouched on failure; the error names the column.
 * TL_SYNTAX, TL_UNKNOWN (fact or name), TL_LIMIT, TL_NOMEM. */
enum tl_status tl_formula_compile(struct tl_arena *arena, struct tl_formula_scope *scope,
                                  bool results, const char *text, size_t len,
                                  struct tl_formula *ret_formula,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

/* Compiles a formula as the scope's next name. TL_LIMIT too, beyond TL_SCOPE_NAMES_MAX. */
enum tl_status tl_formula_define(struct tl_arena *arena, struct tl_formula_scope *scope,
                                 const char *name, const char *because, const char *text,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* A constant, as JSON numbers, true and false are in a test. */
enum tl_status tl_formula_constant(struct tl_arena *arena, double number, enum tl_unit unit,
                                   struct tl_formula *ret_formula) TL_WARN_UNUSED;

/* Reads the scope's facts and evaluates its names in order. */
void tl_formula_env_init(struct tl_formula_env *env, const struct tl_formula_scope *scope,
                         const struct tl_facts *facts, enum tl_direction direction);
struct tl_value tl_formula_evaluate(const struct tl_formula *formula,
                                    const struct tl_formula_env *env);

/* Half of what a known value may be off by: as it is told elsewhere, for one number has one voice;
 * else each fact's bounds, and those of the ceiling, moved by themselves, their effects added as
 * independent errors are (root of the sum of squares). 0 where nothing it reads has bounds. */
double tl_formula_doubt(const struct tl_formula *formula, const struct tl_formula_env *env);

/* A formula without facts and names, as the examples of functions are. */
struct tl_value tl_formula_evaluate_constant(const struct tl_formula *formula);

/* Whether the language itself has a function of that name. */
bool tl_formula_is_builtin(const char *name);

/* Units, as formula_units.c checks them. */
bool tl_unit_is_plain(enum tl_unit unit); /* number, ratio or count */
/* The unit of a sum, a comparison, min or max; false if a and b do not go together. */
bool tl_unit_join(enum tl_unit a, enum tl_unit b, enum tl_unit *ret_unit);
/* False with a half sentence that says what to write instead. */
bool tl_unit_product(enum tl_unit a, enum tl_unit b, enum tl_unit *ret_unit, const char **ret_hint);
bool tl_unit_quotient(enum tl_unit a, enum tl_unit b, enum tl_unit *ret_unit,
                      const char **ret_hint);

#endif
