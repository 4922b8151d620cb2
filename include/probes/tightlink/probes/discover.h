/* Which other kind of far end answers at a host that has no responder. */
#ifndef TL_PROBES_DISCOVER_H
#define TL_PROBES_DISCOVER_H

#include "tightlink/probes/probes.h"

/* Greets the ports of every kind that is built, all at once, within some three seconds, and closes:
 * no test is begun. The first kind of the table's order that answers. TL_REFUSED: none does.
 * TL_NOHOST, TL_CANCELLED, TL_NOMEM. */
enum tl_status tl_probe_discover(const struct tl_probe_target *target, int cancel_fd,
                                 enum tl_far_kind *ret_kind,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

#endif
