/* What a screen says once, and that all of it can be read. */
#include <criterion/criterion.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"
#include "view.h"

static void begin(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
}

/* Several rules may be about one cause; a list that tells it as ruled out and as not to be told
 * would contradict itself, and the verdict's own stands above the list. */
Test(causes, each_is_told_once_and_the_verdict_is_not_among_them, .init = begin)
{
    struct scene scene;
    size_t index[TUI_LIST_MAX];
    scene_make(script_named("causes"), &scene);
    struct tl_findings *findings = &scene.fixture.findings;
    const struct tl_finding *verdict = tui_state_finding(&scene.state);
    size_t alone = tui_list_causes(&scene.state, index);
    struct tl_finding more[32], *before = findings->findings;
    size_t count = findings->finding_count;
    cr_assert(verdict && count + 2 < sizeof more / sizeof *more && alone > 1);
    memcpy(more, before, count * sizeof *more);
    more[count] = *verdict; /* as a note of another rule would be */
    more[count].result = TL_RULED_OUT;
    more[count + 1] = before[index[alone - 1]];
    more[count + 1].result = TL_CANNOT_TELL;
    findings->findings = more;
    findings->finding_count = count + 2;
    cr_expect(tui_list_causes(&scene.state, index) == alone);
    bool told = false;
    for (size_t i = 0; i < alone; i++)
        told |= index[i] == count + 1;
    cr_expect(told, "what may be is told before what is not");
    findings->findings = before;
    findings->finding_count = count;
    scene_finish(&scene);
}

/* At each size the whole of a long verdict can be scrolled to, its head too. */
Test(screens, a_head_that_does_not_fit_scrolls, .init = begin)
{
    for (int rows = 15; rows <= 24; rows += 9) {
        struct scene scene;
        struct tui_grid grid;
        struct tl_buf read = TL_BUF_INIT;
        scene_make(script_named("degraded"), &scene);
        struct tl_run *run = &scene.result.run;
        for (int i = 1; i < 3; i++)
            snprintf(run->reasons[i], sizeof run->reasons[i],
                     "%d: the clock of this machine was set during the measurement by a program "
                     "that nobody named, reason end %d",
                     i, i);
        run->reason_count = 3;
        scene.state.screen = TUI_VERDICT;
        cr_assert(tui_grid_init(&grid, rows, 60, true) == TL_OK);
        tui_view(&scene.state, &grid);
        for (int i = 0; i < 200; i++) {
            tui_grid_text(&grid, &read);
            (void)tui_state_key(&scene.state, TUI_KEY_DOWN);
            tui_view(&scene.state, &grid);
        }
        cr_expect(strstr(tl_buf_text(&read), "end 2"), "at %d rows:\n%.3000s", rows,
                  tl_buf_text(&read));
        cr_expect(strstr(tl_buf_text(&read), "16777216"));
        tui_grid_finish(&grid);
        tl_buf_finish(&read);
        scene_finish(&scene);
    }
}

/* The verdict at a size, scrolled from its begin to its end, and a message of the screen in it. */
static char *read_all(struct scene *scene, int rows, int cols)
{
    struct tui_grid grid;
    struct tl_buf read = TL_BUF_INIT;
    cr_assert(tui_grid_init(&grid, rows, cols, true) == TL_OK);
    tui_view(&scene->state, &grid);
    for (int i = 0; i < 120; i++) {
        tui_grid_text(&grid, &read);
        (void)tui_state_key(&scene->state, TUI_KEY_DOWN);
        tui_view(&scene->state, &grid);
    }
    tui_grid_finish(&grid);
    return tl_buf_steal(&read);
}

/* Who is to act stands behind the name of the other end, however long that is. */
Test(screens, nothing_behind_a_long_name_is_cut, .init = begin)
{
    static const int sizes[][2] = {{10, 40}, {15, 60}, {24, 80}, {40, 120}, {60, 200}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct scene scene;
        scene_make(script_named("verdict"), &scene);
        struct tl_remedy *fix =
            &((struct tl_finding *)tui_state_finding(&scene.state))->remedies[0];
        char *before = fix->where, *needs = fix->needs;
        fix->where = (char *)"path";
        fix->needs = (char *)"network-team";
        snprintf(scene.result.run.target_name, sizeof scene.result.run.target_name,
                 "backup-server-17.storage.frankfurt.region-central.department-of-archives."
                 "example-corporation.net");
        scene.state.screen = TUI_VERDICT;
        char *text = read_all(&scene, sizes[i][0], sizes[i][1]);
        cr_expect(strstr(text, "network team") || strstr(text, "network\n"), "%dx%d:\n%.2500s",
                  sizes[i][1], sizes[i][0], text);
        free(text);
        fix->where = before;
        fix->needs = needs;
        scene_finish(&scene);
    }
}

/* The fix stands in the first picture of every size, however long the name of who limits is. */
Test(screens, a_long_name_does_not_push_the_fix_below_the_fold, .init = begin)
{
    static const int sizes[][2] = {{10, 40}, {15, 60}, {24, 80}, {40, 120}, {60, 200}};
    static const char *const segments[] = {"far-host", "path"};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        const int *size = sizes[i / 2];
        struct scene scene;
        struct tui_grid grid;
        struct tl_buf out = TL_BUF_INIT;
        scene_make(script_named("verdict"), &scene);
        struct tl_finding *finding = (struct tl_finding *)tui_state_finding(&scene.state);
        char *segment = finding->segment, *where = finding->remedies[0].where;
        finding->segment = finding->remedies[0].where = (char *)segments[i % 2];
        scene.fixture.findings.verdict.segment = (char *)segments[i % 2];
        snprintf(
            scene.result.run.target_name, sizeof scene.result.run.target_name,
            "backup-server-17.storage.frankfurt.region-central.department-of-archives."
            "example-corporation.a-long-name-of-a-zone-that-nobody-would-ever-type.example.net");
        scene.state.screen = TUI_VERDICT;
        cr_assert(tui_grid_init(&grid, size[0], size[1], true) == TL_OK);
        tui_view(&scene.state, &grid);
        tui_grid_text(&grid, &out);
        cr_expect(strstr(tl_buf_text(&out), "sysctl -w"), "%dx%d %s:\n%s", size[1], size[0],
                  segments[i % 2], tl_buf_text(&out));
        tui_grid_finish(&grid);
        tl_buf_finish(&out);
        finding->segment = segment;
        finding->remedies[0].where = where;
        scene_finish(&scene);
    }
}

Test(screens, a_message_stands_whole, .init = begin)
{
    for (int cols = 40; cols <= 80; cols += 20) {
        struct scene scene;
        struct tui_grid grid;
        struct tl_buf out = TL_BUF_INIT;
        scene_make(script_named("verdict"), &scene);
        scene.state.screen = TUI_VERDICT;
        snprintf(
            scene.state.message, sizeof scene.state.message, "%s",
            "this was a demo: its path is gone, so nothing can be tried on it any more, lastword");
        cr_assert(tui_grid_init(&grid, cols == 40 ? 10 : 15, cols, true) == TL_OK);
        tui_view(&scene.state, &grid);
        tui_grid_text(&grid, &out);
        cr_expect(strstr(tl_buf_text(&out), "this was a demo") &&
                      strstr(tl_buf_text(&out), "lastword"),
                  "%d columns:\n%s", cols, tl_buf_text(&out));
        tl_buf_finish(&out);
        tui_grid_finish(&grid);
        scene_finish(&scene);
    }
}

/* On a linear axis a rate of a hundredth of the largest would lie on the line of nothing. */
Test(screens, a_graph_of_rates_far_apart_is_logarithmic, .init = begin)
{
    struct scene scene;
    struct tui_grid grid;
    struct tl_buf out = TL_BUF_INIT;
    scene_make(script_named("history-graph"), &scene);
    struct tl_history_run *older = &scene.list.runs[1];
    double before = older->stream_bps;
    scene.state.screen = TUI_HISTORY;
    scene.state.history.graph = true;
    cr_assert(tui_grid_init(&grid, 24, 80, true) == TL_OK);
    tui_view(&scene.state, &grid);
    tui_grid_text(&grid, &out);
    cr_expect(strstr(tl_buf_text(&out), "        0│"), "%s", tl_buf_text(&out));
    older->stream_bps = 9.1e6;
    out.len = 0;
    tui_view(&scene.state, &grid);
    tui_grid_text(&grid, &out);
    cr_expect(strstr(tl_buf_text(&out), "1 Mb/s│") && strstr(tl_buf_text(&out), "1 Gb/s│"), "%s",
              tl_buf_text(&out));
    cr_expect(!strstr(tl_buf_text(&out), "        0│"));
    older->stream_bps = before;
    tl_buf_finish(&out);
    tui_grid_finish(&grid);
    scene_finish(&scene);
}

/* What answers stands in the last row; the keys of the screen below are not for now. */
Test(screens, a_question_has_its_answers_in_the_last_row, .init = begin)
{
    static const int sizes[][2] = {{10, 40}, {15, 60}, {24, 80}, {40, 120}};
    int asked = 0;
    for (const struct script *script = scripts; script->name; script++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct scene scene;
            struct tl_buf out = TL_BUF_INIT;
            scene_make(script, &scene);
            scene_play(script, &scene, sizes[i][0], sizes[i][1], true, &out);
            char *text = (char *)tl_buf_text(&out), first[16] = "";
            text[strlen(text) - 1] = '\0'; /* the last row has an end, too */
            const char *last = strrchr(text, '\n');
            snprintf(first, sizeof first, "%.9s", tui_question_keys(&scene.state));
            if (scene.state.overlay != TUI_NO_OVERLAY) {
                asked++;
                cr_expect(last && strstr(last, first) && !strstr(last, "F10") &&
                              !strstr(last, "pause"),
                          "%s at %dx%d:\n%s", script->name, sizes[i][1], sizes[i][0], text);
            }
            scene_finish(&scene);
            tl_buf_finish(&out);
        }
    cr_expect(asked >= 20, "%d questions", asked);
}

/* Why a stage gave nothing stands whole: of all stages where there is room, else of the one that is
 * selected. */
Test(screens, why_a_stage_failed_stands_whole, .init = begin)
{
    static const int sizes[][2] = {{15, 60}, {24, 80}, {40, 120}, {60, 200}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct scene scene;
        struct tui_grid grid;
        struct tl_buf out = TL_BUF_INIT;
        scene_make(script_named("run"), &scene);
        struct tui_progress_state *run = &scene.state.run;
        struct tl_stage_record *record = &run->stages[1].record;
        snprintf(
            record->reason, sizeof record->reason,
            "no datagram came back: a firewall on the way lets none of them through, lastword");
        run->selected = 1;
        cr_assert(tui_grid_init(&grid, sizes[i][0], sizes[i][1], true) == TL_OK);
        tui_view(&scene.state, &grid);
        tui_grid_text(&grid, &out);
        cr_expect(strstr(tl_buf_text(&out), "lastword"), "%dx%d:\n%s", sizes[i][1], sizes[i][0],
                  tl_buf_text(&out));
        tl_buf_finish(&out);
        tui_grid_finish(&grid);
        scene_finish(&scene);
    }
}

/* While text is typed a digit is text: the last row says how it becomes a key, and nothing is
 * offered that would be typed. */
Test(start, keys_that_would_be_text_are_not_offered, .init = begin)
{
    struct scene scene;
    struct tl_buf out = TL_BUF_INIT;
    scene_make(script_named("start-empty"), &scene);
    scene.state.start.field = TUI_GOAL;
    scene_play(script_named("start-empty"), &scene, 24, 80, true, &out);
    cr_expect(strstr(tl_buf_text(&out), "Esc then 1 to 8") &&
                  !strstr(tl_buf_text(&out), "Space change"),
              "%s", tl_buf_text(&out));
    (void)tui_state_key(&scene.state, TUI_KEY_ESCAPE);
    (void)tui_state_key(&scene.state, '5');
    cr_expect(scene.state.screen == TUI_HISTORY);
    tl_buf_finish(&out);
    scene_finish(&scene);
}

/* One value is no values; what is asked and what is shown count alike. */
Test(export, one_value_that_is_masked_is_told_as_one, .init = begin)
{
    static const uint8_t key[TL_REDACT_KEY_SIZE];
    struct scene scene;
    struct tl_redactor *redactor = NULL;
    struct tl_buf masked = TL_BUF_INIT;
    scene_make(script_named("export"), &scene);
    const struct tl_redactor *before = scene.state.leaving.redactor;
    cr_assert(tl_redactor_create(key, &redactor, NULL) == TL_OK);
    tl_redact_text(redactor, "192.0.2.7", &masked);
    cr_assert(tl_redactor_count(redactor) == 1);
    scene.state.leaving.redactor = redactor;
    scene.state.leaving.len = 1;
    scene.state.screen = TUI_EXPORT;
    for (int cols = 30; cols <= 120; cols += 30) {
        struct tui_grid grid;
        struct tl_buf out = TL_BUF_INIT;
        cr_assert(tui_grid_init(&grid, 24, cols, true) == TL_OK);
        tui_view(&scene.state, &grid);
        tui_grid_text(&grid, &out);
        cr_expect(strstr(tl_buf_text(&out), "1 value masked"), "%s", tl_buf_text(&out));
        tl_buf_finish(&out);
        tui_grid_finish(&grid);
    }
    scene.state.leaving.redactor = before;
    tl_redactor_destroy(redactor);
    tl_buf_finish(&masked);
    scene_finish(&scene);
}

/* Which of several programs of one name it is stands in its number. */
Test(watch, the_number_of_a_program_with_a_long_name_is_shown, .init = begin)
{
    struct scene scene;
    struct tui_grid grid;
    struct tl_buf out = TL_BUF_INIT;
    scene_make(script_named("watch"), &scene);
    struct tl_app_live_row row = scene.state.watch.rows[0];
    snprintf(row.program, sizeof row.program, "backup-agent (4711)");
    scene.state.watch.rows = &row;
    scene.state.watch.count = 1;
    scene.state.screen = TUI_WATCH;
    cr_assert(tui_grid_init(&grid, 24, 80, true) == TL_OK);
    tui_view(&scene.state, &grid);
    tui_grid_text(&grid, &out);
    char *line = strstr(tl_buf_text(&out), ">(!)"); /* its row, not what stands below the list */
    cr_assert(line);
    line[strcspn(line, "\n")] = '\0';
    cr_expect(strstr(line, "4711)"), "%s", line);
    tl_buf_finish(&out);
    tui_grid_finish(&grid);
    scene_finish(&scene);
}
