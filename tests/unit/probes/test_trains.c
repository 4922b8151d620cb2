/* How trains are laid for a rate, and what is read from those that arrived. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "datagram.h"
#include "tightlink/base/units.h"
#include "trains.h"

#define COUNT  24
#define LENGTH 32

Test(trains, offer_a_tenth_more_than_was_carried_within_their_time)
{
    static const double rates_bps[] = {3e6, 30e6, 370e6, 420e6, 900e6, 3e9};
    struct tl_error error = {0};
    for (size_t i = 0; i < sizeof rates_bps / sizeof *rates_bps; i++) {
        struct tl_udp_spec spec = {0};
        cr_assert(tl_trains_plan(rates_bps[i], TL_UDP_DATAGRAM_BYTES, &spec));
        double bytes = (double)spec.train_length * TL_UDP_DATAGRAM_BYTES;
        double offered_bps = tl_bps_from_bytes_ns(bytes, (double)spec.train_gap_ns);
        cr_expect_float_eq(offered_bps / rates_bps[i], 1.1, 0.01, "%g", rates_bps[i]);
        cr_expect(spec.train_length >= 4);
        cr_expect_leq(spec.train_length, rates_bps[i] < 300e6 ? 32 : 64, "%g", rates_bps[i]);
        cr_expect_eq(tl_udp_spec_check(&spec, &error), TL_OK, "%g: %s", rates_bps[i], error.text);
        cr_expect(spec.train_count >= 12 && spec.train_count <= COUNT);
        cr_expect_lt((double)spec.train_count * (double)spec.train_gap_ns, 1e9);
    }
}

Test(trains, are_many_before_they_are_long)
{
    struct tl_udp_spec spec = {0};
    cr_assert(tl_trains_plan(4.5e6, TL_UDP_DATAGRAM_BYTES, &spec));
    cr_expect_eq(spec.train_count, COUNT);
    cr_expect_leq(spec.train_length, 16, "%u datagrams overrun a short queue", spec.train_length);
    cr_assert(tl_trains_plan(100e6, TL_UDP_DATAGRAM_BYTES, &spec));
    cr_expect_eq(spec.train_length, 32);
    cr_expect_eq(spec.train_count, COUNT);
    cr_assert(tl_trains_plan(900e6, TL_UDP_DATAGRAM_BYTES, &spec));
    cr_expect_eq(spec.train_length, 64, "%u last too short", spec.train_length);
    cr_expect_eq(spec.train_count, COUNT);
}

Test(trains, are_of_datagrams_that_pass_where_segments_do)
{
    struct tl_facts *facts = tl_facts_create();
    cr_assert_eq(tl_datagram_bytes(facts, TL_UPLOAD), TL_UDP_DATAGRAM_BYTES, "nothing told yet");
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, mss_bytes), 1348, "");
    cr_assert_eq(tl_datagram_bytes(facts, TL_UPLOAD), 1348, "a tunnel of 1400 bytes");
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, mss_bytes), 8948, "");
    cr_assert_eq(tl_datagram_bytes(facts, TL_UPLOAD), TL_UDP_DATAGRAM_BYTES, "jumbo frames");
    tl_facts_destroy(facts);

    struct tl_udp_spec spec = {0};
    cr_assert(tl_trains_plan(30e6, 1348, &spec));
    cr_assert_eq(spec.datagram_bytes, 1348);
    double bytes = (double)spec.train_length * 1348;
    cr_assert_float_eq(tl_bps_from_bytes_ns(bytes, (double)spec.train_gap_ns), 33e6, 0.3e6);
}

Test(trains, a_rate_too_small_for_them_gets_none)
{
    struct tl_udp_spec spec = {.train_length = 7};
    cr_assert_not(tl_trains_plan(0.2e6, TL_UDP_DATAGRAM_BYTES, &spec));
    cr_assert_not(tl_trains_plan((double)NAN, TL_UDP_DATAGRAM_BYTES, &spec));
    cr_assert_eq(spec.train_length, 7, "left alone");
}

/* Trains of LENGTH datagrams that left within sent_ns and took early_bps to pass, later late_bps.
 */
static void fill(struct tl_udp_train trains[COUNT], int64_t sent_ns, double early_bps,
                 double late_bps)
{
    for (int i = 0; i < COUNT; i++) {
        double bits = (LENGTH - 1) * 8.0 * TL_UDP_DATAGRAM_BYTES;
        double bps = (i < COUNT / 2 ? early_bps : late_bps) * (1 + 0.002 * (i % 3));
        trains[i] =
            (struct tl_udp_train){.sent_count = LENGTH,
                                  .received_count = LENGTH,
                                  .sent_ns = sent_ns,
                                  .dispersion_ns = (int64_t)(bits * 1e9 / bps),
                                  .gap_median_ns = (int64_t)(bits * 1e9 / bps / (LENGTH - 1)),
                                  .in_order = true,
                                  .bundle_count = LENGTH};
    }
}

static double rate_of(struct tl_udp_train trains[COUNT], double scatter_ns, const char **ret_reason)
{
    struct tl_udp_result result = {
        .spec = {.train_length = LENGTH}, .trains = trains, .train_count = COUNT};
    return tl_trains_rate(&result, TL_UDP_DATAGRAM_BYTES, scatter_ns, ret_reason);
}

Test(trains, the_later_half_tells_the_rate)
{
    struct tl_udp_train trains[COUNT];
    const char *reason = "";
    fill(trains, 20000, 200e6, 40e6); /* a bucket that the first half emptied */
    double bps = rate_of(trains, 0, &reason);
    cr_assert_float_eq(bps, 40e6, 0.5e6, "%g", bps);
}

Test(trains, a_sender_no_faster_than_the_arrivals_tells_nothing)
{
    struct tl_udp_train trains[COUNT];
    const char *reason = "";
    fill(trains, (int64_t)(31 * 8.0 * TL_UDP_DATAGRAM_BYTES * 1e9 / 40e6), 40e6, 40e6);
    cr_assert(isnan(rate_of(trains, 0, &reason)));
    cr_assert(strstr(reason, "no faster"), "%s", reason);
}

/* Nothing for 8 ms, then what has come meanwhile: most gaps are none. */
Test(trains, a_grant_is_sent_at_a_rate_of_its_own)
{
    struct tl_udp_train trains[COUNT];
    const char *reason = "";
    fill(trains, 20000, 40e6, 40e6);
    for (int i = 0; i < COUNT; i++)
        trains[i].gap_median_ns = 10000, trains[i].bundle_count = 3;
    cr_assert(isnan(rate_of(trains, 0, &reason)));
    cr_assert(strstr(reason, "bundles"), "%s", reason);
}

/* A card that waits some 80 us before it hands on what came: an interrupt for four datagrams. */
Test(trains, many_bundles_tell_the_rate_of_a_fast_link)
{
    struct tl_udp_train trains[COUNT];
    const char *reason = "";
    fill(trains, 20000, 600e6, 600e6);
    for (int i = 0; i < COUNT; i++)
        trains[i].gap_median_ns = 100, trains[i].bundle_count = 8;
    double bps = rate_of(trains, 0, &reason);
    cr_assert_float_eq(bps, 600e6, 5e6, "%g", bps);
    cr_expect_eq(tl_trains_held_ns(trains, COUNT), 0);
}

Test(trains, jitter_as_long_as_a_train_hides_its_rate)
{
    struct tl_udp_train trains[COUNT];
    const char *reason = "";
    fill(trains, 20000, 40e6, 40e6); /* 9 ms each */
    cr_assert_float_eq(rate_of(trains, 1e6, &reason), 40e6, 0.5e6);
    for (int i = 0; i < COUNT; i++)
        trains[i].dispersion_ns += (i % 5 - 2) * 1000000;
    cr_assert(isnan(rate_of(trains, 5e6, &reason)));
    cr_assert(strstr(reason, "scatters"), "%s", reason);
}

/* Others' traffic makes every round trip another one, and the trains pass behind it as they are. */
Test(trains, that_last_alike_have_met_no_scatter)
{
    struct tl_udp_train trains[COUNT];
    const char *reason = "";
    fill(trains, 20000, 40e6, 40e6); /* 9 ms each, all but the same */
    cr_assert_float_eq(rate_of(trains, 5e6, &reason), 40e6, 0.5e6);
    for (int i = COUNT / 2 + 6; i < COUNT; i++)
        trains[i].received_count = 0;
    cr_assert(isnan(rate_of(trains, 5e6, &reason)), "of six");
}

Test(trains, bundles_tell_how_long_a_link_holds_packets_back)
{
    struct tl_udp_train trains[COUNT];
    fill(trains, 20000, 40e6, 40e6);
    cr_expect_eq(tl_trains_held_ns(trains, COUNT), 0);
    for (int i = 0; i < COUNT; i++) { /* all at once, but for those behind the next grant */
        trains[i].gap_median_ns = 1000;
        trains[i].bundle_count = 2;
        trains[i].dispersion_ns = i % 5 ? 3000000 : 400000;
    }
    cr_expect_float_eq(tl_trains_held_ns(trains, COUNT), 3e6, 1);
    for (int i = 0; i < COUNT; i++)
        trains[i].received_count = 0;
    cr_expect(isnan(tl_trains_held_ns(trains, COUNT)));
}

Test(trains, what_cards_gather_is_not_timed)
{
    struct tl_udp_train trains[COUNT];
    const char *reason = "";
    fill(trains, 1000, 20e9, 20e9);
    cr_assert(isnan(rate_of(trains, 0, &reason)));
    cr_assert(strstr(reason, "too fast"), "%s", reason);
}

Test(trains, trains_with_holes_are_left_out)
{
    struct tl_udp_train trains[COUNT];
    const char *reason = "";
    fill(trains, 20000, 40e6, 40e6);
    for (int i = COUNT / 2; i < COUNT - 3; i++)
        trains[i].in_order = false, trains[i].received_count = 20;
    cr_assert(isnan(rate_of(trains, 0, &reason)));
    cr_assert(strstr(reason, "too few"), "%s", reason);
    for (int i = COUNT / 2; i < COUNT - 3; i++)
        trains[i].received_count = 32, trains[i].gap_median_ns /= 2; /* overtaken ones */
    cr_assert(isnan(rate_of(trains, 0, &reason)));
}

/* Behind a link that others keep nearly full each train loses some to the queue's end. */
Test(trains, what_a_full_queue_refused_leaves_the_rest_evenly_spaced)
{
    struct tl_udp_train trains[COUNT];
    const char *reason = "";
    fill(trains, 20000, 40e6, 40e6);
    for (int i = COUNT / 2; i < COUNT; i++) {
        trains[i].in_order = false;
        trains[i].received_count = 26;
        trains[i].dispersion_ns = trains[i].gap_median_ns * 25;
    }
    double bps = rate_of(trains, 0, &reason);
    cr_assert_float_eq(bps, 40e6, 0.5e6, "%g", bps);
}

/* Windows of 65 KB over 20 ms: one gets an eighth of what eight do, and the link idles. */
Test(trains, are_not_asked_where_buffers_held_every_connection)
{
    struct tl_facts *facts = tl_facts_create();
    cr_assert(facts != NULL);
    cr_expect(tl_trains_are_wanted(facts, TL_DOWNLOAD), "nothing is known");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, ledger_rwnd_ratio), 0.99, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, ledger_sndbuf_ratio), 0, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, streams_rwnd_ratio), 0.97, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, streams_sndbuf_ratio), 0.01, "");
    cr_expect(tl_trains_are_wanted(facts, TL_DOWNLOAD), "a queue may have stood");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, streams_queue_standing_ratio), 0, "");
    cr_expect_not(tl_trains_are_wanted(facts, TL_DOWNLOAD));
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, streams_queue_standing_ratio), 1, "");
    cr_expect(tl_trains_are_wanted(facts, TL_DOWNLOAD), "eight windows fill the link");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, streams_queue_standing_ratio), 0, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, streams_rwnd_ratio), 0.3, "");
    cr_expect(tl_trains_are_wanted(facts, TL_DOWNLOAD), "eight are held by something else");
    tl_facts_destroy(facts);
}
