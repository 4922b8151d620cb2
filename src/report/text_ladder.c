/* The ladder as bars on one axis, and the time ledger as four shares. */
#include <math.h>
#include <stdio.h>

#include "text_parts.h"
#include "text_words.h"
#include "tightlink/base/units.h"

/* Columns of a rung: mark, place, label, rate, and the bar takes the rest. */
#define MARK_COLUMNS  4
#define PLACE_COLUMNS 9
#define RATE_COLUMNS  10

/* A linear axis shows nothing of rungs that are this much lower than the highest. */
#define LINEAR_SPAN_MAX 30

struct axis {
    double low, high; /* rates at the two ends; low is 0 on a linear axis */
    size_t label_columns, bar_columns;
};

static size_t label_columns(const struct text *t)
{
    int columns = t->style.width - 54;
    return (size_t)(columns < 14 ? 14 : columns > 34 ? 34 : columns);
}

static void widen(double value, double *least, double *most)
{
    if (!(value > 0) || isinf(value))
        return;
    *least = fmin(*least, value);
    *most = fmax(*most, value);
}

#define MEASURED_COUNT 4
static const char *const measured_names[MEASURED_COUNT] = {
    "goodput_bps", "streams_goodput_bps", "window_goodput_bps", "file_goodput_bps"};

static struct axis make_axis(const struct text *t, const struct text_source *source,
                             enum tl_direction direction)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < source->findings->rung_count; i++) {
        const struct tl_rung *rung = &source->findings->ladder[i];
        if (rung->direction == direction && rung->tested)
            widen(rung->bps, &least, &most);
    }
    for (size_t i = 0; i < MEASURED_COUNT; i++)
        widen(text_flow_number(source->facts, direction, measured_names[i]), &least, &most);
    struct axis axis = {.high = most, .label_columns = label_columns(t)};
    if (most > LINEAR_SPAN_MAX * least)
        axis.low = pow(10, floor(log10(least)));
    axis.bar_columns = (size_t)t->style.width - MARK_COLUMNS - PLACE_COLUMNS - axis.label_columns -
                       RATE_COLUMNS - 2;
    return axis;
}

/* Where a rate stands on the axis, 0 to 1. */
static double position(const struct axis *axis, double bps)
{
    if (!(bps > 0) || !(axis->high > 0))
        return 0;
    if (axis->low > 0)
        return log(bps / axis->low) / log(axis->high / axis->low);
    return bps / axis->high;
}

static void print_axis(struct text *t, const struct axis *axis)
{
    char low[TL_UNIT_TEXT_SIZE], high[TL_UNIT_TEXT_SIZE], left[TL_UNIT_TEXT_SIZE + 8];
    if (axis->low > 0)
        snprintf(left, sizeof left, "%s (log)", tl_format_bps(axis->low, low));
    else
        snprintf(left, sizeof left, "0");
    text_cell(t, left, axis->bar_columns - RATE_COLUMNS);
    text_cell_right(t, tl_format_bps(axis->high, high), RATE_COLUMNS);
    text_newline(t);
}

/* Prints the first line of a label in its cell; the rest goes under it. */
static const char *print_label(struct text *t, const struct axis *axis, const char *label)
{
    char first[256];
    const char *rest;
    size_t len = text_break(label, axis->label_columns, &rest);
    snprintf(first, sizeof first, "%.*s", (int)len, label);
    text_cell(t, first, axis->label_columns);
    return rest;
}

static void print_label_rest(struct text *t, const struct axis *axis, const char *rest)
{
    while (*rest) {
        tl_buf_addf(t->out, "%*s", MARK_COLUMNS + PLACE_COLUMNS, "");
        rest = print_label(t, axis, rest);
        text_newline(t);
    }
}

static void print_row(struct text *t, const struct axis *axis, const char *place, const char *label,
                      double bps, double high, enum text_ink ink)
{
    char rate[TL_UNIT_TEXT_SIZE];
    text_ink(t, ink, ink == TEXT_BAD ? "(!) " : "    ");
    text_cell(t, place, PLACE_COLUMNS);
    const char *rest = print_label(t, axis, label);
    text_cell_right(t, tl_format_bps(bps, rate), RATE_COLUMNS);
    tl_buf_adds(t->out, " |");
    text_bar(t, position(axis, bps), position(axis, high), axis->bar_columns, ink);
    text_newline(t);
    print_label_rest(t, axis, rest);
}

static void print_measured(struct text *t, const struct text_source *source,
                           const struct axis *axis, enum tl_direction direction)
{
    double rates[MEASURED_COUNT],
        streams = text_flow_number(source->facts, direction, "streams_count");
    char several[32] = "several streams";
    if (!isnan(streams))
        snprintf(several, sizeof several, "%.0f streams", streams);
    const char *labels[MEASURED_COUNT] = {"one stream", several, "large buffers",
                                          "a file, disks included"};
    for (size_t i = 0; i < MEASURED_COUNT; i++) {
        rates[i] = text_flow_number(source->facts, direction, measured_names[i]);
        if (!isnan(rates[i]))
            print_row(t, axis, "measured", labels[i], rates[i], (double)NAN, TEXT_PLAIN);
    }
}

/* "--  path     random-loss: no loss that stays at low rates": no bar, but the reason. It is
 * named by its cause: a label speaks of the number that is missing here. */
static void print_untested(struct text *t, const struct tl_rung *rung)
{
    char text[512];
    size_t column = MARK_COLUMNS + PLACE_COLUMNS;
    snprintf(text, sizeof text, "%s: %s", rung->cause,
             rung->why_not && *rung->why_not ? rung->why_not : "not tested");
    tl_buf_adds(t->out, "--  ");
    text_cell(t, text_place(rung->segment), PLACE_COLUMNS);
    text_wrap(t, column, column, text);
}

void text_ladder(struct text *t, const struct text_source *source, enum tl_direction direction)
{
    const struct tl_findings *findings = source->findings;
    struct axis axis = make_axis(t, source, direction);
    if (!(axis.high > 0))
        return;
    size_t before = MARK_COLUMNS + PLACE_COLUMNS + axis.label_columns + RATE_COLUMNS + 2;
    char heading[64];
    snprintf(heading, sizeof heading, "%-*s", (int)before,
             direction == TL_DOWNLOAD ? "Ladder, download: the lowest rung counts"
                                      : "Ladder, upload: the lowest rung counts");
    if (before < 42) /* a narrow screen */
        snprintf(heading, sizeof heading, "%-*s", (int)before,
                 direction == TL_DOWNLOAD ? "Ladder, download" : "Ladder, upload");
    text_heading(t, heading);
    print_axis(t, &axis);
    for (size_t i = 0; i < findings->rung_count; i++) {
        const struct tl_rung *rung = &findings->ladder[i];
        if (rung->direction == direction && rung->tested)
            print_row(t, &axis, text_place(rung->segment), rung->label, rung->bps, rung->high_bps,
                      rung->limits ? TEXT_BAD : TEXT_PLAIN);
    }
    print_measured(t, source, &axis, direction);
    for (size_t i = 0; i < findings->rung_count; i++)
        if (findings->ladder[i].direction == direction && !findings->ladder[i].tested)
            print_untested(t, &findings->ladder[i]);
}

static void print_share(struct text *t, const char *label, double share)
{
    char percent[TL_UNIT_TEXT_SIZE];
    size_t bar = (size_t)t->style.width - MARK_COLUMNS - 30 - 8 - 2;
    snprintf(percent, sizeof percent, "%.0f %%", share * 100);
    tl_buf_adds(t->out, "    ");
    text_cell(t, label, 30);
    text_cell_right(t, percent, 8);
    tl_buf_adds(t->out, " |");
    text_bar(t, round(share * 100) / 100, (double)NAN, bar, TEXT_PLAIN); /* as printed */
    text_newline(t);
}

void text_ledger(struct text *t, const struct text_source *source, enum tl_direction direction)
{
    for (size_t i = 0; i < source->findings->ledger_count; i++) {
        const struct tl_ledger_row *row = &source->findings->ledger[i];
        if (row->direction != direction)
            continue;
        char time[TL_UNIT_TEXT_SIZE], heading[96];
        snprintf(heading, sizeof heading, "What one stream waited for, %s%s%s",
                 tl_direction_name(direction), isfinite(row->duration_ns) ? ", in " : "",
                 isfinite(row->duration_ns) ? tl_format_ns(row->duration_ns, time) : "");
        text_heading(t, heading);
        text_newline(t);
        print_share(t, "the receiver's window", row->rwnd_ratio);
        print_share(t, "the network", row->network_ratio);
        print_share(t, "the sender's buffer", row->sndbuf_ratio);
        print_share(t, "the sending program", row->app_ratio);
    }
}
