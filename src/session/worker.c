/* The way of a run: consent, connect, light stages, then what the plan wants. The worker owns
 * the facts and the run until it has ended. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "budget.h"
#include "segments.h"
#include "session_private.h"
#include "tightlink/base/far.h"
#include "tightlink/base/time.h"
#include "tightlink/probes/mark.h"
#include "tightlink/session/record.h"
#include "worker.h"

/* A run that loads the path is longer than that. */
#define NAMES_WAIT_NS TL_NS_PER_S

static bool is_wanted_light(const struct tl_session *session, enum tl_plan_stage index)
{
    const struct tl_stage *stage = tl_stage_at(index);
    char lacks[TL_PLAN_LACK_SIZE];
    return stage->when == TL_WHEN_ALWAYS && stage->light && !session->plan.skipped[index] &&
           !session->plan.done[index][TL_DOWNLOAD] &&
           !tl_plan_lacks(&session->plan, index, TL_DOWNLOAD, lacks);
}

static struct tl_plan_step light_step(const struct tl_session *session, enum tl_plan_stage index)
{
    const struct tl_stage *stage = tl_stage_at(index);
    struct tl_plan_step step = {.stage = index, .direction = TL_DOWNLOAD};
    struct tl_stage_cost cost;
    stage->cost(&session->plan, TL_DOWNLOAD, &cost);
    step.duration_ns = cost.time_ns;
    step.bytes = cost.bytes;
    snprintf(step.why, sizeof step.why, "%s", stage->why);
    step.worth = 2; /* not weighed */
    return step;
}

/* Beside it its companion, where one is wanted and its turn has not come. */
static enum tl_status run_light(struct tl_session *session, const struct tl_plan_step *step,
                                struct tl_error *reterr)
{
    enum tl_plan_stage index = tl_stage_companion(step->stage, session->plan.far);
    if (index == TL_PLAN_COUNT || !is_wanted_light(session, index))
        return session_run_step(session, step, reterr);
    struct tl_plan_step companion = light_step(session, index);
    enum tl_status status = session_run_pair(session, step, &companion, reterr);
    if (session->plan.done[index][TL_DOWNLOAD])
        session_record_choice(session, &companion);
    return status;
}

/* What every run begins with. */
static enum tl_status run_light_stages(struct tl_session *session, struct tl_error *reterr)
{
    const enum tl_plan_stage *next = tl_stage_light_order(session->plan.far);
    for (; *next != TL_PLAN_COUNT; next++) {
        session_take_commands(session);
        if (session_is_stopped(session))
            return tl_error_set(reterr, TL_CANCELLED, TL_RUN_STOPPED);
        if (!is_wanted_light(session, *next))
            continue;
        struct tl_plan_step step = light_step(session, *next);
        session_record_choice(session, &step);
        enum tl_status status = run_light(session, &step, reterr);
        if (status == TL_OK && !session->plan.done[*next][TL_DOWNLOAD]) /* the path was dead */
            status = session_run_step(session, &step, reterr);
        if (session_ends(status))
            return status;
    }
    return TL_OK;
}

/* Asks the owner; TL_CANCELLED when stopped or refused (*ret_refused tells which). begin: a
 * sentence before that of the budget. */
static enum tl_status ask_consent(struct tl_session *session, const struct tl_budget *budget,
                                  const char *begin, bool *ret_refused)
{
    struct tl_event event = {.kind = TL_EVENT_CONSENT,
                             .worst_bytes = budget->worst_bytes,
                             .worst_is_open = budget->worst_is_open,
                             .expected_ns = (double)budget->time_ns};
    snprintf(event.text, sizeof event.text, "%s%.200s", begin, budget->sentence);
    tl_events_push(&session->events, &event);
    struct pollfd fds[] = {{.fd = session->consent_fd, .events = POLLIN},
                           {.fd = session->cancel_fd, .events = POLLIN}};
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        ;
    uint64_t answer = 0;
    if (!(fds[1].revents & POLLIN) && read(session->consent_fd, &answer, sizeof answer) < 0)
        answer = 0;
    *ret_refused = answer == 1;
    if (answer != 2)
        return TL_CANCELLED;
    session->agreed_ns = budget->time_ns;
    session->agreed_bytes = budget->worst_bytes;
    return TL_OK;
}

/* Before a name is resolved or anything is sent: what this host's own settings, or the saved run
 * whose remedy is to be tried, say of the cost. */
static enum tl_status ask_first(struct tl_session *session, struct tl_error *reterr)
{
    const struct tl_session_config *config = &session->config;
    struct tl_budget budget;
    struct tl_facts *facts = NULL;
    bool refused = false;
    if (config->prior) {
        tl_budget_make_trial(config, config->prior, (double)NAN, &budget);
    } else {
        enum tl_status status = session_audit_unsent(session->named.host, &facts, reterr);
        if (status != TL_OK)
            return status;
        tl_budget_make(config, facts, &budget);
        tl_facts_destroy(facts);
    }
    if (ask_consent(session, &budget, "Nothing has been sent yet. ", &refused) == TL_OK)
        return TL_OK;
    session->result.not_begun = true;
    return tl_error_set(reterr, TL_CANCELLED,
                        refused ? "not agreed to: nothing was sent"
                                : "stopped before anything was sent");
}

/* Where the way turns out to cost more than was agreed to. */
static enum tl_status ask_for_more(struct tl_session *session, const struct tl_budget *budget,
                                   struct tl_error *reterr)
{
    bool refused = false;
    if (budget->time_ns <= session->agreed_ns && budget->worst_bytes <= session->agreed_bytes)
        return TL_OK;
    if (ask_consent(session, budget, "It takes more than you agreed to. ", &refused) == TL_OK)
        return TL_OK;
    return tl_error_set(reterr, TL_CANCELLED,
                        refused ? "not agreed to: the path was not loaded"
                                : "stopped before the path was loaded");
}

/* What a virtual link may be loaded with shows with its rate. A budget that the user set, before
 * or during the run, stays as it is. */
static void fit_budget(struct tl_session *session)
{
    struct tl_budget budget;
    if (session->budget_set)
        return;
    tl_budget_make(&session->config, session->result.facts, &budget);
    session_set_bytes(session, budget.bytes);
}

/* Judge, choose, measure, until the plan wants no more, or until something spoiled the run:
 * then no stage can bring a verdict. A user's stop keeps what earlier stages found: only a
 * run without one whole stream is aborted. */
static enum tl_status run_plan(struct tl_session *session, struct tl_error *reterr)
{
    struct tl_plan_step step = {0};
    enum tl_status status = TL_OK;
    bool spoiled = false;
    for (;;) {
        session_take_commands(session);
        if (session_is_stopped(session))
            status = TL_CANCELLED;
        if (status != TL_OK || spoiled || !tl_plan_next(&session->plan, &step))
            break;
        session_record_choice(session, &step);
        tl_events_note(&session->events, "%s", step.why);
        status = session_run_step(session, &step, reterr);
        if (!session_ends(status))
            status = session_judge(session, reterr);
        fit_budget(session);
        spoiled = session->result.run.quality >= TL_QUALITY_INVALID;
    }
    if (status == TL_OK && !spoiled) {
        tl_events_note(&session->events, "%s", step.why);
        session_record_rest(session, step.why);
    }
    return status == TL_CANCELLED ? tl_error_set(reterr, status, TL_RUN_STOPPED) : status;
}

/* What a command has to say so that it goes the same way again. */
static void note_target(const struct tl_session *session, struct tl_run *run)
{
    const struct tl_session_config *config = &session->config;
    uint16_t port = session->named.port ? session->named.port : config->port;
    snprintf(run->target_name, sizeof run->target_name, "%s", session->target_name);
    snprintf(run->target_proxy, sizeof run->target_proxy, "%s", session->via_proxy.host);
    run->target_only = config->family;
    run->target_http1 = config->http1;
    run->target_keyed = config->key != NULL;
    run->target_login = config->login != NULL;
    if (strcmp(run->target_kind, "demo") == 0) {
        snprintf(run->target_link, sizeof run->target_link, "%s", session->target_link);
        if (session->named.kind != TL_FAR_KIND_COUNT)
            snprintf(run->target_far, sizeof run->target_far, "%s",
                     tl_far_row(session->named.kind)->id);
    } else if (port != tl_far_row(TL_FAR_TIGHTLINK)->port) {
        run->target_port = port;
    }
}

static void begin_run(struct tl_session *session)
{
    struct tl_run *run = &session->result.run;
    const struct tl_session_config *config = &session->config;
    session->start_ns = tl_now_ns();
    tl_record_begin(run, session->target_kind, tl_realtime_ns());
    tl_host_mark_set(run);
    note_target(session, run);
    run->download = config->download;
    run->upload = config->upload;
    run->goal = config->goal;
    if (config->goal.bytes > 0)
        tl_facts_set_number(session->result.facts, TL_PATH(asked_bytes), config->goal.bytes,
                            "the goal");
}

static void begin_plan(struct tl_session *session)
{
    const struct tl_session_config *config = &session->config;
    session->plan = (struct tl_plan_state){.download = config->download,
                                           .upload = config->upload,
                                           .only_forced = config->only_force,
                                           .have = TL_NEEDS_RAW,
                                           .time_left_ns = config->time_budget_ns,
                                           .bytes_left = config->data_budget_bytes,
                                           .facts = session->result.facts};
    if (config->directory || config->far_disk)
        session->plan.have |= TL_NEEDS_DISK;
    for (int i = 0; i < TL_PLAN_COUNT; i++)
        session->plan.forced[i] = config->force >> i & 1;
}

static void take_budget(struct tl_session *session, const struct tl_budget *budget)
{
    session->budget_time_ns = budget->time_ns;
    session->plan.time_left_ns = budget->time_ns - budget->trial_ns;
    session->plan.open_ns = budget->open_ns;
    session->budget_bytes = session->plan.bytes_left = budget->bytes;
}

/* Everything that loads the path, once that was agreed to. */
static enum tl_status run_loading(struct tl_session *session, struct tl_error *reterr)
{
    struct tl_budget budget;
    tl_budget_make(&session->config, session->result.facts, &budget);
    take_budget(session, &budget);
    enum tl_status status = ask_for_more(session, &budget, reterr);
    if (status != TL_OK)
        return status;
    session->watch = tl_watch_create(session->far);
    status = run_plan(session, reterr);
    if (status == TL_OK && session->config.verify && session->result.findings)
        status = session_try_remedy(session, reterr);
    if (status == TL_OK && session->config.via_count > 0 && session->result.findings)
        status = session_run_prefixes(session, reterr);
    if (status == TL_OK && session->config.watch_ns > 0)
        status = session_keep_watch(session, reterr);
    return status;
}

/* The findings of a saved run predict; here only the remedy is tried. */
static enum tl_status run_trial_only(struct tl_session *session, struct tl_error *reterr)
{
    struct tl_budget budget;
    struct tl_facts *facts = tl_facts_clone(session->config.prior);
    if (!facts)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    tl_facts_destroy(session->result.facts);
    session->result.facts = facts;
    session->plan.facts = facts;
    tl_facts_derive(facts);
    enum tl_status status = session_judge(session, reterr);
    if (status != TL_OK)
        return status;
    tl_budget_make_trial(&session->config, facts, session->result.findings->verdict.fixed_bps,
                         &budget);
    take_budget(session, &budget);
    status = ask_for_more(session, &budget, reterr);
    if (status != TL_OK)
        return status;
    session->watch = tl_watch_create(session->far);
    return session_try_remedy(session, reterr);
}

static enum tl_status diagnose(struct tl_session *session, struct tl_error *reterr)
{
    struct tl_session_result *result = &session->result;
    begin_plan(session);
    session_take_commands(session);
    enum tl_status status = ask_first(session, reterr);
    if (status != TL_OK)
        return status;
    status = session_connect(session, reterr);
    if (session_can_go_apart(status))
        session_go_apart(session, &session->target);
    if (status != TL_OK)
        return status;
    result->answered = true;
    session->plan.have |= TL_NEEDS_RESPONDER;
    if (session->config.prior)
        return run_trial_only(session, reterr);
    session_list_stages(session);
    session_explain_lacks(session);
    status = run_light_stages(session, reterr);
    if (status == TL_OK && !session->config.numeric)
        session->names = tl_hop_names_ask(&result->run);
    return status == TL_OK ? run_loading(session, reterr) : status;
}

/* What the way a session ended says about what it measured. */
static void settle_quality(struct tl_session *session)
{
    struct tl_session_result *result = &session->result;
    bool has_stream = session->plan.findings != NULL;
    if (result->status == TL_OK || (result->status == TL_CANCELLED && has_stream))
        return;
    if (result->run.quality < TL_QUALITY_INVALID) /* else a stage has said why */
        tl_trust_lower_run(&result->run, TL_QUALITY_ABORTED, "%s", result->error.text);
}

static void ask_owner(struct tl_session *session)
{
    const struct tl_session_config *config = &session->config;
    char reason[sizeof session->result.run.reasons[0]];
    if (config->disturbed && config->disturbed(config->disturbed_context, reason, sizeof reason))
        tl_trust_lower_run(&session->result.run, TL_QUALITY_DEGRADED, "%s", reason);
}

void *session_worker(void *context)
{
    struct tl_session *session = context;
    struct tl_session_result *result = &session->result;
    begin_run(session);
    result->status = diagnose(session, &result->error);
    settle_quality(session);
    ask_owner(session);
    tl_hop_names_take(session->names, NAMES_WAIT_NS, &result->run, result->facts);
    tl_segments_fill(result->facts, &result->run);
    struct tl_error judging = {0};
    if (session_judge(session, &judging) != TL_OK && result->status == TL_OK) {
        result->status = judging.status;
        result->error = judging;
    }
    session_add_parts(session, &result->run);
    tl_probe_disconnect(session->far);
    tl_watch_destroy(session->watch);
    result->run.duration_ns = tl_now_ns() - session->start_ns;
    struct tl_event event = {.kind = TL_EVENT_DONE};
    tl_events_push(&session->events, &event);
    return NULL;
}
