/* A direction of a capture as readings of a sender and a receiver. Private. */
#ifndef TL_PROBES_PACKET_LOG_H
#define TL_PROBES_PACKET_LOG_H

#include "tightlink/engine/sample.h"
#include "tightlink/flow/limits.h"

/* Fills logs that are empty: what a sender's and a receiver's kernel would have told every 50 ms or
 * more. The caller finishes both in any case. TL_NOMEM. */
enum tl_status tl_packet_log(const struct tl_packet_flow *flow, int sender,
                             const struct tl_packet_ledger *ledger,
                             struct tl_sample_log *ret_sender,
                             struct tl_sample_log *ret_receiver) TL_WARN_UNUSED;

#endif
