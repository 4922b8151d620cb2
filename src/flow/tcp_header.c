/* The TCP header and its options; a segment that a router quotes in an ICMP error. */
#include "decode_private.h"

#include <netinet/in.h>
#include <string.h>

#define TCP_HEADER_BYTES 20
#define TCP_PORTS_BYTES  8 /* ports and sequence number: what an ICMP error quotes at least */

enum {
    OPTION_END = 0,
    OPTION_NOP = 1,
    OPTION_MSS = 2,
    OPTION_WSCALE = 3,
    OPTION_SACK_PERMITTED = 4,
    OPTION_SACK = 5,
    OPTION_TIMESTAMPS = 8,
};

static void read_sacks(struct tl_segment *segment, const uint8_t *value, size_t len)
{
    for (size_t at = 0; at + 8 <= len && segment->sack_count < TL_SEGMENT_SACKS_MAX; at += 8) {
        segment->sacks[segment->sack_count].begin = load32(value + at);
        segment->sacks[segment->sack_count++].end = load32(value + at + 4);
    }
}

static void read_option(struct tl_segment *segment, uint8_t kind, const uint8_t *value, size_t len)
{
    switch (kind) {
    case OPTION_MSS:
        if (len == 2) {
            segment->has_mss = true;
            segment->mss_bytes = load16(value);
        }
        break;
    case OPTION_WSCALE:
        if (len == 1) {
            segment->has_wscale = true;
            segment->wscale = value[0] > 14 ? 14 : value[0]; /* RFC 7323, section 2.3 */
        }
        break;
    case OPTION_SACK_PERMITTED:
        segment->sack_permitted = true;
        break;
    case OPTION_SACK:
        read_sacks(segment, value, len);
        break;
    case OPTION_TIMESTAMPS:
        if (len == 8) {
            segment->has_timestamps = true;
            segment->tsval = load32(value);
            segment->tsecr = load32(value + 4);
        }
        break;
    }
}

/* Up to the end of the options, or to where they are cut or broken. */
static void read_options(struct tl_segment *segment, struct cursor options)
{
    while (options.at < options.end) {
        uint8_t kind = *options.at++;
        if (kind == OPTION_NOP)
            continue;
        if (kind == OPTION_END)
            return;
        const uint8_t *len = cursor_take(&options, 1);
        const uint8_t *value = len && *len >= 2 ? cursor_take(&options, *len - 2u) : NULL;
        if (!value)
            return;
        read_option(segment, kind, value, *len - 2u);
    }
}

static inline void clear_options(struct tl_segment *segment)
{
    segment->sack_count = 0;
    segment->options_cut = segment->has_timestamps = segment->has_mss = false;
    segment->has_wscale = segment->sack_permitted = false;
    segment->wscale = 0;
    segment->mss_bytes = 0;
    segment->tsval = segment->tsecr = 0;
}

enum tl_decoded decode_tcp(struct decode *decode, size_t payload_bytes, uint32_t *ret_head_bytes)
{
    struct tl_segment *segment = decode->segment;
    const uint8_t *head = cursor_take(&decode->cursor, TCP_HEADER_BYTES);
    if (!head)
        return TL_DECODED_CUT;
    size_t head_bytes = (size_t)(head[12] >> 4) * 4;
    if (head_bytes < TCP_HEADER_BYTES || head_bytes > payload_bytes)
        return TL_DECODED_CUT;
    segment->from_port = load16(head);
    segment->to_port = load16(head + 2);
    segment->seq = load32(head + 4);
    segment->ack = load32(head + 8);
    segment->flags = head[13];
    segment->window = load16(head + 14);
    segment->checksum = load16(head + 16);
    segment->payload_bytes = (uint32_t)(payload_bytes - head_bytes);
    *ret_head_bytes = (uint32_t)head_bytes;
    clear_options(segment);
    size_t option_bytes = head_bytes - TCP_HEADER_BYTES;
    if (option_bytes == 0)
        return TL_DECODED_TCP;
    const uint8_t *at = cursor_take(&decode->cursor, option_bytes);
    segment->options_cut = !at;
    /* NOP, NOP, timestamps: what nearly every segment has. */
    if (at && option_bytes == 12 && load32(at) == 0x0101080a) {
        segment->has_timestamps = true;
        segment->tsval = load32(at + 4);
        segment->tsecr = load32(at + 8);
    } else {
        read_options(segment, at ? (struct cursor){at, at + option_bytes} : decode->cursor);
    }
    return TL_DECODED_TCP;
}

/* The packet that did not fit, as the router quotes it: IP header, ports, sequence number. */
static bool read_quoted(struct decode *decode)
{
    struct tl_segment *segment = decode->segment;
    const uint8_t *first = cursor_peek(&decode->cursor, 1);
    bool v6 = first && *first >> 4 == 6;
    const uint8_t *ip = cursor_peek(&decode->cursor, v6 ? 40 : 20);
    if (!ip || (!v6 && *first >> 4 != 4) || ip[v6 ? 6 : 9] != IPPROTO_TCP)
        return false;
    if (!cursor_take(&decode->cursor, v6 ? 40 : (size_t)(ip[0] & 15) * 4))
        return false;
    const uint8_t *ports = cursor_take(&decode->cursor, TCP_PORTS_BYTES);
    if (!ports)
        return false;
    if (v6) {
        memcpy(segment->from.bytes, ip + 8, 16);
        memcpy(segment->to.bytes, ip + 24, 16);
    } else {
        memcpy(segment->from.bytes + 12, ip + 12,
               4); /* the first 12 are the report's: mapped too */
        memcpy(segment->to.bytes + 12, ip + 16, 4);
    }
    segment->from_port = load16(ports);
    segment->to_port = load16(ports + 2);
    segment->seq = load32(ports + 4);
    return true;
}

/* RFC 1191 (type 3, code 4) and RFC 8201 (type 2). */
enum tl_decoded decode_icmp(struct decode *decode, bool v6)
{
    const uint8_t *head = cursor_take(&decode->cursor, 8);
    if (!head)
        return TL_DECODED_CUT;
    bool too_big = v6 ? head[0] == 2 : head[0] == 3 && head[1] == 4;
    struct tl_flow_address reporter = decode->segment->from;
    if (!too_big || v6 == tl_flow_address_is_v4(&reporter) || !read_quoted(decode))
        return TL_DECODED_OTHER_IP;
    uint32_t mtu = v6 ? load32(head + 4) : load16(head + 6);
    decode->decoder->too_big =
        (struct tl_too_big){(uint16_t)(mtu > UINT16_MAX ? UINT16_MAX : mtu), reporter};
    clear_options(decode->segment);
    return TL_DECODED_TOO_BIG;
}
