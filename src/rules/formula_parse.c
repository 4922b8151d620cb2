/* Compiles formulas: a recursive-descent parser of bounded depth that checks
 * units as it goes and emits postfix code. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formula.h"

struct parser {
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
struct operand {
    size_t at;
    enum tl_unit unit;
};

static enum tl_status parse_expression(struct parser *p, struct operand *ret);

#define FAIL(p, column, status, ...) fail(p, column, tl_error_set((p)->reterr, status, __VA_ARGS__))

/* Puts the column before the message that was just set. */
static enum tl_status fail(struct parser *p, size_t column, enum tl_status status)
{
    tl_error_prefix(p->reterr, "formula \"%.*s%s\", column %zu", p->len > 80 ? 80 : (int)p->len,
                    p->text, p->len > 80 ? "…" : "", column + 1);
    return status;
}

static void skip_space(struct parser *p)
{
    while (p->at < p->len && (p->text[p->at] == ' ' || p->text[p->at] == '\t'))
        p->at++;
}

static char peek(struct parser *p)
{
    skip_space(p);
    return p->at < p->len ? p->text[p->at] : '\0';
}

static bool take(struct parser *p, char c)
{
    if (peek(p) != c)
        return false;
    p->at++;
    return true;
}

/* Appends code and keeps account of the stack that evaluation will need. */
static enum tl_status emit(struct parser *p, size_t column, struct tl_formula_code code,
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
static enum tl_status scan_decimal(struct parser *p, double *ret_number)
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

static enum tl_status parse_number(struct parser *p, struct operand *ret)
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
        *ret = (struct operand){.at = start, .unit = u->unit};
        return emit(p, start,
                    (struct tl_formula_code){.op = TL_OP_NUMBER, .number = number * u->factor}, 0);
    }
    return FAIL(p, unit_at, TL_UNKNOWN,
                "the unit \"%.*s\" is not known; there are %% bps kbps Mbps Gbps B kB MB GB KiB "
                "MiB GiB ns us ms s min",
                len > 16 ? 16 : (int)len, p->text + unit_at);
}

/* The fact's index in the scope; collects it when it is new. */
static enum tl_status fact_index(struct parser *p, size_t at, const char *id, unsigned *ret_index)
{
    struct tl_formula_scope *scope = p->scope;
    for (size_t i = 0; i < scope->fact_count; i++) {
        if (strcmp(scope->fact_ids[i], id) == 0) {
            *ret_index = (unsigned)i;
            return TL_OK;
        }
    }
    const struct tl_fact_def *def = tl_fact_role_def(id);
    if (!def)
        return FAIL(p, at, TL_UNKNOWN, "there is no fact \"%s\" (see doc/facts.md)", id);
    if (scope->fact_count == TL_SCOPE_FACTS_MAX)
        return FAIL(p, at, TL_LIMIT, "the rule reads more than %d facts", TL_SCOPE_FACTS_MAX);
    unsigned index = (unsigned)scope->fact_count;
    scope->fact_ids[index] = tl_arena_strdup(p->arena, id);
    if (!scope->fact_ids[index])
        return FAIL(p, at, TL_NOMEM, "out of memory");
    scope->fact_units[index] = def->unit;
    scope->fact_count++;
    *ret_index = index;
    return TL_OK;
}

struct word {
    char text[96];
    size_t at;
};

static enum tl_status scan_word(struct parser *p, struct word *ret)
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

static enum tl_status parse_fact(struct parser *p, const struct word *word, enum tl_formula_op op,
                                 struct operand *ret)
{
    unsigned index = 0;
    enum tl_status status = fact_index(p, word->at, word->text, &index);
    if (status != TL_OK)
        return status;
    enum tl_unit unit = p->scope->fact_units[index];
    if (op != TL_OP_FACT && (unit == TL_UNIT_TEXT || unit == TL_UNIT_BOOL))
        return FAIL(p, word->at, TL_SYNTAX, "only numbers have bounds, \"%s\" is %s", word->text,
                    tl_unit_name(unit));
    *ret = (struct operand){.at = word->at, .unit = unit};
    return emit(p, word->at, (struct tl_formula_code){.op = op, .index = index}, 0);
}

static const char *const result_names[TL_NAME_COUNT] = {
    [TL_NAME_CEILING] = "ceiling",
    [TL_NAME_CEILING_LOW] = "ceiling_low",
    [TL_NAME_CEILING_HIGH] = "ceiling_high",
    [TL_NAME_FIXED] = "fixed",
    [TL_NAME_AT_LEAST] = "at_least",
    [TL_NAME_AIM] = "aim",
};

static enum tl_status parse_name(struct parser *p, const struct word *word, struct operand *ret)
{
    struct tl_formula_code code = {.op = TL_OP_NAME};
    *ret = (struct operand){.at = word->at};
    if (strcmp(word->text, "true") == 0 || strcmp(word->text, "false") == 0) {
        ret->unit = TL_UNIT_BOOL;
        code = (struct tl_formula_code){.op = TL_OP_NUMBER, .number = word->text[0] == 't'};
        return emit(p, word->at, code, 0);
    }
    for (unsigned i = 0; i < p->scope->name_count; i++) {
        if (strcmp(p->scope->names[i], word->text) == 0) {
            code.index = i;
            ret->unit = p->scope->formulas[i].unit;
            return emit(p, word->at, code, 0);
        }
    }
    for (unsigned i = 0; i < TL_NAME_COUNT; i++) {
        if (strcmp(result_names[i], word->text) == 0) {
            if (!p->results)
                return FAIL(p, word->at, TL_UNKNOWN,
                            "\"%s\" is known only after judging; texts and remedies may use it",
                            word->text);
            code.index = TL_SCOPE_NAMES_MAX + i;
            ret->unit = TL_UNIT_BPS;
            return emit(p, word->at, code, 0);
        }
    }
    return FAIL(p, word->at, TL_UNKNOWN,
                "\"%s\" is no function and no name defined above this formula", word->text);
}

static const struct function {
    const char *name;
    enum tl_formula_op op;
    unsigned min_args, max_args;
} functions[] = {
    {"min", TL_OP_MIN, 2, 8},           {"max", TL_OP_MAX, 2, 8},     {"first", TL_OP_FIRST, 2, 8},
    {"sqrt", TL_OP_SQRT, 1, 1},         {"cbrt", TL_OP_CBRT, 1, 1},   {"pow", TL_OP_POW, 2, 2},
    {"bps", TL_OP_BPS, 2, 2},           {"bytes", TL_OP_BYTES, 2, 2}, {"ns", TL_OP_NS, 2, 2},
    {"pow2ceil", TL_OP_POW2CEIL, 1, 1},
};

static enum tl_status need_unit(struct parser *p, const struct function *f,
                                const struct operand *arg, enum tl_unit unit)
{
    bool fits = unit == TL_UNIT_NUMBER ? tl_unit_is_plain(arg->unit) : arg->unit == unit;
    if (fits)
        return TL_OK;
    return FAIL(p, arg->at, TL_SYNTAX, "%s() needs %s here, this is %s", f->name,
                unit == TL_UNIT_NUMBER ? "a number without unit" : tl_unit_name(unit),
                tl_unit_name(arg->unit));
}

static enum tl_status both_units(struct parser *p, const struct function *f,
                                 const struct operand *args, enum tl_unit a, enum tl_unit b,
                                 enum tl_unit result, enum tl_unit *ret_unit)
{
    enum tl_status status = need_unit(p, f, &args[0], a);
    if (status == TL_OK)
        status = need_unit(p, f, &args[1], b);
    if (status == TL_OK)
        *ret_unit = result;
    return status;
}

/* All arguments of min, max and first have one unit. */
static enum tl_status joined_units(struct parser *p, const struct function *f,
                                   const struct operand *args, unsigned argc,
                                   enum tl_unit *ret_unit)
{
    *ret_unit = args[0].unit;
    for (unsigned i = 0; i < argc; i++) {
        if (args[i].unit == TL_UNIT_TEXT || args[i].unit == TL_UNIT_BOOL)
            return FAIL(p, args[i].at, TL_SYNTAX, "%s() takes numbers, this is %s", f->name,
                        tl_unit_name(args[i].unit));
        if (!tl_unit_join(*ret_unit, args[i].unit, ret_unit))
            return FAIL(p, args[i].at, TL_SYNTAX, "%s() mixes %s and %s", f->name,
                        tl_unit_name(*ret_unit), tl_unit_name(args[i].unit));
    }
    return TL_OK;
}

static enum tl_status check_call(struct parser *p, const struct function *f,
                                 const struct operand *args, unsigned argc, enum tl_unit *ret_unit)
{
    switch (f->op) {
    case TL_OP_BPS:
        return both_units(p, f, args, TL_UNIT_BYTES, TL_UNIT_NS, TL_UNIT_BPS, ret_unit);
    case TL_OP_BYTES:
        return both_units(p, f, args, TL_UNIT_BPS, TL_UNIT_NS, TL_UNIT_BYTES, ret_unit);
    case TL_OP_NS:
        return both_units(p, f, args, TL_UNIT_BYTES, TL_UNIT_BPS, TL_UNIT_NS, ret_unit);
    case TL_OP_POW:
        return both_units(p, f, args, TL_UNIT_NUMBER, TL_UNIT_NUMBER, TL_UNIT_NUMBER, ret_unit);
    case TL_OP_SQRT:
    case TL_OP_CBRT:
        *ret_unit = TL_UNIT_NUMBER;
        return need_unit(p, f, &args[0], TL_UNIT_NUMBER);
    default:
        return joined_units(p, f, args, argc, ret_unit);
    }
}

/* low(fact) and high(fact): the bounds of a measured number. */
static enum tl_status parse_bound(struct parser *p, const struct word *name, struct operand *ret)
{
    struct word word;
    (void)peek(p);
    enum tl_status status = scan_word(p, &word);
    if (status != TL_OK)
        return status;
    if (!strchr(word.text, '.') || !isalpha((unsigned char)word.text[0]))
        return FAIL(p, word.at, TL_SYNTAX, "%s() takes one fact", name->text);
    enum tl_formula_op op = strcmp(name->text, "low") == 0 ? TL_OP_FACT_LOW : TL_OP_FACT_HIGH;
    status = parse_fact(p, &word, op, ret);
    if (status == TL_OK && !take(p, ')'))
        return FAIL(p, p->at, TL_SYNTAX, "\")\" expected; %s() takes one fact", name->text);
    return status;
}

static enum tl_status parse_call(struct parser *p, const struct word *name, struct operand *ret)
{
    if (strcmp(name->text, "low") == 0 || strcmp(name->text, "high") == 0)
        return parse_bound(p, name, ret);
    const struct function *f = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name->text) == 0)
            f = &functions[i];
    if (!f)
        return FAIL(p, name->at, TL_UNKNOWN, "there is no function \"%s\"", name->text);
    struct operand args[8];
    unsigned argc = 0;
    do {
        if (argc == f->max_args)
            return FAIL(p, p->at, TL_SYNTAX, "%s() takes no more than %u arguments", f->name,
                        f->max_args);
        enum tl_status status = parse_expression(p, &args[argc++]);
        if (status != TL_OK)
            return status;
    } while (take(p, ','));
    if (!take(p, ')'))
        return FAIL(p, p->at, TL_SYNTAX, "\",\" or \")\" expected");
    if (argc < f->min_args)
        return FAIL(p, name->at, TL_SYNTAX, "%s() takes %u arguments", f->name, f->min_args);
    ret->at = name->at;
    enum tl_status status = check_call(p, f, args, argc, &ret->unit);
    if (status != TL_OK)
        return status;
    return emit(p, name->at, (struct tl_formula_code){.op = f->op, .argc = argc}, argc);
}

static enum tl_status parse_primary(struct parser *p, struct operand *ret)
{
    char c = peek(p);
    size_t at = p->at;
    if (isdigit((unsigned char)c) || c == '.')
        return parse_number(p, ret);
    if (take(p, '(')) {
        enum tl_status status = parse_expression(p, ret);
        if (status == TL_OK && !take(p, ')'))
            return FAIL(p, p->at, TL_SYNTAX, "\")\" expected");
        ret->at = at;
        return status;
    }
    if (isalpha((unsigned char)c)) {
        struct word word;
        enum tl_status status = scan_word(p, &word);
        if (status != TL_OK)
            return status;
        if (strchr(word.text, '.'))
            return parse_fact(p, &word, TL_OP_FACT, ret);
        return take(p, '(') ? parse_call(p, &word, ret) : parse_name(p, &word, ret);
    }
    if (!c)
        return FAIL(p, at, TL_SYNTAX, "it ends where a number, a fact or a name is expected");
    return FAIL(p, at, TL_SYNTAX, "a number, a fact or a name is expected here");
}

static enum tl_status parse_factor(struct parser *p, struct operand *ret)
{
    if (++p->depth > TL_FORMULA_DEPTH_MAX)
        return FAIL(p, p->at, TL_LIMIT, "nested deeper than %d", TL_FORMULA_DEPTH_MAX);
    enum tl_status status;
    size_t at = p->at;
    if (take(p, '-')) {
        status = parse_factor(p, ret);
        if (status == TL_OK && (ret->unit == TL_UNIT_TEXT || ret->unit == TL_UNIT_BOOL))
            status = FAIL(p, at, TL_SYNTAX, "only numbers have a sign, this is %s",
                          tl_unit_name(ret->unit));
        if (status == TL_OK)
            status = emit(p, at, (struct tl_formula_code){.op = TL_OP_NEG, .argc = 1}, 1);
    } else {
        status = parse_primary(p, ret);
    }
    p->depth--;
    return status;
}

static enum tl_status parse_term(struct parser *p, struct operand *ret)
{
    enum tl_status status = parse_factor(p, ret);
    while (status == TL_OK && (peek(p) == '*' || peek(p) == '/')) {
        size_t at = p->at;
        bool times = p->text[p->at++] == '*';
        struct operand right;
        const char *hint = NULL;
        status = parse_factor(p, &right);
        if (status != TL_OK)
            break;
        enum tl_unit left = ret->unit;
        if (!(times ? tl_unit_product(left, right.unit, &ret->unit, &hint)
                    : tl_unit_quotient(left, right.unit, &ret->unit, &hint)))
            return FAIL(p, at, TL_SYNTAX, "%s %s %s has no meaning here: %s", tl_unit_name(left),
                        times ? "times" : "divided by", tl_unit_name(right.unit), hint);
        status = emit(p, at,
                      (struct tl_formula_code){.op = times ? TL_OP_MUL : TL_OP_DIV, .argc = 2}, 2);
    }
    return status;
}

static enum tl_status parse_expression(struct parser *p, struct operand *ret)
{
    enum tl_status status = parse_term(p, ret);
    while (status == TL_OK && (peek(p) == '+' || peek(p) == '-')) {
        size_t at = p->at;
        bool plus = p->text[p->at++] == '+';
        struct operand right;
        status = parse_term(p, &right);
        if (status != TL_OK)
            break;
        enum tl_unit left = ret->unit;
        if (left == TL_UNIT_TEXT || left == TL_UNIT_BOOL ||
            !tl_unit_join(left, right.unit, &ret->unit))
            return FAIL(p, at, TL_SYNTAX, "%s %s %s has no meaning", tl_unit_name(left),
                        plus ? "plus" : "minus", tl_unit_name(right.unit));
        status =
            emit(p, at, (struct tl_formula_code){.op = plus ? TL_OP_ADD : TL_OP_SUB, .argc = 2}, 2);
    }
    return status;
}

enum tl_status tl_formula_compile(struct tl_arena *arena, struct tl_formula_scope *scope,
                                  bool results, const char *text, size_t len,
                                  struct tl_formula *ret_formula, struct tl_error *reterr)
{
    if (len > TL_FORMULA_CHARS_MAX)
        return tl_error_set(reterr, TL_LIMIT, "a formula of %zu characters; %d are the most", len,
                            TL_FORMULA_CHARS_MAX);
    struct parser parser = {.text = text,
                            .len = len,
                            .results = results,
                            .arena = arena,
                            .scope = scope,
                            .reterr = reterr};
    struct operand result;
    enum tl_status status = parse_expression(&parser, &result);
    if (status != TL_OK)
        return status;
    if (peek(&parser))
        return FAIL(&parser, parser.at, TL_SYNTAX, "nothing more is expected here");
    struct tl_formula formula = {
        .text = tl_arena_copy(arena, text, len),
        .unit = result.unit,
        .code_count = parser.code_count,
        .code = TL_ARENA_ARRAY(arena, parser.code_count, struct tl_formula_code)};
    if (!formula.text || !formula.code)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    memcpy(formula.code, parser.code, parser.code_count * sizeof *parser.code);
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
    *ret_formula = (struct tl_formula){.text = text, .unit = unit, .code_count = 1, .code = code};
    return TL_OK;
}
