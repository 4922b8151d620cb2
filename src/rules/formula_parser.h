/* The parser's state, for the two files that parse formulas: formula_parse.c (the grammar) and
 * formula_call.c (functions and the units that they take). */
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

enum tl_status tl_parser_expression(struct tl_parser *p, struct tl_operand *ret);
enum tl_status tl_parser_fact(struct tl_parser *p, const struct tl_word *word,
                              enum tl_formula_op op, struct tl_operand *ret);
/* A call whose name and opening parenthesis were read. */
enum tl_status tl_parser_call(struct tl_parser *p, const struct tl_word *name,
                              struct tl_operand *ret);

#endif
