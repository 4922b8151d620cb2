/* Functions in formulas: those of the language, and those that shared.json names. */
#include <ctype.h>
#include <string.h>

#include "formula_parser.h"
#include "shared.h"

#define FAIL TL_PARSER_FAIL

static const struct function {
    const char *name;
    enum tl_formula_op op;
    unsigned min_args, max_args;
} functions[] = {
    {"min", TL_OP_MIN, 2, 8},
    {"max", TL_OP_MAX, 2, 8},
    {"first", TL_OP_FIRST, 2, 8},
    {"if_known", TL_OP_IF_KNOWN, 2, 3},
    {"max_known", TL_OP_MAX_KNOWN, 2, 8},
    {"when_known", TL_OP_WHEN_KNOWN, 2, 2},
    {"sqrt", TL_OP_SQRT, 1, 1},
    {"cbrt", TL_OP_CBRT, 1, 1},
    {"pow", TL_OP_POW, 2, 2},
    {"bps", TL_OP_BPS, 2, 2},
    {"bytes", TL_OP_BYTES, 2, 2},
    {"ns", TL_OP_NS, 2, 2},
    {"pow2ceil", TL_OP_POW2CEIL, 1, 1},
};

bool tl_formula_is_builtin(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return true;
    return strcmp(name, "low") == 0 || strcmp(name, "high") == 0;
}

static enum tl_status need_unit(struct tl_parser *p, const char *function,
                                const struct tl_operand *arg, enum tl_unit unit)
{
    bool fits = unit == TL_UNIT_NUMBER ? tl_unit_is_plain(arg->unit) : arg->unit == unit;
    if (fits)
        return TL_OK;
    return FAIL(p, arg->at, TL_SYNTAX, "%s() needs %s here, this is %s", function,
                unit == TL_UNIT_NUMBER ? "a number without unit" : tl_unit_name(unit),
                tl_unit_name(arg->unit));
}

static enum tl_status both_units(struct tl_parser *p, const struct function *f,
                                 const struct tl_operand *args, enum tl_unit a, enum tl_unit b,
                                 enum tl_unit result, enum tl_unit *ret_unit)
{
    enum tl_status status = need_unit(p, f->name, &args[0], a);
    if (status == TL_OK)
        status = need_unit(p, f->name, &args[1], b);
    if (status == TL_OK)
        *ret_unit = result;
    return status;
}

/* All arguments of min, max and first have one unit. */
static enum tl_status joined_units(struct tl_parser *p, const struct function *f,
                                   const struct tl_operand *args, unsigned argc,
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

static enum tl_status check_builtin(struct tl_parser *p, const struct function *f,
                                    const struct tl_operand *args, unsigned argc,
                                    enum tl_unit *ret_unit)
{
    if (argc < f->min_args)
        return FAIL(p, args[0].at, TL_SYNTAX, "%s() takes %u arguments", f->name, f->min_args);
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
        return need_unit(p, f->name, &args[0], TL_UNIT_NUMBER);
    case TL_OP_IF_KNOWN: /* of three, what is asked about may be of any unit */
        return joined_units(p, f, argc == 3 ? args + 1 : args, 2, ret_unit);
    case TL_OP_WHEN_KNOWN:
        return joined_units(p, f, args + 1, 1, ret_unit);
    default:
        return joined_units(p, f, args, argc, ret_unit);
    }
}

/* low(fact) and high(fact): the bounds of a measured number. */
static enum tl_status parse_bound(struct tl_parser *p, const struct tl_word *name,
                                  struct tl_operand *ret)
{
    struct tl_word word;
    (void)tl_parser_peek(p);
    enum tl_status status = tl_parser_word(p, &word);
    if (status != TL_OK)
        return status;
    if (!strchr(word.text, '.') || !isalpha((unsigned char)word.text[0]))
        return FAIL(p, word.at, TL_SYNTAX, "%s() takes one fact", name->text);
    enum tl_formula_op op = strcmp(name->text, "low") == 0 ? TL_OP_FACT_LOW : TL_OP_FACT_HIGH;
    status = tl_parser_fact(p, &word, op, ret);
    if (status == TL_OK && !tl_parser_take(p, ')'))
        return FAIL(p, p->at, TL_SYNTAX, "\")\" expected; %s() takes one fact", name->text);
    return status;
}

/* The expressions up to the closing parenthesis. */
static enum tl_status parse_arguments(struct tl_parser *p, const char *function, unsigned max_args,
                                      struct tl_operand *ret_args, unsigned *ret_argc)
{
    unsigned argc = 0;
    do {
        if (argc == max_args)
            return FAIL(p, p->at, TL_SYNTAX, "%s() takes no more than %u arguments", function,
                        max_args);
        enum tl_status status = tl_parser_expression(p, &ret_args[argc++]);
        if (status != TL_OK)
            return status;
    } while (tl_parser_take(p, ','));
    if (!tl_parser_take(p, ')'))
        return FAIL(p, p->at, TL_SYNTAX, "\",\" or \")\" expected");
    *ret_argc = argc;
    return TL_OK;
}

static enum tl_status call_builtin(struct tl_parser *p, const struct tl_word *name,
                                   const struct function *f, struct tl_operand *ret)
{
    struct tl_operand args[TL_FUNCTION_ARGS_MAX];
    unsigned argc = 0;
    enum tl_status status = parse_arguments(p, f->name, f->max_args, args, &argc);
    ret->at = name->at;
    if (status == TL_OK)
        status = check_builtin(p, f, args, argc, &ret->unit);
    /* if_known(a, b) is the first of the two that is known. */
    enum tl_formula_op op = f->op == TL_OP_IF_KNOWN && argc == 2 ? TL_OP_FIRST : f->op;
    if (status == TL_OK)
        status =
            tl_parser_emit(p, name->at, (struct tl_formula_code){.op = op, .argc = argc}, argc);
    return status;
}

/* A function of shared.json: each argument has the unit of its parameter, or is a plain number
 * where a ratio or a count is taken. */
static enum tl_status call_shared(struct tl_parser *p, const struct tl_word *name,
                                  const struct tl_function *f, struct tl_operand *ret)
{
    struct tl_operand args[TL_FUNCTION_ARGS_MAX];
    unsigned argc = 0;
    enum tl_status status = parse_arguments(p, f->name, f->argc, args, &argc);
    if (status != TL_OK)
        return status;
    if (argc < f->argc)
        return FAIL(p, name->at, TL_SYNTAX, "%s() takes %u arguments", f->name, f->argc);
    for (unsigned i = 0; i < argc; i++) {
        enum tl_unit wanted = f->parameters[i].unit, joined;
        if (!tl_unit_join(wanted, args[i].unit, &joined) || joined != wanted)
            return FAIL(p, args[i].at, TL_SYNTAX, "%s() needs %s as its %s, this is %s", f->name,
                        tl_unit_name(wanted), f->parameters[i].name, tl_unit_name(args[i].unit));
    }
    if (f->nest + 1 > TL_FUNCTION_NEST_MAX)
        return FAIL(p, name->at, TL_LIMIT, "functions call one another deeper than %d",
                    TL_FUNCTION_NEST_MAX);
    if (p->scope->nest < f->nest + 1)
        p->scope->nest = f->nest + 1;
    *ret = (struct tl_operand){.at = name->at, .unit = f->unit};
    return tl_parser_emit(
        p, name->at, (struct tl_formula_code){.op = TL_OP_CALL, .argc = argc, .function = f}, argc);
}

enum tl_status tl_parser_call(struct tl_parser *p, const struct tl_word *name,
                              struct tl_operand *ret)
{
    if (strcmp(name->text, "low") == 0 || strcmp(name->text, "high") == 0)
        return parse_bound(p, name, ret);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name->text) == 0)
            return call_builtin(p, name, &functions[i], ret);
    const struct tl_function *shared = tl_shared_function(p->scope->shared, name->text);
    if (!shared)
        return FAIL(p, name->at, TL_UNKNOWN, "there is no function \"%s\"", name->text);
    return call_shared(p, name, shared, ret);
}
