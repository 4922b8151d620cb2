/* A run's record: how it begins, what the rules say of it. */
#include "tightlink/session/record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "session_private.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

void tl_record_begin(struct tl_run *run, const char *kind, int64_t begin_ns)
{
    if (tl_ulid_make(run->id) != TL_OK)
        memset(run->id, '0', sizeof run->id - 1);
    tl_time_format_utc(begin_ns, run->started);
    snprintf(run->tool_version, sizeof run->tool_version, "%s", TL_VERSION_TEXT);
    snprintf(run->target_kind, sizeof run->target_kind, "%s", kind);
    run->goal = (struct tl_run_goal){.bps = (double)NAN,
                                     .rtt_ns = (double)NAN,
                                     .bytes = (double)NAN,
                                     .time_ns = (double)NAN,
                                     .loss_ratio = (double)NAN,
                                     .rtt_max_ns = (double)NAN,
                                     .mtu_bytes = (double)NAN};
}

/* The reason stays the run's. */
static struct tl_question question_of(const struct tl_run *run)
{
    return (struct tl_question){
        .download = run->download,
        .upload = run->upload,
        .overheard = tl_run_is_of_others(run),
        .stranger = tl_run_stranger(run),
        .goal_bps = run->goal.bps,
        .goal_rtt_ns = run->goal.rtt_ns,
        .quality = run->quality,
        .quality_reason = run->reason_count ? run->reasons[0] : "",
    };
}

enum tl_status tl_record_judge(const struct tl_rules *rules, struct tl_session_result *result,
                               struct tl_error *reterr)
{
    const struct tl_question question = question_of(&result->run);
    struct tl_findings *findings;
    tl_facts_derive(result->facts);
    enum tl_status status = tl_facts_status(result->facts, reterr);
    if (status != TL_OK) /* a fact without its reason would be told as one that was not tried */
        return status;
    status = tl_rules_judge(rules, result->facts, &question, &findings, reterr);
    if (status != TL_OK)
        return status;
    tl_rules_version(rules, result->rules_version);
    tl_findings_destroy(result->findings);
    result->findings = findings;
    return TL_OK;
}

static void tell_reading(struct tl_session *session)
{
    const struct tl_verdict *verdict = &session->result.findings->verdict;
    const struct tl_run *run = &session->result.run;
    struct tl_event event = {.kind = TL_EVENT_READING,
                             .has_direction = true,
                             .direction = verdict->direction,
                             .bytes = run->sent_bytes + run->received_bytes,
                             .rate_bps = verdict->measured_bps,
                             .verdict = verdict->state,
                             .confidence = verdict->confidence};
    snprintf(event.text, sizeof event.text, "%.255s", verdict->sentence ? verdict->sentence : "");
    tl_events_push(&session->events, &event);
}

enum tl_status session_judge(struct tl_session *session, struct tl_error *reterr)
{
    enum tl_status status = tl_record_judge(session->config.rules, &session->result, reterr);
    if (status != TL_OK)
        return status;
    session->plan.findings = session->result.findings;
    tell_reading(session);
    return TL_OK;
}
