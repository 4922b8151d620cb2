/* The guard process: builds the path, starts processes in it, ends everything.
 * And its child, the emulator process, which ends everything if the guard cannot. */
#ifndef TL_LAB_GUARD_H
#define TL_LAB_GUARD_H

#include <sys/types.h>

#include "shared.h"
#include "tightlink/lab/config.h"

/* Runs in a process just forked from the caller, with one thread; never returns.
 * channel: its end of the socket pair to the caller (channel.h). */
_Noreturn void tl_lab_guard_main(const struct tl_lab_config *config, struct tl_lab_shared *shared,
                                 int channel, pid_t caller);

#endif
