/* What the views draw with: rows of pages and text, cells, and the screens of very small terminals.
 */
#include <criterion/criterion.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "page_text.h"
#include "script.h"
#include "view.h"

static void begin(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    setenv("TZ", "UTC", 1);
}

static void add_line(struct tl_page *page, enum tl_line_kind kind, const char *text)
{
    tl_page_add(page, TL_SAID_PLAIN, text);
    tl_page_end_line(page, kind);
}

Test(lines, of_many_untested_rungs_the_first_are_shown_and_the_rest_counted, .init = begin)
{
    struct tl_page page;
    struct tui_grid grid;
    struct tl_buf out = TL_BUF_INIT;
    tl_page_init(&page, 70, true);
    add_line(&page, TL_LINE_HEADING, "Ladder");
    add_line(&page, TL_LINE_UNTESTED, "--  path  a");
    add_line(&page, TL_LINE_UNTESTED_MORE, "           more of a");
    add_line(&page, TL_LINE_UNTESTED, "--  path  b");
    add_line(&page, TL_LINE_UNTESTED, "--  path  c");
    add_line(&page, TL_LINE_UNTESTED_MORE, "           more of c");
    add_line(&page, TL_LINE_UNTESTED, "--  path  d");
    add_line(&page, TL_LINE_TEXT, "-- no rung");
    add_line(&page, TL_LINE_UNTESTED, "--  path  e");
    cr_assert(tui_grid_init(&grid, 8, 70, true) == TL_OK);
    cr_expect(tui_page_lines(&grid, 0, 0, 8, 70, 0, &page) == 7);
    tui_grid_text(&grid, &out);
    cr_expect_str_eq(tl_buf_text(&out),
                     "Ladder\n--  path  a\n           more of a\n--  path  b\n"
                     "--  and 2 more that were not tested (w tells why)\n-- no rung\n"
                     "--  path  e\n\n");
    tl_buf_finish(&out);
    tui_grid_finish(&grid);
    tl_page_finish(&page);
}

Test(lines, what_a_span_means_reaches_the_grid_as_its_ink, .init = begin)
{
    struct tl_page page;
    struct tui_grid grid;
    tl_page_init(&page, 10, true);
    tl_page_add(&page, TL_SAID_BAD, "ab");
    tl_page_add(&page, TL_SAID_PLAIN, "c\033[31md");
    tl_page_end_line(&page, TL_LINE_TEXT);
    cr_assert(tui_grid_init(&grid, 2, 20, true) == TL_OK);
    (void)tui_page_lines(&grid, 0, 0, 2, 20, 0, &page);
    cr_expect(tui_grid_at(&grid, 0, 0)->ink == TUI_BAD);
    cr_expect(tui_grid_at(&grid, 0, 1)->ink == TUI_BAD);
    cr_expect(tui_grid_at(&grid, 0, 2)->ink == TUI_PLAIN);
    for (int c = 0; c < 20; c++) /* an escape sequence is text like any other */
        cr_expect(tui_grid_at(&grid, 0, c)->text[0] != '\033');
    tui_grid_finish(&grid);
    tl_page_finish(&page);
}

Test(lines, a_word_goes_to_the_next_row_whole_where_one_holds_it, .init = begin)
{
    struct tui_grid grid;
    struct tl_buf out = TL_BUF_INIT;
    cr_assert(tui_grid_init(&grid, 8, 12, false) == TL_OK);
    cr_expect(tui_put_cut(&grid, 7, 0, 12, TUI_PLAIN, "one two three") == 12);
    cr_expect_str_eq(tui_grid_at(&grid, 7, 8)->text, "t");
    cr_expect_str_eq(tui_grid_at(&grid, 7, 9)->text, ".");
    tui_grid_clear(&grid);
    cr_expect(tui_lines(&grid, 0, 0, 8, 12, 0, "    one two three\nabcdefghijklmnop q") == 4);
    tui_grid_text(&grid, &out);
    cr_expect_str_eq(tl_buf_text(&out), "    one two\n    three\nabcdefghijkl\nmnop q\n\n\n\n\n");
    tl_buf_finish(&out);
    tui_grid_finish(&grid);
}

Test(grid, what_is_too_long_loses_its_middle, .init = begin)
{
    static const struct {
        const char *text, *utf8, *ascii;
        int columns;
    } rows[] = {{"srv-b.example.net", "srv-b.example.net", "srv-b.example.net", 17},
                {"srv-b.example.net", "srv-b.ex…ple.net", "srv-b.e...le.net", 16},
                {"abcdef", "a…f", "abc", 3}, /* no room for three points */
                {"文字文字文字", "文…字", "\\u{6587...{5b57}", 7}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int utf8 = 0; utf8 < 2; utf8++) {
            int columns = i == 3 && !utf8 ? 16 : rows[i].columns;
            struct tui_grid grid;
            struct tl_buf out = TL_BUF_INIT;
            cr_assert(tui_grid_init(&grid, 1, 20, utf8) == TL_OK);
            cr_expect(tui_put_cut(&grid, 0, 0, columns, TUI_PLAIN, rows[i].text) <= columns);
            tui_grid_clear(&grid);
            int used = tui_put_short(&grid, 0, 0, columns, TUI_PLAIN, rows[i].text);
            cr_expect(used <= columns);
            tui_grid_text(&grid, &out);
            out.data[strcspn(out.data, "\n")] = '\0';
            cr_expect_str_eq(tl_buf_text(&out), utf8 ? rows[i].utf8 : rows[i].ascii);
            tl_buf_finish(&out);
            tui_grid_finish(&grid);
        }
    }
}

Test(grid, half_a_wide_character_does_not_stay, .init = begin)
{
    struct tui_grid grid;
    struct tl_buf out = TL_BUF_INIT;
    cr_assert(tui_grid_init(&grid, 1, 5, true) == TL_OK);
    cr_expect(tui_put(&grid, 0, 0, 5, TUI_PLAIN, "文字") == 4);
    (void)tui_put(&grid, 0, 1, 1, TUI_PLAIN, "x");
    (void)tui_put(&grid, 0, 2, 1, TUI_PLAIN, "y");
    (void)tui_put(&grid, 0, 4, 1, TUI_PLAIN, "文"); /* does not fit */
    tui_grid_text(&grid, &out);
    cr_expect_str_eq(tl_buf_text(&out), " xy\n");
    tl_buf_finish(&out);
    tui_grid_finish(&grid);
}

/* The small screen after keys, as text. */
static char *small_screen(const char *name, const int *keys, int count)
{
    struct scene scene;
    struct tui_grid grid;
    struct tl_buf out = TL_BUF_INIT;
    scene_make(script_named(name), &scene);
    cr_assert(tui_grid_init(&grid, 10, 40, false) == TL_OK);
    tui_view(&scene.state, &grid);
    for (int i = 0; i < count; i++) {
        (void)tui_state_key(&scene.state, keys[i]);
        tui_view(&scene.state, &grid);
    }
    tui_grid_text(&grid, &out);
    tui_grid_finish(&grid);
    scene_finish(&scene);
    return tl_buf_steal(&out);
}

Test(small, the_fix_stands_whole_and_the_rest_scrolls, .init = begin)
{
    static const int end[] = {TUI_KEY_END};
    char *top = small_screen("verdict", NULL, 0), *below = small_screen("verdict", end, 1);
    cr_expect(strstr(top, "This PC limits the download") && strstr(top, "131072 16777216\""), "%s",
              top);
    cr_expect(!strstr(top, "A 10 GB file") && strstr(top, " v\n") && !strstr(below, " v\n"),
              "what scrolls says so:\n%s", top);
    cr_expect(strstr(below, "after the fix.") && !strstr(below, "This PC limits"), "%s", below);
    free(top);
    free(below);
}

Test(small, every_screen_shows_itself, .init = begin)
{
    static const int path[] = {'4'}, causes[] = {'w'}, help[] = {TUI_KEY_HELP};
    char *text = small_screen("path", path, 1);
    cr_expect(strstr(text, "core-1.example.net"), "%s", text);
    free(text);
    text = small_screen("verdict", causes, 1);
    cr_expect(strstr(text, "> i  Selective"), "%s", text);
    free(text);
    text = small_screen("verdict", help, 1);
    cr_expect(strstr(text, "copy the fix") && strstr(text, "Esc closes"), "%s", text);
    free(text);
}

/* Of a capture neither end need be this machine. */
Test(drawing, places_of_a_capture_are_its_ends)
{
    struct tl_run *run = calloc(1, sizeof *run);
    cr_assert(run);
    strcpy(run->target_kind, "pcap");
    cr_expect_str_eq(tui_place(run, "near-host"), "client");
    cr_expect_str_eq(tui_place(run, "far-host"), "server");
    strcpy(run->target_kind, "tightlink");
    cr_expect_str_eq(tui_place(run, "near-host"), "this PC");
    cr_expect_str_eq(tui_place(NULL, "far-host"), "far end");
    cr_expect_str_eq(tui_place(run, "hop 3"), "hop 3");
    free(run);
}
