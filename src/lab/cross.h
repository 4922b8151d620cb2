/* Other traffic on a link: phantom packets with times of their own. The model asks
 * for those that arrived before each real packet and passes them through the queue. */
#ifndef TL_LAB_CROSS_H
#define TL_LAB_CROSS_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/random.h"
#include "tightlink/lab/config.h"

#define TL_LAB_CROSS_PACKET_BYTES 1500

/* A flow that always has data and sends by the window of RFC 5681, paced over its
 * round trip. */
struct tl_lab_cross_flow {
    double window_packets, threshold_packets;
    int64_t next_ns;
    int64_t reduce_ns;    /* when it learns of a loss; 0: it lost nothing */
    int64_t recovered_ns; /* losses before this belong to one reduction */
};

struct tl_lab_cross {
    bool constant; /* there is traffic at a rate */
    int32_t flow_count;
    double gap_ns; /* between packets of the rate */
    double next_ns;
    double on_mean_ns, off_mean_ns;
    double burst_end_ns; /* of the burst under way; +infinity without bursts */
    int64_t rtt_ns;      /* of a flow, with an empty queue */
    struct tl_random chance;
    struct tl_lab_cross_flow flows[TL_LAB_CROSS_FLOWS_MAX];
};

void tl_lab_cross_init(struct tl_lab_cross *cross, const struct tl_lab_link_config *link,
                       uint64_t seed);

/* Sets the time of the first packets. */
void tl_lab_cross_start(struct tl_lab_cross *cross, int64_t now_ns);

/* Whether a packet arrives at or before now_ns: its time and its flow (-1: of the
 * rate). Call tl_lab_cross_sent with what became of it before asking again. */
bool tl_lab_cross_next(const struct tl_lab_cross *cross, int64_t now_ns, int64_t *ret_at_ns,
                       int *ret_flow);

/* queue_ns is how long the queue was at that time. */
void tl_lab_cross_sent(struct tl_lab_cross *cross, int flow, int64_t at_ns, bool dropped,
                       int64_t queue_ns);

/* After a pause without real packets: moves all times forward so that at most
 * back_ns remain to be gone through. */
void tl_lab_cross_skip(struct tl_lab_cross *cross, int64_t now_ns, int64_t back_ns);

#endif
