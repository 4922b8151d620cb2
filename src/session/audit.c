/* The audit: this host's facts, without a session. */
#include "tightlink/session/audit.h"

#include "tightlink/probes/probes.h"

enum tl_status tl_session_audit_alone(struct tl_facts *facts, struct tl_error *reterr)
{
    struct tl_probe probe = {.facts = facts, .cancel_fd = -1};
    struct tl_probe_outcome outcome = {0};
    return tl_probe_calibrate(&probe, &outcome, reterr);
}

enum tl_status tl_session_audit(const char *host, struct tl_facts **ret_facts,
                                struct tl_error *reterr)
{
    struct tl_target target;
    enum tl_status status = host ? tl_target_parse(host, &target, reterr) : TL_OK;
    if (status != TL_OK)
        return status;
    struct tl_facts *facts = tl_facts_create();
    if (!facts)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    status = tl_probe_near(host ? target.host : NULL, facts, reterr);
    if (status == TL_OK)
        tl_facts_derive(facts);
    if (status == TL_OK)
        status = tl_facts_status(facts, reterr);
    if (status == TL_OK)
        *ret_facts = facts;
    else
        tl_facts_destroy(facts);
    return status;
}
