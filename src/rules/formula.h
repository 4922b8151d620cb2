/* Formulas: arithmetic over facts with units checked when a rule is loaded and
 * "unknown" instead of a wrong number when it is evaluated.
 *
 *   expression := term (("+" | "-") term)*
 *   term       := factor (("*" | "/") factor)*
 *   factor     := "-" factor | number | fact | name | call | "(" expression ")"
 *   number     := digits with an optional unit: 0.95  96%  512KiB  10ms  40Mbps
 *   fact       := role "." id            sender. receiver. path. flow.
 *   name       := a formula of the rule's "names", or a result (ceiling, fixed)
 *   call       := function "(" expression ("," expression)* ")"
 *
 * A formula is compiled to postfix code, so that evaluating needs no recursion
 * and a small fixed stack. doc/rule-format.md tells the same for authors.
 * Private to the rules layer. */
#ifndef TL_RULES_FORMULA_H
#define TL_RULES_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "tightlink/facts/facts.h"

/* Limits on one formula and on one rule (P13). The facts of a rule fit a 64-bit set. */
#define TL_FORMULA_CHARS_MAX 2048
#define TL_FORMULA_CODE_MAX  256
#define TL_FORMULA_DEPTH_MAX 24
#define TL_FORMULA_STACK_MAX 64
#define TL_SCOPE_FACTS_MAX   64
#define TL_SCOPE_NAMES_MAX   32

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
    TL_OP_FIRST,
    TL_OP_SQRT,
    TL_OP_CBRT,
    TL_OP_POW,
    TL_OP_BPS,
    TL_OP_BYTES,
    TL_OP_NS,
    TL_OP_POW2CEIL,
};

struct tl_formula_code {
    enum tl_formula_op op;
    unsigned argc;  /* of min, max and first */
    unsigned index; /* of a fact or a name */
    double number;
};

struct tl_formula {
    const char *text; /* as written */
    enum tl_unit unit;
    size_t code_count;
    struct tl_formula_code *code; /* NULL: not given */
};

/* What the formulas of one rule may name. Facts are collected while compiling. */
struct tl_formula_scope {
    size_t fact_count;
    const char *fact_ids[TL_SCOPE_FACTS_MAX]; /* role ids */
    enum tl_unit fact_units[TL_SCOPE_FACTS_MAX];
    size_t name_count;
    const char *names[TL_SCOPE_NAMES_MAX];
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
    uint64_t missing;    /* bit i: fact i of the scope is unknown; 0 when known */
    const char *problem; /* unknown though nothing is missing: "division by zero"; else NULL */
};

/* The facts of one rule, read once for a judgement, and the values of its names. */
struct tl_formula_env {
    const struct tl_formula_scope *scope;
    struct tl_fact facts[TL_SCOPE_FACTS_MAX];
    struct tl_value names[TL_SCOPE_NAMES_MAX];
    struct tl_value results[TL_NAME_COUNT];
};

/* Compiles text[0..len). With results, the names ceiling, ceiling_low, ceiling_high, fixed,
 * at_least and aim are known too. *ret_formula is untouched on failure; the error names the column.
 * TL_SYNTAX, TL_UNKNOWN (fact or name), TL_LIMIT, TL_NOMEM. */
enum tl_status tl_formula_compile(struct tl_arena *arena, struct tl_formula_scope *scope,
                                  bool results, const char *text, size_t len,
                                  struct tl_formula *ret_formula,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

/* A constant, as JSON numbers, true and false are in a test. */
enum tl_status tl_formula_constant(struct tl_arena *arena, double number, enum tl_unit unit,
                                   struct tl_formula *ret_formula) TL_WARN_UNUSED;

/* Reads the scope's facts and evaluates its names in order. */
void tl_formula_env_init(struct tl_formula_env *env, const struct tl_formula_scope *scope,
                         const struct tl_fact_view *view);
struct tl_value tl_formula_evaluate(const struct tl_formula *formula,
                                    const struct tl_formula_env *env);

/* The facts that a formula reads, also through names, as a set over the scope's facts. */
uint64_t tl_formula_facts(const struct tl_formula *formula, const struct tl_formula_scope *scope);

/* Units, as formula_units.c checks them. */
bool tl_unit_is_plain(enum tl_unit unit); /* number, ratio or count */
/* The unit of a sum, a comparison, min or max; false if a and b do not go together. */
bool tl_unit_join(enum tl_unit a, enum tl_unit b, enum tl_unit *ret_unit);
/* False with a half sentence that says what to write instead. */
bool tl_unit_product(enum tl_unit a, enum tl_unit b, enum tl_unit *ret_unit, const char **ret_hint);
bool tl_unit_quotient(enum tl_unit a, enum tl_unit b, enum tl_unit *ret_unit,
                      const char **ret_hint);

#endif
