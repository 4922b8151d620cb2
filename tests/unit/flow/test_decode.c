/* Packets of each link layer down to the TCP segment, cut at every byte. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "build.h"
#include "tightlink/flow/segment.h"

static const struct build_segment sample = {.time_ns = 9,
                                            .from = 1,
                                            .to = 2,
                                            .from_port = 5001,
                                            .to_port = 40000,
                                            .window = 512,
                                            .ip_id = 77,
                                            .seq = 1000,
                                            .ack = 2000,
                                            .payload_bytes = 300,
                                            .flags = 0x18,
                                            .ecn = 3,
                                            .wscale = -1,
                                            .timestamps = true,
                                            .tsval = 11,
                                            .tsecr = 12,
                                            .sack_count = 2,
                                            .sacks = {{5, 6}, {7, 8}}};

static enum tl_decoded decode(const struct tl_buf *frame, size_t captured, uint16_t link_type,
                              struct tl_segment *segment)
{
    static struct tl_decoder decoder;
    tl_decoder_init(&decoder);
    uint8_t *copy = malloc(captured ? captured : 1); /* so that a sanitizer sees its end */
    memcpy(copy, frame->data, captured);
    struct tl_packet packet = {.time_ns = 9,
                               .captured_bytes = (uint32_t)captured,
                               .length_bytes = (uint32_t)frame->len,
                               .data = copy,
                               .link_type = link_type};
    memset(segment, 0xa5, sizeof *segment); /* of another packet: nothing of it may stay */
    enum tl_decoded decoded = tl_decode(&decoder, &packet, segment);
    free(copy);
    return decoded;
}

static void expect_sample(const struct tl_segment *segment)
{
    cr_expect(eq(u16, segment->from_port, 5001));
    cr_expect(eq(u16, segment->to_port, 40000));
    cr_expect(eq(u32, segment->seq, 1000));
    cr_expect(eq(u32, segment->ack, 2000));
    cr_expect(eq(u32, segment->payload_bytes, 300));
    cr_expect(eq(u16, segment->window, 512));
    cr_expect(eq(u8, segment->ecn, 3));
    cr_expect(eq(u32, segment->tsval, 11));
    cr_expect(eq(u32, segment->tsecr, 12));
    cr_expect(eq(u8, segment->sack_count, 2));
    cr_expect(eq(u32, segment->sacks[1].end, 8));
}

/* Whole, then cut at every length: what decodes has the same ports, numbers and payload. */
static void expect_layer(struct tl_buf *frame, uint16_t link_type)
{
    struct tl_segment segment;
    cr_assert(eq(int, decode(frame, frame->len, link_type, &segment), TL_DECODED_TCP));
    expect_sample(&segment);
    for (size_t captured = 0; captured < frame->len; captured++) {
        if (decode(frame, captured, link_type, &segment) != TL_DECODED_TCP)
            continue;
        cr_assert(eq(u32, segment.seq, 1000));
        cr_assert(eq(u32, segment.payload_bytes, 300));
        cr_assert(segment.options_cut || segment.sack_count == 2);
        cr_assert(segment.has_timestamps || (segment.tsval == 0 && segment.tsecr == 0));
    }
    tl_buf_finish(frame);
}

static void expect_wrapped(uint16_t link_type, const char *before)
{
    struct tl_buf frame = TL_BUF_INIT;
    build_bytes(&frame, before);
    build_ip(&frame, &sample);
    expect_layer(&frame, link_type);
}

#define MACS "2 0 0 0 0 1 2 0 0 0 0 2 "

Test(decode, ethernet_vlan_qinq_snap_mpls_pppoe)
{
    expect_wrapped(1, MACS "08 00");
    expect_wrapped(1, MACS "81 00 0 5 08 00");
    expect_wrapped(1, MACS "88 a8 0 5 81 00 0 6 08 00");
    expect_wrapped(1, MACS "1 0 aa aa 3 0 0 0 08 00");
    expect_wrapped(1, MACS "88 47 0 1 0 40 0 2 1 40 ");
    expect_wrapped(1, MACS "88 47 0 2 1 40 0 0 0 0 " MACS "08 00");
    expect_wrapped(1, MACS "88 64 11 0 0 1 1 5a 0 21");
}

Test(decode, cooked_raw_loopback_ppp)
{
    expect_wrapped(113, "0 4 0 1 0 6 2 0 0 0 0 1 0 0 08 00");
    expect_wrapped(276, "08 00 0 0 0 0 0 1 0 1 4 6 2 0 0 0 0 1 0 0");
    expect_wrapped(101, "");
    expect_wrapped(228, "");
    expect_wrapped(0, "2 0 0 0");
    expect_wrapped(108, "0 0 0 2");
    expect_wrapped(9, "ff 3 0 21");
    expect_wrapped(9, "21");
    expect_wrapped(51, "11 0 0 1 1 5a 0 21");
}

/* The outer header is IPv4 with the length of everything behind it. */
static void expect_tunnel(uint8_t protocol, const char *between)
{
    struct tl_buf inner = TL_BUF_INIT, frame = TL_BUF_INIT;
    build_bytes(&inner, between);
    build_ip(&inner, &sample);
    build_bytes(&frame, "45 0");
    build16(&frame, (unsigned)inner.len + 20);
    build_bytes(&frame, "0 1 40 0 40");
    tl_buf_add(&frame, &protocol, 1);
    build_bytes(&frame, "0 0 1 1 1 1 2 2 2 2");
    tl_buf_add(&frame, inner.data, inner.len);
    tl_buf_finish(&inner);
    expect_layer(&frame, 101);
}

Test(decode, tunnels)
{
    expect_tunnel(4, "");
    expect_tunnel(47, "0 0 08 00");
    expect_tunnel(47, "b0 0 08 00 0 0 0 0 1 2 3 4 5 6 7 8");
    expect_tunnel(47, "0 0 65 58 " MACS "08 00");
    expect_tunnel(47, "10 0 88 be 0 0 0 1 1 0 0 0 0 0 0 0 " MACS "08 00");
    expect_tunnel(17, "1 2 12 b5 0 0 0 0 8 0 0 0 0 0 1 0 " MACS "08 00");
    expect_tunnel(17, "1 2 17 c1 0 0 0 0 1 0 65 58 0 0 1 0 9 9 9 9 " MACS "08 00");
}

Test(decode, ipv6_with_extension_headers)
{
    struct tl_buf packet = TL_BUF_INIT, frame = TL_BUF_INIT;
    struct build_segment six = sample;
    six.v6 = true;
    build_ip(&packet, &six);
    build_bytes(&frame, "60 30 0 0");
    build16(&frame, (unsigned)packet.len - 40 + 16 + 8);
    build_bytes(&frame, "0 40");
    tl_buf_add(&frame, packet.data + 8, 32);
    build_bytes(&frame, "2b 0 1 4 0 0 0 0 6 1 4 0 0 0 0 0 0 0 0 0 0 0 0 0");
    tl_buf_add(&frame, packet.data + 40, packet.len - 40);
    tl_buf_finish(&packet);
    expect_layer(&frame, 101);
}

Test(decode, padding_is_no_payload_and_offload_has_no_length)
{
    struct tl_segment segment;
    struct build_segment small = sample;
    struct tl_buf frame = TL_BUF_INIT;
    small.payload_bytes = 0;
    build_ip(&frame, &small);
    build_bytes(&frame, "0 0 0 0 0 0");
    cr_assert(eq(int, decode(&frame, frame.len, 101, &segment), TL_DECODED_TCP));
    cr_expect(eq(u32, segment.payload_bytes, 0));
    frame.data[2] = frame.data[3] = 0;
    cr_assert(eq(int, decode(&frame, frame.len, 101, &segment), TL_DECODED_TCP));
    cr_expect(eq(u32, segment.payload_bytes, 6));
    tl_buf_finish(&frame);
}

/* The second half first: the segment comes once, with its whole length. */
Test(decode, fragments_in_either_order)
{
    struct tl_decoder decoder;
    struct tl_buf whole = TL_BUF_INIT;
    build_ip(&whole, &sample);
    for (int order = 0; order < 2; order++) {
        tl_decoder_init(&decoder);
        struct tl_segment segment = {0};
        enum tl_decoded decoded = TL_DECODED_OTHER;
        for (int i = 0; i < 2; i++) {
            bool first = i == order;
            struct tl_buf piece = TL_BUF_INIT;
            size_t cut = 20 + 80, begin = first ? 20 : cut, end = first ? cut : whole.len;
            tl_buf_add(&piece, whole.data, 20);
            tl_buf_add(&piece, whole.data + begin, end - begin);
            piece.data[2] = (char)(piece.len >> 8);
            piece.data[3] = (char)piece.len;
            piece.data[6] = first ? 0x20 : 0;
            piece.data[7] = first ? 0 : 80 / 8;
            struct tl_packet packet = {.time_ns = 100 + i,
                                       .captured_bytes = (uint32_t)piece.len,
                                       .length_bytes = (uint32_t)piece.len,
                                       .data = (uint8_t *)piece.data,
                                       .link_type = 101};
            decoded = tl_decode(&decoder, &packet, &segment);
            cr_assert(eq(int, decoded, i == 0 ? TL_DECODED_FRAGMENT : TL_DECODED_TCP));
            tl_buf_finish(&piece);
        }
        expect_sample(&segment);
        cr_expect(eq(i64, segment.time_ns, 101));
    }
    tl_buf_finish(&whole);
}

Test(decode, a_router_that_reports_its_mtu)
{
    struct tl_buf frame = TL_BUF_INIT;
    struct tl_segment segment;
    build_bytes(&frame, "45 0 0 38 0 0 0 0 40 1 0 0 0a 0 0 63 0a 0 0 1 3 4 0 0 0 0 5 14");
    struct tl_buf quoted = TL_BUF_INIT;
    build_ip(&quoted, &sample);
    tl_buf_add(&frame, quoted.data, 28);
    tl_buf_finish(&quoted);
    static struct tl_decoder decoder;
    tl_decoder_init(&decoder);
    struct tl_packet packet = {.captured_bytes = (uint32_t)frame.len,
                               .length_bytes = (uint32_t)frame.len,
                               .data = (uint8_t *)frame.data,
                               .link_type = 101};
    cr_assert(eq(int, tl_decode(&decoder, &packet, &segment), TL_DECODED_TOO_BIG));
    char reporter[TL_FLOW_ADDRESS_SIZE];
    tl_flow_address_format(&decoder.too_big.reporter, reporter);
    cr_expect(eq(str, reporter, (char *)"10.0.0.99"));
    cr_expect(eq(u16, decoder.too_big.mtu_bytes, 1300));
    cr_expect(eq(u16, segment.from_port, 5001));
    cr_expect(eq(u32, segment.seq, 1000));
    tl_buf_finish(&frame);
}

Test(decode, endless_nesting_ends)
{
    struct tl_buf frame = TL_BUF_INIT;
    struct tl_segment segment;
    build_bytes(&frame, MACS);
    for (int i = 0; i < 1000; i++)
        build_bytes(&frame, "81 00 0 1");
    build_bytes(&frame, "08 00");
    cr_expect(eq(int, decode(&frame, frame.len, 1, &segment), TL_DECODED_OTHER));
    cr_expect(eq(int, decode(&frame, frame.len, 999, &segment), TL_DECODED_LINK_TYPE));
    tl_buf_finish(&frame);
}
