/* The frame of every screen: tabs, the line that says or asks, keys. */
#include "view.h"

#include <stdio.h>
#include <string.h>

#include "tightlink/base/utf8.h"
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

static void draw_tabs(const struct tui_state *state, struct tui_grid *grid)
{
    static const char *const names[] = {"1 Start",   "2 Run",    "3 Verdict", "4 Path",
                                        "5 History", "6 Export", "7 Live"};
    bool narrow = grid->cols < 78; /* then the others are numbers */
    bool live = state->watch.on || state->screen == TUI_WATCH;
    tui_ink_cells(grid, 0, 0, grid->cols, TUI_BAR);
    int col = live && !narrow && grid->cols < 84
                  ? 0
                  : tui_put(grid, 0, 0, grid->cols, TUI_BAR, " tightlink ");
    for (int i = 0; i < (live ? 7 : 6); i++) {
        bool here = (int)state->screen == i + 1;
        int most = narrow && !here ? 1 : 9;
        int used = tui_putf(grid, 0, col, grid->cols - col, here ? TUI_BOLD : TUI_BAR, "%c%.*s%c",
                            here ? '[' : ' ', most, names[i], here ? ']' : ' ');
        tui_zone_add(grid, 0, col, used, TUI_ZONE_TAB, i + 1);
        col += used;
    }
    tui_zone_add(grid, 0, grid->cols - 7, 7, TUI_ZONE_KEY, '?');
    tui_put_right(grid, 0, col, grid->cols - col, TUI_BAR, "? help ");
}

/* The keys of a place, those first that matter most: what does not fit is left out. */
static const char *const *keys_here(const struct tui_state *state)
{
    static const char *const start[] = {"Enter start", "Tab next", "Space change",
                                        "^W what runs now", NULL};
    static const char *const ended[] = {"Esc back", "up/dn stage", "Enter details", "1 new run",
                                        NULL};
    static const char *const saved[] = {"Esc back", "up/dn stage", "Enter details", NULL};
    static const char *const running[] = {"^C stop and keep", "p pause", "n skip stage",
                                          "r redo",           "d data",  "Enter details",
                                          "z freeze",         NULL};
    static const char *const verdict[] = {"y copy fix",    "v try it",  "x plain",      "e export",
                                          "t ticket",      "w why not", "n next cause", "s save",
                                          "l i f o parts", NULL};
    static const char *const no_fix[] = {"x plain",      "e export", "t ticket",      "w why not",
                                         "n next cause", "s save",   "l i f o parts", NULL};
    static const char *const path[] = {"Esc back", "up/dn hop",     "Enter detail", "g graph",
                                       "/ filter", "o other flows", "m mask names", NULL};
    static const char *const history[] = {"Esc back", "Enter open",  "a/b mark two", "g graph",
                                          "/ filter", "s save pair", "N note",       "T tag",
                                          "D delete", NULL};
    static const char *const leaving[] = {"Esc back", "s save", "t to",    "left/right form",
                                          "y copy",   "m mask", "M masks", NULL};
    static const char *const ticket[] = {"Esc back",  "Enter send", "t to",   "c add to one",
                                         "m mask",    "M masks",    "s save", "y copy",
                                         "P as curl", NULL};
    static const char *const page[] = {"Esc back", "up/dn scroll", NULL};
    static const char *const causes[] = {"Esc back", "Enter why not", "/ filter", "up/dn cause",
                                         NULL};
    static const char *const found[] = {"Esc back", "n next cause", "up/dn scroll", NULL};
    static const char *const simple[] = {"Esc back", "y copy fix",   "x for an engineer",
                                         "t ticket", "up/dn scroll", NULL};
    static const char *const engineer[] = {"Esc back", "x in plain words", "up/dn scroll", NULL};
    static const char *const samples[] = {"Esc back", "left/right cursor", "< > faster",
                                          "up/dn scroll", NULL};
    static const char *const watch[] = {"Enter over time", "r diagnose", "c capture",
                                        "e export",        "/ filter",   "z freeze",
                                        "m mask",          "Esc start",  NULL};
    static const char *const transfer[] = {"Esc back",   "Enter verdict",     "r diagnose",
                                           "c capture",  "left/right cursor", "e export",
                                           "< > faster", "z freeze",          NULL};
    static const char *const typing[] = {"Enter take it", "Esc drop it", NULL};
    const struct tl_finding *finding = tui_state_finding(state);
    bool has_fix = finding && finding->remedy_count;
    if (state->prompt != TUI_NO_PROMPT)
        return typing;
    switch (state->page.kind) {
    case TUI_PAGE_CAUSES:
        return causes;
    case TUI_PAGE_FINDING:
        return found;
    case TUI_PAGE_SIMPLE:
        return has_fix ? simple : page;
    case TUI_PAGE_ENGINEER:
        return engineer;
    case TUI_PAGE_STAGE:
        return samples;
    case TUI_PAGE_WATCH:
        return transfer;
    case TUI_NO_PAGE:
        break;
    default:
        return page;
    }
    switch (state->screen) {
    case TUI_START:
        return start;
    case TUI_RUN:
        return state->run.active ? running : state->saved_only ? saved : ended;
    case TUI_VERDICT:
        return has_fix ? verdict : no_fix;
    case TUI_PATH:
        return path;
    case TUI_HISTORY:
        return history;
    case TUI_EXPORT:
        return state->leaving.to ? ticket : leaving;
    case TUI_WATCH:
        return watch;
    }
    return page;
}

/* Help and the way out stand at every size. */
void tui_view_keys(const struct tui_state *state, struct tui_grid *grid, int row)
{
    static const char always[] = "F1 help  F10 quit ";
    const int columns = (int)sizeof always - 1;
    const char *const *keys = keys_here(state);
    int col = 1, room = grid->cols - columns;
    tui_ink_cells(grid, row, 0, grid->cols, TUI_BAR);
    for (; *keys && col + (int)strlen(*keys) <= room - 1; keys++) {
        tui_zone_hint(grid, row, col, *keys);
        col += tui_put(grid, row, col, room - col, TUI_BAR, *keys) + 2;
    }
    tui_zone_add(grid, row, room, 7, TUI_ZONE_KEY, TUI_KEY_HELP);
    tui_zone_add(grid, row, room + 9, 8, TUI_ZONE_KEY, TUI_KEY_QUIT);
    tui_put_right(grid, row, 0, grid->cols, TUI_BAR, always);
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

/* The line that asks, the message, or nothing but a rule. */
static void draw_message(const struct tui_state *state, struct tui_grid *grid, int row)
{
    if (state->prompt != TUI_NO_PROMPT) {
        int col =
            tui_putf(grid, row, 0, grid->cols, TUI_BOLD, " %s", tui_prompt_label(state->prompt));
        const char *text = state->prompt_text;
        while (*text && (int)tl_utf8_width(text) > grid->cols - col - 2) {
            size_t len = tl_utf8_decode(text, strlen(text), NULL);
            text += len ? len : 1;
        }
        col += tui_put(grid, row, col, grid->cols - col - 1, TUI_PLAIN, text);
        (void)tui_put(grid, row, col, 1, TUI_FOCUS, "_");
    } else if (state->message[0]) {
        (void)tui_putf(grid, row, 0, grid->cols, TUI_BOLD, " > %s", state->message);
    } else {
        tui_rule(grid, row, 0, grid->cols);
    }
}

static void draw_screen(struct tui_state *state, struct tui_grid *grid)
{
    int last = grid->rows - 2;
    draw_tabs(state, grid);
    if (state->page.kind != TUI_NO_PAGE) {
        tui_view_page(state, grid, 1, last);
        draw_message(state, grid, last);
        tui_view_keys(state, grid, last + 1);
        return;
    }
    switch (state->screen) {
    case TUI_START:
        tui_view_start(state, grid, 1, last);
        break;
    case TUI_RUN:
        tui_view_run(state, grid, 1, last);
        break;
    case TUI_VERDICT:
        tui_view_verdict(state, grid, 1, last);
        break;
    case TUI_PATH:
        tui_view_path(state, grid, 1, last);
        break;
    case TUI_HISTORY:
        tui_view_history(state, grid, 1, last);
        break;
    case TUI_EXPORT:
        tui_view_export(state, grid, 1, last);
        break;
    case TUI_WATCH:
        tui_view_watch(state, grid, 1, last);
        break;
    }
    draw_message(state, grid, last);
    tui_view_keys(state, grid, last + 1);
}

void tui_view(struct tui_state *state, struct tui_grid *grid)
{
    tui_grid_clear(grid);
    if (grid->rows < TUI_ROWS_MIN || grid->cols < TUI_COLS_MIN) {
        tui_view_small(state, grid);
        return;
    }
    draw_screen(state, grid);
    tui_view_overlay(state, grid);
}
