/* The run screen: the list of stages, the running one as plots and its ledger, the early
 * reading. Numbers that are not known are shown as "-", never as 0. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plot.h"
#include "tightlink/base/units.h"
#include "view.h"

#define PLOT_LABEL 11

static const char *or_dash(double value, const char *(*format)(double, char *),
                           char ret_text[TL_UNIT_TEXT_SIZE])
{
    if (isnan(value))
        return "-";
    return format(value, ret_text);
}

static const char *title_of(const struct tui_stage *stage, char ret_text[40])
{
    snprintf(ret_text, 40, "%s%s%s", stage->id, stage->has_direction ? ", " : "",
             stage->has_direction ? tl_direction_name(stage->direction) : "");
    return ret_text;
}

static const char *mark_of(const struct tui_stage *stage, enum tui_ink *ret_ink)
{
    *ret_ink = TUI_PLAIN;
    if (stage->state == TL_STAGE_RUNS) {
        *ret_ink = TUI_BOLD;
        return ">>";
    }
    if (stage->state == TL_STAGE_WAITS)
        return "..";
    if (stage->state == TL_STAGE_OFF)
        return "--";
    switch (stage->record.state) {
    case TL_STAGE_DONE:
        *ret_ink = TUI_GOOD;
        return "ok";
    case TL_STAGE_FAILED:
        *ret_ink = TUI_BAD;
        return "(x)";
    case TL_STAGE_LIMITED:
        return "ok~";
    default:
        return "--";
    }
}

/* What is said of a stage: how far it is, why it ended as it did, or why it waits. */
static void draw_stage(const struct tui_progress_state *run, const struct tui_stage *stage,
                       struct tui_grid *grid, int row, int col, int columns)
{
    char title[40], took[TL_UNIT_TEXT_SIZE], most[TL_UNIT_TEXT_SIZE];
    enum tui_ink ink;
    const char *mark = mark_of(stage, &ink);
    (void)tui_put(grid, row, col + 1, 3, ink, mark);
    (void)tui_put(grid, row, col + 5, 24, TUI_PLAIN, title_of(stage, title));
    int at = col + 30, rest = columns - 30;
    if (stage->state == TL_STAGE_RUNS) {
        double elapsed = run->has_live ? run->live.elapsed_ns : 0;
        int used =
            tui_putf(grid, row, at, rest, TUI_PLAIN, "%s / %s  ", tl_format_ns(elapsed, took),
                     stage->expected_ns > 0 ? tl_format_ns(stage->expected_ns, most) : "?");
        if (rest - used >= 10 && stage->expected_ns > 0)
            tui_progress(grid, row, at + used, rest - used - 1, elapsed / stage->expected_ns);
    } else if (stage->state == TL_STAGE_ENDED && stage->record.id[0]) {
        int used = tui_putf(grid, row, at, rest, TUI_PLAIN, "%-8s",
                            stage->record.duration_ns > 0
                                ? tl_format_ns((double)stage->record.duration_ns, took)
                                : "-");
        (void)tui_put(grid, row, at + used + 1, rest - used - 1, TUI_PLAIN, stage->record.reason);
    } else {
        (void)tui_put(grid, row, at, rest, TUI_DIM, stage->why);
    }
    if (stage == &run->stages[run->selected])
        (void)tui_put(grid, row, col, 1, TUI_BOLD, ">");
}

static void draw_stages(const struct tui_progress_state *run, struct tui_grid *grid, int row,
                        int rows, int col, int columns)
{
    int top = run->selected >= rows ? run->selected - rows + 1 : 0;
    for (int i = 0; i < rows && top + i < run->stage_count; i++)
        draw_stage(run, &run->stages[top + i], grid, row + i, col, columns);
    if (!run->stage_count)
        (void)tui_put(grid, row, col + 1, columns - 1, TUI_PLAIN, "connecting ...");
}

/* "srv-b   00:07, at most about 25 s of loading   280 MB of at most 1.4 GB   [running]" */
static void draw_head(const struct tui_state *state, struct tui_grid *grid, int row)
{
    const struct tui_progress_state *run = &state->run;
    char moved[TL_UNIT_TEXT_SIZE], most[TL_UNIT_TEXT_SIZE], load[TL_UNIT_TEXT_SIZE], text[160];
    long long seconds = (run->now_ns - run->started_ns) / 1000000000;
    double bytes = (double)run->bytes;
    const char *what = !run->active    ? "[ended]"
                       : run->stopping ? "[stopping]"
                       : run->paused   ? "[paused]"
                                       : "[running]";
    if (run->running && run->has_live && run->live.live.bytes > 0)
        bytes += run->live.live.bytes;
    int n = snprintf(text, sizeof text, "%02lld:%02lld", seconds / 60, seconds % 60);
    if (run->worst_ns > 0 && grid->cols >= 100)
        n += snprintf(text + n, sizeof text - (size_t)n, " (loading at most %s)",
                      tl_format_ns(run->worst_ns, load));
    n += snprintf(text + n, sizeof text - (size_t)n, "   %s", tl_format_traffic(bytes, moved));
    if (run->worst_bytes > 0)
        n += snprintf(text + n, sizeof text - (size_t)n, " of %s%s",
                      grid->cols >= 76 ? "at most " : "",
                      tl_format_traffic((double)run->worst_bytes, most));
    snprintf(text + n, sizeof text - (size_t)n, "  %s ", what);
    int room = grid->cols - (int)strlen(text) - 2;
    (void)tui_put(grid, row, 1, room, TUI_BOLD, state->title);
    tui_put_right(grid, row, 1 + room, grid->cols - 1 - room, TUI_PLAIN, text);
}

static double largest(const double *values, int count)
{
    double most = (double)NAN;
    for (int i = 0; i < count; i++)
        most = fmax(most, values[i]); /* ignores NAN */
    return most;
}

static void draw_plot(struct tui_grid *grid, int row, int rows, int col, int columns,
                      const double *values, int count, const char *(*format)(double, char *))
{
    char text[TL_UNIT_TEXT_SIZE];
    struct tui_series series = {values, count};
    double top = tui_plot_top(largest(values, count));
    tui_put_right(grid, row, col, PLOT_LABEL - 1, TUI_DIM, format(top, text));
    if (rows > 1)
        tui_put_right(grid, row + rows - 1, col, PLOT_LABEL - 1, TUI_DIM, "0");
    for (int r = 0; r < rows; r++)
        (void)tui_put(grid, row + r, col + PLOT_LABEL - 1, 1, TUI_DIM, grid->utf8 ? "│" : "|");
    if (rows > 1)
        tui_plot(grid, row, col + PLOT_LABEL, rows, columns - PLOT_LABEL - 1, &series, top);
    else
        tui_sparkline(grid, row, col + PLOT_LABEL, columns - PLOT_LABEL - 1, &series, top);
}

/* Rows that the numbers take: each of the two lines breaks where it must. */
static int numbers_rows(int columns)
{
    return columns >= 76 ? 2 : 4;
}

static void draw_numbers(const struct tui_progress_state *run, struct tui_grid *grid, int row,
                         int rows, int col, int columns)
{
    const struct tl_probe_live *live = &run->live.live;
    char rtt[TL_UNIT_TEXT_SIZE], cwnd[TL_UNIT_TEXT_SIZE], wnd[TL_UNIT_TEXT_SIZE], again[32] = "-";
    char text[256];
    rows /= 2; /* of each line */
    if (!isnan(live->retrans_count))
        snprintf(again, sizeof again, "%.0f", live->retrans_count);
    snprintf(text, sizeof text, "RTT %s   sent again %s   cwnd %s   receive window %s",
             or_dash(live->rtt_ns, tl_format_ns, rtt), again,
             or_dash(live->cwnd_bytes, tl_format_bytes, cwnd),
             or_dash(live->snd_wnd_bytes, tl_format_bytes, wnd));
    (void)tui_wrap(grid, row, col + 1, rows, columns - 1, TUI_PLAIN, text);
    const double shares[] = {live->rwnd_ratio, live->network_ratio, live->sndbuf_ratio,
                             live->app_ratio};
    static const char *const names[] = {"receive window", "network", "send buffer", "program"};
    int n = snprintf(text, sizeof text, "waiting for:");
    for (int i = 0; i < 4; i++) {
        if (isnan(shares[i]))
            n += snprintf(text + n, sizeof text - (size_t)n, "%s %s -", i ? "," : "", names[i]);
        else
            n += snprintf(text + n, sizeof text - (size_t)n, "%s %s %.0f %%", i ? "," : "",
                          names[i], shares[i] * 100);
    }
    if (isnan(live->rwnd_ratio) && isnan(live->network_ratio))
        snprintf(text, sizeof text, "waiting for: not known in this stage");
    (void)tui_wrap(grid, row + rows, col + 1, rows, columns - 1, TUI_PLAIN, text);
}

/* Rate, RTT and retransmissions of the running stage; the last ones stay until the next. */
static void draw_live(const struct tui_progress_state *run, struct tui_grid *grid, int row,
                      int rows, int col, int columns)
{
    char now[TL_UNIT_TEXT_SIZE], most[TL_UNIT_TEXT_SIZE], title[40];
    const struct tui_samples *samples = &run->samples;
    if (!run->has_live || rows < 3) {
        if (rows > 0)
            (void)tui_put(grid, row, col + 1, columns - 1, TUI_DIM,
                          run->active ? "no rates yet: this stage sends little" : "");
        return;
    }
    struct tui_stage named = {.has_direction = run->live.has_direction,
                              .direction = run->live.direction};
    snprintf(named.id, sizeof named.id, "%s", run->live.stage);
    (void)tui_putf(grid, row, col, columns, TUI_BOLD, " %s", title_of(&named, title));
    char line[128];
    snprintf(line, sizeof line, "now %s   most %s ",
             or_dash(run->live.rate_bps, tl_format_bps, now),
             or_dash(largest(samples->rate_bps, samples->count), tl_format_bps, most));
    tui_put_right(grid, row, col + 26, columns - 26, TUI_PLAIN, line);
    int below = numbers_rows(columns);
    if (rows < 2 + below) { /* no room for a plot */
        draw_numbers(run, grid, row + 1, 2, col, columns);
        return;
    }
    bool tall = rows >= 16;
    int rtt_rows = tall ? (rows - 5) / 4 : rows >= 7 ? 1 : 0, again_rows = tall ? rtt_rows : 0;
    int rate_rows = rows - 1 - below - rtt_rows - again_rows;
    if (tall) {
        rate_rows -= 2; /* headings */
        (void)tui_put(grid, row + 1 + rate_rows, col, columns, TUI_BOLD, " round-trip time");
        (void)tui_put(grid, row + 2 + rate_rows + rtt_rows, col, columns, TUI_BOLD,
                      " segments sent again, so far");
    }
    draw_plot(grid, row + 1, rate_rows, col, columns, samples->rate_bps, samples->count,
              tl_format_bps);
    if (rtt_rows)
        draw_plot(grid, row + 1 + rate_rows + tall, rtt_rows, col, columns, samples->rtt_ns,
                  samples->count, tl_format_ns);
    if (again_rows) {
        char top[32];
        struct tui_series series = {samples->retrans, samples->count};
        double most_again = tui_plot_top(largest(samples->retrans, samples->count));
        int at = row + 3 + rate_rows + rtt_rows;
        snprintf(top, sizeof top, "%.0f", most_again);
        tui_put_right(grid, at, col, PLOT_LABEL - 1, TUI_DIM, top);
        for (int r = 0; r < again_rows; r++)
            (void)tui_put(grid, at + r, col + PLOT_LABEL - 1, 1, TUI_DIM, grid->utf8 ? "│" : "|");
        tui_plot(grid, at, col + PLOT_LABEL, again_rows, columns - PLOT_LABEL - 1, &series,
                 most_again);
    }
    draw_numbers(run, grid, row + rows - below, below, col, columns);
}

/* Two rows: of the running stream, and of the rules so far. */
static void draw_reading(const struct tui_progress_state *run, struct tui_grid *grid, int row)
{
    char text[320];
    bool early = run->early[0] && run->running;
    if (early)
        (void)tui_putf(grid, row, 1, grid->cols - 1, TUI_BOLD, "Early read: %s", run->early);
    if (!run->reading[0])
        return;
    snprintf(text, sizeof text, "So far (not yet confirmed): %s", run->reading);
    (void)tui_wrap(grid, row + early, 1, 2 - early, grid->cols - 2, TUI_BOLD, text);
}

void tui_view_run(struct tui_state *state, struct tui_grid *grid, int first, int last)
{
    const struct tui_progress_state *run = &state->run;
    draw_head(state, grid, first);
    tui_rule(grid, first + 1, 0, grid->cols);
    int row = first + 2, rows = last - row - 2, half = grid->cols / 2;
    draw_reading(run, grid, last - 2);
    if (grid->cols >= 110) {
        draw_stages(run, grid, row, rows, 0, half);
        draw_live(run, grid, row, rows, half, grid->cols - half);
        return;
    }
    int list = run->stage_count < rows / 2 ? run->stage_count : rows / 2;
    list = list < 1 ? 1 : list;
    draw_stages(run, grid, row, list, 0, grid->cols);
    tui_rule(grid, row + list, 0, grid->cols);
    draw_live(run, grid, row + list + 1, rows - list - 1, 0, grid->cols);
}
