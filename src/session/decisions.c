/* What the plan decided: as records of the run, and as the list that a screen shows. */
#include <math.h>
#include <stdio.h>

#include "session_private.h"

void session_stage_changed(struct tl_session *session, enum tl_plan_stage stage,
                           enum tl_event_stage_state state, const char *why)
{
    struct tl_stage_cost cost;
    tl_stage_at(stage)->cost(&session->plan, TL_DOWNLOAD, &cost);
    struct tl_event event = {.kind = TL_EVENT_PLAN,
                             .stage_state = state,
                             .expected_ns = (double)cost.time_ns,
                             .worst_bytes = cost.bytes};
    snprintf(event.stage, sizeof event.stage, "%s", tl_plan_stage_id(stage));
    snprintf(event.text, sizeof event.text, "%.255s", why);
    tl_events_push(&session->events, &event);
}

/* All stages, each once. */
void session_list_stages(struct tl_session *session)
{
    struct tl_plan_weight weights[TL_PLAN_WEIGHTS_MAX];
    size_t count = tl_plan_weigh(&session->plan, weights);
    int last = -1;
    for (size_t i = 0; i < count; i++) {
        enum tl_plan_stage stage = weights[i].stage;
        bool possible = weights[i].eligible;
        if ((int)stage == last)
            continue;
        last = (int)stage;
        session_stage_changed(session, stage, possible ? TL_STAGE_WAITS : TL_STAGE_OFF,
                              possible ? tl_stage_at(stage)->why : weights[i].why);
    }
}

/* There is room for it. */
static struct tl_plan_record *add_record(struct tl_run *run, enum tl_plan_stage stage,
                                         enum tl_direction direction, const char *why)
{
    struct tl_plan_record *record = &run->plan[run->plan_count++];
    *record = (struct tl_plan_record){.has_direction = tl_stage_at(stage)->per_direction,
                                      .direction = direction,
                                      .worth = (double)NAN};
    snprintf(record->stage, sizeof record->stage, "%s", tl_plan_stage_id(stage));
    snprintf(record->why, sizeof record->why, "%s", why);
    return record;
}

void session_record_choice(struct tl_session *session, const struct tl_plan_step *step)
{
    struct tl_run *run = &session->result.run;
    if (run->plan_count == TL_RUN_PLAN_MAX)
        return;
    struct tl_plan_record *record = add_record(run, step->stage, step->direction, step->why);
    record->chosen = true;
    record->time_ns = step->duration_ns;
    record->bytes = step->bytes;
    if (step->worth <= 1)
        record->worth = step->worth;
}

/* A missing stage without a reason looks like one that was not worth it. */
static void add_missing_stage(struct tl_run *run, const char *id, enum tl_stage_state state,
                              const char *why, const char *what)
{
    if (run->stage_count == TL_RUN_STAGES_MAX)
        return;
    struct tl_stage_record *record = &run->stages[run->stage_count++];
    *record = (struct tl_stage_record){.state = state};
    snprintf(record->id, sizeof record->id, "%s", id);
    snprintf(record->reason, sizeof record->reason, "%.90s%s%.150s%s", why, what[0] ? " (" : "",
             what, what[0] ? ")" : "");
}

/* Where more time or traffic would have let it go on. */
static void note_lack_of_budget(struct tl_session *session, const char *why)
{
    struct tl_plan_state rich = session->plan;
    struct tl_plan_step step;
    rich.time_left_ns = rich.bytes_left = INT64_MAX;
    if (!tl_plan_next(&rich, &step))
        return;
    add_missing_stage(&session->result.run, tl_plan_stage_id(step.stage), TL_STAGE_SKIPPED, why,
                      step.why);
    if (step.stage != TL_PLAN_STREAM)
        return;
    struct tl_fact_key id = TL_FLOW(step.direction, goodput_bps);
    tl_facts_set_unknown(session->result.facts, id, "%s", why);
}

void session_record_rest(struct tl_session *session, const char *why_ended)
{
    struct tl_plan_weight weights[TL_PLAN_WEIGHTS_MAX];
    struct tl_run *run = &session->result.run;
    size_t count = tl_plan_weigh(&session->plan, weights);
    for (size_t i = 0; i < count && run->plan_count < TL_RUN_PLAN_MAX; i++) {
        const struct tl_plan_weight *weight = &weights[i];
        if (weight->stage == TL_PLAN_VERIFY && session->config.verify)
            continue;
        bool wanted = weight->worth >= TL_PLAN_WORTH_MIN;
        const char *why = weight->eligible && wanted ? why_ended : weight->why;
        struct tl_plan_record *record = add_record(run, weight->stage, weight->direction, why);
        record->time_ns = weight->most.time_ns;
        record->bytes = weight->most.bytes;
        if (weight->worth <= 1 && weight->cost > 0)
            record->worth = weight->worth;
        if (session->plan.skipped[weight->stage])
            add_missing_stage(run, tl_plan_stage_id(weight->stage), TL_STAGE_SKIPPED, why, "");
        else if (!weight->eligible && wanted)
            add_missing_stage(run, tl_plan_stage_id(weight->stage), TL_STAGE_NOT_POSSIBLE, why,
                              tl_stage_at(weight->stage)->why);
    }
    note_lack_of_budget(session, why_ended);
}
