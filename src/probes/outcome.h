/* Filling of a stage's outcome. Private to the probes. */
#ifndef TL_PROBES_OUTCOME_H
#define TL_PROBES_OUTCOME_H

#include "tightlink/probes/probes.h"

/* A stage that begins: its id, state "done" until something says otherwise, the clock. */
void tl_outcome_begin(struct tl_probe_outcome *outcome, const char *id);
/* Sets the duration. */
void tl_outcome_end(struct tl_probe_outcome *outcome);
void tl_outcome_state(struct tl_probe_outcome *outcome, enum tl_stage_state state, const char *fmt,
                      ...) TL_PRINTF(3, 4);
/* Lowers the quality; the first reason of the lowest quality stays. */
void tl_outcome_quality(struct tl_probe_outcome *outcome, enum tl_quality quality, const char *fmt,
                        ...) TL_PRINTF(3, 4);
/* The same for what explains others of the same quality (the link went down, and so the path was
 * dead): its reason takes their place. */
void tl_outcome_explain(struct tl_probe_outcome *outcome, enum tl_quality quality, const char *fmt,
                        ...) TL_PRINTF(3, 4);

#endif
