/* What a far end tells of a download, against what this PC saw of it. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ends.h"
#include "tightlink/base/time.h"

static const double ms = (double)TL_NS_PER_MS;

/* A download that nothing speaks against. */
static struct tl_tcp_result *honest(void)
{
    struct tl_tcp_result *result = calloc(1, sizeof *result);
    cr_assert_not_null(result);
    result->streams = 1;
    result->steady.sender.rtt_min_ns = 20 * ms;
    result->steady.sender.retrans_count = 40;
    result->steady.sender.loss_event_count = 30;
    result->steady.receiver.ooo_count = 35;
    result->steady.receiver.rcv_wnd_max_bytes = 3e6;
    return result;
}

static enum tl_quality judged(const struct tl_tcp_result *result, double seen_ns, const char *word)
{
    struct tl_probe_outcome outcome = {0};
    struct tl_echo_load load = {.rtt_median_ns = seen_ns};
    tl_ends_judge(&outcome, result, &load);
    cr_expect(strstr(outcome.quality_reason, word) != NULL, "\"%s\" lacks \"%s\"",
              outcome.quality_reason, word);
    return outcome.quality;
}

Test(ends, what_fits_is_believed)
{
    struct tl_tcp_result *result = honest();
    cr_expect_eq(judged(result, 25 * ms, ""), TL_QUALITY_VALID);
    cr_expect_eq(judged(result, (double)NAN, ""), TL_QUALITY_VALID, "no probe was answered");
    result->steady.sender.rtt_min_ns = 60 * ms; /* each acknowledgement was delayed */
    cr_expect_eq(judged(result, 20 * ms, ""), TL_QUALITY_VALID);
    result->steady.sender.rtt_min_ns = result->steady.sender.retrans_count = (double)NAN;
    cr_expect_eq(judged(result, 20 * ms, ""), TL_QUALITY_VALID, "it tells nothing");
    free(result);
}

Test(ends, a_round_trip_that_nobody_else_saw_is_not_believed)
{
    struct tl_tcp_result *result = honest();
    result->steady.sender.rtt_min_ns = 900 * ms;
    cr_expect_eq(judged(result, 25 * ms, "shortest round trip of 900"), TL_QUALITY_INVALID);
    result->near_sends = true; /* then it is this PC's own */
    cr_expect_eq(judged(result, 25 * ms, ""), TL_QUALITY_VALID);
    free(result);
}

Test(ends, losses_without_a_hole_here_weigh_less)
{
    struct tl_tcp_result *result = honest();
    result->steady.receiver.ooo_count = 0;
    cr_expect_eq(judged(result, 25 * ms, "40 packets sent again"), TL_QUALITY_DEGRADED);
    result->steady.sender.dsack_count = 35; /* sent again without need: nothing was lost */
    cr_expect_eq(judged(result, 25 * ms, ""), TL_QUALITY_VALID);
    result->steady.sender.dsack_count = 0;
    result->steady.sender.loss_event_count = 2; /* flights that were lost whole */
    cr_expect_eq(judged(result, 25 * ms, ""), TL_QUALITY_VALID);
    result->steady.sender.loss_event_count = 30;
    result->steady.receiver.ooo_count = (double)NAN;
    cr_expect_eq(judged(result, 25 * ms, ""), TL_QUALITY_VALID, "this kernel does not tell");
    free(result);
}

Test(ends, the_window_offered_is_known_of_this_pc_alone)
{
    struct tl_tcp_result *result = honest();
    struct tl_facts *facts = tl_facts_create();
    cr_assert_not_null(facts);
    tl_ends_set(facts, TL_DOWNLOAD, result);
    cr_expect_eq(tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, receiver_offered_bytes), -1), 3e6);
    result->near_sends = true;
    tl_ends_set(facts, TL_UPLOAD, result);
    cr_expect_eq(tl_facts_number(facts, TL_FLOW(TL_UPLOAD, receiver_offered_bytes), -1), -1);
    tl_facts_destroy(facts);
    free(result);
}
