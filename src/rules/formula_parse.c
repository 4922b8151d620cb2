/* Compiles formulas: a recursive-descent parser of bounded depth that checks
 * units as it goes and emits postfix code. Functions are in formula_call.c. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formula_parser.h"
#include "shared.h"

#define FAIL TL_PARSER_FAIL

enum tl_status tl_parser_fail(struct tl_parser *p, size_t column, enum tl_status status)
{
    tl_error_prefix(p->reterr, "formula \"%.*s%s\", column %zu", p->len > 80 ? 80 : (int)p->len,
                    p->text, p->len > 80 ? "…" : "", column + 1);
    return status;
}

static void skip_space(struct tl_parser *p)
{
    while (p->at < p->len && (p->text[p->at] == ' ' || p->text[p->at] == '\t'))
        p->at++;
}

char tl_parser_peek(struct tl_parser *p)
{
    skip_space(p);
    return p->at < p->len ? p->text[p->at] : '\0';
}

bool tl_parser_take(struct tl_parser *p, char c)
{
    if (tl_parser_peek(p) != c)
        return false;
    p->at++;
    return true;
}

/* Appends code and keeps account of the stack that evaluation will need. */
enum tl_status tl_parser_emit(struct tl_parser *p, size_t column, struct tl_formula_code code,
                              unsigned pops)
{
    if (p->code_count == TL_FORMULA_CODE_MAX)
        return FAIL(p, column, TL_LIMIT, "longer than %d operations", TL_FORMULA_CODE_MAX);
    p->stack = p->stack - pops + 1;
    if (p->stack >= TL_FORMULA_STACK_MAX)
        return FAIL(p, column, TL_LIMIT, "more than %d values at once", TL_FORMULA_STACK_MAX);
    p->code[p->code_count++] = code;
    return TL_OK;
}

static const struct literal_unit {
    const char *name;
    enum tl_unit unit;
    double factor;
} literal_units[] = {
    {"", TL_UNIT_NUMBER, 1},         {"%", TL_UNIT_RATIO, 0.01},   {"bps", TL_UNIT_BPS, 1},
    {"kbps", TL_UNIT_BPS, 1e3},      {"Mbps", TL_UNIT_BPS, 1e6},   {"Gbps", TL_UNIT_BPS, 1e9},
    {"B", TL_UNIT_BYTES, 1},         {"kB", TL_UNIT_BYTES, 1e3},   {"MB", TL_UNIT_BYTES, 1e6},
    {"GB", TL_UNIT_BYTES, 1e9},      {"KiB", TL_UNIT_BYTES, 1024}, {"MiB", TL_UNIT_BYTES, 1048576},
    {"GiB", TL_UNIT_BYTES, 1 << 30}, {"ns", TL_UNIT_NS, 1},        {"us", TL_UNIT_NS, 1e3},
    {"ms", TL_UNIT_NS, 1e6},         {"s", TL_UNIT_NS, 1e9},       {"min", TL_UNIT_NS, 60e9},
};

/* The decimal number at p->at; leaves p->at behind it. */
static enum tl_status scan_decimal(struct tl_parser *p, double *ret_number)
{
    char digits[48];
    size_t start = p->at, n = 0;
    bool dot = false, exponent = false;
    for (; p->at < p->len; p->at++) {
        char c = p->text[p->at];
        bool is_exponent =
            c == 'e' && !exponent && p->at + 1 < p->len &&
            (isdigit((unsigned char)p->text[p->at + 1]) || strchr("+-", p->text[p->at + 1]));
        bool sign = (c == '+' || c == '-') && p->at > start && p->text[p->at - 1] == 'e';
        if (!isdigit((unsigned char)c) && !(c == '.' && !dot && !exponent) && !is_exponent && !sign)
            break;
        dot |= c == '.';
        exponent |= is_exponent;
        if (n + 1 >= sizeof digits)
            return FAIL(p, start, TL_SYNTAX, "a number of more than %zu characters",
                        sizeof digits - 1);
        digits[n++] = c;
    }
    digits[n] = '\0';
    char *end;
    errno = 0;
    *ret_number = strtod(digits, &end);
    if (*end || end == digits)
        return FAIL(p, start, TL_SYNTAX, "\"%s\" is not a number", digits);
    if (!isfinite(*ret_number))
        return FAIL(p, start, TL_RANGE, "\"%s\" is too large", digits);
    return TL_OK;
}

static enum tl_status parse_number(struct tl_parser *p, struct tl_operand *ret)
{
    size_t start = p->at;
    double number = 0;
    enum tl_status status = scan_decimal(p, &number);
    if (status != TL_OK)
        return status;
    size_t unit_at = p->at;
    while (p->at < p->len && (isalpha((unsigned char)p->text[p->at]) || p->text[p->at] == '%'))
        p->at++;
    size_t len = p->at - unit_at;
    for (size_t i = 0; i < sizeof literal_units / sizeof *literal_units; i++) {
        const struct literal_unit *u = &literal_units[i];
        if (strlen(u->name) != len || strncmp(u->name, p->text + unit_at, len) != 0)
            continue;
        *ret = (struct tl_operand){.at = start, .unit = u->unit};
        return tl_parser_emit(
            p, start, (struct tl_formula_code){.op = TL_OP_NUMBER, .number = number * u->factor},
            0);
    }
    return FAIL(p, unit_at, TL_UNKNOWN,
                "the unit \"%.*s\" is not known; there are %% bps kbps Mbps Gbps B kB MB GB KiB "
                "MiB GiB ns us ms s min",
                len > 16 ? 16 : (int)len, p->text + unit_at);
}

/* The fact's index in the scope; collects it when it is new. */
static enum tl_status fact_index(struct tl_parser *p, size_t at, const char *id,
                                 unsigned *ret_index)
{
    struct tl_formula_scope *scope = p->scope;
    for (size_t i = 0; i < scope->fact_count; i++) {
        if (strcmp(scope->fact_ids[i], id) == 0) {
            *ret_index = (unsigned)i;
            return TL_OK;
        }
    }
    struct tl_role_fact fact;
    if (!tl_role_fact_parse(id, &fact))
        return FAIL(p, at, TL_UNKNOWN, "there is no fact \"%s\" (see doc/facts.md)", id);
    if (scope->fact_count == TL_SCOPE_FACTS_MAX)
        return FAIL(p, at, TL_LIMIT, "the rule reads more than %d facts", TL_SCOPE_FACTS_MAX);
    unsigned index = (unsigned)scope->fact_count;
    scope->fact_ids[index] = tl_arena_strdup(p->arena, id);
    if (!scope->fact_ids[index])
        return FAIL(p, at, TL_NOMEM, "out of memory");
    scope->facts[index] = fact;
    scope->fact_count++;
    *ret_index = index;
    return TL_OK;
}

enum tl_status tl_parser_word(struct tl_parser *p, struct tl_word *ret)
{
    size_t n = 0;
    ret->at = p->at;
    while (p->at < p->len) {
        char c = p->text[p->at];
        if (!isalnum((unsigned char)c) && c != '_' && c != '.')
            break;
        if (n + 1 >= sizeof ret->text)
            return FAIL(p, ret->at, TL_SYNTAX, "a name of more than %zu characters",
                        sizeof ret->text - 1);
        ret->text[n++] = c;
        p->at++;
    }
    ret->text[n] = '\0';
    return TL_OK;
}

enum tl_status tl_parser_fact(struct tl_parser *p, const struct tl_word *word,
                              enum tl_formula_op op, struct tl_operand *ret)
{
    unsigned index = 0;
    if (p->scope->function)
        return FAIL(p, word->at, TL_SYNTAX, "a function reads its parameters, not facts");
    enum tl_status status = fact_index(p, word->at, word->text, &index);
    if (status != TL_OK)
        return status;
    enum tl_unit unit = tl_fact_def(p->scope->facts[index].fact)->unit;
    if (op != TL_OP_FACT && (unit == TL_UNIT_TEXT || unit == TL_UNIT_BOOL))
        return FAIL(p, word->at, TL_SYNTAX, "only numbers have bounds, \"%s\" is %s", word->text,
                    tl_unit_name(unit));
    *ret = (struct tl_operand){.at = word->at, .unit = unit};
    return tl_parser_emit(p, word->at, (struct tl_formula_code){.op = op, .index = index}, 0);
}

static const char *const result_names[TL_NAME_COUNT] = {
    [TL_NAME_CEILING] = "ceiling",           [TL_NAME_CEILING_LOW] = "ceiling_low",
    [TL_NAME_CEILING_HIGH] = "ceiling_high", [TL_NAME_FIXED] = "fixed",
    [TL_NAME_AT_LEAST] = "at_least",         [TL_NAME_AIM] = "aim",
};

/* Pushes the value of a name of the scope. */
static enum tl_status emit_name(struct tl_parser *p, size_t at, size_t index,
                                struct tl_operand *ret)
{
    *ret = (struct tl_operand){.at = at, .unit = p->scope->formulas[index].unit};
    return tl_parser_emit(p, at,
                          (struct tl_formula_code){.op = TL_OP_NAME, .index = (unsigned)index}, 0);
}

static bool find_own(const struct tl_formula_scope *scope, const char *name, size_t *ret_index)
{
    for (size_t i = 0; i < scope->name_count; i++) {
        if (!scope->shared_number[i] && strcmp(scope->names[i], name) == 0) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

/* The index in the scope of a name of shared.json, which is compiled there when it is new. What it
 * names in turn are shared names above it, never the rule's own. */
static enum tl_status define_shared(struct tl_parser *p, size_t at, size_t number,
                                    size_t *ret_index)
{
    struct tl_formula_scope *scope = p->scope;
    for (size_t i = 0; i < scope->name_count; i++) {
        if (scope->shared_number[i] == number) {
            *ret_index = i;
            return TL_OK;
        }
    }
    size_t below = scope->shared_below;
    const struct tl_shared_name *name = tl_shared_name_at(scope->shared, number);
    scope->shared_below = number;
    enum tl_status status =
        tl_formula_define(p->arena, scope, name->name, name->because, name->text, p->reterr);
    scope->shared_below = below;
    if (status != TL_OK)
        return FAIL(p, at, status, "the shared name \"%s\" does not fit here", name->name);
    *ret_index = scope->name_count - 1;
    scope->shared_number[*ret_index] = number;
    return TL_OK;
}

/* A result of judging. */
static enum tl_status parse_result(struct tl_parser *p, const struct tl_word *word,
                                   struct tl_operand *ret)
{
    for (unsigned i = 0; i < TL_NAME_COUNT; i++) {
        if (strcmp(result_names[i], word->text) != 0)
            continue;
        if (!p->results)
            return FAIL(p, word->at, TL_UNKNOWN,
                        "\"%s\" is known only after judging; texts and remedies may use it",
                        word->text);
        *ret = (struct tl_operand){.at = word->at, .unit = TL_UNIT_BPS};
        return tl_parser_emit(
            p, word->at,
            (struct tl_formula_code){.op = TL_OP_NAME, .index = TL_SCOPE_NAMES_MAX + i}, 0);
    }
    return FAIL(p, word->at, TL_UNKNOWN,
                "\"%s\" is no function and no name defined above this formula", word->text);
}

static enum tl_status parse_parameter(struct tl_parser *p, const struct tl_word *word,
                                      struct tl_operand *ret)
{
    const struct tl_function *function = p->scope->function;
    for (unsigned i = 0; i < function->argc; i++) {
        if (strcmp(function->parameters[i].name, word->text) != 0)
            continue;
        *ret = (struct tl_operand){.at = word->at, .unit = function->parameters[i].unit};
        return tl_parser_emit(p, word->at,
                              (struct tl_formula_code){.op = TL_OP_ARGUMENT, .index = i}, 0);
    }
    return FAIL(p, word->at, TL_UNKNOWN, "\"%s\" is no parameter of %s()", word->text,
                function->name);
}

static enum tl_status parse_name(struct tl_parser *p, const struct tl_word *word,
                                 struct tl_operand *ret)
{
    struct tl_formula_scope *scope = p->scope;
    size_t index = 0;
    if (strcmp(word->text, "true") == 0 || strcmp(word->text, "false") == 0) {
        *ret = (struct tl_operand){.at = word->at, .unit = TL_UNIT_BOOL};
        return tl_parser_emit(
            p, word->at,
            (struct tl_formula_code){.op = TL_OP_NUMBER, .number = word->text[0] == 't'}, 0);
    }
    if (scope->function)
        return parse_parameter(p, word, ret);
    if (!scope->shared_below && find_own(scope, word->text, &index))
        return emit_name(p, word->at, index, ret);
    size_t number = tl_shared_name_number(scope->shared, word->text, scope->shared_below);
    if (!number)
        return parse_result(p, word, ret);
    enum tl_status status = define_shared(p, word->at, number, &index);
    return status == TL_OK ? emit_name(p, word->at, index, ret) : status;
}

/* 'cubic': an argument for a function that chooses by it. */
static enum tl_status parse_text(struct tl_parser *p, struct tl_operand *ret)
{
    size_t start = ++p->at;
    while (p->at < p->len && p->text[p->at] != '\'')
        p->at++;
    char *text = tl_arena_copy(p->arena, p->text + start, p->at - start);
    if (p->at == p->len)
        return FAIL(p, start, TL_SYNTAX, "the text has no closing \"'\"");
    p->at++;
    if (!text)
        return FAIL(p, start, TL_NOMEM, "out of memory");
    *ret = (struct tl_operand){.at = start, .unit = TL_UNIT_TEXT};
    return tl_parser_emit(p, start, (struct tl_formula_code){.op = TL_OP_TEXT, .text = text}, 0);
}

static enum tl_status parse_primary(struct tl_parser *p, struct tl_operand *ret)
{
    char c = tl_parser_peek(p);
    size_t at = p->at;
    if (isdigit((unsigned char)c) || c == '.')
        return parse_number(p, ret);
    if (c == '\'')
        return parse_text(p, ret);
    if (tl_parser_take(p, '(')) {
        enum tl_status status = tl_parser_expression(p, ret);
        if (status == TL_OK && !tl_parser_take(p, ')'))
            return FAIL(p, p->at, TL_SYNTAX, "\")\" expected");
        ret->at = at;
        return status;
    }
    if (isalpha((unsigned char)c)) {
        struct tl_word word;
        enum tl_status status = tl_parser_word(p, &word);
        if (status != TL_OK)
            return status;
        if (strchr(word.text, '.'))
            return tl_parser_fact(p, &word, TL_OP_FACT, ret);
        return tl_parser_take(p, '(') ? tl_parser_call(p, &word, ret) : parse_name(p, &word, ret);
    }
    if (!c)
        return FAIL(p, at, TL_SYNTAX, "it ends where a number, a fact or a name is expected");
    return FAIL(p, at, TL_SYNTAX, "a number, a fact or a name is expected here");
}

static enum tl_status parse_factor(struct tl_parser *p, struct tl_operand *ret)
{
    if (++p->depth > TL_FORMULA_DEPTH_MAX)
        return FAIL(p, p->at, TL_LIMIT, "nested deeper than %d", TL_FORMULA_DEPTH_MAX);
    enum tl_status status;
    size_t at = p->at;
    if (tl_parser_take(p, '-')) {
        status = parse_factor(p, ret);
        if (status == TL_OK && (ret->unit == TL_UNIT_TEXT || ret->unit == TL_UNIT_BOOL))
            status = FAIL(p, at, TL_SYNTAX, "only numbers have a sign, this is %s",
                          tl_unit_name(ret->unit));
        if (status == TL_OK)
            status = tl_parser_emit(p, at, (struct tl_formula_code){.op = TL_OP_NEG, .argc = 1}, 1);
    } else {
        status = parse_primary(p, ret);
    }
    p->depth--;
    return status;
}

static enum tl_status parse_term(struct tl_parser *p, struct tl_operand *ret)
{
    enum tl_status status = parse_factor(p, ret);
    while (status == TL_OK && (tl_parser_peek(p) == '*' || tl_parser_peek(p) == '/')) {
        size_t at = p->at;
        bool times = p->text[p->at++] == '*';
        struct tl_operand right;
        const char *hint = NULL;
        status = parse_factor(p, &right);
        if (status != TL_OK)
            break;
        enum tl_unit left = ret->unit;
        if (!(times ? tl_unit_product(left, right.unit, &ret->unit, &hint)
                    : tl_unit_quotient(left, right.unit, &ret->unit, &hint)))
            return FAIL(p, at, TL_SYNTAX, "%s %s %s has no meaning here: %s", tl_unit_name(left),
                        times ? "times" : "divided by", tl_unit_name(right.unit), hint);
        status = tl_parser_emit(
            p, at, (struct tl_formula_code){.op = times ? TL_OP_MUL : TL_OP_DIV, .argc = 2}, 2);
    }
    return status;
}

enum tl_status tl_parser_expression(struct tl_parser *p, struct tl_operand *ret)
{
    enum tl_status status = parse_term(p, ret);
    while (status == TL_OK && (tl_parser_peek(p) == '+' || tl_parser_peek(p) == '-')) {
        size_t at = p->at;
        bool plus = p->text[p->at++] == '+';
        struct tl_operand right;
        status = parse_term(p, &right);
        if (status != TL_OK)
            break;
        enum tl_unit left = ret->unit;
        if (left == TL_UNIT_TEXT || left == TL_UNIT_BOOL ||
            !tl_unit_join(left, right.unit, &ret->unit))
            return FAIL(p, at, TL_SYNTAX, "%s %s %s has no meaning", tl_unit_name(left),
                        plus ? "plus" : "minus", tl_unit_name(right.unit));
        status = tl_parser_emit(
            p, at, (struct tl_formula_code){.op = plus ? TL_OP_ADD : TL_OP_SUB, .argc = 2}, 2);
    }
    return status;
}

/* What evaluating takes at most: TL_FORMULA_COST_MAX each for so many calls fits. */
static unsigned cost_of(const struct tl_parser *p)
{
    unsigned cost = 0;
    for (size_t i = 0; i < p->code_count; i++)
        cost += 1 + (p->code[i].op == TL_OP_CALL ? p->code[i].function->cost : 0);
    return cost;
}

enum tl_status tl_formula_compile(struct tl_arena *arena, struct tl_formula_scope *scope,
                                  bool results, const char *text, size_t len,
                                  struct tl_formula *ret_formula, struct tl_error *reterr)
{
    if (len > TL_FORMULA_CHARS_MAX)
        return tl_error_set(reterr, TL_LIMIT, "a formula of %zu characters; %d are the most", len,
                            TL_FORMULA_CHARS_MAX);
    struct tl_parser parser = {.text = text,
                               .len = len,
                               .results = results,
                               .arena = arena,
                               .scope = scope,
                               .reterr = reterr};
    struct tl_operand result;
    enum tl_status status = tl_parser_expression(&parser, &result);
    if (status != TL_OK)
        return status;
    if (tl_parser_peek(&parser))
        return FAIL(&parser, parser.at, TL_SYNTAX, "nothing more is expected here");
    unsigned cost = cost_of(&parser);
    if (cost > TL_FORMULA_COST_MAX)
        return FAIL(&parser, 0, TL_LIMIT,
                    "with the functions that it calls it takes more than %d "
                    "operations",
                    TL_FORMULA_COST_MAX);
    struct tl_formula formula = {
        .text = tl_arena_copy(arena, text, len),
        .unit = result.unit,
        .cost = cost,
        .code_count = parser.code_count,
        .code = TL_ARENA_ARRAY(arena, parser.code_count, struct tl_formula_code)};
    if (!formula.text || !formula.code)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    memcpy(formula.code, parser.code, parser.code_count * sizeof *parser.code);
    scope->cost += cost;
    *ret_formula = formula;
    return TL_OK;
}

enum tl_status tl_formula_constant(struct tl_arena *arena, double number, enum tl_unit unit,
                                   struct tl_formula *ret_formula)
{
    struct tl_formula_code *code = TL_ARENA_NEW(arena, struct tl_formula_code);
    char *text = unit == TL_UNIT_BOOL ? tl_arena_strdup(arena, number != 0 ? "true" : "false")
                                      : tl_arena_printf(arena, "%g", number);
    if (!code || !text)
        return TL_NOMEM;
    *code = (struct tl_formula_code){.op = TL_OP_NUMBER, .number = number};
    *ret_formula =
        (struct tl_formula){.text = text, .unit = unit, .cost = 1, .code_count = 1, .code = code};
    return TL_OK;
}

enum tl_status tl_formula_define(struct tl_arena *arena, struct tl_formula_scope *scope,
                                 const char *name, const char *because, const char *text,
                                 struct tl_error *reterr)
{
    struct tl_formula formula;
    enum tl_status status =
        tl_formula_compile(arena, scope, false, text, strlen(text), &formula, reterr);
    if (status != TL_OK)
        return status;
    if (scope->name_count == TL_SCOPE_NAMES_MAX)
        return tl_error_set(reterr, TL_LIMIT, "more than %d names, with the shared ones",
                            TL_SCOPE_NAMES_MAX);
    char *copy = tl_arena_strdup(arena, name);
    if (!copy)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    size_t index = scope->name_count++;
    scope->names[index] = copy;
    scope->becauses[index] = because;
    scope->shared_number[index] = 0;
    scope->formulas[index] = formula;
    return TL_OK;
}
