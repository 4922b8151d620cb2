/* Signals as a descriptor, while something runs that a signal shall end with its result kept. */
#ifndef TL_APP_SIGNALS_H
#define TL_APP_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes SIGINT, SIGTERM, SIGHUP and `count` more for a signalfd, to be polled and read. What the
 * caller ignores (nohup, a shell's &) stays ignored. To be called before threads start, so that
 * only the descriptor sees them. *ret_before is for closing. -1 with errno. */
int tl_app_signals_open(const int *more, size_t count, sigset_t *ret_before);

/* Ends that; signals that are held wait for whoever holds them. Without, from here on a result is
 * written: an impatient second Ctrl-C, or a terminal that goes away, shall not cost it; a signal
 * that waits already is taken here. The next tl_app_signals_open() hears both again. One thread
 * calls these. */
void tl_app_signals_close(int fd, const sigset_t *before);

/* Those that end a program wait from here on until somebody takes them, for work of several parts
 * that each open and close: none is lost between two of them, none ends the program without what it
 * has. What the caller ignores stays ignored. */
struct tl_app_held_signals {
    sigset_t signals, before;
};
void tl_app_signals_hold(struct tl_app_held_signals *ret_held);
/* Whether one of them came, or comes until then (CLOCK_BOOTTIME; 0: do not wait). It is taken. */
bool tl_app_signals_come(const struct tl_app_held_signals *held, int64_t until_ns);
/* Takes those that wait and ends that. Whether one waited. */
bool tl_app_signals_release(const struct tl_app_held_signals *held);

#endif
