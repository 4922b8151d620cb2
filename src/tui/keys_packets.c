/* Keys of a capture's connections: their list, and one of them over time. */

#include "keys.h"

#define STEPS_SHOWN_LEAST 16 /* fewer are no picture */

static bool has_row(const struct tui_state *state)
{
    return tui_packets_row(state) != NULL;
}

static unsigned judge(struct tui_state *state, bool export)
{
    const struct tl_app_pcap_row *row = tui_packets_row(state);
    if (!row)
        return TUI_DO_NOTHING;
    state->packets.open = *row;
    state->packets.export = export;
    return TUI_DO_JUDGE;
}

static unsigned show_verdict(struct tui_state *state, int key)
{
    return judge(state, false);
}

static unsigned hand_on(struct tui_state *state, int key)
{
    return judge(state, true);
}

/* --- the list --- */

static unsigned open_row(struct tui_state *state, int key)
{
    const struct tl_app_pcap_row *row = tui_packets_row(state);
    if (!row)
        return TUI_DO_NOTHING;
    state->packets.open = *row;
    state->packets.zoom = 0;
    tui_page_open(state, TUI_PAGE_PACKETS, 0);
    return TUI_DO_NOTHING;
}

static unsigned select_row(struct tui_state *state, int key)
{
    size_t index[TUI_LIST_MAX];
    tui_move(&state->packets.list.selected, key, state->rows_shown,
             (int)tui_list_packets(state, index) - 1);
    return TUI_DO_NOTHING;
}

/* The other order; the first of it is what one wants to see. */
static unsigned turn_order(struct tui_state *state, int key)
{
    state->packets.by_held = !state->packets.by_held;
    state->packets.list.selected = 0;
    tui_say(state, state->packets.by_held ? "sorted by the time in which something held them back"
                                          : "sorted by size");
    return TUI_DO_NOTHING;
}

const struct tui_binding tui_packets_keys[] = {
    {TUI_MEANS_ENTER, "over time", "the selected connection over time", open_row, has_row},
    {TUI_MEANS_CHANGE, "order", "by size, or by the time that they were held back", turn_order,
     has_row},
    {TUI_MEANS_EXPORT, "export", "hand its verdict on", hand_on, has_row},
    {TUI_MEANS_FILTER, "filter", "filter by address, port, cause", tui_filter, NULL},
    {TUI_MEANS_MASK, "mask", "mask addresses on the screen", tui_mask_names, NULL},
    {TUI_MEANS_MOVE, NULL, "another connection", select_row, has_row},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};

/* --- one connection over time --- */

static unsigned move_cursor(struct tui_state *state, int key)
{
    const struct tl_app_pcap_series *series = state->packets.series;
    int count = series ? (int)series->count : 0, shown = count >> state->packets.zoom;
    int by = key == TUI_KEY_LEFT || key == '<' ? -1 : 1;
    by *= key == '<' || key == '>' ? 1 + shown / 10 : 1 + shown / 100;
    int at = (state->page.cursor < 0 ? count / 2 : state->page.cursor) + by;
    state->page.cursor = at >= count ? count - 1 : at < 0 ? 0 : at;
    return TUI_DO_NOTHING;
}

/* Up is nearer, down is farther away. */
static unsigned zoom(struct tui_state *state, int key)
{
    struct tui_packets *packets = &state->packets;
    size_t count = packets->series ? packets->series->count : 0;
    bool nearer = key == TUI_KEY_UP || key == TUI_KEY_PAGE_UP || key == 'k' || key == TUI_KEY_HOME;
    if (nearer && count >> (packets->zoom + 1) >= STEPS_SHOWN_LEAST)
        packets->zoom++;
    else if (!nearer && packets->zoom > 0)
        packets->zoom--;
    return TUI_DO_NOTHING;
}

static unsigned turn_plot(struct tui_state *state, int key)
{
    state->packets.plot = (enum tui_packets_plot)((state->packets.plot + 1) % TUI_PLOTS);
    return TUI_DO_NOTHING;
}

const struct tui_binding tui_connection_keys[] = {
    {TUI_MEANS_ENTER, "verdict", "its verdict, the fix, why not the others", show_verdict, NULL},
    {TUI_MEANS_GRAPH, "graph",
     "rates; what was sent over time (Stevens); with acknowledgements and window (tcptrace)",
     turn_plot, NULL},
    {TUI_MEANS_ASIDE, "cursor", "the cursor", move_cursor, NULL},
    {TUI_MEANS_MOVE, "zoom", "nearer to the cursor, and back", zoom, NULL},
    {TUI_MEANS_FARTHER, NULL, "the cursor, a tenth of the picture at once", move_cursor, NULL},
    {TUI_MEANS_EXPORT, "export", "hand its verdict on", hand_on, NULL},
    {TUI_MEANS_MASK, NULL, "mask addresses on the screen", tui_mask_names, NULL},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};
