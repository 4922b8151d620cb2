/* The functions of formulas, and the units that they take. */
#include <string.h>

#include "formula_parser.h"

#define FAIL TL_PARSER_FAIL

static const struct tl_builtin functions[] = {
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

const struct tl_builtin *tl_formula_builtin(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

bool tl_formula_is_builtin(const char *name)
{
    return tl_formula_builtin(name) || strcmp(name, "low") == 0 || strcmp(name, "high") == 0;
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

static enum tl_status both_units(struct tl_parser *p, const struct tl_builtin *f,
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
static enum tl_status joined_units(struct tl_parser *p, const struct tl_builtin *f,
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

enum tl_status tl_parser_check_builtin(struct tl_parser *p, const struct tl_builtin *f,
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
