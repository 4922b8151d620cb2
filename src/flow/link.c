/* Link layers: from the first captured byte to the IP header. */
#include "decode_private.h"

#include <sys/socket.h>

/* tcpdump.org/linktypes.html */
enum {
    LINK_NULL = 0,
    LINK_ETHERNET = 1,
    LINK_PPP = 9,
    LINK_RAW_BSD = 12, /* DLT_RAW of BSD, as some programs write it */
    LINK_RAW_OPENBSD = 14,
    LINK_PPP_HDLC = 50,
    LINK_PPP_ETHER = 51,
    LINK_RAW = 101,
    LINK_C_HDLC = 104,
    LINK_LOOP = 108,
    LINK_COOKED = 113,
    LINK_IPV4 = 228,
    LINK_IPV6 = 229,
    LINK_COOKED2 = 276,
};

enum {
    ETHER_IPV4 = 0x0800,
    ETHER_VLAN = 0x8100,
    ETHER_IPV6 = 0x86dd,
    ETHER_MPLS = 0x8847,
    ETHER_MPLS_MULTI = 0x8848,
    ETHER_PPPOE = 0x8864,
    ETHER_QINQ = 0x88a8,
    ETHER_ERSPAN2 = 0x88be,
    ETHER_ERSPAN3 = 0x22eb,
    ETHER_QINQ_OLD = 0x9100,
    ETHER_QINQ_OLDER = 0x9200,
    ETHER_LENGTH_MAX = 1500, /* up to here it is a length (IEEE 802.3) */
};

enum { PPP_IPV4 = 0x21, PPP_IPV6 = 0x57, PPP_MPLS = 0x281 };

static enum tl_decoded decode_ether_type(struct decode *decode, uint16_t ether_type);

static enum tl_decoded skip_to_ether_type(struct decode *decode, size_t skip)
{
    const uint8_t *bytes = cursor_take(&decode->cursor, skip + 2);
    return bytes ? decode_ether_type(decode, load16(bytes + skip)) : TL_DECODED_CUT;
}

static enum tl_decoded decode_ether(struct decode *decode)
{
    return skip_to_ether_type(decode, 12);
}

/* LLC with SNAP (IEEE 802.2): aa aa 03, organization 0, then an Ethernet type. */
static enum tl_decoded decode_llc(struct decode *decode)
{
    const uint8_t *bytes = cursor_peek(&decode->cursor, 6);
    if (!bytes)
        return TL_DECODED_CUT;
    if (bytes[0] != 0xaa || bytes[1] != 0xaa || bytes[2] != 3)
        return TL_DECODED_OTHER;
    return skip_to_ether_type(decode, 6);
}

/* Below the bottom label stands IP, or a pseudowire with Ethernet in it (RFC 4448), of which the
 * first four bits are 0. */
static enum tl_decoded decode_mpls(struct decode *decode)
{
    const uint8_t *label;
    do {
        label = cursor_take(&decode->cursor, 4);
        if (!label)
            return TL_DECODED_CUT;
    } while (!(label[2] & 1));
    const uint8_t *first = cursor_peek(&decode->cursor, 1);
    if (!first)
        return TL_DECODED_CUT;
    if (*first >> 4 == 4 || *first >> 4 == 6)
        return decode_ip(decode);
    if (*first >> 4 != 0 || !cursor_take(&decode->cursor, 4))
        return TL_DECODED_OTHER;
    return decode_ether(decode);
}

static enum tl_decoded decode_ppp(struct decode *decode)
{
    const uint8_t *bytes = cursor_peek(&decode->cursor, 2);
    if (bytes && bytes[0] == 0xff && bytes[1] == 3) { /* address and control, RFC 1662 */
        (void)cursor_take(&decode->cursor, 2);
    }
    bytes = cursor_take(&decode->cursor, 1);
    if (!bytes)
        return TL_DECODED_CUT;
    unsigned protocol = *bytes;
    if (!(protocol & 1)) { /* not compressed to one byte */
        bytes = cursor_take(&decode->cursor, 1);
        if (!bytes)
            return TL_DECODED_CUT;
        protocol = protocol << 8 | *bytes;
    }
    if (protocol == PPP_MPLS)
        return decode_mpls(decode);
    return protocol == PPP_IPV4 || protocol == PPP_IPV6 ? decode_ip(decode) : TL_DECODED_OTHER;
}

/* RFC 2516: version and type, code, session, length. */
static enum tl_decoded decode_pppoe(struct decode *decode)
{
    return cursor_take(&decode->cursor, 6) ? decode_ppp(decode) : TL_DECODED_CUT;
}

/* draft-foschiano-erspan: type II has a header of 8 bytes, type III of 12 and perhaps 8 more. */
static enum tl_decoded decode_erspan(struct decode *decode, bool third)
{
    const uint8_t *head = cursor_take(&decode->cursor, third ? 12 : 8);
    if (!head || (third && (head[11] & 1) && !cursor_take(&decode->cursor, 8)))
        return TL_DECODED_CUT;
    return decode_ether(decode);
}

static enum tl_decoded decode_ether_type(struct decode *decode, uint16_t ether_type)
{
    if (++decode->depth > DECODE_DEPTH_MAX)
        return TL_DECODED_OTHER;
    switch (ether_type) {
    case ETHER_IPV4:
    case ETHER_IPV6:
        return decode_ip(decode);
    case ETHER_VLAN:
    case ETHER_QINQ:
    case ETHER_QINQ_OLD:
    case ETHER_QINQ_OLDER:
        return skip_to_ether_type(decode, 2);
    case ETHER_MPLS:
    case ETHER_MPLS_MULTI:
        return decode_mpls(decode);
    case ETHER_PPPOE:
        return decode_pppoe(decode);
    case ETHER_BRIDGED:
        return decode_ether(decode);
    case ETHER_ERSPAN2:
    case ETHER_ERSPAN3:
        return decode_erspan(decode, ether_type == ETHER_ERSPAN3);
    }
    return ether_type <= ETHER_LENGTH_MAX ? decode_llc(decode) : TL_DECODED_OTHER;
}

/* The address family of the system that captured, in its byte order; all call IPv4 2. */
static enum tl_decoded decode_loopback(struct decode *decode)
{
    const uint8_t *bytes = cursor_take(&decode->cursor, 4);
    if (!bytes)
        return TL_DECODED_CUT;
    uint32_t family = load32(bytes);
    if (family > 0xffff)
        family = __builtin_bswap32(family);
    bool v6 = family == AF_INET6 || family == 24 || family == 28 || family == 30;
    return family == AF_INET || v6 ? decode_ip(decode) : TL_DECODED_OTHER;
}

static enum tl_decoded decode_cooked2(struct decode *decode)
{
    const uint8_t *head = cursor_take(&decode->cursor, 20);
    return head ? decode_ether_type(decode, load16(head)) : TL_DECODED_CUT;
}

static enum tl_decoded decode_outermost(struct decode *decode, uint16_t link_type)
{
    switch (link_type) {
    case LINK_ETHERNET:
        return decode_ether(decode);
    case LINK_COOKED:
        return skip_to_ether_type(decode, 14);
    case LINK_COOKED2:
        return decode_cooked2(decode);
    case LINK_RAW:
    case LINK_RAW_BSD:
    case LINK_RAW_OPENBSD:
    case LINK_IPV4:
    case LINK_IPV6:
        return decode_ip(decode);
    case LINK_NULL:
    case LINK_LOOP:
        return decode_loopback(decode);
    case LINK_PPP:
    case LINK_PPP_HDLC:
        return decode_ppp(decode);
    case LINK_PPP_ETHER:
        return decode_pppoe(decode);
    case LINK_C_HDLC:
        return skip_to_ether_type(decode, 2);
    }
    return TL_DECODED_LINK_TYPE;
}

enum tl_decoded decode_link(struct decode *decode, uint16_t link_type)
{
    enum tl_decoded decoded = decode_outermost(decode, link_type);
    while (decode->inner != 0) {
        uint16_t ether_type = decode->inner;
        decode->inner = 0;
        decoded = decode_ether_type(decode, ether_type);
    }
    return decoded;
}
