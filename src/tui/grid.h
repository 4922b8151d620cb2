/* A rectangle of character cells: what views write to, backends paint and tests read.
 *
 * Every text passes the sanitiser of base/utf8 on its way in (promise P12); in ASCII style
 * nothing but ASCII gets in. Writing outside of the rectangle does nothing. */
#ifndef TL_TUI_GRID_H
#define TL_TUI_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "tightlink/base/buf.h"
#include "tightlink/base/status.h"

enum tui_ink {
    TUI_PLAIN,
    TUI_BOLD,
    TUI_BAD,
    TUI_GOOD,
    TUI_DIM,
    TUI_BAR,   /* tab and key lines: reversed */
    TUI_FOCUS, /* the field or row that keys go to: reversed too */
};

/* One character with what combines with it. The right half of a wide character has width 0
 * and no text. */
#define TUI_CELL_BYTES 12
struct tui_cell {
    char text[TUI_CELL_BYTES]; /* UTF-8, NUL-terminated */
    unsigned char width;       /* 1 or 2; 0: continues the cell to the left */
    unsigned char ink;         /* enum tui_ink */
};

/* A place that can be clicked (zones.h), and what for. */
enum tui_zone_kind {
    TUI_ZONE_KEY,   /* value: the key */
    TUI_ZONE_TAB,   /* the screen */
    TUI_ZONE_ROW,   /* the row of the list that is shown */
    TUI_ZONE_FIELD, /* the field of the start screen */
    TUI_ZONE_STAGE, /* the stage of its plan */
};
struct tui_zone {
    int row, col, columns;
    enum tui_zone_kind kind;
    int value;
};
#define TUI_ZONES_MAX 256 /* a list of more rows than that is clicked in its first ones */

struct tui_grid {
    int rows, cols;
    struct tui_zone zones[TUI_ZONES_MAX];
    int zone_count;
    bool utf8;
    bool blocks;            /* the terminal's font has block characters but no braille */
    struct tui_cell *cells; /* rows * cols; owned */
};

/* Larger terminals are shown in this much of them: 1000 x 1000 cells are 14 MB. */
#define TUI_GRID_MAX 1000

enum tl_status tui_grid_init(struct tui_grid *grid, int rows, int cols, bool utf8) TL_WARN_UNUSED;
void tui_grid_finish(struct tui_grid *grid);
void tui_grid_clear(struct tui_grid *grid);
struct tui_cell *tui_grid_at(const struct tui_grid *grid, int row, int col); /* NULL outside */

/* Writes text in at most columns columns; returns the columns used. */
int tui_put(struct tui_grid *grid, int row, int col, int columns, enum tui_ink ink,
            const char *text);
int tui_putf(struct tui_grid *grid, int row, int col, int columns, enum tui_ink ink,
             const char *fmt, ...) TL_PRINTF(6, 7);
/* The same; what is too long loses its middle: "srv-b.ex…ple.net" ("..." in ASCII style). For names
 * and titles, whose ends tell them apart. */
int tui_put_short(struct tui_grid *grid, int row, int col, int columns, enum tui_ink ink,
                  const char *text);
/* The same; what is too long ends in "…" ("..."). For sentences. */
int tui_put_cut(struct tui_grid *grid, int row, int col, int columns, enum tui_ink ink,
                const char *text);
/* The same in plain ink, cut in front: the end of an address tells it from its neighbours. */
void tui_put_end(struct tui_grid *grid, int row, int col, int columns, const char *text);
/* The same at the right end of the columns. */
void tui_put_right(struct tui_grid *grid, int row, int col, int columns, enum tui_ink ink,
                   const char *text);
/* Fills columns cells with an ink, leaving their characters. */
void tui_ink_cells(struct tui_grid *grid, int row, int col, int columns, enum tui_ink ink);
/* A line across. */
void tui_rule(struct tui_grid *grid, int row);
/* "[####------]", columns wide with its brackets. */
void tui_progress(struct tui_grid *grid, int row, int col, int columns, double share);
/* Empties a rectangle and frames it. */
void tui_box(struct tui_grid *grid, int row, int col, int rows, int columns);
/* Breaks text at spaces into lines of columns; writes at most rows of them. Returns how many
 * lines the whole text takes. rows 0 only counts. */
int tui_wrap(struct tui_grid *grid, int row, int col, int rows, int columns, enum tui_ink ink,
             const char *text);

/* The characters as text, a line each, without trailing spaces. */
void tui_grid_text(const struct tui_grid *grid, struct tl_buf *out);

#endif
