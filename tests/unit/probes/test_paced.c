/* When a second paced stream follows the first. */
#include <criterion/criterion.h>

#include "../key_of.h"
#include "tightlink/probes/probes.h"

/* Several connections that were run behind the slow stream give it another turn, once. */
Test(paced, has_a_turn_of_its_own_behind_several_connections)
{
    struct tl_facts *facts = tl_facts_create();
    cr_assert_not_null(facts);
    tl_facts_set_number(facts, key_of("download.goodput_bps"), 20e6, "");
    tl_facts_set_number(facts, key_of("download.retrans_ratio"), 0.001, "");
    tl_facts_set_number(facts, key_of("download.paced_retrans_ratio"), 0, "");
    cr_expect_not(tl_probe_paced_again(facts, TL_DOWNLOAD), "nobody knows what several get");
    tl_facts_set_number(facts, key_of("download.streams_goodput_bps"), 22e6, "");
    cr_expect_not(tl_probe_paced_again(facts, TL_DOWNLOAD), "they get no more");
    tl_facts_set_number(facts, key_of("download.streams_goodput_bps"), 60e6, "");
    cr_expect(tl_probe_paced_again(facts, TL_DOWNLOAD));
    cr_expect_not(tl_probe_paced_again(facts, TL_UPLOAD), "the other direction");
    tl_facts_set_number(facts, key_of("download.paced_near_goodput_bps"), 50e6, "");
    cr_expect_not(tl_probe_paced_again(facts, TL_DOWNLOAD), "it was sent");
    tl_facts_destroy(facts);
}
