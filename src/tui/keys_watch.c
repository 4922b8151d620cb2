/* Keys of transfers that run now: their list, and one of them over time. */
#include <stdio.h>
#include <string.h>

#include "keys.h"

/* "203.0.113.9" of "203.0.113.9:443" and of "[2001:db8::9]:443". */
static void host_of(const char *peer, char *ret_host, size_t size)
{
    const char *end = strrchr(peer, ':');
    size_t len = end ? (size_t)(end - peer) : strlen(peer);
    if (*peer == '[' && len > 2 && peer[len - 1] == ']') {
        peer++;
        len -= 2;
    }
    snprintf(ret_host, size, "%.*s", (int)len, peer);
}

/* The start screen names the far end of the transfer. */
static void aim(struct tui_state *state, const struct tl_app_live_row *row)
{
    struct tui_start *start = &state->start;
    host_of(row->peer, start->target, sizeof start->target);
    start->upload = row->direction == TL_UPLOAD;
    start->download = !start->upload;
    start->has_preview = false;
    state->watch.diagnosing = true;
}

static unsigned judge(struct tui_state *state, const struct tl_app_live_row *row, bool export)
{
    if (row->ended && row->state == TL_INCONCLUSIVE && !row->says[0]) {
        tui_say(state, "that transfer has ended before anything could be told");
        return TUI_DO_NOTHING;
    }
    if (state->run.active) {
        tui_say(state, "a diagnosis is running: its verdict comes first");
        return TUI_DO_NOTHING;
    }
    state->watch.export = export;
    return TUI_DO_JUDGE;
}

/* --- what is the same for the list and for one transfer --- */

static bool has_row(const struct tui_state *state)
{
    return tui_watch_row(state) != NULL;
}

/* The one that a question is about, too; NULL where nothing runs. */
static const struct tl_app_live_row *take_row(struct tui_state *state)
{
    const struct tl_app_live_row *row = tui_watch_row(state);
    if (!row)
        return NULL;
    state->watch.open = *row;
    return row;
}

/* The session asks before it sends anything. */
static unsigned diagnose(struct tui_state *state, int key)
{
    const struct tl_app_live_row *row = take_row(state);
    if (row && !state->run.active) {
        aim(state, row);
        return TUI_DO_START;
    }
    if (row)
        tui_say(state, "a diagnosis is running");
    return TUI_DO_NOTHING;
}

static unsigned ask_capture(struct tui_state *state, int key)
{
    if (!take_row(state))
        return TUI_DO_NOTHING;
    if (state->watch.capturing[0])
        tui_say(state, "a capture runs; its file is named when it has ended");
    else
        state->overlay = TUI_ASK_CAPTURE;
    return TUI_DO_NOTHING;
}

static unsigned hand_on(struct tui_state *state, int key)
{
    const struct tl_app_live_row *row = take_row(state);
    return row ? judge(state, row, true) : TUI_DO_NOTHING;
}

static unsigned freeze(struct tui_state *state, int key)
{
    struct tui_watch *watch = &state->watch;
    watch->frozen = !watch->frozen;
    tui_say(state, watch->frozen ? "the picture stands still, the watch goes on; z lets it move"
                                 : "the picture moves");
    return TUI_DO_NOTHING;
}

/* --- the list --- */

static unsigned open_row(struct tui_state *state, int key)
{
    if (take_row(state))
        tui_page_open(state, TUI_PAGE_WATCH, 0);
    return TUI_DO_NOTHING;
}

static unsigned select_row(struct tui_state *state, int key)
{
    size_t index[TUI_LIST_MAX];
    tui_move(&state->watch.list.selected, key, state->rows_shown,
             (int)tui_list_watched(state, index) - 1);
    return TUI_DO_NOTHING;
}

const struct tui_binding tui_watch_keys[] = {
    {TUI_MEANS_ENTER, "over time", "the selected transfer over time", open_row, has_row},
    {TUI_MEANS_MEASURE, "diagnose", "diagnose the way to it, after a question", diagnose, has_row},
    {TUI_MEANS_CAPTURE, "capture", "capture its headers, after a question", ask_capture, has_row},
    {TUI_MEANS_EXPORT, "export", "hand its verdict on", hand_on, has_row},
    {TUI_MEANS_FILTER, "filter", "filter by program, address, cause", tui_filter, NULL},
    {TUI_MEANS_GRAPH, NULL, "the selected transfer over time", open_row, has_row},
    {TUI_MEANS_FREEZE, "freeze", "the picture stands still", freeze, NULL},
    {TUI_MEANS_MASK, "mask", "mask names and addresses on the screen", tui_mask_names, NULL},
    {TUI_MEANS_MOVE, NULL, "another transfer", select_row, has_row},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};

/* --- one transfer over time --- */

static unsigned judge_open(struct tui_state *state, int key)
{
    return judge(state, &state->watch.open, false);
}

static unsigned move_cursor(struct tui_state *state, int key)
{
    return tui_move_cursor(state, key, (int)state->watch.series.count);
}

const struct tui_binding tui_transfer_keys[] = {
    {TUI_MEANS_ENTER, "verdict", "its verdict, the fix, why not the others", judge_open, NULL},
    {TUI_MEANS_MEASURE, "diagnose", "diagnose the way to it, after a question", diagnose, NULL},
    {TUI_MEANS_CAPTURE, "capture", "capture its headers, after a question", ask_capture, NULL},
    {TUI_MEANS_ASIDE, "cursor", "the cursor, a second at once", move_cursor, NULL},
    {TUI_MEANS_EXPORT, "export", "hand its verdict on", hand_on, NULL},
    {TUI_MEANS_FARTHER, "faster", "the cursor, ten seconds at once", move_cursor, NULL},
    {TUI_MEANS_FREEZE, "freeze", "the picture stands still", freeze, NULL},
    {TUI_MEANS_MASK, NULL, "mask names and addresses on the screen", tui_mask_names, NULL},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};
