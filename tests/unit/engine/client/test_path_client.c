/* Path probes against a real responder on loopback: sizes, handshake, hops, and the silence that
 * strangers get. */
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>

#include "far_end.h"
#include "loopback.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/client.h"
#include "tightlink/engine/client_path.h"
#include "tightlink/engine/hops.h"
#include "tightlink/engine/sample.h"
#include "tightlink/engine/syn.h"

Test(path_client, sizes_pass_up_to_what_was_tried, .timeout = 120)
{
    struct far_end far;
    struct tl_pmtu_result result;
    struct tl_error error;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    struct tl_pmtu_spec spec = {.up_max_bytes = 1500, .down_max_bytes = 9000, .cancel_fd = -1};
    cr_assert_eq(tl_client_pmtu(client, &spec, &result, &error), TL_OK, "%s", error.text);
    cr_expect_eq(result.up.mtu_bytes, 1500);
    cr_expect_eq(result.down.mtu_bytes, 9000, "an answer longer than its question");
    cr_expect_not(result.up.black_hole || result.down.black_hole);
    cr_expect_eq(result.up.hops_count, 1);
    cr_expect(result.up.class_known && result.up.class_received == TL_PMTU_CLASS);
    cr_expect(result.down.class_known && result.down.class_received == TL_PMTU_CLASS);
    cr_expect(result.up.ecn_known && result.up.ecn_received == TL_PMTU_ECT0);
    cr_expect_lt(result.sent_bytes + result.received_bytes, 100000);
    tl_client_close(client);
    stop_far(&far);
}

Test(path_client, a_handshake_is_seen_from_both_ends, .timeout = 120)
{
    struct far_end far;
    struct tl_syn_result result;
    struct tl_error error;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    cr_assert_eq(tl_client_syn(client, false, &result, &error), TL_OK, "%s", error.text);
    cr_expect(result.far.saved);
    cr_expect(result.far.options & TL_WIRE_SYN_MSS);
    cr_expect_eq(result.far.mss_bytes, result.advmss_bytes, "nobody is in between");
    uint32_t received = tl_syn_mss_received(&result, false);
    cr_expect(received == 0 || received == result.far.advmss_bytes, "loopback hides it at most");
    cr_expect_eq((result.far.options & TL_WIRE_SYN_SACK) != 0,
                 (result.negotiated & TL_TCP_OPT_SACK) != 0);
    cr_expect(result.far_sees_our_address);
    cr_expect_gt(result.handshake_rtt_ns, 0);
    cr_expect_gt(result.answer_rtt_ns, 0);
    tl_client_close(client);
    stop_far(&far);
}

Test(path_client, the_far_end_is_the_only_hop, .timeout = 120)
{
    static struct tl_hops_result result;
    struct far_end far;
    struct tl_error error;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    struct tl_hops_spec spec = {.cancel_fd = -1};
    cr_assert_eq(tl_client_hops(client, &spec, &result, &error), TL_OK, "%s", error.text);
    cr_expect(result.count_known);
    cr_expect_eq(result.count, 1);
    cr_expect_gt(result.hops[1].answered_count, 0);
    cr_expect_eq(result.ways_count, 0, "there is no router that could tell");
    tl_client_close(client);
    stop_far(&far);
}

Test(path_client, links_that_the_search_for_sizes_counted_are_not_counted_again, .timeout = 120)
{
    static struct tl_hops_result result;
    static struct tl_pmtu_result sizes;
    struct far_end far;
    struct tl_error error;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    struct tl_pmtu_spec search = {.cancel_fd = -1};
    struct tl_hops_spec spec = {.cancel_fd = -1};
    cr_assert_eq(tl_client_pmtu(client, &search, &sizes, &error), TL_OK, "%s", error.text);
    cr_assert_eq(tl_client_hops(client, &spec, &result, &error), TL_OK, "%s", error.text);
    cr_expect(result.count_known);
    cr_expect_eq(result.count, sizes.up.hops_count);
    cr_expect_eq(result.hops[0].sent_count, 0u, "no packet that is to be counted by");
    tl_client_close(client);
    stop_far(&far);
}

Test(path_client, answers_that_are_all_there_are_not_waited_for, .timeout = 120)
{
    static struct tl_hops_result result;
    struct far_end far;
    struct tl_error error;
    int64_t least_ns = INT64_MAX;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    struct tl_hops_spec spec = {.cancel_fd = -1};
    for (int i = 0; i < 5; i++) { /* the quickest: a busy machine may hold up the others */
        int64_t begun_ns = tl_now_ns();
        cr_assert_eq(tl_client_hops(client, &spec, &result, &error), TL_OK, "%s", error.text);
        int64_t took_ns = tl_now_ns() - begun_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    /* Two pauses between three rounds; the last answers would have another 200 ms. */
    cr_expect(least_ns > 240 * MS && least_ns < 420 * MS, "%g ms", (double)least_ns / 1e6);
    tl_client_close(client);
    stop_far(&far);
}

/* P4: a tuple that proved nothing gets nothing, whatever it asks for. */
Test(path_client, a_stranger_gets_no_long_answer, .timeout = 120)
{
    struct far_end far;
    uint8_t bytes[64] = {0};
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1); /* a session lives at the same address */
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)far.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    for (uint64_t cookie = 0; cookie < 20; cookie++) {
        struct tl_wire_udp_path_probe probe = {.cookie = cookie, .answer_bytes = 9000};
        tl_wire_seal_udp_path_probe(&probe, bytes, sizeof bytes);
        cr_assert_eq(send(fd, bytes, sizeof bytes, 0), (ssize_t)sizeof bytes);
    }
    struct pollfd input = {.fd = fd, .events = POLLIN};
    cr_expect_eq(poll(&input, 1, 300), 0, "not a byte");
    close(fd);
    tl_client_close(client);
    stop_far(&far);
}

Test(path_client, a_handshake_without_a_token_is_refused, .timeout = 120)
{
    struct far_end far;
    uint8_t frame[TL_WIRE_FRAME_MAX], in[512];
    start_far(&far, NULL);
    struct tl_wire_syn_query query = {.version = TL_WIRE_VERSION};
    size_t len = tl_wire_encode_syn_query(&query, frame);
    int fd = loopback_connect(far.port, NULL);
    cr_assert_eq(send(fd, frame, len, MSG_NOSIGNAL), (ssize_t)len);
    ssize_t got = recv(fd, in, sizeof in, 0);
    cr_expect(got > 3 && in[2] == TL_WIRE_ERROR);
    cr_expect_leq((size_t)got, len, "no byte more than came in");
    close(fd);
    stop_far(&far);
}

/* What a port that was never open looks like, too: the connection tells them apart. */
Test(path_client, a_responder_that_died_is_no_closed_port, .timeout = 120)
{
    struct far_end far;
    struct tl_error error;
    struct tl_echo_result echo;
    struct tl_host_settings settings;
    struct tl_echo_spec spec = {.count = 3, .interval_ns = 5 * MS, .cancel_fd = -1};
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    stop_far(&far);
    cr_expect_eq(tl_client_echo(client, &spec, &echo, &error), TL_CLOSED, "%s", error.text);
    cr_expect_eq(tl_client_host(client, &settings, &error), TL_CLOSED, "%s", error.text);
    /* Dialled anew: nothing listens where something did. */
    cr_expect_eq(tl_client_host(client, &settings, &error), TL_CLOSED, "%s", error.text);
    tl_client_close(client);
}
