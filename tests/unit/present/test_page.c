/* Lines of spans: what goes in, and what the sink for terminals makes of it. */
#include <criterion/criterion.h>
#include <string.h>

#include "tightlink/base/utf8.h"
#include "tightlink/present/page.h"

static void expect_print(const struct tl_page *page, bool color, const char *expected)
{
    struct tl_buf out = TL_BUF_INIT;
    cr_assert(tl_page_print(page, color, &out) == TL_OK);
    cr_expect_str_eq(tl_buf_text(&out), expected);
    tl_buf_finish(&out);
}

Test(page, meanings_become_colours_only_where_asked_for)
{
    struct tl_page page;
    tl_page_init(&page, 40, true);
    tl_page_add(&page, TL_SAID_BAD, "(!) ");
    tl_page_add(&page, TL_SAID_PLAIN, "one");
    tl_page_add(&page, TL_SAID_PLAIN, " two   ");
    tl_page_end_line(&page, TL_LINE_TEXT);
    tl_page_end_line(&page, TL_LINE_TEXT);
    cr_expect(page.line_count == 2 && page.lines[0].count == 2, "spans of one meaning are one");
    cr_expect(tl_line_is_empty(&page, 1));
    expect_print(&page, false, "(!) one two\n\n");
    expect_print(&page, true, "\033[1;31m(!) \033[0mone two\n\n");
    tl_page_finish(&page);
}

Test(page, nothing_that_steers_a_terminal_gets_in)
{
    struct tl_page page;
    tl_page_init(&page, 40, true);
    tl_page_add(&page, TL_SAID_PLAIN, "a\033[2J\nb");
    tl_page_addf(&page, TL_SAID_STRONG, "%s", "\u202e");
    tl_page_end_line(&page, TL_LINE_TEXT);
    tl_page_paragraph(&page, TL_SAID_PLAIN, 0, TL_LINE_TEXT, TL_LINE_TEXT, "c\rd \x9b m");
    for (size_t i = 0; i < page.text.len; i++)
        cr_expect((unsigned char)page.text.data[i] >= ' ', "byte %zu", i);
    cr_expect(!strstr(page.text.data, "\u202e"));
    tl_page_finish(&page);
}

Test(page, paragraphs_keep_to_their_columns_and_their_indent)
{
    struct tl_page page;
    tl_page_init(&page, 10, true);
    tl_page_add(&page, TL_SAID_PLAIN, "ab ");
    tl_page_paragraph(&page, TL_SAID_DIM, 2, TL_LINE_ENTRY, TL_LINE_TEXT,
                      "one two three abcdefghijklmnop");
    expect_print(&page, false, "ab one two\n  three\n  abcdefgh\n  ijklmnop\n");
    cr_expect(page.lines[0].kind == TL_LINE_ENTRY && page.lines[1].kind == TL_LINE_TEXT);
    tl_page_finish(&page);
}

Test(page, what_is_too_long_is_cut_and_ascii_stays_ascii)
{
    struct tl_page page;
    tl_page_init(&page, 10, true);
    tl_page_cell(&page, "abcdefgh", 6);
    tl_page_cell_right(&page, "x", 3);
    tl_page_end_line(&page, TL_LINE_TEXT);
    expect_print(&page, false, "abc...  x\n");
    tl_page_finish(&page);
    tl_page_init(&page, 10, false);
    tl_page_add(&page, TL_SAID_PLAIN, "→");
    tl_page_bar(&page, TL_SAID_PLAIN, 0.5, 1, 4);
    tl_page_end_line(&page, TL_LINE_TEXT);
    for (size_t i = 0; i < page.text.len; i++)
        cr_expect((unsigned char)page.text.data[i] < 0x80);
    cr_expect(strstr(page.text.data, "##--"));
    tl_page_finish(&page);
}
