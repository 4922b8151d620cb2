/* How long a train of UDP probes waits for answers behind its last one. */
#include "far_end.h"
#include "udp_relay.h"

#define PROBES 5

static struct tl_echo_result result;

/* Five probes, 10 ms apart; the answer to the last one comes late_ns later than it would. */
static void run_late(int64_t late_ns, int64_t wait_ns)
{
    struct far_end far;
    struct tl_error error = {0};
    struct relay relay = {.reply_late_at = PROBES, .reply_late_ns = late_ns};
    struct tl_echo_spec spec = {
        .count = PROBES, .interval_ns = 10 * MS, .wait_ns = wait_ns, .cancel_fd = -1};
    start_far(&far, NULL);
    relay_start(&relay, far.port);
    struct tl_client *client = dial(relay.port, -1);
    enum tl_status status = tl_client_echo(client, &spec, &result, &error);
    cr_assert_eq(status, TL_OK, "%s", error.text);
    tl_client_close(client);
    relay_stop(&relay);
    stop_far(&far);
}

Test(echo_patience, an_answer_within_what_a_busy_end_adds_is_waited_for, .timeout = 60)
{
    run_late(150 * MS, 0);
    cr_expect_eq(result.answered_count, PROBES);
    cr_expect_eq(result.lost_count, 0);
    cr_expect_geq(result.probes[PROBES - 1].rtt_ns, 150 * MS);
}

/* A minute: a machine that holds everything up for that long is no machine. */
Test(echo_patience, one_that_does_not_come_holds_up_nobody, .timeout = 50)
{
    run_late(60000 * MS, 0);
    cr_expect_eq(result.answered_count, PROBES - 1);
    cr_expect_eq(result.lost_count, 1);
}

Test(echo_patience, who_names_a_wait_has_it, .timeout = 60)
{
    run_late(800 * MS, 20000 * MS); /* beyond what it would wait by itself */
    cr_expect_eq(result.answered_count, PROBES);
}
