/* What the views of transfers that run share: the bar of what one waits for, and one in detail. */
#ifndef TL_TUI_WATCH_H
#define TL_TUI_WATCH_H

#include "grid.h"
#include "state.h"

/* Shares of a time, in the order in which bars show them; sums to 1 at a sender. */
enum tui_wait { TUI_WAIT_RWND, TUI_WAIT_SNDBUF, TUI_WAIT_NETWORK, TUI_WAIT_APP, TUI_WAIT_UNREAD };
#define TUI_WAITS 5
struct tui_waits {
    double ratio[TUI_WAITS]; /* NAN where this end cannot tell */
};

/* One row of columns; what is not known stays dotted. */
void tui_watch_bar(struct tui_grid *grid, int row, int col, int columns,
                   const struct tui_waits *waits);
/* The same over time, a column each, from the bottom up. */
void tui_watch_columns(struct tui_grid *grid, int row, int rows, int col, int columns,
                       const struct tl_app_live_series *series, double share);
/* What the shades of a bar mean, in one row; nothing where it does not fit. */
void tui_watch_legend(struct tui_grid *grid, int row, int col, int columns);

/* "(!) " and its ink: what is known of a row. */
const char *tui_watch_mark(const struct tl_app_live_row *row, enum tui_ink *ret_ink);
/* The far end, or "<hidden>". */
const char *tui_watch_peer(const struct tui_state *state, const struct tl_app_live_row *row);

/* The sentence, the program and the numbers of one transfer; returns the rows used. */
int tui_watch_words(const struct tui_state *state, const struct tl_app_live_row *row,
                    struct tui_grid *grid, int at, int rows);
/* "RTT 42 ms   " at *col, which goes on behind it; nothing where it is unknown or does not fit. */
void tui_watch_value(struct tui_grid *grid, int row, int *col, const char *label, double value,
                     const char *(*format)(double, char *));
/* As many of its plots as there is room for, with the cursor where it is a sample. */
void tui_watch_plots(const struct tl_app_live_series *series, int cursor, struct tui_grid *grid,
                     int row, int rows);

#endif
