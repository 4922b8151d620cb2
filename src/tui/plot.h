/* A line of numbers over time as a plot of braille dots, or of ASCII where no more is shown. */
#ifndef TL_TUI_PLOT_H
#define TL_TUI_PLOT_H

#include "grid.h"

/* Samples in the order of time, NAN where unknown: then there is a gap, not a zero. */
struct tui_series {
    const double *values;
    int count;
    double share; /* of the columns that the samples fill from the left: time passed of time
                     expected; 0 or above 1: all */
};

/* Plots into a rectangle from 0 to top (> 0), the newest sample at the right end of what is
 * filled. Braille shows 2 x 4 dots a cell, joined to a line; blocks 8 heights, ASCII . or '
 * or, for several lines in one rectangle, a letter (NULL: the dots). */
void tui_plot(struct tui_grid *grid, int row, int col, int rows, int columns,
              const struct tui_series *series, double top, enum tui_ink ink, const char *letter);

/* The next number of 1, 2 or 5 times a power of ten that is at least value. 1 for none. */
double tui_plot_top(double value);

/* NAN where none is known. */
double tui_plot_largest(const double *values, int count);

/* Marks a column of a plot that was drawn. */
void tui_plot_cursor(struct tui_grid *grid, int row, int rows, int col);

/* The column, from 0, that shows sample `index` of a series in a plot of so many columns. */
int tui_plot_column(int columns, const struct tui_series *series, int index);

/* How many samples of 0 to top fall into each of `bins` equal steps; NAN ones into none. */
void tui_histogram(const struct tui_series *series, double low, double high, int bins,
                   int *ret_counts);

/* One row of columns as bars of eight heights, in ASCII of four. */
void tui_sparkline(struct tui_grid *grid, int row, int col, int columns,
                   const struct tui_series *series, double top);

#endif
