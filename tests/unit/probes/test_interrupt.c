/* Interruptions in readings made by hand: what counts, and what only looks like one. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "interrupt.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)

static struct tl_tcp_result result;

static void setup(void)
{
    result = (struct tl_tcp_result){.streams = 1, .data_rtt_ns = 20 * MS, .end_signed = true};
}

static void teardown(void)
{
    tl_tcp_result_finish(&result);
}

TestSuite(interrupt, .init = setup, .fini = teardown);

/* Readings every 100 ms to the end; no bytes between from and to. */
static void stream(unsigned index, int64_t end_ns, int64_t from_ns, int64_t to_ns)
{
    struct tl_tcp_sample sample = {.stream = index};
    for (int64_t now_ns = 0; now_ns <= end_ns; now_ns += 100 * MS) {
        sample.time_ns = now_ns;
        if (now_ns <= from_ns || now_ns > to_ns)
            tl_sample_set(&sample, TL_SF_app_bytes, sample.app_bytes + 100000);
        cr_assert(tl_sample_log_add(&result.receiver.logs[index], &sample, 10000) == TL_OK);
    }
    result.elapsed_ns = end_ns;
}

static struct tl_interruptions find(int64_t before_ns)
{
    struct tl_interruptions found;
    tl_interruptions_find(&result, before_ns, &found);
    return found;
}

Test(interrupt, three_seconds_of_silence_are_one)
{
    stream(0, 8 * S, 2 * S, 5 * S);
    struct tl_interruptions found = find(0);
    cr_expect_eq(found.count, 1);
    cr_expect(found.first_ns == 2 * S);
    cr_expect(found.total_ns >= 2900 * MS && found.total_ns <= 3100 * MS);
}

Test(interrupt, a_timer_of_one_stream_is_none)
{
    stream(0, 8 * S, 2 * S, 3 * S);
    cr_expect_eq(find(0).count, 0);
}

Test(interrupt, long_round_trips_need_longer_silence)
{
    result.data_rtt_ns = 600 * MS;
    stream(0, 20 * S, 2 * S, 5 * S);
    cr_expect_eq(find(0).count, 0);
}

Test(interrupt, one_stream_of_two_that_goes_on_shows_the_path_alive)
{
    result.streams = 2;
    stream(0, 8 * S, 2 * S, 5 * S);
    stream(1, 8 * S, 7 * S, 7 * S);
    cr_expect_eq(find(0).count, 0);
}

Test(interrupt, two_streams_that_stand_together_are_one)
{
    result.streams = 2;
    stream(0, 8 * S, 2 * S, 5 * S);
    stream(1, 8 * S, 2200 * MS, 5 * S);
    struct tl_interruptions found = find(0);
    cr_expect_eq(found.count, 1);
    cr_expect(found.first_ns == 2200 * MS);
}

Test(interrupt, a_host_that_stood_still_is_none)
{
    stream(0, 2 * S, 2 * S, 2 * S);
    struct tl_sample_log *log = &result.receiver.logs[0];
    struct tl_tcp_sample sample = log->samples[log->count - 1];
    sample.time_ns = 6 * S;
    sample.app_bytes += 1;
    cr_assert(tl_sample_log_add(log, &sample, 10000) == TL_OK);
    result.elapsed_ns = 6 * S;
    cr_expect_eq(find(0).count, 0);
}

Test(interrupt, silence_before_a_late_end_is_one)
{
    stream(0, 900 * MS, S, S);
    result.elapsed_ns = 4500 * MS;
    struct tl_interruptions found = find(0);
    cr_expect_eq(found.count, 1);
    cr_expect(found.total_ns == 3600 * MS);
}

Test(interrupt, a_transfer_that_never_began_to_flow_is_none)
{
    stream(0, 8 * S, -1, 9 * S);
    cr_expect_eq(find(0).count, 0);
}

Test(interrupt, connections_that_took_long_to_open_are_one)
{
    stream(0, 5 * S, 6 * S, 6 * S);
    cr_expect_eq(find(S).count, 0, "a lost SYN takes a second");
    cr_expect_eq(find(3 * S).count, 1);
}
