/* Predict, try, score: the verdict's remedy in our own sockets, measured again. */
#include <math.h>
#include <stdio.h>

#include "session_private.h"
#include "tightlink/base/units.h"
#include "tightlink/probes/trial.h"
#include "tightlink/rules/verdict.h"

/* A rate seen with other means is not even a lower bound for another congestion control. */
static bool promises(const struct tl_findings *findings, const struct tl_remedy *remedy)
{
    return remedy->predicted.bps > 0 &&
           (remedy->trial.kind != TL_TRIAL_CC || findings->verdict.next_cause);
}

const struct tl_remedy *tl_session_trial_remedy(const struct tl_findings *findings,
                                                const char **ret_why)
{
    const struct tl_finding *finding = tl_findings_verdict(findings);
    *ret_why = "the rules know no remedy that a program could try in its own sockets";
    for (size_t i = 0; finding && i < finding->remedy_count; i++) {
        const struct tl_remedy *remedy = &finding->remedies[i];
        if (remedy->trial.kind == TL_TRIAL_NONE ||
            !(remedy->trial.name[0] || isfinite(remedy->trial.value)))
            continue;
        if (promises(findings, remedy))
            return remedy;
        *ret_why = "nobody knows what the remedy brings: the next rung is missing";
    }
    return NULL;
}

static void refuse(struct tl_session *session, enum tl_stage_state state, const char *why)
{
    struct tl_probe_outcome outcome = {.record = {.id = "verify", .state = state}};
    snprintf(outcome.record.reason, sizeof outcome.record.reason, "%s", why);
    session_begin_stage(session, "verify", NULL, 0, tl_stage_at(TL_PLAN_VERIFY)->why);
    session_end_stage(session, &outcome);
}

/* The other address family is another connection. */
static enum tl_status other_family(struct tl_session *session, const struct tl_trial *trial,
                                   struct tl_far **ret_far, struct tl_error *reterr)
{
    struct tl_probe_target target = session->target;
    target.family = (int)trial->value;
    struct tl_run ignored = {0};
    struct tl_facts *facts = tl_facts_create();
    if (!facts)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    enum tl_status status =
        tl_probe_connect(&target, session->cancel_fd, facts, ret_far, &ignored, reterr);
    tl_facts_destroy(facts);
    return status;
}

static void record(struct tl_session *session, const struct tl_finding *finding,
                   const struct tl_remedy *remedy, const struct tl_trial_result *tried)
{
    static const char *const words[TL_SCORES] = {[TL_SCORE_MISS] = "MISS",
                                                 [TL_SCORE_HIT] = "HIT",
                                                 [TL_SCORE_INSIDE] = "INSIDE the range",
                                                 [TL_SCORE_BOUND] = "no number was promised"};
    struct tl_run *run = &session->result.run;
    char before[TL_UNIT_TEXT_SIZE], after[TL_UNIT_TEXT_SIZE];
    if (run->verified_count == TL_RUN_VERIFIED_MAX)
        return;
    struct tl_verified_record *verified = &run->verified[run->verified_count++];
    *verified = (struct tl_verified_record){
        .direction = finding->direction,
        .predicted = remedy->predicted,
        .measured_bps = tried->goodput_bps,
        .score = tl_prediction_score(&remedy->predicted, tried->goodput_bps)};
    snprintf(verified->rule, sizeof verified->rule, "%s", finding->rule);
    snprintf(verified->what, sizeof verified->what, "%s", tried->what);
    tl_events_note(
        &session->events, "%s with %s: %s%s predicted, %s measured", words[verified->score],
        tried->what, isinf(remedy->predicted.high_bps) ? "at least " : "",
        tl_format_bps(remedy->predicted.bps, before), tl_format_bps(tried->goodput_bps, after));
}

enum tl_status session_try_remedy(struct tl_session *session, struct tl_error *reterr)
{
    const struct tl_findings *findings = session->result.findings;
    const struct tl_finding *finding = tl_findings_verdict(findings);
    const char *why;
    const struct tl_remedy *remedy = tl_session_trial_remedy(findings, &why);
    if (findings->verdict.state != TL_LIMITED)
        why = "there is no verdict whose remedy could be tried";
    if (!remedy) {
        refuse(session, TL_STAGE_NOT_POSSIBLE, why);
        return TL_OK;
    }
    if (session->plan.bytes_left <= 0) {
        refuse(session, TL_STAGE_SKIPPED, "the data budget is spent");
        return TL_OK;
    }
    struct tl_stage_cost cost;
    tl_stage_at(TL_PLAN_VERIFY)->cost(&session->plan, finding->direction, &cost);
    struct tl_probe_limits limits = {.duration_ns = cost.time_ns,
                                     .bytes = session->plan.bytes_left};
    struct tl_probe probe = session_probe(session);
    struct tl_far *other = NULL;
    struct tl_probe_outcome outcome = {0};
    struct tl_trial_result tried = {.goodput_bps = (double)NAN};
    enum tl_status status = TL_OK;
    enum tl_direction direction = finding->direction;
    session_begin_stage(session, "verify", &direction, cost.time_ns, remedy->does);
    if (remedy->trial.kind == TL_TRIAL_FAMILY)
        status = other_family(session, &remedy->trial, &other, reterr);
    if (other)
        probe.far = other;
    tl_watch_begin(session->watch);
    session_enter_stage(session, TL_PLAN_VERIFY);
    if (status == TL_OK)
        status = tl_probe_trial(&probe, direction, &limits, &remedy->trial, remedy->predicted.bps,
                                &outcome, &tried, reterr);
    tl_watch_judge(session->watch, &outcome);
    tl_probe_disconnect(other);
    status = session_leave_stage(session, status, &outcome);
    snprintf(outcome.record.id, sizeof outcome.record.id, "verify");
    session_end_stage(session, &outcome);
    /* A kernel that did not grant the buffer gave no trial, unless the rate is there anyway. */
    if (isfinite(tried.goodput_bps) &&
        (outcome.record.state == TL_STAGE_DONE ||
         tried.goodput_bps >= (1 - TL_HIT_RATIO) * remedy->predicted.bps))
        record(session, finding, remedy, &tried);
    return status;
}
