/* Every cause has a name for lists. */
#include <criterion/criterion.h>
#include <string.h>

#include "tightlink/base/cause_name.h"
#include "tightlink/base/utf8.h"
#include "tightlink/rules/why.h"

Test(cause_name, every_cause_has_one_of_its_own_that_fits_a_column)
{
    for (size_t i = 0; i < tl_cause_list_count(); i++) {
        const char *id = tl_cause_list_id(i), *name = tl_cause_name(id);
        cr_expect(name != id, "%s has none", id);
        cr_expect(tl_utf8_width(name) <= TL_CAUSE_NAME_COLUMNS, "%s", name);
        cr_expect_str_eq(tl_cause_id_of(name), id);
        for (size_t before = 0; before < i; before++)
            cr_expect_str_neq(tl_cause_name(tl_cause_list_id(before)), name);
    }
    cr_expect(tl_cause_list_count() > 50);
}

Test(cause_name, what_stands_in_a_cause_s_place_is_said_in_words)
{
    static const char *const words[] = {[TL_GOAL_MET] = "nothing: goal met",
                                        [TL_INCONCLUSIVE] = "cause not known",
                                        [TL_VERDICT_INVALID] = "no verdict"};
    for (enum tl_verdict_state state = TL_GOAL_MET; state <= TL_VERDICT_INVALID; state++) {
        const char *name = tl_cause_name(tl_verdict_state_name(state));
        cr_expect_str_eq(name, words[state]);
        cr_expect(tl_utf8_width(name) <= TL_CAUSE_NAME_COLUMNS, "%s", name);
    }
}

Test(cause_name, what_has_none_stays_as_it_is)
{
    cr_expect_str_eq(tl_cause_name("a-rule-of-ours"), "a-rule-of-ours");
    cr_expect_str_eq(tl_cause_id_of("capacity"), "capacity");
    cr_expect_str_eq(tl_cause_id_of("Full Line"), "capacity");
}
