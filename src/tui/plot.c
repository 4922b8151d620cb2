/* Plots: each dot column shows the mean of its share of the samples. */
#include "plot.h"

#include <math.h>
#include <stdint.h>

#include "tightlink/base/utf8.h"

double tui_plot_top(double value)
{
    if (!(value > 0) || isinf(value))
        return 1;
    double decade = pow(10, floor(log10(value)));
    static const double steps[] = {1, 2, 5, 10};
    for (int i = 0; i < 4; i++)
        if (value <= steps[i] * decade * (1 + 1e-9))
            return steps[i] * decade;
    return 10 * decade;
}

/* Mean of the samples behind column `at` of `count`; with fewer samples than columns, each has
 * a column of its own from the left. NAN where none is known. */
static double sample(const struct tui_series *series, int at, int count)
{
    int64_t n = series->count;
    if (n <= count)
        return at < n ? series->values[at] : (double)NAN;
    int64_t from = n * at / count, to = n * (at + 1) / count;
    double sum = 0;
    int known = 0;
    for (int64_t i = from; i < to; i++) {
        if (isnan(series->values[i]))
            continue;
        sum += series->values[i];
        known++;
    }
    return known ? sum / known : (double)NAN;
}

/* Height in dots from the bottom, -1 for a gap. */
static int height(double value, double top, int dots)
{
    if (isnan(value) || !(top > 0))
        return -1;
    double share = fmin(fmax(value / top, 0), 1);
    return (int)lround(share * (dots - 1));
}

/* Dots of a braille cell by column and by row from the bottom (Unicode block U+2800). */
static const unsigned char braille_dot[2][4] = {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}};

static void plot_braille(struct tui_grid *grid, int row, int col, int rows, int columns,
                         const struct tui_series *series, double top)
{
    for (int c = 0; c < columns; c++) {
        int heights[2];
        for (int half = 0; half < 2; half++)
            heights[half] = height(sample(series, 2 * c + half, 2 * columns), top, rows * 4);
        for (int r = 0; r < rows; r++) {
            unsigned dots = 0;
            for (int half = 0; half < 2; half++) {
                int above = heights[half] - (rows - 1 - r) * 4;
                if (heights[half] >= 0 && above >= 0 && above < 4)
                    dots |= braille_dot[half][above];
            }
            char text[8] = "";
            if (dots && tl_utf8_encode(0x2800u + dots, text))
                (void)tui_put(grid, row + r, col + c, 1, TUI_GOOD, text);
        }
    }
}

static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

static void plot_blocks(struct tui_grid *grid, int row, int col, int rows, int columns,
                        const struct tui_series *series, double top)
{
    for (int c = 0; c < columns; c++) {
        int dots = height(sample(series, c, columns), top, rows * 8);
        for (int r = 0; r < rows && dots >= r * 8; r++)
            (void)tui_put(grid, row + rows - 1 - r, col + c, 1, TUI_GOOD,
                          blocks[dots - r * 8 > 7 ? 7 : dots - r * 8]);
    }
}

static void plot_ascii(struct tui_grid *grid, int row, int col, int rows, int columns,
                       const struct tui_series *series, double top)
{
    for (int c = 0; c < columns; c++) {
        int dots = height(sample(series, c, columns), top, rows * 2);
        if (dots < 0)
            continue;
        (void)tui_put(grid, row + rows - 1 - dots / 2, col + c, 1, TUI_GOOD, dots % 2 ? "'" : ".");
    }
}

void tui_plot(struct tui_grid *grid, int row, int col, int rows, int columns,
              const struct tui_series *series, double top)
{
    if (rows < 1 || columns < 1)
        return;
    if (grid->utf8 && grid->blocks)
        plot_blocks(grid, row, col, rows, columns, series, top);
    else if (grid->utf8)
        plot_braille(grid, row, col, rows, columns, series, top);
    else
        plot_ascii(grid, row, col, rows, columns, series, top);
}

void tui_sparkline(struct tui_grid *grid, int row, int col, int columns,
                   const struct tui_series *series, double top)
{
    static const char *const ascii[] = {"_", ".", "-", "'"};
    int levels = grid->utf8 ? 8 : 4;
    for (int c = 0; c < columns; c++) {
        int level = height(sample(series, c, columns), top, levels);
        if (level >= 0)
            (void)tui_put(grid, row, col + c, 1, TUI_GOOD,
                          grid->utf8 ? blocks[level] : ascii[level]);
    }
}
