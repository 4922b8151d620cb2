/* The running stage, or the last one that had rates, drawn: plots, ledger, numbers. */
#ifndef TL_TUI_LIVE_H
#define TL_TUI_LIVE_H

#include "grid.h"
#include "state.h"

/* "stream, download". */
const char *tui_stage_title(const struct tui_stage *stage, char ret_text[40]);

/* Bytes moved so far, those of the running stage included. */
double tui_live_moved(const struct tui_progress_state *run);

/* Rate, round-trip time and segments sent again on one axis of time, as many of them as there
 * is room for; where columns are few the numbers stand below. */
void tui_live_plots(const struct tui_progress_state *run, struct tui_grid *grid, int row, int rows,
                    int col, int columns);

/* What the stream waited for so far, as bars. Both return the rows used. */
int tui_live_ledger(const struct tui_progress_state *run, struct tui_grid *grid, int row, int rows,
                    int col, int columns);
int tui_live_numbers(const struct tui_progress_state *run, struct tui_grid *grid, int row, int rows,
                     int col, int columns);

/* One plot with its axis at the left; the label of its top in the words of format. */
#define TUI_PLOT_LABEL 11
struct tui_series;
void tui_live_plot(struct tui_grid *grid, int row, int rows, int col, int columns,
                   const struct tui_series *series, const char *(*format)(double, char *));
/* The same between two labels of the caller's, from 0 to top. */
void tui_live_plot_between(struct tui_grid *grid, int row, int rows, int col, int columns,
                           const struct tui_series *series, double top, const char *low_label,
                           const char *top_label);
/* The same up to a top of the caller's. */
void tui_live_plot_to(struct tui_grid *grid, int row, int rows, int col, int columns,
                      const struct tui_series *series, double top,
                      const char *(*format)(double, char *));

#endif
