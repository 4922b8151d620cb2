/* Rows of a page, and of plain text. */
#include "lines.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"

/* Where the report's entries begin: a command goes on under its own beginning. */
#define LABEL_COLUMNS 13

struct cursor {
    struct tui_grid *grid;
    int row, col, rows, columns, first;
    int line;   /* of the whole text */
    int used;   /* columns of this line */
    int indent; /* where the line goes on in the next row */
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

/* Where a row is short, all of it is needed. */
static void set_indent(struct cursor *cursor, int indent)
{
    cursor->indent = cursor->columns > 2 * indent ? indent : 0;
}

/* Of plain text: "  label    text" goes on under its text, "(!) text" and "    text" too. */
static int indent_of(const char *text)
{
    int blanks = (int)strspn(text, " ");
    bool mark = strncmp(text, "(", 1) == 0 || strncmp(text, "ok  ", 4) == 0;
    return blanks == 2 ? LABEL_COLUMNS : mark ? 4 : blanks;
}

static void put(struct cursor *cursor, enum tui_ink ink, const char *text, size_t len)
{
    char piece[8] = "";
    memcpy(piece, text, len);
    int width = (int)tl_utf8_width(piece);
    if (cursor->used + width > cursor->columns) {
        if (*text == ' ') /* the next word begins a row */
            return;
        cursor->line++;
        cursor->used = cursor->indent;
    }
    int at = cursor->line - cursor->first;
    if (at >= 0 && at < cursor->rows)
        (void)tui_put(cursor->grid, cursor->row + at, cursor->col + cursor->used, width, ink,
                      piece);
    cursor->used += width;
}

/* A word that fits into a line, but no longer into this one, begins the next. */
static void break_before(struct cursor *cursor, const char *text, size_t len)
{
    char word[TUI_GRID_MAX];
    size_t end = tl_word_length(text);
    end = end < len ? end : len;
    end = end < sizeof word - 1 ? end : sizeof word - 1;
    memcpy(word, text, end);
    word[end] = '\0';
    int width = (int)tl_utf8_width(word), begin = cursor->indent;
    if (cursor->used <= begin || cursor->used + width <= cursor->columns ||
        begin + width > cursor->columns)
        return;
    cursor->line++;
    cursor->used = begin;
}

static void put_all(struct cursor *cursor, enum tui_ink ink, const char *text, size_t len)
{
    bool begins = false; /* behind a blank */
    while (len) {
        if (begins && *text != ' ')
            break_before(cursor, text, len);
        begins = *text == ' ';
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
        set_indent(&cursor, indent_of(text));
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
    set_indent(cursor, line->kind == TL_LINE_ENTRY ? LABEL_COLUMNS : 0);
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

int tui_page_margin(const struct tl_page *page)
{
    size_t lines = 0;
    while (lines < page->line_count &&
           (tl_line_is_empty(page, lines) || page->lines[lines].kind == TL_LINE_RULE))
        lines++;
    return (int)lines;
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
