/* Numbers to text and text to numbers. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tightlink/base/units.h"

static void expect_bps(const char *text, double bps)
{
    double value = -1;
    struct tl_error error;
    cr_expect(tl_parse_bps(text, &value, &error) == TL_OK, "%s", text);
    cr_expect_float_eq(value, bps, 1e-6, "%s -> %g", text, value);
}

Test(units, rates_are_read_in_every_usual_spelling)
{
    expect_bps("900M", 900e6);
    expect_bps("900 Mb/s", 900e6);
    expect_bps("1.5Gbit", 1.5e9);
    expect_bps("11 MB/s", 88e6);
    expect_bps("64k", 64e3);
    expect_bps("2e9", 2e9);
}

Test(units, nonsense_rates_are_refused_and_leave_the_output_alone)
{
    static const char *const bad[] = {
        "banana", "", "-5M", "0", "1e400", "nan", "inf", "5X", "0x10", "5 Mb/s extra", "1e18"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = 42;
        struct tl_error error = {0};
        cr_expect(tl_parse_bps(bad[i], &value, &error) != TL_OK, "%s", bad[i]);
        cr_expect(value == 42 && error.text[0], "%s", bad[i]);
    }
}

Test(units, times_and_amounts_are_read)
{
    int64_t value;
    cr_expect(tl_parse_ns("80ms", &value, NULL) == TL_OK && value == 80000000);
    cr_expect(tl_parse_ns("2", &value, NULL) == TL_OK && value == 2000000000);
    cr_expect(tl_parse_ns("16h", &value, NULL) == TL_OK && value == INT64_C(57600000000000));
    cr_expect(tl_parse_bytes("1.5 GB", &value, NULL) == TL_OK && value == 1500000000);
    cr_expect(tl_parse_bytes("64KiB", &value, NULL) == TL_OK && value == 65536);
}

Test(units, a_number_and_its_unit_are_one_word)
{
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {
        {"41.8 Mb/s instead", 9},
        {"(30 ms) more", 7},
        {"97 %, so", 5},
        {"at 41.8", 2},
        {"41.8", 4},
        {"2 connections", 1},
        {"s 3", 1},
        {"", 0},
        {"9 minutes", 1},
        {"4 min", 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect(tl_word_length(cases[i].text) == cases[i].length, "%s: %zu", cases[i].text,
                  tl_word_length(cases[i].text));
}

Test(units, a_number_is_no_more_exact_than_it_is_known)
{
    static const struct {
        double value, uncertainty;
        const char *expected;
    } cases[] = {
        {96.13e6, 0.2e6, "96.1 Mb/s"},
        {96.13e6, 2e6, "96 Mb/s"},
        {96.13e6, 40e6, "96 Mb/s"},
        {193e6, 9.65e6, "190 Mb/s"},
        {94.9e6, 4.7e6, "95 Mb/s"},
        {930e6, 46e6, "930 Mb/s"},
        {4.1e6, 0.2e6, "4.1 Mb/s"},
        {999e6, 50e6, "1 Gb/s"},
        {41.8e6, 0, "41.8 Mb/s"},
        {41.8e6, NAN, "41.8 Mb/s"},
        {0, 1, "0 b/s"},
    };
    char text[TL_UNIT_TEXT_SIZE];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(tl_format_bps_known(cases[i].value, cases[i].uncertainty, text),
                         cases[i].expected, "%g: %s", cases[i].value, text);
    cr_expect_str_eq(tl_format_bps_known(NAN, 1, text), "unknown");
}

Test(units, numbers_read_well)
{
    char text[TL_UNIT_TEXT_SIZE];
    cr_expect_str_eq(tl_format_bps(99.9e6, text), "99.9 Mb/s");
    cr_expect_str_eq(tl_format_bps(999.96e6, text), "1 Gb/s");
    cr_expect_str_eq(tl_format_bps(526e3, text), "526 kb/s");
    cr_expect_str_eq(tl_format_bytes(524288, text), "512 KiB");
    cr_expect_str_eq(tl_format_bytes(1572864, text), "1.50 MiB");
    cr_expect_str_eq(tl_format_traffic(1.4e9, text), "1.40 GB");
    cr_expect_str_eq(tl_format_ns(42e6, text), "42 ms");
    cr_expect_str_eq(tl_format_ns(780e9, text), "13 min");
    cr_expect_str_eq(tl_format_ratio(0.91, text), "91 %");
    cr_expect_str_eq(tl_format_ratio(0.001, text), "0.1 %");
    cr_expect_str_eq(tl_format_bps((double)NAN, text), "unknown");
}
