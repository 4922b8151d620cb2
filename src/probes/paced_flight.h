/* From when on a paced stream is paced. Pure. Private to the probes.
 *
 * Linux sends the first ten segments of a connection at once, whatever its pacing rate
 * (net/ipv4/tcp_output.c tcp_update_skb_after_send(), as sch_fq does). A queue of a few packets
 * drops most of such a burst, which says nothing of losses at a low rate. */
#ifndef TL_PROBES_PACED_FLIGHT_H
#define TL_PROBES_PACED_FLIGHT_H

#include <stdint.h>

#include "tightlink/engine/sample.h"

/* Time of the reading at which that burst was acknowledged, so that all of it that was lost had
 * been sent again; 0 where no reading tells: then the whole stream counts. */
int64_t tl_paced_begin_ns(const struct tl_sample_log *sender);

#endif
