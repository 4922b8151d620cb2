/* Keys of the line that asks for text. */
#include <stdio.h>
#include <string.h>

#include "keys.h"
#include "tightlink/base/units.h"

void tui_text_add(char *text, size_t size, uint32_t character)
{
    char bytes[4];
    size_t used = strlen(text);
    if (!tl_utf8_is_printable(character))
        return;
    size_t len = tl_utf8_encode(character, bytes);
    if (used + len >= size)
        return;
    memcpy(text + used, bytes, len);
    text[used + len] = '\0';
}

void tui_text_remove(char *text)
{
    size_t len = strlen(text);
    while (len && ((unsigned char)text[--len] & 0xc0) == 0x80)
        continue;
    text[len] = '\0';
}

void tui_prompt_open(struct tui_state *state, enum tui_prompt prompt, const char *text)
{
    state->prompt = prompt;
    snprintf(state->prompt_text, sizeof state->prompt_text, "%s", text);
}

/* "2GB", "20s" or both: what a running session may still use. */
static unsigned take_budget(struct tui_state *state)
{
    struct tui_progress_state *run = &state->run;
    struct tl_error error = {0};
    char text[TUI_TEXT_SIZE], *rest = NULL;
    snprintf(text, sizeof text, "%s", state->prompt_text);
    run->new_ns = run->new_bytes = 0;
    for (char *word = strtok_r(text, ",;", &rest); word; word = strtok_r(NULL, ",;", &rest)) {
        int64_t number;
        if (tl_parse_bytes(word, &number, &error) == TL_OK && number > 0)
            run->new_bytes = number;
        else if (tl_parse_ns(word, &number, &error) == TL_OK && number > 0)
            run->new_ns = number;
        else {
            snprintf(state->message, sizeof state->message,
                     "\"%.60s\" is no budget: write 2GB, or 20s, or 2GB, 20s", word);
            return TUI_DO_NOTHING;
        }
    }
    if (!run->new_ns && !run->new_bytes)
        return TUI_DO_NOTHING;
    if ((run->worst_bytes > 0 && run->new_bytes > run->worst_bytes) ||
        (run->worst_ns > 0 && (double)run->new_ns > run->worst_ns)) {
        state->overlay = TUI_ASK_MORE;
        return TUI_DO_NOTHING;
    }
    return TUI_DO_BUDGET;
}

/* The filter and the selected row of the list that is shown. */
static char *filter_here(struct tui_state *state, int **ret_selected)
{
    bool page = state->page.kind != TUI_NO_PAGE;
    if (!page && state->screen == TUI_HISTORY) {
        *ret_selected = &state->history.selected;
        return state->history.filter;
    }
    struct tui_list *list = state->page.kind == TUI_PAGE_CAUSES     ? &state->causes
                            : !page && state->screen == TUI_WATCH   ? &state->watch.list
                            : !page && state->screen == TUI_PACKETS ? &state->packets.list
                                                                    : &state->hops;
    *ret_selected = &list->selected;
    return list->filter;
}

unsigned tui_filter(struct tui_state *state, int key)
{
    int *selected;
    tui_prompt_open(state, TUI_ASK_FILTER, filter_here(state, &selected));
    return TUI_DO_NOTHING;
}

static unsigned take_filter(struct tui_state *state)
{
    int *selected;
    char *filter = filter_here(state, &selected);
    snprintf(filter, TUI_FILTER_SIZE, "%.63s", state->prompt_text);
    *selected = 0;
    return filter == state->history.filter ? TUI_DO_LIST : TUI_DO_NOTHING;
}

static unsigned accept(struct tui_state *state, enum tui_prompt prompt)
{
    switch (prompt) {
    case TUI_ASK_BUDGET:
        return take_budget(state);
    case TUI_ASK_NOTE:
        return TUI_DO_NOTE;
    case TUI_ASK_TAG:
        return state->prompt_text[0] ? TUI_DO_TAG : TUI_DO_NOTHING;
    case TUI_ASK_COMMENT_ON:
        snprintf(state->leaving.comment_on, sizeof state->leaving.comment_on, "%.63s",
                 state->prompt_text + (state->prompt_text[0] == '#'));
        state->leaving.answer[0] = '\0';
        return TUI_DO_NOTHING;
    default:
        return TUI_DO_NOTHING;
    }
}

unsigned tui_prompt_key(struct tui_state *state, int key)
{
    enum tui_prompt prompt = state->prompt;
    if (key == TUI_KEY_ESCAPE) {
        state->prompt = TUI_NO_PROMPT;
        state->prompt_text[0] = '\0';
        return prompt == TUI_ASK_FILTER ? take_filter(state) : TUI_DO_NOTHING; /* all again */
    }
    if (key == TUI_KEY_ENTER) {
        state->prompt = TUI_NO_PROMPT;
        return accept(state, prompt);
    }
    if (key == TUI_KEY_BACKSPACE)
        tui_text_remove(state->prompt_text);
    else if (key >= ' ' && key < TUI_KEY_UP)
        tui_text_add(state->prompt_text,
                     prompt == TUI_ASK_FILTER ? TUI_FILTER_SIZE : sizeof state->prompt_text,
                     (uint32_t)key);
    return prompt == TUI_ASK_FILTER ? take_filter(state) : TUI_DO_NOTHING;
}

const struct tui_binding tui_prompt_keys[] = {
    {TUI_MEANS_ENTER, "take it", "take what was typed", tui_prompt_key, NULL},
    {TUI_MEANS_BACK, "drop it", "drop it", tui_prompt_key, NULL},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};
