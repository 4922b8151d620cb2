/* The history: every run that was kept, two of them side by side, their rates over time. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lines.h"
#include "page_text.h"
#include "tightlink/base/cause_name.h"
#include "tightlink/base/units.h"
#include "tightlink/facts/told.h"
#include "tightlink/present/report.h"
#include "view.h"
#include "zones.h"

/* Local time: people remember when they were at it. */
const char *tui_history_when(int64_t started_ns, char ret_text[20])
{
    time_t seconds = (time_t)(started_ns / 1000000000);
    struct tm parts;
    if (!localtime_r(&seconds, &parts) || !strftime(ret_text, 20, "%m-%d %H:%M", &parts))
        snprintf(ret_text, 20, "-");
    return ret_text;
}

const char *tui_history_empty(const struct tui_history *history)
{
    return history->problem[0]  ? history->problem
           : history->filter[0] ? "nothing matches; / changes the filter"
                                : "no run has been kept yet; each diagnosis is from now on";
}

static void put_rate(struct tui_grid *grid, int row, int col, double bps, double doubt_bps)
{
    char text[TL_UNIT_TEXT_SIZE];
    tui_put_right(grid, row, col, 10, TUI_PLAIN,
                  isnan(bps) ? "-" : tl_format_bps_known(bps, doubt_bps, text));
}

/* "receive buffer (PC)", "goal met" ...; without the place where there is little room. */
static void describe(const struct tl_history_run *run, bool narrow, char *ret_text, size_t size)
{
    const char *place =
        strcmp(run->segment, "near-host") == 0 ? "PC" : tui_place(NULL, run->segment);
    if (run->cause[0] && !narrow)
        snprintf(ret_text, size, "%s (%s)", tl_cause_name(run->cause), place);
    else if (run->cause[0])
        snprintf(ret_text, size, "%s", tl_cause_name(run->cause));
    else
        snprintf(ret_text, size, "%s", tl_cause_name(run->state));
}

struct columns {
    int target, rtt, loss, verdict, tags; /* 0: not shown */
};

/* More is shown the more room there is. */
static struct columns lay_out(int cols)
{
    struct columns at = {.target = 18, .verdict = cols >= 118 ? 81 : cols >= 76 ? 63 : 42};
    at.rtt = cols >= 76 ? 54 : 0;
    at.loss = cols >= 118 ? 64 : 0;
    at.tags = cols >= 100 ? cols - 15 : 0;
    return at;
}

static void draw_head(const struct columns *at, struct tui_grid *grid, int row)
{
    (void)tui_put(grid, row, 3, 14, TUI_BOLD, "when");
    (void)tui_put(grid, row, at->target, 14, TUI_BOLD, "other end");
    bool narrow = !at->rtt;
    tui_put_right(grid, row, narrow ? 30 : 33, 10, TUI_BOLD, "1 stream");
    if (!narrow) {
        tui_put_right(grid, row, 43, 10, TUI_BOLD, "8 streams");
        tui_put_right(grid, row, at->rtt, 8, TUI_BOLD, "RTT");
    }
    if (at->loss)
        tui_put_right(grid, row, at->loss, 15, TUI_BOLD, "sent again");
    (void)tui_put(grid, row, at->verdict, grid->cols - at->verdict, TUI_BOLD, "verdict");
    if (at->tags)
        (void)tui_put(grid, row, at->tags, grid->cols - at->tags, TUI_BOLD, "tags");
}

static void draw_run(const struct tui_state *state, const struct tl_history_run *run,
                     const struct columns *at, struct tui_grid *grid, int row, bool selected)
{
    const struct tui_history *history = &state->history;
    char text[128], number[TL_UNIT_TEXT_SIZE];
    bool narrow = !at->rtt;
    const char *mark = strcmp(history->a, run->id) == 0   ? "A"
                       : strcmp(history->b, run->id) == 0 ? "B"
                                                          : " ";
    (void)tui_put(grid, row, 1, 1, TUI_BOLD, mark);
    (void)tui_put(grid, row, 3, 14, TUI_PLAIN, tui_history_when(run->started_ns, text));
    (void)tui_put_short(grid, row, at->target, narrow ? 11 : 15, TUI_PLAIN,
                        tui_name(state, run->target));
    put_rate(grid, row, narrow ? 30 : 33, run->stream_bps, run->stream_doubt_bps);
    if (!narrow) {
        put_rate(grid, row, 43, run->streams_bps, run->streams_doubt_bps);
        tui_put_right(grid, row, at->rtt, 8, TUI_PLAIN,
                      isnan(run->rtt_ns) ? "-" : tl_format_ns(run->rtt_ns, number));
    }
    if (at->loss)
        tui_put_right(grid, row, at->loss, 15, TUI_PLAIN,
                      isnan(run->retrans_ratio) ? "-"
                                                : tl_format_ratio(run->retrans_ratio, number));
    describe(run, !at->loss, text, sizeof text);
    int end = at->tags ? at->tags - 1 : grid->cols - 1;
    (void)tui_put_short(grid, row, at->verdict, end - at->verdict, TUI_PLAIN, text);
    if (at->tags)
        (void)tui_put(grid, row, at->tags, grid->cols - at->tags - 1, TUI_PLAIN, run->tags);
    if (selected)
        tui_select_row(grid, row, grid->cols);
}

/* In plain words, as the report begins. */
static void add_says(const struct tui_state *state, const struct tl_history_run *run,
                     struct tl_buf *out)
{
    const char *name = tui_name(state, run->target), *via = strstr(name, TL_HISTORY_VIA);
    char target[TL_HISTORY_TARGET_SIZE];
    snprintf(target, sizeof target, "%.*s", via ? (int)(via - name) : (int)strlen(name), name);
    const struct tl_report_kept kept = {
        .cause = run->cause,
        .segment = run->segment,
        .sentence = run->sentence,
        .target = target,
        .proxy = via ? via + strlen(TL_HISTORY_VIA) : "",
        .kind = run->target_kind,
        .direction = strcmp(run->direction, "upload") == 0 ? TL_UPLOAD : TL_DOWNLOAD,
        .confidence = run->confidence,
        .measured_bps = run->measured_bps,
        .doubt_bps = run->measured_bps == run->stream_bps ? run->stream_doubt_bps : (double)NAN,
        .fixed_bps = run->fixed_bps};
    tl_report_kept(&kept, out);
}

static void draw_selected(const struct tui_state *state, struct tui_grid *grid, int row, int rows)
{
    const struct tl_history_run *run = tui_state_stored(state);
    char text[TL_UNIT_TEXT_SIZE], tried[TL_UNIT_TEXT_SIZE], line[512];
    if (!run || rows < 1)
        return;
    struct tl_buf says = TL_BUF_INIT;
    add_says(state, run, &says);
    int used =
        tui_wrap(grid, row, 1, rows > 3 ? 3 : rows, grid->cols - 2, TUI_BOLD, tl_buf_text(&says));
    tl_buf_finish(&says);
    used = used > 3 ? 3 : used;
    if (run->hit >= 0) {
        snprintf(line, sizeof line, "The fix was tried: %s predicted, %s measured: %s",
                 tl_format_bps_known(run->tried_predicted_bps, run->tried_doubt_bps, text),
                 tl_format_bps_known(run->tried_measured_bps,
                                     TL_PREDICTION_DOUBT * run->tried_measured_bps, tried),
                 run->hit ? "HIT" : "MISS");
        used += tui_wrap(grid, row + used, 1, rows - used, grid->cols - 2, TUI_PLAIN, line);
    }
    if (run->tags[0] && used < rows)
        (void)tui_putf(grid, row + used++, 1, grid->cols - 2, TUI_PLAIN, "tags: %s", run->tags);
    snprintf(line, sizeof line, "note: %.400s", run->note[0] ? run->note : "none; N writes one");
    if (used < rows)
        used += tui_wrap(grid, row + used, 1, rows - used, grid->cols - 2,
                         run->note[0] ? TUI_PLAIN : TUI_DIM, line);
    if (run->cause[0] && used < rows) {
        snprintf(line, sizeof line, "cause: %s, for an engineer %s at %s",
                 tl_cause_name(run->cause), run->cause, run->segment);
        (void)tui_wrap(grid, row + used, 1, rows - used, grid->cols - 2, TUI_DIM, line);
    }
}

static void draw_below(struct tui_state *state, struct tui_grid *grid, int row, int rows)
{
    struct tui_history *history = &state->history;
    if (!history->comparison) {
        if (history->graph && tui_state_stored(state))
            tui_history_graph(state, grid, row, rows);
        else
            draw_selected(state, grid, row, rows);
        return;
    }
    struct tl_buf text = TL_BUF_INIT;
    tl_compare_text(history->comparison, grid->cols - 2, &text);
    int total = tui_lines(grid, row, 1, 0, grid->cols - 2, 0, tl_buf_text(&text));
    int last = total > rows ? total - rows : 0;
    history->scroll = history->scroll > last ? last : history->scroll;
    (void)tui_lines(grid, row, 1, rows, grid->cols - 2, history->scroll, tl_buf_text(&text));
    if (history->scroll < last)
        tui_put_right(grid, row - 1, 0, grid->cols, TUI_DIM,
                      grid->utf8 ? " > ↓ more " : " > v more ");
    tl_buf_finish(&text);
}

void tui_view_history(struct tui_state *state, struct tui_grid *grid, int first, int last)
{
    const struct tui_history *history = &state->history;
    const struct tl_history_list *list = history->list;
    int count = list ? (int)list->count : 0;
    (void)tui_putf(grid, first, 1, grid->cols - 24, TUI_BOLD, "Runs on this machine%s%s",
                   history->filter[0] ? ", filter: " : "", history->filter);
    if (list) {
        char text[64];
        snprintf(text, sizeof text, "%zu runs ", list->total);
        tui_put_right(grid, first, grid->cols - 24, 24, TUI_PLAIN, text);
    }
    tui_rule(grid, first + 1);
    int row = first + 2;
    if (!count) {
        (void)tui_wrap(grid, row, 1, last - row, grid->cols - 2, TUI_PLAIN,
                       tui_history_empty(history));
        state->rows_shown = 0;
        return;
    }
    struct columns at = lay_out(grid->cols);
    int rows = last - row - 1;
    int below = history->comparison ? rows * 2 / 3 : history->graph ? rows / 2 : rows >= 12 ? 6 : 2;
    int lines = tui_list_lines(count, rows, below);
    state->rows_shown = lines;
    draw_head(&at, grid, row);
    int top = tui_list_top(history->selected, lines, count);
    for (int i = 0; i < lines && top + i < count; i++) {
        draw_run(state, &list->runs[top + i], &at, grid, row + 1 + i, top + i == history->selected);
        tui_zone_add(grid, row + 1 + i, 0, grid->cols, TUI_ZONE_ROW, top + i);
    }
    tui_rule(grid, row + 1 + lines);
    draw_below(state, grid, row + 2 + lines, last - row - 2 - lines);
}
