/* Whether what a sender has in flight is held by one thing that does not move, such as a full send
 * buffer, rather than by a congestion window, which grows and is cut. Private to src/flow. */
#ifndef TL_FLOW_HELD_H
#define TL_FLOW_HELD_H

#include <stdbool.h>

#include "tightlink/flow/packets.h"

/* total_ns: the time that the ledger splits. */
bool flight_is_held(const struct tl_packet_half *half, double total_ns);

#endif
