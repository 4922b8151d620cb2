/* What keys ask for is done here: sessions, files, the clipboard. */
#include "screen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terminal.h"
#include "tightlink/app/files.h"
#include "tightlink/app/open.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/document/kept.h"
#include "tightlink/present/report.h"

static void forget_result(struct screen *screen)
{
    tui_state_result(&screen->state, NULL);
    screen_forget_opened(screen);
    if (!screen->has_result)
        return;
    tl_app_result_finish(&screen->result);
    screen->has_result = false;
}

/* The request's configuration with the key that the start screen names. */
static struct tl_session_config config_of(const struct screen *screen)
{
    struct tl_session_config config = *screen->request->config;
    const char *name = screen->state.start.key;
    if (screen->request->keys)
        config.key = name[0] ? tl_keys_find(screen->request->keys, name, strlen(name)) : NULL;
    return config;
}

/* Who agreed beforehand agreed to one far end: another one, typed or kept, is asked about. */
static bool is_agreed(const struct tl_tui_request *request, const struct tl_session_config *config)
{
    const char *host = request->config->host;
    return request->consented && host && config->host && strcmp(host, config->host) == 0 &&
           request->config->port == config->port;
}

/* As the start screen asks, but for a trial, which has all from its run. False: it says why not. */
static bool start(struct screen *screen, struct tl_session_config *config)
{
    struct tl_error error = {0};
    enum tl_status status =
        config->verify ? TL_OK : tui_state_configure(&screen->state, config, &error);
    screen->agreed = is_agreed(screen->request, config);
    if (status == TL_OK)
        status = tl_session_create(config, &screen->session, &error);
    if (status == TL_OK)
        status = tl_session_start(screen->session, &error);
    if (status == TL_OK)
        return true;
    tl_session_destroy(screen->session);
    screen->session = NULL;
    tui_say(&screen->state, error.text[0] ? error.text : tl_status_text(status));
    return false;
}

void screen_start_session(struct screen *screen)
{
    struct tl_session_config config = config_of(screen);
    if (!start(screen, &config))
        return;
    forget_result(screen);
    tui_state_begin(&screen->state, tl_now_ns());
    if (config.target_name)
        snprintf(screen->state.title, sizeof screen->state.title, "%.253s", config.target_name);
}

void screen_look_up(struct screen *screen)
{
    struct tl_session_config config = *screen->request->config;
    struct tl_error error = {0};
    screen->look_again = screen->lookup != NULL;
    if (screen->lookup)
        return;
    if (tui_state_configure(&screen->state, &config, &error) != TL_OK) {
        tui_say(&screen->state, error.text);
        return;
    }
    if (tui_lookup_create(&config, &screen->lookup) == TL_OK)
        screen->state.start.looking_up = true;
}

void screen_take_lookup(struct screen *screen)
{
    struct tui_start *start = &screen->state.start;
    struct tl_error error = {0};
    enum tl_status status = tui_lookup_take(screen->lookup, &start->preview, &error);
    tui_lookup_destroy(screen->lookup);
    screen->lookup = NULL;
    start->looking_up = false;
    start->has_preview = status == TL_OK;
    if (!start->has_preview && start->field == TUI_STAGES)
        start->field = TUI_TARGET;
    if (status != TL_OK)
        tui_say(&screen->state, error.text);
    if (screen->look_again)
        screen_look_up(screen);
}

static void copy_remedy(struct screen *screen)
{
    struct tui_state *state = &screen->state;
    const struct tl_finding *finding = tui_finding_in_view(state);
    struct tl_buf text = TL_BUF_INIT;
    if (!finding || !finding->remedy_count)
        return;
    /* The first y copies the first one; another while the text is shown, the next. */
    state->remedy = state->copied[0] ? (state->remedy + 1) % finding->remedy_count : 0;
    tl_report_request(&state->result->run, &finding->remedies[state->remedy], &text);
    snprintf(state->copied, sizeof state->copied, "%s", tl_buf_text(&text));
    tl_buf_finish(&text);
    state->overlay = TUI_COPIED;
    tui_terminal_copy(state->copied);
    screen->painted = -1; /* a terminal that does not know the sequence may show it */
}

/* tightlink-ULID.json in the current directory. */
static void save_run(struct screen *screen)
{
    const struct tl_session_result *result = screen->state.result;
    struct tl_buf json = TL_BUF_INIT;
    char path[64], name[80] = "", text[280];
    snprintf(path, sizeof path, "tightlink-%.26s.json", result->run.id);
    if (strchr(path, '/') || tl_kept_write(&result->run, result->facts, result->findings,
                                           result->samples, true, &json) != TL_OK) {
        tui_say(&screen->state, "out of memory: the run was not saved");
        tl_buf_finish(&json);
        return;
    }
    int errnum = tl_app_untaken(path, name, sizeof name)
                     ? tl_app_create_file(name, json.data, json.len)
                     : EEXIST;
    if (errnum)
        snprintf(text, sizeof text, "%s was not written: %s", path, strerror(errnum));
    else
        snprintf(text, sizeof text, "saved as %s here%s; tightlink show %s opens it", name,
                 strcmp(name, path) == 0 ? "" : ", beside the earlier one", name);
    tui_say(&screen->state, text);
    tl_buf_finish(&json);
}

/* The remedy of what is shown, tried by a session that measures nothing else. The facts stay
 * the state's until it has ended: nothing replaces them meanwhile. */
static void verify(struct screen *screen)
{
    const struct tl_run *run = &screen->shown.run;
    struct tl_session_config config = config_of(screen);
    const char *host = config.host && config.host[0] ? config.host : NULL;
    struct tl_app_target target;
    if (screen->has_result && screen->state.start.target[0])
        host = screen->state.start.target;
    tl_app_target_of_run(run, host, &target);
    tl_app_config_of_run(run, &target, &config);
    config.target_kind = run->target_kind;
    config.verify = true;
    config.prior = screen->shown.facts;
    config.watch_ns = 0;
    config.via_count = 0;
    if (!start(screen, &config))
        return;
    screen->verifying = true;
    tui_state_begin_trial(&screen->state, tl_now_ns());
    tui_say(&screen->state, "trying the fix in tightlink's own sockets; no setting is changed");
}

static void set_budget(struct screen *screen)
{
    struct tui_progress_state *run = &screen->state.run;
    char bytes[TL_UNIT_TEXT_SIZE], time[TL_UNIT_TEXT_SIZE], text[120];
    tl_session_set_budget(screen->session, run->new_ns, run->new_bytes);
    if (run->new_bytes > 0) {
        run->worst_bytes = run->new_bytes;
        run->worst_is_open = false;
    }
    if (run->new_ns > 0)
        run->worst_ns = (double)run->new_ns;
    snprintf(text, sizeof text, "from the next stage on at most %s and %s in all",
             tl_format_traffic((double)run->worst_bytes, bytes), tl_format_ns(run->worst_ns, time));
    tui_say(&screen->state, text);
}

static void redo_stage(struct screen *screen)
{
    const struct tui_progress_state *run = &screen->state.run;
    const char *id = run->stages[run->selected].id;
    char text[80];
    if (tl_session_redo(screen->session, id) == TL_OK)
        snprintf(text, sizeof text, "%s runs again after the running stage", id);
    else
        snprintf(text, sizeof text, "%s cannot run again", id);
    tui_say(&screen->state, text);
}

static void stop_session(struct screen *screen)
{
    screen->state.run.stopping = true;
    screen->state.overlay = TUI_NO_OVERLAY;
    tui_say(&screen->state, "stopping; what was measured is kept");
    if (screen->session)
        tl_session_stop(screen->session);
}

static void act_on_session(struct screen *screen, unsigned actions)
{
    if (actions & (TUI_DO_CONSENT | TUI_DO_REFUSE))
        tl_session_consent(screen->session, actions & TUI_DO_CONSENT);
    if (actions & TUI_DO_PAUSE)
        tl_session_pause(screen->session);
    if (actions & TUI_DO_RESUME)
        tl_session_resume(screen->session);
    if ((actions & TUI_DO_SKIP) && tl_session_skip(screen->session, NULL) != TL_OK)
        tui_say(&screen->state, "this stage cannot be skipped");
    if (actions & TUI_DO_REDO)
        redo_stage(screen);
    if (actions & TUI_DO_BUDGET)
        set_budget(screen);
    if (actions & TUI_DO_STOP)
        stop_session(screen);
}

void screen_act(struct screen *screen, unsigned actions)
{
    if (screen->session)
        act_on_session(screen, actions);
    if (actions & TUI_DO_START && !screen->session)
        screen_start_session(screen);
    if (actions & TUI_DO_VERIFY && !screen->session && screen->request->config->rules)
        verify(screen);
    if (actions & TUI_DO_LOOK_UP)
        screen_look_up(screen);
    if (actions & TUI_DO_COPY)
        copy_remedy(screen);
    if (screen->state.overlay != TUI_COPIED)
        screen->state.copied[0] = '\0';
    screen_act_on_watch(screen, actions);
    screen_act_on_packets(screen, actions);
    screen_act_on_store(screen, actions);
    if (actions & TUI_DO_SAVE)
        save_run(screen);
    if (actions & TUI_DO_REDRAW)
        screen->painted = -1;
    if (actions & TUI_DO_QUIT)
        screen->quit = true;
}

/* --- the end of a session --- */

/* What was tried joins the run that is shown. */
static void end_verification(struct screen *screen)
{
    struct tl_session_result tried;
    struct tl_run *run = &screen->shown.run;
    tl_session_finish(screen->session, &tried);
    tl_session_destroy(screen->session);
    screen->session = NULL;
    screen->verifying = false;
    screen->state.run.active = screen->state.run.running = false;
    int room = TL_RUN_VERIFIED_MAX - run->verified_count;
    int count = tried.run.verified_count < room ? tried.run.verified_count : room;
    memcpy(run->verified + run->verified_count, tried.run.verified,
           (size_t)count * sizeof *run->verified);
    run->verified_count += count;
    if (screen->has_result && strcmp(screen->result.run.id, run->id) == 0)
        screen->result.run = *run;
    if (count == 0 && tried.status != TL_OK)
        tui_say(&screen->state,
                tried.error.text[0] ? tried.error.text : tl_status_text(tried.status));
    else if (count == 0 && tried.run.stage_count)
        tui_say(&screen->state, tried.run.stages[tried.run.stage_count - 1].reason);
    else
        tui_say(&screen->state, "");
    tl_app_result_finish(&tried);
    if (count)
        tui_state_verified(&screen->state, &screen->shown);
    else
        screen->state.screen = TUI_VERDICT;
}

/* For the plots of the run once it is opened again; without memory the run is what counts. */
static void take_samples(struct screen *screen)
{
    screen->result.samples = calloc(1, sizeof *screen->result.samples);
    if (screen->result.samples)
        tl_session_take_samples(screen->session, screen->result.samples);
}

void screen_end_session(struct screen *screen)
{
    if (screen->verifying) {
        end_verification(screen);
        return;
    }
    bool stopped = screen->state.run.stopping;
    tl_session_finish(screen->session, &screen->result);
    take_samples(screen);
    tl_session_destroy(screen->session);
    screen->session = NULL;
    if (screen->result.not_begun) { /* back to where it was asked for */
        tui_say(&screen->state, screen->result.error.text);
        tl_app_result_finish(&screen->result);
        tui_state_forget_run(&screen->state);
        screen->state.overlay = TUI_NO_OVERLAY;
        screen->state.screen = screen->state.watch.diagnosing ? TUI_WATCH : TUI_START;
        return;
    }
    screen->has_result = true;
    if (stopped && screen->result.status == TL_OK)
        screen->result.status = TL_CANCELLED;
    screen->shown = screen->result;
    screen->state.from_store = false;
    tui_state_result(&screen->state, &screen->shown);
    screen_keep(screen, &screen->result);
}
