#include "tightlink/lab/scenario.h"

#include <criterion/criterion.h>
#include <string.h>

Test(lab_scenario, every_row_parses_and_is_complete)
{
    size_t count;
    const struct tl_lab_scenario *list = tl_lab_scenario_list(&count);
    cr_assert_geq(count, 30);
    for (size_t i = 0; i < count; i++) {
        struct tl_lab_config config;
        struct tl_error err = {0};
        cr_assert_eq(tl_lab_scenario_config(&list[i], &config, &err), TL_OK, "%s", err.text);
        cr_assert(*list[i].about && *list[i].cause, "%s", list[i].name);
        cr_assert(list[i].segment && list[i].also, "%s", list[i].name);
        cr_assert_leq(list[i].ceiling_low_bps, list[i].ceiling_high_bps, "%s", list[i].name);
        cr_assert_eq(tl_lab_scenario_find(list[i].name), &list[i], "two of the name %s",
                     list[i].name);
    }
}

Test(lab_scenario, segment_is_a_known_one_or_none)
{
    static const char *const known[] = {TL_LAB_SEGMENT_NEAR,    TL_LAB_SEGMENT_FAR,
                                        TL_LAB_SEGMENT_PATH,    TL_LAB_SEGMENT_LAN,
                                        TL_LAB_SEGMENT_FAR_LAN, ""};
    size_t count;
    const struct tl_lab_scenario *list = tl_lab_scenario_list(&count);
    for (size_t i = 0; i < count; i++) {
        int found = 0;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            found += strcmp(known[k], list[i].segment) == 0;
        cr_assert_eq(found, 1, "%s", list[i].name);
    }
}

Test(lab_scenario, unknown_name_is_null)
{
    cr_assert_null(tl_lab_scenario_find("satellite"));
    cr_assert_null(tl_lab_scenario_find(""));
}
