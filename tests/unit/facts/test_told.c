/* How exactly a rate is told. */
#include <criterion/criterion.h>

#include "tightlink/facts/told.h"

Test(told, a_rate_that_was_measured_is_known_as_that_is)
{
    struct tl_facts *facts = tl_facts_create();
    double doubt = -1;
    cr_assert(facts);
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, streams_goodput_bps), 9.3e8, 9.2e8, 9.5e8, "");
    cr_expect(tl_told_measured(facts, TL_DOWNLOAD, 9.3e8, &doubt));
    cr_expect_float_eq(doubt, 1.5e7, 1);
    doubt = -1;
    cr_expect(!tl_told_measured(facts, TL_UPLOAD, 9.3e8, &doubt), "that of the other direction");
    cr_expect(!tl_told_measured(facts, TL_DOWNLOAD, 9.2e8, &doubt), "one that nobody measured");
    cr_expect(doubt == -1, "untouched");
    tl_facts_destroy(facts);
}
