/* The ladder of this host alone. Private to src/cli. */
#ifndef TL_CLI_AUDIT_LADDER_H
#define TL_CLI_AUDIT_LADDER_H

#include <stdbool.h>

#include "tightlink/facts/facts.h"

/* Prints what this host would allow over that round trip, lowest first. False where a known
 * rung lies below the goal. */
bool cli_audit_ladder(const struct tl_facts *facts, double goal_bps, double rtt_ns);

#endif
