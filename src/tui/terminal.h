/* The terminal: takes it, paints grids on it, reads keys, gives it back. The only file that
 * knows curses. One at a time. */
#ifndef TL_TUI_TERMINAL_H
#define TL_TUI_TERMINAL_H

#include "grid.h"
#include "tightlink/tui/tui.h"

/* Takes the terminal of standard input and output, and its mouse where it has one and mouse is
 * true; call setlocale() before. A crash from here
 * on restores the terminal before the program dies. TL_UNSUPPORTED with a sentence. */
enum tl_status tui_terminal_open(enum tl_tui_color color, bool mouse,
                                 struct tl_error *reterr) TL_WARN_UNUSED;
void tui_terminal_close(void);

/* Gives the terminal to the shell and takes it again (around a stop). */
void tui_terminal_leave(void);
void tui_terminal_return(void);

/* Its size now; tells curses where it changed. */
void tui_terminal_size(int *ret_rows, int *ret_cols);

/* Shows a grid: only cells that differ from `shown` (same size, or NULL for all) are sent. */
void tui_terminal_paint(const struct tui_grid *grid, const struct tui_grid *shown);

/* The next key that waits, TUI_KEY_NONE when there is none. *ret_closed: the terminal is gone. */
int tui_terminal_key(bool *ret_closed);

/* The cell of the last TUI_KEY_CLICK. */
void tui_terminal_place(int *ret_row, int *ret_col);

/* Asks the terminal to put text on the clipboard (OSC 52, xterm control sequences). */
void tui_terminal_copy(const char *text);

#endif
