/* Evaluates compiled formulas. Unknown facts, division by zero, roots of
 * negative numbers and overflow give unknown, never a number. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "formula.h"
#include "tightlink/base/units.h"

static struct tl_value known(double number)
{
    return (struct tl_value){.known = true, .number = number};
}

static struct tl_value undefined(const char *problem)
{
    return (struct tl_value){.problem = problem};
}

/* The result of an operation: a number, or unknown with the reason. */
static struct tl_value checked(double number, const char *problem)
{
    return isfinite(number) ? known(number) : undefined(problem);
}

/* Unknown inputs make the result unknown; it misses what they miss. */
static bool all_known(const struct tl_value *args, unsigned argc, struct tl_value *ret_unknown)
{
    struct tl_value unknown = {0};
    bool all = true;
    for (unsigned i = 0; i < argc; i++) {
        if (args[i].known)
            continue;
        all = false;
        unknown.missing |= args[i].missing;
        if (!unknown.problem)
            unknown.problem = args[i].problem;
    }
    if (!all)
        *ret_unknown = unknown;
    return all;
}

static struct tl_value fact_value(const struct tl_formula_env *env, enum tl_formula_op op,
                                  unsigned index)
{
    const struct tl_fact *fact = &env->facts[index];
    if (fact->state != TL_FACT_KNOWN)
        return (struct tl_value){.missing = TL_FACT_BIT(index)};
    if (fact->unit == TL_UNIT_TEXT)
        return (struct tl_value){.known = true, .number = NAN, .text = fact->text};
    double number = op == TL_OP_FACT_LOW    ? fact->low
                    : op == TL_OP_FACT_HIGH ? fact->high
                                            : fact->number;
    return checked(number, "not a number");
}

static struct tl_value binary(enum tl_formula_op op, double a, double b)
{
    switch (op) {
    case TL_OP_ADD:
        return checked(a + b, "out of range");
    case TL_OP_SUB:
        return checked(a - b, "out of range");
    case TL_OP_MUL:
        return checked(a * b, "out of range");
    case TL_OP_DIV:
        return b == 0 ? undefined("division by zero") : checked(a / b, "out of range");
    case TL_OP_POW:
        return checked(pow(a, b), "power without a value");
    case TL_OP_BPS:
        return b <= 0 ? undefined("division by zero")
                      : checked(tl_bps_from_bytes_ns(a, b), "out of range");
    case TL_OP_BYTES:
        return checked(tl_bytes_from_bps_ns(a, b), "out of range");
    case TL_OP_NS:
        return b <= 0 ? undefined("division by zero") : checked(a * 8e9 / b, "out of range");
    default:
        assert(!"not a binary operation");
        return undefined("");
    }
}

static struct tl_value unary(enum tl_formula_op op, double a)
{
    switch (op) {
    case TL_OP_NEG:
        return known(-a);
    case TL_OP_SQRT:
        return checked(sqrt(a), "root of a negative number");
    case TL_OP_CBRT:
        return checked(cbrt(a), "out of range");
    case TL_OP_POW2CEIL:
        return checked(a <= 1 ? 1 : exp2(ceil(log2(a))), "out of range");
    default:
        assert(!"not a unary operation");
        return undefined("");
    }
}

/* The first argument that is known; all that is missing when none is. */
static struct tl_value first_known(const struct tl_value *args, unsigned argc)
{
    struct tl_value unknown = {0};
    for (unsigned i = 0; i < argc; i++) {
        if (!args[i].known)
            continue;
        struct tl_value first = args[i];
        first.is_assumed |= i > 0 && first.is_constant;
        return first;
    }
    (void)all_known(args, argc, &unknown);
    return unknown;
}

/* The largest argument that is known; all that is missing when none is. */
static struct tl_value largest_known(const struct tl_value *args, unsigned argc)
{
    struct tl_value most = first_known(args, argc);
    for (unsigned i = 0; i < argc; i++)
        if (args[i].known && args[i].number > most.number)
            most = args[i];
    return most;
}

static struct tl_value extreme(enum tl_formula_op op, const struct tl_value *args, unsigned argc)
{
    double best = args[0].number;
    for (unsigned i = 1; i < argc; i++)
        if (op == TL_OP_MIN ? args[i].number < best : args[i].number > best)
            best = args[i].number;
    return known(best);
}

/* if_known(a, b, c); what is missing of it is missing of a where c has no value either. */
static struct tl_value chosen(const struct tl_value *args)
{
    if (args[0].known)
        return args[1];
    struct tl_value value = args[2];
    if (!value.known)
        value.missing |= args[0].missing;
    return value;
}

static struct tl_value evaluate(const struct tl_formula *formula, const struct tl_formula_env *env,
                                const struct tl_value *args);

/* A function of shared.json: it decides itself what an unknown argument means. */
static struct tl_value call(const struct tl_function *function, const struct tl_value *args)
{
    if (function->by == function->argc)
        return evaluate(&function->bodies[0].formula, NULL, args);
    const struct tl_value *by = &args[function->by];
    if (!by->known)
        return *by;
    for (size_t i = 0; i < function->body_count; i++)
        if (strcmp(function->bodies[i].value, by->text) == 0)
            return evaluate(&function->bodies[i].formula, NULL, args);
    return undefined("there is no model for it");
}

static struct tl_value operate(const struct tl_formula_code *code, const struct tl_value *args)
{
    struct tl_value unknown;
    if (code->op == TL_OP_FIRST)
        return first_known(args, code->argc);
    if (code->op == TL_OP_MAX_KNOWN)
        return largest_known(args, code->argc);
    if (code->op == TL_OP_IF_KNOWN)
        return chosen(args);
    if (code->op == TL_OP_WHEN_KNOWN)
        return all_known(args, 1, &unknown) ? args[1] : unknown;
    if (code->op == TL_OP_CALL)
        return call(code->function, args);
    if (!all_known(args, code->argc, &unknown))
        return unknown;
    if (code->op == TL_OP_MIN || code->op == TL_OP_MAX)
        return extreme(code->op, args, code->argc);
    return code->argc == 1 ? unary(code->op, args[0].number)
                           : binary(code->op, args[0].number, args[1].number);
}

/* What rests on an assumption is one, too. */
static struct tl_value apply(const struct tl_formula_code *code, const struct tl_value *args)
{
    struct tl_value value = operate(code, args);
    bool chooses = code->op == TL_OP_FIRST || code->op == TL_OP_MAX_KNOWN ||
                   code->op == TL_OP_IF_KNOWN || code->op == TL_OP_CALL;
    for (unsigned i = 0; i < code->argc && !chooses; i++)
        value.is_assumed |= args[i].is_assumed;
    return value;
}

static struct tl_value name_value(const struct tl_formula_env *env, unsigned index)
{
    size_t own = TL_SCOPE_NAMES_MAX;
    return index < own ? env->names[index] : env->results[index - own];
}

/* What one operation leaves; args: of the function whose body this is, operands: of the operation.
 */
static struct tl_value step(const struct tl_formula_code *code, const struct tl_formula_env *env,
                            const struct tl_value *args, const struct tl_value *operands)
{
    switch (code->op) {
    case TL_OP_NUMBER:
        return (struct tl_value){.known = true, .number = code->number, .is_constant = true};
    case TL_OP_TEXT:
        return (struct tl_value){.known = true, .number = NAN, .text = code->text};
    case TL_OP_ARGUMENT:
        return args[code->index];
    case TL_OP_FACT:
    case TL_OP_FACT_LOW:
    case TL_OP_FACT_HIGH:
        return fact_value(env, code->op, code->index);
    case TL_OP_NAME:
        return name_value(env, code->index);
    default:
        return apply(code, operands);
    }
}

static struct tl_value evaluate(const struct tl_formula *formula, const struct tl_formula_env *env,
                                const struct tl_value *args)
{
    /* Not cleared for each formula, as the compiler is told to: it is read up to top alone. */
    __attribute__((uninitialized)) struct tl_value stack[TL_FORMULA_STACK_MAX];
    size_t top = 0;
    for (size_t i = 0; i < formula->code_count; i++) {
        const struct tl_formula_code *code = &formula->code[i];
        assert(top >= code->argc);
        top -= code->argc;
        struct tl_value value = step(code, env, args, &stack[top]);
        assert(top < TL_FORMULA_STACK_MAX);
        stack[top++] = value;
    }
    assert(top == 1);
    return stack[0];
}

struct tl_value tl_formula_evaluate(const struct tl_formula *formula,
                                    const struct tl_formula_env *env)
{
    return evaluate(formula, env, NULL);
}

struct tl_value tl_formula_evaluate_constant(const struct tl_formula *formula)
{
    return evaluate(formula, NULL, NULL);
}

/* A name may use only those above it, so one pass is enough. */
static void evaluate_names(struct tl_formula_env *env)
{
    for (size_t i = 0; i < env->scope->name_count; i++)
        env->names[i] = tl_formula_evaluate(&env->scope->formulas[i], env);
}

/* How far apart the values are for two values of one number, which is set back. */
static double spread(const struct tl_formula *formula, struct tl_formula_env *env, double *number,
                     double low, double high)
{
    double was = *number, values[2];
    for (int i = 0; i < 2; i++) {
        *number = i ? high : low;
        evaluate_names(env);
        struct tl_value value = tl_formula_evaluate(formula, env);
        values[i] = value.known ? value.number : (double)NAN;
    }
    *number = was;
    return isfinite(values[0]) && isfinite(values[1]) ? fabs(values[1] - values[0]) : 0;
}

double tl_formula_doubt(const struct tl_formula *formula, const struct tl_formula_env *env)
{
    struct tl_formula_env moved = *env;
    const struct tl_value *results = env->results;
    struct tl_value value = tl_formula_evaluate(formula, env);
    double squares = 0, told;
    if (env->told && value.known && formula->unit == TL_UNIT_BPS &&
        env->told(env->told_context, value.number, &told))
        return told;
    for (size_t i = 0; i < env->scope->fact_count; i++) {
        struct tl_fact *fact = &moved.facts[i];
        if ((formula->facts >> i & 1) && fact->state == TL_FACT_KNOWN && fact->high > fact->low)
            squares += pow(spread(formula, &moved, &fact->number, fact->low, fact->high), 2);
    }
    if (results[TL_NAME_CEILING].known)
        squares +=
            pow(spread(formula, &moved, &moved.results[TL_NAME_CEILING].number,
                       results[TL_NAME_CEILING_LOW].number, results[TL_NAME_CEILING_HIGH].number),
                2);
    return sqrt(squares) / 2;
}

void tl_formula_env_init(struct tl_formula_env *env, const struct tl_formula_scope *scope,
                         const struct tl_facts *facts, enum tl_direction direction)
{
    *env = (struct tl_formula_env){.scope = scope, .store = facts};
    for (size_t i = 0; i < scope->fact_count; i++)
        tl_facts_get(facts, tl_role_fact_key(scope->facts[i], direction), &env->facts[i]);
    evaluate_names(env);
}
