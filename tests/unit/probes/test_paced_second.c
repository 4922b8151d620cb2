/* How long losses are counted that stay at a low rate. */
#include <criterion/criterion.h>
#include <math.h>

#include "../key_of.h"
#include "paced_second.h"
#include "tightlink/probes/probes.h"

Test(paced_second, rare_losses_take_the_most)
{
    cr_expect_eq(tl_paced_count_ns(80e6, 1448, 0.001), TL_PACED_COUNT_MAX_NS);
    cr_expect_eq(tl_paced_count_ns(1e6, 1448, 0.01), TL_PACED_COUNT_MAX_NS);
}

Test(paced_second, many_losses_are_counted_soon)
{
    cr_expect_eq(tl_paced_count_ns(300e6, 1448, 0.01), TL_PACED_COUNT_MIN_NS);
    double ns = (double)tl_paced_count_ns(80e6, 1000, 0.0025); /* 25 a second */
    cr_expect_lt(fabs(ns - 4e9), 1e6);
}

Test(paced_second, what_is_not_known_takes_the_most)
{
    cr_expect_eq(tl_paced_count_ns((double)NAN, 1448, 0.01), TL_PACED_COUNT_MAX_NS);
    cr_expect_eq(tl_paced_count_ns(80e6, (double)NAN, 0.01), TL_PACED_COUNT_MAX_NS);
    cr_expect_eq(tl_paced_count_ns(80e6, 1448, 0), TL_PACED_COUNT_MAX_NS);
}

/* Several connections that were run behind the slow stream give it another turn, once. */
Test(paced_second, has_a_turn_of_its_own_behind_several_connections)
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
