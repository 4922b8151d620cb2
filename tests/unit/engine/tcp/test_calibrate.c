/* What this host alone can do: numbers that hang together, and an end when it is asked for. */
#include <criterion/criterion.h>
#include <math.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "tightlink/base/time.h"
#include "tightlink/engine/calibrate.h"

Test(calibrate, every_part_has_a_number, .timeout = 120)
{
    struct tl_calibration got;
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < 3; i++) { /* the quickest: a busy machine may hold up the others */
        int64_t start_ns = tl_now_ns();
        cr_assert_eq(tl_calibrate(-1, &got), TL_OK);
        int64_t took_ns = tl_now_ns() - start_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    cr_expect_lt(least_ns, 10 * TL_CALIBRATE_NS);
    cr_expect_gt(got.tcp_bps, 0);
    cr_expect_gt(got.tcp_cpu_ns_per_byte, 0);
    cr_expect_gt(got.memory_copy_bps, 0);
    cr_expect_gt(got.timer_late_median_ns, 0);
    cr_expect_geq(got.timer_late_max_ns, got.timer_late_median_ns);
}

/* Of this program with all its threads. */
static int64_t processor_ns(void)
{
    struct timespec used;
    cr_assert_eq(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
    return used.tv_sec * TL_NS_PER_S + used.tv_nsec;
}

Test(calibrate, ends_when_cancelled, .timeout = 120)
{
    struct tl_calibration got = {.tcp_bps = 1};
    int cancel = eventfd(1, EFD_CLOEXEC);
    int64_t used_ns = processor_ns();
    cr_expect_eq(tl_calibrate(cancel, &got), TL_CANCELLED);
    /* Of its own time: a machine that others use makes it no longer. */
    cr_expect_lt(processor_ns() - used_ns, TL_CALIBRATE_TCP_NS);
    cr_expect_eq(got.tcp_bps, 1, "untouched");
    close(cancel);
}
