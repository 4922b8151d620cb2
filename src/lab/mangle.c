/* Header changes; see mangle.h. Checksum updates after RFC 1624, equation 3. */
#include "mangle.h"

#include <netinet/in.h>

#define OPTION_END        0 /* option kinds of RFC 9293 3.1, 7323, 2018 */
#define OPTION_NOP        1
#define OPTION_MSS        2
#define OPTION_WSCALE     3
#define OPTION_SACK       4
#define OPTION_TIMESTAMPS 8

#define TCP_FLAG_SYN 0x02

bool tl_lab_mangles(const struct tl_lab_link_config *link)
{
    return link->mss_max_bytes > 0 || link->clamp_bytes > 0 || link->strip || link->dscp_set;
}

static uint16_t read_16(const unsigned char *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static void write_16(unsigned char *bytes, uint16_t value)
{
    bytes[0] = (unsigned char)(value >> 8);
    bytes[1] = (unsigned char)value;
}

static uint16_t fold(uint32_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

/* The checksum after one 16-bit word at an even place changed. */
static void update_checksum(unsigned char *checksum, uint16_t before, uint16_t after)
{
    uint32_t sum = (uint32_t)(uint16_t)~read_16(checksum) + (uint16_t)~before + after;
    write_16(checksum, (uint16_t)~fold(sum));
}

static void set_dscp(unsigned char *packet, int32_t dscp)
{
    uint16_t before = read_16(packet);
    if (packet[0] >> 4 == 4) {
        packet[1] = (unsigned char)(dscp << 2 | (packet[1] & 3));
        update_checksum(packet + 10, before, read_16(packet));
    } else { /* the class lies across two bytes and under no checksum */
        unsigned class = (unsigned)dscp << 2 | ((before >> 4) & 3);
        write_16(packet, (uint16_t)((before & 0xf00f) | class << 4));
    }
}

/* One byte of a segment, with its checksum. */
static void set_byte(unsigned char *tcp, size_t at, unsigned char value)
{
    size_t word = at & ~(size_t)1;
    uint16_t before = read_16(tcp + word);
    tcp[at] = value;
    update_checksum(tcp + 16, before, read_16(tcp + word));
}

static uint32_t strip_bit(unsigned char kind)
{
    return kind == OPTION_WSCALE       ? TL_LAB_STRIP_WSCALE
           : kind == OPTION_SACK       ? TL_LAB_STRIP_SACK
           : kind == OPTION_TIMESTAMPS ? TL_LAB_STRIP_TIMESTAMPS
           : kind == OPTION_MSS        ? TL_LAB_STRIP_MSS
                                       : 0;
}

static void change_option(unsigned char *tcp, size_t at, size_t size, int32_t mss_max,
                          const struct tl_lab_link_config *link)
{
    unsigned char kind = tcp[at];
    if (link->strip & strip_bit(kind)) {
        for (size_t i = 0; i < size; i++)
            set_byte(tcp, at + i, OPTION_NOP);
    } else if (kind == OPTION_MSS && size == 4 && read_16(tcp + at + 2) > mss_max) {
        set_byte(tcp, at + 2, (unsigned char)(mss_max >> 8));
        set_byte(tcp, at + 3, (unsigned char)mss_max);
    }
}

/* The options of a SYN segment. All of them fit into the segment. */
static void change_syn(unsigned char *tcp, size_t header_bytes, int32_t mss_max,
                       const struct tl_lab_link_config *link)
{
    for (size_t at = 20; at < header_bytes && tcp[at] != OPTION_END;) {
        if (tcp[at] == OPTION_NOP) {
            at++;
            continue;
        }
        size_t size = at + 1 < header_bytes ? tcp[at + 1] : 0;
        if (size < 2 || at + size > header_bytes)
            return;
        change_option(tcp, at, size, mss_max, link);
        at += size;
    }
}

/* Where the payload of IP begins and what it is; false when it cannot be told. */
static bool find_transport(const unsigned char *packet, size_t len, size_t *ret_at,
                           uint8_t *ret_protocol)
{
    if (len >= 20 && packet[0] >> 4 == 4) {
        *ret_at = (size_t)(packet[0] & 0x0f) * 4;
        *ret_protocol = packet[9];
        return *ret_at >= 20 && *ret_at <= len && (read_16(packet + 6) & 0x1fff) == 0;
    }
    *ret_at = 40;
    *ret_protocol = len >= 40 ? packet[6] : 0;
    return len >= 40 && packet[0] >> 4 == 6;
}

/* The largest MSS that may stand in a SYN: as configured, and what fits behind the headers of
 * IP and TCP without options (RFC 6691). */
static int32_t mss_limit(const unsigned char *packet, const struct tl_lab_link_config *link)
{
    int32_t limit = link->mss_max_bytes > 0 ? link->mss_max_bytes : UINT16_MAX;
    int32_t fitting = link->clamp_bytes - (packet[0] >> 4 == 4 ? 40 : 60);
    return link->clamp_bytes > 0 && fitting < limit ? fitting : limit;
}

void tl_lab_mangle_mark(unsigned char *packet, size_t len)
{
    if (len >= 20 && packet[0] >> 4 == 4) {
        uint16_t before = read_16(packet);
        packet[1] |= 3;
        update_checksum(packet + 10, before, read_16(packet));
    } else if (len >= 40) {
        packet[1] |= 0x30;
    }
}

void tl_lab_mangle(unsigned char *packet, size_t len, const struct tl_lab_link_config *link)
{
    size_t at;
    uint8_t protocol;
    if (!find_transport(packet, len, &at, &protocol))
        return;
    if (link->dscp_set)
        set_dscp(packet, link->dscp);
    if (protocol != IPPROTO_TCP || len < at + 20 || !(packet[at + 13] & TCP_FLAG_SYN))
        return;
    size_t header_bytes = (size_t)(packet[at + 12] >> 4) * 4;
    if (header_bytes >= 20 && at + header_bytes <= len)
        change_syn(packet + at, header_bytes, mss_limit(packet, link), link);
}

static uint32_t add_words(uint32_t sum, const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i + 1 < len; i += 2)
        sum = fold(sum + read_16(bytes + i));
    return len % 2 ? sum + ((uint32_t)bytes[len - 1] << 8) : sum;
}

void tl_lab_mangle_checksum(unsigned char *packet, size_t len)
{
    size_t at, place;
    uint8_t protocol;
    if (!find_transport(packet, len, &at, &protocol))
        return;
    place = protocol == IPPROTO_TCP ? 16 : protocol == IPPROTO_UDP ? 6 : 0;
    if (place == 0 || len < at + place + 2)
        return;
    bool v4 = packet[0] >> 4 == 4;
    write_16(packet + at + place, 0);
    uint32_t sum = protocol + (uint32_t)(len - at);
    sum = add_words(sum, packet + (v4 ? 12 : 8), v4 ? 8 : 32); /* addresses of the pseudo header */
    uint16_t checksum = (uint16_t)~fold(add_words(sum, packet + at, len - at));
    /* RFC 768: a sum of zero is sent as ones. */
    write_16(packet + at + place, checksum == 0 && protocol == IPPROTO_UDP ? 0xffff : checksum);
}
