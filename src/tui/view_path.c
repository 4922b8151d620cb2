/* The path screen: the segments of the run, what is known of each, and where the limit lies. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lines.h"
#include "tightlink/base/units.h"
#include "tightlink/report/report.h"
#include "view.h"

/* The lowest tested rung of a segment in the verdict's direction; NULL without. */
static const struct tl_rung *lowest_rung(const struct tl_findings *findings, const char *segment)
{
    for (size_t i = 0; i < findings->rung_count; i++) {
        const struct tl_rung *rung = &findings->ladder[i];
        if (rung->tested && rung->direction == findings->verdict.direction &&
            strcmp(rung->segment, segment) == 0)
            return rung;
    }
    return NULL;
}

struct row {
    const struct tl_segment_record *segment;
    const struct tl_rung *rung;
    bool limits;
};

/* Responders on the way cut the path into parts of their own; then they tell where. */
static bool limits_in(const struct tl_findings *findings, const struct tl_segment_record *segment)
{
    const struct tl_verdict *verdict = &findings->verdict;
    return segment->tight || (verdict->state == TL_LIMITED && verdict->segment &&
                              strcmp(verdict->segment, segment->id) == 0);
}

static void put_number(struct tui_grid *grid, int row, int col, double value,
                       const char *(*format)(double, char *))
{
    char text[TL_UNIT_TEXT_SIZE];
    tui_put_right(grid, row, col, 10, TUI_PLAIN, isnan(value) ? "-" : format(value, text));
}

static void draw_segment(struct tui_grid *grid, int at, const struct row *row)
{
    const struct tl_segment_record *segment = row->segment;
    char mtu[16] = "-";
    bool known = row->rung || segment->prefix_rate_bps > 0;
    double ceiling = segment->prefix_ceiling_bps > 0 ? segment->prefix_ceiling_bps
                     : row->rung                     ? row->rung->bps
                                                     : (double)NAN;
    if (!isnan(segment->mtu_bytes))
        snprintf(mtu, sizeof mtu, "%.0f", segment->mtu_bytes);
    (void)tui_put(grid, at, 1, 4,
                  row->limits ? TUI_BAD
                  : known     ? TUI_GOOD
                              : TUI_PLAIN,
                  row->limits ? "(!)"
                  : known     ? "ok"
                              : "--");
    (void)tui_put(grid, at, 5, 11, TUI_PLAIN, segment->id);
    put_number(grid, at, 14, segment->rtt_add_ns, tl_format_ns);
    put_number(grid, at, 25, segment->loaded_rtt_add_ns, tl_format_ns);
    tui_put_right(grid, at, 35, 6, TUI_PLAIN, mtu);
    put_number(grid, at, 41, segment->loss_ratio, tl_format_ratio);
    put_number(grid, at, 52, ceiling, tl_format_bps);
    const char *what = row->rung ? row->rung->label : known ? segment->name : "not tested";
    (void)tui_put(grid, at, 64, grid->cols - 64, TUI_PLAIN, what);
}

static double number(const struct tui_state *state, const char *id)
{
    return tl_facts_number(state->result->facts, id, (double)NAN);
}

/* A line for each thing that is known of the way, and why one is not. */
static int draw_way(const struct tui_state *state, struct tui_grid *grid, int row, int last)
{
    static const struct {
        const char *id, *label;
    } lines[] = {{"path.rtt_min_ns", "round trip, least"},
                 {"path.rtt_mean_ns", "round trip, mean"},
                 {"path.mtu_bytes", "packet size, most"},
                 {"path.hops_count", "links on the way"},
                 {"path.hops_answered_count", "routers that answered"},
                 {"path.hops_ways_count", "ways of other flows"}};
    const int begin = row;
    for (size_t i = 0; i < sizeof lines / sizeof *lines && row < last; i++) {
        struct tl_fact fact;
        char text[TL_UNIT_TEXT_SIZE];
        if (!tl_facts_get(state->result->facts, lines[i].id, &fact))
            continue;
        (void)tui_put(grid, row, 1, 24, TUI_PLAIN, lines[i].label);
        if (fact.state != TL_FACT_KNOWN)
            (void)tui_putf(grid, row, 26, grid->cols - 26, TUI_DIM, "not known: %s", fact.reason);
        else if (fact.unit == TL_UNIT_NS)
            (void)tui_put(grid, row, 26, 20, TUI_PLAIN, tl_format_ns(fact.number, text));
        else
            (void)tui_putf(grid, row, 26, 20, TUI_PLAIN, "%.0f", fact.number);
        row++;
    }
    return row - begin;
}

/* "Under load a queue grows between hop 2 and hop 3 (path): + 40 ms" */
static int draw_queue(const struct tui_state *state, struct tui_grid *grid, int row)
{
    int used = 0;
    for (int d = TL_DOWNLOAD; d <= TL_UPLOAD; d++) {
        const char *name = tl_direction_name((enum tl_direction)d);
        char first[64], last[64], rise[64], time[TL_UNIT_TEXT_SIZE];
        snprintf(first, sizeof first, "%s.tight_first_hop", name);
        snprintf(last, sizeof last, "%s.tight_last_hop", name);
        snprintf(rise, sizeof rise, "%s.tight_rtt_rise_ns", name);
        if (isnan(number(state, first)) || isnan(number(state, last)))
            continue;
        used++;
        int at = tui_putf(grid, row, 1, grid->cols - 1, TUI_BOLD,
                          "%s: under load a queue grows between hop %.0f and hop %.0f", name,
                          number(state, first), number(state, last));
        if (!isnan(number(state, rise)))
            (void)tui_putf(grid, row, 1 + at, grid->cols - 1 - at, TUI_BOLD, ", + %s",
                           tl_format_ns(number(state, rise), time));
        row++;
    }
    return used;
}

/* The report's table of routers, where the run has one; it scrolls. */
static void draw_hops(struct tui_state *state, struct tui_grid *grid, int row, int rows)
{
    const struct tl_session_result *result = state->result;
    struct tl_text_style style = {.width = grid->cols, .color = true, .utf8 = grid->utf8};
    struct tl_buf text = TL_BUF_INIT;
    rows = rows < 0 ? 0 : rows;
    if (tl_report_part(&result->run, result->facts, result->findings, &style, TL_PART_WAY, &text) !=
        TL_OK)
        tl_buf_finish(&text); /* out of memory: no table */
    state->rows_shown = rows;
    state->rows_total =
        tui_lines(grid, row, 0, rows, grid->cols, state->path_scroll, tl_buf_text(&text));
    tl_buf_finish(&text);
}

void tui_view_path(struct tui_state *state, struct tui_grid *grid, int first, int last)
{
    const struct tl_session_result *result = state->result;
    if (!result)
        return;
    int count = result->run.segment_count, row = first;
    char address[96];
    snprintf(address, sizeof address, "%d segments   %s ", count, result->run.target_address);
    (void)tui_putf(grid, row, 1, grid->cols - 40, TUI_BOLD, "this PC %s %s",
                   grid->utf8 ? "→" : "->", state->title);
    tui_put_right(grid, row, grid->cols - 40, 40, TUI_PLAIN, address);
    tui_rule(grid, row + 1, 0, grid->cols);
    (void)tui_putf(grid, row + 2, 5, grid->cols - 5, TUI_BOLD, "%-10s%9s%11s%6s%10s %10s  %s",
                   "segment", "RTT add", "under load", "MTU", "loss", "ceiling", "by");
    row += 3;
    for (int i = 0; i < count && row < last - 4 && result->findings; i++) {
        struct row line = {.segment = &result->run.segments[i]};
        line.rung = lowest_rung(result->findings, line.segment->id);
        line.limits = limits_in(result->findings, line.segment);
        draw_segment(grid, row++, &line);
    }
    if (!count)
        (void)tui_put(grid, row++, 1, grid->cols - 1, TUI_PLAIN,
                      "no segment was measured in this run");
    tui_rule(grid, row++, 0, grid->cols);
    if (!result->facts || !result->findings)
        return;
    row += draw_queue(state, grid, row);
    row += draw_way(state, grid, row, last);
    draw_hops(state, grid, row, last - row);
}
