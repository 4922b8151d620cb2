/* Keys of the history and export screens. */
#include <stdio.h>
#include <string.h>

#include "keys.h"

static void say(struct tui_state *state, const char *text)
{
    snprintf(state->message, sizeof state->message, "%s", text);
}

/* Marks the selected run as one of the two; marking it again takes the mark away. */
static unsigned mark(struct tui_state *state, char *mine, char *other)
{
    const struct tl_history_run *run = tui_state_stored(state);
    struct tui_history *history = &state->history;
    if (!run)
        return TUI_DO_NOTHING;
    bool same = strcmp(mine, run->id) == 0;
    snprintf(mine, TL_HISTORY_ID_SIZE, "%.26s", same ? "" : run->id);
    if (strcmp(other, run->id) == 0)
        other[0] = '\0';
    history->comparison = NULL;
    history->scroll = 0;
    if (history->a[0] && history->b[0])
        return TUI_DO_COMPARE;
    say(state,
        mine[0] ? "now the other one: a and b mark two runs to compare" : "the mark is taken away");
    return TUI_DO_NOTHING;
}

static unsigned history_key(struct tui_state *state, int key)
{
    struct tui_history *history = &state->history;
    const struct tl_history_run *run = tui_state_stored(state);
    int count = history->list ? (int)history->list->count : 0;
    switch (key) {
    case 'a':
        return mark(state, history->a, history->b);
    case 'b':
        return mark(state, history->b, history->a);
    case '/':
        tui_prompt_open(state, TUI_ASK_FILTER, history->filter);
        return TUI_DO_NOTHING;
    case 's':
        if (history->comparison)
            return TUI_DO_PAIR;
        say(state, "mark two runs with a and b first; Enter, then e exports one alone");
        return TUI_DO_NOTHING;
    case '<':
    case '>':
        history->scroll += key == '<' ? -1 : 1;
        history->scroll = history->scroll < 0 ? 0 : history->scroll;
        return TUI_DO_NOTHING;
    case TUI_KEY_ESCAPE:
        if (history->filter[0]) {
            history->filter[0] = '\0';
            history->selected = 0;
            return TUI_DO_LIST;
        }
        if (!history->a[0] && !history->b[0])
            return tui_step_back(state);
        history->a[0] = history->b[0] = '\0';
        history->comparison = NULL;
        return TUI_DO_NOTHING;
    default:
        break;
    }
    if (run && key == 'N')
        tui_prompt_open(state, TUI_ASK_NOTE, run->note);
    else if (run && key == 'T')
        tui_prompt_open(state, TUI_ASK_TAG, "");
    else if (run && key == 'D')
        state->overlay = TUI_ASK_DELETE;
    else if (run && key == TUI_KEY_ENTER && !state->run.active)
        return TUI_DO_OPEN;
    else if (key == TUI_KEY_ENTER && state->run.active)
        say(state, "a diagnosis is running: its verdict comes first");
    else if (key == 'g')
        history->graph = !history->graph;
    else
        tui_move(&history->selected, key, state->rows_shown, count - 1);
    return TUI_DO_NOTHING;
}

/* The next place to which it could go: file and clipboard, then each system. */
static unsigned next_target(struct tui_state *state)
{
    struct tui_export *leaving = &state->leaving;
    if (!leaving->target_count) {
        say(state, leaving->no_targets[0] ? leaving->no_targets
                                          : "tightlink.conf names no ticket system "
                                            "(doc/tickets.md has examples)");
        return TUI_DO_NOTHING;
    }
    leaving->to = (leaving->to + 1) % (leaving->target_count + 1);
    leaving->comment_on[0] = leaving->answer[0] = '\0';
    leaving->scroll = 0;
    return TUI_DO_PREVIEW;
}

/* Keys that only a ticket system has. */
static unsigned ticket_key(struct tui_state *state, int key)
{
    struct tui_export *leaving = &state->leaving;
    const struct tui_target *target = &leaving->targets[leaving->to - 1];
    if (key == 'P')
        return TUI_DO_CURL;
    if (leaving->sending)
        say(state, "the answer to the last one has not come yet");
    else if (key == 'c' && strcmp(target->system, "webhook") == 0)
        say(state, "a webhook has no tickets to add to");
    else if (key == 'c')
        tui_prompt_open(state, TUI_ASK_COMMENT_ON, leaving->comment_on);
    else if (leaving->text)
        state->overlay = TUI_ASK_SEND;
    return TUI_DO_NOTHING;
}

static unsigned export_key(struct tui_state *state, int key)
{
    struct tui_export *leaving = &state->leaving;
    if (leaving->to && (key == TUI_KEY_ENTER || key == 'c' || key == 'P'))
        return ticket_key(state, key);
    if (leaving->to && (key == TUI_KEY_LEFT || key == TUI_KEY_RIGHT || key == TUI_KEY_TAB))
        return TUI_DO_NOTHING; /* a system takes its own forms */
    int count = TL_EXPORT_FORMAT_COUNT, at = (int)leaving->format;
    switch (key) {
    case TUI_KEY_LEFT:
    case TUI_KEY_RIGHT:
    case TUI_KEY_TAB:
        at = (at + (key == TUI_KEY_LEFT ? count - 1 : 1)) % count;
        leaving->format = (enum tl_export_format)at;
        leaving->scroll = 0;
        return TUI_DO_PREVIEW;
    case 't':
        return next_target(state);
    case 'm':
        leaving->unmasked = !leaving->unmasked;
        say(state, leaving->unmasked ? "names and addresses leave as they are"
                                     : "names and addresses are masked");
        return TUI_DO_PREVIEW;
    case 'M':
        tui_page_open(state, TUI_PAGE_MASKS, 0);
        return TUI_DO_NOTHING;
    case 's':
        return TUI_DO_WRITE;
    case 'y':
        return TUI_DO_CLIP;
    case TUI_KEY_ESCAPE:
        return tui_step_back(state);
    default:
        tui_move(&leaving->scroll, key, leaving->shown, leaving->total - leaving->shown);
        return TUI_DO_NOTHING;
    }
}

unsigned tui_store_key(struct tui_state *state, int key)
{
    return state->screen == TUI_HISTORY ? history_key(state, key) : export_key(state, key);
}
