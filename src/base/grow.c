/* Lists that grow; see grow.h. */
#include "tightlink/base/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* what `items` points to may be of any object type: its bytes are copied */
static void *pointer_at(const void *items)
{
    void *array;
    memcpy(&array, items, sizeof array);
    return array;
}

static bool point_to(void *items, void *array)
{
    if (array)
        memcpy(items, &array, sizeof array);
    return array != NULL;
}

bool tl_grow(void *items, size_t count, size_t *cap, size_t first, size_t size)
{
    size_t more = *cap ? 2 * *cap : first;
    if (count < *cap)
        return true;
    if (more > SIZE_MAX / size || !point_to(items, realloc(pointer_at(items), more * size)))
        return false;
    *cap = more;
    return true;
}
