/* What the routers on the way are called: reverse names (RFC 1035, section 3.5), asked beside the
 * stages that load the path. A resolver may take as long as it likes: threads ask, and whoever is
 * not answered when the run ends stays without a name. */
#ifndef TL_PROBES_HOP_NAMES_H
#define TL_PROBES_HOP_NAMES_H

#include <stdint.h>

#include "tightlink/facts/facts.h"
#include "tightlink/facts/run.h"

struct tl_hop_names;

/* Asks for the names of all routers of the run that have an address and no name; not for that of
 * the far end, which the user named. NULL: there is nobody to ask for, or no memory. */
struct tl_hop_names *tl_hop_names_ask(const struct tl_run *run);

/* Waits until all have answered, no longer than wait_ns since they were asked, and writes the names
 * into the run, cleaned (tl_utf8_clean), and the places that they tell into the facts
 * path.places_*. Frees names, whose threads may go on; NULL is fine: the run has the names that it
 * has. */
void tl_hop_names_take(struct tl_hop_names *names, int64_t wait_ns, struct tl_run *run,
                       struct tl_facts *facts);

#endif
