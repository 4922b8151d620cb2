/* Wake-ups, with a write(2) that fails as often as a test wants. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tightlink/base/wake.h"

static int failures_left; /* of writes of one eventfd's size */

/* In place of libc's, for everything in this program. */
ssize_t write(int fd, const void *bytes, size_t len);
ssize_t write(int fd, const void *bytes, size_t len)
{
    if (len == sizeof(uint64_t) && failures_left > 0) {
        failures_left--;
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, fd, bytes, len);
}

static uint64_t count_of(int fd)
{
    eventfd_t count = 0;
    return eventfd_read(fd, &count) == 0 ? count : 0;
}

Test(wake, a_wake_up_that_fails_once_still_comes)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    cr_assert_geq(fd, 0);
    errno = EDOM;
    failures_left = 1;
    tl_wake(fd);
    cr_expect_eq(errno, EDOM, "a signal handler changes no errno");
    cr_expect_eq(failures_left, 0);
    cr_expect_eq(count_of(fd), 1, "once, and not twice");
    failures_left = 1;
    tl_wake_with(fd, 2);
    cr_expect_eq(count_of(fd), 2);
    close(fd);
}

Test(wake, what_always_fails_holds_nobody, .timeout = 10)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    cr_assert_geq(fd, 0);
    failures_left = 1000000;
    tl_wake(fd);
    cr_expect_gt(failures_left, 999000, "it does not go on for ever");
    failures_left = 0;
    cr_expect_eq(count_of(fd), 0);
    close(fd);
}
