/* The run screen: the list of stages, how far the run is, the early reading. The running stage
 * as plots and ledger is in view_live.c. Numbers that are not known are "-", never 0. */
#include <stdio.h>
#include <string.h>

#include "live.h"
#include "tightlink/base/units.h"
#include "view.h"
#include "zones.h"

static const char *mark_of(const struct tui_stage *stage, enum tui_ink *ret_ink)
{
    *ret_ink = TUI_PLAIN;
    if (stage->state == TL_STAGE_RUNS) {
        *ret_ink = TUI_BOLD;
        return ">>";
    }
    if (stage->state == TL_STAGE_WAITS)
        return "..";
    if (stage->state == TL_STAGE_OFF)
        return "--";
    switch (stage->record.state) {
    case TL_STAGE_DONE:
        *ret_ink = TUI_GOOD;
        return "ok";
    case TL_STAGE_FAILED:
        *ret_ink = TUI_BAD;
        return "(x)";
    case TL_STAGE_LIMITED:
        return "ok~";
    default:
        return "--";
    }
}

/* Where the columns of a row of the list begin. */
struct layout {
    int names, at, rest;
};

static struct layout lay_out(int columns)
{
    int names = columns >= 70 ? 24 : 18;
    return (struct layout){.names = names, .at = names + 6, .rest = columns - names - 6};
}

#define TOOK_COLUMNS 9
#define REASON_ROWS  6

static bool has_reason(const struct tui_stage *stage)
{
    return stage->state == TL_STAGE_ENDED && stage->record.id[0] && stage->record.reason[0];
}

/* A reason stands whole where there is room for its rows. */
static int rows_of(const struct tui_stage *stage, struct tui_grid *grid, int columns)
{
    int room = lay_out(columns).rest - TOOK_COLUMNS;
    int rows =
        has_reason(stage) ? tui_wrap(grid, 0, 0, 0, room, TUI_PLAIN, stage->record.reason) : 1;
    return rows < 1 ? 1 : rows > REASON_ROWS ? REASON_ROWS : rows;
}

static int rows_of_all(const struct tui_progress_state *run, struct tui_grid *grid, int columns)
{
    int rows = 0;
    for (int i = 0; i < run->stage_count; i++)
        rows += rows_of(&run->stages[i], grid, columns);
    return rows;
}

/* Rows of the list where `most` are to be had: all reasons whole, else that of the selected stage.
 */
static int rows_of_list(const struct tui_progress_state *run, struct tui_grid *grid, int columns,
                        int most)
{
    int all = rows_of_all(run, grid, columns), one = run->stage_count;
    if (run->selected < run->stage_count)
        one += rows_of(&run->stages[run->selected], grid, columns) - 1;
    int rows = all <= most ? all : one < most ? one : most;
    return rows < 1 ? 1 : rows;
}

/* Why it ended as it did, else what it moved. */
static void draw_ended(const struct tl_stage_record *record, struct tui_grid *grid, int row, int at,
                       int rest, int rows)
{
    char took[TL_UNIT_TEXT_SIZE], moved[TL_UNIT_TEXT_SIZE];
    long long bytes = record->sent_bytes + record->received_bytes;
    (void)tui_put(grid, row, at, TOOK_COLUMNS - 1, TUI_PLAIN,
                  record->duration_ns > 0 ? tl_format_ns((double)record->duration_ns, took) : "-");
    if (record->reason[0])
        (void)tui_wrap(grid, row, at + TOOK_COLUMNS, rows, rest - TOOK_COLUMNS, TUI_PLAIN,
                       record->reason);
    else if (bytes > 0)
        (void)tui_putf(grid, row, at + TOOK_COLUMNS, rest - TOOK_COLUMNS, TUI_DIM, "%s moved",
                       tl_format_traffic((double)bytes, moved));
}

/* What is said of a stage: how far it is, why it ended as it did, or why it waits. */
static void draw_stage(const struct tui_progress_state *run, const struct tui_stage *stage,
                       struct tui_grid *grid, int row, int rows, int col, int columns)
{
    struct layout layout = lay_out(columns);
    char title[40], took[TL_UNIT_TEXT_SIZE], most[TL_UNIT_TEXT_SIZE];
    enum tui_ink ink;
    const char *mark = mark_of(stage, &ink);
    (void)tui_put(grid, row, col + 1, 3, ink, mark);
    (void)tui_put(grid, row, col + 5, layout.names, TUI_PLAIN, tui_stage_title(stage, title));
    int at = col + layout.at, rest = layout.rest;
    if (stage->state == TL_STAGE_RUNS) {
        double elapsed = run->has_live ? run->live.elapsed_ns : 0;
        int used = tui_putf(grid, row, at, rest, TUI_PLAIN, "%s / %s  ",
                            elapsed > 0 ? tl_format_ns(elapsed, took) : "0 s",
                            stage->expected_ns > 0 ? tl_format_ns(stage->expected_ns, most) : "?");
        if (rest - used >= 10 && stage->expected_ns > 0)
            tui_progress(grid, row, at + used, rest - used - 1, elapsed / stage->expected_ns);
    } else if (stage->state == TL_STAGE_ENDED && stage->record.id[0]) {
        draw_ended(&stage->record, grid, row, at, rest, rows);
    } else {
        (void)tui_put_cut(grid, row, at, rest, TUI_DIM, stage->why);
    }
    if (stage == &run->stages[run->selected])
        (void)tui_put(grid, row, col, 1, TUI_BOLD, ">");
}

static void draw_stages(const struct tui_progress_state *run, struct tui_grid *grid, int row,
                        int rows, int col, int columns)
{
    bool whole = rows_of_all(run, grid, columns) <= rows;
    const struct tui_stage *selected =
        run->selected < run->stage_count ? &run->stages[run->selected] : NULL;
    int more = !whole && selected ? rows_of(selected, grid, columns) - 1 : 0, used = 0;
    more = more < rows ? more : rows - 1;
    int i = whole ? 0 : tui_list_top(run->selected, rows - more, run->stage_count);
    bool above = i > 0;
    for (; used < rows && i < run->stage_count; i++) {
        const struct tui_stage *stage = &run->stages[i];
        int high = whole ? rows_of(stage, grid, columns) : stage == selected ? 1 + more : 1;
        high = high < rows - used ? high : rows - used;
        draw_stage(run, stage, grid, row + used, high, col, columns);
        for (int line = 0; line < high; line++)
            tui_zone_add(grid, row + used + line, col, columns, TUI_ZONE_ROW, i);
        used += high;
    }
    if (above || i < run->stage_count)
        tui_put_right(grid, row + rows - 1, col, columns, TUI_DIM,
                      i < run->stage_count ? (grid->utf8 ? " ↓" : " v")
                                           : (grid->utf8 ? " ↑" : " ^"));
    if (!run->stage_count)
        (void)tui_put(grid, row, col + 1, columns - 1, TUI_PLAIN,
                      run->active ? "connecting ..." : "no stage was run");
}

double tui_live_moved(const struct tui_progress_state *run)
{
    bool adds = run->running && run->has_live && run->live.live.bytes > 0;
    return (double)run->bytes + (adds ? run->live.live.bytes : 0);
}

/* "srv-b   00:07, at most about 45 s of loading   280 MB of at most 1.4 GB   [running]" */
static void draw_head(const struct tui_state *state, struct tui_grid *grid, int row)
{
    const struct tui_progress_state *run = &state->run;
    char moved[TL_UNIT_TEXT_SIZE], most[TL_UNIT_TEXT_SIZE], load[TL_UNIT_TEXT_SIZE], text[160];
    long long seconds = (run->now_ns - run->started_ns) / 1000000000;
    const char *what = !run->active    ? "[ended]"
                       : run->stopping ? "[stopping]"
                       : run->frozen   ? "[frozen]"
                       : run->paused   ? "[paused]"
                                       : "[running]";
    int n = snprintf(text, sizeof text, "%02lld:%02lld", seconds / 60, seconds % 60);
    if (run->worst_ns > 0 && grid->cols >= 100)
        n += snprintf(text + n, sizeof text - (size_t)n, " (loading at most %s)",
                      tl_format_ns(run->worst_ns, load));
    n += snprintf(text + n, sizeof text - (size_t)n, "   %s",
                  tl_format_traffic(tui_live_moved(run), moved));
    if (run->worst_bytes > 0 && !run->worst_is_open)
        n += snprintf(text + n, sizeof text - (size_t)n, " of %s%s",
                      grid->cols >= 76 ? "at most " : "",
                      tl_format_traffic((double)run->worst_bytes, most));
    snprintf(text + n, sizeof text - (size_t)n, "  %s ", what);
    int room = grid->cols - (int)strlen(text) - 2;
    (void)tui_put_short(grid, row, 1, room, TUI_BOLD, state->title);
    tui_put_right(grid, row, 1 + room, grid->cols - 1 - room, TUI_PLAIN, text);
}

/* Two rows: of the running stream, and, where that leaves room, of the rules so far. */
static void draw_reading(const struct tui_state *state, struct tui_grid *grid, int row)
{
    const struct tui_progress_state *run = &state->run;
    char text[1100];
    int used = 0;
    if (run->early[0] && run->running) {
        snprintf(text, sizeof text, "Early read: %s", run->early);
        used = tui_wrap(grid, row, 1, 2, grid->cols - 2, TUI_BOLD, text);
    }
    if (!run->reading[0] || used >= 2)
        return;
    snprintf(text, sizeof text, "So far (not yet confirmed): %s", run->reading);
    if (used + tui_wrap(grid, 0, 0, 0, grid->cols - 2, TUI_BOLD, text) <= 2 || !used)
        (void)tui_wrap(grid, row + used, 1, 2 - used, grid->cols - 2, TUI_BOLD, text);
}

/* The verdict of a run that has ended stands whole below it. Returns its rows. */
static int draw_verdict(const struct tui_state *state, struct tui_grid *grid, int last)
{
    char text[TUI_HEADLINE_SIZE + 16], line[TUI_HEADLINE_SIZE];
    snprintf(text, sizeof text, "Verdict: %s", tui_verdict_headline(state->result, line));
    int most = (last - 1) / 3, rows = tui_wrap(grid, 0, 0, 0, grid->cols - 2, TUI_BOLD, text);
    rows = rows > most ? most : rows < 2 ? 2 : rows;
    (void)tui_wrap(grid, last - rows, 1, rows, grid->cols - 2, TUI_BOLD, text);
    return rows;
}

/* Stages left, and below them what the running one waits for; its plots right. */
static void draw_wide(const struct tui_progress_state *run, struct tui_grid *grid, int row,
                      int rows)
{
    int half = grid->cols * 9 / 20, list = rows_of_list(run, grid, half - 1, rows - 12);
    draw_stages(run, grid, row, list, 0, half - 1);
    for (int i = 0; i < rows; i++)
        (void)tui_put(grid, row + i, half, 1, TUI_DIM, grid->utf8 ? "│" : "|");
    int used = list + 1;
    used += tui_live_ledger(run, grid, row + used, rows - used, 0, half - 1);
    (void)tui_live_numbers(run, grid, row + used + 1, rows - used - 1, 0, half - 1);
    tui_live_plots(run, grid, row, rows, half + 1, grid->cols - half - 1);
}

void tui_view_run(struct tui_state *state, struct tui_grid *grid, int first, int last)
{
    const struct tui_progress_state *run = &state->run;
    draw_head(state, grid, first);
    tui_rule(grid, first + 1);
    bool ended = !run->active && state->result;
    int below = ended ? draw_verdict(state, grid, last) : 2;
    int row = first + 2, rows = last - row - below;
    if (!ended)
        draw_reading(state, grid, last - 2);
    if (grid->cols >= TUI_WIDE_COLS && rows >= 20) {
        state->rows_shown = rows - 12;
        draw_wide(run, grid, row, rows);
        return;
    }
    int most = !run->active && run->sampled < 0 ? rows : rows / 2;
    int list = rows_of_list(run, grid, grid->cols, most);
    state->rows_shown = list;
    draw_stages(run, grid, row, list, 0, grid->cols);
    if (list + 1 >= rows)
        return;
    tui_rule(grid, row + list);
    tui_live_plots(run, grid, row + list + 1, rows - list - 1, 0, grid->cols);
}
