/* What one direction of the emulated link does to a packet: a pure model.
 *
 * "A packet of this length arrives at this time": the answer is why it is
 * dropped, or when it leaves, or that it waits in a station (station.h), which
 * tells later. The model knows no sockets and no clock; its memory is taken at
 * the start; equal calls give equal answers. Each impairment
 * draws from a generator of its own, so that switching one on does not change
 * what another one does. Chance acts before the queue, so that which packets
 * are lost by chance depends only on their order, not on timing. */
#ifndef TL_LAB_MODEL_H
#define TL_LAB_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bucket.h"
#include "cross.h"
#include "flow.h"
#include "gate.h"
#include "station.h"
#include "tightlink/base/random.h"
#include "tightlink/lab/config.h"

enum tl_lab_chance {
    TL_LAB_CHANCE_LOSS,
    TL_LAB_CHANCE_BURST,
    TL_LAB_CHANCE_CORRUPT,
    TL_LAB_CHANCE_JITTER,
    TL_LAB_CHANCE_REORDER,
    TL_LAB_CHANCE_DUPLICATE,
    TL_LAB_CHANCE_MEMBER,
    TL_LAB_CHANCE_COLLISION,
    TL_LAB_CHANCE_CROSS, /* seeds of parts that have generators of their own */
    TL_LAB_CHANCE_GATE,
    TL_LAB_CHANCE_WANDER,
    TL_LAB_CHANCE_STATION,
    TL_LAB_CHANCE_SCATTER,
    TL_LAB_CHANCE_COUNT
};

/* Plain data; one thread. Times are ns of any one clock. */
struct tl_lab_model {
    struct tl_lab_link_config link;
    int64_t queue_bytes;
    int64_t mark_ns; /* zero of outages and steps of the delay; may be set at any time */
    /* Of a medium that both directions take in turn: when it is free; NULL: each has its own. */
    _Atomic int64_t *medium_free_ns;
    int64_t other_free_ns; /* link_free_ns of the other direction, for collisions; the same */
    bool icmp_filtered;    /* ICMP is dropped; set after init */
    bool by_flow;          /* some impairment looks at connections: pass a flow */
    struct tl_random chance[TL_LAB_CHANCE_COUNT];
    bool started;
    bool in_burst;
    struct tl_lab_bucket policer;
    struct tl_lab_bucket shaper;
    uint64_t rate_bps;       /* 0: no serialisation */
    int64_t link_free_ns;    /* when the last accepted packet will be on the wire */
    uint64_t link_remainder; /* part of a ns carried on, in 1/rate_bps ns */
    int64_t last_depart_ns;  /* jitter does not reorder */
    struct tl_lab_gate gate;
    struct tl_lab_wander wander;
    struct tl_lab_station *station; /* owned; NULL where the link is a plain one */
    struct tl_lab_cross cross;
    struct tl_lab_flow_table flows;
};

struct tl_lab_fate {
    enum tl_lab_drop drop; /* TL_LAB_DROP_NONE: the rest holds */
    int64_t depart_ns;     /* when it leaves the link */
    double backlog_bytes;  /* queue and service after it was accepted */
    double corrupt_at;     /* where the flipped bit lies, 0 to 1 of what follows the IP
                              header; negative: nowhere */
    bool reordered;
    bool duplicated; /* a copy leaves right behind */
    bool waits;      /* in the station: tl_lab_model_serve tells the rest */
    bool marked;     /* congestion experienced */
};

/* queue_bytes as of tl_lab_queue_bytes; tickets of packets that wait are below capacity.
 * Fails where a trace cannot be read. tl_lab_model_finish frees. */
enum tl_status tl_lab_model_init(struct tl_lab_model *model, const struct tl_lab_link_config *link,
                                 int64_t queue_bytes, uint32_t capacity,
                                 struct tl_error *reterr) TL_WARN_UNUSED;
void tl_lab_model_finish(struct tl_lab_model *model);

/* One packet of len_bytes (IP header included). now_ns never runs backwards. flow
 * may be NULL: then nothing that looks at connections acts. ticket names the packet where
 * it has to wait; whoever has a station has served it up to now_ns before. */
struct tl_lab_fate tl_lab_model_pass(struct tl_lab_model *model, int64_t now_ns, uint32_t len_bytes,
                                     const struct tl_lab_flow *flow, uint32_t ticket);

/* The next packet that waited and whose fate is known at now_ns; false when there is none. */
bool tl_lab_model_serve(struct tl_lab_model *model, int64_t now_ns, uint32_t *ret_ticket,
                        uint32_t *ret_len_bytes, struct tl_lab_fate *ret_fate);

/* When the next fate will be known; INT64_MAX when nobody waits. */
int64_t tl_lab_model_next_ns(const struct tl_lab_model *model);

#endif
