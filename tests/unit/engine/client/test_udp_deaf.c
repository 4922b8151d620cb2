/* Who is said to be silent where no datagram is answered: UDP alone, or the path. */
#include <string.h>

#include "far_end.h"
#include "tightlink/base/time.h"
#include "udp_relay.h"

static enum tl_status probe_a_deaf_port(struct relay *relay, bool all_deaf, struct tl_error *error)
{
    static struct tl_echo_result result;
    struct far_end far;
    struct tl_echo_spec spec = {.count = 3, .interval_ns = 10 * MS, .cancel_fd = -1};
    start_far(&far, NULL);
    relay_start(relay, far.port);
    struct tl_client *client = dial_within(relay->port, -1, 2000 * MS);
    if (all_deaf)
        atomic_store(&relay->deaf_ns, tl_now_ns());
    enum tl_status status = tl_client_echo(client, &spec, &result, error);
    tl_client_close(client);
    relay_stop(relay);
    stop_far(&far);
    return status;
}

Test(udp_deaf, udp_is_called_blocked_where_tcp_answers, .timeout = 60)
{
    struct relay relay = {.udp_deaf = true};
    struct tl_error error = {0};
    cr_expect_eq(probe_a_deaf_port(&relay, false, &error), TL_TIMEOUT, "%s", error.text);
    cr_expect(strstr(error.text, "does not answer although TCP does"), "%s", error.text);
}

Test(udp_deaf, nobody_is_accused_where_tcp_is_silent_too, .timeout = 60)
{
    struct relay relay = {0};
    struct tl_error error = {0};
    cr_expect_eq(probe_a_deaf_port(&relay, true, &error), TL_CLOSED, "%s", error.text);
    cr_expect(strstr(error.text, "neither UDP nor TCP"), "%s", error.text);
}
