/* A test between two responders on this client's word: no diagnosis, a measurement. */
#ifndef TL_SESSION_BETWEEN_H
#define TL_SESSION_BETWEEN_H

#include "tightlink/probes/between.h"

/* Runs on the calling thread until the test is over; see tl_probe_between. */
enum tl_status tl_session_between(const struct tl_between_spec *spec, int cancel_fd,
                                  struct tl_between_result *ret_result,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

#endif
