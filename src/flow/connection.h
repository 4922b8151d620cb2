/* A connection that is followed in all detail. Private to src/flow. */
#ifndef TL_FLOW_CONNECTION_H
#define TL_FLOW_CONNECTION_H

#include "half.h"

#define STAMPS 64u

struct connection {
    struct tl_packet_flow flow;
    struct half halves[2];
    /* The handshake. */
    int64_t syn_ns, syn_ack_ns;
    bool shaken;
    /* When a timestamp was first sent, by its low bits; and the last echo of the other end. */
    struct {
        uint32_t value;
        int64_t time_ns;
    } stamps[2][STAMPS];
    uint32_t last_stamp[2], last_echo[2];
    uint32_t entry; /* of the table */
};

void connection_init(struct connection *connection, const struct tl_segment *segment, int from);
/* from: the end that sent it. */
void connection_add(struct connection *connection, const struct tl_segment *segment, int from);
void connection_end(struct connection *connection);
void connection_finish(struct connection *connection); /* frees what it holds */

#endif
