/* Text with lines and the report's few colours, as rows of a grid that can be scrolled. */
#ifndef TL_TUI_LINES_H
#define TL_TUI_LINES_H

#include "grid.h"

/* Draws the rows of text from number `first` on into a rectangle. Lines longer than columns
 * go on in the next row (a command must be readable to its end). Returns how many rows the
 * whole text takes; rows 0 only counts. Understands ESC [ 0, 1, 2, 1;31 and 1;32 m, as
 * report writes them; all else that is no plain text is cleaned by the grid. */
int tui_lines(struct tui_grid *grid, int row, int col, int rows, int columns, int first,
              const char *text);

/* Adds a report's text with only the first few of the rungs that were not tested, which begin
 * with "--", and a line that counts the rest: there may be thirty of them. */
void tui_fold_untested(const char *text, struct tl_buf *out);

#endif
