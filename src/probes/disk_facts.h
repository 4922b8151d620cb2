/* Facts about one host's disk, near or far alike. Private to the probes. */
#ifndef TL_PROBES_DISK_FACTS_H
#define TL_PROBES_DISK_FACTS_H

#include "tightlink/engine/disk.h"
#include "tightlink/facts/facts.h"

/* What is under the directory; rows that are not known carry their reason. */
void tl_disk_facts_set_host(struct tl_facts *facts, enum tl_scope scope,
                            const struct tl_host_disk *disk);
/* A write test or a read test past the page cache; of a result without a rate nothing but the
 * reason is set. */
void tl_disk_facts_set_result(struct tl_facts *facts, enum tl_scope scope,
                              const struct tl_disk_result *result, const char *reason);
/* One number of the host. NAN becomes unknown. */
void tl_disk_facts_set(struct tl_facts *facts, struct tl_fact_key key, double value,
                       const char *reason);

#endif
