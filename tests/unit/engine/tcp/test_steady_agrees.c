/* When a test of several connections, or of one with a larger window, bears out the one before it,
 * and when it does not. */
#include <criterion/criterion.h>
#include <math.h>

#include "tightlink/engine/steady.h"

#define MS INT64_C(1000000)

static struct tl_steady even_steady(double bps, int64_t steady_ns, double rtt_ns)
{
    return (struct tl_steady){.cycles_inside = true,
                              .rate = {.valid = true,
                                       .start_ns = 200 * MS,
                                       .end_ns = 200 * MS + steady_ns,
                                       .goodput_bps = bps,
                                       .low_bps = 0.99 * bps,
                                       .high_bps = 1.01 * bps},
                              .fairness_ratio = 0.95,
                              .sender = {.rtt_mean_ns = rtt_ns}};
}

Test(steady_agrees, two_measurements_that_agree_need_less_time)
{
    struct tl_steady steady = even_steady(95e6, 2500 * MS, 20e6);
    cr_assert(tl_steady_agrees(&steady, 94e6, 8), "all together what one got: a link is full");
    cr_assert(tl_steady_agrees(&steady, 95e6 / 8, 8), "each what one got: each is held alike");
    cr_assert_not(tl_steady_agrees(&steady, 80e6, 8), "others took some, or a bucket was full");
    cr_assert_not(tl_steady_agrees(&steady, 95e6 / 2, 8));
    cr_assert_not(tl_steady_agrees(&steady, 0, 8), "nothing was measured before");
    cr_assert_not(tl_steady_agrees(&steady, NAN, 8));
}

Test(steady_agrees, an_agreement_by_chance_is_none)
{
    struct tl_steady steady = even_steady(95e6, 1500 * MS, 20e6);
    cr_assert_not(tl_steady_agrees(&steady, 95e6, 8), "too short for the queue's account");
    steady = even_steady(95e6, 2500 * MS, 300e6);
    cr_assert_not(tl_steady_agrees(&steady, 95e6, 8), "eight round trips");
    steady = even_steady(95e6, 2500 * MS, NAN);
    cr_assert_not(tl_steady_agrees(&steady, 95e6, 8), "nobody knows how many round trips");
    steady = even_steady(95e6, 2500 * MS, 20e6);
    steady.rate.high_bps = 1.1 * 95e6;
    cr_assert_not(tl_steady_agrees(&steady, 95e6, 8), "a wide interval");
    steady.rate.high_bps = 1.045 * 95e6;
    cr_assert(tl_steady_agrees(&steady, 95e6, 8), "neither bound is what rules take for more");
    steady = even_steady(95e6, 2500 * MS, 20e6);
    steady.rate.drift_ratio = -0.05;
    cr_assert_not(tl_steady_agrees(&steady, 95e6, 8), "still falling");
    steady.rate.drift_ratio = 0;
    steady.cycles_inside = false;
    cr_assert_not(tl_steady_agrees(&steady, 95e6, 8), "the plateau of a sawtooth");
    steady.cycles_inside = true;
    steady.rate.valid = false;
    cr_assert_not(tl_steady_agrees(&steady, 95e6, 8));
}

Test(steady_agrees, connections_that_share_it_unlike_may_be_two_groups)
{
    struct tl_steady steady = even_steady(95e6, 2500 * MS, 20e6);
    steady.fairness_ratio = 0.42;
    cr_assert_not(tl_steady_agrees(&steady, 95e6, 8), "two members of a bundle, one is bad");
    steady.fairness_ratio = 0.75;
    cr_assert(tl_steady_agrees(&steady, 95e6, 8), "by chance");
    steady.fairness_ratio = NAN;
    cr_assert(tl_steady_agrees(&steady, 95e6, 8), "nobody knows what each got");
}

/* 256 KiB over 50 ms, held by them all the time. */
static struct tl_steady held_steady(int64_t steady_ns)
{
    struct tl_steady steady = even_steady(262144 * 8 / 0.05, steady_ns, 50e6);
    steady.rate.high_bps = 1.2 * steady.rate.goodput_bps; /* a window more or less in a batch */
    steady.sender.ledger = (struct tl_ledger){.valid = true, .rwnd_ratio = 0.99};
    steady.sender.snd_wnd_max_bytes = 262144;
    steady.sender.mss_bytes = 1448;
    return steady;
}

Test(steady_agrees, a_larger_window_that_fills_bears_the_smaller_one_out)
{
    struct tl_steady steady = held_steady(2500 * MS);
    cr_assert(tl_steady_agrees(&steady, 26e6, 1));
    cr_assert_not(tl_steady_agrees(&steady, 26e6, 8), "nobody adds windows up");
    cr_assert_not(tl_steady_agrees(&steady, 0, 1), "nothing was measured before");
    steady.sender.ledger.rwnd_ratio = 0.8;
    cr_assert_not(tl_steady_agrees(&steady, 26e6, 1), "something else held it, too");
    steady = held_steady(2500 * MS);
    steady.rate.goodput_bps *= 0.9;
    cr_assert_not(tl_steady_agrees(&steady, 26e6, 1), "less than its window");
    steady = held_steady(2500 * MS);
    steady.rate.drift_ratio = 0.1;
    cr_assert_not(tl_steady_agrees(&steady, 26e6, 1), "still rising");
    steady = held_steady(1500 * MS);
    cr_assert_not(tl_steady_agrees(&steady, 26e6, 1), "too short");
}

/* 77 Mb/s by a send buffer, known within 4 %; with a larger one 118, known within 6 %. */
Test(steady_agrees, what_gets_clearly_more_than_a_buffer_let_through_is_told_early)
{
    struct tl_steady steady = even_steady(118e6, 2500 * MS, 50e6);
    steady.rate.low_bps = 111e6;
    steady.rate.high_bps = 125e6;
    cr_assert(tl_steady_surpasses(&steady, 80e6));
    cr_assert_not(tl_steady_surpasses(&steady, 90e6), "its lower bound is not far enough above");
    cr_assert_not(tl_steady_surpasses(&steady, 0), "no buffer held the one before");
    cr_assert_not(tl_steady_surpasses(&steady, NAN));
    cr_assert_not(tl_steady_agrees(&steady, 77e6, 1));
    steady.rate.drift_ratio = 0.12;
    cr_assert_not(tl_steady_surpasses(&steady, 80e6), "still rising: a promise too small");
    steady.rate.drift_ratio = 0;
    steady.rate.high_bps = 131e6;
    cr_assert_not(tl_steady_surpasses(&steady, 80e6), "known within 11 % only");
    steady = even_steady(118e6, 1500 * MS, 50e6);
    cr_assert_not(tl_steady_surpasses(&steady, 80e6), "too short for the queue's account");
    steady = even_steady(118e6, 5000 * MS, 600e6);
    cr_assert(tl_steady_surpasses(&steady, 80e6), "eight round trips of a satellite");
    cr_assert_not(tl_steady_agrees(&steady, 118e6, 1), "too few for a sameness");
    steady = even_steady(118e6, 4700 * MS, 600e6);
    cr_assert_not(tl_steady_surpasses(&steady, 80e6), "seven: it may still be on its way up");
    steady = even_steady(118e6, 2500 * MS, 50e6);
    steady.cycles_inside = false;
    cr_assert_not(tl_steady_surpasses(&steady, 80e6), "the plateau of a sawtooth");
    steady.cycles_inside = true;
    steady.fairness_ratio = 0.42;
    cr_assert_not(tl_steady_surpasses(&steady, 80e6), "two groups, perhaps: the whole time tells");
}

/* One lost packets by chance and got 16 Mb/s, known within 18 %; eight 142, known within 26 %. */
Test(steady_agrees, what_lossy_connections_multiply_is_told_early)
{
    struct tl_steady steady = even_steady(142e6, 2500 * MS, 40e6), lossy;
    steady.rate.low_bps = 105e6;
    steady.rate.high_bps = 179e6;
    steady.sender.rtt_min_ns = 39.6e6;
    steady.sender.loss_event_count = 30;
    lossy = steady;
    cr_assert(tl_steady_multiplies(&steady, 19e6));
    cr_assert_not(tl_steady_multiplies(&steady, 60e6), "no multiple for sure");
    cr_assert_not(tl_steady_multiplies(&steady, 0), "a buffer held the one before");
    steady.sender.loss_event_count = 3;
    cr_assert_not(tl_steady_multiplies(&steady, 19e6), "too few losses to tell what they do");
    steady.sender.loss_event_count = NAN;
    cr_assert_not(tl_steady_multiplies(&steady, 19e6), "a sender that does not tell them");
    steady = lossy;
    steady.sender.rtt_mean_ns = 60e6;
    cr_assert_not(tl_steady_multiplies(&steady, 19e6), "a queue stands: whose it is takes longer");
    steady = lossy;
    steady.fairness_ratio = 0.4;
    cr_assert_not(tl_steady_multiplies(&steady, 19e6), "two members of a bundle, one is bad");
    steady = even_steady(142e6, 1500 * MS, 40e6);
    steady.sender.loss_event_count = 30;
    cr_assert_not(tl_steady_multiplies(&steady, 19e6), "too short for the queue's account");
    struct tl_steady_enough enough = {.rate = true, .multiplies_bps = 19e6};
    cr_assert(tl_steady_settles(&lossy, &enough, 8), "and ends the test");
    enough.multiplies_bps = 0;
    cr_assert_not(tl_steady_settles(&lossy, &enough, 8), "nothing else ends it");
}

/* A paced stream is there for what it loses: its rate, which is known before, ends it no sooner. */
Test(steady_agrees, a_test_that_counts_losses_ends_when_they_were_counted)
{
    struct tl_steady steady = even_steady(8e6, 3100 * MS, 40e6);
    struct tl_steady_enough enough = {.lost_events = 3};
    steady.known = true;
    steady.sender.loss_event_count = 2;
    cr_assert_not(tl_steady_settles(&steady, &enough, 1), "one is lacking");
    steady.sender.loss_event_count = 3;
    cr_assert(tl_steady_settles(&steady, &enough, 1));
    enough.lost_events = 0;
    cr_assert_not(tl_steady_settles(&steady, &enough, 1), "it is to last");
    enough = (struct tl_steady_enough){.rate = true};
    cr_assert(tl_steady_settles(&steady, &enough, 1), "its rate was wanted");
}

Test(steady_agrees, losses_are_not_counted_in_too_short_a_time)
{
    struct tl_steady_enough enough = {.lost_events = 3};
    struct tl_steady steady = even_steady(8e6, 2700 * MS, 40e6);
    steady.sender.loss_event_count = 30;
    cr_assert_not(tl_steady_settles(&steady, &enough, 1), "2.9 s");
    steady = even_steady(8e6, 3100 * MS, 600e6);
    steady.sender.loss_event_count = 30;
    cr_assert_not(tl_steady_settles(&steady, &enough, 1), "five round trips");
    steady = even_steady(8e6, 3100 * MS, NAN);
    steady.sender.loss_event_count = 30;
    cr_assert_not(tl_steady_settles(&steady, &enough, 1), "nobody knows how many round trips");
    steady = even_steady(8e6, 3100 * MS, 40e6);
    steady.sender.loss_event_count = NAN;
    cr_assert_not(tl_steady_settles(&steady, &enough, 1), "a sender that does not tell them");
}
