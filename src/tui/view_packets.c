/* Connections of a capture: the list, and what is left of it on a small terminal. */
#include <math.h>
#include <stdio.h>

#include "packets.h"
#include "page_text.h"
#include "tightlink/base/units.h"
#include "view.h"
#include "watch.h"
#include "zones.h"

static const char *resent_of(const struct tl_app_pcap_row *row, char text[TL_UNIT_TEXT_SIZE])
{
    return isnan(row->retrans_ratio) ? "-" : tl_format_ratio(row->retrans_ratio, text);
}

/* --- the list --- */

struct columns {
    int client, server, width, size, rtt, resent, bar, bar_width, cause; /* 0: not shown */
};

/* More is shown the more room there is. */
static struct columns lay_out(int cols)
{
    if (cols < 80)
        return (struct columns){.server = 20, .width = 15, .bar = 36, .bar_width = 5, .cause = 42};
    if (cols < 120)
        return (struct columns){
            .size = 21, .server = 31, .width = 21, .bar = 53, .bar_width = 8, .cause = 62};
    int extra = cols - 120 > 44 ? 44 : cols - 120;
    struct columns at = {.size = 21, .client = 31, .width = 19 + extra / 4};
    at.server = at.client + at.width + 3;
    at.rtt = at.server + at.width + 1;
    at.resent = at.rtt + 10;
    at.bar = at.resent + 10;
    at.bar_width = 8 + extra / 2;
    at.cause = at.bar + at.bar_width + 1;
    return at;
}

static void draw_head(const struct columns *at, struct tui_grid *grid, int row)
{
    tui_put_right(grid, row, 4, 5, TUI_BOLD, "flow");
    tui_put_right(grid, row, 9, at->size ? 11 : 10, TUI_BOLD, "rate");
    if (at->size)
        tui_put_right(grid, row, at->size, 9, TUI_BOLD, "payload");
    if (at->client)
        (void)tui_put(grid, row, at->client, at->width, TUI_BOLD, "client");
    (void)tui_put(grid, row, at->server, at->width, TUI_BOLD, "server");
    if (at->rtt) {
        tui_put_right(grid, row, at->rtt, 9, TUI_BOLD, "least RTT");
        tui_put_right(grid, row, at->resent, 9, TUI_BOLD, "again");
    }
    (void)tui_put(grid, row, at->bar, at->cause - at->bar, TUI_BOLD,
                  at->bar_width < 9 ? "waits" : "waits for");
    (void)tui_put(grid, row, at->cause, grid->cols - at->cause, TUI_BOLD, "verdict");
}

static void draw_row(const struct tui_state *state, const struct tl_app_pcap_row *flow,
                     const struct columns *at, struct tui_grid *grid, int row, bool selected)
{
    enum tui_ink ink;
    char text[TL_UNIT_TEXT_SIZE];
    struct tui_waits waits = {
        {flow->rwnd_ratio, flow->sndbuf_ratio, flow->network_ratio, flow->app_ratio, (double)NAN}};
    const char *mark = tui_packets_mark(flow, &ink);
    (void)tui_put(grid, row, 1, 4, ink, mark);
    snprintf(text, sizeof text, "%zu", flow->number);
    tui_put_right(grid, row, 4, 5, TUI_PLAIN, text);
    tui_put_right(grid, row, 9, at->size ? 11 : 10, TUI_PLAIN,
                  isnan(flow->rate_bps) ? "-" : tl_format_bps(flow->rate_bps, text));
    if (at->size)
        tui_put_right(grid, row, at->size, 9, TUI_PLAIN,
                      tl_format_traffic((double)flow->payload_bytes, text));
    if (at->client) {
        tui_put_end(grid, row, at->client, at->width, tui_name(state, flow->client));
        (void)tui_put(grid, row, at->client + at->width, 2, TUI_PLAIN,
                      flow->direction == TL_UPLOAD ? "->" : "<-");
    }
    tui_put_end(grid, row, at->server, at->width, tui_name(state, flow->server));
    if (at->rtt) {
        tui_put_right(grid, row, at->rtt, 9, TUI_PLAIN,
                      isnan(flow->rtt_min_ns) ? "-" : tl_format_ns(flow->rtt_min_ns, text));
        tui_put_right(grid, row, at->resent, 9, TUI_PLAIN, resent_of(flow, text));
    }
    tui_watch_bar(grid, row, at->bar, at->bar_width, &waits);
    (void)tui_put(grid, row, at->cause, grid->cols - at->cause,
                  flow->judged && flow->state == TL_LIMITED ? TUI_BOLD : TUI_DIM,
                  tui_packets_cause(state, flow));
    if (selected)
        tui_select_row(grid, row, grid->cols);
}

static void draw_title(const struct tui_packets *packets, struct tui_grid *grid, int row)
{
    char text[160];
    int used = tui_putf(grid, row, 1, grid->cols - 2, TUI_BOLD, "Capture%s%s",
                        packets->list.filter[0] ? ", filter: " : "", packets->list.filter);
    snprintf(text, sizeof text, "%s%.100s, %s ", packets->broken[0] ? "(!) broken: " : "",
             packets->file, packets->by_held ? "by time held back" : "by size");
    tui_put_right(grid, row, used + 2, grid->cols - used - 2, TUI_PLAIN, text);
}

/* Below the list: what the bars mean, where the file breaks, the selected connection. */
static void draw_below(const struct tui_state *state, struct tui_grid *grid, int row, int last)
{
    const struct tui_packets *packets = &state->packets;
    const struct tl_app_pcap_row *flow = tui_packets_row(state);
    if (last - row >= 3)
        tui_watch_legend(grid, row++, 1, grid->cols - 2);
    if (last - row >= 6 && packets->broken[0])
        (void)tui_put_cut(grid, row++, 1, grid->cols - 2, TUI_BAD, packets->broken);
    if (last - row >= 6 && packets->total > packets->count)
        (void)tui_putf(grid, row++, 1, grid->cols - 2, TUI_DIM,
                       "the %zu largest of %zu; tightlink pcap --all lists them", packets->count,
                       packets->total);
    if (flow)
        row += tui_packets_words(state, flow, grid, row, last - row);
    if (flow && last - row >= TUI_PACKETS_PLOT_ROWS)
        tui_packets_plots(packets, TUI_PLOT_RATES, -1, grid, row, last);
}

void tui_view_packets(struct tui_state *state, struct tui_grid *grid, int first, int last)
{
    struct tui_packets *packets = &state->packets;
    size_t index[TUI_LIST_MAX];
    int count = (int)tui_list_packets(state, index), row = first + 2, room = last - row - 1;
    draw_title(packets, grid, first);
    tui_rule(grid, first + 1);
    state->rows_shown = 0;
    if (!count) {
        (void)tui_put(grid, row, 1, grid->cols - 2, TUI_PLAIN, "nothing matches; / changes it");
        return;
    }
    if (packets->list.selected >= count)
        packets->list.selected = count - 1;
    struct columns at = lay_out(grid->cols);
    int lines = tui_list_lines(count, room, tui_list_below(room));
    state->rows_shown = lines;
    draw_head(&at, grid, row);
    int top = tui_list_top(packets->list.selected, lines, count);
    for (int i = 0; i < lines && top + i < count; i++) {
        draw_row(state, &packets->rows[index[top + i]], &at, grid, row + 1 + i,
                 top + i == packets->list.selected);
        tui_zone_add(grid, row + 1 + i, 0, grid->cols, TUI_ZONE_ROW, top + i);
    }
    tui_rule(grid, row + 1 + lines);
    draw_below(state, grid, row + 2 + lines, last);
}

void tui_packets_small(struct tui_state *state, struct tui_grid *grid, int rows)
{
    struct tui_packets *packets = &state->packets;
    size_t index[TUI_LIST_MAX];
    int count = (int)tui_list_packets(state, index), lines = rows / 2 < 1 ? 1 : rows / 2;
    char rate[TL_UNIT_TEXT_SIZE] = "-";
    if (state->page.kind == TUI_PAGE_PACKETS) {
        (void)tui_packets_words(state, &packets->open, grid, 0, rows);
        return;
    }
    int top = tui_list_top(packets->list.selected, lines, count);
    state->rows_shown = lines;
    for (int i = 0; i < lines && top + i < count; i++) {
        const struct tl_app_pcap_row *flow = &packets->rows[index[top + i]];
        enum tui_ink ink;
        const char *mark = tui_packets_mark(flow, &ink);
        (void)tui_putf(grid, 2 * i, 0, grid->cols, ink, "%c%s%zu %s",
                       top + i == packets->list.selected ? '>' : ' ', mark, flow->number,
                       isnan(flow->rate_bps) ? "-" : tl_format_bps(flow->rate_bps, rate));
        (void)tui_putf(grid, 2 * i + 1, 5, grid->cols - 5, TUI_BOLD, "%s",
                       tui_packets_cause(state, flow));
        tui_put_end(grid, 2 * i + 1, 22, grid->cols - 22, tui_name(state, flow->server));
    }
}
