/* The verdict on a wide terminal: the fix across, below it ladder and ledger left, throughput and
 * evidence for and against right. */
#include <stdio.h>
#include <string.h>

#include "lines.h"
#include "live.h"
#include "plot.h"
#include "tightlink/base/units.h"
#include "tightlink/present/report.h"
#include "view.h"

#define PLOT_ROWS 6

/* A part of the report in a rectangle; returns its rows, -1 where it has nothing to say. */
static int draw_part(const struct tui_state *state, struct tui_grid *tall, int row, int col,
                     int columns, enum tl_report_part part)
{
    const struct tl_session_result *result = state->result;
    struct tl_page page;
    tl_page_init(&page, columns, tall->utf8);
    tl_report_part(&result->run, result->facts, result->findings, part, &page);
    int margin = row == 0 ? tui_page_margin(&page) /* nothing stands above it */
                          : page.line_count && tl_line_is_empty(&page, 0);
    int rows =
        page.line_count
            ? tui_page_lines(tall, row, col, tall->rows - row, columns, margin, &page) - margin
            : -1;
    tl_page_finish(&page);
    return rows;
}

/* The same across the screen; returns the row behind it and an empty one. */
static int draw_across(struct tui_state *state, struct tui_grid *tall, int row,
                       enum tl_report_part part)
{
    int rows = draw_part(state, tall, row, 0, tall->cols - 1, part);
    state->jump[part] = rows > 0 ? row : -1;
    return row + (rows > 0 ? rows + 1 : 0);
}

/* The stage whose rate the verdict is about, where this program has just measured it. */
static const struct tui_stage *sampled_stage(const struct tui_state *state)
{
    const struct tl_verdict *verdict = &state->result->findings->verdict;
    for (int i = 0; i < state->run.stage_count; i++) {
        const struct tui_stage *stage = &state->run.stages[i];
        if (strcmp(stage->id, "stream") == 0 && stage->samples.count > 2 && stage->has_direction &&
            stage->direction == verdict->direction)
            return stage;
    }
    return NULL;
}

static int draw_throughput(const struct tui_state *state, struct tui_grid *tall, int row, int col,
                           int columns)
{
    const struct tui_stage *stage = sampled_stage(state);
    const struct tl_watch_record *watch = &state->result->run.watch;
    char text[64], span[TL_UNIT_TEXT_SIZE];
    struct tui_series series;
    if (watch->graph_count > 2) {
        series = (struct tui_series){watch->graph_bps, watch->graph_count, 1};
        snprintf(text, sizeof text, "Throughput while watching, %s",
                 tl_format_ns((double)watch->duration_ns, span));
    } else if (stage) {
        series = (struct tui_series){stage->samples.rate_bps, stage->samples.count, 1};
        snprintf(text, sizeof text, "Throughput of one stream, %s",
                 tl_format_ns(stage->samples.at_ns[stage->samples.count - 1], span));
    } else {
        return 0;
    }
    (void)tui_put(tall, row, col, columns, TUI_BOLD, text);
    tui_live_plot(tall, row + 1, PLOT_ROWS, col, columns, &series, tl_format_bps);
    return PLOT_ROWS + 2;
}

/* The evidence of one side; returns its rows. */
static int draw_side(const struct tl_finding *finding, bool is_for, struct tui_grid *tall, int row,
                     int col, int columns)
{
    int used = 1;
    (void)tui_put(tall, row, col, columns, TUI_BOLD, is_for ? "Evidence for it" : "Against it");
    for (size_t i = 0; i < finding->evidence_count; i++) {
        const struct tl_evidence *evidence = &finding->evidence[i];
        if (evidence->is_spare || evidence->truth == TL_UNKNOWN_TRUTH || evidence->is_for != is_for)
            continue;
        (void)tui_put(tall, row + used, col, 2, is_for ? TUI_GOOD : TUI_BAD, is_for ? "+" : "-");
        used += tui_wrap(tall, row + used, col + 2, tall->rows - row - used, columns - 2, TUI_PLAIN,
                         evidence->say);
    }
    if (used == 1)
        used += tui_wrap(tall, row + 1, col + 2, 2, columns - 2, TUI_DIM,
                         is_for ? "nothing that was tested" : "nothing");
    for (size_t i = 0; !is_for && i < finding->evidence_count; i++) {
        const struct tl_evidence *evidence = &finding->evidence[i];
        if (evidence->is_spare || evidence->truth != TL_UNKNOWN_TRUTH)
            continue;
        (void)tui_put(tall, row + used, col, 2, TUI_BOLD, "?");
        used += tui_wrap(tall, row + used, col + 2, tall->rows - row - used, columns - 2, TUI_PLAIN,
                         evidence->say);
    }
    return used;
}

static int draw_evidence(const struct tui_state *state, struct tui_grid *tall, int row, int col,
                         int columns)
{
    const struct tl_finding *finding = tui_state_finding(state);
    const struct tl_verdict *verdict = &state->result->findings->verdict;
    char text[512];
    if (!finding)
        return 0;
    int used = draw_side(finding, true, tall, row, col, columns) + 1;
    used += draw_side(finding, false, tall, row + used, col, columns) + 1;
    if (verdict->confidence_reasons && *verdict->confidence_reasons) {
        snprintf(text, sizeof text, "Confidence %.0f %%: %s", 100 * verdict->confidence,
                 verdict->confidence_reasons);
        used += tui_wrap(tall, row + used, col, 4, columns, TUI_PLAIN, text);
    }
    if (finding->would_change && *finding->would_change) {
        snprintf(text, sizeof text, "What would change it: %s", finding->would_change);
        used += tui_wrap(tall, row + used, col, 4, columns, TUI_PLAIN, text);
    }
    return used;
}

int tui_view_wide(struct tui_state *state, struct tui_grid *tall)
{
    int left = (tall->cols - 3) / 2, at = left + 2, right = tall->cols - at - 1;
    static const enum tl_report_part first[] = {TL_PART_FIX, TL_PART_RATES};
    static const enum tl_report_part rest[] = {TL_PART_OTHERS, TL_PART_RUN};
    int row = 0;
    for (int i = 0; i < TL_PART_COUNT; i++)
        state->jump[i] = -1;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        row = draw_across(state, tall, row, first[i]);
    int b = draw_throughput(state, tall, row, at, right);
    bool beside = b || tui_state_finding(state); /* else all of the width is free */
    int a = draw_part(state, tall, row, 0, beside ? left : tall->cols - 1, TL_PART_MEASUREMENTS);
    state->jump[TL_PART_MEASUREMENTS] = a > 0 ? row : -1;
    if (a <= 0 && !b) { /* nothing is beside it either */
        at = 0;
        right = tall->cols - 1;
    }
    int evidence = draw_evidence(state, tall, row + b, at, right);
    state->jump[TL_PART_EVIDENCE] = evidence ? row + b : -1;
    b += evidence;
    row += (a > b ? a : b) + 1;
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        row = draw_across(state, tall, row, rest[i]);
    return row < tall->rows ? row : tall->rows;
}
