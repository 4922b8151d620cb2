/* The segments of a run. Without cooperation on the way there are three: this PC,
 * the path, the far host. */
#ifndef TL_SESSION_SEGMENTS_H
#define TL_SESSION_SEGMENTS_H

#include "tightlink/facts/facts.h"
#include "tightlink/facts/run.h"

/* Replaces the run's segments by what the facts tell of them. */
void tl_segments_fill(const struct tl_facts *facts, struct tl_run *run);

#endif
