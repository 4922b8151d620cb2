/* Threads of the layers below the program: they take no signals, which are for its own threads. */
#ifndef TL_BASE_THREAD_H
#define TL_BASE_THREAD_H

#include <pthread.h>

/* Runs run(context) in a thread with all signals blocked. Without ret_thread it is detached, and
 * nobody joins it. 0 or an errno, *ret_thread untouched then. The caller's own signals are as
 * before. */
int tl_thread_start(pthread_t *ret_thread, void *(*run)(void *), void *context);

#endif
