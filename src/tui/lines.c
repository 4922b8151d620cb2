/* Rows of a page, and of plain text. */
#include "lines.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/utf8.h"

/* Where the report's entries begin: a command goes on under its own beginning. */
#define LABEL_COLUMNS 13

struct cursor {
    struct tui_grid *grid;
    int row, col, rows, columns, first;
    int line;      /* of the whole text */
    int used;      /* columns of this line */
    bool labelled; /* the line goes on under its label's text */
};

static struct cursor cursor_at(struct tui_grid *grid, int row, int col, int rows, int columns,
                               int first)
{
    return (struct cursor){.grid = grid,
                           .row = row,
                           .col = col,
                           .rows = rows,
                           .columns = columns < 2 ? 2 : columns,
                           .first = first};
}

static void put(struct cursor *cursor, enum tui_ink ink, const char *text, size_t len)
{
    char piece[8] = "";
    memcpy(piece, text, len);
    int width = (int)tl_utf8_width(piece), at = cursor->line - cursor->first;
    if (cursor->used + width > cursor->columns) {
        cursor->line++;
        cursor->used = cursor->labelled && cursor->columns > 2 * LABEL_COLUMNS ? LABEL_COLUMNS : 0;
        at++;
    }
    if (at >= 0 && at < cursor->rows)
        (void)tui_put(cursor->grid, cursor->row + at, cursor->col + cursor->used, width, ink,
                      piece);
    cursor->used += width;
}

static void put_all(struct cursor *cursor, enum tui_ink ink, const char *text, size_t len)
{
    while (len) {
        size_t n = tl_utf8_decode(text, len, NULL);
        n = n ? n : 1;
        put(cursor, ink, text, n);
        text += n;
        len -= n;
    }
}

static void end_line(struct cursor *cursor)
{
    cursor->line++;
    cursor->used = 0;
}

int tui_lines(struct tui_grid *grid, int row, int col, int rows, int columns, int first,
              const char *text)
{
    struct cursor cursor = cursor_at(grid, row, col, rows, columns, first);
    while (*text) {
        size_t len = strcspn(text, "\n");
        cursor.labelled = strncmp(text, "  ", 2) == 0;
        put_all(&cursor, TUI_PLAIN, text, len);
        text += len;
        if (*text == '\n') {
            end_line(&cursor);
            text++;
        }
    }
    return cursor.line + (cursor.used > 0);
}

/* So many rungs that were not tested are shown. */
#define UNTESTED_MAX 2

static const enum tui_ink inks[] = {[TL_SAID_PLAIN] = TUI_PLAIN,
                                    [TL_SAID_STRONG] = TUI_BOLD,
                                    [TL_SAID_BAD] = TUI_BAD,
                                    [TL_SAID_GOOD] = TUI_GOOD,
                                    [TL_SAID_DIM] = TUI_DIM};

static void put_line(struct cursor *cursor, const struct tl_page *page, const struct tl_line *line)
{
    cursor->labelled = line->kind == TL_LINE_ENTRY;
    for (size_t i = 0; i < line->count; i++) {
        const struct tl_span *span = &page->spans[line->first + i];
        put_all(cursor, inks[span->meaning], tl_span_text(page, span), span->len);
    }
    end_line(cursor);
}

static void end_untested(struct cursor *cursor, int *untested)
{
    char text[80];
    if (*untested > UNTESTED_MAX) {
        snprintf(text, sizeof text, "--  and %d more that were not tested (w tells why)",
                 *untested - UNTESTED_MAX);
        put_all(cursor, TUI_PLAIN, text, strlen(text));
        end_line(cursor);
    }
    *untested = 0;
}

int tui_page_lines(struct tui_grid *grid, int row, int col, int rows, int columns, int first,
                   const struct tl_page *page)
{
    struct cursor cursor = cursor_at(grid, row, col, rows, columns, first);
    int untested = 0;
    for (size_t i = 0; i < page->line_count; i++) {
        const struct tl_line *line = &page->lines[i];
        if (line->kind == TL_LINE_UNTESTED)
            untested++;
        else if (line->kind != TL_LINE_UNTESTED_MORE)
            end_untested(&cursor, &untested);
        if (untested <= UNTESTED_MAX)
            put_line(&cursor, page, line);
    }
    end_untested(&cursor, &untested);
    return cursor.line;
}
