/* Clocks, also where one fails. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tightlink/base/time.h"

static int failures; /* of the next readings */

/* In place of the C library's. */
int clock_gettime(clockid_t id, struct timespec *ret_time)
{
    if (failures > 0) {
        failures--;
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_clock_gettime, id, ret_time);
}

Test(time, a_clock_that_fails_once_is_asked_again)
{
    int64_t before_ns = tl_now_ns();
    failures = 1;
    int64_t now_ns = tl_now_ns();
    cr_expect_eq(failures, 0);
    cr_expect_geq(now_ns, before_ns);
    cr_expect_leq(now_ns, tl_now_ns());
}

Test(time, of_a_clock_that_fails_time_stands_still)
{
    int64_t monotonic_ns = tl_now_ns(), wall_ns = tl_realtime_ns();
    failures = 4;
    cr_expect_eq(tl_now_ns(), monotonic_ns);
    cr_expect_eq(tl_realtime_ns(), wall_ns, "each clock has a reading of its own");
    cr_expect_eq(failures, 0);
}
