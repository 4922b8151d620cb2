/* UDP probes beside a transfer. Private to the probes. */
#ifndef TL_PROBES_LOADED_H
#define TL_PROBES_LOADED_H

#include "tightlink/engine/echo_load.h"
#include "tightlink/probes/probes.h"

struct tl_loaded;

/* Starts a train of probes in a thread of its own and returns when it is under way, so that its
 * first ones travel without load. NULL when that cannot be: the transfer then goes on without.
 * duration_ns: the longest that the transfer may take. */
struct tl_loaded *tl_loaded_start(const struct tl_probe *probe, int64_t duration_ns);

/* Ends the train and waits for it. Its probes, owned by `loaded`; NULL when there were none. */
const struct tl_echo_result *tl_loaded_stop(struct tl_loaded *loaded);

/* Ends the train and frees it. What the probes of a window on the clock of
 * tl_now_ns() said, all NAN when there were none. NULL is fine. */
void tl_loaded_finish(struct tl_loaded *loaded, int64_t from_ns, int64_t to_ns,
                      struct tl_echo_load *ret_load);

#endif
