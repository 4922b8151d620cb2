/* The layers of a packet, each in its file. Private to src/flow. */
#ifndef TL_FLOW_DECODE_PRIVATE_H
#define TL_FLOW_DECODE_PRIVATE_H

#include "cursor.h"
#include "tightlink/flow/segment.h"

#define DECODE_DEPTH_MAX 8

#define ETHER_BRIDGED 0x6558 /* transparent Ethernet bridging, in GRE and Geneve */

/* One packet on its way through the layers. */
struct decode {
    struct tl_decoder *decoder;
    struct cursor cursor; /* over what was captured */
    uint32_t cut_bytes;   /* of the packet behind the cursor's end that were not captured */
    unsigned depth;
    uint16_t inner; /* Ethernet type of what stands at the cursor in a tunnel; 0: no tunnel */
    struct tl_segment *segment;
};

/* Bytes that the packet had on the wire from the cursor on. */
static inline size_t decode_left(const struct decode *decode)
{
    return cursor_left(&decode->cursor) + decode->cut_bytes;
}

void address_from_v4(struct tl_flow_address *address, const uint8_t *bytes);

/* All layers; those in tunnels, which decode_ip() stops at, as well. */
enum tl_decoded decode_link(struct decode *decode, uint16_t link_type);
/* IPv4 or IPv6, by its first four bits. Where it is a tunnel, decode->inner tells what comes. */
enum tl_decoded decode_ip(struct decode *decode);
enum tl_decoded decode_tcp(struct decode *decode, size_t payload_bytes, uint32_t *ret_head_bytes);
enum tl_decoded decode_icmp(struct decode *decode, bool v6);

#endif
