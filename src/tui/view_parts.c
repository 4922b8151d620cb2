/* What several views draw alike: rows of lists, the verdict in a line, the keys. */
#include <stdio.h>
#include <string.h>

#include "keymap.h"
#include "keys.h"
#include "view.h"
#include "zones.h"

const char *tui_verdict_mark(enum tl_verdict_state state, enum tui_ink *ret_ink)
{
    static const struct {
        const char *mark;
        enum tui_ink ink;
    } marks[] = {[TL_LIMITED] = {"(!) ", TUI_BAD},
                 [TL_GOAL_MET] = {"ok  ", TUI_GOOD},
                 [TL_INCONCLUSIVE] = {"(?) ", TUI_BOLD},
                 [TL_VERDICT_INVALID] = {"(x) ", TUI_BAD}};
    *ret_ink = marks[state].ink;
    return marks[state].mark;
}

const char *tui_verdict_sentence(const struct tl_session_result *result)
{
    const struct tl_findings *findings = result->findings;
    if (result->status != TL_OK && result->error.text[0])
        return result->error.text;
    if (findings && findings->verdict.sentence)
        return findings->verdict.sentence;
    return result->status == TL_OK ? "No verdict was formed." : tl_status_text(result->status);
}

const char *tui_verdict_headline(const struct tl_session_result *result,
                                 char ret_text[TUI_HEADLINE_SIZE])
{
    struct tl_buf text = TL_BUF_INIT;
    bool judged = result->findings && (result->status == TL_OK || result->status == TL_CANCELLED ||
                                       !result->error.text[0]);
    if (judged)
        tl_report_headline(&result->run, result->facts, result->findings, &text);
    snprintf(ret_text, TUI_HEADLINE_SIZE, "%s",
             text.len ? tl_buf_text(&text) : tui_verdict_sentence(result));
    tl_buf_finish(&text);
    return ret_text;
}

/* "y copy fix", where it is offered and has a place in the footer; else nothing. */
static bool hint_of(const struct tui_state *state, const struct tui_binding *binding,
                    char *ret_hint, size_t size)
{
    if (!binding->hint || !tui_binding_is_offered(binding, state))
        return false;
    snprintf(ret_hint, size, "%s %s", tui_meaning(binding->means)->name, binding->hint);
    return true;
}

/* Back, help and the way out, at the right end; returns the column where they begin. */
static int draw_always(const struct tui_state *state, struct tui_grid *grid, int row)
{
    static const struct {
        const char *hint;
        int key;
    } always[] = {
        {"F10 quit", TUI_KEY_QUIT}, {"F1 help", TUI_KEY_HELP}, {"Esc back", TUI_KEY_ESCAPE}};
    bool back = state->prompt == TUI_NO_PROMPT && tui_has_back(state);
    int col = grid->cols - (grid->cols >= TUI_COLS_MIN), count = back ? 3 : 2;
    for (int i = 0; i < count; i++) {
        int columns = (int)strlen(always[i].hint);
        col -= columns;
        (void)tui_put(grid, row, col, columns, TUI_BAR, always[i].hint);
        tui_zone_add(grid, row, col, columns, TUI_ZONE_KEY, always[i].key);
        col -= 2;
    }
    return col;
}

/* Back, help and the way out stand at every size; before them the keys of where one is, as many as
 * fit: those that matter most come first. */
void tui_view_keys(const struct tui_state *state, struct tui_grid *grid, int row)
{
    tui_ink_cells(grid, row, 0, grid->cols, TUI_BAR);
    int room = draw_always(state, grid, row), col = 1;
    const struct tui_binding *binding = tui_bindings_here(state);
    for (; binding->means != TUI_MEANS_NOTHING; binding++) {
        const int *keys = tui_meaning(binding->means)->keys;
        char hint[64];
        if (!hint_of(state, binding, hint, sizeof hint))
            continue;
        int columns = (int)strlen(hint);
        if (col + columns > room)
            continue;
        if (keys[1] == TUI_KEY_NONE) /* "up/dn hop" names several */
            tui_zone_add(grid, row, col, columns, TUI_ZONE_KEY, keys[0]);
        col += tui_put(grid, row, col, columns, TUI_BAR, hint) + 2;
    }
    tui_ink_cells(grid, row, 0, grid->cols, TUI_BAR);
}

const char *tui_prompt_label(enum tui_prompt prompt)
{
    static const char *const labels[] = {[TUI_ASK_FILTER] = "filter: ",
                                         [TUI_ASK_BUDGET] = "new budget (2GB, or 20s, or both): ",
                                         [TUI_ASK_NOTE] = "note: ",
                                         [TUI_ASK_TAG] = "tag (-tag takes one away): ",
                                         [TUI_ASK_COMMENT_ON] =
                                             "add to ticket (empty: a new one): "};
    return labels[prompt];
}

void tui_select_row(struct tui_grid *grid, int row, int columns)
{
    (void)tui_put(grid, row, 0, 1, TUI_BOLD, ">");
    tui_ink_cells(grid, row, 0, columns, TUI_FOCUS);
}

int tui_list_top(int selected, int rows, int count)
{
    int top = selected - rows / 2;
    if (top > count - rows)
        top = count - rows;
    return top < 0 ? 0 : top;
}

int tui_list_lines(int count, int room, int below)
{
    int lines = room - below - 1 < count ? room - below - 1 : count;
    return lines < 1 ? 1 : lines;
}

int tui_list_below(int room)
{
    return room >= 14 ? room * 3 / 5 : room >= 8 ? 4 : 2;
}
