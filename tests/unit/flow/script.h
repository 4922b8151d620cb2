/* A conversation as a capturing machine sees it, segment by segment, with exact times. */
#ifndef TL_TESTS_FLOW_SCRIPT_H
#define TL_TESTS_FLOW_SCRIPT_H

#include <criterion/criterion.h>
#include <string.h>

#include "tightlink/flow/limits.h"
#include "tightlink/flow/packets.h"

#define MS  INT64_C(1000000)
#define MSS 1448

enum { CLIENT, SERVER };

struct script {
    struct tl_packets *packets;
    int64_t time_ns;
    uint16_t ip_id, client_port;
    uint16_t window; /* that either end announces, unscaled */
};

static inline struct script script_begin(void)
{
    struct script script = {
        .packets = tl_packets_create(), .time_ns = 1000 * MS, .window = 1000, .client_port = 40000};
    cr_assert(script.packets);
    return script;
}

static inline struct tl_segment script_segment(struct script *script, int from, uint8_t flags,
                                               uint32_t seq, uint32_t ack, uint32_t len)
{
    struct tl_segment segment = {.time_ns = script->time_ns,
                                 .flags = flags,
                                 .seq = seq,
                                 .ack = ack,
                                 .payload_bytes = len,
                                 .window = script->window,
                                 .packet_bytes = (uint16_t)(52 + len),
                                 .ttl = 64,
                                 .ip_id = ++script->ip_id,
                                 .checksum = (uint16_t)(seq * 31 + len)};
    segment.from.bytes[15] = from == CLIENT ? 1 : 2;
    segment.to.bytes[15] = from == CLIENT ? 2 : 1;
    segment.from_port = from == CLIENT ? script->client_port : 443;
    segment.to_port = from == CLIENT ? 443 : script->client_port;
    return segment;
}

static inline void script_add(struct script *script, const struct tl_segment *segment)
{
    cr_assert_eq(tl_packets_add(script->packets, segment, tl_packets_hash(segment)), TL_OK);
}

static inline void script_send(struct script *script, int from, uint32_t seq, uint32_t ack,
                               uint32_t len)
{
    struct tl_segment segment = script_segment(script, from, TL_TCP_ACK, seq, ack, len);
    script_add(script, &segment);
}

/* SYN, SYN-ACK, ACK: 0, client's part and server's part of the round trip behind one another. Both
 * number from 1000; MSS 1460, window scale 7, SACK, no timestamps. */
static inline void script_shake(struct script *script, int64_t to_client_ns, int64_t to_server_ns)
{
    for (int from = CLIENT; from <= SERVER; from++) {
        struct tl_segment syn =
            script_segment(script, from, from == CLIENT ? TL_TCP_SYN : TL_TCP_SYN | TL_TCP_ACK, 999,
                           from == CLIENT ? 0 : 1000, 0);
        syn.has_mss = syn.has_wscale = syn.sack_permitted = true;
        syn.mss_bytes = MSS;
        syn.wscale = 7;
        script_add(script, &syn);
        script->time_ns += from == CLIENT ? to_server_ns : to_client_ns;
    }
    script_send(script, CLIENT, 1000, 1000, 0);
}

static inline const struct tl_packet_flow *script_end(struct script *script)
{
    struct tl_packet_brief brief;
    tl_packets_finish(script->packets);
    cr_assert(tl_packets_at(script->packets, 0, &brief));
    cr_assert(brief.flow);
    return brief.flow;
}

#endif
