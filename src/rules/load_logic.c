/* Loading logic and tests. */
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

static size_t load_reference(struct tl_load *load, const struct tl_json_at *at, bool is_for);

static const struct tl_logic *find_group(const struct tl_load *load, const char *id)
{
    for (size_t i = 0; i < load->rule->group_count; i++)
        if (strcmp(load->rule->groups[i]->id, id) == 0)
            return load->rule->groups[i];
    return NULL;
}

static size_t find_test(const struct tl_load *load, const char *id)
{
    for (size_t i = 0; i < load->rule->test_count; i++)
        if (strcmp(load->rule->tests[i].id, id) == 0)
            return i;
    return TL_RULE_TESTS_MAX;
}

const struct tl_logic *tl_load_condition(void *loading, const char *id)
{
    struct tl_load *load = loading;
    const struct tl_logic *group = find_group(load, id);
    size_t test = find_test(load, id);
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
        return load_reference(load, at, is_for);
    if (tl_json_check_keys(at, keys, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return TL_RULE_TESTS_MAX;
    }
    if (!tl_load_text(load, at, "id", true, &id))
        return TL_RULE_TESTS_MAX;
    if (find_test(load, id) != TL_RULE_TESTS_MAX || find_group(load, id)) {
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

/* {"is": "id"}: a test above this place, or one of shared.json, which is taken into the rule where
 * it is first named; there its sentences may be the rule's own. */
static size_t load_reference(struct tl_load *load, const struct tl_json_at *at, bool is_for)
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
    size_t index = find_test(load, id);
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

static struct tl_logic *load_node(struct tl_load *load, const struct tl_json_at *at, bool is_for,
                                  unsigned depth);

/* The condition that an id means: one of the rule above this place, or one of shared.json. False
 * where it means none, but a test. */
static bool find_condition(struct tl_load *load, const char *id, bool is_for, unsigned depth,
                           const struct tl_logic **ret_condition)
{
    struct tl_json_at shared;
    bool has_test = !load->within && find_test(load, id) != TL_RULE_TESTS_MAX;
    *ret_condition = load->within ? NULL : find_group(load, id);
    if (*ret_condition || has_test)
        return !has_test;
    size_t number = tl_shared_condition(load->shared, id, load->within, &shared);
    if (number)
        *ret_condition = tl_load_shared_condition(load, &shared, id, number, is_for, depth);
    return number > 0;
}

/* {"is": "id"} in a condition: a condition of that name, or a test. */
static struct tl_logic *load_is(struct tl_load *load, const struct tl_json_at *at, bool is_for,
                                unsigned depth, struct tl_logic *node)
{
    struct tl_error error;
    const struct tl_logic *condition = NULL;
    const char *id = NULL;
    if (tl_json_get_string(at, "is", &id, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return NULL;
    }
    if (find_condition(load, id, is_for, depth, &condition)) {
        if (tl_json_count(at) > 1)
            tl_load_fault_at(load, at, TL_SYNTAX,
                             "only a test has sentences, \"%s\" is a condition", id);
        if (!condition)
            return NULL;
        *node = *condition;
        return node;
    }
    node->kind = TL_LOGIC_TEST;
    node->test = load_reference(load, at, is_for);
    return node->test == TL_RULE_TESTS_MAX ? NULL : node;
}

static struct tl_logic *load_list(struct tl_load *load, const struct tl_json_at *list, bool is_for,
                                  unsigned depth, struct tl_logic *node)
{
    size_t count = tl_json_count(list);
    if (tl_json_type(list) != TL_JSON_ARRAY || count == 0) {
        tl_load_fault_at(load, list, TL_SYNTAX, "a list with at least one condition is expected");
        return NULL;
    }
    size_t before = load->errors;
    node->children = TL_ARENA_ARRAY(load->arena, count, struct tl_logic *);
    for (size_t i = 0; node->children && i < count; i++) {
        struct tl_json_at item = tl_json_item(list, i);
        node->children[node->child_count++] = load_node(load, &item, is_for, depth + 1);
    }
    return load->errors == before ? node : NULL;
}

static struct tl_logic *load_not(struct tl_load *load, const struct tl_json_at *inner, bool is_for,
                                 unsigned depth, struct tl_logic *node)
{
    node->kind = TL_LOGIC_NOT;
    node->children = TL_ARENA_ARRAY(load->arena, 1, struct tl_logic *);
    if (!node->children)
        return NULL;
    node->child_count = 1;
    node->children[0] = load_node(load, inner, !is_for, depth + 1);
    return node->children[0] ? node : NULL;
}

/* Size and depth as a tree, so that references cannot make a small file a large one. */
static bool measure(struct tl_load *load, const struct tl_json_at *at, struct tl_logic *node)
{
    node->size = node->depth = 1;
    for (size_t i = 0; i < node->child_count; i++) {
        const struct tl_logic *child = node->children[i];
        node->size += child ? child->size : 0;
        if (child && node->depth < child->depth + 1)
            node->depth = child->depth + 1;
    }
    if (node->depth > TL_LOGIC_DEPTH_MAX)
        tl_load_fault_at(load, at, TL_LIMIT, "conditions nested deeper than %d",
                         TL_LOGIC_DEPTH_MAX);
    else if (node->size > TL_LOGIC_SIZE_MAX)
        tl_load_fault_at(load, at, TL_LIMIT, "more than %d conditions in one", TL_LOGIC_SIZE_MAX);
    else
        return true;
    return false;
}

/* The condition gets a name that others below may refer to. */
static void add_group(struct tl_load *load, const struct tl_json_at *at, const char *id,
                      struct tl_logic *node)
{
    struct tl_rule *rule = load->rule;
    if (find_test(load, id) != TL_RULE_TESTS_MAX || find_group(load, id))
        tl_load_fault_at(load, at, TL_SYNTAX, "the condition \"%s\" exists already", id);
    else if (rule->group_count == TL_RULE_GROUPS_MAX)
        tl_load_fault_at(load, at, TL_LIMIT, "more than %d conditions with an id",
                         TL_RULE_GROUPS_MAX);
    else
        rule->groups[rule->group_count++] = node;
    node->id = id;
}

/* all, any and not, with or without an id and a because. */
static struct tl_logic *load_parts(struct tl_load *load, const struct tl_json_at *at, bool is_for,
                                   unsigned depth, struct tl_logic *node)
{
    struct tl_json_at inner, other;
    const char *id = NULL;
    size_t members = 1 + tl_json_find(at, "id", &other) + tl_json_find(at, "because", &other);
    bool all = tl_json_find(at, "all", &inner);
    bool list = all || tl_json_find(at, "any", &inner);
    if (tl_json_count(at) != members || !(list || tl_json_find(at, "not", &inner))) {
        tl_load_fault_at(load, at, TL_SYNTAX,
                         "all, any and not stand alone, or beside an id and a because");
        return NULL;
    }
    if (list)
        node->kind = all ? TL_LOGIC_ALL : TL_LOGIC_ANY;
    node = list ? load_list(load, &inner, is_for, depth, node)
                : load_not(load, &inner, is_for, depth, node);
    if (!node || !measure(load, at, node))
        return NULL;
    (void)tl_load_text(load, at, "because", false, &node->because);
    if (tl_load_text(load, at, "id", false, &id) && load->within)
        tl_load_fault_at(load, at, TL_SYNTAX,
                         "parts of a condition of " TL_SHARED_FILE " have no id");
    else if (id)
        add_group(load, at, id, node);
    return node;
}

const struct tl_logic *tl_load_shared_condition(struct tl_load *load, const struct tl_json_at *at,
                                                const char *id, size_t number, bool is_for,
                                                unsigned depth)
{
    size_t outer = load->within;
    for (size_t i = 0; i < load->rule->group_count; i++)
        if (load->rule->groups[i]->shared == number)
            return load->rule->groups[i];
    struct tl_logic *node = TL_ARENA_NEW(load->arena, struct tl_logic);
    if (!node)
        return NULL;
    load->within = number;
    node = load_parts(load, at, is_for, depth, node);
    load->within = outer;
    if (!node)
        return NULL;
    node->shared = number;
    add_group(load, at, tl_arena_strdup(load->arena, id), node);
    return node;
}

static struct tl_logic *load_node(struct tl_load *load, const struct tl_json_at *at, bool is_for,
                                  unsigned depth)
{
    struct tl_json_at inner;
    struct tl_logic *node = TL_ARENA_NEW(load->arena, struct tl_logic);
    if (!node)
        return NULL;
    if (depth > TL_LOGIC_DEPTH_MAX) {
        tl_load_fault_at(load, at, TL_LIMIT, "conditions nested deeper than %d",
                         TL_LOGIC_DEPTH_MAX);
        return NULL;
    }
    if (tl_json_type(at) != TL_JSON_OBJECT) {
        tl_load_fault_at(load, at, TL_SYNTAX,
                         "a condition is an object: all, any, not, is or test");
        return NULL;
    }
    if (tl_json_find(at, "all", &inner) || tl_json_find(at, "any", &inner) ||
        tl_json_find(at, "not", &inner))
        return load_parts(load, at, is_for, depth, node);
    node->size = node->depth = 1;
    if (tl_json_find(at, "is", &inner))
        return load_is(load, at, is_for, depth, node);
    if (load->within) {
        tl_load_fault_at(load, at, TL_SYNTAX,
                         "a condition of " TL_SHARED_FILE
                         " is made of tests and conditions above it, "
                         "{\"is\": …}");
        return NULL;
    }
    node->kind = TL_LOGIC_TEST;
    node->test = tl_load_test(load, at, is_for);
    return node->test == TL_RULE_TESTS_MAX ? NULL : node;
}

const struct tl_logic *tl_load_logic(struct tl_load *load, const struct tl_json_at *object,
                                     const char *key, bool is_for)
{
    struct tl_json_at at;
    return tl_json_find(object, key, &at) ? load_node(load, &at, is_for, 1) : NULL;
}
