/* Pages: one thing in detail over a screen. Text scrolls below what is drawn. */
#include <math.h>
#include <stdio.h>

#include "lines.h"
#include "live.h"
#include "page_text.h"
#include "plot.h"
#include "tightlink/base/units.h"
#include "tightlink/facts/told.h"
#include "view.h"
#include "zones.h"

static void draw_text(struct tui_state *state, struct tui_grid *grid, int row, int rows)
{
    struct tl_page text;
    struct tui_page_state *page = &state->page;
    tl_page_init(&text, grid->cols < 22 ? 20 : grid->cols - 2, grid->utf8);
    tui_page_build(state, &text);
    page->shown = rows;
    page->total = tui_page_lines(grid, row, 0, 0, grid->cols - 1, 0, &text);
    int last = page->total > rows ? page->total - rows : 0;
    page->scroll = page->scroll > last ? last : page->scroll;
    (void)tui_page_lines(grid, row, 1, rows, grid->cols - 1, page->scroll, &text);
    if (page->scroll < last)
        tui_put_right(grid, row - 1, 0, grid->cols, TUI_DIM, grid->utf8 ? " ↓ more " : " v more ");
    tl_page_finish(&text);
}

/* --- the list of causes --- */

const char *tui_finding_mark(const struct tl_finding *finding, enum tui_ink *ret_ink)
{
    *ret_ink = TUI_PLAIN;
    switch (finding->result) {
    case TL_FOUND:
        *ret_ink = finding->severity == TL_NOTE ? TUI_PLAIN : TUI_BAD;
        return finding->severity == TL_NOTE ? " i " : "(!)";
    case TL_RULED_OUT:
        *ret_ink = TUI_GOOD;
        return "ok ";
    case TL_CANNOT_TELL:
        *ret_ink = TUI_BOLD;
        return "(?)";
    case TL_NOT_APPLICABLE:
        return "-- ";
    }
    return "";
}

static const char *why_word(const struct tl_finding *finding)
{
    static const char *const words[] = {[TL_FOUND] = "found too",
                                        [TL_RULED_OUT] = "ruled out",
                                        [TL_CANNOT_TELL] = "cannot tell",
                                        [TL_NOT_APPLICABLE] = "does not apply"};
    return finding->result == TL_FOUND && finding->severity == TL_NOTE ? "a note"
                                                                       : words[finding->result];
}

static void draw_cause(const struct tl_run *run, const struct tl_finding *finding,
                       struct tui_grid *grid, int row, bool selected)
{
    bool both = run->download && run->upload;
    enum tui_ink ink;
    const char *mark = tui_finding_mark(finding, &ink);
    char place[64];
    (void)tui_put(grid, row, 1, 3, ink, mark);
    (void)tui_put(grid, row, 5, 15, TUI_PLAIN, why_word(finding));
    snprintf(place, sizeof place, "%s%s%s", tui_place(run, finding->segment), both ? ", " : "",
             both ? tl_direction_name(finding->direction) : "");
    int at = 20, columns = grid->cols < 76 ? 0
                           : both          ? 22
                                           : 12; /* the sentence below tells it too */
    if (columns)
        (void)tui_put(grid, row, at, columns, TUI_PLAIN, place);
    at += columns ? columns + 1 : 0;
    (void)tui_put_cut(grid, row, at, grid->cols - at - 1, TUI_PLAIN, finding->title);
    if (selected)
        tui_select_row(grid, row, grid->cols);
}

static const char *standing_of(const struct tl_finding *finding)
{
    return finding->standing && finding->standing[0] ? finding->standing : finding->sentence;
}

/* Rows below the list: the selected one whole, as the list may cut it. The same for most, so that
 * the list stands still. */
#define FOOT_ROWS 4
static int cause_foot(struct tui_grid *grid, int rows, const struct tl_finding *finding)
{
    int columns = grid->cols - 2;
    int wanted = 1 + tui_wrap(grid, 0, 0, 0, columns, TUI_BOLD, finding->title) +
                 tui_wrap(grid, 0, 0, 0, columns, TUI_PLAIN, standing_of(finding));
    wanted = wanted < FOOT_ROWS ? FOOT_ROWS : wanted;
    return wanted < rows / 2 ? wanted : rows / 2;
}

static void draw_causes(struct tui_state *state, struct tui_grid *grid, int row, int rows)
{
    size_t index[TUI_LIST_MAX];
    const struct tl_findings *findings = state->result->findings;
    const struct tl_run *run = &state->result->run;
    int count = (int)tui_list_causes(state, index);
    state->page.shown = rows;
    if (state->causes.selected >= count)
        state->causes.selected = count ? count - 1 : 0;
    int selected = state->causes.selected;
    int foot = count && rows > 8 ? cause_foot(grid, rows, &findings->findings[index[selected]]) : 0;
    int list = rows - foot;
    int top = tui_list_top(state->causes.selected, list, count);
    for (int i = 0; i < list && top + i < count; i++) {
        draw_cause(run, &findings->findings[index[top + i]], grid, row + i,
                   top + i == state->causes.selected);
        tui_zone_add(grid, row + i, 0, grid->cols, TUI_ZONE_ROW, top + i);
    }
    if (!count)
        (void)tui_put(grid, row, 1, grid->cols - 2, TUI_PLAIN,
                      state->causes.filter[0] ? "nothing matches the filter; / changes it"
                                              : "no other cause was looked at");
    if (!foot || !count)
        return;
    const struct tl_finding *finding = &findings->findings[index[selected]];
    tui_rule(grid, row + list);
    list +=
        1 + tui_wrap(grid, row + list + 1, 1, foot - 1, grid->cols - 2, TUI_BOLD, finding->title);
    (void)tui_wrap(grid, row + list, 1, rows - list, grid->cols - 2, TUI_PLAIN,
                   standing_of(finding));
}

/* --- one stage's samples --- */

static void put_value(struct tui_grid *grid, int row, int *col, const char *label, double value,
                      const char *(*format)(double, char *))
{
    char text[TL_UNIT_TEXT_SIZE];
    *col += tui_putf(grid, row, *col, grid->cols - *col, TUI_PLAIN, "%s ", label);
    *col += tui_putf(grid, row, *col, grid->cols - *col, TUI_BOLD, "%s   ",
                     isnan(value) ? "-" : format(value, text));
}

/* Returns the rows used; 0 without samples or room. */
static int draw_samples(struct tui_state *state, struct tui_grid *grid, int row, int rows)
{
    const struct tui_samples *samples = &state->run.stages[state->page.index].samples;
    int columns = grid->cols - TUI_PLOT_LABEL - 1, count = samples->count;
    if (count < 2 || rows < 10)
        return 0;
    int cursor =
        state->page.cursor < 0 || state->page.cursor >= count ? count - 1 : state->page.cursor;
    int rtt_rows = rows >= 20 ? rows / 5 : 0, rate_rows = rows >= 20 ? rows / 4 : rows / 3;
    struct tui_series rates = {samples->rate_bps, count, 1}, rtts = {samples->rtt_ns, count, 1};
    double top = tui_plot_top(tui_plot_largest(samples->rate_bps, count));
    tui_live_plot_to(grid, row, rate_rows, 0, grid->cols, &rates, top, tl_format_bps);
    if (rtt_rows) {
        double high = tui_plot_top(tui_plot_largest(samples->rtt_ns, count));
        tui_live_plot_to(grid, row + rate_rows + 1, rtt_rows, 0, grid->cols, &rtts, high,
                         tl_format_ns);
        (void)tui_put(grid, row + rate_rows, TUI_PLOT_LABEL, columns, TUI_DIM, "round-trip time");
    }
    int used = rate_rows + (rtt_rows ? rtt_rows + 1 : 0), col = 1;
    int at = TUI_PLOT_LABEL + tui_plot_column(columns, &rates, cursor);
    tui_plot_cursor(grid, row, rate_rows, at);
    if (rtt_rows)
        tui_plot_cursor(grid, row + rate_rows + 1, rtt_rows, at);
    put_value(grid, row + used, &col, "at", samples->at_ns[cursor], tl_format_ns);
    put_value(grid, row + used, &col, "rate", samples->rate_bps[cursor], tl_format_bps);
    put_value(grid, row + used, &col, "RTT", samples->rtt_ns[cursor], tl_format_ns);
    double again = samples->retrans[cursor];
    if (isnan(again))
        (void)tui_put(grid, row + used, col, grid->cols - col, TUI_PLAIN, "sent again -");
    else
        (void)tui_putf(grid, row + used, col, grid->cols - col, TUI_PLAIN, "sent again %.0f",
                       again);
    tui_rule(grid, row + used + 1);
    return used + 2;
}

/* --- verification: three bars on one axis --- */

static int draw_verify(const struct tui_state *state, struct tui_grid *grid, int row, int rows)
{
    const struct tl_run *run = &state->result->run;
    const struct tl_findings *findings = state->result->findings;
    if (!run->verified_count || rows < 8 || !findings)
        return 0;
    const struct tl_verified_record *verified = &run->verified[run->verified_count - 1];
    const double values[] = {findings->verdict.measured_bps, verified->predicted.bps,
                             verified->measured_bps};
    static const char *const names[] = {"before", "predicted", "with the fix"};
    double top = tui_plot_top(tui_plot_largest(values, 3));
    for (int i = 0; i < 3; i++) {
        char text[TL_UNIT_TEXT_SIZE];
        int columns = grid->cols - 31;
        (void)tui_put(grid, row + i, 1, 14, TUI_PLAIN, names[i]);
        if (isnan(values[i])) {
            tui_put_right(grid, row + i, 15, 12, TUI_PLAIN, "-");
            continue;
        }
        double doubt =
            tl_told_prediction_doubt(state->result->facts, verified->direction, values[i]);
        tui_put_right(grid, row + i, 15, 12, TUI_BOLD, tl_format_bps_known(values[i], doubt, text));
        int full = (int)lround(values[i] / top * columns);
        for (int c = 0; c < full; c++)
            (void)tui_put(grid, row + i, 29 + c, 1, i == 1 ? TUI_DIM : TUI_GOOD,
                          grid->utf8 ? (i == 1 ? "░" : "█") : (i == 1 ? "-" : "#"));
    }
    tui_rule(grid, row + 3);
    return 4;
}

void tui_view_page(struct tui_state *state, struct tui_grid *grid, int first, int last)
{
    char title[160];
    (void)tui_put(grid, first, 1, grid->cols - 16, TUI_BOLD, tui_page_title(state, title));
    if (state->page.kind == TUI_PAGE_CAUSES && state->causes.filter[0])
        (void)tui_putf(grid, first, 22, grid->cols - 38, TUI_PLAIN, "filter: %s",
                       state->causes.filter);
    tui_put_right(grid, first, grid->cols - 12, 12, TUI_DIM, "Esc back ");
    tui_zone_hint(grid, first, grid->cols - 9, "Esc back");
    tui_rule(grid, first + 1);
    int row = first + 2;
    if (state->page.kind == TUI_PAGE_CAUSES) {
        draw_causes(state, grid, row, last - row);
        return;
    }
    if (state->page.kind == TUI_PAGE_WATCH) {
        tui_watch_page(state, grid, row, last - row);
        return;
    }
    if (state->page.kind == TUI_PAGE_PACKETS) {
        tui_packets_page(state, grid, row, last);
        return;
    }
    if (state->page.kind == TUI_PAGE_STAGE)
        row += draw_samples(state, grid, row, last - row);
    if (state->page.kind == TUI_PAGE_VERIFY)
        row += draw_verify(state, grid, row, last - row);
    draw_text(state, grid, row, last - row);
}
