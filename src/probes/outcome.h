/* Filling of a stage's outcome. Private to the probes. */
#ifndef TL_PROBES_OUTCOME_H
#define TL_PROBES_OUTCOME_H

#include "tightlink/probes/probes.h"

/* A stage that begins: its id, state "done" until something says otherwise, the clock. */
void tl_outcome_begin(struct tl_probe_outcome *outcome, const char *id);
/* Sets the duration. */
void tl_outcome_end(struct tl_probe_outcome *outcome);
/* Bytes and time of one transfer more within the stage. */
void tl_outcome_add(struct tl_probe_outcome *outcome, const struct tl_probe_outcome *turn);
void tl_outcome_state(struct tl_probe_outcome *outcome, enum tl_stage_state state, const char *fmt,
                      ...) TL_PRINTF(3, 4);

#endif
