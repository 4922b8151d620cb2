/* The other address family: a look at every run, and stage family, its rate. */
#include "family.h"

#include <netdb.h>
#include <stdlib.h>

#include "flow_facts.h"
#include "outcome.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/far.h"
#include "transfer.h"

#define LOOK_NS          TL_NS_PER_S /* what takes longer is broken enough for a note */
#define ECHO_COUNT       8
#define ECHO_INTERVAL_NS (20 * TL_NS_PER_MS)
#define RATE_NS          (4 * TL_NS_PER_S)

static int other_family(const struct tl_probe *probe)
{
    return tl_far_info(probe->far)->family == 6 ? 4 : 6;
}

static const char *family_name(int family)
{
    return family == 6 ? "IPv6" : "IPv4";
}

/* An address has no other family; a name that was asked for one family is not asked again. */
static bool is_name(const char *host)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *found;
    if (getaddrinfo(host, NULL, &hints, &found) != 0)
        return true;
    freeaddrinfo(found);
    return false;
}

static enum tl_status connect_other(const struct tl_probe *probe, int64_t timeout_ns,
                                    struct tl_far **ret_far, struct tl_error *reterr)
{
    const struct tl_probe_target *target = probe->target;
    struct tl_far_options options = {
        .reach = {.host = target->other_host ? target->other_host : target->host,
                  .port = target->port,
                  .family = other_family(probe),
                  .timeout_ns = timeout_ns,
                  .cancel_fd = probe->cancel_fd,
                  .key = target->key,
                  .program = "tightlink " TL_VERSION_TEXT},
        .resource = target->resource ? target->resource : "",
        .login = target->login,
        .proxy = target->proxy};
    return tl_far_connect(target->kind, &options, ret_far, reterr);
}

static void set_none(struct tl_facts *facts, const char *reason)
{
    tl_facts_set_text(facts, TL_PATH(other_family), "none", reason);
    tl_facts_set_unknown(facts, TL_PATH(other_family_works), "%s", reason);
    tl_facts_set_unknown(facts, TL_PATH(other_connect_rtt_ns), "%s", reason);
    tl_facts_set_unknown(facts, TL_PATH(other_rtt_idle_ns), "%s", reason);
}

static void echo_other(struct tl_far *other, struct tl_facts *facts)
{
    struct tl_echo_spec spec = {
        .count = ECHO_COUNT, .interval_ns = ECHO_INTERVAL_NS, .cancel_fd = -1};
    struct tl_error error;
    struct tl_echo_result *echo = calloc(1, sizeof *echo);
    if (echo && tl_far_echo(other, &spec, echo, &error) == TL_OK && echo->answered_count > 0)
        tl_facts_set_number(facts, TL_PATH(other_rtt_idle_ns), (double)echo->median_rtt_ns, "");
    else
        tl_facts_set_unknown(facts, TL_PATH(other_rtt_idle_ns), "no UDP probe was answered");
    free(echo);
}

/* Somebody is there, whatever they answered. */
static bool is_reached(enum tl_status status)
{
    return status != TL_TIMEOUT && status != TL_REFUSED && status != TL_UNREACHABLE &&
           status != TL_CLOSED && status != TL_IO;
}

void tl_family_look(const struct tl_probe *probe)
{
    struct tl_far *other;
    struct tl_error error;
    const struct tl_probe_target *target = probe->target;
    if (!tl_far_can(probe->far, TL_FAR_FAMILY)) {
        set_none(probe->facts, "this kind of far end is measured over one family alone");
        return;
    }
    if (!target || target->family != 0 || (!target->other_host && !is_name(target->host))) {
        set_none(probe->facts, "an address was given, or one family was asked for");
        return;
    }
    enum tl_status status = connect_other(probe, LOOK_NS, &other, &error);
    if (status == TL_NOHOST) {
        set_none(probe->facts, "the name has addresses of one family");
        return;
    }
    if (status == TL_CANCELLED || status == TL_NOMEM)
        return;
    const char *name = family_name(other_family(probe));
    tl_facts_set_text(probe->facts, TL_PATH(other_family), name, "");
    tl_facts_set_bool(probe->facts, TL_PATH(other_family_works), is_reached(status), "");
    if (status != TL_OK) {
        tl_facts_set_unknown(probe->facts, TL_PATH(other_connect_rtt_ns), "%s", error.text);
        tl_facts_set_unknown(probe->facts, TL_PATH(other_rtt_idle_ns), "%s", error.text);
        return;
    }
    tl_facts_set_number(probe->facts, TL_PATH(other_connect_rtt_ns),
                        (double)tl_far_info(other)->connect_rtt_ns, "");
    echo_other(other, probe->facts);
    tl_far_close(other);
}

enum tl_status tl_probe_family(const struct tl_probe *probe, enum tl_direction direction,
                               const struct tl_probe_limits *limits,
                               struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    struct tl_tcp_spec spec = tl_transfer_spec(direction, limits);
    struct tl_tcp_result *result = NULL;
    struct tl_error error = {0};
    /* What the transfer itself notes (interruptions, a stall) is not of the path in use. */
    struct tl_probe on_other = *probe;
    on_other.run = NULL;
    tl_outcome_begin(ret_outcome, "family");
    if (tl_facts_number(probe->facts, TL_PATH(other_family_works), 0) <= 0) {
        tl_outcome_state(ret_outcome, TL_STAGE_NOT_POSSIBLE,
                         "the far end is reached over one family alone");
        tl_outcome_end(ret_outcome);
        return TL_OK;
    }
    on_other.facts = tl_facts_clone(probe->facts);
    enum tl_status status = on_other.facts ? connect_other(probe, 0, &on_other.far, &error)
                                           : tl_error_set(&error, TL_NOMEM, "out of memory");
    if (status == TL_OK) {
        if (spec.duration_ns > RATE_NS)
            spec.duration_ns = RATE_NS;
        status = tl_transfer_run(&on_other, &spec, ret_outcome, &result, &error);
        if (tl_transfer_counts(ret_outcome)) {
            const struct tl_steady_rate *rate = &result->steady.rate;
            double bps = rate->valid ? rate->goodput_bps : rate->whole_bps;
            tl_flow_set(probe->facts, TL_FLOW(direction, other_goodput_bps), bps,
                        "nothing arrived");
        }
        tl_transfer_free(result);
        tl_far_close(on_other.far);
    } else {
        tl_outcome_state(ret_outcome, TL_STAGE_LIMITED, "%s", error.text);
        tl_outcome_end(ret_outcome);
    }
    tl_facts_destroy(on_other.facts);
    /* What fails over the other family is no failure of the run. */
    ret_outcome->trust = (struct tl_trust){0};
    if (status == TL_CANCELLED && reterr)
        *reterr = error;
    return status == TL_CANCELLED ? status : TL_OK;
}
