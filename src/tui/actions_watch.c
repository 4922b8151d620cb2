/* What the screen of running transfers asks for: the watch and its steps, the verdict of one, a
 * capture of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "screen.h"
#include "tightlink/app/capture.h"
#include "tightlink/app/open.h"
#include "tightlink/base/time.h"

struct watcher {
    struct tl_app_live *live;      /* NULL where it could not begin */
    bool owned;                    /* else the caller's */
    int64_t next_ns;               /* the next step */
    struct tl_app_live_row *rows;  /* that the state shows */
    struct tl_app_capture capture; /* report_fd -1: none runs */
};

static void complain(struct screen *screen, const struct tl_error *error, enum tl_status status)
{
    tui_say(&screen->state, error->text[0] ? error->text : tl_status_text(status));
}

/* --- the watch --- */

static void begin_watch(struct screen *screen)
{
    static const struct tl_app_live_what all; /* that leaves this machine */
    struct tui_watch *watch = &screen->state.watch;
    struct tl_error error = {0};
    struct watcher *watcher = calloc(1, sizeof *watcher);
    enum tl_status status = watcher ? TL_OK : TL_NOMEM;
    if (watcher) {
        watcher->capture.report_fd = -1;
        watcher->live = screen->request->live;
        watcher->owned = !watcher->live;
    }
    if (status == TL_OK && watcher->owned && !screen->request->config->rules)
        status = tl_error_set(&error, TL_UNSUPPORTED, "no rules are there to judge by");
    else if (status == TL_OK && watcher->owned)
        status = tl_app_live_create(&all, screen->request->config->rules, &watcher->live, &error);
    if (status != TL_OK) {
        snprintf(watch->problem, sizeof watch->problem, "Transfers cannot be watched: %.200s",
                 error.text[0] ? error.text : tl_status_text(status));
        free(watcher);
        return;
    }
    watcher->next_ns = tl_now_ns() + tl_app_live_step_ns();
    screen->watcher = watcher;
    watch->on = true;
    watch->problem[0] = '\0';
}

/* Plots of the transfer that is looked at. */
static void take_seconds(struct screen *screen)
{
    struct tui_watch *watch = &screen->state.watch;
    const struct tl_app_live_row *row = tui_watch_row(&screen->state);
    bool gone = !row || !tl_app_live_seconds(screen->watcher->live, row->cookie, &watch->series);
    if (gone && screen->state.page.kind != TUI_PAGE_WATCH)
        watch->series.count = 0;
}

/* The state keeps its rows until it has the new ones: those of the watch change at each step. */
static void show_second(struct screen *screen)
{
    size_t count;
    const struct tl_app_live_row *rows = tl_app_live_rows(screen->watcher->live, &count);
    if (screen->state.watch.frozen)
        return;
    struct tl_app_live_row *copy = calloc(count + 1, sizeof *copy);
    if (!copy)
        return; /* the old ones stay */
    if (count)
        memcpy(copy, rows, count * sizeof *copy);
    tui_watch_take(&screen->state, copy, count, tl_app_live_sum(screen->watcher->live));
    free(screen->watcher->rows);
    screen->watcher->rows = copy;
    take_seconds(screen);
    screen->dirty = true;
}

int screen_watch_wait(const struct screen *screen)
{
    if (!screen->watcher || !screen->watcher->live)
        return -1;
    int64_t left_ns = screen->watcher->next_ns - tl_now_ns();
    return left_ns > 0 ? (int)((left_ns + TL_NS_PER_MS - 1) / TL_NS_PER_MS) : 0;
}

/* On a grid of time; steps that were missed are left out. */
void screen_step_watch(struct screen *screen)
{
    struct watcher *watcher = screen->watcher;
    struct tl_error error = {0};
    bool second = false;
    int64_t now_ns = tl_now_ns(), next_ns = watcher->next_ns + tl_app_live_step_ns();
    watcher->next_ns = next_ns > now_ns ? next_ns : now_ns + tl_app_live_step_ns();
    enum tl_status status = tl_app_live_step(watcher->live, &second, &error);
    if (status != TL_OK) {
        snprintf(screen->state.watch.problem, sizeof screen->state.watch.problem,
                 "Transfers cannot be watched any more: %.200s", error.text);
        watcher->next_ns = INT64_MAX;
        screen->dirty = true;
    } else if (second) {
        show_second(screen);
    }
}

/* --- the verdict of one --- */

void screen_show_judged(struct screen *screen, const struct tl_session_result *result)
{
    tui_state_forget_run(&screen->state);
    screen_forget_opened(screen);
    screen->opened = *result;
    screen->shown = screen->opened;
    screen->state.from_store = false;
    tui_state_result(&screen->state, &screen->shown);
}

static void judge(struct screen *screen)
{
    const struct tl_app_live_row *row = &screen->state.watch.open;
    struct tl_session_result *result = calloc(1, sizeof *result);
    struct tl_error error = {0};
    enum tl_status status =
        result ? tl_app_live_result(screen->watcher->live, row->cookie, result, &error) : TL_NOMEM;
    if (status != TL_OK) {
        complain(screen, &error, status);
        if (result)
            tl_app_result_finish(result);
        free(result);
        return;
    }
    screen_show_judged(screen, result);
    free(result);
    screen->state.from_watch = true;
    screen_keep(screen, &screen->opened);
    if (screen->state.watch.export)
        screen_act_on_store(screen, tui_go_to(&screen->state, TUI_EXPORT));
}

/* --- captures --- */

/* "203.0.113.9:443" and "[2001:db8::9]:443". */
static void plan_of(const struct tl_app_live_row *row, struct tl_app_capture_plan *plan)
{
    const char *begin = row->peer + (row->peer[0] == '['), *end = strrchr(row->peer, ':');
    const char *local = strrchr(row->local, ':');
    size_t len = end ? (size_t)(end - begin) : strlen(begin);
    len -= len && begin[len - 1] == ']';
    if (len < sizeof plan->addresses[0]) {
        memcpy(plan->addresses[0], begin, len);
        plan->addresses[0][len] = '\0';
        plan->address_count = 1;
    }
    if (local)
        plan->ports[plan->port_count++] = (uint16_t)strtoul(local + 1, NULL, 10);
}

static void capture(struct screen *screen)
{
    struct watcher *watcher = screen->watcher;
    struct tl_app_capture_order order = {.program = screen->request->capture_program,
                                         .for_ns = TUI_CAPTURE_S * TL_NS_PER_S,
                                         .max_bytes = TUI_CAPTURE_MB * INT64_C(1000000)};
    struct tl_error error = {0};
    char path[64];
    if (!order.program || !order.program[0]) {
        tui_say(&screen->state, "tightlink-capture is not beside tightlink: built without libpcap");
        return;
    }
    plan_of(&screen->state.watch.open, &order.plan);
    tl_app_capture_name(path, sizeof path);
    enum tl_status status = tl_app_capture_start(&order, path, &watcher->capture, &error);
    if (status != TL_OK) {
        complain(screen, &error, status);
        return;
    }
    snprintf(screen->state.watch.capturing, sizeof screen->state.watch.capturing, "%s", path);
    tui_say(&screen->state, "headers are captured; the file is named when it has ended");
}

int screen_capture_fd(const struct screen *screen)
{
    return screen->watcher ? screen->watcher->capture.report_fd : -1;
}

static void end_capture(struct screen *screen, bool stop)
{
    struct tl_app_capture_count count;
    struct tl_error error = {0};
    char text[256], dropped[64] = "";
    enum tl_status status = tl_app_capture_end(&screen->watcher->capture, stop, &count, &error);
    if (status != TL_OK) {
        complain(screen, &error, status);
    } else {
        if (count.dropped_count)
            snprintf(dropped, sizeof dropped, ", %lld dropped here", count.dropped_count);
        snprintf(text, sizeof text, "%lld packets%s; tightlink pcap %s judges them",
                 count.packets_count, dropped, screen->state.watch.capturing);
        tui_say(&screen->state, text);
    }
    screen->state.watch.capturing[0] = '\0';
    screen->dirty = true;
}

void screen_take_capture(struct screen *screen)
{
    end_capture(screen, false);
}

void screen_act_on_watch(struct screen *screen, unsigned actions)
{
    if (actions & TUI_DO_WATCH && !screen->watcher)
        begin_watch(screen);
    if (!screen->watcher)
        return;
    if (actions & TUI_DO_JUDGE && !screen->session && screen->state.screen == TUI_WATCH)
        judge(screen);
    if (actions & TUI_DO_CAPTURE)
        capture(screen);
    if (screen->state.screen == TUI_WATCH)
        take_seconds(screen);
}

void screen_finish_watch(struct screen *screen)
{
    struct watcher *watcher = screen->watcher;
    if (!watcher)
        return;
    if (watcher->capture.report_fd >= 0)
        end_capture(screen, true);
    if (watcher->owned)
        tl_app_live_destroy(watcher->live);
    free(watcher->rows);
    free(watcher);
}
