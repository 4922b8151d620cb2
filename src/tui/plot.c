/* Plots: each dot column shows the mean of its share of the samples. */
#include "plot.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

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

double tui_plot_largest(const double *values, int count)
{
    double most = (double)NAN;
    for (int i = 0; i < count; i++)
        most = fmax(most, values[i]); /* ignores NAN */
    return most;
}

/* Columns of `count` that the samples fill. */
static int filled(const struct tui_series *series, int count)
{
    if (!(series->share > 0) || series->share >= 1)
        return count;
    int columns = (int)ceil(series->share * count);
    return columns < 1 ? 1 : columns;
}

/* Mean of the samples behind column `at` of `count`; of fewer samples than columns each fills
 * several. NAN where none is known. */
static double sample(const struct tui_series *series, int at, int count)
{
    int64_t n = series->count;
    int columns = filled(series, count);
    if (n == 0 || at >= columns)
        return (double)NAN;
    int64_t from = n * at / columns, to = n * (at + 1) / columns;
    if (to <= from)
        to = from + 1;
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

int tui_plot_column(int columns, const struct tui_series *series, int index)
{
    if (series->count < 1)
        return 0;
    int64_t column = ((int64_t)index * 2 + 1) * filled(series, columns) / (2 * series->count);
    return column >= columns ? columns - 1 : (int)column;
}

void tui_histogram(const struct tui_series *series, double low, double high, int bins,
                   int *ret_counts)
{
    for (int i = 0; i < bins; i++)
        ret_counts[i] = 0;
    for (int i = 0; i < series->count && high > low; i++) {
        double share = (series->values[i] - low) / (high - low);
        if (isnan(share) || share < 0 || share > 1)
            continue;
        int bin = (int)(share * bins);
        ret_counts[bin < bins ? bin : bins - 1]++;
    }
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

/* The dots of one dot column from the sample before to this one: a line, not a cloud. */
static unsigned line_dots(int before, int now, int row_bottom, int half)
{
    unsigned dots = 0;
    if (now < 0)
        return 0;
    int low = before < 0 || before == now ? now : before < now ? before + 1 : now;
    int high = before < 0 || before == now ? now : before < now ? now : before - 1;
    for (int dot = 0; dot < 4; dot++)
        if (row_bottom + dot >= low && row_bottom + dot <= high)
            dots |= braille_dot[half][dot];
    return dots;
}

static void plot_braille(struct tui_grid *grid, int row, int col, int rows, int columns,
                         const struct tui_series *series, double top, enum tui_ink ink)
{
    int before = -1;
    for (int c = 0; c < columns; c++) {
        int heights[2];
        for (int half = 0; half < 2; half++)
            heights[half] = height(sample(series, 2 * c + half, 2 * columns), top, rows * 4);
        for (int r = 0; r < rows; r++) {
            int bottom = (rows - 1 - r) * 4;
            unsigned dots = line_dots(before, heights[0], bottom, 0) |
                            line_dots(heights[0], heights[1], bottom, 1);
            char text[8] = "";
            if (dots && tl_utf8_encode(0x2800u + dots, text))
                (void)tui_put(grid, row + r, col + c, 1, ink, text);
        }
        before = heights[1];
    }
}

static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

static void plot_blocks(struct tui_grid *grid, int row, int col, int rows, int columns,
                        const struct tui_series *series, double top, enum tui_ink ink)
{
    for (int c = 0; c < columns; c++) {
        int dots = height(sample(series, c, columns), top, rows * 8);
        for (int r = 0; r < rows && dots >= r * 8; r++)
            (void)tui_put(grid, row + rows - 1 - r, col + c, 1, ink,
                          blocks[dots - r * 8 > 7 ? 7 : dots - r * 8]);
    }
}

static void plot_ascii(struct tui_grid *grid, int row, int col, int rows, int columns,
                       const struct tui_series *series, double top, enum tui_ink ink,
                       const char *letter)
{
    for (int c = 0; c < columns; c++) {
        int dots = height(sample(series, c, columns), top, rows * 2);
        if (dots < 0)
            continue;
        (void)tui_put(grid, row + rows - 1 - dots / 2, col + c, 1, ink,
                      letter     ? letter
                      : dots % 2 ? "'"
                                 : ".");
    }
}

void tui_plot(struct tui_grid *grid, int row, int col, int rows, int columns,
              const struct tui_series *series, double top, enum tui_ink ink, const char *letter)
{
    if (rows < 1 || columns < 1)
        return;
    if (grid->utf8 && grid->blocks)
        plot_blocks(grid, row, col, rows, columns, series, top, ink);
    else if (grid->utf8)
        plot_braille(grid, row, col, rows, columns, series, top, ink);
    else
        plot_ascii(grid, row, col, rows, columns, series, top, ink, letter);
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

void tui_plot_cursor(struct tui_grid *grid, int row, int rows, int col)
{
    for (int r = 0; r < rows; r++) {
        const struct tui_cell *cell = tui_grid_at(grid, row + r, col);
        if (cell && strcmp(cell->text, " ") == 0)
            (void)tui_put(grid, row + r, col, 1, TUI_DIM, grid->utf8 ? "┊" : ":");
        else
            tui_ink_cells(grid, row + r, col, 1, TUI_FOCUS);
    }
}
