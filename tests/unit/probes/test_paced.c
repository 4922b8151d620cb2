/* When a second paced stream follows the first, and what both take. */
#include <criterion/criterion.h>

#include "../key_of.h"
#include "tightlink/base/time.h"
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

/* Six seconds of the first stream at most; three and fifteen round trips of the second where losses
 * vanished or nobody knows yet, five where they stayed; nothing for what was run, or tells nothing.
 */
Test(paced, what_is_left_of_it_takes_its_time)
{
    struct tl_facts *facts = tl_facts_create();
    const int64_t s = TL_NS_PER_S;
    cr_assert(facts != NULL);
    tl_facts_set_number(facts, TL_PATH(rtt_min_ns), 2e8, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 1e7, "");
    cr_expect_eq(tl_probe_paced_ns(facts, TL_DOWNLOAD, 10 * s), 6 * s, "its first stream alone");
    cr_expect_eq(tl_probe_paced_ns(facts, TL_DOWNLOAD, 2 * s), 2 * s, "which may be shorter");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, streams_goodput_bps), 5e7, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, retrans_ratio), 0.01, "");
    cr_expect_eq(tl_probe_paced_ns(facts, TL_DOWNLOAD, 10 * s), 12 * s, "several get more");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, paced_retrans_ratio), 0.01, "");
    cr_expect_eq(tl_probe_paced_ns(facts, TL_DOWNLOAD, 10 * s), 8 * s, "losses stayed");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, paced_retrans_ratio), 0, "");
    cr_expect_eq(tl_probe_paced_ns(facts, TL_DOWNLOAD, 10 * s), 6 * s, "losses vanished");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, paced_near_goodput_bps), 4e7, "");
    cr_expect_eq(tl_probe_paced_ns(facts, TL_DOWNLOAD, 10 * s), 0, "both were sent");
    tl_facts_destroy(facts);
}
