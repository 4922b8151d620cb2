/* What the history and export screens ask for: the store is read and changed, files written. */
#include "handover.h"
#include "screen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terminal.h"
#include "tightlink/app/files.h"
#include "tightlink/app/keep.h"
#include "tightlink/app/leave.h"
#include "tightlink/app/open.h"
#include "tightlink/base/units.h"

/* A list on a screen; who has more filters it. */
#define LIST_MAX 1000

static void complain(struct screen *screen, const struct tl_error *error, enum tl_status status)
{
    tui_say(&screen->state, error->text[0] ? error->text : tl_status_text(status));
}

/* Opened when it is first needed. */
static bool has_history(struct screen *screen)
{
    struct tui_history *history = &screen->state.history;
    struct tl_error error = {0};
    if (!screen->history) {
        enum tl_status status = tl_history_open(NULL, &screen->history, &error);
        if (status != TL_OK)
            snprintf(history->problem, sizeof history->problem, "%.255s",
                     error.text[0] ? error.text : tl_status_text(status));
        else if (tl_history_notice(screen->history)[0])
            tui_say(&screen->state, tl_history_notice(screen->history));
    }
    return screen->history != NULL;
}

static void forget_comparison(struct screen *screen)
{
    screen->state.history.comparison = NULL;
    free(screen->comparison);
    screen->comparison = NULL;
}

static void list_runs(struct screen *screen)
{
    struct tui_history *history = &screen->state.history;
    struct tl_history_filter filter = {.text = history->filter[0] ? history->filter : NULL,
                                       .limit = LIST_MAX};
    struct tl_error error = {0};
    history->list = NULL;
    tl_history_list_finish(&screen->list);
    screen->list = (struct tl_history_list){0};
    if (!has_history(screen))
        return;
    enum tl_status status = tl_history_list(screen->history, &filter, &screen->list, &error);
    if (status != TL_OK) {
        complain(screen, &error, status);
        return;
    }
    history->list = &screen->list;
    int count = (int)screen->list.count;
    if (history->selected >= count)
        history->selected = count ? count - 1 : 0;
}

/* Each far end once, the newest first; demos are gone when they have ended. */
static bool add_recent(const struct tl_history_run *run, void *context)
{
    struct tui_start *start = context;
    const char *via = strstr(run->target, TL_HISTORY_VIA); /* the environment's, not the user's */
    char name[sizeof start->recent[0]];
    int len = via ? (int)(via - run->target) : (int)strlen(run->target);
    bool known = strcmp(run->target_kind, "demo") == 0 || !run->target[0];
    snprintf(name, sizeof name, "%.*s", len < 253 ? len : 253, run->target);
    for (int i = 0; i < start->recent_count; i++)
        known |= strcmp(start->recent[i], name) == 0;
    if (!known)
        memcpy(start->recent[start->recent_count++], name, sizeof name);
    return start->recent_count < TUI_RECENT_MAX;
}

void screen_list_recent(struct screen *screen)
{
    struct tl_history_filter filter = {.limit = LIST_MAX};
    if (!screen->state.saved_only && has_history(screen))
        (void)!tl_history_each(screen->history, &filter, add_recent, &screen->state.start, NULL);
}

static void compare_runs(struct screen *screen)
{
    struct tui_history *history = &screen->state.history;
    char *a = NULL, *b = NULL;
    size_t a_len, b_len;
    struct tl_error error = {0};
    forget_comparison(screen);
    struct tl_comparison *made = calloc(1, sizeof *made);
    enum tl_status status =
        made ? tl_history_document(screen->history, history->a, &a, &a_len, &error) : TL_NOMEM;
    if (status == TL_OK)
        status = tl_history_document(screen->history, history->b, &b, &b_len, &error);
    if (status == TL_OK)
        status = tl_compare_documents(a, a_len, b, b_len, made, &error);
    if (status == TL_OK) {
        screen->comparison = made;
        history->comparison = made;
    } else {
        complain(screen, &error, status);
        free(made);
    }
    free(a);
    free(b);
}

static void write_pair(struct screen *screen)
{
    const struct tui_history *history = &screen->state.history;
    struct tl_buf out = TL_BUF_INIT;
    struct tl_error error = {0};
    char path[100], name[110] = "", text[280];
    snprintf(path, sizeof path, "tightlink-%.26s-%.26s-compare.txt", history->a, history->b);
    enum tl_status status = tl_app_comparison_text(screen->comparison, &out, &error);
    int errnum = status != TL_OK ? 0
                 : tl_app_untaken(path, name, sizeof name)
                     ? tl_app_create_file(name, out.data, out.len)
                     : EEXIST;
    if (status != TL_OK)
        complain(screen, &error, status);
    else if (errnum)
        snprintf(text, sizeof text, "%s was not written: %s", path, strerror(errnum));
    else
        snprintf(text, sizeof text, "written: %s here%s", name,
                 strcmp(name, path) == 0 ? "" : ", beside the earlier one");
    if (status == TL_OK)
        tui_say(&screen->state, text);
    tl_buf_finish(&out);
}

/* --- opening a run that was kept --- */

void screen_forget_opened(struct screen *screen)
{
    tl_app_result_finish(&screen->opened);
}

static void open_run(struct screen *screen)
{
    const struct tl_history_run *run = tui_state_stored(&screen->state);
    struct tl_session_result *result = calloc(1, sizeof *result);
    struct tl_error error = {0};
    enum tl_status status = TL_NOMEM;
    if (run && result && screen->request->config->rules)
        status = tl_app_open_kept(screen->history, run->id, screen->request->config->rules, result,
                                  &error);
    if (status == TL_OK) {
        tui_state_forget_run(&screen->state);
        screen_forget_opened(screen);
        screen->opened = *result;
        screen->shown = *result;
        screen->state.from_store = true;
        tui_state_result(&screen->state, &screen->shown);
    } else {
        complain(screen, &error, status);
        if (result)
            tl_app_result_finish(result);
    }
    free(result);
}

/* --- changes --- */

static void change_run(struct screen *screen, unsigned actions)
{
    const struct tl_history_run *run = tui_state_stored(&screen->state);
    const char *text = screen->state.prompt_text;
    char id[TL_HISTORY_ID_SIZE];
    struct tl_error error = {0};
    enum tl_status status = TL_OK;
    if (!run)
        return;
    snprintf(id, sizeof id, "%.26s", run->id);
    if (actions & TUI_DO_NOTE)
        status = tl_history_set_note(screen->history, id, text, &error);
    else if (actions & TUI_DO_TAG)
        status = tl_history_tag(screen->history, id, text + (*text == '-'), *text != '-', &error);
    else
        status = tl_history_delete(screen->history, id, &error);
    if (status == TL_OK && (actions & TUI_DO_DELETE)) {
        struct tui_history *history = &screen->state.history;
        if (strcmp(history->a, id) == 0 || strcmp(history->b, id) == 0) {
            history->a[0] = history->b[0] = '\0';
            forget_comparison(screen);
        }
        tui_say(&screen->state, "the run is deleted");
    } else if (status != TL_OK) {
        complain(screen, &error, status);
    }
    list_runs(screen);
}

/* --- handing on --- */

static void forget_preview(struct screen *screen)
{
    struct tui_export *leaving = &screen->state.leaving;
    leaving->text = leaving->requests = NULL;
    leaving->redactor = NULL;
    leaving->len = 0;
    tl_buf_finish(&screen->preview);
    tl_redactor_destroy(screen->redactor);
    screen->redactor = NULL;
}

static void preview(struct screen *screen)
{
    struct tui_export *leaving = &screen->state.leaving;
    const struct tl_session_result *result = screen->state.result;
    struct tl_export *made = NULL;
    struct tl_error error = {0};
    enum tl_status status = TL_OK;
    forget_preview(screen);
    if (!leaving->unmasked)
        status = tl_app_redactor(TL_APP_MASKS_NEW, &screen->redactor, &error);
    if (status == TL_OK)
        status = tl_app_leave_with(result, screen->redactor, &made, &error);
    if (status == TL_OK && !screen->request->utf8)
        tl_export_set_ascii(made); /* what is shown is what leaves */
    if (status == TL_OK && leaving->to)
        status = screen_pack_ticket(screen, made, &error);
    else if (status == TL_OK)
        status = tl_export_write(made, leaving->format, &screen->preview);
    tl_export_destroy(made);
    if (status != TL_OK) {
        complain(screen, &error, status);
        forget_preview(screen);
        return;
    }
    leaving->text = tl_buf_text(&screen->preview);
    leaving->len = screen->preview.len;
    if (screen->redactor && !leaving->to) /* a ticket has the whole run beside its text */
        tl_redactor_count_in(screen->redactor, leaving->text, leaving->len);
    leaving->redactor = screen->redactor;
}

static void write_preview(struct screen *screen)
{
    const struct tui_export *leaving = &screen->state.leaving;
    char path[80], masks[240], text[400];
    if (!leaving->text)
        return;
    const char *format = tl_export_format_name(leaving->format);
    snprintf(path, sizeof path, "tightlink-%.26s-export.%s", screen->state.result->run.id,
             strcmp(format, "text") == 0 ? "txt" : format);
    if (strchr(path, '/'))
        return;
    char name[100] = "";
    int errnum = tl_app_untaken(path, name, sizeof name)
                     ? tl_app_create_file(name, leaving->text, leaving->len)
                     : EEXIST;
    if (errnum) {
        snprintf(text, sizeof text, "%s was not written: %s", path, strerror(errnum));
    } else {
        screen_keep_masks(screen, masks, sizeof masks);
        snprintf(text, sizeof text, "written: %s here%s%s", name,
                 strcmp(name, path) == 0 ? "" : ", beside the earlier one", masks);
    }
    tui_say(&screen->state, text);
}

static void clip_preview(struct screen *screen)
{
    const struct tui_export *leaving = &screen->state.leaving;
    char bytes[TL_UNIT_TEXT_SIZE], text[120];
    if (!leaving->text)
        return;
    tui_terminal_copy(leaving->text);
    screen->painted = -1; /* a terminal that does not know the sequence may show it */
    snprintf(text, sizeof text, "%s sent to the clipboard (OSC 52: not all terminals take it)",
             tl_format_traffic((double)leaving->len, bytes));
    tui_say(&screen->state, text);
}

static void choose_ticket(struct screen *screen)
{
    struct tui_export *leaving = &screen->state.leaving;
    screen_list_targets(screen);
    if (leaving->target_count && !leaving->to)
        leaving->to = 1;
    else if (!leaving->target_count)
        tui_say(&screen->state, leaving->no_targets[0]
                                    ? leaving->no_targets
                                    : "tightlink.conf names no ticket system (doc/tickets.md has "
                                      "examples); s saves a file");
}

void screen_act_on_store(struct screen *screen, unsigned actions)
{
    if (actions & TUI_DO_LIST)
        list_runs(screen);
    if (actions & TUI_DO_COMPARE && screen->history)
        compare_runs(screen);
    if (actions & TUI_DO_OPEN && screen->history && !screen->session)
        open_run(screen);
    if (actions & (TUI_DO_NOTE | TUI_DO_TAG | TUI_DO_DELETE) && screen->history)
        change_run(screen, actions);
    if (actions & TUI_DO_PAIR && screen->comparison)
        write_pair(screen);
    if (actions & TUI_DO_TICKET)
        choose_ticket(screen);
    if (actions & TUI_DO_PREVIEW && screen->state.result && screen->state.result->findings) {
        screen_list_targets(screen);
        preview(screen);
    }
    if (actions & TUI_DO_CURL)
        screen_show_curl(screen);
    if (actions & TUI_DO_SEND)
        screen_send_ticket(screen);
    if (actions & TUI_DO_WRITE)
        write_preview(screen);
    if (actions & TUI_DO_CLIP)
        clip_preview(screen);
}

void screen_keep(struct screen *screen, const struct tl_session_result *result)
{
    struct tl_buf notices = TL_BUF_INIT;
    struct tl_error error = {0};
    if (!screen->request->keep || !tl_app_is_worth_keeping(result) || !has_history(screen))
        return;
    enum tl_status status = tl_app_keep(screen->history, result, NULL, &notices, &error);
    if (status != TL_OK)
        complain(screen, &error, status);
    tl_buf_finish(&notices);
}

void screen_finish_store(struct screen *screen)
{
    forget_comparison(screen);
    forget_preview(screen);
    screen_finish_handover(screen);
    tl_history_list_finish(&screen->list);
    tl_history_close(screen->history);
    screen_forget_opened(screen);
}
