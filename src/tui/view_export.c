/* Handing a run on: in which form, what is masked, and word for word what would leave. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "tightlink/base/units.h"
#include "view.h"

/* Longer previews are cut here; the file has all of it. */
#define PREVIEW_MAX 200000

static void draw_formats(const struct tui_export *leaving, struct tui_grid *grid, int row)
{
    int col = tui_put(grid, row, 1, 10, TUI_PLAIN, "As");
    col = 11;
    for (int i = 0; i < TL_EXPORT_FORMAT_COUNT; i++) {
        bool here = i == (int)leaving->format;
        col += tui_putf(grid, row, col, grid->cols - col, here ? TUI_FOCUS : TUI_PLAIN, "(%c) %s",
                        here ? 'x' : ' ', tl_export_format_name((enum tl_export_format)i)) +
               2;
    }
}

static void draw_privacy(const struct tui_export *leaving, struct tui_grid *grid, int row)
{
    size_t masked = leaving->redactor ? tl_redactor_count(leaving->redactor) : 0;
    (void)tui_put(grid, row, 1, 10, TUI_PLAIN, "Privacy");
    if (leaving->unmasked)
        (void)tui_put(grid, row, 11, grid->cols - 12, TUI_BAD,
                      "[ ] names and addresses leave as they are (m masks them)");
    else
        (void)tui_putf(grid, row, 11, grid->cols - 12, TUI_GOOD,
                       "[x] hosts, addresses, users, paths: %zu values masked (l lists them)",
                       masked);
}

void tui_view_export(struct tui_state *state, struct tui_grid *grid, int first, int last)
{
    struct tui_export *leaving = &state->leaving;
    const struct tl_session_result *result = state->result;
    char bytes[TL_UNIT_TEXT_SIZE];
    if (!result)
        return;
    (void)tui_putf(grid, first, 1, grid->cols - 2, TUI_BOLD, "Run %.26s, %s", result->run.id,
                   result->run.started);
    tui_rule(grid, first + 1, 0, grid->cols);
    draw_formats(leaving, grid, first + 2);
    draw_privacy(leaving, grid, first + 3);
    (void)tui_put(grid, first + 4, 1, 10, TUI_PLAIN, "To");
    (void)tui_put(grid, first + 4, 11, grid->cols - 12, TUI_PLAIN,
                  "w a file here (yours alone)   y the clipboard (OSC 52)");
    int row = first + 6, rows = last - row;
    tui_rule(grid, first + 5, 0, grid->cols);
    (void)tui_putf(grid, first + 5, 1, grid->cols - 12, TUI_BOLD, " This is what leaves: %s ",
                   leaving->text ? tl_format_traffic((double)leaving->len, bytes) : "nothing");
    leaving->shown = rows;
    leaving->total = 0;
    if (!leaving->text || rows < 1)
        return;
    char *cut = NULL;
    if (leaving->len > PREVIEW_MAX)
        cut = strndup(leaving->text, PREVIEW_MAX);
    const char *text = cut ? cut : leaving->text;
    leaving->total = tui_lines(grid, row, 0, 0, grid->cols, 0, text);
    int lowest = leaving->total > rows ? leaving->total - rows : 0;
    leaving->scroll = leaving->scroll > lowest ? lowest : leaving->scroll;
    (void)tui_lines(grid, row, 0, rows, grid->cols, leaving->scroll, text);
    if (leaving->scroll < lowest)
        tui_put_right(grid, first + 5, 0, grid->cols, TUI_DIM,
                      grid->utf8 ? " ↓ more " : " v more ");
    free(cut);
}
