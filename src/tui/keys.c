/* Keys: questions, and what is the same everywhere. What a key means, and at which place it is
 * taken, stands in keymap.c and in the tables of the other keys*.c. */
#include "keys.h"

#include <stdio.h>
#include <string.h>

void tui_say(struct tui_state *state, const char *text)
{
    snprintf(state->message, sizeof state->message, "%s", text);
}

/* --- questions --- */

/* Enter is a yes where little is at stake: somebody who still types shall not agree to a load, a
 * sending, a file or the end of a run's record. */
static bool enter_agrees(enum tui_overlay overlay)
{
    return overlay == TUI_ASK_STOP || overlay == TUI_ASK_MORE;
}

static unsigned agreed(struct tui_state *state, enum tui_overlay overlay)
{
    switch (overlay) {
    case TUI_CONSENT:
        return TUI_DO_CONSENT;
    case TUI_ASK_STOP:
        return state->run.active ? TUI_DO_STOP : TUI_DO_NOTHING;
    case TUI_ASK_MORE:
        return state->run.active ? TUI_DO_BUDGET : TUI_DO_NOTHING;
    case TUI_ASK_DELETE:
        return TUI_DO_DELETE;
    case TUI_ASK_SEND:
        return TUI_DO_SEND;
    case TUI_ASK_CAPTURE:
        return TUI_DO_CAPTURE;
    default:
        return TUI_DO_NOTHING;
    }
}

/* What only shows something closes with any key. */
static unsigned close_box(struct tui_state *state, int key)
{
    bool again = state->overlay == TUI_COPIED && key == 'y';
    state->overlay = TUI_NO_OVERLAY;
    return again ? TUI_DO_COPY : TUI_DO_NOTHING;
}

static bool scrolls(int key)
{
    return key == TUI_KEY_UP || key == TUI_KEY_DOWN || key == TUI_KEY_PAGE_UP ||
           key == TUI_KEY_PAGE_DOWN || key == TUI_KEY_HOME || key == TUI_KEY_END;
}

static unsigned overlay_key(struct tui_state *state, int key)
{
    enum tui_overlay overlay = state->overlay;
    struct tui_box_state *box = &state->box;
    if (scrolls(key)) {
        tui_move(&box->scroll, key, box->shown, box->total - box->shown);
        return TUI_DO_NOTHING;
    }
    if (overlay == TUI_HELP || overlay == TUI_COPIED)
        return close_box(state, key);
    bool enter = key == TUI_KEY_ENTER && enter_agrees(overlay);
    bool yes = key == 'y' || key == 'Y' || enter;
    bool no =
        key == 'n' || key == 'N' || key == TUI_KEY_ESCAPE || (key == 'q' && overlay == TUI_CONSENT);
    if (!yes && !no)
        return TUI_DO_NOTHING;
    state->overlay = TUI_NO_OVERLAY;
    return yes ? agreed(state, overlay) : overlay == TUI_CONSENT ? TUI_DO_REFUSE : TUI_DO_NOTHING;
}

unsigned tui_go_to(struct tui_state *state, enum tui_screen screen)
{
    const char *why = NULL;
    if (screen == TUI_START && state->saved_only)
        why = "this is a saved run; start tightlink without a file for a new one";
    else if (screen == TUI_START && state->run.active)
        why = "a diagnosis is running: ^C stops it and keeps what it has";
    else if (screen == TUI_RUN && !state->run.stage_count && !state->run.active)
        why = "nothing has run yet";
    else if (screen == TUI_WATCH && state->saved_only)
        why = "this is a saved run; `tightlink live` shows transfers that run now";
    else if (screen == TUI_PACKETS && !state->packets.file[0])
        why = "no capture is open: `tightlink pcap FILE` shows one";
    else if (screen > TUI_RUN && screen < TUI_WATCH && screen != TUI_HISTORY && !state->result)
        why =
            state->run.active ? "the verdict comes when the run has ended" : "nothing has run yet";
    else if (screen == TUI_EXPORT && !state->result->findings)
        why = "there is no verdict to hand on";
    if (why) {
        snprintf(state->message, sizeof state->message, "%s", why);
        return TUI_DO_NOTHING;
    }
    state->screen = screen;
    state->page = (struct tui_page_state){0};
    return screen == TUI_HISTORY  ? TUI_DO_LIST
           : screen == TUI_EXPORT ? TUI_DO_PREVIEW
           : screen == TUI_WATCH  ? TUI_DO_WATCH
                                  : TUI_DO_NOTHING;
}

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
    switch (state->screen) {
    case TUI_START:
        return 0;
    case TUI_WATCH:
        return state->saved_only ? 0 : TUI_START;
    case TUI_PACKETS:
        return 0;
    case TUI_VERDICT:
        return state->from_packets ? TUI_PACKETS
               : state->from_watch ? TUI_WATCH
               : state->saved_only ? 0
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

unsigned tui_interrupt(struct tui_state *state, int key)
{
    if (!state->run.active || state->run.stopping)
        return TUI_DO_QUIT;
    state->overlay = TUI_NO_OVERLAY;
    return TUI_DO_STOP;
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

/* --- dispatch --- */

/* Keys that are taken whatever is asked or typed. */
static bool is_urgent(const struct tui_state *state, int key)
{
    bool answer = state->overlay == TUI_CONSENT || state->overlay == TUI_ASK_STOP;
    return key == TUI_KEY_INTERRUPT || key == 'L' - 64 || (key == TUI_KEY_QUIT && !answer);
}

static bool is_text(const struct tui_state *state, int key)
{
    return tui_start_is_typing(state) && key >= ' ' && key < TUI_KEY_UP && key != '?';
}

static unsigned bound_key(struct tui_state *state, int key)
{
    const struct tui_binding *here = tui_binding_find(tui_bindings_here(state), key);
    const struct tui_binding *binding = here ? here : tui_binding_find(tui_everywhere_keys, key);
    if (binding)
        return binding->act(state, key);
    if (key > ' ' && key < TUI_KEY_UP)
        snprintf(state->message, sizeof state->message,
                 "that key does nothing here; F1 shows "
                 "those that do");
    return TUI_DO_NOTHING;
}

unsigned tui_state_key(struct tui_state *state, int key)
{
    state->message[0] = '\0';
    if (is_urgent(state, key)) {
        if (key == TUI_KEY_QUIT) {
            state->overlay = TUI_NO_OVERLAY;
            state->prompt = TUI_NO_PROMPT;
        }
        return tui_binding_find(tui_everywhere_keys, key)->act(state, key);
    }
    if (state->overlay != TUI_NO_OVERLAY)
        return overlay_key(state, key);
    state->box.scroll = 0;
    if (state->prompt != TUI_NO_PROMPT)
        return tui_prompt_key(state, key);
    if (tui_start_is_typing(state) && key == 'H' - 64)
        key = TUI_KEY_HELP;
    return is_text(state, key) ? tui_start_text(state, key) : bound_key(state, key);
}
