/* Active queue management: the parts that decide, as pure models. CoDel looks at what leaves
 * the queue (RFC 8289, pseudocode of section 5), PIE and RED at what comes (RFC 8033 sections
 * 4 and 5; Floyd, Jacobson 1993, with the gentle slope above the upper threshold). */
#ifndef TL_LAB_AQM_H
#define TL_LAB_AQM_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/random.h"

/* RFC 8289: a standing queue is one whose packets all waited for more than TARGET during
 * INTERVAL. */
#define TL_LAB_CODEL_TARGET_NS   INT64_C(5000000)
#define TL_LAB_CODEL_INTERVAL_NS INT64_C(100000000)

struct tl_lab_codel {
    int64_t first_above_ns; /* 0: the last packet waited for less than TARGET */
    int64_t drop_next_ns;
    uint32_t count, last_count;
    bool dropping;
};

/* Whether a packet that leaves after waiting for so long may be dropped; left_bytes are
 * still in the queue. */
bool tl_lab_codel_may_drop(struct tl_lab_codel *codel, int64_t now_ns, int64_t waited_ns,
                           double left_bytes);

/* After a packet that may be dropped, or not: whether this one is. Ask again for the next
 * packet as long as it says yes; where packets are marked instead, `marks` is true and the
 * marked packet leaves. */
bool tl_lab_codel_drops(struct tl_lab_codel *codel, int64_t now_ns, bool may_drop, bool marks);

struct tl_lab_pie {
    double drop_ratio;
    int64_t delay_ns, delay_before_ns; /* of the queue, now and at the last update */
    int64_t burst_left_ns;
    int64_t update_ns; /* of the next update */
};

void tl_lab_pie_start(struct tl_lab_pie *pie, int64_t now_ns);

/* A packet comes upon so many bytes; the last one that left waited for delay_ns. */
bool tl_lab_pie_drops(struct tl_lab_pie *pie, int64_t now_ns, double backlog_bytes,
                      struct tl_random *chance);

struct tl_lab_red {
    double mean_bytes;
    int64_t idle_ns; /* since when the queue is empty; 0: it is not */
    int32_t since_drop;
};

/* A packet comes upon so many bytes of a queue that holds queue_bytes. */
bool tl_lab_red_drops(struct tl_lab_red *red, int64_t now_ns, double backlog_bytes,
                      double queue_bytes, struct tl_random *chance);

#endif
