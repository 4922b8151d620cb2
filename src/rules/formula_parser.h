/* The parser's state, for the files that parse formulas: formula_parse.c (the grammar),
 * formula_call.c (functions and the units that they take), formula_parser.c (what both read). */
#ifndef TL_RULES_FORMULA_PARSER_H
#define TL_RULES_FORMULA_PARSER_H

#include "formula.h"

struct tl_parser {
    const char *text;
    size_t len, at;
    unsigned depth;
    bool results;
    struct tl_arena *arena;
    struct tl_formula_scope *scope;
    struct tl_error *reterr;
    size_t code_count, stack;
    struct tl_formula_code code[TL_FORMULA_CODE_MAX];
};

/* Where an operand began, and its unit. */
struct tl_operand {
    size_t at;
    enum tl_unit unit;
};

/* A word as it stands in the text: of a name, a function or a fact. */
struct tl_word {
    char text[96];
    size_t at;
};

#define TL_PARSER_FAIL(p, column, status, ...)                                                     \
    tl_parser_fail(p, column, tl_error_set((p)->reterr, status, __VA_ARGS__))

/* Puts formula and column before the message that was just set; returns the status. */
enum tl_status tl_parser_fail(struct tl_parser *p, size_t column, enum tl_status status);

/* The next character that is no blank, NUL at the end; tl_parser_take steps over c if it is it. */
char tl_parser_peek(struct tl_parser *p);
bool tl_parser_take(struct tl_parser *p, char c);
enum tl_status tl_parser_word(struct tl_parser *p, struct tl_word *ret);

/* Appends code that takes `pops` values from the stack and leaves one. */
enum tl_status tl_parser_emit(struct tl_parser *p, size_t column, struct tl_formula_code code,
                              unsigned pops);

/* A literal: a number with its unit, and 'cubic', an argument for a function that chooses by it. */
enum tl_status tl_parser_number(struct tl_parser *p, struct tl_operand *ret);
enum tl_status tl_parser_text(struct tl_parser *p, struct tl_operand *ret);
enum tl_status tl_parser_fact(struct tl_parser *p, const struct tl_word *word,
                              enum tl_formula_op op, struct tl_operand *ret);

/* A function of the language. */
struct tl_builtin {
    const char *name;
    enum tl_formula_op op;
    unsigned min_args, max_args;
};
/* NULL where there is none of that name. */
const struct tl_builtin *tl_formula_builtin(const char *name);
/* The unit of what it gives, or why it does not take these. */
enum tl_status tl_parser_check_builtin(struct tl_parser *p, const struct tl_builtin *f,
                                       const struct tl_operand *args, unsigned argc,
                                       enum tl_unit *ret_unit);

#endif
