/* The event loop: session events, keys, signals and a clock go into the state; what the state
 * asks for is done here. Main thread only. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lookup.h"
#include "terminal.h"
#include "tightlink/base/time.h"
#include "tightlink/report/report.h"
#include "view.h"

/* Two frames are at least so far apart: what a person can follow, and cheap. */
#define FRAME_NS INT64_C(80000000)
/* While a diagnosis runs its clock moves even when nothing else does. */
#define TICK_NS INT64_C(500000000)

struct screen {
    const struct tl_tui_request *request;
    struct tui_state state;
    struct tui_grid grids[2]; /* the one shown and the next */
    int shown;                /* -1: nothing yet, or not to be trusted */
    struct tl_session *session;
    struct tl_session_result result;
    bool has_result, quit, interrupted, dirty;
    struct tui_lookup *lookup;
    bool look_again; /* asked for while one was on its way */
    int signal_fd;
    int64_t painted_ns;
};

/* --- painting --- */

static enum tl_status fit_grids(struct screen *screen)
{
    int rows, cols;
    tui_terminal_size(&rows, &cols);
    if (screen->grids[0].cells && screen->grids[0].rows == rows && screen->grids[0].cols == cols)
        return TL_OK;
    screen->shown = -1;
    for (int i = 0; i < 2; i++) {
        tui_grid_finish(&screen->grids[i]);
        if (tui_grid_init(&screen->grids[i], rows, cols, screen->request->utf8) != TL_OK)
            return TL_NOMEM;
        /* The kernel's own console loads 512 glyphs: blocks, but no braille. */
        const char *term = getenv("TERM");
        screen->grids[i].blocks = term && strcmp(term, "linux") == 0;
    }
    return TL_OK;
}

static enum tl_status paint(struct screen *screen)
{
    if (fit_grids(screen) != TL_OK)
        return TL_NOMEM;
    int next = screen->shown == 0 ? 1 : 0;
    tui_view(&screen->state, &screen->grids[next]);
    tui_terminal_paint(&screen->grids[next],
                       screen->shown < 0 ? NULL : &screen->grids[screen->shown]);
    screen->shown = next;
    screen->dirty = false;
    screen->painted_ns = tl_now_ns();
    return TL_OK;
}

/* --- what the state asks for --- */

static void say(struct screen *screen, const char *text)
{
    snprintf(screen->state.message, sizeof screen->state.message, "%.299s", text);
}

static void forget_result(struct screen *screen)
{
    tui_state_result(&screen->state, NULL);
    if (!screen->has_result)
        return;
    tl_facts_destroy(screen->result.facts);
    tl_findings_destroy(screen->result.findings);
    screen->result = (struct tl_session_result){0};
    screen->has_result = false;
}

static void start_session(struct screen *screen)
{
    struct tl_session_config config = *screen->request->config;
    struct tl_error error = {0};
    enum tl_status status = tui_state_configure(&screen->state, &config, &error);
    if (status == TL_OK)
        status = tl_session_create(&config, &screen->session, &error);
    if (status == TL_OK)
        status = tl_session_start(screen->session, &error);
    if (status != TL_OK) {
        tl_session_destroy(screen->session);
        screen->session = NULL;
        say(screen, error.text[0] ? error.text : tl_status_text(status));
        return;
    }
    forget_result(screen);
    tui_state_begin(&screen->state, tl_now_ns());
}

static void look_up(struct screen *screen)
{
    struct tl_session_config config = *screen->request->config;
    struct tl_error error = {0};
    screen->look_again = screen->lookup != NULL;
    if (screen->lookup)
        return;
    if (tui_state_configure(&screen->state, &config, &error) != TL_OK) {
        say(screen, error.text);
        return;
    }
    if (tui_lookup_create(&config, &screen->lookup) == TL_OK)
        screen->state.start.looking_up = true;
}

static void take_lookup(struct screen *screen)
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
        say(screen, error.text);
    if (screen->look_again)
        look_up(screen);
}

static void copy_remedy(struct screen *screen)
{
    struct tui_state *state = &screen->state;
    const struct tl_finding *finding = tui_state_finding(state);
    if (!finding || !finding->remedy_count)
        return;
    /* The first y copies the first one; another while the text is shown, the next. */
    state->remedy = state->copied[0] ? (state->remedy + 1) % finding->remedy_count : 0;
    snprintf(state->copied, sizeof state->copied, "%s", finding->remedies[state->remedy].does);
    state->overlay = TUI_COPIED;
    tui_terminal_copy(state->copied);
    screen->shown = -1; /* a terminal that does not know the sequence may show it */
}

static bool write_all(int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

/* tightlink-ULID.json in the current directory, readable by the user alone. */
static void save_run(struct screen *screen)
{
    const struct tl_session_result *result = screen->state.result;
    struct tl_buf json = TL_BUF_INIT;
    char path[64], text[200];
    snprintf(path, sizeof path, "tightlink-%.26s.json", result->run.id);
    if (strchr(path, '/') ||
        tl_report_json(&result->run, result->facts, result->findings, true, &json) != TL_OK) {
        say(screen, "out of memory: the run was not saved");
        tl_buf_finish(&json);
        return;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool done = fd >= 0 && write_all(fd, json.data, json.len);
    int errnum = errno;
    if (fd >= 0 && close(fd) < 0) {
        done = false;
        errnum = errno;
    }
    if (done)
        snprintf(text, sizeof text, "saved as %s here; tightlink show %s opens it", path, path);
    else
        snprintf(text, sizeof text, "%s was not written: %s", path, strerror(errnum));
    if (!done && fd >= 0)
        (void)unlink(path);
    say(screen, text);
    tl_buf_finish(&json);
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
    say(screen, text);
}

static void stop_session(struct screen *screen)
{
    screen->state.run.stopping = true;
    screen->state.overlay = TUI_NO_OVERLAY;
    say(screen, "stopping; what was measured is kept");
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
        say(screen, "this stage cannot be skipped");
    if (actions & TUI_DO_REDO)
        redo_stage(screen);
    if (actions & TUI_DO_STOP)
        stop_session(screen);
}

static void act(struct screen *screen, unsigned actions)
{
    if (screen->session)
        act_on_session(screen, actions);
    if (actions & TUI_DO_START && !screen->session)
        start_session(screen);
    if (actions & TUI_DO_LOOK_UP)
        look_up(screen);
    if (actions & TUI_DO_COPY)
        copy_remedy(screen);
    if (screen->state.overlay != TUI_COPIED)
        screen->state.copied[0] = '\0';
    if (actions & TUI_DO_SAVE)
        save_run(screen);
    if (actions & TUI_DO_REDRAW)
        screen->shown = -1;
    if (actions & TUI_DO_QUIT)
        screen->quit = true;
}

/* --- what comes in --- */

static void end_session(struct screen *screen)
{
    bool stopped = screen->state.run.stopping;
    tl_session_finish(screen->session, &screen->result);
    tl_session_destroy(screen->session);
    screen->session = NULL;
    screen->has_result = true;
    if (stopped && screen->result.status == TL_OK)
        screen->result.status = TL_CANCELLED;
    tui_state_result(&screen->state, &screen->result);
}

static void take_events(struct screen *screen)
{
    struct tl_event event;
    while (screen->session && tl_session_next_event(screen->session, &event)) {
        screen->dirty = true;
        if (event.kind == TL_EVENT_CONSENT && screen->request->consented) {
            screen->state.run.worst_bytes = event.worst_bytes;
            screen->state.run.worst_ns = event.expected_ns;
            tl_session_consent(screen->session, true);
            continue;
        }
        tui_state_event(&screen->state, &event);
        if (event.kind == TL_EVENT_DONE)
            end_session(screen);
    }
}

static void take_keys(struct screen *screen)
{
    bool closed = false;
    int key;
    while (!screen->quit && (key = tui_terminal_key(&closed)) != TUI_KEY_NONE) {
        act(screen, tui_state_key(&screen->state, key));
        screen->dirty = true;
    }
    if (closed) {
        screen->interrupted = true;
        screen->quit = true;
    }
}

/* Ctrl-Z: the shell gets its terminal; the session stops with all threads of this process. */
static void suspend(struct screen *screen)
{
    tui_terminal_leave();
    (void)kill(getpid(), SIGSTOP);
    tui_terminal_return();
    screen->shown = -1;
    screen->dirty = true;
}

static void take_signals(struct screen *screen)
{
    struct signalfd_siginfo info;
    while (read(screen->signal_fd, &info, sizeof info) == sizeof info) {
        screen->dirty = true;
        switch (info.ssi_signo) {
        case SIGINT:
            act(screen, tui_state_key(&screen->state, TUI_KEY_INTERRUPT));
            break;
        case SIGTSTP:
            suspend(screen);
            break;
        case SIGWINCH:
        case SIGCONT:
            break;
        default:
            screen->interrupted = true;
            screen->quit = true;
        }
    }
}

/* Milliseconds until something is to be drawn; -1: nothing is. */
static int time_to_frame(const struct screen *screen)
{
    int64_t wait = screen->dirty ? FRAME_NS : TICK_NS;
    if (!screen->dirty && !screen->session)
        return -1;
    wait -= tl_now_ns() - screen->painted_ns;
    return wait <= 0 ? 0 : (int)((wait + 999999) / 1000000);
}

static enum tl_status follow(struct screen *screen)
{
    enum tl_status status = paint(screen);
    while (status == TL_OK && !screen->quit) {
        struct pollfd fds[] = {
            {.fd = STDIN_FILENO, .events = POLLIN},
            {.fd = screen->signal_fd, .events = POLLIN},
            {.fd = screen->session ? tl_session_event_fd(screen->session) : -1, .events = POLLIN},
            {.fd = screen->lookup ? tui_lookup_fd(screen->lookup) : -1, .events = POLLIN}};
        if (poll(fds, 4, time_to_frame(screen)) < 0 && errno != EINTR)
            return TL_IO;
        if (fds[1].revents)
            take_signals(screen);
        if (fds[0].revents)
            take_keys(screen);
        if (fds[2].revents)
            take_events(screen);
        if (fds[3].revents && screen->lookup) {
            take_lookup(screen);
            screen->dirty = true;
        }
        screen->state.run.now_ns = screen->session ? tl_now_ns() : screen->state.run.now_ns;
        if (!screen->quit && time_to_frame(screen) == 0)
            status = paint(screen);
    }
    return status;
}

/* --- from the terminal's taking to its return --- */

static int open_signals(sigset_t *ret_before)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT};
    sigset_t signals;
    struct sigaction action;
    sigemptyset(&signals);
    /* What the caller ignores (nohup) stays ignored; SIGWINCH and SIGCONT are by default. */
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&signals, numbers[i]);
    int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd >= 0)
        sigprocmask(SIG_BLOCK, &signals, ret_before);
    return fd;
}

/* A second signal shall not cost the result that is now written. */
static void close_signals(int fd, const sigset_t *before)
{
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof info) == sizeof info)
        continue;
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    close(fd);
    sigprocmask(SIG_SETMASK, before, NULL);
}

/* A session that still runs is stopped, and what it has is kept. */
static void finish_session(struct screen *screen)
{
    if (screen->session) {
        screen->state.run.stopping = true;
        tl_session_stop(screen->session);
        end_session(screen);
    }
    if (screen->has_result && screen->interrupted)
        screen->result.status = TL_CANCELLED;
    tui_lookup_destroy(screen->lookup);
    for (int i = 0; i < 2; i++)
        tui_grid_finish(&screen->grids[i]);
}

bool tl_tui_is_possible(void)
{
    const char *term = getenv("TERM");
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
           strcmp(term, "dumb") != 0;
}

static enum tl_status show(struct screen *screen, struct tl_error *reterr)
{
    sigset_t before;
    screen->signal_fd = open_signals(&before);
    if (screen->signal_fd < 0)
        return tl_error_set(reterr, TL_IO, "signalfd: %s", strerror(errno));
    enum tl_status status = tui_terminal_open(screen->request->color, reterr);
    if (status == TL_OK) {
        if (screen->state.start.target[0] && !screen->state.saved_only)
            look_up(screen);
        status = follow(screen);
        tui_terminal_close();
        finish_session(screen);
    }
    close_signals(screen->signal_fd, &before);
    if (status != TL_OK && reterr && !reterr->text[0])
        (void)tl_error_set(reterr, status, "the screen ended: %s", tl_status_text(status));
    return status;
}

enum tl_status tl_tui_run(const struct tl_tui_request *request,
                          struct tl_session_result *ret_result, bool *ret_has_result,
                          struct tl_error *reterr)
{
    struct tl_error ignored = {0};
    struct screen *screen = calloc(1, sizeof *screen);
    if (!screen)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    screen->request = request;
    screen->shown = -1;
    screen->dirty = true;
    tui_state_init(&screen->state, request->config);
    if (request->saved) {
        screen->state.saved_only = true;
        tui_state_result(&screen->state, request->saved);
    }
    enum tl_status status = show(screen, reterr ? reterr : &ignored);
    *ret_has_result = screen->has_result;
    if (screen->has_result)
        *ret_result = screen->result;
    free(screen);
    return status;
}
