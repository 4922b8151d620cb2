/* Lists that grow: an array, how many items it holds, and room for how many. */
#ifndef TL_BASE_GROW_H
#define TL_BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for one more item behind the first count. items: where the pointer to the array stands
 * (NULL with *cap 0 before the first), which the caller frees. The room doubles, from `first` on.
 * False without memory: all is as it was. Who lets a stranger add to it bounds count. */
bool tl_grow(void *items, size_t count, size_t *cap, size_t first, size_t size);

#endif
