/* The owner's side of a session: create, start, events, commands, finish. */
#include "tightlink/session/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "session_private.h"
#include "tightlink/base/proxy.h"
#include "tightlink/base/thread.h"
#include "tightlink/base/wake.h"
#include "worker.h"

_Static_assert(TL_PLAN_COUNT <= TL_SESSION_STAGES_MAX, "a set of stages is one word");

static int make_eventfd(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* The configuration with texts of its own. */
static void copy_config(struct tl_session *session, const struct tl_session_config *config)
{
    session->config = *config;
    snprintf(session->host, sizeof session->host, "%s", session->named.host);
    snprintf(session->target_name, sizeof session->target_name, "%s",
             config->target_name ? config->target_name : config->host);
    snprintf(session->target_kind, sizeof session->target_kind, "%s", config->target_kind);
    if (config->target_link) {
        snprintf(session->target_link, sizeof session->target_link, "%s", config->target_link);
        session->config.target_link = session->target_link;
    }
    if (config->other_host) {
        snprintf(session->other_host, sizeof session->other_host, "%s", config->other_host);
        session->config.other_host = session->other_host;
    }
    if (config->directory) {
        snprintf(session->directory, sizeof session->directory, "%s", config->directory);
        session->config.directory = session->directory;
    }
    if (config->watch_path) {
        snprintf(session->watch_path, sizeof session->watch_path, "%s", config->watch_path);
        session->config.watch_path = session->watch_path;
    }
    for (size_t i = 0; i < config->via_count; i++) {
        snprintf(session->via[i], sizeof session->via[i], "%s", config->via[i]);
        session->config.via[i] = session->via[i];
    }
    /* Not the plan's: it comes after the verdict. */
    session->config.verify |= config->force >> TL_PLAN_VERIFY & 1;
    session->config.force &= ~(1u << TL_PLAN_VERIFY);
    session->commands.skip = config->skip;
    session->commands.running = -1;
}

/* Programs here go through the proxy that the environment names: so does this one. */
static void take_proxy(struct tl_session *session)
{
    session->proxy = tl_proxy_variable(&session->named, getenv);
    if (session->proxy)
        (void)!tl_proxy_parse(getenv(session->proxy), &session->via_proxy, &session->no_proxy);
}

enum tl_status tl_session_create(const struct tl_session_config *config,
                                 struct tl_session **ret_session, struct tl_error *reterr)
{
    struct tl_target named;
    enum tl_status status = tl_target_parse(config->host, &named, reterr);
    if (status != TL_OK)
        return status;
    struct tl_session *session = calloc(1, sizeof *session);
    if (!session)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    session->named = named;
    if (strcmp(config->target_kind ? config->target_kind : "", "demo") != 0)
        take_proxy(session);
    session->events.fd = -1;
    session->dial_fd = -1;
    pthread_mutex_init(&session->commands.lock, NULL);
    copy_config(session, config);
    session->result.facts = tl_facts_create();
    session->cancel_fd = make_eventfd();
    session->consent_fd = make_eventfd();
    session->wake_fd = make_eventfd();
    status = tl_events_init(&session->events, reterr);
    if (status == TL_OK && !session->result.facts)
        status = tl_error_set(reterr, TL_NOMEM, "out of memory");
    if (status == TL_OK &&
        (session->cancel_fd < 0 || session->consent_fd < 0 || session->wake_fd < 0))
        status = tl_error_set(reterr, TL_IO, "eventfd: %s", strerror(errno));
    if (status == TL_OK)
        *ret_session = session;
    else
        tl_session_destroy(session);
    return status;
}

enum tl_status tl_session_start(struct tl_session *session, struct tl_error *reterr)
{
    int error = tl_thread_start(&session->thread, session_worker, session);
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
    tl_wake_with(session->consent_fd, given ? 2 : 1);
}

void tl_session_stop(struct tl_session *session)
{
    if (!atomic_exchange(&session->stopped, true))
        tl_wake(session->cancel_fd);
}

/* --- Commands -------------------------------------------------------------------------- */

/* Changes the commands under their lock, then tells the worker. */
#define WITH_COMMANDS(session, change)                                                             \
    do {                                                                                           \
        pthread_mutex_lock(&(session)->commands.lock);                                             \
        change;                                                                                    \
        pthread_mutex_unlock(&(session)->commands.lock);                                           \
        tl_wake((session)->wake_fd);                                                               \
    } while (0)

enum tl_status tl_session_skip(struct tl_session *session, const char *stage)
{
    struct tl_commands *commands = &session->commands;
    enum tl_plan_stage index = stage ? tl_stage_find(stage) : TL_PLAN_COUNT;
    if (stage && index == TL_PLAN_COUNT)
        return TL_UNKNOWN;
    pthread_mutex_lock(&commands->lock);
    int skipped = stage ? (int)index : commands->running;
    if (skipped >= 0)
        commands->skip |= 1u << skipped;
    /* Under the lock: the stage that is cancelled is the one that was named. */
    if (skipped >= 0 && skipped == commands->running)
        tl_wake(session->cancel_fd);
    pthread_mutex_unlock(&commands->lock);
    tl_wake(session->wake_fd);
    return TL_OK;
}

enum tl_status tl_session_redo(struct tl_session *session, const char *stage)
{
    enum tl_plan_stage index = tl_stage_find(stage);
    if (index == TL_PLAN_COUNT)
        return TL_UNKNOWN;
    WITH_COMMANDS(session, {
        session->commands.redo |= 1u << index;
        session->commands.skip &= ~(1u << index);
    });
    return TL_OK;
}

void tl_session_pause(struct tl_session *session)
{
    WITH_COMMANDS(session, session->commands.paused = true);
}

void tl_session_resume(struct tl_session *session)
{
    WITH_COMMANDS(session, session->commands.paused = false);
}

void tl_session_set_budget(struct tl_session *session, int64_t time_ns, int64_t bytes)
{
    WITH_COMMANDS(session, {
        session->commands.time_ns = time_ns;
        session->commands.bytes = bytes;
    });
}

/* --- The end ----------------------------------------------------------------------------- */

void tl_session_finish(struct tl_session *session, struct tl_session_result *ret_result)
{
    if (session->started && !session->joined) {
        pthread_join(session->thread, NULL);
        session->joined = true;
    }
    *ret_result = session->result;
    if (session->config.rules)
        tl_rules_version(session->config.rules, ret_result->rules_version);
    session->result.facts = NULL;
    session->result.findings = NULL;
}

void tl_session_take_samples(struct tl_session *session, struct tl_samples *ret_samples)
{
    *ret_samples = session->samples;
    session->samples = (struct tl_samples){0};
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
    tl_samples_finish(&session->samples);
    tl_events_finish(&session->events);
    if (session->cancel_fd >= 0)
        close(session->cancel_fd);
    if (session->dial_fd >= 0)
        close(session->dial_fd);
    if (session->consent_fd >= 0)
        close(session->consent_fd);
    if (session->wake_fd >= 0)
        close(session->wake_fd);
    pthread_mutex_destroy(&session->commands.lock);
    free(session);
}
