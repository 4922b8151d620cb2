/* What keys of several screens do: move, say, go to a screen, and what is done with a verdict
 * wherever it is looked at. */
#include <stdio.h>
#include <string.h>

#include "keys.h"
#include "tightlink/app/open.h"
#include "tightlink/session/session.h"

void tui_say(struct tui_state *state, const char *text)
{
    snprintf(state->message, sizeof state->message, "%s", text);
}

unsigned tui_go_to(struct tui_state *state, enum tui_screen screen)
{
    const char *why = NULL;
    if (screen == TUI_START && state->saved_only)
        why = "this is a saved run; start tightlink without a file for a new one";
    else if (screen == TUI_START && state->demo_only)
        why = "a demo has its own path alone; start tightlink by itself to measure another";
    else if (screen == TUI_START && state->run.active)
        why = "a diagnosis is running: ^C stops it and keeps what it has";
    else if (screen == TUI_RUN && !state->run.stage_count && !state->run.active)
        why = "nothing has run yet";
    else if (screen == TUI_WATCH && state->saved_only)
        why = "this is a saved run; `tightlink live` shows transfers that run now";
    else if (screen == TUI_PACKETS && !state->packets.file[0])
        why = "no capture is open: `tightlink pcap FILE` shows one";
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

unsigned tui_interrupt(struct tui_state *state, int key)
{
    if (!state->run.active || state->run.stopping)
        return TUI_DO_QUIT;
    state->overlay = TUI_NO_OVERLAY;
    return TUI_DO_STOP;
}

unsigned tui_move_cursor(struct tui_state *state, int key, int count)
{
    int by = key == TUI_KEY_LEFT ? -1 : key == TUI_KEY_RIGHT ? 1 : key == '<' ? -10 : 10;
    int at = (state->page.cursor < 0 ? count - 1 : state->page.cursor) + by;
    state->page.cursor = at < 0 ? 0 : at >= count ? -1 : at;
    return TUI_DO_NOTHING;
}

void tui_move(int *at, int key, int page, int last)
{
    last = last < 0 ? 0 : last;
    switch (key) {
    case TUI_KEY_UP:
    case 'k':
        --*at;
        break;
    case TUI_KEY_DOWN:
    case 'j':
        ++*at;
        break;
    case TUI_KEY_PAGE_UP:
        *at -= page;
        break;
    case TUI_KEY_PAGE_DOWN:
        *at += page;
        break;
    case TUI_KEY_HOME:
        *at = 0;
        break;
    case TUI_KEY_END:
        *at = last;
        break;
    default:
        break;
    }
    *at = *at < 0 ? 0 : *at > last ? last : *at;
}

unsigned tui_mask_names(struct tui_state *state, int key)
{
    state->private_names = !state->private_names;
    tui_say(state, state->private_names ? "host names and addresses are hidden on the screen"
                                        : "host names and addresses are shown");
    return TUI_DO_NOTHING;
}

static const struct tl_remedy *first_fix(const struct tui_state *state)
{
    const struct tl_finding *finding = tui_finding_in_view(state);
    return finding && finding->remedy_count ? &finding->remedies[0] : NULL;
}

/* A fix is this user's own where it is made on this PC or in the transfer itself. */
bool tui_has_own_fix(const struct tui_state *state)
{
    const struct tl_remedy *fix = first_fix(state);
    return fix && (strcmp(fix->needs, "user") == 0 || strcmp(fix->where, "near-host") == 0 ||
                   strcmp(fix->where, "flow") == 0);
}

bool tui_has_request(const struct tui_state *state)
{
    return first_fix(state) && !tui_has_own_fix(state);
}

unsigned tui_copy_fix(struct tui_state *state, int key)
{
    if (first_fix(state))
        return TUI_DO_COPY;
    tui_say(state, "there is no fix to copy");
    return TUI_DO_NOTHING;
}

/* Why the fix of what is shown cannot be tried here and now; NULL: it can. */
static const char *why_no_trial(const struct tui_state *state)
{
    const struct tl_run *run = state->result ? &state->result->run : NULL;
    const char *why = NULL;
    if (state->run.active)
        return "a diagnosis is running";
    if (!tui_state_finding(state))
        return "no cause was found, so there is no fix to try";
    if (tui_finding_in_view(state) != tui_state_finding(state))
        return "the verdict's own fix is what can be tried: Esc, then v";
    if (!first_fix(state))
        return "no fix is known here that could be tried";
    why = tl_app_why_not_again(run);
    if (why)
        return why;
    if (state->from_store && strcmp(run->target_kind, "demo") == 0)
        return "this was a demo: its path is gone, so nothing can be tried on it";
    return tl_session_trial_remedy(state->result->findings, &why) ? NULL : why;
}

bool tui_can_try(const struct tui_state *state)
{
    return !why_no_trial(state);
}

unsigned tui_try_fix(struct tui_state *state, int key)
{
    const char *why = why_no_trial(state);
    if (!why)
        return TUI_DO_VERIFY; /* whose session asks before it sends anything */
    tui_say(state, why);
    return TUI_DO_NOTHING;
}

bool tui_is_judged(const struct tui_state *state)
{
    return state->result && state->result->findings;
}

unsigned tui_export(struct tui_state *state, int key)
{
    return tui_go_to(state, TUI_EXPORT);
}

unsigned tui_ticket(struct tui_state *state, int key)
{
    return tui_go_to(state, TUI_EXPORT) | (tui_is_judged(state) ? TUI_DO_TICKET : TUI_DO_NOTHING);
}

unsigned tui_save(struct tui_state *state, int key)
{
    if (tui_is_judged(state))
        return TUI_DO_SAVE;
    tui_say(state, "there is no verdict to save");
    return TUI_DO_NOTHING;
}

unsigned tui_verdict_page(struct tui_state *state, enum tui_page kind)
{
    if (tui_is_judged(state))
        tui_page_open(state, kind, 0);
    return TUI_DO_NOTHING;
}

unsigned tui_why_not(struct tui_state *state, int key)
{
    return tui_verdict_page(state, TUI_PAGE_CAUSES);
}

bool tui_has_next(const struct tui_state *state)
{
    return tui_next_cause(state, 1) != NULL;
}

unsigned tui_next(struct tui_state *state, int key)
{
    const struct tl_finding *finding = tui_next_cause(state, ++state->next_cause);
    state->page = (struct tui_page_state){0};
    if (finding) {
        tui_page_open(state, TUI_PAGE_FINDING,
                      (size_t)(finding - state->result->findings->findings));
        return TUI_DO_NOTHING;
    }
    tui_say(state, state->next_cause > 1 ? "that was the last; n begins again"
                                         : "no other cause was found; w tells why not the others");
    state->next_cause = 0;
    return TUI_DO_NOTHING;
}
