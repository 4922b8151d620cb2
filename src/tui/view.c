/* The frame of every screen, and what is left of it on a very small terminal. */
#include "view.h"

#include <stdio.h>

#include "tightlink/base/units.h"

const char *tui_verdict_mark(enum tl_verdict_state state, enum tui_ink *ret_ink)
{
    static const struct {
        const char *mark;
        enum tui_ink ink;
    } marks[] = {[TL_LIMITED] = {"(!) ", TUI_BAD},
                 [TL_GOAL_MET] = {"ok  ", TUI_GOOD},
                 [TL_INCONCLUSIVE] = {"(?) ", TUI_BOLD},
                 [TL_VERDICT_INVALID] = {"(x) ", TUI_BAD}};
    *ret_ink = marks[state].ink;
    return marks[state].mark;
}

const char *tui_verdict_sentence(const struct tl_session_result *result)
{
    const struct tl_findings *findings = result->findings;
    if (result->status != TL_OK && result->error.text[0])
        return result->error.text;
    if (findings && findings->verdict.sentence)
        return findings->verdict.sentence;
    return result->status == TL_OK ? "No verdict was formed." : tl_status_text(result->status);
}

static void draw_tabs(const struct tui_state *state, struct tui_grid *grid)
{
    static const char *const names[] = {"1 Start", "2 Run", "3 Verdict", "4 Path"};
    tui_ink_cells(grid, 0, 0, grid->cols, TUI_BAR);
    int col = tui_put(grid, 0, 0, grid->cols, TUI_BAR, " tightlink ");
    for (int i = 0; i < 4; i++) {
        bool here = (int)state->screen == i + 1;
        col += tui_putf(grid, 0, col, grid->cols - col, here ? TUI_BOLD : TUI_BAR, "%c%s%c",
                        here ? '[' : ' ', names[i], here ? ']' : ' ');
    }
    tui_put_right(grid, 0, col, grid->cols - col, TUI_BAR, "? help ");
}

static const char *key_line(const struct tui_state *state, bool narrow)
{
    switch (state->screen) {
    case TUI_START:
        return " Enter start   Tab next   Space change   Esc quit   ? help";
    case TUI_RUN:
        if (!state->run.active)
            return " 3 verdict   1 new run   q quit   ? help";
        return narrow ? " p pause  s skip  r redo  ^C stop and keep  ? help"
                      : " p pause  s skip stage  r redo stage  ^C stop and keep  q quit  ? help";
    case TUI_VERDICT:
        return narrow ? " y copy fix  l e f w o parts  s save  q quit  ? help"
                      : " y copy fix  l ladder  e evidence  f fix  w the others  s save  "
                        "q quit  ? help";
    case TUI_PATH:
        return " up/down scroll   3 verdict   q quit   ? help";
    }
    return "";
}

static void draw_screen(struct tui_state *state, struct tui_grid *grid)
{
    int last = grid->rows - 2;
    draw_tabs(state, grid);
    switch (state->screen) {
    case TUI_START:
        tui_view_start(state, grid, 1, last);
        break;
    case TUI_RUN:
        tui_view_run(state, grid, 1, last);
        break;
    case TUI_VERDICT:
        tui_view_verdict(state, grid, 1, last);
        break;
    case TUI_PATH:
        tui_view_path(state, grid, 1, last);
        break;
    }
    if (state->message[0])
        (void)tui_putf(grid, last, 0, grid->cols, TUI_BOLD, " > %s", state->message);
    else
        tui_rule(grid, last, 0, grid->cols);
    tui_ink_cells(grid, last + 1, 0, grid->cols, TUI_BAR);
    (void)tui_put(grid, last + 1, 0, grid->cols, TUI_BAR, key_line(state, grid->cols < 80));
    tui_ink_cells(grid, last + 1, 0, grid->cols, TUI_BAR);
}

/* One column. What matters most first; the rest is behind a larger window. */
void tui_view_small(struct tui_state *state, struct tui_grid *grid)
{
    const struct tui_progress_state *run = &state->run;
    char time[TL_UNIT_TEXT_SIZE], text[1024];
    enum tui_ink ink = TUI_PLAIN;
    if (state->screen == TUI_START) {
        snprintf(text, sizeof text, "Other end: %s_ Enter starts, Esc quits. %s",
                 state->start.target, state->message);
    } else if (state->result) {
        const struct tl_findings *findings = state->result->findings;
        const char *mark = findings ? tui_verdict_mark(findings->verdict.state, &ink) : "(x) ";
        snprintf(text, sizeof text, "%s%s", mark, tui_verdict_sentence(state->result));
    } else {
        snprintf(text, sizeof text, "%s %s%s%s ^C stops and keeps.",
                 tl_format_ns((double)(run->now_ns - run->started_ns), time),
                 run->running && run->selected < run->stage_count ? run->stages[run->selected].id
                                                                  : "",
                 run->reading[0] ? " so far: " : "", run->reading);
    }
    if (state->overlay == TUI_CONSENT)
        snprintf(text, sizeof text, "%s y go on, n end here", run->consent_text);
    if (state->overlay == TUI_ASK_STOP)
        snprintf(text, sizeof text, "Stop and keep what was measured? y, n");
    int used = tui_wrap(grid, 0, 0, grid->rows, grid->cols, ink, text);
    if (used < grid->rows && state->message[0] && state->screen != TUI_START)
        (void)tui_wrap(grid, used, 0, grid->rows - used, grid->cols, TUI_BOLD, state->message);
}

void tui_view(struct tui_state *state, struct tui_grid *grid)
{
    tui_grid_clear(grid);
    if (grid->rows < TUI_ROWS_MIN || grid->cols < TUI_COLS_MIN) {
        tui_view_small(state, grid);
        return;
    }
    draw_screen(state, grid);
    tui_view_overlay(state, grid);
}
