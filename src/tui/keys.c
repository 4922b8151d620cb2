/* Keys: questions, and what is the same everywhere. What a key means, and at which place it is
 * taken, stands in keymap.c and in the tables of the other keys*.c. */
#include "keys.h"

#include <stdio.h>

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
