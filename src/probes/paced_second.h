/* How long the second paced stream counts losses that stayed at a low rate. Pure. Private to the
 * probes. */
#ifndef TL_PROBES_PACED_SECOND_H
#define TL_PROBES_PACED_SECOND_H

#include <stdint.h>

#define TL_PACED_COUNT_MIN_NS INT64_C(3000000000)
#define TL_PACED_COUNT_MAX_NS INT64_C(5000000000)
/* So many losses tell their share to 10 %, and the rate that it allows, which goes with its root
 * (Mathis et al. 1997), to 5 %. */
#define TL_PACED_LOSSES_WANTED 100.0

/* At this pacing rate, with segments of mss_bytes of which loss_ratio is lost. Slow start and what
 * a long path needs besides is the caller's. What is not known (NAN) takes the most. */
int64_t tl_paced_count_ns(double pacing_bps, double mss_bytes, double loss_ratio);

#endif
