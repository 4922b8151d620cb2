/* Loading shared.json: each definition is compiled and, for functions, computed once here, so that
 * a fault is told at its own place and not at a rule that uses it. */
#include <math.h>
#include <string.h>

#include "load.h"

#define FORMAT "tightlink.shared/1"

/* An example holds within the digits that a person writes. */
#define EXAMPLE_SHARE 0.005

static bool unit_named(const char *name, enum tl_unit *ret_unit)
{
    for (int i = TL_UNIT_NUMBER; i <= TL_UNIT_TEXT; i++) {
        if (strcmp(tl_unit_name((enum tl_unit)i), name) == 0) {
            *ret_unit = (enum tl_unit)i;
            return true;
        }
    }
    return false;
}

static bool load_unit(struct tl_load *load, const struct tl_json_at *at, enum tl_unit *ret_unit)
{
    struct tl_error error;
    const char *text = NULL;
    if (tl_json_string(at, &text, &error) != TL_OK)
        tl_load_fault(load, &error);
    else if (!unit_named(text, ret_unit))
        tl_load_fault_at(load, at, TL_UNKNOWN,
                         "\"%.20s\" is none of number bps bytes ns ratio count bool text", text);
    else
        return true;
    return false;
}

static bool load_parameters(struct tl_load *load, const struct tl_json_at *at,
                            struct tl_function *function)
{
    struct tl_error error;
    struct tl_json_at takes, value;
    const char *name = NULL;
    if (tl_json_get_object(at, "takes", &takes, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return false;
    }
    struct tl_json_members members = tl_json_members(&takes);
    while (tl_json_next(&members, &name, &value)) {
        if (function->argc == TL_FUNCTION_ARGS_MAX) {
            tl_load_fault_at(load, &takes, TL_LIMIT, "more than %d parameters",
                             TL_FUNCTION_ARGS_MAX);
            return false;
        }
        if (!tl_load_is_name(name))
            tl_load_fault_at(load, &value, TL_SYNTAX, "a name has small letters, digits and _");
        else if (load_unit(load, &value, &function->parameters[function->argc].unit))
            function->parameters[function->argc++].name = tl_arena_strdup(load->arena, name);
    }
    if (!function->argc)
        tl_load_fault_at(load, &takes, TL_SYNTAX, "a function takes at least one value");
    return load->errors == 0;
}

static void load_body(struct tl_load *load, const struct tl_json_at *at, const char *value,
                      struct tl_function *function)
{
    struct tl_error error;
    const char *text = NULL;
    struct tl_formula_scope *scope = &load->rule->scope;
    if (function->body_count == TL_FUNCTION_ARGS_MAX) {
        tl_load_fault_at(load, at, TL_LIMIT, "more than %d formulas", TL_FUNCTION_ARGS_MAX);
        return;
    }
    if (tl_json_string(at, &text, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return;
    }
    struct tl_formula *formula = &function->bodies[function->body_count].formula;
    scope->nest = 0;
    scope->function = function;
    enum tl_status status =
        tl_formula_compile(load->arena, scope, false, text, strlen(text), formula, &error);
    scope->function = NULL;
    enum tl_unit joined;
    if (status != TL_OK)
        tl_load_fault_at(load, at, status, "%s", error.text);
    else if (!tl_unit_join(formula->unit, function->unit, &joined) || joined != function->unit)
        tl_load_fault_at(load, at, TL_SYNTAX, "it gives %s, \"%s\" is %s",
                         tl_unit_name(function->unit), text, tl_unit_name(formula->unit));
    else
        function->bodies[function->body_count++].value = value;
    if (status == TL_OK && function->cost < formula->cost)
        function->cost = formula->cost;
    if (function->nest < scope->nest)
        function->nest = scope->nest;
}

/* "is": one formula, or with "by" one for each value of that parameter, which is a text. */
static void load_bodies(struct tl_load *load, const struct tl_json_at *at,
                        struct tl_function *function)
{
    struct tl_error error;
    struct tl_json_at is = tl_load_member(at, "is"), by, value;
    const char *name = NULL;
    function->by = function->argc;
    if (!tl_json_find(at, "by", &by)) {
        load_body(load, &is, NULL, function);
        return;
    }
    if (tl_json_string(&by, &name, &error) != TL_OK ||
        tl_json_expect(&is, TL_JSON_OBJECT, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return;
    }
    for (unsigned i = 0; i < function->argc; i++)
        if (strcmp(function->parameters[i].name, name) == 0 &&
            function->parameters[i].unit == TL_UNIT_TEXT)
            function->by = i;
    if (function->by == function->argc) {
        tl_load_fault_at(load, &by, TL_UNKNOWN, "\"%.40s\" is no parameter that is a text", name);
        return;
    }
    struct tl_json_members members = tl_json_members(&is);
    while (tl_json_next(&members, &name, &value))
        load_body(load, &value, tl_arena_strdup(load->arena, name), function);
}

/* "poisson_low(100)": 81.4, or a text with a unit. */
static void check_example(struct tl_load *load, const char *call, const struct tl_json_at *at)
{
    struct tl_error error;
    struct tl_formula formula, wanted = {.unit = TL_UNIT_NUMBER};
    struct tl_formula_scope *scope = &load->rule->scope;
    double number = 0;
    const char *text = NULL;
    enum tl_status status =
        tl_formula_compile(load->arena, scope, false, call, strlen(call), &formula, &error);
    if (status == TL_OK && tl_json_type(at) == TL_JSON_STRING) {
        status = tl_json_string(at, &text, &error);
        if (status == TL_OK)
            status =
                tl_formula_compile(load->arena, scope, false, text, strlen(text), &wanted, &error);
        if (status == TL_OK)
            number = tl_formula_evaluate_constant(&wanted).number;
    } else if (status == TL_OK) {
        status = tl_json_number(at, &number, &error);
    }
    enum tl_unit joined;
    if (status == TL_OK && (scope->fact_count || scope->name_count))
        status = tl_error_set(&error, TL_SYNTAX, "an example has numbers in place of facts");
    else if (status == TL_OK && !tl_unit_join(formula.unit, wanted.unit, &joined))
        status = tl_error_set(&error, TL_SYNTAX, "%s is %s, not %s", call,
                              tl_unit_name(formula.unit), tl_unit_name(wanted.unit));
    if (status != TL_OK) {
        tl_load_fault_at(load, at, status, "%s", error.text);
        return;
    }
    struct tl_value value = tl_formula_evaluate_constant(&formula);
    if (!value.known || !(fabs(value.number - number) <= EXAMPLE_SHARE * fabs(number)))
        tl_load_fault_at(load, at, TL_INVALID, "%s is %.6g", call,
                         value.known ? value.number : (double)NAN);
}

static void load_examples(struct tl_load *load, const struct tl_json_at *at)
{
    struct tl_error error;
    struct tl_json_at examples, value;
    const char *call = NULL;
    if (tl_json_get_object(at, "examples", &examples, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return;
    }
    if (tl_json_count(&examples) == 0)
        tl_load_fault_at(load, &examples, TL_SYNTAX, "at least one example is expected");
    struct tl_json_members members = tl_json_members(&examples);
    while (tl_json_next(&members, &call, &value))
        check_example(load, call, &value);
}

static void load_function(struct tl_shared *shared, struct tl_load *load, const char *name,
                          const struct tl_json_at *at, bool is_own)
{
    static const char *const keys[] = {"takes", "gives", "by", "is", "because", "examples", NULL};
    struct tl_error error;
    struct tl_function *function = TL_ARENA_NEW(load->arena, struct tl_function);
    if (!function)
        return;
    if (tl_json_check_keys(at, keys, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return;
    }
    if (!tl_load_is_name(name) || tl_formula_is_builtin(name))
        tl_load_fault_at(load, at, TL_SYNTAX,
                         "a name has small letters, digits and _, and is none of the language's");
    if (shared->function_count == TL_SHARED_FUNCTIONS_MAX) {
        tl_load_fault_at(load, at, TL_LIMIT, "more than %d functions", TL_SHARED_FUNCTIONS_MAX);
        return;
    }
    function->name = tl_arena_strdup(load->arena, name);
    struct tl_json_at gives = tl_load_member(at, "gives");
    if (!load_parameters(load, at, function) || !load_unit(load, &gives, &function->unit))
        return;
    (void)tl_load_text(load, at, "because", true, &function->because);
    load_bodies(load, at, function);
    if (load->errors || load->arena->failed)
        return;
    shared->function_entries[shared->function_count] = (struct tl_shared_entry){.is_own = is_own};
    shared->functions[shared->function_count++] = function;
    load_examples(load, at);
    shared->function_entries[shared->function_count - 1].used = false;
}

static void load_name(struct tl_shared *shared, struct tl_load *load, const char *name,
                      const struct tl_json_at *at, bool is_own)
{
    static const char *const keys[] = {"is", "because", NULL};
    struct tl_error error;
    const char *text = NULL, *because = NULL;
    if (tl_json_check_keys(at, keys, &error) != TL_OK ||
        tl_json_get_string(at, "is", &text, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return;
    }
    if (!tl_load_is_name(name))
        tl_load_fault_at(load, at, TL_SYNTAX, "a name has small letters, digits and _");
    if (shared->name_count == TL_SHARED_NAMES_MAX) {
        tl_load_fault_at(load, at, TL_LIMIT, "more than %d names", TL_SHARED_NAMES_MAX);
        return;
    }
    (void)tl_load_text(load, at, "because", true, &because);
    enum tl_status status =
        tl_formula_define(load->arena, &load->rule->scope, name, because, text, &error);
    if (status != TL_OK)
        tl_load_fault_at(load, at, status, "%s", error.text);
    shared->name_entries[shared->name_count] = (struct tl_shared_entry){.is_own = is_own};
    shared->names[shared->name_count++] = (struct tl_shared_name){
        tl_arena_strdup(load->arena, name), tl_arena_strdup(load->arena, text), because};
}

static void load_test(struct tl_shared *shared, struct tl_load *load, const char *id,
                      const struct tl_json_at *at, bool is_own)
{
    if (shared->test_count == TL_SHARED_TESTS_MAX) {
        tl_load_fault_at(load, at, TL_LIMIT, "more than %d tests", TL_SHARED_TESTS_MAX);
        return;
    }
    const char *because = NULL;
    (void)tl_load_text(load, at, "because", true, &because);
    const char *copy = tl_arena_strdup(load->arena, id);
    (void)tl_load_shared_test(load, at, copy, true);
    shared->test_entries[shared->test_count] = (struct tl_shared_entry){.is_own = is_own};
    shared->tests[shared->test_count++] = (struct tl_shared_written){copy, *at};
}

static void load_condition(struct tl_shared *shared, struct tl_load *load, const char *id,
                           const struct tl_json_at *at, bool is_own)
{
    size_t i = shared->condition_count;
    if (i == TL_SHARED_CONDITIONS_MAX) {
        tl_load_fault_at(load, at, TL_LIMIT, "more than %d conditions", TL_SHARED_CONDITIONS_MAX);
        return;
    }
    const char *because = NULL;
    (void)tl_load_text(load, at, "because", true, &because);
    const char *copy = tl_arena_strdup(load->arena, id);
    if (!copy) /* which the arena remembers */
        return;
    (void)tl_load_shared_condition(load, at, copy, i + 1, true, 1);
    shared->condition_entries[i] = (struct tl_shared_entry){.is_own = is_own};
    shared->conditions[shared->condition_count++] = (struct tl_shared_written){copy, *at};
}

typedef void load_definition(struct tl_shared *shared, struct tl_load *load, const char *name,
                             const struct tl_json_at *at, bool is_own);

/* Each definition with a scratch rule of its own. */
static void load_part(struct tl_shared *shared, struct tl_load *load, const struct tl_json_at *root,
                      const char *key, load_definition *definition, bool is_own)
{
    struct tl_error error;
    struct tl_json_at object, value;
    const char *name = NULL;
    if (!tl_json_find(root, key, &object))
        return;
    if (tl_json_expect(&object, TL_JSON_OBJECT, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return;
    }
    struct tl_test *tests = load->rule->tests;
    struct tl_json_members members = tl_json_members(&object);
    while (!load->arena->failed && tl_json_next(&members, &name, &value)) {
        *load->rule = (struct tl_rule){.tests = tests, .scope.shared = shared};
        definition(shared, load, name, &value, is_own);
    }
}

/* What the file itself uses was noted while it was loaded: a function that another calls counts as
 * used, a name, test or condition when a rule or another definition uses it. */
static void load_all(struct tl_shared *shared, struct tl_load *load, const struct tl_json_at *root,
                     bool is_own)
{
    static const char *const keys[] = {"format", "about",      "functions", "names",
                                       "tests",  "conditions", NULL};
    struct tl_error error;
    const char *format = NULL;
    if (tl_json_check_keys(root, keys, &error) != TL_OK)
        tl_load_fault(load, &error);
    if (tl_json_type(root) != TL_JSON_OBJECT)
        return;
    if (tl_load_text(load, root, "format", true, &format) && strcmp(format, FORMAT) != 0) {
        struct tl_json_at at = tl_load_member(root, "format");
        tl_load_fault_at(load, &at, TL_VERSION, "\"%.40s\" where this program reads \"%s\"", format,
                         FORMAT);
    }
    load_part(shared, load, root, "functions", load_function, is_own);
    load_part(shared, load, root, "names", load_name, is_own);
    load_part(shared, load, root, "tests", load_test, is_own);
    load_part(shared, load, root, "conditions", load_condition, is_own);
}

void tl_shared_add(struct tl_shared *shared, struct tl_load *load, const char *text, size_t len,
                   bool is_own)
{
    struct tl_json *doc = NULL;
    struct tl_error error;
    if (tl_json_parse(text, len, &tl_load_json_limits, &doc, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return;
    }
    shared->docs[shared->doc_count++] = doc;
    load->rule = TL_ARENA_NEW(load->arena, struct tl_rule);
    if (load->rule &&
        (load->rule->tests = TL_ARENA_ARRAY(load->arena, TL_RULE_TESTS_MAX, struct tl_test))) {
        struct tl_json_at root = tl_json_root(doc);
        load_all(shared, load, &root, is_own);
    }
}

static void check_entry(struct tl_load *load, const struct tl_shared_entry *entry, const char *kind,
                        const char *name)
{
    struct tl_error error;
    if (!entry->is_own || entry->used)
        return;
    (void)tl_error_set(&error, TL_UNKNOWN, "/%s/%s: no rule uses it", kind, name);
    tl_load_fault(load, &error);
}

void tl_shared_check_used(const struct tl_shared *shared, struct tl_load *load)
{
    for (size_t i = 0; i < shared->function_count; i++)
        check_entry(load, &shared->function_entries[i], "functions", shared->functions[i]->name);
    for (size_t i = 0; i < shared->name_count; i++)
        check_entry(load, &shared->name_entries[i], "names", shared->names[i].name);
    for (size_t i = 0; i < shared->test_count; i++)
        check_entry(load, &shared->test_entries[i], "tests", shared->tests[i].id);
    for (size_t i = 0; i < shared->condition_count; i++)
        check_entry(load, &shared->condition_entries[i], "conditions", shared->conditions[i].id);
}
