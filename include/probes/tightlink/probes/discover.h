/* Which other kind of far end answers at a host that has no responder. */
#ifndef TL_PROBES_DISCOVER_H
#define TL_PROBES_DISCOVER_H

#include "tightlink/probes/probes.h"

/* Greets the ports of every kind that is built but a responder, all at once, within some three
 * seconds, and closes: no test is begun. *ret_kinds: bit i for the i-th kind that answers.
 * TL_REFUSED: none does. TL_NOHOST, TL_CANCELLED, TL_NOMEM. Any thread. */
enum tl_status tl_probe_discover(const struct tl_probe_target *target, int cancel_fd,
                                 unsigned *ret_kinds, struct tl_error *reterr) TL_WARN_UNUSED;

#endif
