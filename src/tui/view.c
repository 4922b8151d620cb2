/* The frame of every screen: tabs, the line that says or asks, keys. */
#include "view.h"

#include <string.h>

#include "tightlink/base/utf8.h"
#include "zones.h"

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
        tui_rule(grid, row);
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
