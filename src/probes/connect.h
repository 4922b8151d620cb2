/* A connection to a far end as the user named it, without facts. Private to the probes. */
#ifndef TL_PROBES_CONNECT_H
#define TL_PROBES_CONNECT_H

#include "tightlink/probes/probes.h"

/* *ret_far is the caller's, for tl_far_close(). */
enum tl_status tl_connect_reach(const struct tl_probe_target *target, int cancel_fd,
                                struct tl_far **ret_far, struct tl_error *reterr) TL_WARN_UNUSED;

#endif
