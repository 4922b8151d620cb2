/* Threads that take no signals. */
#include "tightlink/base/thread.h"

#include <signal.h>

int tl_thread_start(pthread_t *ret_thread, void *(*run)(void *), void *context)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    if (!ret_thread)
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int errnum = pthread_create(&thread, &attributes, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (errnum == 0 && ret_thread)
        *ret_thread = thread;
    return errnum;
}
