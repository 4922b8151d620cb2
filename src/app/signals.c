/* Signals as a descriptor. */
#include "tightlink/app/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

static void add_unless_ignored(sigset_t *signals, int number)
{
    struct sigaction action;
    if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
        sigaddset(signals, number);
}

int tl_app_signals_open(const int *more, size_t count, sigset_t *ret_before)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t signals;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        add_unless_ignored(&signals, ending[i]);
    for (size_t i = 0; i < count; i++)
        add_unless_ignored(&signals, more[i]);
    int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd >= 0)
        sigprocmask(SIG_BLOCK, &signals, ret_before);
    return fd;
}

void tl_app_signals_close(int fd, const sigset_t *before)
{
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof info) == sizeof info)
        continue;
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    close(fd);
    sigprocmask(SIG_SETMASK, before, NULL);
}
