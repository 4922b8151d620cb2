/* The mouse: what views drew to be clicked becomes the keys and selections that are there anyway.
 * Nothing can be reached by mouse alone. */
#include <string.h>

#include "keys.h"
#include "zones.h"

/* Rows that a step of the wheel scrolls where nothing is selected. */
#define WHEEL_ROWS 3

void tui_zone_add(struct tui_grid *grid, int row, int col, int columns, enum tui_zone_kind kind,
                  int value)
{
    if (grid->zone_count == TUI_ZONES_MAX || columns < 1)
        return;
    grid->zones[grid->zone_count++] = (struct tui_zone){row, col, columns, kind, value};
}

/* "Enter", "Esc", "^C", "y": the key that the first word of a hint names; none where several are
 * named ("up/dn", "l i f o"). */
static int named_key(const char *hint)
{
    static const struct {
        const char *name;
        int key;
    } names[] = {{"Enter", TUI_KEY_ENTER}, {"Esc", TUI_KEY_ESCAPE},   {"Tab", TUI_KEY_TAB},
                 {"Space", ' '},           {"^C", TUI_KEY_INTERRUPT}, {"F1", TUI_KEY_HELP},
                 {"F10", TUI_KEY_QUIT}};
    size_t len = strcspn(hint, " "), next = hint[len] ? strcspn(hint + len + 1, " ") : 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == len && strncmp(hint, names[i].name, len) == 0)
            return names[i].key;
    return len == 1 && next > 1 ? hint[0] : TUI_KEY_NONE;
}

void tui_zone_hint(struct tui_grid *grid, int row, int col, const char *hint)
{
    int key = named_key(hint);
    if (key != TUI_KEY_NONE)
        tui_zone_add(grid, row, col, (int)strlen(hint), TUI_ZONE_KEY, key);
}

void tui_zone_hints(struct tui_grid *grid, int row, int col, int columns, const char *hints)
{
    for (const char *at = hints; *at;) {
        const char *end = strstr(at, "   ");
        size_t len = end ? (size_t)(end - at) : strlen(at);
        char hint[80];
        if (len < sizeof hint && at - hints + (int)len <= columns) {
            memcpy(hint, at, len);
            hint[len] = '\0';
            tui_zone_hint(grid, row, col + (int)(at - hints), hint);
        }
        at += len;
        at += strspn(at, " ");
    }
}

/* --- what a click means --- */

static const struct tui_zone *zone_at(const struct tui_grid *grid, int row, int col)
{
    for (int i = grid->zone_count - 1; i >= 0; i--) {
        const struct tui_zone *zone = &grid->zones[i];
        if (zone->row == row && col >= zone->col && col < zone->col + zone->columns)
            return zone;
    }
    return NULL;
}

static int *selection(struct tui_state *state)
{
    if (state->page.kind == TUI_PAGE_CAUSES)
        return &state->causes.selected;
    if (state->page.kind != TUI_NO_PAGE)
        return NULL;
    switch (state->screen) {
    case TUI_RUN:
        return &state->run.selected;
    case TUI_PATH:
        return &state->hops.selected;
    case TUI_HISTORY:
        return &state->history.selected;
    case TUI_WATCH:
        return &state->watch.list.selected;
    case TUI_PACKETS:
        return &state->packets.list.selected;
    default:
        return NULL;
    }
}

/* A click selects a row, another one on it does what Enter does. */
static unsigned click_row(struct tui_state *state, int row)
{
    int *selected = selection(state);
    if (!selected)
        return TUI_DO_NOTHING;
    if (*selected == row)
        return tui_state_key(state, TUI_KEY_ENTER);
    *selected = row;
    return TUI_DO_NOTHING;
}

/* The same on the start screen, where Space changes what is selected. */
static unsigned click_start(struct tui_state *state, enum tui_field field, size_t stage)
{
    struct tui_start *start = &state->start;
    bool here = start->field == field && (field != TUI_STAGES || start->stage == stage);
    bool left_target = start->field == TUI_TARGET && field != TUI_TARGET;
    start->field = field;
    start->stage = field == TUI_STAGES ? stage : 0;
    if (here && (field == TUI_STAGES || field == TUI_DIRECTION))
        return tui_state_key(state, ' ');
    return left_target && start->target[0] && !start->has_preview ? TUI_DO_LOOK_UP : TUI_DO_NOTHING;
}

unsigned tui_state_click(struct tui_state *state, const struct tui_grid *grid, int row, int col)
{
    const struct tui_zone *zone = zone_at(grid, row, col);
    bool asks = state->overlay != TUI_NO_OVERLAY || state->prompt != TUI_NO_PROMPT;
    if (!zone && (state->overlay == TUI_HELP || state->overlay == TUI_COPIED))
        return tui_state_key(state, TUI_KEY_ESCAPE);
    if (!zone || (asks && zone->kind != TUI_ZONE_KEY))
        return TUI_DO_NOTHING;
    state->message[0] = '\0';
    switch (zone->kind) {
    case TUI_ZONE_TAB:
        return tui_go_to(state, (enum tui_screen)zone->value);
    case TUI_ZONE_ROW:
        return click_row(state, zone->value);
    case TUI_ZONE_FIELD:
        return click_start(state, (enum tui_field)zone->value, 0);
    case TUI_ZONE_STAGE:
        return click_start(state, TUI_STAGES, (size_t)zone->value);
    case TUI_ZONE_KEY:
        break;
    }
    return tui_state_key(state, zone->value);
}

unsigned tui_state_wheel(struct tui_state *state, bool down)
{
    unsigned actions = TUI_DO_NOTHING;
    if (state->overlay != TUI_NO_OVERLAY || state->prompt != TUI_NO_PROMPT)
        return actions;
    bool list = selection(state) || state->screen == TUI_START;
    for (int i = 0; i < (list ? 1 : WHEEL_ROWS); i++)
        actions |= tui_state_key(state, down ? TUI_KEY_DOWN : TUI_KEY_UP);
    return actions;
}
