/* Keys of the history and export screens. */
#include <stdio.h>
#include <string.h>

#include "keys.h"

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
    tui_say(state, mine[0] ? "now the other one: a and b mark two runs to compare"
                           : "the mark is taken away");
    return TUI_DO_NOTHING;
}

static unsigned mark_run(struct tui_state *state, int key)
{
    struct tui_history *history = &state->history;
    return key == 'a' ? mark(state, history->a, history->b) : mark(state, history->b, history->a);
}

static unsigned save_pair(struct tui_state *state, int key)
{
    if (state->history.comparison)
        return TUI_DO_PAIR;
    tui_say(state, "mark two runs with a and b first; Enter, then e exports one alone");
    return TUI_DO_NOTHING;
}

static bool has_pair(const struct tui_state *state)
{
    return state->history.comparison != NULL;
}

static unsigned scroll_pair(struct tui_state *state, int key)
{
    struct tui_history *history = &state->history;
    history->scroll += key == '<' ? -1 : 1;
    history->scroll = history->scroll < 0 ? 0 : history->scroll;
    return TUI_DO_NOTHING;
}

static bool has_run(const struct tui_state *state)
{
    return tui_state_stored(state) != NULL;
}

static unsigned open_run(struct tui_state *state, int key)
{
    if (state->run.active)
        tui_say(state, "a diagnosis is running: its verdict comes first");
    else if (has_run(state))
        return TUI_DO_OPEN;
    return TUI_DO_NOTHING;
}

static unsigned ask_note(struct tui_state *state, int key)
{
    if (has_run(state))
        tui_prompt_open(state, TUI_ASK_NOTE, tui_state_stored(state)->note);
    return TUI_DO_NOTHING;
}

static unsigned ask_tag(struct tui_state *state, int key)
{
    if (has_run(state))
        tui_prompt_open(state, TUI_ASK_TAG, "");
    return TUI_DO_NOTHING;
}

static unsigned ask_delete(struct tui_state *state, int key)
{
    if (has_run(state))
        state->overlay = TUI_ASK_DELETE;
    return TUI_DO_NOTHING;
}

static unsigned turn_graph(struct tui_state *state, int key)
{
    state->history.graph = !state->history.graph;
    return TUI_DO_NOTHING;
}

static unsigned select_run(struct tui_state *state, int key)
{
    struct tui_history *history = &state->history;
    tui_move(&history->selected, key, state->rows_shown,
             (history->list ? (int)history->list->count : 0) - 1);
    return TUI_DO_NOTHING;
}

const struct tui_binding tui_history_keys[] = {
    {TUI_MEANS_ENTER, "open", "open it, judged by the rules of today", open_run, has_run},
    {TUI_MEANS_MARK, "mark two", "mark two runs and compare them", mark_run, has_run},
    {TUI_MEANS_SAVE, "save pair", "save the comparison, masked", save_pair, has_pair},
    {TUI_MEANS_FARTHER, NULL, "scroll the comparison", scroll_pair, has_pair},
    {TUI_MEANS_GRAPH, "graph", "the rates over time", turn_graph, has_run},
    {TUI_MEANS_FILTER, "filter", "filter by server, verdict, note, tag", tui_filter, NULL},
    {TUI_MEANS_NOTE, "note", "a note on the selected run", ask_note, has_run},
    {TUI_MEANS_TAG, "tag", "a tag on the selected run", ask_tag, has_run},
    {TUI_MEANS_DELETE, "delete", "delete it, after a question", ask_delete, has_run},
    {TUI_MEANS_MOVE, NULL, "another run", select_run, has_run},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};

/* --- export --- */

/* The next place to which it could go: file and clipboard, then each system. */
static unsigned next_target(struct tui_state *state, int key)
{
    struct tui_export *leaving = &state->leaving;
    if (!leaving->target_count) {
        tui_say(state, leaving->no_targets[0] ? leaving->no_targets
                                              : "tightlink.conf names no ticket system "
                                                "(doc/tickets.md has examples)");
        return TUI_DO_NOTHING;
    }
    leaving->to = (leaving->to + 1) % (leaving->target_count + 1);
    leaving->comment_on[0] = leaving->answer[0] = '\0';
    leaving->scroll = 0;
    return TUI_DO_PREVIEW;
}

static unsigned next_form(struct tui_state *state, int key)
{
    struct tui_export *leaving = &state->leaving;
    int count = TL_EXPORT_FORMAT_COUNT, by = key == TUI_KEY_LEFT ? count - 1 : 1;
    leaving->format = (enum tl_export_format)(((int)leaving->format + by) % count);
    leaving->scroll = 0;
    return TUI_DO_PREVIEW;
}

static unsigned mask(struct tui_state *state, int key)
{
    struct tui_export *leaving = &state->leaving;
    leaving->unmasked = !leaving->unmasked;
    tui_say(state, leaving->unmasked ? "names and addresses leave as they are"
                                     : "names and addresses are masked");
    return TUI_DO_PREVIEW;
}

static unsigned list_masks(struct tui_state *state, int key)
{
    tui_page_open(state, TUI_PAGE_MASKS, 0);
    return TUI_DO_NOTHING;
}

static unsigned write_file(struct tui_state *state, int key)
{
    return TUI_DO_WRITE;
}

static unsigned copy(struct tui_state *state, int key)
{
    return TUI_DO_CLIP;
}

static unsigned scroll(struct tui_state *state, int key)
{
    struct tui_export *leaving = &state->leaving;
    tui_move(&leaving->scroll, key, leaving->shown, leaving->total - leaving->shown);
    return TUI_DO_NOTHING;
}

const struct tui_binding tui_export_keys[] = {
    {TUI_MEANS_SAVE, "save", "save it as a file", write_file, NULL},
    {TUI_MEANS_COPY, "copy", "copy it to the clipboard", copy, NULL},
    {TUI_MEANS_TICKET, "ticket", "to a ticket system instead", next_target, NULL},
    {TUI_MEANS_ASIDE, "form", "form: text, JSON ...", next_form, NULL},
    {TUI_MEANS_MASK, "mask", "mask names and addresses, or do not", mask, NULL},
    {TUI_MEANS_MASKS, "masks", "list the masks", list_masks, NULL},
    {TUI_MEANS_MOVE, NULL, "scroll what would leave, word for word", scroll, NULL},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};

/* --- to a ticket system --- */

static bool is_webhook(const struct tui_state *state)
{
    const struct tui_export *leaving = &state->leaving;
    return leaving->to && strcmp(leaving->targets[leaving->to - 1].system, "webhook") == 0;
}

static bool takes_comments(const struct tui_state *state)
{
    return !is_webhook(state);
}

static unsigned show_curl(struct tui_state *state, int key)
{
    return TUI_DO_CURL;
}

/* One sending at a time. */
static bool is_sending(struct tui_state *state)
{
    if (state->leaving.sending)
        tui_say(state, "the answer to the last one has not come yet");
    return state->leaving.sending;
}

static unsigned add_to(struct tui_state *state, int key)
{
    if (is_sending(state))
        return TUI_DO_NOTHING;
    if (is_webhook(state))
        tui_say(state, "a webhook has no tickets to add to");
    else
        tui_prompt_open(state, TUI_ASK_COMMENT_ON, state->leaving.comment_on);
    return TUI_DO_NOTHING;
}

static unsigned ask_send(struct tui_state *state, int key)
{
    if (!is_sending(state) && state->leaving.text)
        state->overlay = TUI_ASK_SEND;
    return TUI_DO_NOTHING;
}

const struct tui_binding tui_ticket_keys[] = {
    {TUI_MEANS_ENTER, "send", "send it, after a question", ask_send, NULL},
    {TUI_MEANS_TICKET, "to another", "to the next system, or a file", next_target, NULL},
    {TUI_MEANS_ADD_TO, "add to one", "add it to a ticket that is there", add_to, takes_comments},
    {TUI_MEANS_MASK, "mask", "mask names and addresses, or do not", mask, NULL},
    {TUI_MEANS_MASKS, "masks", "list the masks", list_masks, NULL},
    {TUI_MEANS_SAVE, "save", "save it as a file", write_file, NULL},
    {TUI_MEANS_COPY, "copy", "copy it to the clipboard", copy, NULL},
    {TUI_MEANS_CURL, "as curl", "what is sent, as commands for curl", show_curl, NULL},
    {TUI_MEANS_MOVE, NULL, "scroll what would leave, word for word", scroll, NULL},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};
