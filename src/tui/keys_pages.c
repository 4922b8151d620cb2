/* Keys of pages: one thing in detail over a screen. */

#include "keys.h"

static unsigned scroll(struct tui_state *state, int key)
{
    struct tui_page_state *page = &state->page;
    tui_move(&page->scroll, key, page->shown, page->total - page->shown);
    return TUI_DO_NOTHING;
}

const struct tui_binding tui_page_keys[] = {
    {TUI_MEANS_MOVE, "scroll", "scroll; PgUp, PgDn, Home, End too", scroll, NULL},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};

/* --- the verdict, told otherwise --- */

/* Plain words, and all of it: x goes from the one to the other. */
static unsigned turn_words(struct tui_state *state, int key)
{
    bool plain = state->page.kind == TUI_PAGE_SIMPLE;
    state->page =
        (struct tui_page_state){.kind = plain ? TUI_PAGE_ENGINEER : TUI_PAGE_SIMPLE, .cursor = -1};
    return TUI_DO_NOTHING;
}

/* What is done with a verdict is done where it is read, too. */
#define OF_THE_VERDICT                                                                             \
    {TUI_MEANS_COPY, "copy fix", "copy the fix; again: the next one", tui_copy_fix,                \
     tui_has_own_fix},                                                                             \
        {TUI_MEANS_COPY, "copy request", "copy what to ask for; again: the next one",              \
         tui_copy_fix, tui_has_request},                                                           \
        {TUI_MEANS_TRY, NULL, "try the fix; changes no setting", tui_try_fix, tui_can_try},        \
        {TUI_MEANS_TICKET, "ticket", "to a ticket system", tui_ticket, NULL},                      \
        {TUI_MEANS_EXPORT, NULL, "hand this run on", tui_export, NULL},                            \
    {                                                                                              \
        TUI_MEANS_SAVE, NULL, "save this run into a file here", tui_save, NULL                     \
    }

const struct tui_binding tui_simple_keys[] = {
    {TUI_MEANS_PLAIN, "for an engineer", "for an engineer: the whole judgement", turn_words, NULL},
    OF_THE_VERDICT,
    {TUI_MEANS_WHY_NOT, NULL, "why not the other causes", tui_why_not, NULL},
    {TUI_MEANS_MOVE, "scroll", "scroll; PgUp, PgDn, Home, End too", scroll, NULL},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};

const struct tui_binding tui_engineer_keys[] = {
    {TUI_MEANS_PLAIN, "in plain words", "in plain words", turn_words, NULL},
    OF_THE_VERDICT,
    {TUI_MEANS_WHY_NOT, NULL, "why not the other causes", tui_why_not, NULL},
    {TUI_MEANS_MOVE, "scroll", "scroll; PgUp, PgDn, Home, End too", scroll, NULL},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};

const struct tui_binding tui_cause_keys[] = {
    {TUI_MEANS_NEXT_CAUSE, "next cause", "the next cause that was found", tui_next, tui_has_next},
    {TUI_MEANS_MOVE, "scroll", "scroll; PgUp, PgDn, Home, End too", scroll, NULL},
    OF_THE_VERDICT,
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};

/* --- the list of causes --- */

static unsigned open_cause(struct tui_state *state, int key)
{
    size_t index[TUI_LIST_MAX];
    if (state->causes.selected >= (int)tui_list_causes(state, index))
        return TUI_DO_NOTHING;
    size_t at = index[state->causes.selected];
    bool found = state->result->findings->findings[at].result == TL_FOUND;
    tui_page_open(state, found ? TUI_PAGE_FINDING : TUI_PAGE_CAUSE, at);
    return TUI_DO_NOTHING;
}

static unsigned select_cause(struct tui_state *state, int key)
{
    size_t index[TUI_LIST_MAX];
    tui_move(&state->causes.selected, key, state->page.shown,
             (int)tui_list_causes(state, index) - 1);
    return TUI_DO_NOTHING;
}

const struct tui_binding tui_causes_keys[] = {
    {TUI_MEANS_ENTER, "why not", "why it is not, or what was found", open_cause, NULL},
    {TUI_MEANS_FILTER, "filter", "filter by words", tui_filter, NULL},
    {TUI_MEANS_MOVE, "cause", "another cause", select_cause, NULL},
    OF_THE_VERDICT,
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};

/* --- one stage's samples --- */

static unsigned move_cursor(struct tui_state *state, int key)
{
    return tui_move_cursor(state, key, state->run.stages[state->page.index].samples.count);
}

const struct tui_binding tui_stage_keys[] = {
    {TUI_MEANS_ASIDE, "cursor", "the cursor, a reading at once", move_cursor, NULL},
    {TUI_MEANS_FARTHER, "faster", "the cursor, ten readings at once", move_cursor, NULL},
    {TUI_MEANS_MOVE, "scroll", "scroll; PgUp, PgDn, Home, End too", scroll, NULL},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};
