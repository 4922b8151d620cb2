/* What the grammar of formulas is made of: words, numbers, texts and facts, and the code that they
 * become. */
#include "formula_parser.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    return TL_OK;
}

enum tl_status tl_parser_number(struct tl_parser *p, struct tl_operand *ret)
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
        number *= u->factor;
        if (!isfinite(number))
            return FAIL(p, start, TL_RANGE, "\"%.*s\" is too large", (int)(p->at - start),
                        p->text + start);
        *ret = (struct tl_operand){.at = start, .unit = u->unit};
        return tl_parser_emit(p, start,
                              (struct tl_formula_code){.op = TL_OP_NUMBER, .number = number}, 0);
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

enum tl_status tl_parser_text(struct tl_parser *p, struct tl_operand *ret)
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
