/* Trying a remedy in the program's own sockets (stage verify). */
#ifndef TL_PROBES_TRIAL_H
#define TL_PROBES_TRIAL_H

#include "tightlink/facts/trial.h"
#include "tightlink/probes/probes.h"

#define TL_TRIAL_TEXT_SIZE 96

/* What was tried, and what it brought: the steady rate, NAN where none was measured. */
struct tl_trial_result {
    char what[TL_TRIAL_TEXT_SIZE];
    double goodput_bps;
};

/* How many connections are needed for a rate, when one was seen to carry so much by what its window
 * holds: several connections hold several windows. 1 where one suffices, or where either rate is
 * unknown. */
unsigned tl_trial_connections(double predicted_bps, double measured_bps);

/* One transfer with the trial applied; ret_result and the outcome say what came of it. A buffer of
 * which a kernel grants only a part (net.core.rmem_max, wmem_max) is tried again as several
 * connections, each with that part, as many as predicted_bps needs; where one was enough, the stage
 * is limited. For TL_TRIAL_FAMILY the caller gives a client of that family. Status as of the
 * loading stages; what one end does not permit is TL_OK and a stage that was not possible. */
enum tl_status tl_probe_trial(const struct tl_probe *probe, enum tl_direction direction,
                              const struct tl_probe_limits *limits, const struct tl_trial *trial,
                              double predicted_bps, struct tl_probe_outcome *ret_outcome,
                              struct tl_trial_result *ret_result,
                              struct tl_error *reterr) TL_WARN_UNUSED;

#endif
