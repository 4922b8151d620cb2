/* Signals as a descriptor, while something runs that a signal shall end with its result kept. */
#ifndef TL_APP_SIGNALS_H
#define TL_APP_SIGNALS_H

#include <signal.h>
#include <stddef.h>

/* Takes SIGINT, SIGTERM, SIGHUP and `count` more for a signalfd, to be polled and read. What the
 * caller ignores (nohup, a shell's &) stays ignored. To be called before threads start, so that
 * only the descriptor sees them. *ret_before is for closing. -1 with errno. */
int tl_app_signals_open(const int *more, size_t count, sigset_t *ret_before);

/* Ends that. From here on a result is written: an impatient second Ctrl-C, or a terminal that goes
 * away, shall not cost it; a signal that waits already is taken here. */
void tl_app_signals_close(int fd, const sigset_t *before);

#endif
