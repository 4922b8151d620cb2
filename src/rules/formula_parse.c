/* Compiles formulas: a recursive-descent parser of bounded depth that checks
 * units as it goes and emits postfix code. */
#include <ctype.h>
#include <string.h>

#include "formula_parser.h"
#include "shared.h"

#define FAIL TL_PARSER_FAIL

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

static enum tl_status parse_expression(struct tl_parser *p, struct tl_operand *ret);

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
        enum tl_status status = parse_expression(p, &ret_args[argc++]);
        if (status != TL_OK)
            return status;
    } while (tl_parser_take(p, ','));
    if (!tl_parser_take(p, ')'))
        return FAIL(p, p->at, TL_SYNTAX, "\",\" or \")\" expected");
    *ret_argc = argc;
    return TL_OK;
}

static enum tl_status call_builtin(struct tl_parser *p, const struct tl_word *name,
                                   const struct tl_builtin *f, struct tl_operand *ret)
{
    struct tl_operand args[TL_FUNCTION_ARGS_MAX];
    unsigned argc = 0;
    enum tl_status status = parse_arguments(p, f->name, f->max_args, args, &argc);
    ret->at = name->at;
    if (status == TL_OK)
        status = tl_parser_check_builtin(p, f, args, argc, &ret->unit);
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

static enum tl_status parse_call(struct tl_parser *p, const struct tl_word *name,
                                 struct tl_operand *ret)
{
    if (strcmp(name->text, "low") == 0 || strcmp(name->text, "high") == 0)
        return parse_bound(p, name, ret);
    const struct tl_builtin *builtin = tl_formula_builtin(name->text);
    if (builtin)
        return call_builtin(p, name, builtin, ret);
    const struct tl_function *shared = tl_shared_function(p->scope->shared, name->text);
    if (!shared)
        return FAIL(p, name->at, TL_UNKNOWN, "there is no function \"%s\"", name->text);
    return call_shared(p, name, shared, ret);
}

static enum tl_status parse_primary(struct tl_parser *p, struct tl_operand *ret)
{
    char c = tl_parser_peek(p);
    size_t at = p->at;
    if (isdigit((unsigned char)c) || c == '.')
        return tl_parser_number(p, ret);
    if (c == '\'')
        return tl_parser_text(p, ret);
    if (tl_parser_take(p, '(')) {
        enum tl_status status = parse_expression(p, ret);
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
        return tl_parser_take(p, '(') ? parse_call(p, &word, ret) : parse_name(p, &word, ret);
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

static enum tl_status parse_expression(struct tl_parser *p, struct tl_operand *ret)
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

static tl_fact_set facts_of(const struct tl_parser *p)
{
    tl_fact_set facts = 0;
    for (size_t i = 0; i < p->code_count; i++) {
        const struct tl_formula_code *code = &p->code[i];
        if (code->op == TL_OP_FACT || code->op == TL_OP_FACT_LOW || code->op == TL_OP_FACT_HIGH)
            facts |= TL_FACT_BIT(code->index);
        else if (code->op == TL_OP_NAME && code->index < TL_SCOPE_NAMES_MAX)
            facts |= p->scope->formulas[code->index].facts;
    }
    return facts;
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
    enum tl_status status = parse_expression(&parser, &result);
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
        .facts = facts_of(&parser),
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
