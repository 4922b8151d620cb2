/* Ladder, ledger, throughput and round trip as inline SVG. Coordinates are in a picture of 720
 * units across; colours are classes of the page's style sheet. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "documents.h"
#include "escape.h"
#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"

#define WIDTH 720

static void begin(struct tl_buf *out, const char *title, int height)
{
    tl_buf_addf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>", WIDTH, height);
    escape_html(out, title);
    tl_buf_adds(out, "</title>\n");
}

static void end(struct tl_buf *out)
{
    tl_buf_adds(out, "</svg>\n");
}

/* Text at a place; anchor is start, middle or end, columns the most that has room. */
static void label(struct tl_buf *out, double x, double y, const char *anchor, const char *class,
                  const char *text, size_t columns)
{
    char cut[512];
    size_t fit = tl_utf8_fit(text, columns);
    snprintf(cut, sizeof cut, "%.*s%s", (int)fit, text, text[fit] ? "…" : "");
    tl_buf_addf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor,
                class);
    escape_html(out, cut);
    tl_buf_adds(out, "</text>\n");
}

static void box(struct tl_buf *out, double x, double y, double width, double height,
                const char *class)
{
    tl_buf_addf(
        out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\" class=\"%s\"/>\n",
        x, y, fmax(width, 1), height, class);
}

/* --- ladder --- */

#define ROW        24
#define BARS_AT    300.0
#define BARS_WIDTH 320.0

static void add_row(struct tl_buf *out, const struct ladder_row *row, double y, double low,
                    double high)
{
    char rate[TL_UNIT_TEXT_SIZE], text[320];
    double at = text_ladder_position(low, high, row->bps);
    double most = fmin(text_ladder_position(low, high, row->high_bps), 1);
    snprintf(text, sizeof text, "%s%s: %s", row->limits ? "(!) " : "", row->place, row->label);
    label(out, 0, y + 16, "start", row->limits ? "x" : "", text, 42);
    if (most > at)
        box(out, BARS_AT, y + 4, BARS_WIDTH * most, 15, "h");
    box(out, BARS_AT, y + 4, BARS_WIDTH * fmax(at, 0), 15,
        row->limits     ? "x"
        : row->measured ? "m"
                        : "b");
    label(out, WIDTH, y + 16, "end", row->limits ? "x" : "",
          tl_format_bps_known(row->bps, row->doubt_bps, rate), 16);
}

void chart_ladder(struct tl_buf *out, const struct text_source *source, enum tl_direction direction)
{
    struct ladder_row rows[LADDER_ROWS_MAX];
    char from[TL_UNIT_TEXT_SIZE + 8], to[TL_UNIT_TEXT_SIZE];
    double low, high;
    size_t count = text_ladder_rows(source, direction, rows);
    text_ladder_scale(source, direction, &low, &high);
    if (!(high > 0) || !count)
        return;
    begin(out, text_ladder_heading(direction), (int)count * ROW + 22);
    for (size_t i = 0; i < count; i++)
        add_row(out, &rows[i], (double)(i * ROW), low, high);
    double y = (double)(count * ROW);
    tl_buf_addf(out, "<path class=\"g\" d=\"M%.0f %.1fh%.0f\"/>\n", BARS_AT, y + 2, BARS_WIDTH);
    if (low > 0)
        snprintf(from, sizeof from, "%s (log)", tl_format_bps(low, to));
    else
        snprintf(from, sizeof from, "0");
    label(out, BARS_AT, y + 17, "start", "d", from, 24);
    label(out, BARS_AT + BARS_WIDTH, y + 17, "end", "d",
          tl_format_bps_known(high, text_ladder_doubt(rows, count, high), to), 16);
    end(out);
}

/* --- ledger --- */

void chart_ledger(struct tl_buf *out, const struct tl_ledger_row *row)
{
    static const double columns[LEDGER_PARTS] = {0, 212, 358, 544}; /* as wide as their words */
    struct ledger_part parts[LEDGER_PARTS];
    struct tl_buf heading = TL_BUF_INIT;
    double x = 0;
    text_add_ledger_heading(row, &heading);
    text_ledger_parts(row, parts);
    begin(out, tl_buf_text(&heading), 58);
    for (int i = 0; i < LEDGER_PARTS; i++) {
        char class[4], text[80];
        double share = parts[i].ratio > 0 ? fmin(parts[i].ratio, 1) : 0;
        snprintf(class, sizeof class, "p%d", i);
        if (share > 0)
            box(out, x * WIDTH, 2, share * WIDTH, 22, class);
        x = fmin(x + share, 1);
        box(out, columns[i], 36, 12, 12, class);
        snprintf(text, sizeof text, "%s %.0f %%", parts[i].label, share * 100);
        label(out, columns[i] + 17, 47, "start", "", text, 30);
    }
    end(out);
    if (heading.status != TL_OK)
        out->status = heading.status;
    tl_buf_finish(&heading);
}

/* --- over time --- */

#define PLOT_AT      70.0
#define PLOT_WIDTH   640.0
#define PLOT_TOP     22.0
#define PLOT_HEIGHT  120.0
#define EDGES_HEIGHT 320.0 /* three lines that lie near one another */
#define EDGES_LINES  3
#define POINTS_MAX   1200 /* more cannot be seen */

struct plot {
    const struct tl_samples *samples;
    enum chart_of_time what;
    int line;              /* of several: acknowledged, sent, the window's edge */
    double height;         /* of the picture */
    double most, total_ns; /* the ends of both axes */
    size_t stride;
};

static double value_of(const struct plot *plot, size_t index)
{
    const struct tl_reading *reading = &plot->samples->items[index];
    switch (plot->what) {
    case CHART_RATE:
        return reading->rate_bps;
    case CHART_RTT:
        return reading->rtt_ns;
    case CHART_FLIGHT:
        return reading->inflight_bytes;
    case CHART_EDGES:
        if (!isfinite(reading->inflight_bytes) || !isfinite(reading->snd_wnd_bytes))
            return (double)NAN;
        return reading->bytes + (plot->line == 1   ? reading->inflight_bytes
                                 : plot->line == 2 ? reading->snd_wnd_bytes
                                                   : 0);
    default: /* the time-sequence graph of Stevens: of a connection, not of stages */
        return isfinite(reading->inflight_bytes) ? reading->bytes : (double)NAN;
    }
}

/* The readings of one stage in one direction follow each other: where the next begin. */
static size_t stage_end(const struct tl_samples *samples, size_t from)
{
    const struct tl_reading *first = &samples->items[from];
    size_t to = from + 1;
    while (to < samples->count && strcmp(samples->items[to].stage, first->stage) == 0 &&
           samples->items[to].has_direction == first->has_direction &&
           samples->items[to].direction == first->direction &&
           samples->items[to].elapsed_ns >= samples->items[to - 1].elapsed_ns)
        to++;
    return to;
}

static double length_ns(const struct tl_samples *samples, size_t to)
{
    double ns = samples->items[to - 1].elapsed_ns;
    return ns > 0 ? ns : 0;
}

static double x_of(const struct plot *plot, double ns)
{
    return PLOT_AT + PLOT_WIDTH * ns / plot->total_ns;
}

/* One line for each row of readings that are known. */
static void add_line(struct tl_buf *out, const struct plot *plot, size_t from, size_t to,
                     double begin_ns)
{
    bool open = false;
    for (size_t i = from; i < to; i += plot->stride) {
        double value = value_of(plot, i);
        if (!isfinite(value) || !(plot->samples->items[i].elapsed_ns >= 0)) {
            tl_buf_adds(out, open ? "\"/>\n" : "");
            open = false;
            continue;
        }
        if (!open)
            tl_buf_addf(out, "<polyline class=\"l l%d\" points=\"", plot->line);
        open = true;
        tl_buf_addf(out, "%.1f,%.1f ", x_of(plot, begin_ns + plot->samples->items[i].elapsed_ns),
                    PLOT_TOP + plot->height * (1 - fmin(value / plot->most, 1)));
    }
    tl_buf_adds(out, open ? "\"/>\n" : "");
}

static void add_stages(struct tl_buf *out, const struct plot *plot)
{
    double begin_ns = 0;
    for (size_t from = 0, to; from < plot->samples->count; from = to) {
        const struct tl_reading *first = &plot->samples->items[from];
        char title[64];
        to = stage_end(plot->samples, from);
        double next_ns = begin_ns + length_ns(plot->samples, to);
        double room = x_of(plot, next_ns) - x_of(plot, begin_ns);
        snprintf(title, sizeof title, "%s%s", first->stage,
                 !first->has_direction             ? ""
                 : first->direction == TL_DOWNLOAD ? " ↓"
                                                   : " ↑");
        if (plot->line == 0)
            tl_buf_addf(out, "<path class=\"g\" d=\"M%.1f %.0fv%.0f\"/>\n", x_of(plot, begin_ns),
                        PLOT_TOP, plot->height);
        if (room > 28 && plot->line == 0)
            label(out, x_of(plot, begin_ns) + 3, PLOT_TOP - 6, "start", "d", title,
                  (size_t)(room / 7.5));
        add_line(out, plot, from, to, begin_ns);
        begin_ns = next_ns;
    }
}

static const char *axis_text(const struct plot *plot, double value, char text[TL_UNIT_TEXT_SIZE])
{
    switch (plot->what) {
    case CHART_RATE:
        return tl_format_bps(value, text);
    case CHART_RTT:
        return tl_format_ns(value, text);
    case CHART_FLIGHT:
        return tl_format_bytes(value, text);
    default:
        return tl_format_traffic(value, text);
    }
}

/* The ends of both axes; false where there is nothing to draw. */
static bool find_ends(struct plot *plot)
{
    const struct tl_samples *samples = plot->samples;
    size_t known = 0;
    for (size_t i = 0; i < samples->count; i++) {
        double value = value_of(plot, i);
        known += isfinite(value);
        plot->most = isfinite(value) ? fmax(plot->most, value) : plot->most;
    }
    for (size_t from = 0; from < samples->count; from = stage_end(samples, from))
        plot->total_ns += length_ns(samples, stage_end(samples, from));
    plot->most *= 1.05;
    return known >= 2 && plot->most > 0 && plot->total_ns > 0;
}

void chart_time(struct tl_buf *out, const struct tl_samples *samples, enum chart_of_time what)
{
    static const char *const titles[] = {
        [CHART_RATE] = "Throughput as it was measured, stage by stage",
        [CHART_RTT] = "Round-trip time as it was measured",
        [CHART_FLIGHT] = "Data on the way: sent and not acknowledged",
        [CHART_SEQUENCE] = "Sequence over time: what was acknowledged so far",
        [CHART_EDGES] = "From below: acknowledged, sent, the edge of the receiver's window",
    };
    int lines = what == CHART_EDGES ? EDGES_LINES : 1;
    struct plot plot = {.samples = samples,
                        .what = what,
                        .line = lines - 1, /* the highest */
                        .height = what == CHART_EDGES ? EDGES_HEIGHT : PLOT_HEIGHT};
    char text[TL_UNIT_TEXT_SIZE];
    if (!find_ends(&plot))
        return;
    plot.stride = 1 + samples->count / POINTS_MAX;
    const char *title = titles[what];
    tl_buf_addf(out, "<h3>%s</h3>\n", title);
    begin(out, title, (int)(PLOT_TOP + plot.height) + 20);
    for (int line = 0; line <= 2; line++) {
        double y = PLOT_TOP + plot.height * line / 2;
        tl_buf_addf(out, "<path class=\"g\" d=\"M%.0f %.1fh%.0f\"/>\n", PLOT_AT, y, PLOT_WIDTH);
        label(out, PLOT_AT - 6, y + 4, "end", "d",
              line == 2 ? "0" : axis_text(&plot, plot.most * (2 - line) / 2, text), 12);
    }
    for (plot.line = 0; plot.line < lines; plot.line++)
        add_stages(out, &plot);
    label(out, PLOT_AT + PLOT_WIDTH, PLOT_TOP + plot.height + 16, "end", "d",
          tl_format_ns(plot.total_ns, text), 16);
    end(out);
}
