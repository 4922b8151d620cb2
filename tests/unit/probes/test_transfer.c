/* What a transfer that stands still has met. */
#include <criterion/criterion.h>

#include "transfer.h"

/* A PPPoE line whose router makes segments fit: datagrams of full size vanish, and transfers run.
 * An outage behind the first one was told as packets that vanish for their size. */
Test(transfer, a_hole_that_a_transfer_got_through_stops_none)
{
    struct tl_facts *facts = tl_facts_create();
    cr_assert(facts != NULL);
    cr_expect_not(tl_transfer_meets_hole(facts, TL_UPLOAD), "nobody looked");
    tl_facts_set_bool(facts, TL_FLOW(TL_UPLOAD, mtu_black_hole), true, "");
    cr_expect(tl_transfer_meets_hole(facts, TL_UPLOAD));
    cr_expect_not(tl_transfer_meets_hole(facts, TL_DOWNLOAD), "the other way");
    tl_facts_set_unknown(facts, TL_FLOW(TL_UPLOAD, goodput_bps), "it stood still");
    cr_expect(tl_transfer_meets_hole(facts, TL_UPLOAD));
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, goodput_bps), 140e6, "");
    cr_expect_not(tl_transfer_meets_hole(facts, TL_UPLOAD));
    tl_facts_destroy(facts);
}
