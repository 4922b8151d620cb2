/* The one table of keys: what each means, everywhere. */
#include "keymap.h"

static const struct tui_meaning meanings[TUI_MEANINGS] = {
    [TUI_MEANS_HELP] = {"F1, ?", {TUI_KEY_HELP, '?'}},
    [TUI_MEANS_QUIT] = {"F10, q", {TUI_KEY_QUIT, 'q', 'Q'}},
    [TUI_MEANS_BACK] = {"Esc", {TUI_KEY_ESCAPE}},
    [TUI_MEANS_STOP] = {"^C", {TUI_KEY_INTERRUPT}},
    [TUI_MEANS_SCREEN] = {"1 to 8", {'1', '2', '3', '4', '5', '6', '7', '8'}},
    [TUI_MEANS_REDRAW] = {"^L", {'L' - 64}},
    [TUI_MEANS_MOVE] = {"up/dn",
                        {TUI_KEY_UP, TUI_KEY_DOWN, TUI_KEY_PAGE_UP, TUI_KEY_PAGE_DOWN, TUI_KEY_HOME,
                         TUI_KEY_END, 'k', 'j'}},
    [TUI_MEANS_ASIDE] = {"left/right", {TUI_KEY_LEFT, TUI_KEY_RIGHT}},
    [TUI_MEANS_FARTHER] = {"< >", {'<', '>'}},
    [TUI_MEANS_ENTER] = {"Enter", {TUI_KEY_ENTER}},
    [TUI_MEANS_FIELD] = {"Tab", {TUI_KEY_TAB, TUI_KEY_BACK_TAB}},
    [TUI_MEANS_CHANGE] = {"Space", {' '}},
    [TUI_MEANS_RECENT] = {"^N", {'N' - 64}},
    [TUI_MEANS_KEY] = {"^K", {'K' - 64}},
    [TUI_MEANS_LIVE] = {"^W", {'W' - 64}},
    [TUI_MEANS_ERASE] = {"Backspace", {TUI_KEY_BACKSPACE}},
    [TUI_MEANS_COPY] = {"y", {'y'}},
    [TUI_MEANS_TRY] = {"v", {'v'}},
    [TUI_MEANS_PLAIN] = {"x", {'x'}},
    [TUI_MEANS_EXPORT] = {"e", {'e'}},
    [TUI_MEANS_TICKET] = {"t", {'t'}},
    [TUI_MEANS_WHY_NOT] = {"w", {'w'}},
    [TUI_MEANS_NEXT_CAUSE] = {"n", {'n'}},
    [TUI_MEANS_SAVE] = {"s", {'s'}},
    [TUI_MEANS_PART] = {"l i f", {'l', 'i', 'f'}},
    [TUI_MEANS_GRAPH] = {"g", {'g'}},
    [TUI_MEANS_FLOWS] = {"o", {'o'}},
    [TUI_MEANS_MASK] = {"m", {'m'}},
    [TUI_MEANS_MASKS] = {"M", {'M'}},
    [TUI_MEANS_FILTER] = {"/", {'/'}},
    [TUI_MEANS_FREEZE] = {"z", {'z'}},
    [TUI_MEANS_PAUSE] = {"p", {'p'}},
    [TUI_MEANS_SKIP] = {"S", {'S'}},
    [TUI_MEANS_MEASURE] = {"r", {'r', 'd'}},
    [TUI_MEANS_BUDGET] = {"+", {'+'}},
    [TUI_MEANS_CAPTURE] = {"c", {'c'}},
    [TUI_MEANS_ADD_TO] = {"#", {'#'}},
    [TUI_MEANS_CURL] = {"P", {'P'}},
    [TUI_MEANS_MARK] = {"a/b", {'a', 'b'}},
    [TUI_MEANS_NOTE] = {"N", {'N'}},
    [TUI_MEANS_TAG] = {"T", {'T'}},
    [TUI_MEANS_DELETE] = {"D", {'D'}},
};

const struct tui_meaning *tui_meaning(enum tui_means means)
{
    return &meanings[means];
}

enum tui_means tui_meaning_of(int key)
{
    for (int means = 1; means < TUI_MEANINGS && key != TUI_KEY_NONE; means++)
        for (const int *at = meanings[means].keys; *at != TUI_KEY_NONE; at++)
            if (*at == key)
                return (enum tui_means)means;
    return TUI_MEANS_NOTHING;
}

const struct tui_binding *tui_binding_find(const struct tui_binding *bindings, int key)
{
    enum tui_means means = tui_meaning_of(key);
    for (; means != TUI_MEANS_NOTHING && bindings->means != TUI_MEANS_NOTHING; bindings++)
        if (bindings->means == means)
            return bindings;
    return NULL;
}

bool tui_binding_is_offered(const struct tui_binding *binding, const struct tui_state *state)
{
    return !binding->offered || binding->offered(state);
}

/* --- places --- */

static const struct tui_binding *of_page(enum tui_page kind)
{
    switch (kind) {
    case TUI_PAGE_SIMPLE:
        return tui_simple_keys;
    case TUI_PAGE_ENGINEER:
        return tui_engineer_keys;
    case TUI_PAGE_CAUSES:
        return tui_causes_keys;
    case TUI_PAGE_CAUSE:
    case TUI_PAGE_FINDING:
        return tui_cause_keys;
    case TUI_PAGE_STAGE:
        return tui_stage_keys;
    case TUI_PAGE_WATCH:
        return tui_transfer_keys;
    case TUI_PAGE_PACKETS:
        return tui_connection_keys;
    default:
        return tui_page_keys;
    }
}

const struct tui_binding *tui_bindings_here(const struct tui_state *state)
{
    if (state->prompt != TUI_NO_PROMPT)
        return tui_prompt_keys;
    if (state->page.kind != TUI_NO_PAGE)
        return of_page(state->page.kind);
    switch (state->screen) {
    case TUI_START:
        return tui_start_keys;
    case TUI_RUN:
        return state->run.active ? tui_run_keys : tui_ended_keys;
    case TUI_VERDICT:
        return tui_verdict_keys;
    case TUI_PATH:
        return tui_path_keys;
    case TUI_HISTORY:
        return tui_history_keys;
    case TUI_EXPORT:
        return state->leaving.to ? tui_ticket_keys : tui_export_keys;
    case TUI_WATCH:
        return tui_watch_keys;
    case TUI_PACKETS:
        return tui_packets_keys;
    }
    return tui_page_keys;
}

const struct tui_binding *tui_bindings_everywhere(void)
{
    return tui_everywhere_keys;
}

/* --- help --- */

static void add_lines(const struct tui_state *state, const struct tui_binding *binding,
                      struct tl_buf *out)
{
    for (; binding->means != TUI_MEANS_NOTHING; binding++)
        if (binding->help && tui_binding_is_offered(binding, state))
            tl_buf_addf(out, "  %-10s %s\n", meanings[binding->means].name, binding->help);
}

void tui_help_text(const struct tui_state *state, struct tl_buf *out)
{
    tl_buf_adds(out, "Here\n");
    add_lines(state, tui_bindings_here(state), out);
    tl_buf_adds(out, "\nEverywhere\n");
    add_lines(state, tui_bindings_everywhere(), out);
    tl_buf_adds(out, "\nMarks\n"
                     "  (!) limits   ok  all is well   -- not tested\n"
                     "  (?) cannot tell   (x) failed\n");
}
