/* The session's worker: connect, light stages, consent, then what the plan wants.
 *
 * Also the owner's side: create, start, stop, finish. The worker owns the facts and
 * the run until it has ended; the owner reads them afterwards. */
#include "tightlink/session/session.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "budget.h"
#include "events.h"
#include "plan.h"
#include "segments.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/probes/probes.h"
#include "tightlink/probes/watch.h"
#include "tightlink/session/question.h"

struct tl_session {
    struct tl_session_config config; /* texts point into the fields below */
    char host[256], target_name[256], target_kind[16];

    pthread_t thread;
    bool started, joined;
    int cancel_fd, consent_fd; /* eventfds; consent: 1 no, 2 yes */
    atomic_bool stopped;
    struct tl_events events;

    /* The worker's own. */
    struct tl_session_result result;
    struct tl_client *client;
    struct tl_watch *watch;
    struct tl_plan_state plan;
    int64_t start_ns;
    const char *stage; /* the running one, for live events */
    bool has_direction;
    enum tl_direction direction;
};

static void push(struct tl_session *session, struct tl_event *event)
{
    tl_events_push(&session->events, event);
}

static void push_note(void *context, const char *sentence)
{
    struct tl_event event = {.kind = TL_EVENT_NOTE};
    snprintf(event.text, sizeof event.text, "%s", sentence);
    push(context, &event);
}

static void push_live(void *context, const struct tl_probe_live *live)
{
    struct tl_session *session = context;
    struct tl_event event = {.kind = TL_EVENT_LIVE,
                             .has_direction = session->has_direction,
                             .direction = session->direction,
                             .rate_bps = live->rate_bps,
                             .rtt_ns = live->rtt_ns,
                             .elapsed_ns = live->elapsed_ns};
    snprintf(event.stage, sizeof event.stage, "%s", session->stage);
    push(session, &event);
}

static void begin_stage(struct tl_session *session, const char *id,
                        const enum tl_direction *direction, int64_t expected_ns)
{
    session->stage = id;
    session->has_direction = direction != NULL;
    session->direction = direction ? *direction : TL_DOWNLOAD;
    struct tl_event event = {.kind = TL_EVENT_STAGE_START,
                             .has_direction = session->has_direction,
                             .direction = session->direction,
                             .expected_ns = (double)expected_ns};
    snprintf(event.stage, sizeof event.stage, "%s", id);
    push(session, &event);
}

/* The run is as good as its worst stage; reasons are kept while there is room. */
static void add_quality(struct tl_run *run, enum tl_quality quality, const char *reason)
{
    if (quality == TL_QUALITY_VALID)
        return;
    if (quality > run->quality)
        run->quality = quality;
    for (int i = 0; i < run->reason_count; i++)
        if (strcmp(run->reasons[i], reason) == 0)
            return;
    if (run->reason_count < TL_RUN_REASONS_MAX)
        snprintf(run->reasons[run->reason_count++], sizeof run->reasons[0], "%.255s", reason);
}

static void end_stage(struct tl_session *session, const struct tl_probe_outcome *outcome)
{
    struct tl_run *run = &session->result.run;
    if (run->stage_count < TL_RUN_STAGES_MAX)
        run->stages[run->stage_count++] = outcome->record;
    run->sent_bytes += outcome->record.sent_bytes;
    run->received_bytes += outcome->record.received_bytes;
    add_quality(run, outcome->quality, outcome->quality_reason);
    tl_facts_derive(session->result.facts);
    struct tl_event event = {.kind = TL_EVENT_STAGE_END,
                             .has_direction = session->has_direction,
                             .direction = session->direction,
                             .record = outcome->record};
    snprintf(event.stage, sizeof event.stage, "%s", outcome->record.id);
    push(session, &event);
}

static struct tl_probe make_probe(struct tl_session *session)
{
    return (struct tl_probe){.client = session->client,
                             .facts = session->result.facts,
                             .cancel_fd = session->cancel_fd,
                             .live = push_live,
                             .note = push_note,
                             .context = session};
}

/* A stage that failed ends the session when its connection is gone or the user wants it. */
static bool ends_session(enum tl_status status)
{
    return status == TL_CANCELLED || status == TL_CLOSED || status == TL_TIMEOUT ||
           status == TL_PROTOCOL || status == TL_INVALID || status == TL_NOMEM;
}

static enum tl_status run_light_stages(struct tl_session *session, struct tl_error *reterr)
{
    struct tl_probe probe = make_probe(session);
    struct tl_probe_outcome outcome;
    begin_stage(session, "hosts", NULL, TL_NS_PER_S / 2);
    enum tl_status status = tl_probe_hosts(&probe, &outcome, reterr);
    end_stage(session, &outcome);
    if (ends_session(status))
        return status;
    begin_stage(session, "path", NULL, TL_NS_PER_S);
    status = tl_probe_path(&probe, &outcome, reterr);
    end_stage(session, &outcome);
    return ends_session(status) ? status : TL_OK;
}

static enum tl_status judge(struct tl_session *session, struct tl_error *reterr)
{
    struct tl_question question;
    struct tl_findings *findings;
    tl_question_of_run(&session->result.run, &question);
    enum tl_status status = tl_facts_status(session->result.facts);
    if (status == TL_OK)
        status = tl_rules_judge(session->config.rules, session->result.facts, &question, &findings,
                                reterr);
    if (status != TL_OK)
        return status;
    tl_findings_destroy(session->result.findings);
    session->result.findings = findings;
    session->plan.findings = findings;
    return TL_OK;
}

/* Asks the owner; TL_CANCELLED when stopped or refused (*ret_refused tells which). */
static enum tl_status ask_consent(struct tl_session *session, const struct tl_budget *budget,
                                  bool *ret_refused)
{
    struct tl_event event = {.kind = TL_EVENT_CONSENT,
                             .worst_bytes = budget->bytes,
                             .expected_ns = (double)budget->time_ns};
    snprintf(event.text, sizeof event.text, "%s", budget->sentence);
    push(session, &event);
    struct pollfd fds[] = {{.fd = session->consent_fd, .events = POLLIN},
                           {.fd = session->cancel_fd, .events = POLLIN}};
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        ;
    uint64_t answer = 0;
    if (!(fds[1].revents & POLLIN) && read(session->consent_fd, &answer, sizeof answer) < 0)
        answer = 0;
    *ret_refused = answer == 1;
    return answer == 2 ? TL_OK : TL_CANCELLED;
}

static enum tl_status run_step(struct tl_session *session, const struct tl_plan_step *step,
                               struct tl_error *reterr)
{
    static tl_probe_load_fn *const stages[] = {
        [TL_PLAN_STREAM] = tl_probe_stream,
        [TL_PLAN_WINDOW] = tl_probe_window,
        [TL_PLAN_STREAMS] = tl_probe_streams,
        [TL_PLAN_PACED] = tl_probe_paced,
    };
    struct tl_probe probe = make_probe(session);
    struct tl_probe_limits limits = {.duration_ns = step->duration_ns, .bytes = step->bytes};
    struct tl_probe_outcome outcome;
    push_note(session, step->why);
    begin_stage(session, tl_plan_stage_id(step->stage), &step->direction, step->duration_ns);
    int64_t begun_ns = tl_now_ns();
    tl_watch_begin(session->watch);
    enum tl_status status = stages[step->stage](&probe, step->direction, &limits, &outcome, reterr);
    tl_watch_judge(session->watch, &outcome);
    end_stage(session, &outcome);
    session->plan.done[step->stage][step->direction] = true;
    session->plan.bytes_left -= outcome.record.sent_bytes + outcome.record.received_bytes;
    session->plan.time_left_ns -= tl_now_ns() - begun_ns;
    return status;
}

/* The plan has stopped. Where more time or traffic would have let it go on, the record says
 * so: a missing stage without a reason looks like one that was not worth it. */
static void note_lack_of_budget(struct tl_session *session, const char *why)
{
    struct tl_run *run = &session->result.run;
    struct tl_plan_state rich = session->plan;
    struct tl_plan_step step;
    rich.time_left_ns = rich.bytes_left = INT64_MAX;
    if (!tl_plan_next(&rich, &step) || run->stage_count == TL_RUN_STAGES_MAX)
        return;
    struct tl_stage_record *record = &run->stages[run->stage_count++];
    *record = (struct tl_stage_record){.state = TL_STAGE_SKIPPED};
    snprintf(record->id, sizeof record->id, "%s", tl_plan_stage_id(step.stage));
    snprintf(record->reason, sizeof record->reason, "%.90s (%.150s)", why, step.why);
    if (step.stage != TL_PLAN_STREAM)
        return;
    char id[96];
    snprintf(id, sizeof id, "%s.goodput_bps", tl_direction_name(step.direction));
    tl_facts_set_unknown(session->result.facts, id, "%s", why);
}

/* Judge, choose, measure, until the plan wants no more, or until something spoiled the run:
 * then no stage can bring a verdict. A user's stop keeps what earlier stages found: only a
 * run without one whole stream is aborted. */
static enum tl_status run_plan(struct tl_session *session, struct tl_error *reterr)
{
    struct tl_plan_step step;
    enum tl_status status = TL_OK;
    bool spoiled = false;
    while (status == TL_OK && !spoiled && tl_plan_next(&session->plan, &step)) {
        status = run_step(session, &step, reterr);
        if (!ends_session(status))
            status = judge(session, reterr);
        spoiled = session->result.run.quality >= TL_QUALITY_INVALID;
    }
    if (status == TL_OK && !spoiled) {
        push_note(session, step.why);
        note_lack_of_budget(session, step.why);
    }
    return status == TL_CANCELLED ? tl_error_set(reterr, status, "stopped by you") : status;
}

static void begin_run(struct tl_session *session)
{
    struct tl_run *run = &session->result.run;
    const struct tl_session_config *config = &session->config;
    session->start_ns = tl_now_ns();
    if (tl_ulid_make(run->id) != TL_OK)
        memset(run->id, '0', sizeof run->id - 1);
    tl_time_format_utc(tl_realtime_ns(), run->started);
    snprintf(run->tool_version, sizeof run->tool_version, "%s", TL_VERSION_TEXT);
    snprintf(run->target_name, sizeof run->target_name, "%s", session->target_name);
    snprintf(run->target_kind, sizeof run->target_kind, "%s", session->target_kind);
    run->download = config->download;
    run->upload = config->upload;
    run->goal_bps = config->goal_bps;
    run->goal_rtt_ns = config->goal_rtt_ns;
}

static enum tl_status diagnose(struct tl_session *session, struct tl_error *reterr)
{
    struct tl_session_result *result = &session->result;
    struct tl_probe_target target = {
        .host = session->host, .port = session->config.port, .family = session->config.family};
    enum tl_status status = tl_probe_connect(&target, session->cancel_fd, result->facts,
                                             &session->client, &result->run, reterr);
    if (status == TL_OK)
        status = run_light_stages(session, reterr);
    if (status != TL_OK)
        return status;
    struct tl_budget budget;
    tl_budget_make(&session->config, result->facts, &budget);
    bool refused = false;
    status = ask_consent(session, &budget, &refused);
    if (refused)
        return tl_error_set(reterr, TL_CANCELLED, "not agreed to: the path was not loaded");
    if (status != TL_OK)
        return tl_error_set(reterr, status, "stopped before the path was loaded");
    session->watch = tl_watch_create(session->client);
    session->plan = (struct tl_plan_state){.download = session->config.download,
                                           .upload = session->config.upload,
                                           .time_left_ns = budget.time_ns,
                                           .bytes_left = budget.bytes,
                                           .facts = result->facts};
    return run_plan(session, reterr);
}

/* What the way a session ended says about what it measured. */
static void settle_quality(struct tl_session *session)
{
    struct tl_session_result *result = &session->result;
    bool has_stream = session->plan.findings != NULL;
    if (result->status == TL_OK || (result->status == TL_CANCELLED && has_stream))
        return;
    add_quality(&result->run, TL_QUALITY_ABORTED, result->error.text);
}

static void *worker(void *context)
{
    struct tl_session *session = context;
    struct tl_session_result *result = &session->result;
    begin_run(session);
    result->status = diagnose(session, &result->error);
    settle_quality(session);
    tl_segments_fill(result->facts, &result->run);
    struct tl_error judging;
    if (judge(session, &judging) != TL_OK && result->status == TL_OK) {
        result->status = judging.status;
        result->error = judging;
    }
    tl_probe_disconnect(session->client);
    tl_watch_destroy(session->watch);
    result->run.duration_ns = tl_now_ns() - session->start_ns;
    struct tl_event event = {.kind = TL_EVENT_DONE};
    push(session, &event);
    return NULL;
}

enum tl_status tl_session_create(const struct tl_session_config *config,
                                 struct tl_session **ret_session, struct tl_error *reterr)
{
    struct tl_session *session = calloc(1, sizeof *session);
    if (!session)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    session->cancel_fd = session->consent_fd = session->events.fd = -1;
    session->config = *config;
    snprintf(session->host, sizeof session->host, "%s", config->host);
    snprintf(session->target_name, sizeof session->target_name, "%s",
             config->target_name ? config->target_name : config->host);
    snprintf(session->target_kind, sizeof session->target_kind, "%s", config->target_kind);
    session->result.facts = tl_facts_create();
    session->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    session->consent_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum tl_status status = tl_events_init(&session->events, reterr);
    if (status == TL_OK && !session->result.facts)
        status = tl_error_set(reterr, TL_NOMEM, "out of memory");
    if (status == TL_OK && (session->cancel_fd < 0 || session->consent_fd < 0))
        status = tl_error_set(reterr, TL_IO, "eventfd: %s", strerror(errno));
    if (status == TL_OK)
        *ret_session = session;
    else
        tl_session_destroy(session);
    return status;
}

enum tl_status tl_session_start(struct tl_session *session, struct tl_error *reterr)
{
    int error = pthread_create(&session->thread, NULL, worker, session);
    if (error)
        return tl_error_set(reterr, TL_NOMEM, "cannot start a thread: %s", strerror(error));
    session->started = true;
    return TL_OK;
}

int tl_session_event_fd(const struct tl_session *session)
{
    return session->events.fd;
}

bool tl_session_next_event(struct tl_session *session, struct tl_event *ret_event)
{
    return tl_events_pop(&session->events, ret_event);
}

void tl_session_consent(struct tl_session *session, bool given)
{
    uint64_t answer = given ? 2 : 1;
    (void)!write(session->consent_fd, &answer, sizeof answer);
}

void tl_session_stop(struct tl_session *session)
{
    uint64_t one = 1;
    if (!atomic_exchange(&session->stopped, true))
        (void)!write(session->cancel_fd, &one, sizeof one);
}

void tl_session_finish(struct tl_session *session, struct tl_session_result *ret_result)
{
    if (session->started && !session->joined) {
        pthread_join(session->thread, NULL);
        session->joined = true;
    }
    *ret_result = session->result;
    session->result.facts = NULL;
    session->result.findings = NULL;
}

void tl_session_destroy(struct tl_session *session)
{
    if (!session)
        return;
    if (session->started && !session->joined) {
        tl_session_stop(session);
        pthread_join(session->thread, NULL);
    }
    tl_facts_destroy(session->result.facts);
    tl_findings_destroy(session->result.findings);
    tl_events_finish(&session->events);
    if (session->cancel_fd >= 0)
        close(session->cancel_fd);
    if (session->consent_fd >= 0)
        close(session->consent_fd);
    free(session);
}
