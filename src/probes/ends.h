/* Whether what the far end tells of a stream fits what this PC saw of the same stream. A far end
 * may be wrong, or lie: of itself it may say what it likes, but what it says of the path or of this
 * PC is not believed where this PC's own kernel knows better. Private to the probes. */
#ifndef TL_PROBES_ENDS_H
#define TL_PROBES_ENDS_H

#include "tightlink/engine/client.h"
#include "tightlink/engine/echo_load.h"
#include "tightlink/probes/probes.h"

/* Lowers the quality of a stream that this PC received. */
void tl_ends_judge(struct tl_probe_outcome *outcome, const struct tl_tcp_result *result,
                   const struct tl_echo_load *load);

/* The facts of one stream that this PC's kernel knows as well as the sender's: its own word counts.
 */
void tl_ends_set(struct tl_facts *facts, enum tl_direction direction,
                 const struct tl_tcp_result *result);

#endif
