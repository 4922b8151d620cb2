/* The one table of keys: each key means one thing, footer and help say what is taken, and what they
 * do not say does nothing. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keymap.h"
#include "script.h"
#include "view.h"

static const int sizes[][2] = {{10, 40}, {15, 60}, {24, 80}, {40, 120}, {60, 200}};

static void begin(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
}

static char *draw(struct scene *scene, int rows, int cols)
{
    struct tui_grid grid;
    struct tl_buf out = TL_BUF_INIT;
    cr_assert(tui_grid_init(&grid, rows, cols, true) == TL_OK);
    tui_view(&scene->state, &grid);
    tui_grid_text(&grid, &out);
    tui_grid_finish(&grid);
    return tl_buf_steal(&out);
}

/* A scene as its script leaves it at 80x24. */
static void play(const struct script *script, struct scene *scene)
{
    struct tl_buf out = TL_BUF_INIT;
    scene_make(script, scene);
    scene_play(script, scene, 24, 80, true, &out);
    tl_buf_finish(&out);
}

/* Help speaks of "l i f" and "up/dn"; what it names must be what is taken, and by nobody else. */
Test(keymap, no_key_has_two_meanings, .init = begin)
{
    int named = 0;
    for (int means = 1; means < TUI_MEANINGS; means++) {
        const struct tui_meaning *meaning = tui_meaning((enum tui_means)means);
        cr_assert(meaning->name && meaning->name[0], "meaning %d has no name", means);
        cr_assert(meaning->keys[0] != TUI_KEY_NONE, "%s has no key", meaning->name);
        for (const int *key = meaning->keys; *key != TUI_KEY_NONE; key++, named++)
            cr_expect(tui_meaning_of(*key) == (enum tui_means)means,
                      "%s is taken by another meaning, too", meaning->name);
        int key = meaning->keys[0];
        if (key < 128 && isgraph(key))
            cr_expect(strchr(meaning->name, key), "%s does not name its key", meaning->name);
    }
    cr_expect(named > 60, "only %d keys", named);
}

/* The same key under another name would be another meaning, however the table is written: what a
 * person reads for one meaning has the same first word wherever it stands. */
Test(keymap, a_place_names_each_meaning_once_and_says_what_it_does, .init = begin)
{
    for (const struct script *script = scripts; script->name; script++) {
        struct scene scene;
        bool seen[TUI_MEANINGS] = {false};
        play(script, &scene);
        const struct tui_binding *binding = tui_bindings_here(&scene.state);
        for (; binding->means != TUI_MEANS_NOTHING; binding++) {
            cr_expect(binding->act != NULL, "%s", script->name);
            cr_expect(!binding->hint || binding->help || binding->means == TUI_MEANS_STOP,
                      "%s: the footer has what help has not: %s", script->name, binding->hint);
            if (!tui_binding_is_offered(binding, &scene.state))
                continue;
            cr_expect(!seen[binding->means], "%s: %s twice", script->name,
                      tui_meaning(binding->means)->name);
            seen[binding->means] = true;
        }
        scene_finish(&scene);
    }
}

/* What neither the table of the place nor that of all places has, leaves the screen as it is. */
Test(keymap, a_key_that_is_not_listed_does_nothing, .init = begin)
{
    int tried = 0;
    for (const struct script *script = scripts; script->name; script++) {
        struct scene scene;
        play(script, &scene);
        struct tui_state *state = &scene.state;
        bool asked = state->overlay != TUI_NO_OVERLAY || state->prompt != TUI_NO_PROMPT;
        bool typing = state->screen == TUI_START && state->page.kind == TUI_NO_PAGE &&
                      state->start.field != TUI_DIRECTION && state->start.field != TUI_STAGES;
        for (int key = '!'; !asked && !typing && key < 127; key++) {
            if (tui_binding_find(tui_bindings_here(state), key) ||
                tui_binding_find(tui_bindings_everywhere(), key))
                continue;
            state->message[0] = '\0';
            char *before = draw(&scene, 24, 80);
            cr_expect(tui_state_key(state, key) == TUI_DO_NOTHING, "%s: %c", script->name, key);
            cr_expect(strstr(state->message, "F1"), "%s: %c is answered by nothing", script->name,
                      key);
            state->message[0] = '\0';
            char *after = draw(&scene, 24, 80);
            cr_expect_str_eq(before, after, "%s: %c does something", script->name, key);
            free(before);
            free(after);
            tried++;
        }
        scene_finish(&scene);
    }
    cr_expect(tried > 1000, "only %d", tried);
}

/* Everything that a person sees who scrolls down until nothing moves any more. */
static void read_to_its_end(struct scene *scene, int rows, int cols, struct tl_buf *read)
{
    char *shown = draw(scene, rows, cols);
    for (bool moved = true; moved;) {
        tl_buf_adds(read, shown);
        (void)tui_state_key(&scene->state, TUI_KEY_DOWN);
        char *before = shown;
        shown = draw(scene, rows, cols);
        moved = strcmp(shown, before) != 0;
        free(before);
    }
    free(shown);
}

/* Help holds each key that the place offers, and all of it can be read at every size. */
Test(keymap, help_has_every_key_and_scrolls_to_its_end, .init = begin)
{
    for (const struct script *script = scripts; script->name; script++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct scene scene;
            struct tl_buf read = TL_BUF_INIT;
            play(script, &scene);
            struct tui_state *state = &scene.state;
            state->prompt = TUI_NO_PROMPT;
            state->overlay = TUI_NO_OVERLAY;
            (void)tui_state_key(state, TUI_KEY_HELP);
            cr_assert(state->overlay == TUI_HELP, "%s", script->name);
            read_to_its_end(&scene, sizes[i][0], sizes[i][1], &read);
            cr_expect(state->overlay == TUI_HELP);
            const struct tui_binding *binding = tui_bindings_here(state);
            for (; binding->means != TUI_MEANS_NOTHING; binding++) {
                char line[24];
                if (!binding->help || !tui_binding_is_offered(binding, state))
                    continue;
                snprintf(line, sizeof line, " %s ", tui_meaning(binding->means)->name);
                cr_expect(strstr(tl_buf_text(&read), line), "%s at %dx%d: no %s", script->name,
                          sizes[i][1], sizes[i][0], line);
            }
            cr_expect(strstr(tl_buf_text(&read), "(x) failed"), "%s at %dx%d: no end of help",
                      script->name, sizes[i][1], sizes[i][0]);
            tl_buf_finish(&read);
            scene_finish(&scene);
        }
    }
}

/* --- what is offered --- */

static bool footer_has(struct scene *scene, const char *hint)
{
    char *text = draw(scene, 24, 200);
    bool found = strstr(text, hint) != NULL;
    free(text);
    return found;
}

static void open_verdict(struct scene *scene, const char *name)
{
    play(script_named(name), scene);
    scene->state.screen = TUI_VERDICT;
}

Test(offers, a_fix_is_offered_where_there_is_one, .init = begin)
{
    struct scene scene;
    open_verdict(&scene, "verdict");
    cr_expect(footer_has(&scene, "y copy fix") && footer_has(&scene, "v try it"));
    scene_finish(&scene);
    open_verdict(&scene, "inconclusive");
    cr_expect(!footer_has(&scene, " y copy") && !footer_has(&scene, "v try it"));
    cr_expect(tui_state_key(&scene.state, 'v') == TUI_DO_NOTHING && scene.state.message[0]);
    cr_expect(tui_state_key(&scene.state, 'y') == TUI_DO_NOTHING && scene.state.message[0]);
    scene_finish(&scene);
}

/* What others must do is something to ask for; no program can try more capacity. */
Test(offers, a_fix_that_others_must_make_is_a_request, .init = begin)
{
    struct scene scene;
    open_verdict(&scene, "verdict");
    struct tl_finding *finding = (struct tl_finding *)tui_state_finding(&scene.state);
    struct tl_remedy theirs = finding->remedies[0], *mine = finding->remedies;
    theirs.where = (char *)"path";
    theirs.needs = (char *)"network-team";
    theirs.trial.kind = TL_TRIAL_NONE;
    finding->remedies = &theirs;
    finding->remedy_count = 1;
    cr_expect(footer_has(&scene, "y copy request") && !footer_has(&scene, "y copy fix"));
    cr_expect(!footer_has(&scene, "v try it"));
    cr_expect(tui_state_key(&scene.state, 'v') == TUI_DO_NOTHING);
    cr_expect(scene.state.overlay == TUI_NO_OVERLAY && scene.state.message[0]);
    cr_expect(tui_state_key(&scene.state, 'y') == TUI_DO_COPY);
    (void)tui_state_key(&scene.state, 'x');
    cr_expect(footer_has(&scene, "y copy request"));
    finding->remedies = mine;
    finding->remedy_count = 2;
    scene_finish(&scene);
}

Test(offers, nothing_is_tried_on_a_path_that_is_gone_or_on_what_others_transfer, .init = begin)
{
    static const char *const kinds[] = {"demo", "live", "pcap"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct scene scene;
        open_verdict(&scene, "verdict");
        scene.state.from_store = true;
        snprintf(scene.result.run.target_kind, sizeof scene.result.run.target_kind, "%s", kinds[i]);
        cr_expect(!footer_has(&scene, "v try it"), "%s", kinds[i]);
        cr_expect(tui_state_key(&scene.state, 'v') == TUI_DO_NOTHING);
        cr_expect(scene.state.overlay == TUI_NO_OVERLAY, "%s", kinds[i]);
        scene_finish(&scene);
    }
}

/* --- back --- */

/* Wherever it is offered it leads somewhere, and it is there where something lies behind. */
Test(back, escape_stands_in_the_footer_where_it_leads_somewhere, .init = begin)
{
    for (const struct script *script = scripts; script->name; script++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct scene scene;
            play(script, &scene);
            struct tui_state *state = &scene.state;
            state->overlay = TUI_NO_OVERLAY;
            state->prompt = TUI_NO_PROMPT;
            char *before = draw(&scene, sizes[i][0], sizes[i][1]);
            bool offered = strstr(before, "Esc back") != NULL;
            enum tui_screen screen = state->screen;
            enum tui_page page = state->page.kind;
            bool filtered = state->causes.filter[0] || state->watch.list.filter[0];
            bool marked = state->history.a[0];
            (void)tui_state_key(state, TUI_KEY_ESCAPE);
            bool moved = state->screen != screen || state->page.kind != page || marked || filtered;
            cr_expect(offered == moved, "%s at %dx%d:\n%s", script->name, sizes[i][1], sizes[i][0],
                      before);
            free(before);
            scene_finish(&scene);
        }
    }
}

/* Who meets the start screen with its text field gets out of it without knowing Tab. */
Test(back, escape_leaves_the_text_of_the_start_screen, .init = begin)
{
    struct scene scene;
    struct tui_state *state = &scene.state;
    play(script_named("start-empty"), &scene);
    (void)tui_state_key(state, '1');
    cr_expect_str_eq(state->start.target, "1");
    cr_expect(tui_state_key(state, TUI_KEY_ESCAPE) == TUI_DO_NOTHING);
    cr_expect(strstr(state->message, "5 shows"), "%s", state->message);
    cr_expect(tui_state_key(state, '5') == TUI_DO_LIST);
    cr_expect(state->screen == TUI_HISTORY);
    cr_expect_str_eq(state->start.target, "1");
    state->screen = TUI_START;
    (void)tui_state_key(state, TUI_KEY_ESCAPE);
    cr_expect(strstr(state->message, "first screen"), "%s", state->message);
    scene_finish(&scene);
}

/* Its path leads to its own far end alone, and what is typed at the verdict is no host's name. */
Test(keys, a_demo_has_no_start_screen, .init = begin)
{
    struct scene scene;
    play(script_named("verdict-live"), &scene);
    struct tui_state *state = &scene.state;
    state->screen = TUI_VERDICT;
    state->demo_only = true;
    (void)tui_state_key(state, TUI_KEY_ESCAPE);
    cr_expect(state->screen == TUI_VERDICT);
    (void)tui_state_key(state, '1');
    cr_expect(state->screen == TUI_VERDICT && strstr(state->message, "demo"), "%s", state->message);
    (void)tui_state_key(state, '7');
    cr_expect(state->screen == TUI_WATCH);
    (void)tui_state_key(state, TUI_KEY_ESCAPE);
    cr_expect(state->screen == TUI_VERDICT);
    scene_finish(&scene);
}
