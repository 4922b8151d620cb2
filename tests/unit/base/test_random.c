/* Seeded generators repeat, ULIDs have their form. */
#include <criterion/criterion.h>
#include <string.h>

#include "tightlink/base/random.h"

Test(random, same_seed_gives_the_same_sequence)
{
    struct tl_random a, b, c;
    tl_random_seed(&a, 7);
    tl_random_seed(&b, 7);
    tl_random_seed(&c, 8);
    int differ = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t x = tl_random_next(&a);
        cr_assert_eq(x, tl_random_next(&b));
        differ += x != tl_random_next(&c);
    }
    cr_expect_eq(differ, 100);
}

Test(random, unit_values_are_uniform)
{
    struct tl_random rng;
    tl_random_seed(&rng, 1);
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        double u = tl_random_unit(&rng);
        cr_assert(u >= 0 && u < 1);
        sum += u;
    }
    cr_expect_float_eq(sum / 100000, 0.5, 0.005);
}

Test(random, ulids_are_26_letters_and_never_repeat)
{
    char a[TL_ULID_SIZE], b[TL_ULID_SIZE];
    cr_assert(tl_ulid_make(a) == TL_OK && tl_ulid_make(b) == TL_OK);
    cr_expect_eq(strlen(a), 26);
    cr_expect_eq(strspn(a, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 26);
    cr_expect_str_neq(a, b);
}
