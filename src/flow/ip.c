/* IP: both versions, extension headers, fragments, and what tunnels carry. */
#include "decode_private.h"

#include <netinet/in.h>
#include <string.h>

#define VXLAN_PORT  4789
#define GENEVE_PORT 6081

/* --- Fragments ------------------------------------------------------------------------------
 *
 * The TCP header is in the first fragment, the length follows from the last one: the segment is
 * told once both were seen, in whatever order. */

static struct tl_fragment *find_fragment(struct tl_decoder *decoder, uint32_t id,
                                         const struct tl_segment *segment)
{
    for (unsigned i = 0; i < TL_DECODER_FRAGMENTS; i++) {
        struct tl_fragment *fragment = &decoder->fragments[i];
        if (fragment->used && fragment->id == id &&
            memcmp(&fragment->segment.from, &segment->from, sizeof segment->from) == 0 &&
            memcmp(&fragment->segment.to, &segment->to, sizeof segment->to) == 0)
            return fragment;
    }
    struct tl_fragment *fragment =
        &decoder->fragments[decoder->next_fragment++ % TL_DECODER_FRAGMENTS];
    *fragment = (struct tl_fragment){.used = true, .id = id, .segment = *segment};
    return fragment;
}

static enum tl_decoded decode_fragment(struct decode *decode, uint8_t protocol, uint32_t id,
                                       size_t offset, bool more, size_t payload_bytes)
{
    if (protocol != IPPROTO_TCP)
        return TL_DECODED_OTHER_IP;
    struct tl_fragment *fragment = find_fragment(decode->decoder, id, decode->segment);
    if (offset == 0) {
        uint32_t head_bytes;
        enum tl_decoded decoded = decode_tcp(decode, payload_bytes, &head_bytes);
        if (decoded != TL_DECODED_TCP)
            return decoded;
        fragment->has_first = true;
        fragment->head_bytes = head_bytes;
        fragment->segment = *decode->segment;
    }
    if (!more) {
        fragment->has_last = true;
        fragment->total_bytes = (uint32_t)(offset + payload_bytes);
    }
    if (!fragment->has_first || !fragment->has_last)
        return TL_DECODED_FRAGMENT;
    int64_t time_ns = decode->segment->time_ns;
    *decode->segment = fragment->segment;
    decode->segment->time_ns = time_ns;
    decode->segment->payload_bytes = fragment->total_bytes > fragment->head_bytes
                                         ? fragment->total_bytes - fragment->head_bytes
                                         : 0;
    fragment->used = false;
    return TL_DECODED_TCP;
}

/* --- Tunnels -------------------------------------------------------------------------------- */

static enum tl_decoded enter_tunnel(struct decode *decode, uint16_t ether_type)
{
    decode->inner = ether_type;
    return TL_DECODED_OTHER_IP;
}

/* RFC 2784 and 2890; version 1 (PPTP) carries PPP, which is mostly compressed: not read. */
static enum tl_decoded decode_gre(struct decode *decode)
{
    const uint8_t *head = cursor_take(&decode->cursor, 4);
    if (!head)
        return TL_DECODED_CUT;
    uint16_t flags = load16(head), type = load16(head + 2);
    if ((flags & 7) != 0 || (flags & 0x4000))
        return TL_DECODED_OTHER_IP;
    size_t more = (flags & 0x8000 ? 4 : 0) + (flags & 0x2000 ? 4 : 0) + (flags & 0x1000 ? 4 : 0);
    if (!cursor_take(&decode->cursor, more))
        return TL_DECODED_CUT;
    if (type == 0x88be && !(flags & 0x1000)) /* ERSPAN type I has no header of its own */
        type = ETHER_BRIDGED;
    return enter_tunnel(decode, type);
}

static enum tl_decoded decode_udp(struct decode *decode)
{
    const uint8_t *head = cursor_take(&decode->cursor, 8);
    if (!head)
        return TL_DECODED_CUT;
    uint16_t port = load16(head + 2);
    if (port == VXLAN_PORT) /* RFC 7348 */
        return cursor_take(&decode->cursor, 8) ? enter_tunnel(decode, ETHER_BRIDGED)
                                               : TL_DECODED_CUT;
    if (port != GENEVE_PORT)
        return TL_DECODED_OTHER_IP;
    const uint8_t *geneve = cursor_take(&decode->cursor, 8); /* RFC 8926 */
    if (!geneve || !cursor_take(&decode->cursor, (size_t)(geneve[0] & 0x3f) * 4))
        return TL_DECODED_CUT;
    return enter_tunnel(decode, load16(geneve + 2));
}

/* What IP carries. payload_bytes is its length by the IP header. */
static enum tl_decoded decode_transport(struct decode *decode, uint8_t protocol,
                                        size_t payload_bytes)
{
    uint32_t head_bytes;
    switch (protocol) {
    case IPPROTO_TCP:
        return decode_tcp(decode, payload_bytes, &head_bytes);
    case IPPROTO_IPIP:
    case IPPROTO_IPV6:
        return decode_ip(decode);
    case IPPROTO_GRE:
        return decode_gre(decode);
    case IPPROTO_UDP:
        return decode_udp(decode);
    case IPPROTO_ICMP:
        return decode_icmp(decode, false);
    case IPPROTO_ICMPV6:
        return decode_icmp(decode, true);
    }
    return TL_DECODED_OTHER_IP;
}

/* --- IP ------------------------------------------------------------------------------------- */

/* What follows the IP packet (padding, a frame check sum) does not belong to it. */
static void end_packet(struct decode *decode, size_t payload_bytes)
{
    size_t left = cursor_left(&decode->cursor);
    if (left >= payload_bytes) {
        decode->cursor.end = decode->cursor.at + payload_bytes;
        decode->cut_bytes = 0;
    } else {
        decode->cut_bytes = (uint32_t)(payload_bytes - left);
    }
}

static enum tl_decoded decode_v4(struct decode *decode)
{
    const uint8_t *head = cursor_peek(&decode->cursor, 20);
    if (!head)
        return TL_DECODED_CUT;
    size_t head_bytes = (size_t)(head[0] & 15) * 4, total = load16(head + 2);
    if (total == 0) /* segmentation offload: the driver fills it in */
        total = decode_left(decode);
    if (head_bytes < 20 || total < head_bytes || !cursor_take(&decode->cursor, head_bytes))
        return TL_DECODED_CUT;
    struct tl_segment *segment = decode->segment;
    uint16_t fragment = load16(head + 6);
    size_t payload_bytes = total - head_bytes;
    segment->packet_bytes = (uint16_t)(total > UINT16_MAX ? UINT16_MAX : total);
    segment->ecn = head[1] & 3;
    segment->ip_id = load16(head + 4);
    segment->ttl = head[8];
    segment->dont_fragment = fragment & 0x4000;
    address_from_v4(&segment->from, head + 12);
    address_from_v4(&segment->to, head + 16);
    end_packet(decode, payload_bytes);
    if (fragment & 0x3fff)
        return decode_fragment(decode, head[9], segment->ip_id, (size_t)(fragment & 0x1fff) * 8,
                               fragment & 0x2000, payload_bytes);
    return decode_transport(decode, head[9], payload_bytes);
}

enum {
    NEXT_HOP_BY_HOP = 0,
    NEXT_ROUTING = 43,
    NEXT_FRAGMENT = 44,
    NEXT_AUTHENTICATION = 51,
    NEXT_DESTINATION = 60,
    NEXT_MOBILITY = 135,
    NEXT_HIP = 139,
    NEXT_SHIM6 = 140,
    EXTENSIONS_MAX = 16,
};

/* Passes over extension headers up to the transport or a fragment header (RFC 8200). False where
 * one is cut. */
static bool skip_extensions(struct cursor *cursor, uint8_t *next)
{
    for (int i = 0; i < EXTENSIONS_MAX; i++) {
        bool authentication = *next == NEXT_AUTHENTICATION;
        if (*next != NEXT_HOP_BY_HOP && *next != NEXT_ROUTING && *next != NEXT_DESTINATION &&
            *next != NEXT_MOBILITY && *next != NEXT_HIP && *next != NEXT_SHIM6 && !authentication)
            return true;
        const uint8_t *head = cursor_peek(cursor, 2);
        if (!head)
            return false;
        size_t len = authentication ? ((size_t)head[1] + 2) * 4 : ((size_t)head[1] + 1) * 8;
        *next = head[0];
        if (!cursor_take(cursor, len))
            return false;
    }
    return false;
}

static enum tl_decoded decode_v6(struct decode *decode)
{
    const uint8_t *head = cursor_take(&decode->cursor, 40);
    if (!head)
        return TL_DECODED_CUT;
    struct tl_segment *segment = decode->segment;
    size_t payload_bytes = load16(head + 4);
    uint8_t next = head[6];
    if (payload_bytes == 0) /* a jumbogram, or segmentation offload */
        payload_bytes = decode_left(decode);
    segment->packet_bytes =
        (uint16_t)(payload_bytes + 40 > UINT16_MAX ? UINT16_MAX : payload_bytes + 40);
    segment->ecn = head[1] >> 4 & 3;
    segment->ip_id = 0;
    segment->ttl = head[7];
    segment->dont_fragment = true;
    memcpy(segment->from.bytes, head + 8, 16);
    memcpy(segment->to.bytes, head + 24, 16);
    end_packet(decode, payload_bytes);
    const uint8_t *begin = decode->cursor.at;
    if (!skip_extensions(&decode->cursor, &next))
        return TL_DECODED_CUT;
    const uint8_t *fragment = NULL;
    if (next == NEXT_FRAGMENT) {
        fragment = cursor_take(&decode->cursor, 8);
        if (!fragment)
            return TL_DECODED_CUT;
        next = fragment[0];
    }
    payload_bytes -= (size_t)(decode->cursor.at - begin);
    if (fragment && load16(fragment + 2) & 0xfff9)
        return decode_fragment(decode, next, load32(fragment + 4), load16(fragment + 2) & 0xfff8,
                               fragment[3] & 1, payload_bytes);
    return decode_transport(decode, next, payload_bytes);
}

enum tl_decoded decode_ip(struct decode *decode)
{
    const uint8_t *first = cursor_peek(&decode->cursor, 1);
    if (!first)
        return TL_DECODED_CUT;
    if (++decode->depth > DECODE_DEPTH_MAX)
        return TL_DECODED_OTHER;
    return *first >> 4 == 4   ? decode_v4(decode)
           : *first >> 4 == 6 ? decode_v6(decode)
                              : TL_DECODED_OTHER;
}
