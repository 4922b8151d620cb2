/* Transfers that other programs run now: the list, and what is left of it on a small terminal. */
#include <math.h>
#include <stdio.h>

#include "page_text.h"
#include "tightlink/base/cause_name.h"
#include "tightlink/base/units.h"
#include "view.h"
#include "watch.h"
#include "zones.h"

/* "receive-window", "cannot tell", "ended". */
static const char *cause_of(const struct tl_app_live_row *row)
{
    if (row->state == TL_LIMITED && row->cause[0])
        return tl_cause_name(row->cause);
    return row->ended ? "ended" : "cannot tell";
}

const char *tui_watch_peer(const struct tui_state *state, const struct tl_app_live_row *row)
{
    return tui_name(state, row->peer);
}

/* --- the list --- */

struct columns {
    int peer, peer_width, program, program_width, rtt, bar, bar_width, cause; /* 0: not shown */
};

/* More is shown the more room there is. */
static struct columns lay_out(int cols)
{
    if (cols < 76)
        return (struct columns){
            .peer = 20, .peer_width = 15, .bar = 36, .bar_width = 5, .cause = 42};
    if (cols < 110)
        return (struct columns){.peer = 20,
                                .peer_width = 21,
                                .program = 43,
                                .program_width = 11,
                                .bar = 55,
                                .bar_width = 6,
                                .cause = 62};
    int extra = cols - 110 > 40 ? 40 : cols - 110;
    struct columns at = {.peer = 20, .peer_width = 22 + extra / 4, .program_width = 16 + extra / 4};
    at.program = at.peer + at.peer_width + 2;
    at.rtt = at.program + at.program_width + 1;
    at.bar = at.rtt + 11;
    at.bar_width = 14 + extra / 2;
    at.cause = at.bar + at.bar_width + 2;
    return at;
}

static void draw_head(const struct columns *at, struct tui_grid *grid, int row)
{
    (void)tui_put(grid, row, 5, 4, TUI_BOLD, "way");
    tui_put_right(grid, row, 9, 10, TUI_BOLD, "rate");
    (void)tui_put(grid, row, at->peer, at->peer_width, TUI_BOLD, "with");
    if (at->program)
        (void)tui_put(grid, row, at->program, at->program_width, TUI_BOLD, "program");
    if (at->rtt)
        tui_put_right(grid, row, at->rtt, 9, TUI_BOLD, "RTT");
    (void)tui_put(grid, row, at->bar, at->cause - at->bar - 1, TUI_BOLD,
                  at->bar_width < 9 ? "waits" : "waits for");
    (void)tui_put(grid, row, at->cause, grid->cols - at->cause, TUI_BOLD, "likely cause");
}

static void draw_transfer(const struct tui_state *state, const struct tl_app_live_row *transfer,
                          const struct columns *at, struct tui_grid *grid, int row, bool selected)
{
    enum tui_ink ink;
    char text[TL_UNIT_TEXT_SIZE];
    const char *mark = tui_watch_mark(transfer, &ink);
    struct tui_waits waits = {{transfer->rwnd_ratio, transfer->sndbuf_ratio,
                               transfer->network_ratio, transfer->app_ratio,
                               transfer->queue_ratio}};
    (void)tui_put(grid, row, 1, 4, ink, mark);
    (void)tui_put(grid, row, 5, 4, TUI_PLAIN, transfer->direction == TL_UPLOAD ? "out" : "in");
    tui_put_right(grid, row, 9, 10, TUI_PLAIN, tl_format_bps(transfer->mean_bps, text));
    tui_put_end(grid, row, at->peer, at->peer_width, tui_watch_peer(state, transfer));
    if (at->program)
        (void)tui_put_short(grid, row, at->program, at->program_width,
                            transfer->program[0] ? TUI_PLAIN : TUI_DIM,
                            transfer->program[0] ? transfer->program : "not known");
    if (at->rtt)
        tui_put_right(grid, row, at->rtt, 9, TUI_PLAIN,
                      isnan(transfer->rtt_ns) ? "-" : tl_format_ns(transfer->rtt_ns, text));
    tui_watch_bar(grid, row, at->bar, at->bar_width, &waits);
    (void)tui_put(grid, row, at->cause, grid->cols - at->cause,
                  transfer->state == TL_LIMITED ? TUI_BOLD : TUI_DIM, cause_of(transfer));
    if (selected)
        tui_select_row(grid, row, grid->cols);
}

/* "312 Mb/s in   1.20 Mb/s out   14 connections". */
static void draw_sum(const struct tui_watch *watch, struct tui_grid *grid, int row)
{
    char in[TL_UNIT_TEXT_SIZE], out[TL_UNIT_TEXT_SIZE], text[160];
    const char *title = grid->cols < 76 ? "Live" : "Transfers that run now";
    int used = tui_putf(grid, row, 1, grid->cols - 2, TUI_BOLD, "%s%s%s", title,
                        watch->list.filter[0] ? ", filter: " : "", watch->list.filter);
    if (watch->problem[0])
        return;
    snprintf(text, sizeof text, "%s%s in   %s out   %zu connection%s ",
             watch->frozen ? "stands still   " : "", tl_format_bps(watch->sum.received_bps, in),
             tl_format_bps(watch->sum.sent_bps, out), watch->sum.flows_count,
             watch->sum.flows_count == 1 ? "" : "s");
    tui_put_right(grid, row, used + 2, grid->cols - used - 2, TUI_PLAIN, text);
}

/* Why nothing is listed. */
static void draw_nothing(const struct tui_watch *watch, struct tui_grid *grid, int row, int rows)
{
    const char *text =
        watch->problem[0] ? watch->problem
        : watch->list.filter[0]
            ? "nothing matches; / changes the filter"
            : "No connection that leaves this machine moved anything in the last ten "
              "seconds. Start the transfer: it appears here within a second. "
              "(Those within this machine: tightlink live --all.)";
    (void)tui_wrap(grid, row, 1, rows, grid->cols - 2, TUI_PLAIN, text);
}

/* Below the list: the last move of a cause, what is not in the sum, the selected transfer. */
static void draw_below(const struct tui_state *state, struct tui_grid *grid, int row, int rows)
{
    const struct tui_watch *watch = &state->watch;
    const struct tl_app_live_row *transfer = tui_watch_row(state);
    int used = 0;
    if (rows >= 3) {
        tui_watch_legend(grid, row, 1, grid->cols - 2);
        used = 1;
    }
    if (rows >= 6 && watch->moved[0])
        (void)tui_putf(grid, row + used++, 1, grid->cols - 2, TUI_BOLD, "moved: %s",
                       state->private_names ? "a cause (the address is hidden)" : watch->moved);
    if (rows >= 9 && watch->sum.left_out[0])
        (void)tui_putf(grid, row + used++, 1, grid->cols - 2, TUI_DIM, "not in the sum: %s",
                       watch->sum.left_out);
    if (transfer)
        used += tui_watch_words(state, transfer, grid, row + used, rows - used);
    if (transfer && rows - used >= 5)
        tui_watch_plots(&watch->series, -1, grid, row + used, rows - used);
}

void tui_view_watch(struct tui_state *state, struct tui_grid *grid, int first, int last)
{
    struct tui_watch *watch = &state->watch;
    size_t index[TUI_LIST_MAX];
    int count = (int)tui_list_watched(state, index), row = first + 2, room = last - row - 1;
    draw_sum(watch, grid, first);
    tui_rule(grid, first + 1);
    state->rows_shown = 0;
    if (!count) {
        draw_nothing(watch, grid, row, last - row);
        return;
    }
    if (watch->list.selected >= count)
        watch->list.selected = count - 1;
    struct columns at = lay_out(grid->cols);
    int lines = tui_list_lines(count, room, tui_list_below(room));
    state->rows_shown = lines;
    draw_head(&at, grid, row);
    int top = tui_list_top(watch->list.selected, lines, count);
    for (int i = 0; i < lines && top + i < count; i++) {
        draw_transfer(state, &watch->rows[index[top + i]], &at, grid, row + 1 + i,
                      top + i == watch->list.selected);
        tui_zone_add(grid, row + 1 + i, 0, grid->cols, TUI_ZONE_ROW, top + i);
    }
    tui_rule(grid, row + 1 + lines);
    draw_below(state, grid, row + 2 + lines, last - row - 2 - lines);
}

void tui_watch_page(struct tui_state *state, struct tui_grid *grid, int first, int last)
{
    struct tui_watch *watch = &state->watch;
    int used = tui_watch_words(state, &watch->open, grid, first, last - first);
    tui_watch_plots(&watch->series, state->page.cursor, grid, first + used, last - first - used);
}

/* --- small terminals: two rows a transfer --- */

void tui_watch_small(struct tui_state *state, struct tui_grid *grid, int rows)
{
    struct tui_watch *watch = &state->watch;
    size_t index[TUI_LIST_MAX];
    int count = (int)tui_list_watched(state, index);
    char rate[TL_UNIT_TEXT_SIZE];
    if (state->page.kind == TUI_PAGE_WATCH) {
        (void)tui_watch_words(state, &watch->open, grid, 0, rows);
    } else if (!count) {
        draw_nothing(watch, grid, 0, rows);
    } else {
        int lines = rows / 2 < 1 ? 1 : rows / 2;
        int top = tui_list_top(watch->list.selected, lines, count);
        state->rows_shown = lines;
        for (int i = 0; i < lines && top + i < count; i++) {
            const struct tl_app_live_row *row = &watch->rows[index[top + i]];
            enum tui_ink ink;
            const char *mark = tui_watch_mark(row, &ink);
            (void)tui_putf(grid, 2 * i, 0, grid->cols, ink, "%c%s%s%s %.16s",
                           top + i == watch->list.selected ? '>' : ' ', mark,
                           row->direction == TL_UPLOAD ? "out " : "in ",
                           tl_format_bps(row->mean_bps, rate), row->program[0] ? row->program : "");
            (void)tui_putf(grid, 2 * i + 1, 5, grid->cols - 5, TUI_BOLD, "%s", cause_of(row));
            tui_put_end(grid, 2 * i + 1, 22, grid->cols - 22, tui_watch_peer(state, row));
        }
    }
}
