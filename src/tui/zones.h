/* What of a picture can be clicked. Views add zones while they draw; they belong to the grid and
 * are gone when it is cleared. */
#ifndef TL_TUI_ZONES_H
#define TL_TUI_ZONES_H

#include "grid.h"

/* One row of cells; what is drawn later lies above. */
void tui_zone_add(struct tui_grid *grid, int row, int col, int columns, enum tui_zone_kind kind,
                  int value);
/* The key that a hint such as "y copy fix" or "Enter start" names; nothing for "up/dn stage". */
void tui_zone_hint(struct tui_grid *grid, int row, int col, const char *hint);
/* Several of them in one text, three spaces or more apart. */
void tui_zone_hints(struct tui_grid *grid, int row, int col, int columns, const char *hints);

#endif
