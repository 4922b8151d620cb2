/* Lines and numbers of the kernel's text files. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc.h"

TestSuite(host_proc);

static char root[64];

/* A file "/f" below a directory of its own. */
static void write_file(const char *text)
{
    char path[96];
    FILE *file;

    strcpy(root, "/tmp/tl-proc-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    snprintf(path, sizeof(path), "%s/f", root);
    file = fopen(path, "we");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

static void remove_file(void)
{
    char path[96];

    snprintf(path, sizeof(path), "%s/f", root);
    unlink(path);
    rmdir(root);
}

/* Appends each line and a bar. */
static bool join(char *line, void *context)
{
    strcat(context, strlen(line) > 20 ? "LONG" : line);
    strcat(context, "|");
    return strcmp(line, "stop") != 0;
}

static void expect_lines(const char *text, const char *joined)
{
    char lines[256] = "";

    write_file(text);
    cr_expect_eq(tl_proc_each_line(root, "/f", join, lines), TL_HOST_WHY_KNOWN);
    cr_expect_str_eq(lines, joined);
    remove_file();
}

Test(host_proc, lines)
{
    expect_lines("", "");
    expect_lines("a\nb\n", "a|b|");
    expect_lines("a\n\nlast", "a||last|");
    expect_lines("a\nstop\nb\n", "a|stop|");
}

/* "before", a line of len bytes, "after" */
static char *make_long(size_t len)
{
    char *text = malloc(len + 16);

    cr_assert_not_null(text);
    strcpy(text, "before\n");
    memset(text + 7, 'x', len);
    strcpy(text + 7 + len, "\nafter");
    return text;
}

Test(host_proc, lines_that_are_too_long_are_passed_over_whole)
{
    static const struct {
        size_t len;
        const char *joined;
    } cases[] = {{TL_PROC_LINE_SIZE - 2, "before|LONG|after|"},
                 {TL_PROC_LINE_SIZE - 1, "before|after|"},
                 {TL_PROC_LINE_SIZE, "before|after|"},
                 {3 * TL_PROC_LINE_SIZE + 5, "before|after|"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = make_long(cases[i].len);

        expect_lines(text, cases[i].joined);
        free(text);
    }
}

Test(host_proc, a_file_has_to_fit)
{
    char text[8];

    write_file("1234567\n");
    cr_expect_eq(tl_proc_read(root, "/f", text, sizeof(text)), TL_HOST_WHY_TOO_LONG);
    cr_expect_str_empty(text);
    remove_file();
    write_file("123456\n");
    cr_expect_eq(tl_proc_read(root, "/f", text, sizeof(text)), TL_HOST_WHY_KNOWN);
    cr_expect_str_eq(text, "123456");
    cr_expect_eq(tl_proc_read(root, "/g", text, sizeof(text)), TL_HOST_WHY_ABSENT);
    remove_file();
}

Test(host_proc, a_file_that_may_not_be_read_says_so)
{
    char text[8], path[96];
    uid_t self = geteuid();

    if (self == 0 && seteuid(65534) < 0)
        cr_skip_test("cannot become nobody");
    write_file("1\n");
    snprintf(path, sizeof(path), "%s/f", root);
    cr_assert_eq(chmod(path, 0), 0);
    cr_expect_eq(tl_proc_read(root, "/f", text, sizeof(text)), TL_HOST_WHY_DENIED);
    remove_file();
    cr_assert_eq(seteuid(self), 0);
    prctl(PR_SET_DUMPABLE, 1); /* seteuid cleared it, and the leak checker needs it */
}

Test(host_proc, decimals)
{
    static const struct {
        const char *text;
        double number;
    } good[] = {{"0", 0},
                {" 42\n", 42},
                {"-1 x", -1},
                {"0.15", 0.15},
                {"3.00 1", 3},
                {"18446744073709551615", 18446744073709551615.0},
                {"\t4294967295", 4294967295.0}};
    static const char *const bad[] = {"",
                                      " ",
                                      "-",
                                      "x1",
                                      "1x",
                                      ".",
                                      "1e3",
                                      "1,5",
                                      "--1",
                                      "+1",
                                      "nan",
                                      "inf",
                                      "123456789012345678901"};
    double number;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        const char *at = good[i].text;

        cr_assert(tl_proc_take_decimal(&at, &number), "'%s'", good[i].text);
        cr_expect_float_eq(number, good[i].number, 1e-12, "'%s'", good[i].text);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *at = bad[i];

        cr_expect_not(tl_proc_take_decimal(&at, &number), "'%s'", bad[i]);
        cr_expect_eq(at, bad[i], "untouched");
    }
}

Test(host_proc, integers)
{
    uint64_t number;
    const char *at = "18446744073709551615 18446744073709551616";

    cr_assert(tl_proc_take_u64(&at, &number));
    cr_expect_eq(number, UINT64_MAX);
    cr_expect_not(tl_proc_take_u64(&at, &number), "one more than fits");
    at = "00ffFF0g";
    cr_expect_not(tl_proc_take_hex(&at, &number));
    at = "00ffFF0";
    cr_assert(tl_proc_take_hex(&at, &number));
    cr_expect_eq(number, 0xffff0);
    at = "-1";
    cr_expect_not(tl_proc_take_u64(&at, &number));
}
