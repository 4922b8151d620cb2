/* When one stream and trains get a second look behind several streams. */
#include <criterion/criterion.h>
#include <math.h>

#include "streams_again.h"

/* In Mb/s; NAN: not known. off_ratio: how far from its median the percentiles of a full link lie.
 */
struct seen {
    double one_full, many_full, trains, one, many, standing_ratio, off_ratio;
};

static void set(struct tl_facts *facts, struct tl_fact_key key, double value, double off_ratio)
{
    if (isnan(value))
        tl_facts_set_unknown(facts, key, "not measured");
    else
        tl_facts_set_range(facts, key, value, (1 - off_ratio) * value, (1 + off_ratio) * value, "");
}

static bool wants(enum tl_direction direction, const struct seen *seen)
{
    struct tl_facts *facts = tl_facts_create();
    set(facts, TL_FLOW(direction, full_bps), seen->one_full * 1e6, seen->off_ratio);
    set(facts, TL_FLOW(direction, streams_full_bps), seen->many_full * 1e6, 0.05);
    set(facts, TL_FLOW(direction, trains_bps), seen->trains * 1e6, 0);
    set(facts, TL_FLOW(direction, goodput_bps), seen->one * 1e6, 0.1);
    set(facts, TL_FLOW(direction, streams_goodput_bps), seen->many * 1e6, 0.1);
    set(facts, TL_FLOW(direction, queue_standing_ratio), seen->standing_ratio, 0.1);
    bool again = tl_streams_want_again(facts, direction);
    enum tl_direction other = direction == TL_DOWNLOAD ? TL_UPLOAD : TL_DOWNLOAD;
    cr_expect_not(tl_streams_want_again(facts, other), "nothing is known of it");
    tl_facts_destroy(facts);
    return again;
}

static bool wants_both(const struct seen *seen)
{
    bool download = wants(TL_DOWNLOAD, seen);
    cr_expect_eq(wants(TL_UPLOAD, seen), download);
    return download;
}

Test(streams_again, a_link_that_trains_pass_far_faster_is_looked_at_again)
{
    struct seen far_faster = {50, 52, 66, 48, 50, 0.3, 0.05};
    cr_expect(wants_both(&far_faster));
}

/* Beside others that come in bursts one connection keeps no queue: what it got by pieces tells. */
Test(streams_again, one_that_kept_no_queue_is_compared_by_what_it_got)
{
    for (double piece_bps = 40e6; piece_bps < 100e6; piece_bps += 50e6) {
        struct tl_facts *facts = tl_facts_create();
        set(facts, TL_FLOW(TL_DOWNLOAD, streams_full_bps), 30e6, 0.1);
        set(facts, TL_FLOW(TL_DOWNLOAD, trains_bps), 99e6, 0.1);
        set(facts, TL_FLOW(TL_DOWNLOAD, piece_bps), piece_bps, 0.1);
        cr_expect_eq(tl_streams_want_again(facts, TL_DOWNLOAD), piece_bps < 50e6);
        tl_facts_destroy(facts);
    }
}

/* By either of the two: the better one tells what the link was seen to carry. */
Test(streams_again, a_link_that_was_once_as_fast_as_trains_is_not)
{
    struct seen one = {66, 50, 66, 48, 50, 0.3, 0.05}, many = {50, 66, 66, 48, 50, 0.3, 0.05};
    cr_expect_not(wants_both(&one));
    cr_expect_not(wants_both(&many));
}

Test(streams_again, trains_have_to_be_a_quarter_faster)
{
    struct seen below = {50, 50, 62, 48, 50, 0.3, 0.05}, at = {50, 50, 62.5, 48, 50, 0.3, 0.05};
    cr_expect_not(wants_both(&below));
    cr_expect(wants_both(&at));
}

/* As where others come and go: what swings beneath trains that are a tenth faster. */
Test(streams_again, a_tenth_is_enough_where_it_swings)
{
    struct seen swings = {50, 50, 55.5, 48, 50, 0.3, 0.08},
                hardly = {50, 50, 55.5, 48, 50, 0.3, 0.07},
                below = {50, 50, 54.5, 48, 50, 0.3, 0.08},
                at_best = {50, 50, 57, 48, 50, 0.3, 0.21};
    cr_expect(wants_both(&swings));
    cr_expect_not(wants_both(&hardly));
    cr_expect_not(wants_both(&below));
    cr_expect_not(wants_both(&at_best), "its best moments were faster than trains");
}

/* A link whose rate wanders had moments at what trains show. */
Test(streams_again, the_best_moments_of_the_link_count_too)
{
    struct tl_facts *facts = tl_facts_create();
    set(facts, TL_FLOW(TL_DOWNLOAD, streams_full_bps), 50e6, 0.1);
    set(facts, TL_FLOW(TL_DOWNLOAD, trains_bps), 66e6, 0.1);
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, full_bps), 50e6, 40e6, 70e6, "");
    cr_expect_not(tl_streams_want_again(facts, TL_DOWNLOAD));
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, full_bps), 50e6, 40e6, 69e6, "");
    cr_expect(tl_streams_want_again(facts, TL_DOWNLOAD));
    tl_facts_destroy(facts);
}

/* Round trips of what a full buffer let out in one burst are long, and say nothing of the link. */
Test(streams_again, what_a_buffer_held_differs_by_that)
{
    struct tl_facts *facts = tl_facts_create();
    set(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 137e6, 0.1);
    set(facts, TL_FLOW(TL_DOWNLOAD, streams_goodput_bps), 271e6, 0.1);
    set(facts, TL_FLOW(TL_DOWNLOAD, queue_standing_ratio), 0.9, 0.1);
    cr_expect(tl_streams_want_again(facts, TL_DOWNLOAD));
    set(facts, TL_FLOW(TL_DOWNLOAD, ledger_sndbuf_ratio), 0.87, 0.1);
    cr_expect_not(tl_streams_want_again(facts, TL_DOWNLOAD));
    set(facts, TL_FLOW(TL_DOWNLOAD, streams_full_bps), 271e6, 0.1);
    set(facts, TL_FLOW(TL_DOWNLOAD, full_bps), 137e6, 0.1);
    set(facts, TL_FLOW(TL_DOWNLOAD, trains_bps), 500e6, 0.1);
    cr_expect(tl_streams_want_again(facts, TL_DOWNLOAD), "whose the rest is stays open");
    tl_facts_destroy(facts);
}

Test(streams_again, what_was_not_measured_asks_for_nothing)
{
    struct seen one = {NAN, 50, 100, 48, 50, 0.3, 0.05}, many = {50, NAN, 100, 48, 50, 0.3, 0.05},
                trains = {50, 50, NAN, 48, 50, 0.3, 0.05}, rates = {50, 50, 50, NAN, 50, 1, 0.05},
                standing = {50, 50, 50, 10, 50, NAN, 0.05};
    cr_expect_not(wants_both(&one));
    cr_expect_not(wants_both(&many));
    cr_expect_not(wants_both(&trains));
    cr_expect_not(wants_both(&rates));
    cr_expect_not(wants_both(&standing));
}

Test(streams_again, rates_far_apart_are_looked_at_again_where_the_link_had_a_queue)
{
    struct seen more = {50, 50, 50, 30, 40, 0.5, 0.05}, less = {50, 50, 50, 40, 30, 0.5, 0.05},
                no_queue = {50, 50, 50, 30, 40, 0.4, 0.05}, alike = {50, 50, 50, 30, 38, 0.7, 0.05};
    cr_expect(wants_both(&more));
    cr_expect(wants_both(&less));
    cr_expect_not(wants_both(&no_queue));
    cr_expect_not(wants_both(&alike));
}

Test(streams_again, several_find_no_more_where_one_kept_the_link_full)
{
    struct seen more = {50, 50, 50, 30, 35, 0.8, 0.05}, less = {50, 50, 50, 35, 30, 0.8, 0.05},
                scatter = {50, 50, 50, 30, 34, 0.9, 0.05};
    cr_expect(wants_both(&more));
    cr_expect_not(wants_both(&less));
    cr_expect_not(wants_both(&scatter));
}
