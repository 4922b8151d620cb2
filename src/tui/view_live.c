/* Plots of a stage while it runs and after. Unknown values leave gaps and say "-". */
#include "live.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plot.h"
#include "tightlink/base/units.h"

static const char *or_dash(double value, const char *(*format)(double, char *),
                           char ret_text[TL_UNIT_TEXT_SIZE])
{
    if (isnan(value))
        return "-";
    return format(value, ret_text);
}

static const char *format_count(double value, char ret_text[TL_UNIT_TEXT_SIZE])
{
    snprintf(ret_text, TL_UNIT_TEXT_SIZE, "%.0f", value);
    return ret_text;
}

const char *tui_stage_title(const struct tui_stage *stage, char ret_text[40])
{
    snprintf(ret_text, 40, "%s%s%s", stage->id, stage->has_direction ? ", " : "",
             stage->has_direction ? tl_direction_name(stage->direction) : "");
    return ret_text;
}

/* What is shown: what stands still, the stage under the cursor once the run has ended, else the
 * newest. NULL where nothing was sampled. */
static const struct tui_samples *shown(const struct tui_progress_state *run,
                                       const struct tui_stage **ret_stage)
{
    if (run->sampled < 0)
        return NULL;
    *ret_stage = &run->stages[run->sampled];
    if (run->frozen)
        return &run->still;
    if (!run->running && run->stages[run->selected].samples.count)
        *ret_stage = &run->stages[run->selected];
    return &(*ret_stage)->samples;
}

static const struct tl_event *newest(const struct tui_progress_state *run)
{
    return run->frozen ? &run->still_live : &run->live;
}

void tui_live_plot(struct tui_grid *grid, int row, int rows, int col, int columns,
                   const struct tui_series *series, const char *(*format)(double, char *))
{
    tui_live_plot_to(grid, row, rows, col, columns, series,
                     tui_plot_top(tui_plot_largest(series->values, series->count)), format);
}

void tui_live_plot_to(struct tui_grid *grid, int row, int rows, int col, int columns,
                      const struct tui_series *series, double top,
                      const char *(*format)(double, char *))
{
    char text[TL_UNIT_TEXT_SIZE];
    bool known = !isnan(tui_plot_largest(series->values, series->count));
    tui_live_plot_between(grid, row, rows, col, columns, series, top, "0",
                          known ? format(top, text) : "");
}

void tui_live_plot_between(struct tui_grid *grid, int row, int rows, int col, int columns,
                           const struct tui_series *series, double top, const char *low_label,
                           const char *top_label)
{
    tui_put_right(grid, row, col, TUI_PLOT_LABEL - 1, TUI_DIM, top_label);
    if (rows > 1)
        tui_put_right(grid, row + rows - 1, col, TUI_PLOT_LABEL - 1, TUI_DIM, low_label);
    for (int r = 0; r < rows; r++)
        (void)tui_put(grid, row + r, col + TUI_PLOT_LABEL - 1, 1, TUI_DIM, grid->utf8 ? "│" : "|");
    if (rows > 1)
        tui_plot(grid, row, col + TUI_PLOT_LABEL, rows, columns - TUI_PLOT_LABEL - 1, series, top,
                 TUI_GOOD, NULL);
    else
        tui_sparkline(grid, row, col + TUI_PLOT_LABEL, columns - TUI_PLOT_LABEL - 1, series, top);
}

/* "0 +----+----+----+ 6 s": time since the stage began. */
static void draw_time(struct tui_grid *grid, int row, int col, int columns, double span_ns)
{
    char text[TL_UNIT_TEXT_SIZE];
    int at = col + TUI_PLOT_LABEL, inner = columns - TUI_PLOT_LABEL - 1;
    tl_format_ns(span_ns, text);
    int end = inner - (int)strlen(text) - 1;
    for (int i = 0; i < end; i++)
        (void)tui_put(grid, row, at + i, 1, TUI_DIM,
                      i % 10 == 9 ? (grid->utf8 ? "┴" : "+") : (grid->utf8 ? "─" : "-"));
    (void)tui_put(grid, row, at - 1, 1, TUI_DIM, grid->utf8 ? "└" : "+");
    (void)tui_put(grid, row, at + end + 1, inner - end, TUI_DIM, text);
}

int tui_live_ledger(const struct tui_progress_state *run, struct tui_grid *grid, int row, int rows,
                    int col, int columns)
{
    static const char *const names[] = {"receive window", "network", "send buffer", "program"};
    const struct tl_probe_live *live = &newest(run)->live;
    const double shares[] = {live->rwnd_ratio, live->network_ratio, live->sndbuf_ratio,
                             live->app_ratio};
    if (rows < 5 || run->sampled < 0)
        return 0;
    (void)tui_put(grid, row, col + 1, columns - 1, TUI_BOLD, "The stream waits for");
    for (int i = 0; i < 4; i++) {
        char text[16] = "-";
        int at = col + 24, bar = columns - 25;
        (void)tui_put(grid, row + 1 + i, col + 3, 14, TUI_PLAIN, names[i]);
        if (!isnan(shares[i]))
            snprintf(text, sizeof text, "%.0f %%", shares[i] * 100);
        tui_put_right(grid, row + 1 + i, col + 17, 6, TUI_PLAIN, text);
        int full = isnan(shares[i]) ? 0 : (int)lround(fmin(fmax(shares[i], 0), 1) * bar);
        for (int c = 0; c < full; c++)
            (void)tui_put(grid, row + 1 + i, at + c, 1, TUI_GOOD, grid->utf8 ? "█" : "#");
    }
    return 5;
}

int tui_live_numbers(const struct tui_progress_state *run, struct tui_grid *grid, int row, int rows,
                     int col, int columns)
{
    const struct tl_probe_live *live = &newest(run)->live;
    const struct {
        const char *name;
        double value;
        const char *(*format)(double, char *);
    } numbers[] = {{"round trip", live->rtt_ns, tl_format_ns},
                   {"sent again", live->retrans_count, format_count},
                   {"congestion window", live->cwnd_bytes, tl_format_bytes},
                   {"receive window", live->snd_wnd_bytes, tl_format_bytes}};
    int used = 0;
    for (size_t i = 0; i < 4 && used < rows && run->sampled >= 0; i++, used++) {
        char text[TL_UNIT_TEXT_SIZE];
        (void)tui_put(grid, row + used, col + 3, 20, TUI_PLAIN, numbers[i].name);
        (void)tui_put(grid, row + used, col + 24, columns - 24, TUI_BOLD,
                      or_dash(numbers[i].value, numbers[i].format, text));
    }
    return used;
}

/* The same as two sentences, for narrow terminals. */
static void draw_sentences(const struct tui_progress_state *run, struct tui_grid *grid, int row,
                           int rows, int col, int columns)
{
    const struct tl_probe_live *live = &newest(run)->live;
    char rtt[TL_UNIT_TEXT_SIZE], cwnd[TL_UNIT_TEXT_SIZE], wnd[TL_UNIT_TEXT_SIZE],
        again[TL_UNIT_TEXT_SIZE];
    static const char *const whole[] = {"receive window", "network", "send buffer", "program"};
    static const char *const brief[] = {"window", "network", "buffer", "program"};
    const double shares[] = {live->rwnd_ratio, live->network_ratio, live->sndbuf_ratio,
                             live->app_ratio};
    char text[256];
    rows /= 2; /* of each line */
    bool narrow = columns < 76 && rows < 2;
    const char *const *names = narrow ? brief : whole;
    snprintf(text, sizeof text,
             narrow ? "RTT %s  sent again %s  cwnd %s  window %s"
                    : "RTT %s   sent again %s   cwnd %s   receive window %s",
             or_dash(live->rtt_ns, tl_format_ns, rtt),
             or_dash(live->retrans_count, format_count, again),
             or_dash(live->cwnd_bytes, tl_format_bytes, cwnd),
             or_dash(live->snd_wnd_bytes, tl_format_bytes, wnd));
    (void)tui_wrap(grid, row, col + 1, rows, columns - 1, TUI_PLAIN, text);
    int n = snprintf(text, sizeof text, narrow ? "waits:" : "waiting for:");
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

/* "stream, download                   now 96.1 Mb/s   most 99.7 Mb/s" */
static void draw_title(const struct tui_progress_state *run, const struct tui_stage *stage,
                       const struct tui_samples *samples, struct tui_grid *grid, int row, int col,
                       int columns)
{
    char now[TL_UNIT_TEXT_SIZE], most[TL_UNIT_TEXT_SIZE], title[40], line[128];
    double last = samples->count ? samples->rate_bps[samples->count - 1] : (double)NAN;
    (void)tui_putf(grid, row, col, columns, TUI_BOLD, " %s", tui_stage_title(stage, title));
    snprintf(line, sizeof line, "%s %s   most %s ", run->running ? "now" : "last",
             or_dash(last, tl_format_bps, now),
             or_dash(tui_plot_largest(samples->rate_bps, samples->count), tl_format_bps, most));
    tui_put_right(grid, row, col + 26, columns - 26, TUI_PLAIN, line);
}

/* How much of the stage's time has passed, so that the plot grows from left to right. */
static double share_of(const struct tui_stage *stage, const struct tui_samples *samples,
                       double *ret_span_ns)
{
    double last = samples->count ? samples->at_ns[samples->count - 1] : 0;
    *ret_span_ns =
        stage->state == TL_STAGE_RUNS && stage->expected_ns > last ? stage->expected_ns : last;
    return *ret_span_ns > 0 ? last / *ret_span_ns : 1;
}

/* Three plots, each with its heading, on one axis of time. */
static void draw_stack(const struct tui_samples *samples, double share, double span_ns,
                       struct tui_grid *grid, int row, int rows, int col, int columns)
{
    struct tui_series rate = {samples->rate_bps, samples->count, share};
    struct tui_series rtt = {samples->rtt_ns, samples->count, share};
    struct tui_series again = {samples->retrans, samples->count, share};
    int small = (rows - 3) / 4, large = rows - 3 - 2 * small;
    tui_live_plot(grid, row, large, col, columns, &rate, tl_format_bps);
    row += large;
    (void)tui_put(grid, row, col, columns, TUI_BOLD, " round-trip time");
    tui_live_plot(grid, row + 1, small, col, columns, &rtt, tl_format_ns);
    row += small + 1;
    (void)tui_put(grid, row, col, columns, TUI_BOLD, " segments sent again, so far");
    tui_live_plot(grid, row + 1, small, col, columns, &again, format_count);
    draw_time(grid, row + 1 + small, col, columns, span_ns);
}

void tui_live_plots(const struct tui_progress_state *run, struct tui_grid *grid, int row, int rows,
                    int col, int columns)
{
    const struct tui_stage *stage = NULL;
    const struct tui_samples *samples = shown(run, &stage);
    double span_ns;
    if (!samples || rows < 3) {
        if (rows > 0 && run->active)
            (void)tui_put(grid, row, col + 1, columns - 1, TUI_DIM,
                          "no rates yet: this stage sends little");
        return;
    }
    draw_title(run, stage, samples, grid, row, col, columns);
    double share = share_of(stage, samples, &span_ns);
    if (rows >= 20) {
        draw_stack(samples, share, span_ns, grid, row + 1, rows - 1, col, columns);
        return;
    }
    int below = columns >= 76 ? 2 : 4; /* each of the two lines breaks where it must */
    if (rows < 2 + below) {            /* no room for a plot */
        draw_sentences(run, grid, row + 1, 2, col, columns);
        return;
    }
    struct tui_series rate = {samples->rate_bps, samples->count, share};
    struct tui_series rtt = {samples->rtt_ns, samples->count, share};
    int rtt_rows = rows >= 7 ? 1 : 0, time_rows = rows >= 8 ? 1 : 0;
    int rate_rows = rows - 1 - below - rtt_rows - time_rows;
    tui_live_plot(grid, row + 1, rate_rows, col, columns, &rate, tl_format_bps);
    if (time_rows)
        draw_time(grid, row + 1 + rate_rows, col, columns, span_ns);
    if (rtt_rows)
        tui_live_plot(grid, row + 1 + rate_rows + time_rows, rtt_rows, col, columns, &rtt,
                      tl_format_ns);
    draw_sentences(run, grid, row + rows - below, below, col, columns);
}
