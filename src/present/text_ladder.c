/* The ladder as bars on one axis, and the time ledger as four shares. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "documents.h"
#include "text_words.h"
#include "tightlink/base/cause_name.h"
#include "tightlink/base/units.h"

/* Columns of a rung: mark, place, label, rate, and the bar takes the rest. */
#define MARK_COLUMNS  4
#define PLACE_COLUMNS 9
#define RATE_COLUMNS  10

struct axis {
    double low, high;  /* rates at the two ends; low is 0 on a linear axis */
    double high_doubt; /* as the row of that rate tells it */
    size_t label_columns, bar_columns;
};

static size_t label_columns(const struct text *t)
{
    int columns = t->page->width - 54;
    return (size_t)(columns < 14 ? 14 : columns > 34 ? 34 : columns);
}

static struct axis make_axis(const struct text *t, double low, double high)
{
    struct axis axis = {.low = low, .high = high, .label_columns = label_columns(t)};
    axis.bar_columns = (size_t)t->page->width - MARK_COLUMNS - PLACE_COLUMNS - axis.label_columns -
                       RATE_COLUMNS - 2;
    return axis;
}

static double position(const struct axis *axis, double bps)
{
    return text_ladder_position(axis->low, axis->high, bps);
}

#define LOG " (log)"

/* Where the axis has no room for it the heading says that it is logarithmic. */
static bool says_log(const struct axis *axis)
{
    char low[TL_UNIT_TEXT_SIZE];
    return strlen(tl_format_bps(axis->low, low)) + strlen(LOG) < axis->bar_columns - RATE_COLUMNS;
}

static void print_axis(struct text *t, const struct axis *axis)
{
    char low[TL_UNIT_TEXT_SIZE], high[TL_UNIT_TEXT_SIZE], left[TL_UNIT_TEXT_SIZE + 8];
    if (axis->low > 0)
        snprintf(left, sizeof left, "%s%s", tl_format_bps(axis->low, low),
                 says_log(axis) ? LOG : "");
    else
        snprintf(left, sizeof left, "0");
    tl_page_cell(t->page, left, axis->bar_columns - RATE_COLUMNS);
    tl_page_cell_right(t->page, tl_format_bps_known(axis->high, axis->high_doubt, high),
                       RATE_COLUMNS);
    text_newline(t);
}

/* Prints the first line of a label in its cell; the rest goes under it. */
static const char *print_label(struct text *t, const struct axis *axis, const char *label)
{
    char first[256];
    const char *rest;
    size_t len = text_break(label, axis->label_columns, &rest);
    snprintf(first, sizeof first, "%.*s", (int)len, label);
    tl_page_cell(t->page, first, axis->label_columns);
    return rest;
}

static void print_label_rest(struct text *t, const struct axis *axis, const char *rest)
{
    while (*rest) {
        tl_page_space(t->page, MARK_COLUMNS + PLACE_COLUMNS);
        rest = print_label(t, axis, rest);
        text_newline(t);
    }
}

static void print_row(struct text *t, const struct axis *axis, const struct ladder_row *row)
{
    char rate[TL_UNIT_TEXT_SIZE];
    enum tl_meaning ink = row->limits ? TL_SAID_BAD : TL_SAID_PLAIN;
    text_add(t, ink, row->limits ? "(!) " : "    ");
    tl_page_cell(t->page, row->place, PLACE_COLUMNS);
    const char *rest = print_label(t, axis, row->label);
    tl_page_cell_right(t->page, tl_format_bps_known(row->bps, row->doubt_bps, rate), RATE_COLUMNS);
    text_add(t, TL_SAID_PLAIN, " |");
    tl_page_bar(t->page, ink, position(axis, row->bps), position(axis, row->high_bps),
                axis->bar_columns);
    text_newline(t);
    print_label_rest(t, axis, rest);
}

/* A rung without a rate whose cause is not ruled out: those stand in the list of what was. Of
 * several rules of a cause one that found it or cannot tell leaves it open. */
static bool is_untested(const struct text_source *source, const struct tl_rung *rung)
{
    bool judged = false;
    if (rung->tested)
        return false;
    for (size_t i = 0; i < source->findings->finding_count; i++) {
        const struct tl_finding *finding = &source->findings->findings[i];
        if (finding->direction != rung->direction || strcmp(finding->cause, rung->cause) != 0 ||
            strcmp(finding->segment, rung->segment) != 0)
            continue;
        if (finding->result == TL_FOUND || finding->result == TL_CANNOT_TELL)
            return true;
        judged = true;
    }
    return !judged;
}

static void add_untested(const struct tl_rung *rung, struct tl_buf *out)
{
    tl_buf_addf(out, "%s: %s", tl_cause_name(rung->cause),
                rung->why_not && *rung->why_not ? rung->why_not : "not tested");
}

/* "--  path     loss on the line: no loss that stays at low rates": no bar, but the reason. It is
 * named by its cause: a label speaks of the number that is missing here. */
static void print_untested(struct text *t, const struct tl_run *run, const struct tl_rung *rung)
{
    struct tl_buf text = TL_BUF_INIT;
    size_t column = MARK_COLUMNS + PLACE_COLUMNS;
    add_untested(rung, &text);
    text_add(t, TL_SAID_PLAIN, "--  ");
    tl_page_cell(t->page, text_place(run, rung->segment), PLACE_COLUMNS);
    tl_page_paragraph(t->page, TL_SAID_PLAIN, column, TL_LINE_UNTESTED, TL_LINE_UNTESTED_MORE,
                      tl_buf_text(&text));
    text_keep_status(t, text.status);
    tl_buf_finish(&text);
}

static void untested_rows(struct text *t, const struct text_source *source,
                          enum tl_direction direction)
{
    for (size_t i = 0; i < source->findings->rung_count; i++) {
        const struct tl_rung *rung = &source->findings->ladder[i];
        struct tl_buf why = TL_BUF_INIT;
        if (rung->direction != direction || !is_untested(source, rung))
            continue;
        add_untested(rung, &why);
        const char *cells[] = {"--", text_place(source->run, rung->segment), tl_buf_text(&why),
                               "not tested"};
        text_table_row(t, cells, 4);
        text_keep_status(t, why.status);
        tl_buf_finish(&why);
    }
}

void text_untested(struct text *t, const struct text_source *source)
{
    static const char *const head[] = {"", "where", "what", "carries"};
    size_t count = 0;
    for (size_t i = 0; i < source->findings->rung_count; i++)
        count += is_untested(source, &source->findings->ladder[i]);
    if (!count || source->findings->verdict.state == TL_VERDICT_INVALID)
        return;
    text_heading(t, "Rungs that were not tested");
    text_table_begin(t, head, 4);
    if (source->run->download)
        untested_rows(t, source, TL_DOWNLOAD);
    if (source->run->upload)
        untested_rows(t, source, TL_UPLOAD);
    text_table_end(t);
}

/* The same for readers with tables. */
static void ladder_table(struct text *t, const struct text_source *source,
                         enum tl_direction direction)
{
    static const char *const head[] = {"", "where", "what", "carries"};
    struct ladder_row rows[LADDER_ROWS_MAX];
    size_t count = text_ladder_rows(source, direction, rows);
    char rate[TL_UNIT_TEXT_SIZE];
    text_heading(t, text_ladder_heading(direction));
    if (t->sink->pictures)
        chart_ladder(t->out, source, direction);
    text_table_begin(t, head, 4);
    for (size_t i = 0; i < count; i++) {
        const char *cells[] = {rows[i].limits ? "(!)" : "", rows[i].place, rows[i].label,
                               tl_format_bps_known(rows[i].bps, rows[i].doubt_bps, rate)};
        text_table_row(t, cells, 4);
    }
    if (!t->sink->pictures)
        untested_rows(t, source, direction);
    text_table_end(t);
}

void text_ladder(struct text *t, const struct text_source *source, enum tl_direction direction)
{
    const struct tl_findings *findings = source->findings;
    struct ladder_row rows[LADDER_ROWS_MAX];
    double low, high;
    text_ladder_scale(source, direction, &low, &high);
    if (!(high > 0))
        return;
    if (!t->sink->columns) {
        ladder_table(t, source, direction);
        return;
    }
    size_t count = text_ladder_rows(source, direction, rows);
    struct axis axis = make_axis(t, low, high);
    axis.high_doubt = text_ladder_doubt(rows, count, high);
    size_t before = MARK_COLUMNS + PLACE_COLUMNS + axis.label_columns + RATE_COLUMNS + 2;
    char heading[64];
    snprintf(heading, sizeof heading, "%-*s", (int)before, text_ladder_heading(direction));
    if (before < 42) /* a narrow screen */
        snprintf(heading, sizeof heading, "Ladder, %s%-*s", tl_direction_name(direction),
                 (int)(before - strlen("Ladder, ") - strlen(tl_direction_name(direction))),
                 axis.low > 0 && !says_log(&axis) ? LOG : "");
    text_heading_begin(t, heading);
    print_axis(t, &axis);
    for (size_t i = 0; i < count; i++)
        print_row(t, &axis, &rows[i]);
    for (size_t i = 0; i < findings->rung_count; i++)
        if (findings->ladder[i].direction == direction && is_untested(source, &findings->ladder[i]))
            print_untested(t, source->run, &findings->ladder[i]);
}

static void print_share(struct text *t, const char *label, double share)
{
    char percent[TL_UNIT_TEXT_SIZE];
    snprintf(percent, sizeof percent, isfinite(share) ? "%.0f %%" : "unknown", share * 100);
    if (!t->sink->columns) {
        const char *cells[] = {label, percent};
        text_table_row(t, cells, 2);
        return;
    }
    size_t bar = (size_t)t->page->width - MARK_COLUMNS - 30 - 8 - 2;
    tl_page_space(t->page, MARK_COLUMNS);
    tl_page_cell(t->page, label, 30);
    tl_page_cell_right(t->page, percent, 8);
    text_add(t, TL_SAID_PLAIN, " |");
    /* as printed */
    if (isfinite(share))
        tl_page_bar(t->page, TL_SAID_PLAIN, round(share * 100) / 100, (double)NAN, bar);
    text_newline(t);
}

void text_ledger(struct text *t, const struct text_source *source, enum tl_direction direction)
{
    static const char *const head[] = {"waited for", "share of the time"};
    for (size_t i = 0; i < source->findings->ledger_count; i++) {
        const struct tl_ledger_row *row = &source->findings->ledger[i];
        struct ledger_part parts[LEDGER_PARTS];
        struct tl_buf heading = TL_BUF_INIT;
        if (row->direction != direction)
            continue;
        text_add_ledger_heading(row, &heading);
        text_heading(t, tl_buf_text(&heading));
        text_ledger_parts(row, parts);
        if (t->sink->pictures)
            chart_ledger(t->out, row); /* its legend has all the numbers */
        bool table = !t->sink->columns && !t->sink->pictures;
        if (table)
            text_table_begin(t, head, 2);
        for (size_t p = 0; p < LEDGER_PARTS && !t->sink->pictures; p++)
            print_share(t, parts[p].label, parts[p].ratio);
        if (table)
            text_table_end(t);
        text_keep_status(t, heading.status);
        tl_buf_finish(&heading);
    }
}
