/* From a captured packet to the TCP segment in it.
 *
 * Link layers: Ethernet with VLAN tags (802.1Q, 802.1ad), SNAP, MPLS, PPPoE; Linux cooked v1 and
 * v2; raw IP; BSD loopback; PPP. On IP: extension headers, fragments, IP in IP, GRE (with Ethernet
 * or ERSPAN inside), VXLAN, Geneve. A snap length may cut the packet anywhere behind the TCP ports:
 * what is missing is marked, nothing is made up. Packets are foreign bytes; each header is taken
 * whole or not at all, and tunnels nest at most 8 deep.
 *
 * A decoder belongs to one thread. */
#ifndef TL_FLOW_SEGMENT_H
#define TL_FLOW_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/flow/capture.h"

struct tl_flow_address {
    uint8_t bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
};

/* "192.0.2.1" or "2001:db8::1". */
#define TL_FLOW_ADDRESS_SIZE 46
void tl_flow_address_format(const struct tl_flow_address *address,
                            char ret_text[TL_FLOW_ADDRESS_SIZE]);
bool tl_flow_address_is_v4(const struct tl_flow_address *address);

/* TCP flags (RFC 9293, section 3.1). */
enum {
    TL_TCP_FIN = 0x01,
    TL_TCP_SYN = 0x02,
    TL_TCP_RST = 0x04,
    TL_TCP_PSH = 0x08,
    TL_TCP_ACK = 0x10,
    TL_TCP_URG = 0x20,
    TL_TCP_ECE = 0x40,
    TL_TCP_CWR = 0x80,
};

#define TL_SEGMENT_SACKS_MAX 4

struct tl_segment {
    int64_t time_ns;
    struct tl_flow_address from, to;
    uint16_t from_port, to_port;
    uint16_t ip_id;    /* 0 for IPv6 */
    uint16_t checksum; /* TCP's; 0 where it was cut off */
    uint32_t seq, ack;
    uint32_t payload_bytes;  /* by the lengths in the headers, not by what was captured */
    uint16_t window;         /* as it stands in the header */
    uint16_t packet_bytes;   /* length of the IP packet, at most 65535 */
    uint8_t flags, ttl, ecn; /* ecn: the two bits of the IP header */
    uint8_t sack_count;
    bool dont_fragment;
    bool options_cut; /* the snap length ends within the options */
    bool has_timestamps, has_mss, has_wscale, sack_permitted;
    uint8_t wscale; /* this and what follows: 0 where the option is not there */
    uint16_t mss_bytes;
    uint32_t tsval, tsecr;
    struct {
        uint32_t begin, end;
    } sacks[TL_SEGMENT_SACKS_MAX];
};

/* What a packet was. */
enum tl_decoded {
    TL_DECODED_TCP,
    TL_DECODED_TOO_BIG,   /* ICMP: a router reports that the quoted segment did not fit */
    TL_DECODED_FRAGMENT,  /* of a TCP segment; the segment comes with its last one */
    TL_DECODED_OTHER_IP,  /* another protocol */
    TL_DECODED_OTHER,     /* no IP */
    TL_DECODED_CUT,       /* shorter than its headers: snap length, or malformed */
    TL_DECODED_LINK_TYPE, /* a link layer that is not known */
};

/* Of a router's report; the segment has the addresses and ports of the one that did not fit. */
struct tl_too_big {
    uint16_t mtu_bytes; /* 0: the router does not say */
    struct tl_flow_address reporter;
};

#define TL_DECODER_FRAGMENTS 64

struct tl_decoder {
    uint64_t counts[TL_DECODED_LINK_TYPE + 1];
    struct tl_too_big too_big; /* of the last TL_DECODED_TOO_BIG */
    unsigned next_fragment;
    struct tl_fragment {
        bool used, has_first, has_last;
        uint32_t id;
        uint32_t total_bytes; /* of the IP payload, once the last fragment was seen */
        uint32_t head_bytes;  /* of the TCP header */
        struct tl_segment segment;
    } fragments[TL_DECODER_FRAGMENTS];
};

void tl_decoder_init(struct tl_decoder *decoder);

/* Fills *ret_segment for TL_DECODED_TCP and TL_DECODED_TOO_BIG (addresses, ports and seq). */
enum tl_decoded tl_decode(struct tl_decoder *decoder, const struct tl_packet *packet,
                          struct tl_segment *ret_segment);

#endif
