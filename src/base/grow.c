/* Lists that grow; see grow.h. */
#include "tightlink/base/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool tl_grow(void *items, size_t count, size_t *cap, size_t first, size_t size)
{
    size_t more = *cap ? 2 * *cap : first;
    void *array, *grown;
    if (count < *cap)
        return true;
    if (more > SIZE_MAX / size)
        return false;
    memcpy(&array, items, sizeof array); /* of whatever type it points to */
    grown = realloc(array, more * size);
    if (!grown)
        return false;
    memcpy(items, &grown, sizeof grown);
    *cap = more;
    return true;
}
