/* tightlinkd --check: which protections are on, each tried from the inside. */
#ifndef TL_RESPONDER_CHECK_H
#define TL_RESPONDER_CHECK_H

#include <stdbool.h>
#include <stdio.h>

/* Behind sandbox_hold_calls(). Writes a line for each protection; true when all of them hold.
 * dials: connections are permitted to this process. keyed: it holds secrets, which no core may
 * have. */
bool check_protections(bool dials, bool keyed, FILE *out);

#endif
