/* Loading logic: conditions of several tests. */

#include "load.h"

#include <string.h>

static struct tl_logic *load_node(struct tl_load *load, const struct tl_json_at *at, bool is_for,
                                  unsigned depth);
static struct tl_logic *load_parts(struct tl_load *load, const struct tl_json_at *at, bool is_for,
                                   unsigned depth, struct tl_logic *node);
static void add_group(struct tl_load *load, const struct tl_json_at *at, const char *id,
                      struct tl_logic *node);

/* The index of the rule's own condition of that id; TL_RULE_GROUPS_MAX where there is none. */
static size_t find_own(const struct tl_load *load, const char *id, struct tl_json_at *ret_at)
{
    const char *name = NULL;
    if (!load->has_own)
        return TL_RULE_GROUPS_MAX;
    struct tl_json_members members = tl_json_members(&load->own);
    for (size_t i = 0; i < TL_RULE_GROUPS_MAX && tl_json_next(&members, &name, ret_at); i++)
        if (strcmp(name, id) == 0)
            return i;
    return TL_RULE_GROUPS_MAX;
}

/* A condition with its name, as one that stands at this place. */
static struct tl_logic *put_in(struct tl_load *load, const struct tl_json_at *at, const char *id,
                               bool is_for, unsigned depth)
{
    const char *copy = tl_arena_strdup(load->arena, id);
    struct tl_logic *node = copy ? TL_ARENA_NEW(load->arena, struct tl_logic) : NULL;
    node = node ? load_parts(load, at, is_for, depth, node) : NULL;
    if (node)
        add_group(load, at, copy, node);
    return node;
}

/* It is looked for where it does not stand above: a second time only where it is faulty, or named
 * within itself. */
static const struct tl_logic *load_own(struct tl_load *load, const struct tl_json_at *at,
                                       const char *id, size_t index, bool is_for, unsigned depth)
{
    struct tl_json_at other;
    bool begun = load->own_begun[index], has_id = tl_json_find(at, "id", &other);
    load->own_begun[index] = true;
    if (!begun && !has_id)
        return put_in(load, at, id, is_for, depth);
    tl_load_fault_at(load, at, TL_SYNTAX,
                     begun ? "it is faulty, or made of itself"
                           : "its id is the key that it stands under");
    return NULL;
}

void tl_load_own_conditions(struct tl_load *load, const struct tl_json_at *root)
{
    struct tl_error error;
    load->has_own = tl_json_find(root, "conditions", &load->own);
    if (!load->has_own)
        return;
    if (tl_json_expect(&load->own, TL_JSON_OBJECT, &error) != TL_OK) {
        tl_load_fault(load, &error);
        load->has_own = false;
    } else if (tl_json_count(&load->own) > TL_RULE_GROUPS_MAX) {
        tl_load_fault_at(load, &load->own, TL_LIMIT, "more than %d conditions", TL_RULE_GROUPS_MAX);
    }
}

void tl_load_check_own(struct tl_load *load)
{
    struct tl_json_at at;
    const char *name = NULL;
    if (!load->has_own)
        return;
    struct tl_json_members members = tl_json_members(&load->own);
    for (size_t i = 0; i < TL_RULE_GROUPS_MAX && tl_json_next(&members, &name, &at); i++)
        if (!load->own_begun[i])
            tl_load_fault_at(load, &at, TL_UNKNOWN, "no part of the rule names it");
}

/* The condition that an id means: one of the rule above this place, one of its own, or one of
 * shared.json. False where it means none, but a test. */
static bool find_condition(struct tl_load *load, const char *id, bool is_for, unsigned depth,
                           const struct tl_logic **ret_condition)
{
    struct tl_json_at own, shared;
    bool has_test = !load->within && tl_load_find_test(load, id) != TL_RULE_TESTS_MAX;
    *ret_condition = load->within ? NULL : tl_load_group(load, id);
    if (*ret_condition || has_test)
        return !has_test;
    size_t index = load->within ? TL_RULE_GROUPS_MAX : find_own(load, id, &own);
    if (index != TL_RULE_GROUPS_MAX) {
        *ret_condition = load_own(load, &own, id, index, is_for, depth);
        return true;
    }
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
    node->test = tl_load_reference(load, at, is_for);
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
    if (tl_load_find_test(load, id) != TL_RULE_TESTS_MAX || tl_load_group(load, id))
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
    load->within = number;
    struct tl_logic *node = put_in(load, at, id, is_for, depth);
    load->within = outer;
    if (node)
        node->shared = number;
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
