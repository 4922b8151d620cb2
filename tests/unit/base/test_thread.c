/* Threads that take no signals. */
#include "tightlink/base/thread.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "tightlink/base/wake.h"

static void *tell_signals(void *context)
{
    sigset_t *blocked = context;
    pthread_sigmask(SIG_SETMASK, NULL, blocked);
    return context;
}

static void *wake_up(void *context)
{
    tl_wake(*(int *)context);
    return NULL;
}

Test(thread, takes_no_signals_and_the_caller_takes_them_as_before)
{
    pthread_t thread;
    sigset_t blocked, before, after;
    void *returned = NULL;
    sigemptyset(&blocked);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    cr_assert_eq(tl_thread_start(&thread, tell_signals, &blocked), 0);
    cr_assert_eq(pthread_join(thread, &returned), 0);
    cr_expect_eq(returned, &blocked);
    cr_expect(sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGTERM) == 1);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int number = 1; number < 32; number++)
        cr_expect_eq(sigismember(&before, number), sigismember(&after, number), "%d", number);
}

Test(thread, without_a_place_for_it_nobody_joins_it)
{
    int fd = eventfd(0, EFD_CLOEXEC);
    struct pollfd done = {.fd = fd, .events = POLLIN};
    cr_assert_eq(tl_thread_start(NULL, wake_up, &fd), 0);
    cr_expect_eq(poll(&done, 1, 10000), 1);
}
