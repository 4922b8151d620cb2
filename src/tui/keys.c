/* Keys: the start screen, and what is the same everywhere. The other screens are in
 * keys_screens.c. The help overlay (view_overlay.c) lists the same. */
#include "keys.h"

#include <stdio.h>
#include <string.h>

#include "tightlink/base/utf8.h"

/* --- start --- */

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
    if (strcmp(stage->when, "not built") == 0)
        snprintf(state->message, sizeof state->message, "%s is not part of this program",
                 stage->id);
    else if (strstr(stage->needs, "directory") && !start->directory)
        snprintf(state->message, sizeof state->message,
                 "%s needs a directory: start tightlink with --disk DIRECTORY", stage->id);
    else if (strcmp(stage->id, "verify") == 0)
        start->verify = !start->verify;
    else if (start->force & bit)
        start->force &= ~bit;
    else if (start->skip & bit)
        start->skip &= ~bit;
    else if (strcmp(stage->when, "when asked for") == 0 || strcmp(stage->when, "not named") == 0)
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

/* Nothing is behind the first screen: one Escape too many shall not end the program. */
static unsigned stay(struct tui_state *state)
{
    snprintf(state->message, sizeof state->message, "this is the first screen; F10 leaves");
    return TUI_DO_NOTHING;
}

static unsigned start_key(struct tui_state *state, int key)
{
    struct tui_start *start = &state->start;
    char *text = text_of(start);
    switch (key) {
    case TUI_KEY_ENTER:
        return TUI_DO_START;
    case TUI_KEY_TAB:
        return tab_field(start, 1);
    case TUI_KEY_BACK_TAB:
        return tab_field(start, -1);
    case TUI_KEY_DOWN:
        return leave_field(start, 1);
    case TUI_KEY_UP:
        return leave_field(start, -1);
    case TUI_KEY_ESCAPE:
        return stay(state);
    case 'N' - 64: /* the next of the recent far ends */
        if (!start->recent_count)
            return TUI_DO_NOTHING;
        start->field = TUI_TARGET;
        start->recent_at = start->recent_at % start->recent_count + 1;
        snprintf(start->target, sizeof start->target, "%s", start->recent[start->recent_at - 1]);
        start->has_preview = false;
        return TUI_DO_LOOK_UP;
    case 'K' - 64:
        next_key(start);
        return TUI_DO_NOTHING;
    case 'W' - 64:
        return tui_go_to(state, TUI_WATCH);
    case TUI_KEY_LEFT:
    case TUI_KEY_RIGHT:
        if (start->field == TUI_DIRECTION)
            turn_direction(start, key == TUI_KEY_LEFT ? -1 : 1);
        return TUI_DO_NOTHING;
    case TUI_KEY_BACKSPACE:
        if (text)
            tui_text_remove(text);
        if (start->field == TUI_TARGET)
            start->has_preview = false;
        return TUI_DO_NOTHING;
    default:
        break;
    }
    if (text && key >= ' ' && key < TUI_KEY_UP) {
        tui_text_add(text, TUI_TEXT_SIZE, (uint32_t)key);
        if (start->field == TUI_TARGET)
            start->has_preview = false;
        return TUI_DO_NOTHING;
    }
    if (key == 'w')
        return tui_go_to(state, TUI_WATCH);
    if (key == ' ' && start->field == TUI_DIRECTION)
        turn_direction(start, 1);
    if (key == ' ' && start->field == TUI_STAGES && start->stage < start->preview.count) {
        toggle_stage(state);
        return TUI_DO_LOOK_UP;
    }
    return TUI_DO_NOTHING;
}

/* --- all --- */

/* It sends, or writes a file, and cannot be called back: Enter is no answer there either. */
static bool is_irrevocable(enum tui_overlay overlay)
{
    return overlay == TUI_ASK_TRY || overlay == TUI_ASK_SEND || overlay == TUI_ASK_DIAGNOSE ||
           overlay == TUI_ASK_CAPTURE;
}

static unsigned agreed(struct tui_state *state, enum tui_overlay overlay)
{
    if (overlay == TUI_ASK_TRY)
        return TUI_DO_VERIFY;
    if (overlay == TUI_ASK_SEND)
        return TUI_DO_SEND;
    if (overlay == TUI_ASK_CAPTURE)
        return TUI_DO_CAPTURE;
    tui_watch_aim(state);
    return TUI_DO_START;
}

static unsigned overlay_key(struct tui_state *state, int key)
{
    enum tui_overlay overlay = state->overlay;
    bool yes = key == 'y' || key == 'Y' || key == TUI_KEY_ENTER;
    bool no = key == 'n' || key == 'N' || key == TUI_KEY_ESCAPE;
    if (overlay == TUI_CONSENT) {
        /* Enter is no answer here: somebody who still types would agree to the load. */
        if (key != 'y' && key != 'Y' && !no && key != 'q')
            return TUI_DO_NOTHING;
        state->overlay = TUI_NO_OVERLAY;
        return key == 'y' || key == 'Y' ? TUI_DO_CONSENT : TUI_DO_REFUSE;
    }
    if (overlay == TUI_ASK_STOP) {
        if (!yes && !no)
            return TUI_DO_NOTHING;
        state->overlay = TUI_NO_OVERLAY;
        return yes && state->run.active ? TUI_DO_STOP : TUI_DO_NOTHING;
    }
    if (is_irrevocable(overlay)) {
        if ((!yes && !no) || key == TUI_KEY_ENTER)
            return TUI_DO_NOTHING;
        state->overlay = TUI_NO_OVERLAY;
        return yes ? agreed(state, overlay) : TUI_DO_NOTHING;
    }
    if (overlay == TUI_ASK_DELETE) {
        if (!yes && !no)
            return TUI_DO_NOTHING;
        state->overlay = TUI_NO_OVERLAY;
        return yes && key != TUI_KEY_ENTER ? TUI_DO_DELETE : TUI_DO_NOTHING;
    }
    if (overlay == TUI_ASK_MORE) {
        if (!yes && !no)
            return TUI_DO_NOTHING;
        state->overlay = TUI_NO_OVERLAY;
        return yes && state->run.active ? TUI_DO_BUDGET : TUI_DO_NOTHING;
    }
    state->overlay = TUI_NO_OVERLAY;
    return overlay == TUI_COPIED && key == 'y' ? TUI_DO_COPY : TUI_DO_NOTHING;
}

unsigned tui_go_to(struct tui_state *state, enum tui_screen screen)
{
    const char *why = NULL;
    if (screen == TUI_START && state->saved_only)
        why = "this is a saved run; start tightlink without a file for a new one";
    else if (screen == TUI_START && state->run.active)
        why = "a diagnosis is running: ^C stops it and keeps what it has";
    else if (screen == TUI_RUN && !state->run.stage_count && !state->run.active)
        why = "nothing has run yet";
    else if (screen == TUI_WATCH && state->saved_only)
        why = "this is a saved run; `tightlink live` shows transfers that run now";
    else if (screen > TUI_RUN && screen < TUI_WATCH && screen != TUI_HISTORY && !state->result)
        why =
            state->run.active ? "the verdict comes when the run has ended" : "nothing has run yet";
    else if (screen == TUI_EXPORT && !state->result->findings)
        why = "there is no verdict to hand on";
    if (why) {
        snprintf(state->message, sizeof state->message, "%s", why);
        return TUI_DO_NOTHING;
    }
    state->screen = screen;
    state->page = (struct tui_page_state){0};
    return screen == TUI_HISTORY  ? TUI_DO_LIST
           : screen == TUI_EXPORT ? TUI_DO_PREVIEW
           : screen == TUI_WATCH  ? TUI_DO_WATCH
                                  : TUI_DO_NOTHING;
}

unsigned tui_step_back(struct tui_state *state)
{
    if (state->screen == TUI_VERDICT && state->from_watch)
        return tui_go_to(state, TUI_WATCH);
    if (state->screen == TUI_VERDICT || (state->screen == TUI_RUN && !state->result))
        return tui_go_to(state, TUI_START);
    return tui_go_to(state, state->result ? TUI_VERDICT : state->run.active ? TUI_RUN : TUI_START);
}

static unsigned quit(struct tui_state *state)
{
    if (state->leaving.sending && !state->leaving.warned) {
        state->leaving.warned = true;
        snprintf(
            state->message, sizeof state->message, "%s",
            "a ticket is on its way: q again leaves once its answer is there (30 s a request)");
        return TUI_DO_NOTHING;
    }
    if (!state->run.active)
        return TUI_DO_QUIT;
    state->overlay = TUI_ASK_STOP;
    return TUI_DO_NOTHING;
}

static unsigned interrupt(struct tui_state *state)
{
    if (!state->run.active || state->run.stopping)
        return TUI_DO_QUIT;
    state->overlay = TUI_NO_OVERLAY;
    return TUI_DO_STOP;
}

unsigned tui_state_key(struct tui_state *state, int key)
{
    bool typing = state->screen == TUI_START && text_of(&state->start);
    state->message[0] = '\0';
    if (key == TUI_KEY_INTERRUPT)
        return interrupt(state);
    if (key == 'L' - 64)
        return TUI_DO_REDRAW;
    if (key == TUI_KEY_QUIT && state->overlay != TUI_CONSENT && state->overlay != TUI_ASK_STOP) {
        state->overlay = TUI_NO_OVERLAY;
        state->prompt = TUI_NO_PROMPT;
        return quit(state);
    }
    if (state->overlay != TUI_NO_OVERLAY)
        return overlay_key(state, key);
    if (state->prompt != TUI_NO_PROMPT)
        return tui_prompt_key(state, key);
    if (key == TUI_KEY_HELP || key == '?' || (typing && key == 'H' - 64)) {
        state->overlay = TUI_HELP;
        return TUI_DO_NOTHING;
    }
    if (!typing && key >= '0' + TUI_START && key <= '0' + TUI_WATCH)
        return tui_go_to(state, (enum tui_screen)(key - '0'));
    if (!typing && (key == 'q' || key == 'Q'))
        return quit(state);
    if (state->page.kind != TUI_NO_PAGE)
        return tui_page_key(state, key);
    return state->screen == TUI_START ? start_key(state, key) : tui_screen_key(state, key);
}
