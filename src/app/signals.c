/* Signals as a descriptor. */
#include "tightlink/app/signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "tightlink/base/time.h"

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
#define ENDING_COUNT (sizeof ending / sizeof *ending)

/* Ignored by tl_app_signals_close() since something ended, and not by the caller. */
static bool ignored_here[ENDING_COUNT];

static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_IGN;
}

static void hear_again(void)
{
    for (size_t i = 0; i < ENDING_COUNT; i++)
        if (ignored_here[i])
            signal(ending[i], SIG_DFL);
}

int tl_app_signals_open(const int *more, size_t count, sigset_t *ret_before)
{
    sigset_t signals;
    sigemptyset(&signals);
    for (size_t i = 0; i < ENDING_COUNT; i++)
        if (ignored_here[i] || !is_ignored(ending[i]))
            sigaddset(&signals, ending[i]);
    for (size_t i = 0; i < count; i++)
        if (!is_ignored(more[i]))
            sigaddset(&signals, more[i]);
    int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return fd;
    sigprocmask(SIG_BLOCK, &signals, ret_before);
    hear_again();
    return fd;
}

static bool is_held(const sigset_t *before)
{
    bool held = true;
    for (size_t i = 0; i < ENDING_COUNT; i++)
        held &= is_ignored(ending[i]) || sigismember(before, ending[i]) == 1;
    return held;
}

void tl_app_signals_close(int fd, const sigset_t *before)
{
    struct signalfd_siginfo info;
    if (is_held(before)) {
        close(fd);
        sigprocmask(SIG_SETMASK, before, NULL);
        return;
    }
    while (read(fd, &info, sizeof info) == sizeof info)
        continue;
    for (size_t i = 0; i < ENDING_COUNT; i++) {
        ignored_here[i] = ending[i] != SIGTERM && !is_ignored(ending[i]);
        if (ignored_here[i])
            signal(ending[i], SIG_IGN);
    }
    close(fd);
    sigprocmask(SIG_SETMASK, before, NULL);
}

void tl_app_signals_hold(struct tl_app_held_signals *ret_held)
{
    sigemptyset(&ret_held->signals);
    for (size_t i = 0; i < ENDING_COUNT; i++)
        if (ignored_here[i] || !is_ignored(ending[i]))
            sigaddset(&ret_held->signals, ending[i]);
    sigprocmask(SIG_BLOCK, &ret_held->signals, &ret_held->before);
    hear_again();
}

bool tl_app_signals_come(const struct tl_app_held_signals *held, int64_t until_ns)
{
    int number;
    do {
        int64_t left_ns = until_ns ? until_ns - tl_boottime_ns() : 0;
        struct timespec wait = {.tv_sec = left_ns > 0 ? left_ns / TL_NS_PER_S : 0,
                                .tv_nsec = left_ns > 0 ? left_ns % TL_NS_PER_S : 0};
        number = sigtimedwait(&held->signals, NULL, &wait);
    } while (number < 0 && errno == EINTR);
    return number > 0;
}

bool tl_app_signals_release(const struct tl_app_held_signals *held)
{
    bool came = false;
    while (tl_app_signals_come(held, 0))
        came = true;
    sigprocmask(SIG_SETMASK, &held->before, NULL);
    return came;
}
