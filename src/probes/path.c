/* Stage path: the idle round trip, by small UDP probes at a low rate. */
#include <stdlib.h>

#include "family.h"
#include "outcome.h"
#include "running.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/client.h"
#include "tightlink/probes/probes.h"

/* Twenty probes in half a second: enough for a median and a minimum, not enough to
 * say much of loss, which the other stages count. */
#define ECHO_COUNT       20
#define ECHO_INTERVAL_NS (25 * TL_NS_PER_MS)

static void set_facts(struct tl_facts *facts, const struct tl_echo_result *echo)
{
    const char *method = "UDP echo, time at the responder taken out";
    tl_facts_set_number(facts, "path.echo_sent_count", echo->sent_count, method);
    tl_facts_set_number(facts, "path.echo_loss_ratio",
                        (double)echo->lost_count / (double)echo->sent_count, method);
    if (echo->answered_count == 0) {
        tl_facts_set_unknown(facts, "path.rtt_idle_ns", "no UDP probe was answered");
        tl_facts_set_unknown(facts, "path.rtt_idle_min_ns", "no UDP probe was answered");
        return;
    }
    tl_facts_set_number(facts, "path.rtt_idle_ns", (double)echo->median_rtt_ns, method);
    tl_facts_set_number(facts, "path.rtt_idle_min_ns", (double)echo->min_rtt_ns, method);
}

enum tl_status tl_probe_path(const struct tl_probe *probe, struct tl_probe_outcome *ret_outcome,
                             struct tl_error *reterr)
{
    struct tl_echo_spec spec = {
        .count = ECHO_COUNT, .interval_ns = ECHO_INTERVAL_NS, .cancel_fd = -1};
    struct tl_error error = {0};
    tl_outcome_begin(ret_outcome, "path");
    struct tl_echo_result *echo = calloc(1, sizeof *echo);
    if (!echo)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    enum tl_status status = tl_client_echo(probe->client, &spec, echo, &error);
    if (status == TL_OK) {
        set_facts(probe->facts, echo);
        ret_outcome->record.sent_bytes = echo->sent_count * TL_WIRE_UDP_PROBE_SIZE;
        ret_outcome->record.received_bytes = echo->answered_count * TL_WIRE_UDP_PROBE_SIZE;
    } else {
        /* TCP goes through: UDP that does not is something to say, not the end. */
        tl_outcome_state(ret_outcome, TL_STAGE_LIMITED, "%s", error.text);
        tl_facts_set_unknown(probe->facts, "path.rtt_idle_ns", "%s", error.text);
        tl_facts_set_unknown(probe->facts, "path.rtt_idle_min_ns", "%s", error.text);
        tl_facts_set_unknown(probe->facts, "path.echo_loss_ratio", "%s", error.text);
    }
    free(echo);
    if (status != TL_CANCELLED) {
        tl_running_watch(probe);
        tl_family_look(probe);
    }
    tl_outcome_end(ret_outcome);
    if (status == TL_TIMEOUT)
        return TL_OK;
    if (status != TL_OK && reterr)
        *reterr = error;
    return status;
}
