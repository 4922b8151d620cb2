/* No responder at the far end: what this host and the path tell without one. */
#include <stdio.h>

#include "session_private.h"
#include "tightlink/probes/reach.h"

bool session_can_go_apart(enum tl_status status)
{
    return status == TL_REFUSED || status == TL_TIMEOUT || status == TL_UNREACHABLE;
}

static void run_near(struct tl_session *session)
{
    struct tl_probe_outcome outcome = {
        .record = {.id = "hosts",
                   .state = TL_STAGE_LIMITED,
                   .reason = "no responder: the far end's settings are not known"}};
    struct tl_error error = {0};
    session_begin_stage(session, "hosts", NULL, 0, tl_stage_at(TL_PLAN_HOSTS)->why);
    if (tl_probe_near(session->host, session->result.facts, &error) != TL_OK) {
        outcome.record.state = TL_STAGE_FAILED;
        snprintf(outcome.record.reason, sizeof outcome.record.reason, "%.255s", error.text);
    }
    session_end_stage(session, &outcome);
}

/* Stages that do without a responder. */
static void run_lonely_stages(struct tl_session *session)
{
    struct tl_error ignored;
    for (int i = 0; i < TL_PLAN_COUNT && !session_is_stopped(session); i++) {
        const struct tl_stage *stage = tl_stage_at((enum tl_plan_stage)i);
        struct tl_plan_step step = {.stage = (enum tl_plan_stage)i, .worth = 2};
        struct tl_stage_cost cost;
        if (!stage->apart || !stage->light || session->plan.skipped[i])
            continue;
        stage->cost(&session->plan, TL_DOWNLOAD, &cost);
        step.duration_ns = cost.time_ns;
        snprintf(step.why, sizeof step.why, "%s", stage->why);
        if (session_run_step(session, &step, &ignored) != TL_OK)
            continue; /* its record says why */
    }
}

/* What stays open is said where a rule or a reader looks for it. */
static void leave_open(struct tl_session *session)
{
    static const enum tl_fact_name names[] = {TL_FACT_FLOW_goodput_bps, TL_FACT_FLOW_retrans_ratio,
                                              TL_FACT_FLOW_snd_wnd_max_bytes};
    for (int d = 0; d < 2; d++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            tl_facts_set_unknown(session->result.facts,
                                 TL_KEY(tl_scope_of((enum tl_direction)d), names[i]),
                                 "no responder at the far end");
}

void session_go_apart(struct tl_session *session, const struct tl_probe_target *target)
{
    struct tl_run *run = &session->result.run;
    struct tl_probe_outcome outcome;
    struct tl_reach reach;
    struct tl_error error = {0};
    tl_events_note(&session->events, "no responder: looking at what can be seen without one");
    run_near(session);
    session_begin_stage(session, "path", NULL, 0, "whether the host answers at all");
    enum tl_status status =
        tl_probe_reach(target, session->cancel_fd, session->result.facts, &reach, &outcome, &error);
    session_end_stage(session, &outcome);
    if (status != TL_OK)
        return;
    /* Another program behind that port is another story, which the connect has told. */
    session->result.answered = tl_reach_answered(&reach) && !reach.open;
    snprintf(run->target_address, sizeof run->target_address, "%.63s", reach.address);
    run->target_family = reach.family;
    run_lonely_stages(session);
    leave_open(session);
}
