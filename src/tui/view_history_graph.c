/* The rates of one far end over its runs. One step a run, for runs come in heaps with weeks between
 * them; the dates of the first and the last stand below. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "live.h"
#include "page_text.h"
#include "plot.h"
#include "tightlink/base/units.h"
#include "view.h"

#define RUNS_MAX 256
/* From this ratio of the most to the least on a linear axis shows the least as nothing. */
#define LOGARITHMIC_FROM 20

struct graph {
    double values[RUNS_MAX]; /* oldest first */
    int count;
    int64_t first_ns, last_ns;
};

/* Of one direction: a download and an upload make no line. */
static void collect(const struct tl_history_list *list, const struct tl_history_run *like,
                    struct graph *graph)
{
    graph->count = 0;
    for (size_t i = 0; i < list->count && graph->count < RUNS_MAX; i++) { /* newest first */
        const struct tl_history_run *run = &list->runs[i];
        if (strcmp(run->target, like->target) != 0 || strcmp(run->direction, like->direction) != 0)
            continue;
        if (!graph->count)
            graph->last_ns = run->started_ns;
        graph->first_ns = run->started_ns;
        graph->values[graph->count++] = run->stream_bps;
    }
    for (int i = 0; i < graph->count / 2; i++) {
        double swap = graph->values[i];
        graph->values[i] = graph->values[graph->count - 1 - i];
        graph->values[graph->count - 1 - i] = swap;
    }
}

static double least_of(const struct graph *graph)
{
    double least = (double)NAN;
    for (int i = 0; i < graph->count; i++)
        least = fmin(least, graph->values[i]); /* passes over NAN */
    return least;
}

/* "2026-11-20 20:58", local time as in the list. */
static const char *date_of(int64_t ns, char ret_text[20])
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm parts;
    if (!localtime_r(&seconds, &parts) || !strftime(ret_text, 20, "%Y-%m-%d %H:%M", &parts))
        return "-";
    return ret_text;
}

static void draw_plot(struct graph *graph, struct tui_grid *grid, int row, int rows)
{
    char low[TL_UNIT_TEXT_SIZE] = "0", high[TL_UNIT_TEXT_SIZE];
    double most = tui_plot_largest(graph->values, graph->count), least = least_of(graph);
    double top = tui_plot_top(most);
    tl_format_bps(top, high);
    if (least > 0 && most >= LOGARITHMIC_FROM * least) {
        double from = pow(10, floor(log10(least))), to = pow(10, ceil(log10(most)));
        for (int i = 0; i < graph->count; i++)
            graph->values[i] = log10(graph->values[i] / from);
        top = log10(to / from);
        tl_format_bps(from, low);
        tl_format_bps(to, high);
    }
    struct tui_series series = {graph->values, graph->count, 1};
    tui_live_plot_between(grid, row, rows, 0, grid->cols, &series, top, low, high);
}

void tui_history_graph(const struct tui_state *state, struct tui_grid *grid, int row, int rows)
{
    const struct tl_history_run *selected = tui_state_stored(state);
    struct graph graph;
    char when[20];
    collect(state->history.list, selected, &graph);
    (void)tui_putf(grid, row, 1, grid->cols - 2, TUI_BOLD, "One stream, %s, %s: %d run%s",
                   selected->direction, tui_name(state, selected->target), graph.count,
                   graph.count == 1 ? "" : "s");
    if (graph.count < 2 || rows < 4) {
        (void)tui_put(grid, row + 1, 1, grid->cols - 2, TUI_DIM, "two runs make a line");
        return;
    }
    draw_plot(&graph, grid, row + 1, rows - 2);
    (void)tui_put(grid, row + rows - 1, TUI_PLOT_LABEL, 20, TUI_DIM, date_of(graph.first_ns, when));
    tui_put_right(grid, row + rows - 1, TUI_PLOT_LABEL + 20, grid->cols - TUI_PLOT_LABEL - 21,
                  TUI_DIM, date_of(graph.last_ns, when));
}
