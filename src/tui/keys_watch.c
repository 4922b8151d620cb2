/* Keys of transfers that run now: their list, and one of them over time. */
#include <stdio.h>
#include <string.h>

#include "keys.h"

static void say(struct tui_state *state, const char *text)
{
    snprintf(state->message, sizeof state->message, "%s", text);
}

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

void tui_watch_aim(struct tui_state *state)
{
    struct tui_start *start = &state->start;
    const struct tl_app_live_row *row = &state->watch.open;
    host_of(row->peer, start->target, sizeof start->target);
    start->upload = row->direction == TL_UPLOAD;
    start->download = !start->upload;
    start->has_preview = false;
}

static unsigned judge(struct tui_state *state, const struct tl_app_live_row *row, bool export)
{
    if (row->ended && row->state == TL_INCONCLUSIVE && !row->says[0]) {
        say(state, "that transfer has ended before anything could be told");
        return TUI_DO_NOTHING;
    }
    if (state->run.active) {
        say(state, "a diagnosis is running: its verdict comes first");
        return TUI_DO_NOTHING;
    }
    state->watch.export = export;
    return TUI_DO_JUDGE;
}

static void move_cursor(struct tui_state *state, int by)
{
    int count = (int)state->watch.series.count;
    int at = state->page.cursor < 0 ? count - 1 : state->page.cursor;
    at += by;
    state->page.cursor = at < 0 ? 0 : at >= count ? -1 : at;
}

/* What is the same for the list and for one transfer; open is what a question is about, too. */
static unsigned transfer_key(struct tui_state *state, const struct tl_app_live_row *row, int key)
{
    state->watch.open = *row;
    switch (key) {
    case 'r':
        if (state->run.active)
            say(state, "a diagnosis is running");
        else
            state->overlay = TUI_ASK_DIAGNOSE;
        return TUI_DO_NOTHING;
    case 'c':
        if (state->watch.capturing[0])
            say(state, "a capture runs; its file is named when it has ended");
        else
            state->overlay = TUI_ASK_CAPTURE;
        return TUI_DO_NOTHING;
    default:
        return judge(state, row, key == 'e');
    }
}

/* Keys that need no transfer. */
static bool common_key(struct tui_state *state, int key)
{
    struct tui_watch *watch = &state->watch;
    if (key == 'z') {
        watch->frozen = !watch->frozen;
        say(state, watch->frozen ? "the picture stands still, the watch goes on; z lets it move"
                                 : "the picture moves");
        return true;
    }
    if (key == 'm') {
        state->private_names = !state->private_names;
        say(state, state->private_names ? "names and addresses are hidden on this screen"
                                        : "names and addresses are shown");
        return true;
    }
    return false;
}

static unsigned list_key(struct tui_state *state, const struct tl_app_live_row *row, int key)
{
    struct tui_watch *watch = &state->watch;
    size_t index[TUI_LIST_MAX];
    if (key == TUI_KEY_ENTER && row) {
        watch->open = *row;
        tui_page_open(state, TUI_PAGE_WATCH, 0);
    } else if (key == '/') {
        tui_prompt_open(state, TUI_ASK_FILTER, watch->list.filter);
    } else if (key == TUI_KEY_ESCAPE && watch->list.filter[0]) {
        watch->list = (struct tui_list){0};
    } else if (key == TUI_KEY_ESCAPE) {
        return state->saved_only ? TUI_DO_NOTHING : tui_go_to(state, TUI_START);
    } else {
        tui_move(&watch->list.selected, key, state->rows_shown,
                 (int)tui_list_watched(state, index) - 1);
    }
    return TUI_DO_NOTHING;
}

/* Esc was taken before (tui_page_key()). */
static unsigned page_key(struct tui_state *state, int key)
{
    if (key == TUI_KEY_LEFT || key == TUI_KEY_RIGHT)
        move_cursor(state, key == TUI_KEY_LEFT ? -1 : 1);
    else if (key == '<' || key == '>')
        move_cursor(state, key == '<' ? -10 : 10);
    else if (key == TUI_KEY_ENTER)
        return judge(state, &state->watch.open, false);
    return TUI_DO_NOTHING;
}

unsigned tui_watch_key(struct tui_state *state, int key)
{
    const struct tl_app_live_row *row = tui_watch_row(state);
    if (common_key(state, key))
        return TUI_DO_NOTHING;
    if (row && (key == 'r' || key == 'c' || key == 'e'))
        return transfer_key(state, row, key);
    return state->page.kind == TUI_PAGE_WATCH ? page_key(state, key) : list_key(state, row, key);
}
