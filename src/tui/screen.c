/* The event loop: session events, keys, signals and a clock go into the state; what the state
 * asks for is done here. Main thread only. */
#include "screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "handover.h"
#include "terminal.h"
#include "tightlink/app/signals.h"
#include "tightlink/base/time.h"
#include "view.h"

/* Two frames are at least so far apart: an event is seen within 50 ms, and 25 frames a second
 * are cheap (tests/bench/bench_screen.py). */
#define FRAME_NS INT64_C(40000000)
/* While a diagnosis runs its clock moves even when nothing else does. */
#define TICK_NS INT64_C(500000000)

/* --- painting --- */

static enum tl_status fit_grids(struct screen *screen)
{
    int rows, cols;
    tui_terminal_size(&rows, &cols);
    if (screen->grids[0].cells && screen->grids[0].rows == rows && screen->grids[0].cols == cols)
        return TL_OK;
    screen->painted = -1;
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
    int next = screen->painted == 0 ? 1 : 0;
    tui_view(&screen->state, &screen->grids[next]);
    tui_terminal_paint(&screen->grids[next],
                       screen->painted < 0 ? NULL : &screen->grids[screen->painted]);
    screen->painted = next;
    screen->dirty = false;
    screen->painted_ns = tl_now_ns();
    return TL_OK;
}

/* --- what comes in --- */

static void take_events(struct screen *screen)
{
    struct tl_event event;
    while (screen->session && tl_session_next_event(screen->session, &event)) {
        screen->dirty = true;
        if (event.kind == TL_EVENT_CONSENT && screen->agreed) {
            tui_state_agreed(&screen->state.run, &event);
            tl_session_consent(screen->session, true);
            continue;
        }
        tui_state_event(&screen->state, &event);
        if (event.kind == TL_EVENT_DONE)
            screen_end_session(screen);
    }
}

/* A click means what the user saw: the picture that is shown. */
static unsigned take_key(struct screen *screen, int key)
{
    int row, col;
    if (key == TUI_KEY_WHEEL_UP || key == TUI_KEY_WHEEL_DOWN)
        return tui_state_wheel(&screen->state, key == TUI_KEY_WHEEL_DOWN);
    if (key != TUI_KEY_CLICK)
        return tui_state_key(&screen->state, key);
    tui_terminal_place(&row, &col);
    return screen->painted < 0
               ? TUI_DO_NOTHING
               : tui_state_click(&screen->state, &screen->grids[screen->painted], row, col);
}

static void take_keys(struct screen *screen)
{
    bool closed = false;
    int key;
    while (!screen->quit && (key = tui_terminal_key(&closed)) != TUI_KEY_NONE) {
        screen_act(screen, take_key(screen, key));
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
    screen->painted = -1;
    screen->dirty = true;
}

static void take_signals(struct screen *screen)
{
    struct signalfd_siginfo info;
    while (read(screen->signal_fd, &info, sizeof info) == sizeof info) {
        screen->dirty = true;
        switch (info.ssi_signo) {
        case SIGINT:
            screen_act(screen, tui_state_key(&screen->state, TUI_KEY_INTERRUPT));
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

/* The sooner of two waits, of which -1 is never. */
static int sooner(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
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
            {.fd = screen->lookup ? tui_lookup_fd(screen->lookup) : -1, .events = POLLIN},
            {.fd = screen_sender_fd(screen), .events = POLLIN},
            {.fd = screen_capture_fd(screen), .events = POLLIN}};
        int wait_ms = sooner(sooner(time_to_frame(screen), screen_watch_wait(screen)),
                             screen_packets_wait(screen));
        if (poll(fds, 6, wait_ms) < 0 && errno != EINTR)
            return TL_IO;
        if (fds[1].revents)
            take_signals(screen);
        if (fds[0].revents)
            take_keys(screen);
        if (fds[2].revents)
            take_events(screen);
        if (fds[3].revents && screen->lookup) {
            screen_take_lookup(screen);
            screen->dirty = true;
        }
        if (fds[4].revents) {
            screen_take_answer(screen);
            screen->dirty = true;
        }
        if (fds[5].revents)
            screen_take_capture(screen);
        if (screen_watch_wait(screen) == 0)
            screen_step_watch(screen);
        screen_step_packets(screen);
        screen->state.run.now_ns = screen->session ? tl_now_ns() : screen->state.run.now_ns;
        if (!screen->quit && time_to_frame(screen) == 0)
            status = paint(screen);
    }
    return status;
}

/* --- from the terminal's taking to its return --- */

/* A session that still runs is stopped, and what it has is kept. */
static void finish_session(struct screen *screen)
{
    if (screen->session) {
        screen->state.run.stopping = true;
        tl_session_stop(screen->session);
        screen_end_session(screen);
    }
    if (screen->has_result && screen->interrupted)
        screen->result.status = TL_CANCELLED;
    tui_lookup_destroy(screen->lookup);
    for (int i = 0; i < 2; i++)
        tui_grid_finish(&screen->grids[i]);
}

bool tl_tui_is_possible(void)
{
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && tl_tui_terminal_type() != NULL;
}

const char *tl_tui_why_not(void)
{
    static char text[160];
    const char *term = getenv("TERM");
    bool asked = term && *term && strcmp(term, "dumb") != 0;
    if (asked && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !tl_tui_terminal_type())
        snprintf(text, sizeof text,
                 "the terminal type \"%.40s\" is not known here: text in place of the screen "
                 "(TERM=xterm-256color may show it)",
                 term);
    return text;
}

static enum tl_status show(struct screen *screen, struct tl_error *reterr)
{
    static const int more[] = {SIGWINCH, SIGTSTP, SIGCONT};
    sigset_t before;
    screen->signal_fd = tl_app_signals_open(more, sizeof more / sizeof *more, &before);
    if (screen->signal_fd < 0)
        return tl_error_set(reterr, TL_IO, "signalfd: %s", strerror(errno));
    enum tl_status status =
        tui_terminal_open(screen->request->color, screen->request->mouse, reterr);
    if (status == TL_OK) {
        if (screen->request->start)
            screen_start_session(screen);
        else if (screen->request->pcap)
            screen_open_packets(screen);
        else if (screen->request->live)
            screen_act(screen, tui_state_key(&screen->state, 'W' - 64));
        else
            screen_list_recent(screen);
        if (!screen->request->start && screen->state.start.target[0] && !screen->state.saved_only)
            screen_look_up(screen);
        status = follow(screen);
        tui_terminal_close();
        finish_session(screen);
    }
    tl_app_signals_close(screen->signal_fd, &before);
    if (status != TL_OK && reterr && !reterr->text[0])
        (void)tl_error_set(reterr, status, "the screen ended: %s", tl_status_text(status));
    return status;
}

static void list_keys(struct screen *screen)
{
    struct tui_start *start = &screen->state.start;
    size_t count = screen->request->keys ? tl_keys_count(screen->request->keys) : 0;
    for (size_t i = 0; i < count && i < TUI_KEYS_MAX; i++)
        snprintf(start->keys[start->key_count++], sizeof start->keys[0], "%.63s",
                 tl_keys_at(screen->request->keys, i)->name);
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
    screen->painted = -1;
    screen->dirty = true;
    tui_state_init(&screen->state, request->config);
    screen->state.demo_only = request->start;
    list_keys(screen);
    if (request->saved) {
        screen->state.saved_only = true;
        screen->state.from_store = true;
        screen->shown = *request->saved;
        tui_state_result(&screen->state, &screen->shown);
    }
    enum tl_status status = show(screen, reterr ? reterr : &ignored);
    *ret_has_result = screen->has_result;
    if (screen->has_result)
        *ret_result = screen->result;
    screen_finish_watch(screen);
    screen_finish_packets(screen);
    screen_finish_store(screen);
    free(screen);
    return status;
}
