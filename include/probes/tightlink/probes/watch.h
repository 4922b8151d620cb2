/* Watching for what disturbs a measurement while it runs. One thread. */
#ifndef TL_PROBES_WATCH_H
#define TL_PROBES_WATCH_H

#include "tightlink/probes/probes.h"

struct tl_watch;

/* Watches the way to the client's peer. NULL when this machine does not permit it. */
struct tl_watch *tl_watch_create(const struct tl_far *far);
void tl_watch_destroy(struct tl_watch *watch); /* takes NULL */

/* Forgets what happened until now: a stage begins. Takes NULL. */
void tl_watch_begin(struct tl_watch *watch);

/* Lowers the quality of the stage that ends by what happened in it: sleep makes it
 * invalid, a link that went down aborted, other changes of the way degraded. A step of
 * the clock leaves rates as they are. Takes NULL. */
void tl_watch_judge(struct tl_watch *watch, struct tl_probe_outcome *outcome);

#endif
