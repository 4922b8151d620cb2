/* What one direction of the emulated link does to a packet: a pure model.
 *
 * "A packet of this length arrives at this time": the answer is why it is
 * dropped, or when it leaves. The model knows no sockets, no clock and no
 * memory but its own state; equal calls give equal answers. Each impairment
 * draws from a generator of its own, so that switching one on does not change
 * what another one does. Chance acts before the queue, so that which packets
 * are lost by chance depends only on their order, not on timing. */
#ifndef TL_LAB_MODEL_H
#define TL_LAB_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "bucket.h"
#include "cross.h"
#include "flow.h"
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
    TL_LAB_CHANCE_COUNT
};

/* Plain data; one thread. Times are ns of any one clock. */
struct tl_lab_model {
    struct tl_lab_link_config link;
    int64_t queue_bytes;
    int64_t mark_ns;       /* zero of outages and steps of the delay; may be set at any time */
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
};

/* queue_bytes as of tl_lab_queue_bytes. */
void tl_lab_model_init(struct tl_lab_model *model, const struct tl_lab_link_config *link,
                       int64_t queue_bytes);

/* One packet of len_bytes (IP header included). now_ns never runs backwards. flow
 * may be NULL: then nothing that looks at connections acts. */
struct tl_lab_fate tl_lab_model_pass(struct tl_lab_model *model, int64_t now_ns, uint32_t len_bytes,
                                     const struct tl_lab_flow *flow);

#endif
