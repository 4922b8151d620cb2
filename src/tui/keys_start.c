/* Keys of the start screen. */
#include <stdio.h>
#include <string.h>

#include "keys.h"

static char *text_of(struct tui_start *start)
{
    switch (start->field) {
    case TUI_TARGET:
        return start->target;
    case TUI_GOAL:
        return start->goal;
    case TUI_BUDGET:
        return start->budget;
    default:
        return NULL;
    }
}

static void turn_direction(struct tui_start *start, int by)
{
    int at = start->download && start->upload ? 2 : start->upload ? 1 : 0;
    at = (at + by + 3) % 3;
    start->download = at != 1;
    start->upload = at != 0;
}

/* A stage of the plan: leave it out or take it back. One that only runs when asked for: ask
 * for it. */
static void toggle_stage(struct tui_state *state)
{
    struct tui_start *start = &state->start;
    const struct tl_session_stage *stage = &start->preview.stages[start->stage];
    uint32_t bit = UINT32_C(1) << start->stage;
    if (strstr(stage->needs, "directory") && !start->directory)
        snprintf(state->message, sizeof state->message,
                 "%s needs a directory: start tightlink with --disk DIRECTORY", stage->id);
    else if (stage->choice == TL_STAGE_TRIAL)
        start->verify = !start->verify;
    else if (start->force & bit)
        start->force &= ~bit;
    else if (start->skip & bit)
        start->skip &= ~bit;
    else if (stage->choice == TL_STAGE_IF_ASKED)
        start->force |= bit;
    else
        start->skip |= bit;
}

static unsigned leave_field(struct tui_start *start, int by)
{
    bool target = start->field == TUI_TARGET;
    if (start->field == TUI_STAGES && by > 0 && start->stage + 1 < start->preview.count) {
        start->stage++;
        return TUI_DO_NOTHING;
    }
    if (start->field == TUI_STAGES && by < 0 && start->stage > 0) {
        start->stage--;
        return TUI_DO_NOTHING;
    }
    int last = start->has_preview ? TUI_STAGES : TUI_BUDGET;
    int next = (int)start->field + by;
    start->field = (enum tui_field)(next < 0 ? last : next > last ? 0 : next);
    start->stage =
        start->field == TUI_STAGES && by < 0 && start->preview.count ? start->preview.count - 1 : 0;
    return target && start->target[0] ? TUI_DO_LOOK_UP : TUI_DO_NOTHING;
}

/* Tab goes from field to field, the arrows through the stages too. */
static unsigned tab_field(struct tui_start *start, int by)
{
    if (start->field == TUI_STAGES && start->preview.count)
        start->stage = by > 0 ? start->preview.count - 1 : 0;
    unsigned actions = leave_field(start, by);
    start->stage = 0;
    return actions;
}

/* No key, then each that there is. */
static void next_key(struct tui_start *start)
{
    int at = 0;
    while (at < start->key_count && strcmp(start->keys[at], start->key) != 0)
        at++;
    int next = !start->key[0] ? 0 : at + 1;
    snprintf(start->key, sizeof start->key, "%s", next < start->key_count ? start->keys[next] : "");
}

static unsigned begin(struct tui_state *state, int key)
{
    state->watch.diagnosing = false;
    return TUI_DO_START;
}

static unsigned to_field(struct tui_state *state, int key)
{
    return tab_field(&state->start, key == TUI_KEY_TAB ? 1 : -1);
}

static unsigned move(struct tui_state *state, int key)
{
    if (key != TUI_KEY_UP && key != TUI_KEY_DOWN)
        return TUI_DO_NOTHING;
    return leave_field(&state->start, key == TUI_KEY_DOWN ? 1 : -1);
}

static unsigned turn(struct tui_state *state, int key)
{
    if (state->start.field == TUI_DIRECTION)
        turn_direction(&state->start, key == TUI_KEY_LEFT ? -1 : 1);
    return TUI_DO_NOTHING;
}

static unsigned change(struct tui_state *state, int key)
{
    struct tui_start *start = &state->start;
    if (start->field == TUI_DIRECTION)
        return turn(state, key);
    if (start->field != TUI_STAGES || start->stage >= start->preview.count)
        return TUI_DO_NOTHING;
    toggle_stage(state);
    return TUI_DO_LOOK_UP;
}

static unsigned erase(struct tui_state *state, int key)
{
    char *text = text_of(&state->start);
    if (text)
        tui_text_remove(text);
    if (state->start.field == TUI_TARGET)
        state->start.has_preview = false;
    return TUI_DO_NOTHING;
}

/* The next of the far ends of earlier runs. */
static unsigned take_recent(struct tui_state *state, int key)
{
    struct tui_start *start = &state->start;
    if (!start->recent_count)
        return TUI_DO_NOTHING;
    start->field = TUI_TARGET;
    start->recent_at = start->recent_at % start->recent_count + 1;
    snprintf(start->target, sizeof start->target, "%s", start->recent[start->recent_at - 1]);
    start->has_preview = false;
    return TUI_DO_LOOK_UP;
}

static unsigned take_key(struct tui_state *state, int key)
{
    next_key(&state->start);
    return TUI_DO_NOTHING;
}

static unsigned show_live(struct tui_state *state, int key)
{
    return tui_go_to(state, TUI_WATCH);
}

static bool changes(const struct tui_state *state)
{
    return !tui_start_is_typing(state);
}

static bool has_recent(const struct tui_state *state)
{
    return state->start.recent_count > 0;
}

static bool has_keys(const struct tui_state *state)
{
    return state->start.key_count > 0;
}

bool tui_start_is_typing(const struct tui_state *state)
{
    return state->screen == TUI_START && state->page.kind == TUI_NO_PAGE &&
           state->start.field != TUI_DIRECTION && state->start.field != TUI_STAGES;
}

/* Out of the text, so that what is typed next is a key. */
static unsigned leave_text(struct tui_state *state, int key)
{
    if (!tui_start_is_typing(state))
        return tui_back(state, key);
    state->start.field = TUI_DIRECTION;
    tui_say(state, "keys are keys now: 5 shows the runs that were kept, F10 leaves");
    return TUI_DO_NOTHING;
}

unsigned tui_start_text(struct tui_state *state, int key)
{
    tui_text_add(text_of(&state->start), TUI_TEXT_SIZE, (uint32_t)key);
    if (state->start.field == TUI_TARGET)
        state->start.has_preview = false;
    return TUI_DO_NOTHING;
}

const struct tui_binding tui_start_keys[] = {
    {TUI_MEANS_ENTER, "start", "start; nothing loads before you agree", begin, NULL},
    {TUI_MEANS_FIELD, "next", "the next field", to_field, NULL},
    {TUI_MEANS_CHANGE, "change", "change; leave out a stage, or ask for it", change, changes},
    {TUI_MEANS_BACK, "then 1 to 8", "out of the text: then 1 to 8 and q are keys", leave_text,
     tui_start_is_typing},
    {TUI_MEANS_LIVE, "what runs now", "transfers that run on this PC now", show_live, NULL},
    {TUI_MEANS_MOVE, NULL, "the next field or stage", move, NULL},
    {TUI_MEANS_ASIDE, NULL, "the other direction", turn, NULL},
    {TUI_MEANS_RECENT, NULL, "a server of an earlier run", take_recent, has_recent},
    {TUI_MEANS_KEY, NULL, "with another key, or none", take_key, has_keys},
    {TUI_MEANS_ERASE, NULL, NULL, erase, NULL},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};
