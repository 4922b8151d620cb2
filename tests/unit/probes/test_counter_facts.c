/* Whose traffic it was that passed the interface. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "counter_facts.h"

static struct tl_tcp_result *result;

static void setup(void)
{
    result = calloc(1, sizeof *result);
    cr_assert(result != NULL);
    result->steady.sender_whole.mss_bytes = 1448;
}

static void teardown(void)
{
    free(result);
}

TestSuite(counter_facts, .init = setup, .fini = teardown);

static void arrive(double link_bytes, uint64_t read_bytes, double sent_bytes)
{
    result->receiver.counters.values[TL_HOST_COUNTER_LINK_RX_BYTES] =
        (struct tl_host_value){TL_HOST_WHY_KNOWN, link_bytes};
    result->receiver.bytes = read_bytes;
    result->steady.sender_whole.sent_bytes = sent_bytes;
}

Test(counter_facts, what_nobody_here_asked_for_is_others)
{
    arrive(20e6, 10000000, 10e6);
    double ratio = tl_other_traffic(result, false);
    cr_assert_float_eq(ratio, 0.47, 0.01, "%g", ratio);
}

Test(counter_facts, data_behind_a_hole_is_ours_though_the_program_has_not_seen_it)
{
    arrive(9.5e6, 4300000, 9.1e6);
    double ratio = tl_other_traffic(result, false);
    cr_assert_eq(ratio, 0, "%g", ratio);
}

Test(counter_facts, without_a_counter_nothing_is_said)
{
    arrive(9.5e6, 4300000, 9.1e6);
    result->receiver.counters.values[TL_HOST_COUNTER_LINK_RX_BYTES].why = TL_HOST_WHY_NOT_READ;
    cr_assert(isnan(tl_other_traffic(result, false)));
}
