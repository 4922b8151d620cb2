/* What somebody may have meant. */
#include <criterion/criterion.h>

#include "nearest.h"

Test(nearest, slips_are_counted)
{
    cr_expect(cli_distance("history", "history") == 0);
    cr_expect(cli_distance("hsitory", "history") == 1, "neighbours changed about are one slip");
    cr_expect(cli_distance("histry", "history") == 1);
    cr_expect(cli_distance("expert", "export") == 1);
    cr_expect(cli_distance("", "run") == 3 && cli_distance("run", "") == 3);
}

Test(nearest, the_nearest_word_is_offered_and_no_far_one)
{
    struct cli_nearest nearest = {0};
    cli_nearest_offer(&nearest, "hsitory", "export");
    cr_expect_str_eq(cli_nearest_text(&nearest), "");
    cli_nearest_offer(&nearest, "hsitory", "history");
    cr_expect_str_eq(cli_nearest_text(&nearest), "; did you mean history?");
    cli_nearest_offer(&nearest, "hsitory", "hsitori");
    cr_expect_str_eq(nearest.word, "history", "the first of equals stays");
}

Test(nearest, names_of_hosts_are_no_slips)
{
    static const char *const hosts[] = {"srv-b.example.net", "nas", "srv", "10.0.0.1", "backup1"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        struct cli_nearest nearest = {0};
        cli_nearest_offer(&nearest, hosts[i], "run");
        cli_nearest_offer(&nearest, hosts[i], "serve");
        cli_nearest_offer(&nearest, hosts[i], "history");
        cr_expect(!nearest.word, "%s: %s", hosts[i], nearest.word);
    }
}
