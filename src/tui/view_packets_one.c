/* One connection of a capture over time: rates, and the two time-sequence graphs that people look
 * for. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "live.h"
#include "packets.h"
#include "plot.h"
#include "tightlink/base/cause_name.h"
#include "tightlink/base/units.h"
#include "view.h"
#include "watch.h"

/* The steps that are shown. */
struct span {
    size_t from, count;
};

static struct span span_of(const struct tui_packets *packets, int cursor)
{
    size_t all = packets->series->count, count = all >> packets->zoom;
    size_t middle = cursor < 0 ? all / 2 : (size_t)cursor;
    count = count < 2 ? (all < 2 ? all : 2) : count;
    size_t from = middle > count / 2 ? middle - count / 2 : 0;
    return (struct span){.from = from + count > all ? all - count : from, .count = count};
}

static int inner_columns(const struct tui_grid *grid)
{
    return grid->cols - TUI_PLOT_LABEL - 1;
}

/* "1.20 s +----+----+ 3.40 s": since the first data. */
static void draw_time(const struct tl_app_pcap_series *series, const struct span *span,
                      struct tui_grid *grid, int row)
{
    char text[TL_UNIT_TEXT_SIZE];
    for (int i = 0; i < inner_columns(grid); i++)
        (void)tui_put(grid, row, TUI_PLOT_LABEL + i, 1, TUI_DIM,
                      i % 10 == 9 ? (grid->utf8 ? "┴" : "+") : (grid->utf8 ? "─" : "-"));
    (void)tui_put(grid, row, TUI_PLOT_LABEL - 1, 1, TUI_DIM, grid->utf8 ? "└" : "+");
    tl_format_ns((double)span->from * series->step_ns, text);
    (void)tui_putf(grid, row, TUI_PLOT_LABEL + 1, inner_columns(grid), TUI_DIM, " %s ",
                   span->from ? text : "0");
    tl_format_ns((double)(span->from + span->count) * series->step_ns, text);
    (void)tui_putf(grid, row, grid->cols - (int)strlen(text) - 3, (int)strlen(text) + 2, TUI_DIM,
                   " %s ", text);
}

/* The step under the cursor, in numbers. */
static void draw_values(const struct tl_app_pcap_series *series, int at, struct tui_grid *grid,
                        int row)
{
    char text[TL_UNIT_TEXT_SIZE];
    int col = 1;
    col += tui_putf(grid, row, col, grid->cols, TUI_BOLD, "at %s   ",
                    tl_format_ns(at * series->step_ns, text));
    tui_watch_value(grid, row, &col, "rate", series->rate_bps[at], tl_format_bps);
    tui_watch_value(grid, row, &col, "RTT", series->rtt_ns[at], tl_format_ns);
    tui_watch_value(grid, row, &col, "on the way", series->flight_bytes[at], tl_format_bytes);
    tui_watch_value(grid, row, &col, "window", series->window_bytes[at], tl_format_bytes);
    if (series->again_count[at] > 0)
        (void)tui_putf(grid, row, col, grid->cols - col, TUI_BAD, "%.0f sent again",
                       series->again_count[at]);
}

/* An axis between two labels, and lines on it. */
struct lines {
    const char *heading;
    const char *(*format)(double, char *);
    double low, top;
    const double *values[3]; /* NULL behind the last */
    const char *letters;     /* one each, of ASCII style; NULL: the usual dots */
};

static void draw_axis(const struct lines *lines, struct tui_grid *grid, int row, int rows)
{
    char text[TL_UNIT_TEXT_SIZE];
    (void)tui_put(grid, row, TUI_PLOT_LABEL, inner_columns(grid), TUI_DIM, lines->heading);
    tui_put_right(grid, row + 1, 0, TUI_PLOT_LABEL - 1, TUI_DIM, lines->format(lines->top, text));
    if (rows > 1)
        tui_put_right(grid, row + rows, 0, TUI_PLOT_LABEL - 1, TUI_DIM,
                      lines->low > 0 ? lines->format(lines->low, text) : "0");
    for (int r = 1; r <= rows; r++)
        (void)tui_put(grid, row + r, TUI_PLOT_LABEL - 1, 1, TUI_DIM, grid->utf8 ? "│" : "|");
}

/* A heading and rows rows below it. */
static void draw_lines(const struct lines *lines, const struct span *span, int cursor,
                       struct tui_grid *grid, int row, int rows)
{
    static const enum tui_ink inks[] = {TUI_GOOD, TUI_BOLD, TUI_BAD};
    double shifted[TL_APP_PCAP_STEPS_MAX];
    struct tui_series series = {shifted, (int)span->count, 1};
    draw_axis(lines, grid, row, rows);
    for (int i = 2; i >= 0; i--) {
        char letter[2] = {lines->letters ? lines->letters[i] : 0, 0};
        if (!lines->values[i])
            continue;
        for (size_t at = 0; at < span->count; at++)
            shifted[at] = lines->values[i][span->from + at] - lines->low;
        tui_plot(grid, row + 1, TUI_PLOT_LABEL, rows, inner_columns(grid), &series,
                 lines->top - lines->low, inks[i], letter[0] ? letter : NULL);
    }
    if (cursor >= (int)span->from && cursor < (int)(span->from + span->count))
        tui_plot_cursor(grid, row + 1, rows,
                        TUI_PLOT_LABEL + tui_plot_column(inner_columns(grid), &series,
                                                         cursor - (int)span->from));
}

static double largest(const double *values, const struct span *span)
{
    return tui_plot_largest(values + span->from, (int)span->count);
}

/* Bytes are shown in powers of two: 512 KiB, not 488. */
static double top_of_bytes(const struct tl_app_pcap_series *series, const struct span *span)
{
    double most = largest(series->flight_bytes, span);
    double window = largest(series->window_bytes, span);
    if (window <= 4 * most) /* else what is on the way would be a line at the bottom */
        most = fmax(most, window);
    return most > 0 ? exp2(ceil(log2(most) - 1e-9)) : 1;
}

/* Throughput, then round trips, then what is on the way, as there is room. Returns the row behind.
 */
static int draw_rates(const struct tl_app_pcap_series *series, const struct span *span, int cursor,
                      struct tui_grid *grid, int row, int rows)
{
    int parts = rows >= 12 ? 3 : rows >= 8 ? 2 : 1, each = rows / parts - 1;
    const struct lines all[] = {{"throughput",
                                 tl_format_bps,
                                 0,
                                 tui_plot_top(largest(series->rate_bps, span)),
                                 {series->rate_bps},
                                 NULL},
                                {"round-trip time",
                                 tl_format_ns,
                                 0,
                                 tui_plot_top(largest(series->rtt_ns, span)),
                                 {series->rtt_ns},
                                 NULL},
                                {grid->utf8 ? "on the way, below the receiver's window"
                                            : "on the way (o), below the receiver's window (w)",
                                 tl_format_bytes,
                                 0,
                                 top_of_bytes(series, span),
                                 {series->flight_bytes, series->window_bytes},
                                 "ow"}};
    for (int i = 0; i < parts; i++) {
        int here = i ? each : rows - parts * (each + 1) + each;
        draw_lines(&all[i], span, cursor, grid, row, here);
        row += here + 1;
    }
    return row;
}

/* Where something was sent again: on the line of what is acknowledged, whose next byte it was. */
static void draw_again(const struct tl_app_pcap_series *series, const struct lines *lines,
                       const struct span *span, struct tui_grid *grid, int row, int rows)
{
    struct tui_series shape = {series->again_count + span->from, (int)span->count, 1};
    for (size_t i = 0; i < span->count; i++) {
        if (!(series->again_count[span->from + i] > 0))
            continue;
        double share =
            (series->acked_bytes[span->from + i] - lines->low) / (lines->top - lines->low);
        int up = (int)lround(fmin(fmax(share, 0), 1) * (rows - 1));
        (void)tui_put(grid, row + rows - up,
                      TUI_PLOT_LABEL + tui_plot_column(inner_columns(grid), &shape, (int)i), 1,
                      TUI_BAD, "R");
    }
}

static int draw_sequence(const struct tl_app_pcap_series *series, bool edges,
                         const struct span *span, int cursor, struct tui_grid *grid, int row,
                         int rows)
{
    size_t last = span->from + span->count - 1;
    struct lines lines = {
        .format = tl_format_traffic,
        .low = series->acked_bytes[span->from],
        .top = fmax(series->sent_bytes[last], series->acked_bytes[last]),
        .values = {edges ? series->acked_bytes : series->sent_bytes},
    };
    if (edges) {
        lines.heading = grid->utf8
                            ? "tcptrace, from below: acknowledged, sent, the window's edge; R again"
                            : "tcptrace: a acknowledged, s sent, w the window's edge; R again";
        lines.values[1] = series->sent_bytes;
        lines.values[2] = series->edge_bytes;
        lines.letters = "asw";
        if (series->edge_bytes[last] <= lines.top + (lines.top - lines.low))
            lines.top = fmax(lines.top, series->edge_bytes[last]);
    } else {
        lines.heading = "Stevens: sent so far; R sent again";
    }
    lines.top = lines.top > lines.low ? lines.top : lines.low + 1;
    draw_lines(&lines, span, cursor, grid, row, rows - 1);
    draw_again(series, &lines, span, grid, row, rows - 1);
    return row + rows;
}

void tui_packets_plots(const struct tui_packets *packets, enum tui_packets_plot plot, int cursor,
                       struct tui_grid *grid, int row, int last)
{
    const struct tl_app_pcap_series *series = packets->series;
    int rows = last - row - 2; /* without axis and values */
    if (last - row < TUI_PACKETS_PLOT_ROWS)
        return;
    if (!series || series->count < 2) {
        (void)tui_put(grid, row, 1, grid->cols - 2, TUI_DIM,
                      "no plots: it is too short, or had to make room for larger ones");
        return;
    }
    cursor = cursor < (int)series->count ? cursor : (int)series->count - 1;
    struct span span = span_of(packets, cursor);
    row = plot == TUI_PLOT_RATES
              ? draw_rates(series, &span, cursor, grid, row, rows)
              : draw_sequence(series, plot == TUI_PLOT_EDGES, &span, cursor, grid, row, rows);
    draw_time(series, &span, grid, row);
    draw_values(series, cursor < 0 ? (int)(span.from + span.count / 2) : cursor, grid, row + 1);
}

void tui_packets_page(struct tui_state *state, struct tui_grid *grid, int first, int last)
{
    const struct tui_packets *packets = &state->packets;
    first += tui_packets_words(state, &packets->open, grid, first, last - first >= 16 ? 6 : 2);
    tui_packets_plots(packets, packets->plot, state->page.cursor, grid, first, last);
}

const char *tui_packets_mark(const struct tl_app_pcap_row *row, enum tui_ink *ret_ink)
{
    if (!row->judged) {
        *ret_ink = TUI_DIM;
        return "--  ";
    }
    return tui_verdict_mark(row->state, ret_ink);
}

const char *tui_packets_cause(const struct tui_state *state, const struct tl_app_pcap_row *row)
{
    if (row->judged)
        return row->cause[0] ? tl_cause_name(row->cause) : "cannot tell";
    return row->number > state->packets.judged ? "is judged" : "no data";
}

int tui_packets_words(const struct tui_state *state, const struct tl_app_pcap_row *flow,
                      struct tui_grid *grid, int at, int rows)
{
    enum tui_ink ink;
    char text[600], number[TL_UNIT_TEXT_SIZE];
    const char *mark = tui_packets_mark(flow, &ink);
    int most = rows >= 6 ? 4 : rows - 1, columns = grid->cols - 2, used, col = 1;
    if (rows < 2)
        return 0;
    snprintf(text, sizeof text, "%s%s", mark,
             flow->judged ? flow->says : tui_packets_cause(state, flow));
    used = tui_wrap(grid, at, 1, most, columns,
                    flow->judged && flow->state == TL_LIMITED ? ink : TUI_BOLD, text);
    used = used > most ? most : used;
    col += tui_putf(grid, at + used, col, columns, TUI_PLAIN, "%s in ",
                    tl_format_traffic((double)flow->payload_bytes, number));
    col += tui_putf(grid, at + used, col, columns - col, TUI_PLAIN, "%s   ",
                    tl_format_ns(flow->span_ns, number));
    tui_watch_value(grid, at + used, &col, "least RTT", flow->rtt_min_ns, tl_format_ns);
    tui_watch_value(grid, at + used, &col, "sent again", flow->retrans_ratio, tl_format_ratio);
    if (flow->place[0] && grid->cols - col > 32)
        (void)tui_putf(grid, at + used, col, grid->cols - col, TUI_PLAIN, "captured %s",
                       flow->place);
    return used + 1;
}
