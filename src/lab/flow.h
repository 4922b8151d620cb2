/* Which connection a packet belongs to, and what is kept for each: read from the
 * packet's headers, without memory of its own. Used where a link treats
 * connections one by one. */
#ifndef TL_LAB_FLOW_H
#define TL_LAB_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bucket.h"
#include "tightlink/lab/config.h"

/* The 5-tuple as seen from the near end, so that both directions give the same. */
struct tl_lab_flow {
    uint64_t hash;      /* of addresses, ports and protocol; stands for the connection */
    uint16_t near_port; /* 0 for what has no ports */
    bool is_icmp;       /* ICMP or ICMPv6 */
    bool can_mark;      /* ECT or CE stands in its header (RFC 3168) */
};

/* A packet that is no whole IP packet gets hash 0 and no ports. */
struct tl_lab_flow tl_lab_flow_read(const unsigned char *packet, size_t len,
                                    enum tl_lab_direction direction);

/* Limits of one connection. */
struct tl_lab_flow_state {
    uint64_t hash; /* 0: a free place */
    int64_t used_ns;
    struct tl_lab_bucket policer;
    struct tl_lab_bucket shaper;
    int64_t last_depart_ns;
};

/* A demonstration has a few dozen connections; beyond this the one that rested
 * longest among a few is forgotten. */
#define TL_LAB_FLOWS_MAX 512

struct tl_lab_flow_table {
    struct tl_lab_flow_state all[TL_LAB_FLOWS_MAX];
};

/* The state of a connection, with full buckets where it is new. */
struct tl_lab_flow_state *tl_lab_flow_find(struct tl_lab_flow_table *table, uint64_t hash,
                                           const struct tl_lab_link_config *link, int64_t now_ns);

#endif
