/* Keys that are the same everywhere: back, help, the way out, another screen. */
#include <stdio.h>

#include "keys.h"

/* --- back --- */

/* What is undone before one leaves a list: a filter, marks. */
static bool undo(struct tui_state *state, unsigned *ret_actions)
{
    struct tui_history *history = &state->history;
    struct tui_list *list = state->screen == TUI_PATH      ? &state->hops
                            : state->screen == TUI_WATCH   ? &state->watch.list
                            : state->screen == TUI_PACKETS ? &state->packets.list
                                                           : NULL;
    if (list && list->filter[0]) {
        *list = (struct tui_list){0};
        return true;
    }
    if (state->screen != TUI_HISTORY)
        return false;
    if (history->filter[0]) {
        history->filter[0] = '\0';
        history->selected = 0;
        *ret_actions = TUI_DO_LIST;
        return true;
    }
    if (!history->a[0] && !history->b[0])
        return false;
    history->a[0] = history->b[0] = '\0';
    history->comparison = NULL;
    return true;
}

/* The screen behind this one; 0: it is the first. */
static enum tui_screen behind(const struct tui_state *state)
{
    bool alone = state->saved_only || state->demo_only;
    switch (state->screen) {
    case TUI_START:
        return 0;
    case TUI_WATCH:
        return !alone ? TUI_START : !state->demo_only ? 0 : state->result ? TUI_VERDICT : TUI_RUN;
    case TUI_PACKETS:
        return 0;
    case TUI_VERDICT:
        return state->from_packets ? TUI_PACKETS
               : state->from_watch ? TUI_WATCH
               : alone             ? 0
                                   : TUI_START;
    case TUI_RUN:
        return state->result ? TUI_VERDICT : state->run.active ? 0 : TUI_START;
    default:
        return state->result ? TUI_VERDICT : state->run.active ? TUI_RUN : TUI_START;
    }
}

bool tui_has_back(const struct tui_state *state)
{
    return state->page.kind != TUI_NO_PAGE || behind(state) ||
           (state->screen == TUI_WATCH && state->watch.list.filter[0]) ||
           (state->screen == TUI_PACKETS && state->packets.list.filter[0]);
}

unsigned tui_back(struct tui_state *state, int key)
{
    struct tui_page_state *page = &state->page;
    unsigned actions = TUI_DO_NOTHING;
    if (page->kind == TUI_PAGE_CAUSES && state->causes.filter[0]) {
        state->causes = (struct tui_list){0};
        return TUI_DO_NOTHING;
    }
    if (page->kind != TUI_NO_PAGE) {
        *page = (struct tui_page_state){.kind = page->back, .cursor = -1};
        return TUI_DO_NOTHING;
    }
    if (undo(state, &actions))
        return actions;
    if (behind(state))
        return tui_go_to(state, behind(state));
    tui_say(state,
            state->run.active && state->screen == TUI_RUN
                ? "a diagnosis is running: ^C stops it and keeps what it has"
                : "this is the first screen; F10 leaves"); /* one Esc too many ends nothing */
    return TUI_DO_NOTHING;
}

/* --- the way out --- */

static unsigned quit(struct tui_state *state, int key)
{
    if (state->leaving.sending && !state->leaving.warned) {
        state->leaving.warned = true;
        snprintf(
            state->message, sizeof state->message, "%s",
            "a ticket is on its way: q again leaves once its answer is there (30 s a request)");
        return TUI_DO_NOTHING;
    }
    if (!state->run.active)
        return TUI_DO_QUIT;
    state->overlay = TUI_ASK_STOP;
    return TUI_DO_NOTHING;
}

static unsigned help(struct tui_state *state, int key)
{
    state->overlay = TUI_HELP;
    return TUI_DO_NOTHING;
}

static unsigned to_screen(struct tui_state *state, int key)
{
    return tui_go_to(state, (enum tui_screen)(key - '0'));
}

static unsigned redraw(struct tui_state *state, int key)
{
    return TUI_DO_REDRAW;
}

const struct tui_binding tui_everywhere_keys[] = {
    {TUI_MEANS_BACK, "back", "back; a filter or marks go first", tui_back, tui_has_back},
    {TUI_MEANS_HELP, "help", "this help", help, NULL},
    {TUI_MEANS_QUIT, "quit", "leave (q where no text is typed)", quit, NULL},
    {TUI_MEANS_SCREEN, NULL, "start run verdict path history export live packets", to_screen, NULL},
    {TUI_MEANS_STOP, NULL, "stop a run and keep what it has; else leave", tui_interrupt, NULL},
    {TUI_MEANS_REDRAW, NULL, "draw everything anew; ^Z to the shell", redraw, NULL},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};
