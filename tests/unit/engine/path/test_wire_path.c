/* Messages that measure the path: they come back as they went, and what is not theirs is
 * refused. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "path_error.h"
#include "path_syn.h"
#include "tightlink/engine/wire.h"

static const struct tl_wire_token token = {"0123456789abcde"};

Test(wire_path, syn_query_comes_back_and_needs_its_magic)
{
    struct tl_wire_syn_query query = {.version = TL_WIRE_VERSION, .token = token}, again;
    struct tl_error error;
    uint8_t frame[TL_WIRE_FRAME_MAX];
    size_t len = tl_wire_encode_syn_query(&query, frame) - TL_WIRE_HEADER_SIZE;
    uint8_t *payload = frame + TL_WIRE_HEADER_SIZE;
    cr_assert_eq(len, 32);
    cr_assert_eq(tl_wire_decode_syn_query(payload, len, &again, &error), TL_OK);
    cr_assert(tl_wire_token_equal(&again.token, &token));
    cr_assert_eq(tl_wire_decode_syn_query(payload, len - 1, &again, &error), TL_PROTOCOL);
    payload[9] = 7;
    cr_assert_eq(tl_wire_decode_syn_query(payload, len, &again, &error), TL_VERSION);
    payload[9] = 1;
    payload[0] = 'X';
    cr_assert_eq(tl_wire_decode_syn_query(payload, len, &again, &error), TL_PROTOCOL);
}

Test(wire_path, syn_report_comes_back)
{
    struct tl_wire_syn_report report = {.saved = true,
                                        .traffic_class = 1,
                                        .ttl = 62,
                                        .tcp_flags = 0xc2,
                                        .options = TL_WIRE_SYN_MSS | TL_WIRE_SYN_WSCALE,
                                        .wscale = 7,
                                        .mss_bytes = 900,
                                        .window = 64240,
                                        .advmss_bytes = 1460,
                                        .snd_mss_bytes = 888,
                                        .pmtu_bytes = 1500,
                                        .negotiated = 7,
                                        .rtt_ns = 40000000,
                                        .address = {[10] = 0xff, [11] = 0xff, [12] = 10},
                                        .port = 4000};
    struct tl_wire_syn_report again;
    memset(&again, 0, sizeof again);
    uint8_t frame[TL_WIRE_FRAME_MAX], payload[64];
    size_t len = tl_wire_encode_syn_report(&report, frame) - TL_WIRE_HEADER_SIZE;
    memcpy(payload, frame + TL_WIRE_HEADER_SIZE, len);
    cr_assert_eq(tl_wire_decode_syn_report(payload, len, &again, NULL), TL_OK);
    uint8_t second[TL_WIRE_FRAME_MAX];
    cr_assert_eq(tl_wire_encode_syn_report(&again, second), len + TL_WIRE_HEADER_SIZE);
    cr_assert_arr_eq(second, frame, len + TL_WIRE_HEADER_SIZE);
    cr_assert(again.saved && again.mss_bytes == 900 && again.wscale == 7 && again.port == 4000);
    payload[0] = 2;
    cr_assert_eq(tl_wire_decode_syn_report(payload, len, &again, NULL), TL_PROTOCOL);
    payload[0] = 1;
    payload[24] = 0x80; /* a time that does not fit */
    cr_assert_eq(tl_wire_decode_syn_report(payload, len, &again, NULL), TL_RANGE);
}

Test(wire_path, datagrams_come_back)
{
    struct tl_wire_udp_path_probe probe = {.cookie = 77,
                                           .sequence = 5,
                                           .client_ns = 9,
                                           .answer_bytes = 1472,
                                           .answer_class = 0xb8,
                                           .answer_ttl = 3};
    struct tl_wire_udp_path_answer answer = {.cookie = 77,
                                             .sequence = 5,
                                             .receive_ns = 1000,
                                             .held_ns = 20,
                                             .probe_bytes = 60,
                                             .answer_bytes = 100,
                                             .ttl_known = true,
                                             .probe_ttl = 61};
    struct tl_wire_udp_path_report report = {.cookie = 77,
                                             .sequence = 5,
                                             .kind = TL_WIRE_UDP_REPORT_ROUTER,
                                             .mtu_bytes = 1400,
                                             .icmp_type = 3,
                                             .icmp_code = 4,
                                             .delay_ns = 123};
    uint8_t bytes[100] = {0};
    tl_wire_seal_udp_path_probe(&probe, bytes, 60);
    struct tl_wire_udp_path_probe probe_again;
    cr_assert_eq(tl_wire_decode_udp_path_probe(bytes, 60, &probe_again, NULL), TL_OK);
    cr_assert_eq(probe_again.answer_bytes, 1472);
    cr_assert_eq(probe_again.answer_ttl, 3);
    cr_assert_eq(probe_again.answer_class, 0xb8);
    bytes[50] ^= 1;
    cr_assert_eq(tl_wire_decode_udp_path_probe(bytes, 60, &probe_again, NULL), TL_PROTOCOL);
    tl_wire_seal_udp_path_answer(&answer, bytes, 100);
    struct tl_wire_udp_path_answer answer_again;
    cr_assert_eq(tl_wire_decode_udp_path_answer(bytes, 100, &answer_again, NULL), TL_OK);
    cr_assert(answer_again.ttl_known && !answer_again.class_known && answer_again.probe_ttl == 61);
    cr_assert_eq(tl_wire_decode_udp_path_answer(bytes, 99, &answer_again, NULL), TL_PROTOCOL);
    uint64_t cookie, sent_ns;
    uint32_t sequence;
    cr_assert(tl_wire_udp_path_quote(bytes, 48, &cookie, &sequence, &sent_ns));
    cr_assert(cookie == 77 && sequence == 5 && sent_ns == 1020);
    cr_assert(tl_wire_udp_path_quote(bytes, 20, &cookie, &sequence, &sent_ns));
    cr_assert_eq(sent_ns, 0, "a time that was cut off is not known");
    cr_assert_not(tl_wire_udp_path_quote(bytes, 19, &cookie, &sequence, &sent_ns));
    tl_wire_seal_udp_path_report(&report, bytes);
    struct tl_wire_udp_path_report report_again;
    cr_assert_eq(
        tl_wire_decode_udp_path_report(bytes, TL_WIRE_UDP_REPORT_SIZE, &report_again, NULL), TL_OK);
    cr_assert(report_again.mtu_bytes == 1400 && report_again.delay_ns == 123 &&
              report_again.icmp_code == 4);
    cr_assert_eq(tl_wire_decode_udp_path_report(bytes, 63, &report_again, NULL), TL_PROTOCOL);
}

Test(wire_path, a_probe_asks_for_no_impossible_length)
{
    uint8_t bytes[48];
    struct tl_wire_udp_path_probe probe = {.answer_bytes = 9217}, again;
    tl_wire_seal_udp_path_probe(&probe, bytes, sizeof bytes);
    cr_assert_eq(tl_wire_decode_udp_path_probe(bytes, sizeof bytes, &again, NULL), TL_RANGE);
    probe.answer_bytes = 47;
    tl_wire_seal_udp_path_probe(&probe, bytes, sizeof bytes);
    cr_assert_eq(tl_wire_decode_udp_path_probe(bytes, sizeof bytes, &again, NULL), TL_RANGE);
}

/* A SYN of Linux 6.1 to port 5411, as TCP_SAVED_SYN gives it. */
static const uint8_t syn_v4[] = {
    0x45, 0x00, 0x00, 0x3c, 0x8b, 0x6d, 0x40, 0x00, 0x3e, 0x06, 0x98, 0x8b, 0x0a, 0x63, 0x01,
    0x02, 0x0a, 0x63, 0x03, 0x02, 0xc3, 0x9c, 0x15, 0x23, 0x2b, 0xa0, 0x5c, 0x4d, 0x00, 0x00,
    0x00, 0x00, 0xa0, 0x02, 0xfa, 0xf0, 0x17, 0x5a, 0x00, 0x00, 0x02, 0x04, 0x05, 0xb4, 0x04,
    0x02, 0x08, 0x0a, 0x8c, 0x7b, 0x3b, 0x5e, 0x00, 0x00, 0x00, 0x00, 0x01, 0x03, 0x03, 0x07};

Test(path_syn, reads_what_linux_sends)
{
    struct tl_wire_syn_report report = {0};
    cr_assert(path_syn_parse(syn_v4, sizeof syn_v4, &report));
    cr_assert(report.saved);
    cr_assert_eq(report.mss_bytes, 1460);
    cr_assert_eq(report.wscale, 7);
    cr_assert_eq(report.ttl, 62);
    cr_assert_eq(report.tcp_flags, 0x02);
    cr_assert_eq(report.window, 64240);
    cr_assert_eq(report.options,
                 TL_WIRE_SYN_MSS | TL_WIRE_SYN_SACK | TL_WIRE_SYN_TIMESTAMPS | TL_WIRE_SYN_WSCALE);
}

Test(path_syn, reads_ipv6_behind_an_extension)
{
    uint8_t bytes[128] = {0x6b, 0x80, 0, 0, 0, 48, IPPROTO_DSTOPTS, 57};
    bytes[40] = IPPROTO_TCP; /* destination options of 8 bytes */
    memcpy(bytes + 48, syn_v4 + 20, 40);
    struct tl_wire_syn_report report = {0};
    cr_assert(path_syn_parse(bytes, 88, &report));
    cr_assert_eq(report.ttl, 57);
    cr_assert_eq(report.traffic_class, 0xb8);
    cr_assert_eq(report.mss_bytes, 1460);
}

Test(path_syn, what_is_cut_or_lies_is_refused_whole)
{
    for (size_t len = 0; len < sizeof syn_v4; len++) {
        struct tl_wire_syn_report report = {0};
        cr_assert_not(path_syn_parse(syn_v4, len, &report), "%zu bytes", len);
        cr_assert_not(report.saved || report.ttl || report.options);
    }
    uint8_t bytes[sizeof syn_v4];
    struct tl_wire_syn_report report = {0};
    memcpy(bytes, syn_v4, sizeof bytes);
    bytes[41] = 0; /* an option without a length */
    cr_assert_not(path_syn_parse(bytes, sizeof bytes, &report));
    bytes[41] = 40; /* one that leads outside */
    cr_assert_not(path_syn_parse(bytes, sizeof bytes, &report));
}

Test(path_error, a_router_that_quotes_no_payload_is_still_a_router)
{
    union {
        struct cmsghdr align;
        char bytes[256];
    } control = {0};
    uint32_t ee[4] = {90 /* EMSGSIZE */, 0, 1400, 0};
    uint8_t *kind = (uint8_t *)&ee[1];
    kind[0] = 2; /* SO_EE_ORIGIN_ICMP */
    kind[1] = 3; /* destination unreachable */
    kind[2] = 4; /* fragmentation needed */
    struct sockaddr_in offender = {.sin_family = AF_INET};
    memcpy(&offender.sin_addr, "\x0a\x63\x01\x01", 4);
    struct cmsghdr *c = &control.align;
    c->cmsg_level = IPPROTO_IP;
    c->cmsg_type = IP_RECVERR;
    c->cmsg_len = CMSG_LEN(sizeof ee + sizeof offender);
    memcpy(CMSG_DATA(c), ee, sizeof ee);
    memcpy(CMSG_DATA(c) + sizeof ee, &offender, sizeof offender);
    struct msghdr msg = {.msg_control = &control,
                         .msg_controllen = CMSG_SPACE(sizeof ee + sizeof offender)};
    struct path_error error;
    cr_assert(path_error_parse(&msg, 0, 5, &error));
    cr_assert(error.is_icmp && error.too_big && !error.time_exceeded);
    cr_assert_eq(error.mtu_bytes, 1400);
    cr_assert_eq(error.quote_len, 0);
    cr_assert_eq(error.realtime_ns, 5);
    cr_assert_eq(error.offender.s6_addr[15], 1);
    msg.msg_controllen = 0;
    cr_assert_not(path_error_parse(&msg, 0, 5, &error), "no report without its control message");
}
