/* UDP probes beside a load: in which direction the delay grew. */
#include <criterion/criterion.h>
#include <math.h>

#include "tightlink/engine/echo_load.h"

#define MS INT64_C(1000000)

static struct tl_echo_result echo;

/* 100 probes, 20 ms apart, 10 ms each way; from the tenth on each way gets its queue. The far
 * clock is ahead by an hour. */
static void make(int64_t forward_ns, int64_t backward_ns)
{
    echo = (struct tl_echo_result){.start_ns = 5000 * MS, .sent_count = 100};
    for (int i = 0; i < 100; i++) {
        int64_t there_ns = 10 * MS + (i >= 10 ? forward_ns : 0);
        int64_t back_ns = 10 * MS + (i >= 10 ? backward_ns : 0);
        echo.probes[i] = (struct tl_echo_probe){.sent_ns = i * 20 * MS,
                                                .near_ns = 1000 * MS + i * 20 * MS,
                                                .rtt_ns = there_ns + back_ns};
        echo.probes[i].far_ns = echo.probes[i].near_ns + there_ns + 3600000 * MS;
    }
}

static struct tl_echo_load loaded(void)
{
    struct tl_echo_load load;
    tl_echo_load(&echo, 5400 * MS, 8000 * MS, &load);
    return load;
}

Test(echo_load, growth_is_told_apart_by_direction)
{
    make(70 * MS, 0);
    struct tl_echo_load load = loaded();
    cr_assert_float_eq(load.forward_growth_ns, 70e6, 1);
    cr_assert_float_eq(load.backward_growth_ns, 0, 1);
    cr_assert_float_eq(load.rtt_median_ns, 90e6, 1);
    make(0, 250 * MS);
    load = loaded();
    cr_assert_float_eq(load.forward_growth_ns, 0, 1);
    cr_assert_float_eq(load.backward_growth_ns, 250e6, 1);
}

Test(echo_load, a_stepped_clock_tells_no_direction_but_the_round_trip)
{
    make(0, 30 * MS);
    for (int i = 50; i < 100; i++)
        echo.probes[i].far_ns += 60000 * MS;
    struct tl_echo_load load = loaded();
    cr_assert(isnan(load.forward_growth_ns) && isnan(load.backward_growth_ns));
    cr_assert_float_eq(load.rtt_median_ns, 50e6, 1);
}

Test(echo_load, few_answers_tell_nothing)
{
    make(0, 0);
    for (int i = 4; i < 100; i++)
        echo.probes[i].rtt_ns = -1;
    struct tl_echo_load load = loaded();
    cr_assert(isnan(load.rtt_median_ns) && isnan(load.forward_growth_ns));
    echo.sent_count = 0;
    load = loaded();
    cr_assert(isnan(load.rtt_median_ns));
}

Test(echo_load, the_longest_twentieth_does_not_spoil_the_mean)
{
    make(0, 0);
    for (int i = 96; i < 100; i++)
        echo.probes[i].rtt_ns = 5000 * MS;
    cr_assert_float_eq(loaded().rtt_mean_ns, 20e6, 1);
    cr_assert_float_eq(tl_rpm(20e6), 3000, 1e-6);
    cr_assert(isnan(tl_rpm(0)));
}

Test(echo_load, the_upper_quarter_grows_apart_from_the_median)
{
    struct tl_echo_load load;
    echo = (struct tl_echo_result){.start_ns = 0};
    for (int i = 0; i < 101; i++) /* one way grows evenly from 0 to 100 ms, the other not at all */
        echo.probes[echo.sent_count++] = (struct tl_echo_probe){
            .sent_ns = i * 10 * MS, .rtt_ns = (20 + i) * MS, .far_ns = (10 + i) * MS};
    tl_echo_load(&echo, 0, 2000 * MS, &load);
    cr_assert_float_eq(load.forward_growth_ns, 50e6, 1);
    cr_assert_float_eq(load.forward_p75_ns, 75e6, 1e6);
    cr_assert_float_eq(load.backward_p75_ns, 0, 1);
}
