/* A pause that the user can end. Private to the probes. */
#ifndef TL_PROBES_PAUSE_H
#define TL_PROBES_PAUSE_H

#include "tightlink/probes/probes.h"

/* Waits that long, or until the run is cancelled; at once for nothing or less. */
void tl_probe_pause(const struct tl_probe *probe, int64_t ns);

#endif
