/* The frame of every screen: tabs, the line that says or asks, keys. */
#include "view.h"

#include <stdio.h>
#include <string.h>

#include "keymap.h"
#include "keys.h"
#include "tightlink/base/utf8.h"
#include "zones.h"

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

const char *tui_verdict_headline(const struct tl_session_result *result,
                                 char ret_text[TUI_HEADLINE_SIZE])
{
    struct tl_buf text = TL_BUF_INIT;
    bool judged = result->findings && (result->status == TL_OK || !result->error.text[0]);
    if (judged)
        tl_report_headline(&result->run, result->facts, result->findings, &text);
    snprintf(ret_text, TUI_HEADLINE_SIZE, "%s",
             text.len ? tl_buf_text(&text) : tui_verdict_sentence(result));
    tl_buf_finish(&text);
    return ret_text;
}

static void draw_tabs(const struct tui_state *state, struct tui_grid *grid)
{
    static const char *const names[] = {"1 Start",   "2 Run",    "3 Verdict", "4 Path",
                                        "5 History", "6 Export", "7 Live",    "8 Packets"};
    bool narrow = grid->cols < 78; /* then the others are numbers */
    bool live = state->watch.on || state->screen == TUI_WATCH;
    tui_ink_cells(grid, 0, 0, grid->cols, TUI_BAR);
    bool packets = state->packets.file[0];
    int col = (live || packets) && !narrow && grid->cols < (live && packets ? 96 : 87)
                  ? 0
                  : tui_put(grid, 0, 0, grid->cols, TUI_BAR, " tightlink ");
    for (int i = 0; i < 8; i++) {
        if ((i == 6 && !live) || (i == 7 && !packets))
            continue;
        bool here = (int)state->screen == i + 1;
        int most = narrow && !here ? 1 : 9;
        int used = tui_putf(grid, 0, col, grid->cols - col, here ? TUI_BOLD : TUI_BAR, "%c%.*s%c",
                            here ? '[' : ' ', most, names[i], here ? ']' : ' ');
        tui_zone_add(grid, 0, col, used, TUI_ZONE_TAB, i + 1);
        col += used;
    }
    tui_zone_add(grid, 0, grid->cols - 7, 7, TUI_ZONE_KEY, '?');
    tui_put_right(grid, 0, col, grid->cols - col, TUI_BAR, "? help ");
}

/* "y copy fix", where it is offered and has a place in the footer; else nothing. */
static bool hint_of(const struct tui_state *state, const struct tui_binding *binding,
                    char *ret_hint, size_t size)
{
    if (!binding->hint || !tui_binding_is_offered(binding, state))
        return false;
    snprintf(ret_hint, size, "%s %s", tui_meaning(binding->means)->name, binding->hint);
    return true;
}

/* Back, help and the way out, at the right end; returns the column where they begin. */
static int draw_always(const struct tui_state *state, struct tui_grid *grid, int row)
{
    static const struct {
        const char *hint;
        int key;
    } always[] = {
        {"F10 quit", TUI_KEY_QUIT}, {"F1 help", TUI_KEY_HELP}, {"Esc back", TUI_KEY_ESCAPE}};
    bool back = state->prompt == TUI_NO_PROMPT && tui_has_back(state);
    int col = grid->cols - (grid->cols >= TUI_COLS_MIN), count = back ? 3 : 2;
    for (int i = 0; i < count; i++) {
        int columns = (int)strlen(always[i].hint);
        col -= columns;
        (void)tui_put(grid, row, col, columns, TUI_BAR, always[i].hint);
        tui_zone_add(grid, row, col, columns, TUI_ZONE_KEY, always[i].key);
        col -= 2;
    }
    return col;
}

/* Back, help and the way out stand at every size; before them the keys of where one is, as many as
 * fit: those that matter most come first. */
void tui_view_keys(const struct tui_state *state, struct tui_grid *grid, int row)
{
    tui_ink_cells(grid, row, 0, grid->cols, TUI_BAR);
    int room = draw_always(state, grid, row), col = 1;
    const struct tui_binding *binding = tui_bindings_here(state);
    for (; binding->means != TUI_MEANS_NOTHING; binding++) {
        const int *keys = tui_meaning(binding->means)->keys;
        char hint[64];
        if (!hint_of(state, binding, hint, sizeof hint))
            continue;
        int columns = (int)strlen(hint);
        if (col + columns > room)
            continue;
        if (keys[1] == TUI_KEY_NONE) /* "up/dn hop" names several */
            tui_zone_add(grid, row, col, columns, TUI_ZONE_KEY, keys[0]);
        col += tui_put(grid, row, col, columns, TUI_BAR, hint) + 2;
    }
    tui_ink_cells(grid, row, 0, grid->cols, TUI_BAR);
}

const char *tui_prompt_label(enum tui_prompt prompt)
{
    static const char *const labels[] = {[TUI_ASK_FILTER] = "filter: ",
                                         [TUI_ASK_BUDGET] = "new budget (2GB, or 20s, or both): ",
                                         [TUI_ASK_NOTE] = "note: ",
                                         [TUI_ASK_TAG] = "tag (-tag takes one away): ",
                                         [TUI_ASK_COMMENT_ON] =
                                             "add to ticket (empty: a new one): "};
    return labels[prompt];
}

/* A message stands whole, over what lies above the line where it is long. */
static void draw_sentence(struct tui_grid *grid, int row, const char *text)
{
    int columns = grid->cols - 4, lines = tui_wrap(grid, 0, 0, 0, columns, TUI_BOLD, text);
    int most = grid->rows / 4;
    lines = lines > most ? most : lines;
    for (int i = 0; i < lines; i++)
        (void)tui_putf(grid, row - i, 0, grid->cols, TUI_PLAIN, "%*s", grid->cols, "");
    (void)tui_put(grid, row - lines + 1, 1, 2, TUI_BOLD, ">");
    (void)tui_wrap(grid, row - lines + 1, 3, lines, columns, TUI_BOLD, text);
}

/* The line that asks, the message, or nothing but a rule. */
static void draw_message(const struct tui_state *state, struct tui_grid *grid, int row)
{
    if (state->prompt != TUI_NO_PROMPT) {
        int col =
            tui_putf(grid, row, 0, grid->cols, TUI_BOLD, " %s", tui_prompt_label(state->prompt));
        const char *text = state->prompt_text;
        while (*text && (int)tl_utf8_width(text) > grid->cols - col - 2) {
            size_t len = tl_utf8_decode(text, strlen(text), NULL);
            text += len ? len : 1;
        }
        col += tui_put(grid, row, col, grid->cols - col - 1, TUI_PLAIN, text);
        (void)tui_put(grid, row, col, 1, TUI_FOCUS, "_");
    } else if (state->message[0]) {
        draw_sentence(grid, row, state->message);
    } else {
        tui_rule(grid, row, 0, grid->cols);
    }
}

static void draw_screen(struct tui_state *state, struct tui_grid *grid)
{
    int last = grid->rows - 2;
    draw_tabs(state, grid);
    if (state->page.kind != TUI_NO_PAGE) {
        tui_view_page(state, grid, 1, last);
        draw_message(state, grid, last);
        tui_view_keys(state, grid, last + 1);
        return;
    }
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
    case TUI_HISTORY:
        tui_view_history(state, grid, 1, last);
        break;
    case TUI_EXPORT:
        tui_view_export(state, grid, 1, last);
        break;
    case TUI_WATCH:
        tui_view_watch(state, grid, 1, last);
        break;
    case TUI_PACKETS:
        tui_view_packets(state, grid, 1, last);
        break;
    }
    draw_message(state, grid, last);
    tui_view_keys(state, grid, last + 1);
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
