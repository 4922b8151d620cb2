/* Rows of a report. */
#include "lines.h"

#include <stdbool.h>
#include <string.h>

#include "tightlink/base/utf8.h"

/* Where the report's entries begin: a command goes on under its own beginning. */
#define LABEL_COLUMNS 13

struct cursor {
    struct tui_grid *grid;
    int row, col, rows, columns, first;
    int line;      /* of the whole text */
    int used;      /* columns of this line */
    bool labelled; /* the line began with two spaces */
    enum tui_ink ink;
};

static void put(struct cursor *cursor, const char *text, size_t len)
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
        (void)tui_put(cursor->grid, cursor->row + at, cursor->col + cursor->used, width,
                      cursor->ink, piece);
    cursor->used += width;
}

/* The bytes of a colour at text, 0 where there is none. */
static size_t take_color(const char *text, enum tui_ink *ret_ink)
{
    static const struct {
        const char *code;
        enum tui_ink ink;
    } codes[] = {{"\033[0m", TUI_PLAIN},
                 {"\033[1m", TUI_BOLD},
                 {"\033[1;31m", TUI_BAD},
                 {"\033[1;32m", TUI_GOOD},
                 {"\033[2m", TUI_DIM}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        size_t len = strlen(codes[i].code);
        if (strncmp(text, codes[i].code, len) == 0) {
            *ret_ink = codes[i].ink;
            return len;
        }
    }
    return 0;
}

int tui_lines(struct tui_grid *grid, int row, int col, int rows, int columns, int first,
              const char *text)
{
    struct cursor cursor = {.grid = grid,
                            .row = row,
                            .col = col,
                            .rows = rows,
                            .columns = columns < 2 ? 2 : columns,
                            .first = first};
    while (*text) {
        size_t len = take_color(text, &cursor.ink);
        if (len) {
            text += len;
            continue;
        }
        if (*text == '\n') {
            cursor.line++;
            cursor.used = 0;
            text++;
            continue;
        }
        if (cursor.used == 0)
            cursor.labelled = strncmp(text, "  ", 2) == 0;
        len = tl_utf8_decode(text, strlen(text), NULL);
        put(&cursor, text, len ? len : 1);
        text += len ? len : 1;
    }
    return cursor.line + (cursor.used > 0);
}

/* So many rungs that were not tested are shown. */
#define UNTESTED_MAX 2

static void end_untested(int *untested, struct tl_buf *out)
{
    if (*untested > UNTESTED_MAX)
        tl_buf_addf(out, "--  and %d more that were not tested (w tells why)\n",
                    *untested - UNTESTED_MAX);
    *untested = 0;
}

void tui_fold_untested(const char *text, struct tl_buf *out)
{
    int untested = 0;
    while (*text) {
        size_t len = strcspn(text, "\n");
        len += text[len] == '\n';
        if (strncmp(text, "--  ", 4) == 0)
            untested++;
        else if (strncmp(text, "      ", 6) != 0) /* no further line of the one before */
            end_untested(&untested, out);
        if (untested <= UNTESTED_MAX)
            tl_buf_add(out, text, len);
        text += len;
    }
    end_untested(&untested, out);
}
