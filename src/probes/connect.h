/* A connection to a far end as the user named it, without facts. Private to the probes. */
#ifndef TL_PROBES_CONNECT_H
#define TL_PROBES_CONNECT_H

#include "tightlink/probes/probes.h"

/* *ret_far is the caller's, for tl_far_close(). */
enum tl_status tl_connect_reach(const struct tl_probe_target *target, int cancel_fd,
                                struct tl_far **ret_far, struct tl_error *reterr) TL_WARN_UNUSED;

/* A round trip as far as the responder itself, before any was measured: what splits TCP on the way
 * answers the handshake in its place, so that the greeting counts too. */
int64_t tl_connect_rtt_ns(const struct tl_far *far);

#endif
