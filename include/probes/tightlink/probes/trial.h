/* Trying a remedy in the program's own sockets (stage verify). */
#ifndef TL_PROBES_TRIAL_H
#define TL_PROBES_TRIAL_H

#include "tightlink/facts/trial.h"
#include "tightlink/probes/probes.h"

#define TL_TRIAL_TEXT_SIZE 96

/* "a receive buffer of 4 MiB". */
void tl_trial_describe(const struct tl_trial *trial, char ret_text[TL_TRIAL_TEXT_SIZE]);

/* One transfer with the trial applied. *ret_goodput_bps is its steady rate, NAN where none was
 * measured; the outcome says why. A buffer that the kernel did not grant makes the stage
 * limited. For TL_TRIAL_FAMILY the caller gives a client of that family. Status as of the
 * loading stages; what one end does not permit is TL_OK and a stage that was not possible. */
enum tl_status tl_probe_trial(const struct tl_probe *probe, enum tl_direction direction,
                              const struct tl_probe_limits *limits, const struct tl_trial *trial,
                              struct tl_probe_outcome *ret_outcome, double *ret_goodput_bps,
                              struct tl_error *reterr) TL_WARN_UNUSED;

#endif
