/* One transfer that runs: in words, and over time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "live.h"
#include "plot.h"
#include "tightlink/base/units.h"
#include "view.h"
#include "watch.h"

/* Seconds that a plot's width stands for at least: a second of them is no flat line. */
#define SECONDS_MIN 30
#define WAIT_ROWS   4

/* --- words --- */

static void add(char *text, size_t size, const char *label, double value,
                const char *(*format)(double, char *))
{
    char number[TL_UNIT_TEXT_SIZE];
    size_t used = strlen(text);
    if (!isnan(value))
        snprintf(text + used, size - used, "%s%s %s", used ? "   " : "", label,
                 format(value, number));
}

/* "curl (1234) in docker-4f1: 12 % of a core, busiest thread 11 %; writes /home/x at 96 Mb/s". */
static void describe_program(const struct tui_state *state, const struct tl_app_live_row *row,
                             char *text, size_t size)
{
    char number[TL_UNIT_TEXT_SIZE];
    int used = 0;
    text[0] = '\0';
    if (!row->program[0]) {
        snprintf(text, size, "program: not known (another user's, or its socket is the kernel's)");
        return;
    }
    used = snprintf(text, size, "%s%s%.40s", row->program, row->group[0] ? " in " : "", row->group);
    if (!isnan(row->cpu_ratio))
        used += snprintf(text + used, size - (size_t)used,
                         ": %.0f %% of a core, busiest thread "
                         "%.0f %%",
                         row->cpu_ratio * 100, row->thread_ratio * 100);
    if (row->file[0] && (size_t)used < size)
        used += snprintf(text + used, size - (size_t)used, "; %s %.120s",
                         row->file_written ? "writes" : "reads",
                         state->private_names ? "<hidden>" : row->file);
    if (row->file[0] && !isnan(row->file_bps) && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, " at %s", tl_format_bps(row->file_bps, number));
}

int tui_watch_words(const struct tui_state *state, const struct tl_app_live_row *row,
                    struct tui_grid *grid, int at, int rows)
{
    enum tui_ink ink;
    char text[600], program[320];
    const char *mark = tui_watch_mark(row, &ink);
    int used = 0, columns = grid->cols - 2, most = rows >= 8 ? 4 : rows >= 4 ? rows - 2 : rows;
    snprintf(text, sizeof text, "%s%s", mark,
             row->says[0] ? row->says : "two seconds more, and the rules are asked");
    if (rows < 1)
        return 0;
    used = tui_wrap(grid, at, 1, most, columns, row->state == TL_LIMITED ? ink : TUI_BOLD, text);
    used = used > most ? most : used;
    if (used < rows) {
        describe_program(state, row, program, sizeof program);
        int lines =
            tui_wrap(grid, at + used, 1, rows - used > 2 ? 2 : 1, columns, TUI_PLAIN, program);
        used += lines > 2 || lines > rows - used ? 1 + (rows - used > 1) : lines;
    }
    text[0] = '\0';
    add(text, sizeof text, "round trip", row->rtt_ns, tl_format_ns);
    add(text, sizeof text, "sent again", row->retrans_ratio, tl_format_ratio);
    add(text, sizeof text, "storage read", row->disk_read_bps, tl_format_bps);
    add(text, sizeof text, "written", row->disk_write_bps, tl_format_bps);
    if (used < rows && text[0])
        (void)tui_put(grid, at + used++, 1, columns, TUI_PLAIN, text);
    return used;
}

/* --- plots --- */

static void draw_time(struct tui_grid *grid, int row, size_t count)
{
    int first = TUI_PLOT_LABEL, inner = grid->cols - TUI_PLOT_LABEL - 1;
    char text[32];
    for (int i = 0; i < inner; i++)
        (void)tui_put(grid, row, first + i, 1, TUI_DIM,
                      i % 10 == 9 ? (grid->utf8 ? "┴" : "+") : (grid->utf8 ? "─" : "-"));
    (void)tui_put(grid, row, first - 1, 1, TUI_DIM, grid->utf8 ? "└" : "+");
    snprintf(text, sizeof text, " %zu s ago ", count);
    (void)tui_put(grid, row, first + 1, inner, TUI_DIM, text);
    if (count >= SECONDS_MIN)
        tui_put_right(grid, row, first, inner, TUI_DIM, " now ");
}

void tui_watch_value(struct tui_grid *grid, int row, int *col, const char *label, double value,
                     const char *(*format)(double, char *))
{
    char text[TL_UNIT_TEXT_SIZE];
    if (isnan(value))
        return;
    format(value, text);
    if (*col + (int)(strlen(label) + strlen(text)) + 2 > grid->cols)
        return; /* half a number misleads */
    *col += tui_putf(grid, row, *col, grid->cols - *col, TUI_PLAIN, "%s ", label);
    *col += tui_putf(grid, row, *col, grid->cols - *col, TUI_BOLD, "%s   ", text);
}

/* The second under the cursor, in numbers. */
static void draw_values(const struct tl_app_live_series *series, int at, struct tui_grid *grid,
                        int row)
{
    int col = 1, ago = (int)series->count - 1 - at;
    if (ago)
        col += tui_putf(grid, row, col, grid->cols, TUI_BOLD, "%d s ago   ", ago);
    else
        col += tui_put(grid, row, col, grid->cols, TUI_BOLD, "now   ");
    tui_watch_value(grid, row, &col, "rate", series->rate_bps[at], tl_format_bps);
    tui_watch_value(grid, row, &col, "RTT", series->rtt_ns[at], tl_format_ns);
    tui_watch_value(grid, row, &col, "on the way", series->inflight_bytes[at], tl_format_bytes);
    tui_watch_value(grid, row, &col, "window", series->window_bytes[at], tl_format_bytes);
    tui_watch_value(grid, row, &col, "sent again", series->retrans_ratio[at], tl_format_ratio);
}

/* One plot with a heading above it. Nothing of it is known: no plot, and the room stays. */
struct part {
    const char *heading;
    const double *values;
    double top;
    const char *(*format)(double, char *);
    int rows;
};

static int draw_part(const struct part *part, const struct tl_app_live_series *series, double share,
                     int cursor, struct tui_grid *grid, int row)
{
    struct tui_series plotted = {part->values, (int)series->count, share};
    int inner = grid->cols - TUI_PLOT_LABEL - 1;
    if (part->rows < 1)
        return 0;
    (void)tui_put(grid, row, TUI_PLOT_LABEL, inner, TUI_DIM, part->heading);
    tui_live_plot_to(grid, row + 1, part->rows, 0, grid->cols, &plotted, part->top, part->format);
    if (cursor >= 0)
        tui_plot_cursor(grid, row + 1, part->rows,
                        TUI_PLOT_LABEL + tui_plot_column(inner, &plotted, cursor));
    return part->rows + 1;
}

static int draw_waits(const struct tl_app_live_series *series, double share, struct tui_grid *grid,
                      int row, int rows)
{
    int inner = grid->cols - TUI_PLOT_LABEL - 1;
    if (rows < 2)
        return 0;
    (void)tui_put(grid, row, TUI_PLOT_LABEL, inner, TUI_DIM, "waits for");
    if (inner >= 78)
        tui_watch_legend(grid, row, TUI_PLOT_LABEL + 12, inner - 12);
    tui_put_right(grid, row + 1, 0, TUI_PLOT_LABEL - 1, TUI_DIM, "100 %");
    for (int r = 0; r < rows; r++)
        (void)tui_put(grid, row + 1 + r, TUI_PLOT_LABEL - 1, 1, TUI_DIM, grid->utf8 ? "│" : "|");
    tui_watch_columns(grid, row + 1, rows, TUI_PLOT_LABEL, inner, series, share);
    return rows + 1;
}

static double top_of(const double *values, size_t count)
{
    return tui_plot_top(tui_plot_largest(values, (int)count));
}

/* Bytes are shown in powers of two: 512 KiB, not 488. */
static double top_of_bytes(const struct tl_app_live_series *series)
{
    double most = fmax(tui_plot_largest(series->inflight_bytes, (int)series->count),
                       tui_plot_largest(series->window_bytes, (int)series->count));
    return most > 0 ? exp2(ceil(log2(most) - 1e-9)) : 1;
}

/* How many rows each plot gets: the rate always, then the waits, the round trip, what is on the
 * way. Headings, the axis and the values take a row each. */
static void share_rows(int rows, int *ret_rate, int *ret_waits, int *ret_rtt, int *ret_flight)
{
    int left = rows - 2;
    *ret_waits = left >= 8 ? WAIT_ROWS - (left < 12) : 0;
    left -= *ret_waits ? *ret_waits + 1 : 0;
    *ret_rtt = left >= 8 ? left / 4 + (left >= 14) : 0;
    *ret_flight = left >= 12 ? left / 4 : 0;
    left -= (*ret_rtt ? *ret_rtt + 1 : 0) + (*ret_flight ? *ret_flight + 1 : 0);
    *ret_rate = left - 1;
}

void tui_watch_plots(const struct tl_app_live_series *series, int cursor, struct tui_grid *grid,
                     int row, int rows)
{
    int rate_rows, wait_rows, rtt_rows, flight_rows, count = (int)series->count;
    double share = fmin((double)count / SECONDS_MIN, 1);
    if (rows < 5 || count < 2) {
        if (rows > 0)
            (void)tui_put(grid, row, 1, grid->cols - 2, TUI_DIM, "plots need two seconds");
        return;
    }
    cursor = cursor >= count ? -1 : cursor;
    share_rows(rows, &rate_rows, &wait_rows, &rtt_rows, &flight_rows);
    bool sends = !isnan(tui_plot_largest(series->inflight_bytes, count));
    const double *flight = sends ? series->inflight_bytes : series->window_bytes;
    const struct part parts[] = {
        {"rate", series->rate_bps, top_of(series->rate_bps, series->count), tl_format_bps,
         rate_rows},
        {"round-trip time", series->rtt_ns, top_of(series->rtt_ns, series->count), tl_format_ns,
         rtt_rows},
        {sends ? "on the way, up to the window that the receiver offers" : "window offered here",
         flight, top_of_bytes(series), tl_format_bytes, flight_rows}};
    row += draw_part(&parts[0], series, share, cursor, grid, row);
    row += draw_waits(series, share, grid, row, wait_rows);
    row += draw_part(&parts[1], series, share, cursor, grid, row);
    row += draw_part(&parts[2], series, share, cursor, grid, row);
    draw_time(grid, row, series->count);
    draw_values(series, cursor < 0 ? count - 1 : cursor, grid, row + 1);
}

const char *tui_watch_mark(const struct tl_app_live_row *row, enum tui_ink *ret_ink)
{
    if (row->ended && row->state == TL_INCONCLUSIVE) {
        *ret_ink = TUI_DIM;
        return "--  ";
    }
    return tui_verdict_mark(row->state, ret_ink);
}
