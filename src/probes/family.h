/* The other address family of the same name. Private to the probes. */
#ifndef TL_PROBES_FAMILY_H
#define TL_PROBES_FAMILY_H

#include "tightlink/probes/probes.h"

/* Whether the name that the user gave has an address of the other family, whether a responder
 * answers there, and in what time: path.other_*. A second at most where it does not answer; no
 * time at all for an address. */
void tl_family_look(const struct tl_probe *probe);

#endif
