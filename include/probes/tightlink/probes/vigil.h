/* One transfer among many of a long watch. */
#ifndef TL_PROBES_VIGIL_H
#define TL_PROBES_VIGIL_H

#include "tightlink/probes/probes.h"

/* How long a transfer the responder grants at most. */
int64_t tl_probe_vigil_longest_ns(const struct tl_probe *probe);

/* One stream with the hosts' own settings for the whole of limits->duration_ns, paced where
 * pacing_bps > 0. probe->facts is a store that nobody judges. Its live numbers are what counts;
 * a broken connection is dialled again by the next call. Status as of the loading stages. */
enum tl_status tl_probe_vigil(const struct tl_probe *probe, enum tl_direction direction,
                              const struct tl_probe_limits *limits, double pacing_bps,
                              struct tl_probe_outcome *ret_outcome,
                              struct tl_error *reterr) TL_WARN_UNUSED;

#endif
