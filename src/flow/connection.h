/* A connection that is followed in all detail. Private to src/flow. */
#ifndef TL_FLOW_CONNECTION_H
#define TL_FLOW_CONNECTION_H

#include "half.h"
#include "stamps.h"

struct connection {
    struct tl_packet_flow flow;
    struct half halves[2];
    /* The handshake. */
    int64_t syn_ns, syn_ack_ns;
    bool shaken;
    struct tl_segment last[2]; /* by the end that sent it */
    struct stamps stamps[2];   /* likewise */
    uint32_t last_stamp[2], last_echo[2];
    uint32_t entry; /* of the table, which also counts these: */
    uint64_t held_bytes, steps_count;
};

void connection_init(struct connection *connection, const struct tl_segment *segment, int from);
/* from: the end that sent it. */
void connection_add(struct connection *connection, const struct tl_segment *segment, int from);
/* What it holds in memory. */
static inline uint64_t connection_held_bytes(const struct connection *connection)
{
    const struct tl_packet_flow *flow = &connection->flow;
    size_t stamps = connection->stamps[0].room + connection->stamps[1].room;
    return sizeof *connection + stamps * sizeof(struct stamp) + flow->halves[0].held_bytes +
           flow->halves[1].held_bytes;
}

/* What has been done for its packets so far. */
static inline uint64_t connection_steps(const struct connection *connection)
{
    return connection->halves[0].steps_count + connection->halves[1].steps_count;
}

void connection_end(struct connection *connection);
void connection_finish(struct connection *connection); /* frees what it holds */

#endif
