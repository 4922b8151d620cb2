/* One stage: its probe, its events, its record; the owner's commands. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "budget.h"
#include "session_private.h"
#include "tightlink/base/time.h"
#include "tightlink/base/wake.h"

static void on_note(void *context, const char *sentence)
{
    struct tl_session *session = context;
    tl_events_note(&session->events, "%s", sentence);
}

static struct tl_reading reading_of(const struct tl_session *session,
                                    const struct tl_probe_live *live)
{
    struct tl_reading reading = {.has_direction = session->has_direction,
                                 .direction = session->direction,
                                 .elapsed_ns = live->elapsed_ns,
                                 .rate_bps = live->rate_bps,
                                 .rtt_ns = live->rtt_ns,
                                 .bytes = live->bytes,
                                 .retrans_count = live->retrans_count,
                                 .cwnd_bytes = live->cwnd_bytes,
                                 .snd_wnd_bytes = live->snd_wnd_bytes,
                                 .inflight_bytes = (double)NAN,
                                 .app_ratio = live->app_ratio,
                                 .sndbuf_ratio = live->sndbuf_ratio,
                                 .rwnd_ratio = live->rwnd_ratio,
                                 .network_ratio = live->network_ratio};
    snprintf(reading.stage, sizeof reading.stage, "%s", session->stage);
    return reading;
}

static void on_live(void *context, const struct tl_probe_live *live)
{
    struct tl_session *session = context;
    struct tl_reading reading = reading_of(session, live);
    double ratio = 0;
    const char *what = tl_reading_waits_for(&reading, &ratio);
    tl_samples_add(&session->samples, &reading);
    struct tl_event event = {.kind = TL_EVENT_LIVE,
                             .has_direction = session->has_direction,
                             .direction = session->direction,
                             .expected_ns = session->expected_ns,
                             .rate_bps = live->rate_bps,
                             .rtt_ns = live->rtt_ns,
                             .elapsed_ns = live->elapsed_ns,
                             .live = *live};
    snprintf(event.stage, sizeof event.stage, "%s", session->stage);
    if (what)
        snprintf(event.text, sizeof event.text, "%s %.0f %% of the time (not yet confirmed)", what,
                 100 * ratio);
    tl_events_push(&session->events, &event);
}

struct tl_probe session_probe(struct tl_session *session)
{
    return (struct tl_probe){.far = session->far,
                             .target = &session->target,
                             .facts = session->result.facts,
                             .run = &session->result.run,
                             .cancel_fd = session->cancel_fd,
                             .directory = session->config.directory,
                             .far_disk = session->config.far_disk,
                             .live = on_live,
                             .note = on_note,
                             .context = session};
}

void session_begin_stage(struct tl_session *session, const char *id,
                         const enum tl_direction *direction, int64_t expected_ns, const char *why)
{
    session->stage = id;
    session->has_direction = direction != NULL;
    session->direction = direction ? *direction : TL_DOWNLOAD;
    session->expected_ns = (double)expected_ns;
    struct tl_event event = {.kind = TL_EVENT_STAGE_START,
                             .has_direction = session->has_direction,
                             .direction = session->direction,
                             .expected_ns = session->expected_ns};
    snprintf(event.stage, sizeof event.stage, "%s", id);
    snprintf(event.text, sizeof event.text, "%s", why);
    tl_events_push(&session->events, &event);
}

/* What a stage left unknown has a reason from here on: who reads that it would decide must know
 * that it was tried. One that was skipped or cut short may still be run. */
static void explain_facts(struct tl_session *session, const struct tl_stage_record *record)
{
    const enum tl_direction *direction = session->has_direction ? &session->direction : NULL;
    bool told = record->reason[0] != '\0' && record->state != TL_STAGE_DONE;
    if (record->state == TL_STAGE_SKIPPED || record->state == TL_STAGE_LIMITED)
        return;
    tl_facts_explain_stage(session->result.facts, record->id, direction,
                           told ? record->reason : "the stage was run and did not bring it");
}

void session_end_stage(struct tl_session *session, const struct tl_probe_outcome *outcome)
{
    struct tl_run *run = &session->result.run;
    if (run->stage_count < TL_RUN_STAGES_MAX)
        run->stages[run->stage_count++] = outcome->record;
    run->sent_bytes += outcome->record.sent_bytes;
    run->received_bytes += outcome->record.received_bytes;
    tl_trust_lower_run(run, outcome->trust.quality, "%s", outcome->trust.reason);
    explain_facts(session, &outcome->record);
    tl_facts_derive(session->result.facts);
    struct tl_event event = {.kind = TL_EVENT_STAGE_END,
                             .has_direction = session->has_direction,
                             .direction = session->direction,
                             .bytes = run->sent_bytes + run->received_bytes,
                             .record = outcome->record};
    snprintf(event.stage, sizeof event.stage, "%s", outcome->record.id);
    tl_events_push(&session->events, &event);
}

bool session_ends(enum tl_status status)
{
    return status == TL_CANCELLED || status == TL_CLOSED || status == TL_TIMEOUT ||
           status == TL_PROTOCOL || status == TL_INVALID || status == TL_NOMEM || status == TL_AUTH;
}

void session_enter_stage(struct tl_session *session, int stage)
{
    pthread_mutex_lock(&session->commands.lock);
    session->commands.running = stage;
    pthread_mutex_unlock(&session->commands.lock);
}

/* Clears the descriptor that ends a stage, unless a stop came: false then. */
static bool clear_cancel(struct tl_session *session)
{
    uint64_t value;
    if (session_is_stopped(session))
        return false;
    (void)!read(session->cancel_fd, &value, sizeof value);
    if (!session_is_stopped(session))
        return true;
    tl_wake(session->cancel_fd);
    return false;
}

enum tl_status session_leave_stage(struct tl_session *session, enum tl_status status,
                                   struct tl_probe_outcome *outcome)
{
    session_enter_stage(session, -1);
    /* A skip that came when the stage had just ended by itself must not end the next one. */
    bool cleared = clear_cancel(session);
    if (status != TL_CANCELLED)
        return status;
    if (!cleared)
        return TL_CANCELLED;
    outcome->record.state = TL_STAGE_SKIPPED;
    snprintf(outcome->record.reason, sizeof outcome->record.reason, "skipped by you");
    return TL_OK;
}

static void spend(struct tl_session *session, enum tl_plan_stage stage,
                  const struct tl_probe_outcome *outcome, int64_t took_ns)
{
    if (!tl_stage_at(stage)->loads)
        return;
    session->plan.bytes_left -= outcome->record.sent_bytes + outcome->record.received_bytes;
    session->plan.time_left_ns -= tl_budget_spent_ns(&session->config, took_ns, outcome);
}

/* An interruption took the stage's facts: once more, where the budgets allow it. */
static void repeat_if_interrupted(struct tl_session *session, const struct tl_plan_step *step,
                                  const struct tl_probe_outcome *outcome)
{
    bool *repeated = &session->repeated[step->stage][step->direction];
    if (!outcome->interrupted || *repeated)
        return;
    *repeated = true;
    session->plan.done[step->stage][step->direction] = false;
    tl_events_note(&session->events, "%s", outcome->record.reason);
}

/* A stage that was interrupted is measured again for longer, so that a path that fails every few
 * seconds leaves a part of it whole. One whose rate is known ends by itself. */
#define REPEATED_RATIO 1.5

static int64_t length_of(const struct tl_session *session, const struct tl_plan_step *step)
{
    bool repeated = session->repeated[step->stage][step->direction];
    double longer_ns = REPEATED_RATIO * (double)step->duration_ns;
    if (!repeated || longer_ns > (double)session->plan.time_left_ns)
        return step->duration_ns;
    return (int64_t)longer_ns;
}

/* What the user asked for is asked for in every direction of the run. */
static void mark_done(struct tl_session *session, const struct tl_plan_step *step)
{
    struct tl_plan_state *plan = &session->plan;
    bool *done = plan->done[step->stage];
    done[step->direction] = true;
    if (!tl_stage_at(step->stage)->per_direction)
        done[!step->direction] = true;
    if ((done[TL_DOWNLOAD] || !plan->download) && (done[TL_UPLOAD] || !plan->upload))
        plan->forced[step->stage] = false;
}

/* A slow stream that was sent before several connections may have more to tell behind them. */
static void allow_slow_stream_again(struct tl_session *session, const struct tl_plan_step *step)
{
    if (step->stage == TL_PLAN_STREAMS &&
        tl_probe_paced_again(session->result.facts, step->direction))
        session->plan.done[TL_PLAN_PACED][step->direction] = false;
}

void session_announce_step(struct tl_session *session, const struct tl_plan_step *step)
{
    const struct tl_stage *stage = tl_stage_at(step->stage);
    session_stage_changed(session, step->stage, TL_STAGE_RUNS, step->why);
    session_begin_stage(session, stage->id, stage->per_direction ? &step->direction : NULL,
                        step->duration_ns, step->why);
}

/* A user's time holds whatever a far end says of its queue; who set none waits for his turn. */
static void bound_turn(struct tl_session *session, const struct tl_plan_step *step)
{
    int64_t left_ns = session->plan.time_left_ns - step->duration_ns;
    int64_t until_ns = tl_now_ns() + (left_ns > 0 ? left_ns : 0);
    if (session->far)
        tl_probe_wait_turn(session->far, session->config.time_budget_ns > 0 ? until_ns : 0);
}

enum tl_status session_measure_step(struct tl_session *session, const struct tl_plan_step *step,
                                    struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    const struct tl_stage *stage = tl_stage_at(step->stage);
    struct tl_probe probe = session_probe(session);
    struct tl_probe_limits limits = {.duration_ns = length_of(session, step), .bytes = step->bytes};
    session_announce_step(session, step);
    session_enter_stage(session, (int)step->stage);
    bound_turn(session, step);
    tl_watch_begin(session->watch);
    enum tl_status status = stage->load
                                ? stage->load(&probe, step->direction, &limits, ret_outcome, reterr)
                                : stage->light(&probe, ret_outcome, reterr);
    if (stage->light && status == TL_OK && ret_outcome->interrupted)
        session_keep_gap(session, ret_outcome);
    tl_watch_judge(session->watch, ret_outcome);
    return session_leave_stage(session, status, ret_outcome);
}

void session_finish_step(struct tl_session *session, const struct tl_plan_step *step,
                         const struct tl_probe_outcome *outcome)
{
    session_end_stage(session, outcome);
    mark_done(session, step);
    repeat_if_interrupted(session, step, outcome);
    allow_slow_stream_again(session, step);
    session_stage_changed(session, step->stage, TL_STAGE_ENDED, outcome->record.reason);
}

enum tl_status session_run_step(struct tl_session *session, const struct tl_plan_step *step,
                                struct tl_error *reterr)
{
    struct tl_probe_outcome outcome = {0};
    int64_t begun_ns = tl_now_ns();
    enum tl_status status = session_measure_step(session, step, &outcome, reterr);
    status = session_redial(session, status, &outcome);
    session_finish_step(session, step, &outcome);
    spend(session, step->stage, &outcome, tl_now_ns() - begun_ns);
    return status;
}

void session_set_bytes(struct tl_session *session, int64_t bytes)
{
    session->plan.bytes_left += bytes - session->budget_bytes;
    session->budget_bytes = bytes;
}

/* True while the owner wants us to wait. */
static bool take_over(struct tl_session *session)
{
    struct tl_commands *commands = &session->commands;
    struct tl_plan_state *plan = &session->plan;
    pthread_mutex_lock(&commands->lock);
    for (int i = 0; i < TL_PLAN_COUNT; i++) {
        plan->skipped[i] = commands->skip >> i & 1;
        if (commands->redo >> i & 1) {
            plan->forced[i] = true;
            plan->done[i][TL_DOWNLOAD] = plan->done[i][TL_UPLOAD] = false;
        }
    }
    commands->redo = 0;
    if (commands->time_ns > 0) {
        plan->time_left_ns += commands->time_ns - session->budget_time_ns;
        session->budget_time_ns = session->config.time_budget_ns = commands->time_ns;
        plan->open_ns = 0;
    }
    if (commands->bytes > 0) {
        session_set_bytes(session, commands->bytes);
        session->budget_set = true;
    }
    commands->time_ns = commands->bytes = 0;
    bool paused = commands->paused;
    pthread_mutex_unlock(&commands->lock);
    return paused;
}

void session_take_commands(struct tl_session *session)
{
    bool told = false;
    while (take_over(session) && !session_is_stopped(session)) {
        struct pollfd fds[] = {{.fd = session->wake_fd, .events = POLLIN},
                               {.fd = session->cancel_fd, .events = POLLIN}};
        struct tl_event event = {.kind = TL_EVENT_PAUSED};
        uint64_t value;
        if (!told)
            tl_events_push(&session->events, &event);
        told = true;
        while (poll(fds, 2, -1) < 0 && errno == EINTR)
            continue;
        (void)!read(session->wake_fd, &value, sizeof value);
    }
    if (told)
        tl_events_note(&session->events, "going on");
}
