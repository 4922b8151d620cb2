/* What somebody may have meant. */
#include <criterion/criterion.h>

#include "tightlink/base/nearest.h"

Test(nearest, slips_are_counted)
{
    cr_expect(tl_nearest_distance("history", "history") == 0);
    cr_expect(tl_nearest_distance("hsitory", "history") == 1,
              "neighbours changed about are one slip");
    cr_expect(tl_nearest_distance("histry", "history") == 1);
    cr_expect(tl_nearest_distance("expert", "export") == 1);
    cr_expect(tl_nearest_distance("", "run") == 3 && tl_nearest_distance("run", "") == 3);
}

Test(nearest, the_nearest_word_is_offered_and_no_far_one)
{
    struct tl_nearest nearest = {0};
    tl_nearest_offer(&nearest, "hsitory", "export");
    cr_expect_str_eq(tl_nearest_text(&nearest), "");
    tl_nearest_offer(&nearest, "hsitory", "history");
    cr_expect_str_eq(tl_nearest_text(&nearest), "; did you mean history?");
    tl_nearest_offer(&nearest, "hsitory", "hsitori");
    cr_expect_str_eq(nearest.word, "history", "the first of equals stays");
}

Test(nearest, names_of_hosts_are_no_slips)
{
    static const char *const hosts[] = {"srv-b.example.net", "nas", "srv", "10.0.0.1", "backup1"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        struct tl_nearest nearest = {0};
        tl_nearest_offer(&nearest, hosts[i], "run");
        tl_nearest_offer(&nearest, hosts[i], "serve");
        tl_nearest_offer(&nearest, hosts[i], "history");
        cr_expect(!nearest.word, "%s: %s", hosts[i], nearest.word);
    }
}
