/* Facts about a host from its record, near or far alike. */
#ifndef TL_PROBES_HOST_FACTS_H
#define TL_PROBES_HOST_FACTS_H

#include "tightlink/facts/facts.h"
#include "tightlink/host/host.h"

/* Sets every host fact of scope (TL_SCOPE_NEAR or TL_SCOPE_FAR); what the record
 * does not know becomes unknown with the record's reason. */
void tl_host_facts_set(struct tl_facts *facts, enum tl_scope scope,
                       const struct tl_host_settings *settings);

#endif
