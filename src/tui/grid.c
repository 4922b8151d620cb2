/* Cells, and the few shapes that views draw with them. */
#include "grid.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/utf8.h"

enum tl_status tui_grid_init(struct tui_grid *grid, int rows, int cols, bool utf8)
{
    rows = rows < 1 ? 1 : rows > TUI_GRID_MAX ? TUI_GRID_MAX : rows;
    cols = cols < 1 ? 1 : cols > TUI_GRID_MAX ? TUI_GRID_MAX : cols;
    struct tui_cell *cells = calloc((size_t)rows * (size_t)cols, sizeof *cells);
    if (!cells)
        return TL_NOMEM;
    *grid = (struct tui_grid){.rows = rows, .cols = cols, .utf8 = utf8, .cells = cells};
    tui_grid_clear(grid);
    return TL_OK;
}

void tui_grid_finish(struct tui_grid *grid)
{
    free(grid->cells);
    *grid = (struct tui_grid){0};
}

void tui_grid_clear(struct tui_grid *grid)
{
    for (int i = 0; i < grid->rows * grid->cols; i++)
        grid->cells[i] = (struct tui_cell){.text = " ", .width = 1};
    grid->zone_count = 0;
}

struct tui_cell *tui_grid_at(const struct tui_grid *grid, int row, int col)
{
    if (row < 0 || col < 0 || row >= grid->rows || col >= grid->cols)
        return NULL;
    return &grid->cells[row * grid->cols + col];
}

/* Half of a wide character cannot stay when its other half goes. */
static void set_cell(struct tui_grid *grid, int row, int col, struct tui_cell cell)
{
    struct tui_cell *at = tui_grid_at(grid, row, col);
    struct tui_cell *left = tui_grid_at(grid, row, col - 1);
    struct tui_cell *right = tui_grid_at(grid, row, col + 1);
    if (at->width == 0 && left && cell.width != 0)
        *left = (struct tui_cell){.text = " ", .width = 1, .ink = left->ink};
    if (at->width == 2 && right)
        *right = (struct tui_cell){.text = " ", .width = 1, .ink = right->ink};
    *at = cell;
}

/* Adds a character that takes no column to the cell before it, where it fits. */
static void combine(struct tui_grid *grid, int row, int col, const char *text, size_t len)
{
    struct tui_cell *cell = tui_grid_at(grid, row, col - 1);
    if (cell && cell->width == 0)
        cell = tui_grid_at(grid, row, col - 2);
    size_t used = cell ? strlen(cell->text) : 0;
    if (!cell || used + len >= sizeof cell->text)
        return;
    memcpy(cell->text + used, text, len);
    cell->text[used + len] = '\0';
}

static int put_clean(struct tui_grid *grid, int row, int col, int columns, enum tui_ink ink,
                     const char *text)
{
    int used = 0;
    const char *end = text + strlen(text);
    for (size_t len; text < end; text += len) {
        struct tui_cell cell = {.ink = (unsigned char)ink};
        len = tl_utf8_decode(text, (size_t)(end - text), NULL);
        if (len == 0)
            break;
        memcpy(cell.text, text, len);
        cell.width = (unsigned char)tl_utf8_width(cell.text);
        if (cell.width == 0) {
            if (used > 0)
                combine(grid, row, col + used, text, len);
            continue;
        }
        if (used + cell.width > columns)
            break;
        if (tui_grid_at(grid, row, col + used) &&
            tui_grid_at(grid, row, col + used + cell.width - 1)) {
            set_cell(grid, row, col + used, cell);
            if (cell.width == 2)
                set_cell(grid, row, col + used + 1, (struct tui_cell){.ink = cell.ink});
        }
        used += cell.width;
    }
    return used;
}

int tui_put(struct tui_grid *grid, int row, int col, int columns, enum tui_ink ink,
            const char *text)
{
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text, !grid->utf8);
    int used = put_clean(grid, row, col, columns, ink, tl_buf_text(&clean));
    tl_buf_finish(&clean);
    return used;
}

int tui_putf(struct tui_grid *grid, int row, int col, int columns, enum tui_ink ink,
             const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return tui_put(grid, row, col, columns, ink, text);
}

int tui_put_short(struct tui_grid *grid, int row, int col, int columns, enum tui_ink ink,
                  const char *text)
{
    struct tl_buf shortened = TL_BUF_INIT;
    tl_utf8_add_short(&shortened, text, columns > 0 ? (size_t)columns : 0, !grid->utf8);
    int used = put_clean(grid, row, col, columns, ink, tl_buf_text(&shortened));
    tl_buf_finish(&shortened);
    return used;
}

int tui_put_cut(struct tui_grid *grid, int row, int col, int columns, enum tui_ink ink,
                const char *text)
{
    const char *gap = grid->utf8 ? "…" : "...";
    int gone = (int)tl_utf8_width(gap), kept = columns - gone, used;
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text, !grid->utf8);
    const char *whole = tl_buf_text(&clean);
    if ((int)tl_utf8_width(whole) <= columns || kept < 2) {
        used = put_clean(grid, row, col, columns, ink, whole);
    } else {
        used = put_clean(grid, row, col, kept, ink, whole);
        used += put_clean(grid, row, col + used, gone, ink, gap);
    }
    tl_buf_finish(&clean);
    return used;
}

void tui_put_end(struct tui_grid *grid, int row, int col, int columns, const char *text)
{
    int cut = 0;
    while ((int)tl_utf8_width(text) > columns - (cut ? 2 : 0) && *text) {
        size_t len = tl_utf8_decode(text, strlen(text), NULL);
        text += len ? len : 1;
        cut = 1;
    }
    (void)tui_putf(grid, row, col, columns, TUI_PLAIN, "%s%s", cut ? ".." : "", text);
}

void tui_put_right(struct tui_grid *grid, int row, int col, int columns, enum tui_ink ink,
                   const char *text)
{
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text, !grid->utf8);
    int width = (int)tl_utf8_width(tl_buf_text(&clean));
    int space = width < columns ? columns - width : 0;
    (void)put_clean(grid, row, col + space, columns - space, ink, tl_buf_text(&clean));
    tl_buf_finish(&clean);
}

void tui_ink_cells(struct tui_grid *grid, int row, int col, int columns, enum tui_ink ink)
{
    for (int i = 0; i < columns; i++) {
        struct tui_cell *cell = tui_grid_at(grid, row, col + i);
        if (cell)
            cell->ink = (unsigned char)ink;
    }
}

void tui_rule(struct tui_grid *grid, int row)
{
    for (int col = 0; col < grid->cols; col++)
        (void)tui_put(grid, row, col, 1, TUI_DIM, grid->utf8 ? "─" : "-");
}

void tui_progress(struct tui_grid *grid, int row, int col, int columns, double share)
{
    int inner = columns - 2;
    share = share > 0 ? fmin(share, 1) : 0;
    int full = (int)lround(share * inner);
    if (inner < 1)
        return;
    (void)tui_put(grid, row, col, 1, TUI_PLAIN, "[");
    for (int i = 0; i < inner; i++)
        (void)tui_put(grid, row, col + 1 + i, 1, TUI_PLAIN,
                      i < full ? (grid->utf8 ? "█" : "#") : (grid->utf8 ? "·" : "-"));
    (void)tui_put(grid, row, col + 1 + inner, 1, TUI_PLAIN, "]");
}

void tui_box(struct tui_grid *grid, int row, int col, int rows, int columns)
{
    static const char *const ascii[] = {"+", "+", "+", "+", "-", "|"};
    static const char *const lines[] = {"┌", "┐", "└", "┘", "─", "│"};
    const char *const *set = grid->utf8 ? lines : ascii;
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < columns; c++) {
            bool top = r == 0, bottom = r == rows - 1, left = c == 0, right = c == columns - 1;
            const char *text = " ";
            if ((top || bottom) && (left || right))
                text = set[(bottom ? 2 : 0) + (right ? 1 : 0)];
            else if (top || bottom)
                text = set[4];
            else if (left || right)
                text = set[5];
            (void)tui_put(grid, row + r, col + c, 1, TUI_PLAIN, text);
        }
    }
}

/* Bytes of the first line; *ret_next is where the next one begins. */
static size_t first_line(const char *text, size_t columns, const char **ret_next)
{
    size_t fit = tl_utf8_fit(text, columns), end = fit;
    if (text[fit]) {
        while (end > 0 && text[end] != ' ')
            end--;
        if (end == 0) /* a word longer than the line */
            end = fit ? fit : 1;
    }
    const char *next = text + end;
    while (*next == ' ')
        next++;
    *ret_next = next;
    return end;
}

int tui_wrap(struct tui_grid *grid, int row, int col, int rows, int columns, enum tui_ink ink,
             const char *text)
{
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text, !grid->utf8);
    const char *at = tl_buf_text(&clean), *next;
    int lines = 0;
    for (; *at && columns > 0; at = next, lines++) {
        char line[TUI_GRID_MAX * 4];
        size_t len = first_line(at, (size_t)columns, &next);
        if (lines >= rows)
            continue;
        if (lines == rows - 1 && *next) { /* more than there is room for says so */
            (void)tui_put_cut(grid, row + lines, col, columns, ink, at);
            continue;
        }
        snprintf(line, sizeof line, "%.*s", (int)len, at);
        (void)put_clean(grid, row + lines, col, columns, ink, line);
    }
    tl_buf_finish(&clean);
    return lines;
}

void tui_grid_text(const struct tui_grid *grid, struct tl_buf *out)
{
    for (int row = 0; row < grid->rows; row++) {
        size_t end = out->len; /* behind the last character that is no space */
        for (int col = 0; col < grid->cols; col++) {
            const struct tui_cell *cell = tui_grid_at(grid, row, col);
            tl_buf_adds(out, cell->text);
            if (cell->width && strcmp(cell->text, " ") != 0)
                end = out->len;
        }
        if (out->status != TL_OK)
            return;
        out->len = end;
        tl_buf_adds(out, "\n");
    }
}
