/* The sanitiser: nothing that could steer a terminal or hide text passes it. */
#include <criterion/criterion.h>
#include <string.h>

#include "tightlink/base/random.h"
#include "tightlink/base/utf8.h"

static void expect_clean(const char *text, const char *wanted)
{
    char clean[256];
    cr_expect(tl_utf8_clean(text, strlen(text), clean, sizeof clean) == strlen(clean));
    cr_expect_str_eq(clean, wanted);
}

Test(utf8, printable_text_passes)
{
    expect_clean("srv-b.example.net", "srv-b.example.net");
    expect_clean("caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80 \xce\xbb",
                 "caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80 \xce\xbb");
}

Test(utf8, what_steers_or_hides_is_shown)
{
    expect_clean("a\x1b[2Jb\r\n\t\x7f", "a\\u{1b}[2Jb\\u{d}\\u{a}\\u{9}\\u{7f}");
    expect_clean("\xc2\x9b"
                 "31m",
                 "\\u{9b}31m"); /* C1 CSI */
    expect_clean("\xe2\x80\xae"
                 "evil",
                 "\\u{202e}evil");                                  /* bidi override */
    expect_clean("\xe2\x81\xa6\xe2\x81\xa9", "\\u{2066}\\u{2069}"); /* bidi isolates */
    expect_clean("a\xe2\x80\x8b"
                 "b\xef\xbb\xbf",
                 "a\\u{200b}b\\u{feff}");           /* zero width */
    expect_clean("\xe2\x80\xa8", "\\u{2028}");      /* line separator */
    expect_clean("\xf3\xa0\x81\x81", "\\u{e0041}"); /* tag letter */
    expect_clean("\xef\xb8\x8f", "\\u{fe0f}");      /* variation selector */
    expect_clean("\xee\x80\x80", "\\u{e000}");      /* private use */
    expect_clean("\xef\xbf\xbe", "\\u{fffe}");      /* non-character */
}

Test(utf8, broken_bytes_are_shown)
{
    expect_clean("a\xff\xfe", "a\\x{ff}\\x{fe}");
    expect_clean("\xc0\xaf", "\\x{c0}\\x{af}");
    expect_clean("\xe2\x82", "\\x{e2}\\x{82}");
    expect_clean("\xed\xa0\x80", "\\x{ed}\\x{a0}\\x{80}");
    expect_clean("\xf5\x80\x80\x80", "\\x{f5}\\x{80}\\x{80}\\x{80}");
}

Test(utf8, names_are_cut_at_253_bytes_and_never_inside_a_character)
{
    char name[600], clean[TL_UTF8_NAME_SIZE];
    memset(name, 'a', 400);
    name[400] = '\0';
    cr_expect(tl_utf8_clean_name(name, clean) == 253);
    for (size_t i = 0; i < 598; i += 2)
        memcpy(name + i, "\xc3\xa9", 2);
    name[598] = '\0';
    cr_expect(tl_utf8_clean_name(name, clean) == 252);
    memset(name, 0x1b, 300);
    name[300] = '\0';
    cr_expect(tl_utf8_clean_name(name, clean) == 252); /* 42 times \u{1b} */
    char one[1];
    cr_expect(tl_utf8_clean("abc", 3, one, 1) == 0 && one[0] == '\0');
}

Test(utf8, decoding_and_encoding_agree_on_every_character)
{
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        if (c >= 0xd800 && c <= 0xdfff)
            continue;
        char bytes[4];
        uint32_t back = 0;
        size_t len = tl_utf8_encode(c, bytes);
        if (tl_utf8_decode(bytes, len, &back) != len || back != c)
            cr_assert_fail("U+%04X", c);
        if (tl_utf8_decode(bytes, len - 1, NULL) != 0)
            cr_assert_fail("U+%04X cut", c);
    }
}

/* What P12 promises, checked on the output bytes and not with the code under test. */
static int is_safe(const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p < 0x20 || *p == 0x7f)
            return 0;
        if (*p == 0xc2 && p[1] < 0xa0) /* C1 */
            return 0;
        if (*p == 0xe2 &&
            ((p[1] == 0x80 && ((p[2] >= 0x8b && p[2] <= 0x8f) || (p[2] >= 0xa8 && p[2] <= 0xae))) ||
             (p[1] == 0x81 && p[2] >= 0xa0 && p[2] <= 0xaf)))
            return 0;
    }
    return 1;
}

Test(utf8, random_bytes_never_leave_a_control_character)
{
    struct tl_random rng;
    tl_random_seed(&rng, 11);
    for (int round = 0; round < 20000; round++) {
        char text[40], clean[512];
        for (size_t i = 0; i < sizeof text - 1; i++) {
            uint64_t r = tl_random_next(&rng);
            /* Bytes that begin the interesting sequences come often. */
            static const char often[] = "\xe2\x80\xc2\x81\x1b\xef\xbb\xbf\xae\x8b";
            text[i] = r % 2 ? often[r / 2 % 10] : (char)(r >> 8);
        }
        text[sizeof text - 1] = '\0';
        tl_utf8_clean(text, sizeof text - 1, clean, sizeof clean);
        cr_assert(is_safe(clean), "%s", clean);
    }
}

Test(utf8, ascii_keeps_the_meaning_of_our_own_signs)
{
    struct tl_buf buf = TL_BUF_INIT;
    tl_utf8_add_clean(&buf, "8 \xc3\x97 \xe2\x86\x92 \xe2\x80\xa6 \xc2\xb5s caf\xc3\xa9 \x1b",
                      true);
    cr_expect_str_eq(tl_buf_text(&buf), "8 x -> ... us caf\\u{e9} \\u{1b}");
    tl_buf_finish(&buf);
}

Test(utf8, widths_count_columns_and_not_bytes)
{
    cr_expect(tl_utf8_width("abc") == 3);
    cr_expect(tl_utf8_width("caf\xc3\xa9") == 4);
    cr_expect(tl_utf8_width("\xff\xff") == 2);
    cr_expect(tl_utf8_fit("caf\xc3\xa9s", 4) == 5);
    cr_expect(tl_utf8_fit("abc", 10) == 3);
}

Test(utf8, a_name_that_is_too_long_loses_its_middle)
{
    static const struct {
        const char *text;
        size_t columns;
        bool ascii;
        const char *expected;
    } cases[] = {
        {"srv-b.example.net", 17, false, "srv-b.example.net"},
        {"srv-b.example.net", 16, false,
         "srv-b.ex\xe2\x80\xa6"
         "ple.net"},
        {"srv-b.example.net", 16, true, "srv-b.e...le.net"},
        {"srv-b.example.net", 2, true, "sr"},
        {"srv-b.example.net", 0, true, ""},
        {"caf\xc3\xa9"
         "caf\xc3\xa9",
         5, false,
         "ca\xe2\x80\xa6"
         "f\xc3\xa9"},
        {"a\x1b"
         "b",
         3, false,
         "a\xe2\x80\xa6"
         "b"}, /* cleaned first: a\u{1b}b */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tl_buf out = TL_BUF_INIT;
        tl_utf8_add_short(&out, cases[i].text, cases[i].columns, cases[i].ascii);
        cr_expect_str_eq(tl_buf_text(&out), cases[i].expected, "%s in %zu: %s", cases[i].text,
                         cases[i].columns, tl_buf_text(&out));
        tl_buf_finish(&out);
    }
}
