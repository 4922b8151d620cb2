/* Text with lines, as rows of a grid that can be scrolled. */
#ifndef TL_TUI_LINES_H
#define TL_TUI_LINES_H

#include "grid.h"
#include "tightlink/present/page.h"

/* Draws the rows of plain text from number `first` on into a rectangle. Lines longer than columns
 * go on in the next row (a command must be readable to its end), before a word where one begins.
 * Returns how many rows the whole text takes; rows 0 only counts. The grid cleans it. */
int tui_lines(struct tui_grid *grid, int row, int col, int rows, int columns, int first,
              const char *text);

/* The same for a page: the sink for the screen. Of the rungs that were not tested, of which there
 * may be thirty, the first few are shown and the rest counted. */
int tui_page_lines(struct tui_grid *grid, int row, int col, int rows, int columns, int first,
                   const struct tl_page *page);
/* Empty lines and rules at the top of a page, which only part it from what is above. */
int tui_page_margin(const struct tl_page *page);

#endif
