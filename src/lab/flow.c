/* Reading 5-tuples (RFC 791, 8200, 9293, 768) and the table of them; see flow.h. */
#include "flow.h"

#include <netinet/in.h>
#include <string.h>

/* Places that one connection may take; a short walk keeps a full table fast. */
#define PROBES 8

/* A finaliser that spreads every bit (Steele, Lea, Flood 2014: SplitMix64). */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t hash_bytes(uint64_t hash, const unsigned char *bytes, size_t len)
{
    for (size_t at = 0; at < len; at += 4) { /* addresses are 4 or 16 bytes */
        uint32_t word;
        memcpy(&word, bytes + at, sizeof word);
        hash = mix(hash + word);
    }
    return hash;
}

static uint16_t read_16(const unsigned char *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

struct tl_lab_flow tl_lab_flow_read(const unsigned char *packet, size_t len,
                                    enum tl_lab_direction direction)
{
    struct tl_lab_flow flow = {0};
    size_t head, address_at, address_len;
    uint8_t protocol;
    bool fragment = false;
    if (len >= 20 && packet[0] >> 4 == 4) {
        head = (size_t)(packet[0] & 0x0f) * 4;
        address_at = 12;
        address_len = 4;
        protocol = packet[9];
        fragment = (read_16(packet + 6) & 0x1fff) != 0; /* no ports in later fragments */
        flow.can_mark = (packet[1] & 3) != 0;
    } else if (len >= 40 && packet[0] >> 4 == 6) {
        head = 40;
        address_at = 8;
        address_len = 16;
        protocol = packet[6];
        flow.can_mark = (packet[1] & 0x30) != 0;
    } else {
        return flow;
    }
    const unsigned char *source = packet + address_at, *target = source + address_len;
    bool up = direction == TL_LAB_UP;
    flow.is_icmp = protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6;
    flow.hash = hash_bytes(protocol, up ? source : target, address_len);
    flow.hash = hash_bytes(flow.hash, up ? target : source, address_len);
    if ((protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) && !fragment && len >= head + 4) {
        uint16_t from = read_16(packet + head), to = read_16(packet + head + 2);
        flow.near_port = up ? from : to;
        flow.hash = mix(flow.hash + ((uint64_t)flow.near_port << 16 | (up ? to : from)));
    }
    flow.hash += flow.hash == 0;
    return flow;
}

struct tl_lab_flow_state *tl_lab_flow_find(struct tl_lab_flow_table *table, uint64_t hash,
                                           const struct tl_lab_link_config *link, int64_t now_ns)
{
    struct tl_lab_flow_state *oldest = NULL;
    for (uint64_t i = 0; i < PROBES; i++) {
        struct tl_lab_flow_state *state = &table->all[(hash + i) % TL_LAB_FLOWS_MAX];
        if (state->hash == hash) {
            state->used_ns = now_ns;
            return state;
        }
        if (!oldest || state->used_ns < oldest->used_ns)
            oldest = state;
    }
    *oldest = (struct tl_lab_flow_state){.hash = hash, .used_ns = now_ns};
    tl_lab_bucket_init(&oldest->policer, link->flow_policer_bps, link->flow_policer_burst_bytes);
    tl_lab_bucket_init(&oldest->shaper, link->flow_shaper_bps, link->flow_shaper_burst_bytes);
    oldest->policer.filled_ns = oldest->shaper.filled_ns = now_ns;
    return oldest;
}
