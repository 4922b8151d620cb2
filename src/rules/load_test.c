/* Loading tests, and what may be named by their ids. */
#include <stdint.h>
#include <string.h>

#include "load.h"

/* A side of a test: a formula, or a JSON number, true or false. */
static bool load_side(struct tl_load *load, const struct tl_json_at *at,
                      struct tl_formula *ret_formula)
{
    struct tl_error error = {0};
    double number = 0;
    bool truth = false;
    const char *text = NULL;
    enum tl_status status;
    switch (tl_json_type(at)) {
    case TL_JSON_INTEGER:
    case TL_JSON_NUMBER:
        status = tl_json_number(at, &number, &error);
        if (status == TL_OK)
            status = tl_formula_constant(load->arena, number, TL_UNIT_NUMBER, ret_formula);
        break;
    case TL_JSON_BOOL:
        status = tl_json_bool(at, &truth, &error);
        if (status == TL_OK)
            status = tl_formula_constant(load->arena, truth, TL_UNIT_BOOL, ret_formula);
        break;
    case TL_JSON_STRING:
        status = tl_json_string(at, &text, &error);
        if (status == TL_OK)
            status = tl_formula_compile(load->arena, &load->rule->scope, false, text, strlen(text),
                                        ret_formula, &error);
        break;
    default:
        status = tl_error_set(&error, TL_SYNTAX, "a formula, a number, true or false is expected");
    }
    if (status != TL_OK)
        tl_load_fault_at(load, at, status, "%s", error.text);
    return status == TL_OK;
}

static bool load_compare(struct tl_load *load, const struct tl_json_at *at,
                         enum tl_compare *ret_compare)
{
    struct tl_error error;
    const char *text = NULL;
    if (tl_json_string(at, &text, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return false;
    }
    for (int i = TL_LT; i <= TL_IN; i++) {
        if (strcmp(tl_compare_name((enum tl_compare)i), text) == 0) {
            *ret_compare = (enum tl_compare)i;
            return true;
        }
    }
    tl_load_fault_at(load, at, TL_UNKNOWN,
                     "\"%.20s\" is no comparison; there are < <= > >= == != in", text);
    return false;
}

static bool add_text(struct tl_load *load, const struct tl_json_at *at, struct tl_test *test)
{
    struct tl_error error;
    const char *text = NULL;
    if (tl_json_string(at, &text, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return false;
    }
    test->texts[test->text_count] = tl_arena_strdup(load->arena, text);
    return test->texts[test->text_count++] != NULL;
}

/* The right side of a test of a text fact: a string, or for "in" a list of strings. */
static bool load_texts(struct tl_load *load, const struct tl_json_at *at, struct tl_test *test)
{
    size_t count = test->compare == TL_IN ? tl_json_count(at) : 1;
    bool list = tl_json_type(at) == TL_JSON_ARRAY;
    if (test->compare != TL_IN && test->compare != TL_EQ && test->compare != TL_NE) {
        tl_load_fault_at(load, at, TL_SYNTAX, "texts are compared with ==, != or in");
        return false;
    }
    if ((test->compare == TL_IN) != list || count == 0 || count > TL_TEST_TEXTS_MAX) {
        tl_load_fault_at(load, at, TL_SYNTAX, "== and != take one text, in takes a list of 1 to %d",
                         TL_TEST_TEXTS_MAX);
        return false;
    }
    test->texts = TL_ARENA_ARRAY(load->arena, count, const char *);
    if (!test->texts)
        return false;
    for (size_t i = 0; list && i < count; i++) {
        struct tl_json_at item = tl_json_item(at, i);
        if (!add_text(load, &item, test))
            return false;
    }
    return list || add_text(load, at, test);
}

static bool load_numbers(struct tl_load *load, const struct tl_json_at *at, struct tl_test *test)
{
    enum tl_unit joined;
    if (test->compare == TL_IN) {
        tl_load_fault_at(load, at, TL_SYNTAX, "\"in\" needs a text fact on its left, this is %s",
                         tl_unit_name(test->left.unit));
        return false;
    }
    if (!load_side(load, at, &test->right))
        return false;
    if (!tl_unit_join(test->left.unit, test->right.unit, &joined)) {
        tl_load_fault_at(load, at, TL_SYNTAX, "%s is compared with %s",
                         tl_unit_name(test->left.unit), tl_unit_name(test->right.unit));
        return false;
    }
    if (joined == TL_UNIT_BOOL && test->compare != TL_EQ && test->compare != TL_NE) {
        tl_load_fault_at(load, at, TL_SYNTAX, "yes and no are compared with == or !=");
        return false;
    }
    return true;
}

static void write_test(struct tl_load *load, struct tl_test *test)
{
    struct tl_buf text = TL_BUF_INIT;
    tl_buf_addf(&text, "%s %s ", test->left.text, tl_compare_name(test->compare));
    if (test->text_count == 0)
        tl_buf_adds(&text, test->right.text);
    for (size_t i = 0; i < test->text_count; i++)
        tl_buf_addf(&text, "%s%s", i ? ", " : "", test->texts[i]);
    load->arena->failed |= text.status != TL_OK;
    test->written = tl_arena_strdup(load->arena, tl_buf_text(&text));
    tl_buf_finish(&text);
}

static bool load_triple(struct tl_load *load, const struct tl_json_at *object, struct tl_test *test)
{
    struct tl_error error;
    struct tl_json_at triple;
    if (tl_json_get_array(object, "test", &triple, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return false;
    }
    if (tl_json_count(&triple) != 3) {
        tl_load_fault_at(load, &triple, TL_SYNTAX, "a test is [formula, comparison, formula]");
        return false;
    }
    struct tl_json_at left = tl_json_item(&triple, 0), compare = tl_json_item(&triple, 1),
                      right = tl_json_item(&triple, 2);
    if (!load_side(load, &left, &test->left) || !load_compare(load, &compare, &test->compare))
        return false;
    bool is_text = test->left.unit == TL_UNIT_TEXT;
    if (!(is_text ? load_texts(load, &right, test) : load_numbers(load, &right, test)))
        return false;
    write_test(load, test);
    return true;
}

const struct tl_logic *tl_load_group(const struct tl_load *load, const char *id)
{
    for (size_t i = 0; i < load->rule->group_count; i++)
        if (strcmp(load->rule->groups[i]->id, id) == 0)
            return load->rule->groups[i];
    return NULL;
}

size_t tl_load_find_test(const struct tl_load *load, const char *id)
{
    for (size_t i = 0; i < load->rule->test_count; i++)
        if (strcmp(load->rule->tests[i].id, id) == 0)
            return i;
    return TL_RULE_TESTS_MAX;
}

const struct tl_logic *tl_load_condition(void *loading, const char *id)
{
    struct tl_load *load = loading;
    const struct tl_logic *group = tl_load_group(load, id);
    size_t test = tl_load_find_test(load, id);
    if (group || test == TL_RULE_TESTS_MAX)
        return group;
    struct tl_logic *node = TL_ARENA_NEW(load->arena, struct tl_logic);
    if (node)
        *node = (struct tl_logic){.kind = TL_LOGIC_TEST, .size = 1, .depth = 1, .test = test};
    return node;
}

/* The rest of a test whose id is known. */
static size_t add_test(struct tl_load *load, const struct tl_json_at *at, const char *id,
                       bool is_for)
{
    struct tl_test test = {.id = id, .is_for = is_for};
    size_t before = load->errors;
    if (load->rule->test_count == TL_RULE_TESTS_MAX) {
        tl_load_fault_at(load, at, TL_LIMIT, "more than %d tests in one rule", TL_RULE_TESTS_MAX);
        return TL_RULE_TESTS_MAX;
    }
    (void)load_triple(load, at, &test);
    tl_load_template(load, at, "say", false, &test.say);
    tl_load_template(load, at, "against", false, &test.against);
    (void)tl_load_text(load, at, "because", false, &test.because);
    if (load->errors > before || load->arena->failed)
        return TL_RULE_TESTS_MAX;
    load->rule->scope.cost += TL_RULE_TEST_COST;
    load->rule->tests[load->rule->test_count] = test;
    return load->rule->test_count++;
}

size_t tl_load_test(struct tl_load *load, const struct tl_json_at *at, bool is_for)
{
    static const char *const keys[] = {"id", "test", "say", "against", "because", NULL};
    struct tl_error error;
    const char *id = NULL;
    struct tl_json_at is;
    if (tl_json_find(at, "is", &is))
        return tl_load_reference(load, at, is_for);
    if (tl_json_check_keys(at, keys, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return TL_RULE_TESTS_MAX;
    }
    if (!tl_load_text(load, at, "id", true, &id))
        return TL_RULE_TESTS_MAX;
    if (tl_load_find_test(load, id) != TL_RULE_TESTS_MAX || tl_load_group(load, id)) {
        tl_load_fault_at(load, at, TL_SYNTAX,
                         "the test \"%s\" exists already; use {\"is\": \"%s\"}", id, id);
        return TL_RULE_TESTS_MAX;
    }
    return add_test(load, at, id, is_for);
}

size_t tl_load_shared_test(struct tl_load *load, const struct tl_json_at *at, const char *id,
                           bool is_for)
{
    static const char *const keys[] = {"test", "say", "against", "because", NULL};
    struct tl_error error;
    if (tl_json_check_keys(at, keys, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return TL_RULE_TESTS_MAX;
    }
    struct tl_formula_scope *scope = &load->rule->scope;
    scope->shared_below = SIZE_MAX; /* all shared names, and none of the rule's own */
    size_t test = add_test(load, at, id, is_for);
    scope->shared_below = 0;
    if (test != TL_RULE_TESTS_MAX)
        load->rule->tests[test].is_shared = true;
    return test;
}

size_t tl_load_reference(struct tl_load *load, const struct tl_json_at *at, bool is_for)
{
    static const char *const keys[] = {"is", "say", "against", NULL};
    struct tl_error error;
    struct tl_json_at shared, say, against;
    const char *id = NULL;
    if (tl_json_check_keys(at, keys, &error) != TL_OK ||
        tl_json_get_string(at, "is", &id, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return TL_RULE_TESTS_MAX;
    }
    bool words = tl_json_find(at, "say", &say) || tl_json_find(at, "against", &against);
    size_t index = tl_load_find_test(load, id);
    if (index != TL_RULE_TESTS_MAX && words)
        tl_load_fault_at(load, at, TL_SYNTAX, "the sentences of \"%s\" stand where it stands first",
                         id);
    if (index != TL_RULE_TESTS_MAX && load->within && !load->rule->tests[index].is_shared)
        tl_load_fault_at(load, at, TL_SYNTAX,
                         "the test \"%s\" of " TL_SHARED_FILE
                         " is meant, and the rule has one of its "
                         "own with that id: give it another",
                         id);
    if (index != TL_RULE_TESTS_MAX)
        return index;
    if (!tl_shared_test(load->shared, id, &shared)) {
        tl_load_fault_at(load, at, TL_UNKNOWN,
                         "there is no test \"%.60s\" above this place, nor in " TL_SHARED_FILE, id);
        return TL_RULE_TESTS_MAX;
    }
    index = tl_load_shared_test(load, &shared, tl_arena_strdup(load->arena, id), is_for);
    if (index != TL_RULE_TESTS_MAX) {
        tl_load_template(load, at, "say", false, &load->rule->tests[index].say);
        tl_load_template(load, at, "against", false, &load->rule->tests[index].against);
    }
    return index;
}

void tl_load_template(struct tl_load *load, const struct tl_json_at *object, const char *key,
                      bool required, struct tl_template *ret_template)
{
    struct tl_error error;
    struct tl_json_at at;
    const char *text = NULL;
    if (!tl_load_string(load, object, key, required, &at, &text))
        return;
    const struct tl_template_conditions conditions = {tl_load_condition, load};
    enum tl_status status = tl_template_compile(load->arena, &load->rule->scope, &conditions, text,
                                                ret_template, &error);
    if (status != TL_OK)
        tl_load_fault_at(load, &at, status, "%s", error.text);
}
