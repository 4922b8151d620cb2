/* Which kind of far end it is, and what that one cannot do. */
#include <stdio.h>
#include <string.h>

#include "session_private.h"
#include "tightlink/base/far.h"
#include "tightlink/probes/discover.h"

static uint16_t port_of(const struct tl_session *session, enum tl_far_kind kind)
{
    uint16_t responder = tl_far_row(TL_FAR_TIGHTLINK)->port;
    if (session->named.port > 0)
        return session->named.port;
    return session->config.port > 0 && session->config.port != responder ? session->config.port
                                                                         : tl_far_row(kind)->port;
}

static void aim(struct tl_session *session, enum tl_far_kind kind, uint16_t port)
{
    session->target = (struct tl_probe_target){.host = session->host,
                                               .other_host = session->config.other_host,
                                               .port = port,
                                               .family = session->config.family,
                                               .key = session->config.key,
                                               .kind = kind,
                                               .resource = session->named.resource,
                                               .login = session->config.login};
    session->plan.far = kind;
}

static enum tl_status dial(struct tl_session *session, struct tl_error *reterr)
{
    struct tl_session_result *result = &session->result;
    return tl_probe_connect(&session->target, session->cancel_fd, result->facts, &session->far,
                            &result->run, reterr);
}

/* Other kinds are looked for where nobody said which one it is, at their own ports. */
static bool may_look(const struct tl_session *session, enum tl_status refused)
{
    return session_can_go_apart(refused) && session->named.kind == TL_FAR_KIND_COUNT &&
           session->target.port == tl_far_row(TL_FAR_TIGHTLINK)->port && !session->config.prior;
}

/* What this kind leaves untested, as one sentence before the user is asked. */
static void tell_kind(struct tl_session *session, const char *how)
{
    const struct tl_far_row *row = tl_far_row(session->target.kind);
    session_note(session,
                 "%s %s, port %u: what only a tightlink responder there would tell stays open "
                 "(its settings%s%s)",
                 how, row->what, session->target.port,
                 row->can & TL_FAR_SENDER ? "" : ", what its TCP waits for when it sends",
                 row->can & TL_FAR_UDP ? "" : ", what becomes of datagrams");
}

/* Where a responder does not answer: what else does, the first of the table's order. */
static enum tl_status look(struct tl_session *session, enum tl_status refused,
                           struct tl_error *reterr)
{
    enum tl_far_kind kind;
    struct tl_error error = {0};
    session_note(session, "no tightlink responder answers: looking for another kind of far end");
    enum tl_status status = tl_probe_discover(&session->target, session->cancel_fd, &kind, &error);
    if (status == TL_OK) {
        aim(session, kind, tl_far_row(kind)->port);
        status = dial(session, &error);
    }
    if (status == TL_OK) {
        tell_kind(session, "found");
        return TL_OK;
    }
    aim(session, TL_FAR_TIGHTLINK, session->target.port);
    if (status != TL_CANCELLED)
        return refused; /* and its sentence */
    *reterr = error;
    return status;
}

enum tl_status session_connect(struct tl_session *session, struct tl_error *reterr)
{
    enum tl_far_kind named = session->named.kind;
    enum tl_far_kind kind = named == TL_FAR_KIND_COUNT ? TL_FAR_TIGHTLINK : named;
    struct tl_run *run = &session->result.run;
    struct tl_error error = {0};
    aim(session, kind, port_of(session, kind));
    enum tl_status status = dial(session, &error);
    if (status == TL_OK && kind != TL_FAR_TIGHTLINK)
        tell_kind(session, "this is");
    if (may_look(session, status))
        status = look(session, status, &error);
    if (strcmp(session->target_kind, "tightlink") == 0)
        snprintf(run->target_kind, sizeof run->target_kind, "%s",
                 tl_far_row(session->target.kind)->id);
    if (status != TL_OK && reterr)
        *reterr = error;
    return status;
}

void session_explain_lacks(struct tl_session *session)
{
    char why[TL_PLAN_LACK_SIZE];
    for (int i = 0; i < TL_PLAN_COUNT; i++) {
        const struct tl_stage *stage = tl_stage_at((enum tl_plan_stage)i);
        const unsigned can = tl_far_row(session->plan.far)->can;
        for (int d = TL_DOWNLOAD; d <= TL_UPLOAD; d++) {
            enum tl_direction direction = (enum tl_direction)d;
            if ((stage->far[d] & ~can) &&
                tl_plan_lacks(&session->plan, (enum tl_plan_stage)i, direction, why))
                tl_facts_explain_stage(session->result.facts, stage->id,
                                       stage->per_direction ? &direction : NULL, why);
        }
    }
}
