/* Lists that grow: what stands in them stays, and without memory all of it does. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>

#include "tightlink/base/grow.h"

Test(grow, what_stands_in_a_list_stays)
{
    int *items = NULL;
    size_t count = 0, cap = 0;
    for (int i = 0; i < 1000; i++) {
        cr_assert(tl_grow(&items, count, &cap, 4, sizeof *items));
        cr_assert_lt(count, cap);
        items[count++] = i;
    }
    cr_expect_eq(cap, 1024);
    for (int i = 0; i < 1000; i++)
        cr_expect_eq(items[i], i);
    free(items);
}

Test(grow, there_is_room_already)
{
    int *items = calloc(4, sizeof *items), *before = items;
    size_t cap = 4;
    cr_assert(tl_grow(&items, 3, &cap, 4, sizeof *items));
    cr_expect_eq(items, before);
    cr_expect_eq(cap, 4);
    free(items);
}

Test(grow, without_memory_all_is_as_it_was)
{
    int *items = NULL;
    size_t cap = 0;
    cr_assert_not(tl_grow(&items, 0, &cap, SIZE_MAX / 2, sizeof *items));
    cr_expect_null(items);
    cr_expect_eq(cap, 0);
}
