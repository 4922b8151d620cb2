/* Path MTU searches and handshakes become facts; what is not known becomes a reason. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "../key_of.h"
#include "path_facts.h"
#include "tightlink/engine/sample.h"

static struct tl_facts *facts;

static void setup(void)
{
    facts = tl_facts_create();
    cr_assert(facts != NULL);
    tl_facts_set_bool(facts, TL_NEAR(tcp_window_scaling), true, "");
    tl_facts_set_bool(facts, TL_NEAR(tcp_sack), true, "");
    tl_facts_set_number(facts, TL_NEAR(tcp_timestamps), 1, "");
}

static void teardown(void)
{
    tl_facts_destroy(facts);
}

TestSuite(path_facts, .init = setup, .fini = teardown);

static double number(const char *id)
{
    return tl_facts_number(facts, key_of(id), -1);
}

static const char *text(const char *id)
{
    struct tl_fact fact;
    tl_facts_get(facts, key_of(id), &fact);
    return fact.state == TL_FACT_KNOWN ? fact.text : "";
}

Test(path_facts, segments_are_named_where_the_hops_enclose_one)
{
    cr_expect_str_eq(tl_path_segment(0, 1, 3), "lan");
    cr_expect_str_eq(tl_path_segment(1, 2, 3), "path");
    cr_expect_str_eq(tl_path_segment(2, 3, 3), "far-lan");
    cr_expect_str_eq(tl_path_segment(2, 7, 9), "path");
    cr_expect_str_eq(tl_path_segment(0, 1, 1), "lan", "no router at all");
    cr_expect_null(tl_path_segment(0, 3, 3), "anywhere");
    cr_expect_null(tl_path_segment(0, 2, 3));
    cr_expect_null(tl_path_segment(1, 3, 3));
    cr_expect_null(tl_path_segment(-1, 1, 3));
    cr_expect_null(tl_path_segment(0, 1, 0));
}

Test(path_facts, a_hole_is_placed_from_this_end_in_both_directions)
{
    struct tl_pmtu_result result = {.up = {.mtu_bytes = 1300,
                                           .failed_bytes = 1301,
                                           .tried_bytes = 1500,
                                           .black_hole = true,
                                           .hole_first_hop = 0,
                                           .hole_last_hop = 1,
                                           .hops_count = 3}};
    result.down = result.up;
    tl_path_facts_pmtu(facts, &result);
    cr_expect_str_eq(text("upload.mtu_hole_segment"), "lan");
    cr_expect_str_eq(text("download.mtu_hole_segment"), "far-lan", "the far end sends");
    cr_expect_eq(number("upload.path_mtu_bytes"), 1300);
    cr_expect_eq(number("download.mtu_black_hole"), 1);
    struct tl_fact fact;
    tl_facts_get(facts, TL_FLOW(TL_UPLOAD, mtu_reported_bytes), &fact);
    cr_expect(fact.state == TL_FACT_UNKNOWN && strstr(fact.reason, "no router"));
}

Test(path_facts, silent_routers_leave_no_hops_to_name)
{
    struct tl_pmtu_result result = {.up = {.mtu_bytes = 1300,
                                           .failed_bytes = 1301,
                                           .tried_bytes = 1500,
                                           .black_hole = true,
                                           .hole_last_hop = 3,
                                           .hops_count = 3}};
    tl_path_facts_pmtu(facts, &result);
    cr_expect_eq(number("upload.mtu_black_hole"), 1);
    cr_expect_eq(number("upload.mtu_hole_last_hop"), -1);
    result.up.hops_count = result.up.hole_last_hop = 1;
    tl_path_facts_pmtu(facts, &result);
    cr_expect_str_eq(text("upload.mtu_hole_segment"), "lan", "one wire: there is only one place");
}

Test(path_facts, nothing_that_arrived_is_no_black_hole)
{
    struct tl_pmtu_result result = {.up = {.tried_bytes = 1500}, .down = {.tried_bytes = 1500}};
    tl_path_facts_pmtu(facts, &result);
    cr_expect_eq(number("upload.path_mtu_bytes"), -1);
    cr_expect_eq(number("upload.mtu_black_hole"), -1);
    cr_expect_eq(number("upload.dscp_changed"), -1);
}

/* Everything as it should be over Ethernet and IPv4. */
static struct tl_syn_result good_syn(void)
{
    struct tl_syn_result result = {
        .far = {.saved = true,
                .tcp_flags = 2,
                .options = TL_WIRE_SYN_MSS | TL_WIRE_SYN_WSCALE | TL_WIRE_SYN_SACK |
                           TL_WIRE_SYN_TIMESTAMPS,
                .mss_bytes = 1460,
                .advmss_bytes = 1460,
                .negotiated = TL_TCP_OPT_WSCALE | TL_TCP_OPT_SACK | TL_TCP_OPT_TIMESTAMPS,
                .rtt_ns = 20000000},
        .advmss_bytes = 1460,
        .snd_mss_bytes = 1448,
        .pmtu_bytes = 1500,
        .snd_wnd_bytes = 65160,
        .negotiated = TL_TCP_OPT_WSCALE | TL_TCP_OPT_SACK | TL_TCP_OPT_TIMESTAMPS,
        .handshake_rtt_ns = 20000000,
        .answer_rtt_ns = 20300000,
        .far_sees_our_address = true};
    return result;
}

Test(path_facts, a_handshake_that_nobody_touched)
{
    struct tl_syn_result result = good_syn();
    tl_path_facts_syn(facts, &result, false);
    cr_expect_eq(number("download.syn_options_lost"), 0);
    cr_expect_eq(number("upload.mss_received_bytes"), 1460);
    cr_expect_eq(number("download.mss_received_bytes"), 1460);
    cr_expect_eq(number("path.far_sees_other_address"), 0);
}

Test(path_facts, a_clamped_mss_is_seen_each_way)
{
    struct tl_syn_result result = good_syn();
    result.far.mss_bytes = 900;
    result.snd_mss_bytes = 888;
    tl_path_facts_syn(facts, &result, false);
    cr_expect_eq(number("download.mss_sent_bytes"), 1460);
    cr_expect_eq(number("download.mss_received_bytes"), 900);
    cr_expect_eq(number("upload.mss_received_bytes"), 900);
    result.snd_wnd_bytes = 1800; /* half of it is less than a segment */
    tl_path_facts_syn(facts, &result, false);
    cr_expect_eq(number("upload.mss_received_bytes"), -1);
    result.snd_wnd_bytes = 65160;
    result.pmtu_bytes = 940; /* our own route says so: nobody on the way did */
    tl_path_facts_syn(facts, &result, false);
    cr_expect_eq(number("upload.mss_received_bytes"), 1460);
}

Test(path_facts, options_are_lost_there_or_back)
{
    struct tl_syn_result result = good_syn();
    result.far.options &= (uint8_t)~TL_WIRE_SYN_SACK;
    tl_path_facts_syn(facts, &result, false);
    cr_expect_eq(number("download.syn_options_lost"), 1);
    cr_expect_str_eq(text("upload.syn_options_lost_names"), "SACK");
    result = good_syn();
    result.negotiated &= ~(unsigned)TL_TCP_OPT_WSCALE; /* in the SYN-ACK */
    tl_path_facts_syn(facts, &result, false);
    cr_expect_str_eq(text("upload.syn_options_lost_names"), "window scaling");
}

Test(path_facts, an_option_that_was_never_sent_is_not_lost)
{
    struct tl_syn_result result = good_syn();
    tl_facts_set_bool(facts, TL_NEAR(tcp_sack), false, "");
    result.far.options &= (uint8_t)~TL_WIRE_SYN_SACK;
    result.far.negotiated &= (uint8_t)~TL_TCP_OPT_SACK;
    result.negotiated &= ~(unsigned)TL_TCP_OPT_SACK;
    tl_path_facts_syn(facts, &result, false);
    cr_expect_eq(number("download.syn_options_lost"), 0);
}

Test(path_facts, without_a_saved_syn_only_a_loss_is_known)
{
    struct tl_syn_result result = good_syn();
    result.far.saved = false;
    result.far.options = 0;
    tl_path_facts_syn(facts, &result, false);
    cr_expect_eq(number("download.syn_options_lost"), -1);
    cr_expect_eq(number("download.mss_received_bytes"), -1);
    cr_expect_eq(number("upload.mss_received_bytes"), 1460);
}

Test(path_facts, the_smallest_of_several_handshakes_counts)
{
    struct tl_syn_result result = good_syn();
    tl_path_facts_syn(facts, &result, false);
    result.answer_rtt_ns = 30000000;
    result.handshake_rtt_ns = 19000000;
    tl_path_facts_syn(facts, &result, false);
    cr_expect_eq(number("path.app_rtt_min_ns"), 20300000);
    cr_expect_eq(number("path.tcp_rtt_min_ns"), 19000000);
}

/* Readings every 50 ms: the sender's are acknowledged at once, the receiver has them lag later. */
static void fill_logs(struct tl_tcp_result *result, struct tl_tcp_sample *sent,
                      struct tl_tcp_sample *received, size_t count, int lag)
{
    for (size_t i = 0; i < count; i++) {
        sent[i].time_ns = received[i].time_ns = (int64_t)i * 50000000;
        tl_sample_set(&sent[i], TL_SF_bytes_acked, i * 1000000);
        tl_sample_set(&received[i], TL_SF_bytes_received,
                      (int)i > lag ? (i - (size_t)lag) * 1000000 : 0);
    }
    result->sender.logs[0] = (struct tl_sample_log){.samples = sent, .count = count};
    result->receiver.logs[0] = (struct tl_sample_log){.samples = received, .count = count};
    result->data_rtt_ns = 1000000;
    result->steady.sender_whole.rtt_mean_ns = (double)NAN;
}

Test(path_facts, what_a_proxy_acknowledges_ahead_is_counted)
{
    static struct tl_tcp_result result;
    static struct tl_tcp_sample sent[40], received[40];
    cr_expect(isnan(tl_path_acked_ahead(&result)), "no readings");
    fill_logs(&result, sent, received, 40, 12); /* 600 ms behind */
    cr_expect_geq(tl_path_acked_ahead(&result), 9e6);
    memset(received, 0, sizeof received);
    fill_logs(&result, sent, received, 40, 0);
    cr_expect_eq(tl_path_acked_ahead(&result), 0);
}

Test(path_facts, a_hole_that_segments_told_has_sizes_and_no_place)
{
    struct tl_pmtu_way way = {.mtu_bytes = 1300,
                              .failed_bytes = 1340,
                              .tried_bytes = 1500,
                              .black_hole = true,
                              .hole_first_hop = -1,
                              .hole_last_hop = -1};
    tl_path_facts_segments(facts, TL_DOWNLOAD, &way);
    cr_expect_eq(number("download.path_mtu_bytes"), 1300);
    cr_expect_eq(number("download.mtu_tried_bytes"), 1500);
    cr_expect_eq(number("download.mtu_black_hole"), 1);
    cr_expect_eq(number("download.mtu_hole_first_hop"), -1);
    struct tl_fact fact;
    tl_facts_get(facts, key_of("download.mtu_hole_first_hop"), &fact);
    cr_expect_eq(fact.state, TL_FACT_UNKNOWN);
    cr_expect_eq(number("upload.path_mtu_bytes"), -1, "the other way was not tried");
}
