/* A whole capture into a table of connections.
 *
 * Two threads share the work: one reads, unpacks and decodes, the caller's follows connections.
 * Between them go batches in the order of the file, so that the result is that of one thread. */
#ifndef TL_FLOW_READ_H
#define TL_FLOW_READ_H

#include "tightlink/flow/packets.h"

/* What was read. */
struct tl_read {
    int64_t first_ns, last_ns;                 /* earliest and latest time; 0: no packet */
    uint64_t counts[TL_DECODED_LINK_TYPE + 1]; /* packets, by what they were */
};

/* Up to the end of the capture, or to where it breaks: then why is in *ret_broken, else that is
 * empty, and what stood before is in the table either way. The caller finishes the table. TL_NOMEM:
 * the table cannot grow. */
enum tl_status tl_read_capture(struct tl_capture *capture, struct tl_packets *packets,
                               struct tl_read *ret_read,
                               struct tl_error *ret_broken) TL_WARN_UNUSED;

#endif
