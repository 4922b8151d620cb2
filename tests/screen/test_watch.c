/* The screen of transfers that run: what its keys ask for, and which one stays selected. */
#include <criterion/criterion.h>
#include <locale.h>
#include <string.h>

#include "script.h"
#include "view.h"

static void begin(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
}

/* The session that `d` begins asks before it sends: once, and says what about. */
static void asked_once_about_it(struct tui_state *state)
{
    const struct tl_event consent = {.kind = TL_EVENT_CONSENT,
                                     .text = "Nothing has been sent yet. At most 200 MB."};
    char text[900];
    tui_state_begin(state, 0);
    tui_state_event(state, &consent);
    cr_assert(state->overlay == TUI_CONSENT);
    cr_expect_str_eq(tui_consent_text(state, text, sizeof text), "Diagnose the way to it?");
    cr_expect(strstr(text, "connects to ") && strstr(text, "tests the upload") &&
                  strstr(text, consent.text),
              "%s", text);
    cr_expect(tui_state_key(state, TUI_KEY_ENTER) == TUI_DO_NOTHING);
    cr_expect(tui_state_key(state, 'n') == TUI_DO_REFUSE);
    tui_state_forget_run(state);
    state->screen = TUI_WATCH;
}

/* Looking at a transfer sends nothing and writes nothing; Enter is no answer to either question. */
Test(watch, a_diagnosis_and_a_capture_begin_after_a_yes_alone, .init = begin)
{
    struct scene scene;
    scene_make(script_named("watch"), &scene);
    struct tui_state *state = &scene.state;
    cr_expect(tui_state_key(state, '7') == TUI_DO_NOTHING && state->screen == TUI_START,
              "a digit is text there");
    cr_expect(tui_state_key(state, 'W' - 64) == TUI_DO_WATCH && state->screen == TUI_WATCH);
    (void)tui_state_key(state, 'j');
    cr_expect(tui_state_key(state, 'd') == TUI_DO_START);
    cr_expect_str_eq(state->start.target, "2001:db8::17");
    cr_expect(state->start.upload && !state->start.download);
    asked_once_about_it(state);
    (void)tui_state_key(state, 'c');
    cr_assert(state->overlay == TUI_ASK_CAPTURE);
    cr_expect(tui_state_key(state, TUI_KEY_ENTER) == TUI_DO_NOTHING);
    cr_expect(tui_state_key(state, 'y') == TUI_DO_CAPTURE);
    cr_expect(tui_state_key(state, 'e') == TUI_DO_JUDGE && state->watch.export);
    cr_expect(tui_state_key(state, TUI_KEY_ENTER) == TUI_DO_NOTHING);
    cr_expect(tui_state_key(state, TUI_KEY_ENTER) == TUI_DO_JUDGE && !state->watch.export);
    scene_finish(&scene);
}

Test(watch, the_selection_follows_its_transfer_and_a_page_outlives_it, .init = begin)
{
    struct scene scene;
    scene_make(script_named("watch"), &scene);
    struct tui_state *state = &scene.state;
    const struct tl_app_live_row *rows = state->watch.rows;
    struct tl_app_live_row turned[] = {rows[1], rows[2], rows[0]};
    struct tl_app_live_sum sum = state->watch.sum;
    (void)tui_state_key(state, 'W' - 64);
    (void)tui_state_key(state, 'j');
    cr_assert(tui_watch_row(state)->cookie == 2);
    tui_watch_take(state, turned, 3, &sum);
    cr_expect(tui_watch_row(state)->cookie == 2 && state->watch.list.selected == 0);
    (void)tui_state_key(state, TUI_KEY_END);
    cr_expect(tui_watch_row(state)->cookie == 1);
    (void)tui_state_key(state, TUI_KEY_ENTER);
    cr_assert(state->page.kind == TUI_PAGE_WATCH);
    turned[2].mean_bps = 5;
    tui_watch_take(state, turned, 3, &sum);
    cr_expect(tui_watch_row(state)->mean_bps == 5 && !tui_watch_row(state)->ended);
    tui_watch_take(state, turned, 1, &sum); /* it has gone */
    cr_expect(tui_watch_row(state)->cookie == 1 && tui_watch_row(state)->ended);
    (void)tui_state_key(state, TUI_KEY_ESCAPE);
    cr_expect(tui_watch_row(state)->cookie == 2, "what is left is selected");
    tui_watch_take(state, turned, 0, &sum);
    cr_expect(!tui_watch_row(state));
    cr_expect(tui_state_key(state, 'd') == TUI_DO_NOTHING && state->overlay == TUI_NO_OVERLAY);
    scene_finish(&scene);
}
