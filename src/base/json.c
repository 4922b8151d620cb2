/* Cursors over a parsed document: typed getters that name the place of an error. */
#include "tightlink/base/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_tree.h"
#include "tightlink/base/utf8.h"

void tl_json_destroy(struct tl_json *doc)
{
    if (!doc)
        return;
    json_object_put(doc->root);
    free(doc);
}

size_t tl_json_pointer_add_key(char pointer[TL_JSON_POINTER_SIZE], size_t len, const char *key)
{
    char escaped[TL_JSON_POINTER_SIZE] = "/";
    size_t n = 1;
    for (; *key && n + 2 < sizeof escaped; key++) {
        if (*key == '~' || *key == '/') {
            escaped[n++] = '~';
            escaped[n++] = *key == '~' ? '0' : '1';
        } else {
            escaped[n++] = *key;
        }
    }
    return len + tl_utf8_clean(escaped, n, pointer + len, TL_JSON_POINTER_SIZE - len);
}

size_t tl_json_pointer_add_index(char pointer[TL_JSON_POINTER_SIZE], size_t len, size_t index)
{
    int n = snprintf(pointer + len, TL_JSON_POINTER_SIZE - len, "/%zu", index);
    size_t room = TL_JSON_POINTER_SIZE - len - 1;
    return len + ((size_t)n < room ? (size_t)n : room);
}

/* json-c's calls are not const-correct; they do not change what they read. */
static struct json_object *value_of(const struct tl_json_at *at)
{
    return (struct json_object *)(uintptr_t)at->value;
}

struct tl_json_at tl_json_root(const struct tl_json *doc)
{
    return (struct tl_json_at){.value = doc->root};
}

enum tl_json_type tl_json_type(const struct tl_json_at *at)
{
    switch (json_object_get_type(value_of(at))) {
    case json_type_boolean:
        return TL_JSON_BOOL;
    case json_type_int:
        return TL_JSON_INTEGER;
    case json_type_double:
        return TL_JSON_NUMBER;
    case json_type_string:
        return TL_JSON_STRING;
    case json_type_array:
        return TL_JSON_ARRAY;
    case json_type_object:
        return TL_JSON_OBJECT;
    case json_type_null:
        break;
    }
    return TL_JSON_NULL;
}

/* "a string", "an object" …: fits into a sentence. */
static const char *type_text(enum tl_json_type type)
{
    static const char *const names[] = {
        "null", "true or false", "an integer", "a number", "a string", "an array", "an object",
    };
    return names[type];
}

enum tl_status tl_json_error(const struct tl_json_at *at, struct tl_error *reterr,
                             enum tl_status status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tl_error_setv(reterr, status, fmt, args);
    va_end(args);
    tl_error_prefix(reterr, "%s", at->pointer[0] ? at->pointer : "/");
    return status;
}

static enum tl_status wrong_type(const struct tl_json_at *at, enum tl_json_type wanted,
                                 struct tl_error *reterr)
{
    return tl_json_error(at, reterr, TL_SYNTAX, "expected %s, found %s", type_text(wanted),
                         type_text(tl_json_type(at)));
}

enum tl_status tl_json_expect(const struct tl_json_at *at, enum tl_json_type type,
                              struct tl_error *reterr)
{
    enum tl_json_type found = tl_json_type(at);
    if (found == type || (type == TL_JSON_NUMBER && found == TL_JSON_INTEGER))
        return TL_OK;
    return wrong_type(at, type, reterr);
}

enum tl_status tl_json_bool(const struct tl_json_at *at, bool *ret_value, struct tl_error *reterr)
{
    if (tl_json_type(at) != TL_JSON_BOOL)
        return wrong_type(at, TL_JSON_BOOL, reterr);
    *ret_value = json_object_get_boolean(value_of(at));
    return TL_OK;
}

enum tl_status tl_json_integer(const struct tl_json_at *at, int64_t min, int64_t max,
                               int64_t *ret_value, struct tl_error *reterr)
{
    /* Up to here every whole number has its own double. */
    static const double exact_max = 9007199254740992.0;
    int64_t value;
    if (tl_json_type(at) == TL_JSON_INTEGER) {
        value = json_object_get_int64(value_of(at));
    } else if (tl_json_type(at) == TL_JSON_NUMBER) {
        double number = json_object_get_double(value_of(at));
        if (floor(number) != number)
            return wrong_type(at, TL_JSON_INTEGER, reterr);
        if (fabs(number) > exact_max)
            return tl_json_error(at, reterr, TL_RANGE, "%g is too large for an integer", number);
        value = (int64_t)number;
    } else {
        return wrong_type(at, TL_JSON_INTEGER, reterr);
    }
    if (value < min || value > max)
        return tl_json_error(at, reterr, TL_RANGE, "%lld is not between %lld and %lld",
                             (long long)value, (long long)min, (long long)max);
    *ret_value = value;
    return TL_OK;
}

enum tl_status tl_json_number(const struct tl_json_at *at, double *ret_value,
                              struct tl_error *reterr)
{
    enum tl_status status = tl_json_expect(at, TL_JSON_NUMBER, reterr);
    if (status != TL_OK)
        return status;
    *ret_value = json_object_get_double(value_of(at));
    return TL_OK;
}

enum tl_status tl_json_string(const struct tl_json_at *at, const char **ret_value,
                              struct tl_error *reterr)
{
    if (tl_json_type(at) != TL_JSON_STRING)
        return wrong_type(at, TL_JSON_STRING, reterr);
    *ret_value = json_object_get_string(value_of(at));
    return TL_OK;
}

bool tl_json_find(const struct tl_json_at *object, const char *key, struct tl_json_at *ret_at)
{
    struct json_object *value;
    if (tl_json_type(object) != TL_JSON_OBJECT ||
        !json_object_object_get_ex(value_of(object), key, &value))
        return false;
    struct tl_json_at found = *object; /* ret_at may be the object itself */
    found.value = value;
    tl_json_pointer_add_key(found.pointer, strlen(found.pointer), key);
    *ret_at = found;
    return true;
}

enum tl_status tl_json_get(const struct tl_json_at *object, const char *key,
                           struct tl_json_at *ret_at, struct tl_error *reterr)
{
    if (tl_json_find(object, key, ret_at))
        return TL_OK;
    enum tl_status status = tl_json_expect(object, TL_JSON_OBJECT, reterr);
    if (status != TL_OK)
        return status;
    return tl_json_error(object, reterr, TL_UNKNOWN, "the key \"%s\" is missing", key);
}

enum tl_status tl_json_get_bool(const struct tl_json_at *object, const char *key, bool *ret_value,
                                struct tl_error *reterr)
{
    struct tl_json_at at;
    enum tl_status status = tl_json_get(object, key, &at, reterr);
    return status == TL_OK ? tl_json_bool(&at, ret_value, reterr) : status;
}

enum tl_status tl_json_get_integer(const struct tl_json_at *object, const char *key, int64_t min,
                                   int64_t max, int64_t *ret_value, struct tl_error *reterr)
{
    struct tl_json_at at;
    enum tl_status status = tl_json_get(object, key, &at, reterr);
    return status == TL_OK ? tl_json_integer(&at, min, max, ret_value, reterr) : status;
}

enum tl_status tl_json_get_number(const struct tl_json_at *object, const char *key,
                                  double *ret_value, struct tl_error *reterr)
{
    struct tl_json_at at;
    enum tl_status status = tl_json_get(object, key, &at, reterr);
    return status == TL_OK ? tl_json_number(&at, ret_value, reterr) : status;
}

enum tl_status tl_json_get_string(const struct tl_json_at *object, const char *key,
                                  const char **ret_value, struct tl_error *reterr)
{
    struct tl_json_at at;
    enum tl_status status = tl_json_get(object, key, &at, reterr);
    return status == TL_OK ? tl_json_string(&at, ret_value, reterr) : status;
}

static enum tl_status get_typed(const struct tl_json_at *object, const char *key,
                                enum tl_json_type type, struct tl_json_at *ret_at,
                                struct tl_error *reterr)
{
    struct tl_json_at at;
    enum tl_status status = tl_json_get(object, key, &at, reterr);
    if (status == TL_OK)
        status = tl_json_expect(&at, type, reterr);
    if (status == TL_OK)
        *ret_at = at;
    return status;
}

enum tl_status tl_json_get_array(const struct tl_json_at *object, const char *key,
                                 struct tl_json_at *ret_at, struct tl_error *reterr)
{
    return get_typed(object, key, TL_JSON_ARRAY, ret_at, reterr);
}

enum tl_status tl_json_get_object(const struct tl_json_at *object, const char *key,
                                  struct tl_json_at *ret_at, struct tl_error *reterr)
{
    return get_typed(object, key, TL_JSON_OBJECT, ret_at, reterr);
}

static bool is_listed(const char *key, const char *const *keys)
{
    for (; *keys; keys++)
        if (strcmp(*keys, key) == 0)
            return true;
    return false;
}

enum tl_status tl_json_check_keys(const struct tl_json_at *object, const char *const *keys,
                                  struct tl_error *reterr)
{
    enum tl_status status = tl_json_expect(object, TL_JSON_OBJECT, reterr);
    struct tl_json_members members = tl_json_members(object);
    const char *key;
    struct tl_json_at value;
    while (status == TL_OK && tl_json_next(&members, &key, &value))
        if (!is_listed(key, keys))
            status = tl_json_error(&value, reterr, TL_UNKNOWN, "this key is not known here");
    return status;
}

size_t tl_json_count(const struct tl_json_at *at)
{
    switch (tl_json_type(at)) {
    case TL_JSON_ARRAY:
        return json_object_array_length(value_of(at));
    case TL_JSON_OBJECT:
        return (size_t)json_object_object_length(value_of(at));
    default:
        return 0;
    }
}

struct tl_json_at tl_json_item(const struct tl_json_at *array, size_t index)
{
    assert(tl_json_type(array) == TL_JSON_ARRAY && index < tl_json_count(array));
    struct tl_json_at item = *array;
    item.value = json_object_array_get_idx(value_of(array), index);
    tl_json_pointer_add_index(item.pointer, strlen(item.pointer), index);
    return item;
}

struct tl_json_members tl_json_members(const struct tl_json_at *object)
{
    struct tl_json_members members = {.object = *object};
    if (tl_json_type(object) == TL_JSON_OBJECT)
        members.entry = json_object_get_object(value_of(object))->head;
    return members;
}

bool tl_json_next(struct tl_json_members *members, const char **ret_key,
                  struct tl_json_at *ret_value)
{
    const struct lh_entry *entry = members->entry;
    if (!entry)
        return false;
    *ret_key = lh_entry_k(entry);
    *ret_value = members->object;
    ret_value->value = lh_entry_v(entry);
    tl_json_pointer_add_key(ret_value->pointer, strlen(ret_value->pointer), *ret_key);
    members->entry = entry->next;
    return true;
}
