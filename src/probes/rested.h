/* One stream more behind a rest, where the rate of the first had fallen for good: whether a bucket
 * of tokens was emptied, or somebody came. Private. */
#ifndef TL_PROBES_RESTED_H
#define TL_PROBES_RESTED_H

#include "tightlink/engine/client.h"
#include "tightlink/probes/probes.h"

/* Long enough a rest that what a bucket gathers in it, at the rate behind the fall, lasts for a
 * third of one more stream of duration_ns, and no longer than the bucket takes to fill. A stream
 * that got what others leave begins at that rate at once; one beside whom the others have gone
 * keeps the higher rate all the time. 0: the rate did not fall, or several streams got another one.
 * Pure. */
int64_t tl_rested_plan(const struct tl_facts *facts, enum tl_direction direction,
                       int64_t duration_ns);

/* Rests, then runs one stream of like, and sets rested_bytes and rested_ahead_bytes, or why they
 * are unknown; adds its bytes and its time to the outcome. Does nothing where no rest is planned.
 * Moves at most bytes. Fails as tl_transfer_run() does. */
enum tl_status tl_rested_measure(const struct tl_probe *probe, enum tl_direction direction,
                                 const struct tl_tcp_spec *like, int64_t bytes,
                                 struct tl_probe_outcome *outcome, struct tl_error *reterr);

#endif
