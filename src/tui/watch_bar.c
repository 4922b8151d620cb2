/* What a transfer waits for, in shades: a bar, and one column a second. */
#include <math.h>
#include <string.h>

#include "watch.h"

/* Shades that every terminal font has, the kernel console's too; letters in ASCII style. */
static const struct {
    const char *shade, *letter, *name;
    enum tui_ink ink;
} looks[TUI_WAITS] = {{"█", "w", "receive window", TUI_BAD},
                      {"▓", "b", "send buffer", TUI_BAD},
                      {"▒", "n", "network", TUI_GOOD},
                      {"░", "p", "program", TUI_PLAIN},
                      {"▄", "u", "unread here", TUI_BAD}};

static void put_shade(struct tui_grid *grid, int row, int col, int wait)
{
    if (wait < 0)
        (void)tui_put(grid, row, col, 1, TUI_DIM, grid->utf8 ? "·" : ".");
    else
        (void)tui_put(grid, row, col, 1, looks[wait].ink,
                      grid->utf8 ? looks[wait].shade : looks[wait].letter);
}

/* Which part holds that place of 0 to 1; -1: none that is known. */
static int wait_at(const struct tui_waits *waits, double place)
{
    double sum = 0;
    for (int i = 0; i < TUI_WAITS; i++) {
        sum += isnan(waits->ratio[i]) ? 0 : waits->ratio[i];
        if (place < sum)
            return i;
    }
    return -1;
}

void tui_watch_bar(struct tui_grid *grid, int row, int col, int columns,
                   const struct tui_waits *waits)
{
    for (int c = 0; c < columns; c++)
        put_shade(grid, row, col + c, wait_at(waits, (c + 0.5) / columns));
}

static struct tui_waits waits_of(const struct tl_app_live_series *series, size_t i)
{
    return (struct tui_waits){{series->rwnd_ratio[i], series->sndbuf_ratio[i],
                               series->network_ratio[i], series->app_ratio[i],
                               series->queue_ratio[i]}};
}

void tui_watch_columns(struct tui_grid *grid, int row, int rows, int col, int columns,
                       const struct tl_app_live_series *series, double share)
{
    int filled = (int)ceil(fmin(share, 1) * columns);
    for (int c = 0; c < filled && series->count; c++) {
        struct tui_waits waits = waits_of(series, series->count * (size_t)c / (size_t)filled);
        for (int r = 0; r < rows; r++)
            put_shade(grid, row + rows - 1 - r, col + c, wait_at(&waits, (r + 0.5) / rows));
    }
}

void tui_watch_legend(struct tui_grid *grid, int row, int col, int columns)
{
    int used = 0;
    for (int i = 0; i < TUI_WAITS; i++) {
        int length = (int)strlen(looks[i].name) + 2;
        if (used + length > columns)
            return;
        put_shade(grid, row, col + used, i);
        (void)tui_put(grid, row, col + used + 2, columns - used - 2, TUI_DIM, looks[i].name);
        used += length + 2;
    }
    if (used + 11 > columns)
        return;
    put_shade(grid, row, col + used, -1);
    (void)tui_put(grid, row, col + used + 2, 9, TUI_DIM, "not known");
}
