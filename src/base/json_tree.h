/* What the JSON parser and the cursors share; private to base/json_*.c. */
#ifndef TL_BASE_JSON_TREE_H
#define TL_BASE_JSON_TREE_H

#include <locale.h>
#include <stddef.h>

#include <json-c/json.h>

#include "tightlink/base/json.h"

struct tl_json {
    struct json_object *root; /* NULL is JSON's null */
};

/* Appends "/key" or "/index" to a pointer of len bytes, escaped (RFC 6901: ~0, ~1) and
 * cleaned; cuts what does not fit. Returns the new length. */
size_t tl_json_pointer_add_key(char pointer[TL_JSON_POINTER_SIZE], size_t len, const char *key);
size_t tl_json_pointer_add_index(char pointer[TL_JSON_POINTER_SIZE], size_t len, size_t index);

/* The locale in which JSON numbers are read and written, whatever the user's is. The
 * C library keeps this one statically: it cannot fail and need not be freed. */
static inline locale_t tl_json_locale(void)
{
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

#endif
