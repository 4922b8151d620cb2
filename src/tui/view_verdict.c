/* The verdict: the report's own parts, in its own words. The head stays where it fits; the rest
 * scrolls, in two columns where there is room. */
#include <string.h>

#include "lines.h"
#include "tightlink/present/report.h"
#include "view.h"

#define TWO_COLUMNS_MIN (2 * TL_REPORT_PART_WIDTH_MIN + 4)

static void build(const struct tl_session_result *result, int columns, bool utf8,
                  enum tl_report_part part, struct tl_page *page)
{
    tl_page_init(page, columns, utf8);
    tl_report_part(&result->run, result->facts, result->findings, part, page);
}

/* The same for what scrolls: a head there has the first fix in it, above what is less urgent. */
static void build_part(const struct tl_session_result *result, int columns, bool utf8,
                       enum tl_report_part part, struct tl_page *page)
{
    if (part != TL_PART_HEAD) {
        build(result, columns, utf8, part, page);
        return;
    }
    tl_page_init(page, columns, utf8);
    tl_report_brief(&result->run, result->facts, result->findings, page);
}

/* How a run without findings, or one that ended early, ended. Returns the rows used. */
static int draw_end(const struct tl_session_result *result, struct tui_grid *grid, int row,
                    int rows)
{
    if (result->status == TL_OK)
        return 0;
    const char *why = result->error.text[0] ? result->error.text : tl_status_text(result->status);
    bool stopped = result->status == TL_CANCELLED && result->findings;
    if (stopped && result->findings->verdict.state == TL_VERDICT_INVALID)
        return 0; /* which says it */
    (void)tui_put(grid, row, 0, 4, stopped ? TUI_DIM : TUI_BAD, stopped ? "--  " : "(x) ");
    int used = tui_wrap(grid, row, 4, rows, grid->cols - 4, stopped ? TUI_DIM : TUI_BOLD, why);
    return used < rows ? used : rows;
}

/* The parts below the head, one column. Notes where each begins; -1: it has nothing to say. */
static int draw_parts(struct tui_state *state, struct tui_grid *grid, int columns, int row,
                      int rows, const enum tl_report_part *parts, int count)
{
    int total = 0;
    for (int i = 0; i < count; i++) {
        struct tl_page page;
        build_part(state->result, columns, grid->utf8, parts[i], &page);
        bool blank = page.line_count && tl_line_is_empty(&page, 0);
        int hidden = total == 0 ? tui_page_margin(&page) : 0; /* nothing is above the first */
        state->jump[parts[i]] = page.line_count ? total + (blank && !hidden) : -1;
        int at = total - hidden - state->scroll;
        int top = at > 0 ? at : 0, skip = at > 0 ? 0 : -at;
        total += tui_page_lines(grid, row + top, 0, rows - top > 0 ? rows - top : 0, columns, skip,
                                &page) -
                 hidden;
        tl_page_finish(&page);
    }
    return total;
}

/* As many rows as the longest verdict takes several times over. */
#define TALL_ROWS 600

static void draw_two_columns(struct tui_state *state, struct tui_grid *grid, int row, int rows)
{
    struct tui_grid tall;
    if (tui_grid_init(&tall, TALL_ROWS, grid->cols, grid->utf8) != TL_OK)
        return; /* out of memory: an empty body */
    tall.blocks = grid->blocks;
    state->rows_total = tui_view_wide(state, &tall);
    int last = state->rows_total > rows ? state->rows_total - rows : 0;
    state->scroll = state->scroll > last ? last : state->scroll;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < grid->cols; c++)
            if (tui_grid_at(&tall, state->scroll + r, c))
                *tui_grid_at(grid, row + r, c) = *tui_grid_at(&tall, state->scroll + r, c);
    tui_grid_finish(&tall);
}

/* with_head: it scrolls with the rest. */
static void draw_body(struct tui_state *state, struct tui_grid *grid, int row, int rows,
                      bool with_head)
{
    static const enum tl_report_part all[] = {
        TL_PART_HEAD,     TL_PART_FIX,    TL_PART_RATES, TL_PART_MEASUREMENTS,
        TL_PART_EVIDENCE, TL_PART_OTHERS, TL_PART_RUN};
    rows = rows < 0 ? 0 : rows;
    state->rows_shown = rows;
    if (grid->cols < TWO_COLUMNS_MIN || with_head)
        state->rows_total = draw_parts(state, grid, grid->cols - 1, row, rows, all + !with_head,
                                       (int)(sizeof all / sizeof *all) - !with_head);
    else
        draw_two_columns(state, grid, row, rows);
    if (state->scroll + rows < state->rows_total)
        tui_put_right(grid, row - 1, 0, grid->cols, TUI_DIM, grid->utf8 ? " ↓ more " : " v more ");
}

/* The verdict of a run that did not come about repeats why. */
static bool already_said(const struct tl_session_result *result)
{
    const struct tl_verdict *verdict = &result->findings->verdict;
    return verdict->state == TL_VERDICT_INVALID && verdict->sentence && result->error.text[0] &&
           strstr(verdict->sentence, result->error.text);
}

void tui_view_verdict(struct tui_state *state, struct tui_grid *grid, int first, int last)
{
    const struct tl_session_result *result = state->result;
    if (!result)
        return;
    int row = first + draw_end(result, grid, first, 3);
    if (!result->findings) {
        if (row == first)
            (void)tui_put(grid, row, 0, grid->cols, TUI_BOLD, "No verdict was formed.");
        return;
    }
    if (row > first && already_said(result)) {
        tui_rule(grid, row);
        draw_body(state, grid, row + 1, last - row - 1, false);
        return;
    }
    struct tl_page head;
    build(result, grid->cols, grid->utf8, TL_PART_HEAD, &head);
    int most = (last - first) / 2; /* a long one shall not hide the rest: it scrolls with it */
    int used = tui_page_lines(grid, 0, 0, 0, grid->cols, 0, &head);
    bool fits = used <= most;
    if (fits)
        row += tui_page_lines(grid, row, 0, used, grid->cols, 0, &head);
    tl_page_finish(&head);
    tui_rule(grid, row);
    draw_body(state, grid, row + 1, last - row - 1, !fits);
}
