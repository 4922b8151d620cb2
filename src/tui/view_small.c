/* What is left of every screen on a very small terminal: one column that scrolls, and below it the
 * keys that matter, help and the way out among them. */
#include <math.h>
#include <stdio.h>

#include "keymap.h"
#include "lines.h"
#include "live.h"
#include "page_text.h"
#include "tightlink/base/units.h"
#include "tightlink/present/report.h"
#include "view.h"
#include "zones.h"

/* Of a message above the keys. */
#define MESSAGE_ROWS 3

/* --- questions --- */

static void add_send(const struct tui_state *state, char *ret_text, size_t size)
{
    char title[160], text[600];
    tui_send_text(state, title, sizeof title, text, sizeof text);
    snprintf(ret_text, size, "%s\n%s", title, text);
}

/* What was copied, and what has to be put into it. */
static void add_copied(const struct tui_state *state, char *ret_text, size_t size)
{
    struct tl_buf copied = TL_BUF_INIT;
    tui_add_copied(state, &copied);
    snprintf(ret_text, size, "Sent to the clipboard:\n%s", tl_buf_text(&copied));
    tl_buf_finish(&copied);
}

/* What is asked. */
static const char *question(const struct tui_state *state, const char *help, char *text,
                            size_t size)
{
    switch (state->overlay) {
    case TUI_HELP:
        return help;
    case TUI_CONSENT:
        (void)tui_consent_text(state, text, size);
        return text;
    case TUI_ASK_STOP:
        return "A diagnosis is running. Stop it and keep what was measured?";
    case TUI_ASK_CAPTURE:
        tui_capture_text(state, text, size);
        return text;
    case TUI_ASK_DELETE:
        return "Delete this run from the history? Its note and tags go with it.";
    case TUI_ASK_SEND:
        add_send(state, text, size);
        return text;
    case TUI_ASK_MORE:
        return "That is more than you agreed to.";
    case TUI_COPIED:
        add_copied(state, text, size);
        return text;
    case TUI_NO_OVERLAY:
        break;
    }
    return "";
}

/* --- texts and lists --- */

/* The last column is for the sign that there is more below. */
static int text_columns(const struct tui_grid *grid)
{
    return grid->cols > 1 ? grid->cols - 1 : 1;
}

/* Keeps the scroll within what there is, and says whether there is more below. */
static void keep_scroll(struct tui_grid *grid, int rows, int *scroll, int total)
{
    int last = total > rows ? total - rows : 0;
    *scroll = *scroll > last ? last : *scroll;
    if (*scroll < last)
        (void)tui_put(grid, rows - 1, text_columns(grid), 1, TUI_DIM, grid->utf8 ? "↓" : "v");
}

static void draw_text(struct tui_grid *grid, int rows, int *scroll, int *ret_total,
                      const char *text)
{
    int columns = text_columns(grid);
    *ret_total = tui_lines(grid, 0, 0, 0, columns, 0, text);
    keep_scroll(grid, rows, scroll, *ret_total);
    (void)tui_lines(grid, 0, 0, rows, columns, *scroll, text);
}

static void draw_page(struct tui_grid *grid, int rows, int *scroll, int *ret_total,
                      const struct tl_page *page)
{
    int columns = text_columns(grid);
    *ret_total = tui_page_lines(grid, 0, 0, 0, columns, 0, page);
    keep_scroll(grid, rows, scroll, *ret_total);
    (void)tui_page_lines(grid, 0, 0, rows, columns, *scroll, page);
}

/* Rows of a list around the selected one. */
static void
draw_list(const struct tui_state *state, struct tui_grid *grid, int rows, int count, int selected,
          void (*draw)(const struct tui_state *state, int index, struct tui_grid *grid, int row))
{
    int top = tui_list_top(selected, rows, count);
    for (int i = 0; i < rows && top + i < count; i++) {
        draw(state, top + i, grid, i);
        if (top + i == selected)
            tui_select_row(grid, i, grid->cols);
        tui_zone_add(grid, i, 0, grid->cols, TUI_ZONE_ROW, top + i);
    }
}

#define RATE_COLUMNS 10
#define WHEN_COLUMNS 12

static void draw_stored(const struct tui_state *state, int index, struct tui_grid *grid, int row)
{
    const struct tl_history_run *run = &state->history.list->runs[index];
    char text[TL_UNIT_TEXT_SIZE], when[20];
    int at = 1 + WHEN_COLUMNS, names = grid->cols - at - RATE_COLUMNS - 1;
    (void)tui_put(grid, row, 1, WHEN_COLUMNS, TUI_PLAIN, tui_history_when(run->started_ns, when));
    (void)tui_put_short(grid, row, at, names, TUI_PLAIN, tui_name(state, run->target));
    tui_put_right(grid, row, at + names + 1, RATE_COLUMNS, TUI_PLAIN,
                  isnan(run->stream_bps)
                      ? "-"
                      : tl_format_bps_known(run->stream_bps, run->stream_doubt_bps, text));
}

static void draw_hop(const struct tui_state *state, int index, struct tui_grid *grid, int row)
{
    size_t listed[TUI_LIST_MAX];
    (void)tui_list_hops(state, listed);
    const struct tl_hop_record *hop = &state->result->run.hops[listed[index]];
    const char *name = state->private_names ? "<hidden>" : hop->name[0] ? hop->name : hop->address;
    char text[TL_UNIT_TEXT_SIZE];
    int names = grid->cols - 5 - RATE_COLUMNS;
    (void)tui_putf(grid, row, 1, 3, TUI_PLAIN, "%2d", hop->hop);
    (void)tui_put_short(grid, row, 4, names, TUI_PLAIN, name[0] ? name : "no answer");
    tui_put_right(grid, row, 5 + names, RATE_COLUMNS, TUI_PLAIN,
                  isnan(hop->rtt_mean_ns) ? "-" : tl_format_ns(hop->rtt_mean_ns, text));
}

static void draw_cause(const struct tui_state *state, int index, struct tui_grid *grid, int row)
{
    size_t listed[TUI_LIST_MAX];
    (void)tui_list_causes(state, listed);
    const struct tl_finding *finding = &state->result->findings->findings[listed[index]];
    enum tui_ink ink;
    (void)tui_put(grid, row, 1, 3, TUI_PLAIN, tui_finding_mark(finding, &ink));
    (void)tui_put_cut(grid, row, 5, grid->cols - 5, TUI_PLAIN, finding->title);
}

static void draw_question(struct tui_state *state, struct tui_grid *grid, int rows)
{
    char text[sizeof state->copied + 1024];
    struct tl_buf help = TL_BUF_INIT;
    struct tui_box_state *box = &state->box;
    if (state->overlay == TUI_HELP)
        tui_help_text(state, &help);
    const char *keys = tui_question_keys(state),
               *says = question(state, tl_buf_text(&help), text, sizeof text);
    box->shown = rows;
    draw_text(grid, rows, &box->scroll, &box->total, says);
    grid->zone_count = 0; /* what lies below is not for now */
    if (rows < grid->rows) {
        (void)tui_put(grid, rows, 0, grid->cols, TUI_BOLD, keys);
        tui_zone_hints(grid, rows, 0, grid->cols, keys);
    }
    tl_buf_finish(&help);
}

/* --- screens --- */

static void draw_history(struct tui_state *state, struct tui_grid *grid, int rows)
{
    struct tui_history *history = &state->history;
    state->rows_shown = rows;
    if (history->comparison) {
        struct tl_buf text = TL_BUF_INIT;
        int total;
        tl_compare_text(history->comparison, grid->cols, &text);
        draw_text(grid, rows, &history->scroll, &total, tl_buf_text(&text));
        tl_buf_finish(&text);
    } else if (history->list && history->list->count) {
        draw_list(state, grid, rows, (int)history->list->count, history->selected, draw_stored);
    } else {
        (void)tui_wrap(grid, 0, 0, rows, grid->cols, TUI_PLAIN, tui_history_empty(history));
    }
}

static void draw_path(struct tui_state *state, struct tui_grid *grid, int rows)
{
    size_t listed[TUI_LIST_MAX];
    int count = (int)tui_list_hops(state, listed);
    state->rows_shown = rows;
    if (state->hops.selected >= count)
        state->hops.selected = count ? count - 1 : 0;
    if (count)
        draw_list(state, grid, rows, count, state->hops.selected, draw_hop);
    else
        (void)tui_wrap(grid, 0, 0, rows, grid->cols, TUI_PLAIN,
                       state->hops.filter[0] ? "nothing matches; / changes the filter"
                                             : "The routers on the way were not looked at.");
}

static void draw_export(struct tui_state *state, struct tui_grid *grid, int rows)
{
    struct tui_export *leaving = &state->leaving;
    size_t masked = tui_masked_count(leaving);
    struct tl_buf text = TL_BUF_INIT;
    if (leaving->answer[0] || leaving->sending)
        tl_buf_addf(&text, "%s\n\n", leaving->sending ? "On its way ..." : leaving->answer);
    tl_buf_addf(&text, "To: %s\n",
                leaving->to ? leaving->targets[leaving->to - 1].name : "file, clipboard");
    if (leaving->unmasked)
        tl_buf_adds(&text, "Names leave as they are.\n");
    else
        tl_buf_addf(&text, "%zu value%s masked\n", masked, masked == 1 ? "" : "s");
    tl_buf_addf(&text, "This is what leaves:\n%.*s",
                leaving->len > TUI_PREVIEW_MAX ? TUI_PREVIEW_MAX : (int)leaving->len,
                leaving->text ? leaving->text : "");
    leaving->shown = rows;
    draw_text(grid, rows, &leaving->scroll, &leaving->total, tl_buf_text(&text));
    tl_buf_finish(&text);
}

static void draw_detail(struct tui_state *state, struct tui_grid *grid, int rows)
{
    struct tui_page_state *page = &state->page;
    struct tl_page text;
    page->shown = rows;
    if (page->kind == TUI_PAGE_CAUSES) {
        size_t listed[TUI_LIST_MAX];
        int count = (int)tui_list_causes(state, listed);
        if (state->causes.selected >= count)
            state->causes.selected = count ? count - 1 : 0;
        draw_list(state, grid, rows, count, state->causes.selected, draw_cause);
        return;
    }
    tl_page_init(&text, text_columns(grid), grid->utf8);
    tui_page_build(state, &text);
    draw_page(grid, rows, &page->scroll, &page->total, &text);
    tl_page_finish(&text);
}

static void draw_verdict(struct tui_state *state, struct tui_grid *grid, int rows)
{
    const struct tl_session_result *result = state->result;
    struct tl_page page;
    state->rows_shown = rows;
    if (!result->findings) {
        (void)tui_put(grid, 0, 0, 4, TUI_BAD, "(x) ");
        (void)tui_wrap(grid, 0, 4, rows, grid->cols - 4, TUI_BOLD, tui_verdict_sentence(result));
        return;
    }
    tl_page_init(&page, text_columns(grid), grid->utf8);
    tl_report_brief(&result->run, result->facts, result->findings, &page);
    draw_page(grid, rows, &state->scroll, &state->rows_total, &page);
    tl_page_finish(&page);
}

static void draw_start(const struct tui_state *state, struct tui_grid *grid, int rows)
{
    const struct tui_start *start = &state->start;
    char text[1024];
    snprintf(text, sizeof text, "Other end: %s%s\nWhat hurts: %s is slow\nGoal: %s%s\nBudget: %s%s",
             start->target, start->field == TUI_TARGET ? "_" : "",
             start->download && start->upload ? "both directions"
             : start->upload                  ? "upload"
                                              : "download",
             start->goal, start->field == TUI_GOAL ? "_" : "", start->budget,
             start->field == TUI_BUDGET ? "_" : "");
    (void)tui_lines(grid, 0, 0, rows, grid->cols, 0, text);
}

static void draw_run(const struct tui_state *state, struct tui_grid *grid, int rows)
{
    const struct tui_progress_state *run = &state->run;
    const struct tl_probe_live *live = &run->live.live;
    char text[1400], line[TUI_HEADLINE_SIZE], time[TL_UNIT_TEXT_SIZE], moved[TL_UNIT_TEXT_SIZE],
        rate[TL_UNIT_TEXT_SIZE];
    bool has_rate = run->running && run->has_live && isfinite(live->rate_bps);
    const char *stage =
        run->running && run->selected < run->stage_count ? run->stages[run->selected].id : "";
    if (!run->active && state->result)
        snprintf(text, sizeof text, "%s", tui_verdict_headline(state->result, line));
    else if (!run->active)
        snprintf(text, sizeof text, "%s", "Nothing has run yet.");
    else
        snprintf(text, sizeof text, "%s  %s%s%s%s%s%s%.800s",
                 tl_format_ns((double)(run->now_ns - run->started_ns), time),
                 tl_format_traffic(tui_live_moved(run), moved), stage[0] ? "  " : "", stage,
                 has_rate ? "  " : "", has_rate ? tl_format_bps(live->rate_bps, rate) : "",
                 run->reading[0] ? "\nSo far: " : "", run->reading);
    (void)tui_lines(grid, 0, 0, rows, grid->cols, 0, text);
}

static void draw_body(struct tui_state *state, struct tui_grid *grid, int rows)
{
    if (state->screen == TUI_WATCH)
        tui_watch_small(state, grid, rows);
    else if (state->screen == TUI_PACKETS)
        tui_packets_small(state, grid, rows);
    else if (state->page.kind != TUI_NO_PAGE && state->result && state->result->findings)
        draw_detail(state, grid, rows);
    else if (state->screen == TUI_START)
        draw_start(state, grid, rows);
    else if (state->screen == TUI_HISTORY)
        draw_history(state, grid, rows);
    else if (state->screen == TUI_RUN || !state->result)
        draw_run(state, grid, rows);
    else if (state->screen == TUI_PATH)
        draw_path(state, grid, rows);
    else if (state->screen == TUI_EXPORT)
        draw_export(state, grid, rows);
    else
        draw_verdict(state, grid, rows);
}

void tui_view_small(struct tui_state *state, struct tui_grid *grid)
{
    bool keys = grid->rows > 2;
    int rows = grid->rows - keys, most = rows - 1 < MESSAGE_ROWS ? rows - 1 : MESSAGE_ROWS;
    char text[TUI_TEXT_SIZE + 64];
    if (state->overlay != TUI_NO_OVERLAY) {
        draw_question(state, grid, rows);
        return;
    }
    if (state->prompt != TUI_NO_PROMPT)
        snprintf(text, sizeof text, "%s%s_", tui_prompt_label(state->prompt), state->prompt_text);
    else
        snprintf(text, sizeof text, "%s", state->message);
    int said = tui_wrap(grid, 0, 0, 0, grid->cols, TUI_BOLD, text);
    said = said > most ? most : said;
    draw_body(state, grid, rows - said);
    (void)tui_wrap(grid, rows - said, 0, said, grid->cols, TUI_BOLD, text);
    if (keys)
        tui_view_keys(state, grid, rows);
}
