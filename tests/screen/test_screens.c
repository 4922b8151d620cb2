/* The screens against golden files, and what holds for every screen.
 *
 * After a change: TL_UPDATE_GOLDEN=1 test-screen writes the files anew; read them, then
 * tests/screen/capture.py puts them into doc/screens.md. */
#include <criterion/criterion.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"
#include "tightlink/base/utf8.h"
#include "view.h"

/* Of random keys and clicks on each screen, the same ones in every run. */
#define RANDOM_COUNT 300

static const int sizes[][2] = {{15, 60}, {24, 80}, {40, 120}, {10, 40}, {60, 200}};

static void begin(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    setenv("TZ", "UTC", 1);
}

static char *render_all(const struct script *script, bool utf8)
{
    struct tl_buf out = TL_BUF_INIT;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct scene scene;
        tl_buf_addf(&out, "=== %dx%d\n", sizes[i][1], sizes[i][0]);
        scene_make(script, &scene);
        scene_play(script, &scene, sizes[i][0], sizes[i][1], utf8, &out);
        scene_finish(&scene);
    }
    cr_assert(out.status == TL_OK);
    return tl_buf_steal(&out);
}

static void compare_with_file(const struct script *script, bool utf8)
{
    static char wanted[1 << 17];
    char path[512], *text = render_all(script, utf8);
    snprintf(path, sizeof path, "%s/%s.%s.txt", GOLDEN_DIRECTORY, script->name,
             utf8 ? "utf8" : "ascii");
    if (getenv("TL_UPDATE_GOLDEN")) {
        FILE *file = fopen(path, "w");
        cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
    }
    FILE *file = fopen(path, "r");
    cr_assert(file, "%s is missing", path);
    wanted[fread(wanted, 1, sizeof wanted - 1, file)] = '\0';
    fclose(file);
    cr_expect_str_eq(text, wanted, "%s differs:\n%s", path, text);
    free(text);
}

Test(screens, are_as_the_golden_files_show, .init = begin)
{
    for (const struct script *script = scripts; script->name; script++) {
        compare_with_file(script, true);
        compare_with_file(script, false);
    }
}

Test(screens, show_no_control_characters_and_in_ascii_style_only_ascii, .init = begin)
{
    for (const struct script *script = scripts; script->name; script++) {
        for (int utf8 = 0; utf8 < 2; utf8++) {
            char *text = render_all(script, utf8);
            for (const char *at = text; *at;) {
                uint32_t character;
                size_t len = tl_utf8_decode(at, strlen(at), &character);
                cr_assert(len > 0, "%s", script->name);
                cr_assert(character == '\n' || tl_utf8_is_printable(character), "%s: U+%04x",
                          script->name, character);
                cr_assert(utf8 || character < 128, "%s: U+%04x", script->name, character);
                at += len;
            }
            free(text);
        }
    }
}

/* Nothing refuses a terminal, however small, and no line is longer than it. */
Test(screens, fit_every_size, .init = begin)
{
    for (const struct script *script = scripts; script->name; script++) {
        for (int rows = 1; rows < 60; rows += 9) {
            for (int cols = 1; cols < 200; cols += 23) {
                struct scene scene;
                struct tl_buf out = TL_BUF_INIT;
                scene_make(script, &scene);
                scene_play(script, &scene, rows, cols, true, &out);
                scene_finish(&scene);
                int lines = 0;
                for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n"), lines++)
                    cr_assert(tl_utf8_width(line) <= (size_t)cols, "%s at %dx%d", script->name,
                              cols, rows);
                cr_assert(lines <= rows);
                tl_buf_finish(&out);
            }
        }
    }
}

/* Any keys in any order: no crash, and never an action that was not asked for. */
Test(keys, random_ones_do_no_harm, .init = begin)
{
    static const int special[] = {TUI_KEY_UP,        TUI_KEY_DOWN,  TUI_KEY_PAGE_UP,
                                  TUI_KEY_PAGE_DOWN, TUI_KEY_HOME,  TUI_KEY_END,
                                  TUI_KEY_LEFT,      TUI_KEY_RIGHT, TUI_KEY_BACKSPACE,
                                  TUI_KEY_BACK_TAB,  TUI_KEY_TAB};
    srand(1);
    for (const struct script *script = scripts; script->name; script++) {
        struct scene scene;
        struct tui_grid grid;
        scene_make(script, &scene);
        cr_assert(tui_grid_init(&grid, 24, 80, true) == TL_OK);
        for (int i = 0; i < RANDOM_COUNT; i++) {
            int key = rand() % 3 ? 1 + rand() % 300 : special[rand() % 11];
            bool asked = scene.state.overlay == TUI_CONSENT;
            unsigned actions = tui_state_key(&scene.state, key);
            cr_assert(asked || !(actions & TUI_DO_CONSENT));
            tui_view(&scene.state, &grid);
        }
        tui_grid_finish(&grid);
        scene_finish(&scene);
    }
}

static struct scene *open_scene(const char *name)
{
    static struct scene scene;
    for (const struct script *script = scripts; script->name; script++)
        if (strcmp(script->name, name) == 0)
            scene_make(script, &scene);
    return &scene;
}

Test(keys, q_asks_before_it_ends_a_running_diagnosis, .init = begin)
{
    struct tui_state *state = &open_scene("run")->state;
    cr_expect(tui_state_key(state, 'q') == TUI_DO_NOTHING);
    cr_expect(state->overlay == TUI_ASK_STOP);
    cr_expect(tui_state_key(state, 'x') == TUI_DO_NOTHING && state->overlay == TUI_ASK_STOP);
    cr_expect(tui_state_key(state, 'n') == TUI_DO_NOTHING && state->overlay == TUI_NO_OVERLAY);
    (void)tui_state_key(state, 'q');
    cr_expect(tui_state_key(state, 'y') == TUI_DO_STOP);
}

Test(keys, the_path_is_loaded_after_a_yes_alone, .init = begin)
{
    struct tui_state *state = &open_scene("consent")->state;
    cr_expect(tui_state_key(state, TUI_KEY_ENTER) == TUI_DO_NOTHING);
    cr_expect(state->overlay == TUI_CONSENT);
    cr_expect(tui_state_key(state, 'n') == TUI_DO_REFUSE);
    state = &open_scene("consent")->state;
    cr_expect(tui_state_key(state, 'y') == TUI_DO_CONSENT);
}

Test(keys, a_run_leaves_after_a_yes_alone, .init = begin)
{
    struct tui_state *state = &open_scene("ticket-ask")->state;
    state->screen = TUI_EXPORT;
    state->overlay = TUI_ASK_SEND;
    cr_expect(tui_state_key(state, TUI_KEY_ENTER) == TUI_DO_NOTHING);
    cr_expect(state->overlay == TUI_ASK_SEND);
    cr_expect(tui_state_key(state, 'n') == TUI_DO_NOTHING && state->overlay == TUI_NO_OVERLAY);
    cr_expect(tui_state_key(state, TUI_KEY_ENTER) == TUI_DO_NOTHING);
    cr_expect(tui_state_key(state, 'y') == TUI_DO_SEND);
    state->leaving.sending = true; /* one at a time */
    cr_expect(tui_state_key(state, TUI_KEY_ENTER) == TUI_DO_NOTHING);
    cr_expect(state->overlay == TUI_NO_OVERLAY);
    cr_expect(tui_state_key(state, 'q') == TUI_DO_NOTHING && state->message[0]);
    cr_expect(tui_state_key(state, 'q') == TUI_DO_QUIT);
}

Test(keys, interrupt_stops_and_keeps_then_quits, .init = begin)
{
    struct tui_state *state = &open_scene("run")->state;
    cr_expect(tui_state_key(state, TUI_KEY_INTERRUPT) == TUI_DO_STOP);
    state->run.stopping = true;
    cr_expect(tui_state_key(state, TUI_KEY_INTERRUPT) == TUI_DO_QUIT);
}

/* Clicks the first cell of a text in the picture of a state. */
static unsigned click(struct tui_state *state, const char *text)
{
    struct tui_grid grid;
    struct tl_buf out = TL_BUF_INIT;
    int row = 0;
    cr_assert(tui_grid_init(&grid, 24, 80, false) == TL_OK);
    tui_view(state, &grid);
    tui_grid_text(&grid, &out);
    char *at = strstr(tl_buf_text(&out), text), *line = out.data;
    cr_assert(at, "no \"%s\" in\n%s", text, tl_buf_text(&out));
    for (char *c = out.data; c < at; c++) {
        if (*c != '\n')
            continue;
        row++;
        line = c + 1;
    }
    unsigned actions = tui_state_click(state, &grid, row, (int)(at - line));
    tui_view(state, &grid);
    tl_buf_finish(&out);
    tui_grid_finish(&grid);
    return actions;
}

Test(mouse, clicks_do_what_keys_do, .init = begin)
{
    struct tui_state *state = &open_scene("path")->state;
    (void)click(state, "4 Path");
    cr_expect(state->screen == TUI_PATH);
    (void)click(state, "4  203.0.113.33");
    cr_expect(state->hops.selected == 3 && state->page.kind == TUI_NO_PAGE);
    (void)click(state, "? help");
    cr_expect(state->overlay == TUI_HELP);
    (void)click(state, "Everywhere");
    cr_expect(state->overlay == TUI_NO_OVERLAY);
    (void)click(state, "g graph");
    cr_expect(state->hop_chart);
    (void)click(state, "F1 help");
    cr_expect(state->overlay == TUI_HELP);
    (void)click(state, "Everywhere");
    (void)click(state, "up/dn hop"); /* names no key */
    cr_expect(state->screen == TUI_PATH && state->hops.selected == 3);
}

Test(mouse, a_second_click_opens_a_row, .init = begin)
{
    struct tui_state *state = &open_scene("causes")->state;
    (void)tui_state_key(state, 'w');
    cr_expect(state->page.kind == TUI_PAGE_CAUSES);
    (void)click(state, "Packets are lost");
    cr_expect(state->page.kind == TUI_PAGE_CAUSES && state->causes.selected == 1);
    (void)click(state, "Packets are lost");
    cr_expect(state->page.kind == TUI_PAGE_CAUSE);
    (void)click(state, "Esc back");
    cr_expect(state->page.kind == TUI_PAGE_CAUSES);
}

Test(mouse, questions_take_clicks_on_their_answers_alone, .init = begin)
{
    struct tui_state *state = &open_scene("consent")->state;
    cr_expect(click(state, "4 Path") == TUI_DO_NOTHING && state->overlay == TUI_CONSENT);
    cr_expect(click(state, "mtu") == TUI_DO_NOTHING && state->overlay == TUI_CONSENT);
    cr_expect(click(state, "n end with") == TUI_DO_REFUSE);
    state = &open_scene("consent")->state;
    cr_expect(click(state, "y go on") == TUI_DO_CONSENT);
}

Test(mouse, on_the_start_screen_fields_and_stages_are_clicked, .init = begin)
{
    struct tui_state *state = &open_scene("start")->state;
    (void)click(state, "Goal");
    cr_expect(state->start.field == TUI_GOAL);
    (void)click(state, "udp");
    cr_expect(state->start.field == TUI_STAGES && state->start.stage == 5);
    cr_expect(click(state, "udp") == TUI_DO_LOOK_UP && state->start.skip == 1u << 5);
    (void)click(state, "Other end");
    (void)click(state, "Esc then 1 to 8");
    cr_expect(state->start.field == TUI_DIRECTION);
    (void)click(state, "Space change");
    cr_expect(state->start.upload);
    cr_expect(click(state, "Enter start") == TUI_DO_START);
    (void)click(state, "5 History");
    cr_expect(state->screen == TUI_HISTORY);
}

Test(mouse, the_wheel_scrolls_and_selects, .init = begin)
{
    struct tui_state *state = &open_scene("verdict")->state;
    struct tui_grid grid;
    cr_assert(tui_grid_init(&grid, 24, 80, true) == TL_OK);
    tui_view(state, &grid);
    (void)tui_state_wheel(state, true);
    cr_expect(state->scroll == 3);
    (void)tui_state_wheel(state, false);
    cr_expect(state->scroll == 0);
    state->overlay = TUI_HELP;
    (void)tui_state_wheel(state, true);
    cr_expect(state->scroll == 0 && state->overlay == TUI_HELP);
    tui_grid_finish(&grid);
}

/* Any place in any picture: no crash, and never an action that was not asked for. */
Test(mouse, clicks_everywhere_do_no_harm, .init = begin)
{
    srand(2);
    for (const struct script *script = scripts; script->name; script++) {
        struct scene scene;
        struct tui_grid grid;
        scene_make(script, &scene);
        cr_assert(tui_grid_init(&grid, 24, 80, true) == TL_OK);
        for (int i = 0; i < RANDOM_COUNT; i++) {
            tui_view(&scene.state, &grid);
            bool asked = scene.state.overlay == TUI_CONSENT;
            unsigned actions =
                tui_state_click(&scene.state, &grid, rand() % 26 - 1, rand() % 82 - 1);
            cr_assert(asked || !(actions & TUI_DO_CONSENT));
            (void)tui_state_wheel(&scene.state, rand() % 2);
        }
        tui_grid_finish(&grid);
        scene_finish(&scene);
    }
}

Test(start, typed_text_becomes_the_configuration, .init = begin)
{
    struct tui_state state;
    struct tl_session_config config = {.download = true, .goal.bps = -1}, made = config;
    struct tl_error error = {0};
    tui_state_init(&state, &config);
    cr_expect(tui_state_configure(&state, &made, &error) == TL_USAGE);
    for (const char *key = "srv-q1\t \t900M\t2GB"; *key; key++)
        (void)tui_state_key(&state, *key);
    cr_assert(tui_state_configure(&state, &made, &error) == TL_OK, "%s", error.text);
    cr_expect_str_eq(made.host, "srv-q1");
    cr_expect(!made.download && made.upload);
    cr_expect(made.goal.bps == 900e6);
    cr_expect(made.data_budget_bytes == 2000000000);
    (void)tui_state_key(&state, 'x');
    cr_expect(tui_state_configure(&state, &made, &error) != TL_OK);
    cr_expect(strstr(error.text, "the data budget") != NULL, "%s", error.text);
}

Test(start, keys_are_chosen_in_turn_and_none_is_one_of_them, .init = begin)
{
    struct tui_state *state = &open_scene("start-recent")->state;
    static const char *const names[] = {"office", "", "lab-1", "office"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cr_expect(tui_state_key(state, 'K' - 64) == TUI_DO_NOTHING);
        cr_expect_str_eq(state->start.key, names[i]);
    }
}

Test(start, space_leaves_a_stage_out_and_asks_for_another, .init = begin)
{
    struct tui_state *state = &open_scene("start")->state;
    state->start.field = TUI_STAGES;
    for (state->start.stage = 0; state->start.stage < 8; state->start.stage++)
        (void)tui_state_key(state, ' ');
    /* disk (6) needs a directory that nobody named; verify (7) is its own switch */
    cr_expect(state->start.skip == 0x3f, "%x", state->start.skip);
    cr_expect(state->start.force == 0);
    cr_expect(state->start.verify);
    state->start.directory = true;
    state->start.stage = 6;
    (void)tui_state_key(state, ' ');
    cr_expect(state->start.force == 1u << 6);
}

Test(run, a_long_stage_keeps_its_beginning_in_the_plot, .init = begin)
{
    struct tui_state *state = &open_scene("run")->state;
    struct tl_event event = {.kind = TL_EVENT_LIVE};
    struct tui_samples *samples = &state->run.stages[state->run.sampled].samples;
    *samples = (struct tui_samples){.stride = 1};
    snprintf(event.stage, sizeof event.stage, "stream");
    event.has_direction = true;
    for (int i = 0; i < 100000; i++) {
        event.live.rate_bps = i;
        tui_state_event(state, &event);
    }
    cr_expect(samples->count > TUI_SAMPLES_MAX / 4 && samples->count <= TUI_SAMPLES_MAX);
    cr_expect(samples->rate_bps[0] < 2);
    for (int i = 1; i < samples->count; i++)
        cr_assert(samples->rate_bps[i] > samples->rate_bps[i - 1]);
}

/* A kept run was opened to be looked at: nothing is sent before somebody agrees. */
Test(keys, trying_the_fix_of_a_kept_run_asks_first, .init = begin)
{
    struct scene scene;
    scene_make(script_named("verdict"), &scene);
    scene.state.screen = TUI_VERDICT;
    scene.state.from_store = true;
    struct tui_state *state = &scene.state;
    const struct tl_event consent = {.kind = TL_EVENT_CONSENT,
                                     .text = "Nothing has been sent yet. At most 200 MB."};
    char text[900];
    for (int yes = 0; yes <= 1; yes++) {
        cr_expect(tui_state_key(state, 'v') == TUI_DO_VERIFY);
        tui_state_begin_trial(state, 0); /* its session asks, once */
        tui_state_event(state, &consent);
        cr_assert(state->overlay == TUI_CONSENT);
        cr_expect_str_eq(tui_consent_text(state, text, sizeof text), "Connect and try the fix?");
        cr_expect(strstr(text, state->title) && strstr(text, "no setting is changed") &&
                      strstr(text, consent.text),
                  "%s", text);
        cr_expect(tui_state_key(state, TUI_KEY_ENTER) == TUI_DO_NOTHING);
        cr_expect(tui_state_key(state, yes ? 'y' : 'n') == (yes ? TUI_DO_CONSENT : TUI_DO_REFUSE));
        state->run.active = state->run.verifying = false;
        state->screen = TUI_VERDICT;
    }
    scene_finish(&scene);
}

Test(keys, f1_helps_f10_leaves_and_escape_steps_back, .init = begin)
{
    struct scene scene;
    scene_make(script_named("path"), &scene);
    struct tui_state *state = &scene.state;
    state->screen = TUI_PATH;
    cr_expect(tui_state_key(state, TUI_KEY_HELP) == TUI_DO_NOTHING);
    cr_expect(state->overlay == TUI_HELP);
    cr_expect(tui_state_key(state, TUI_KEY_QUIT) == TUI_DO_QUIT);
    snprintf(state->hops.filter, sizeof state->hops.filter, "gw");
    (void)tui_state_key(state, TUI_KEY_ESCAPE);
    cr_expect(!state->hops.filter[0] && state->screen == TUI_PATH, "the filter goes first");
    (void)tui_state_key(state, TUI_KEY_ESCAPE);
    cr_expect(state->screen == TUI_VERDICT);
    (void)tui_state_key(state, 'x');
    cr_expect(state->page.kind == TUI_PAGE_SIMPLE);
    cr_expect(tui_state_key(state, 'y') == TUI_DO_COPY, "the fix is copied where it is read");
    (void)tui_state_key(state, TUI_KEY_ESCAPE);
    cr_expect(state->page.kind == TUI_NO_PAGE && state->screen == TUI_VERDICT);
    (void)tui_state_key(state, TUI_KEY_ESCAPE);
    cr_expect(state->screen == TUI_START);
    cr_expect(tui_state_key(state, TUI_KEY_ESCAPE) == TUI_DO_NOTHING, "one too many");
    cr_expect(strstr(state->message, "F10 leaves"));
    cr_expect(tui_state_key(state, TUI_KEY_QUIT) == TUI_DO_QUIT);
    scene_finish(&scene);
}

/* Help and quit stand in the last row of every screen, or the answers to what is asked. */
Test(screens, tell_the_way_out_at_every_size, .init = begin)
{
    for (const struct script *script = scripts; script->name; script++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct scene scene;
            struct tl_buf out = TL_BUF_INIT;
            scene_make(script, &scene);
            scene_play(script, &scene, sizes[i][0], sizes[i][1], false, &out);
            const char *text = tl_buf_text(&out);
            bool asked = scene.state.overlay != TUI_NO_OVERLAY;
            cr_expect(strstr(text, "F10 quit") || strstr(text, "F10, q") ||
                          (asked && (strstr(text, "y ") || strstr(text, "n "))),
                      "%s at %dx%d:\n%s", script->name, sizes[i][1], sizes[i][0], text);
            cr_expect(asked || strstr(text, "F1 help"), "%s at %dx%d", script->name, sizes[i][1],
                      sizes[i][0]);
            scene_finish(&scene);
            tl_buf_finish(&out);
        }
    }
}

/* The path screen with these results of rules for the path, which has no rung: what it says of it.
 */
static void expect_of_path(enum tl_result first, enum tl_result second, const char *expected)
{
    struct scene scene;
    struct tl_buf out = TL_BUF_INIT;
    scene_make(script_named("path-empty"), &scene);
    struct tl_findings *findings = &scene.fixture.findings;
    struct tl_finding made[2] = {findings->findings[0], findings->findings[0]};
    char path[] = "path";
    made[0].segment = made[1].segment = path;
    made[0].result = first;
    made[1].result = second;
    findings->findings = made;
    findings->finding_count = 2;
    for (size_t i = 0; i < findings->rung_count;) {
        if (strcmp(findings->ladder[i].segment, "path") == 0)
            findings->ladder[i] = findings->ladder[--findings->rung_count];
        else
            i++;
    }
    scene.result.findings = findings;
    scene_play(script_named("path-empty"), &scene, 60, 200, false, &out);
    cr_expect(strstr(tl_buf_text(&out), expected), "%s:\n%s", expected, tl_buf_text(&out));
    cr_expect(strcmp(expected, "not tested") == 0 || !strstr(tl_buf_text(&out), "not tested"));
    findings->findings = NULL;
    findings->finding_count = 0;
    scene_finish(&scene);
    tl_buf_finish(&out);
}

/* As in the lists of the report: what was ruled out was tested. */
Test(screens, a_part_of_the_way_is_either_tested_or_not, .init = begin)
{
    expect_of_path(TL_CANNOT_TELL, TL_CANNOT_TELL, "not tested");
    expect_of_path(TL_NOT_APPLICABLE, TL_CANNOT_TELL, "not tested");
    expect_of_path(TL_RULED_OUT, TL_RULED_OUT, "no limit seen");
    expect_of_path(TL_RULED_OUT, TL_CANNOT_TELL, "no limit seen, not all tested");
}
