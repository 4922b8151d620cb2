/* Values of options: what is taken, what is refused, and that a refusal changes nothing. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

static struct tl_error error;

/* Refused with that status and a sentence that has this in it. */
#define REFUSED(call, expected, part)                                                              \
    do {                                                                                           \
        error = (struct tl_error){0};                                                              \
        cr_expect_eq(call, expected, "%s", error.text);                                            \
        cr_expect_not_null(strstr(error.text, part), "\"%s\" lacks \"%s\"", error.text, part);     \
    } while (0)

Test(parse, a_goal_is_a_rate_and_perhaps_a_round_trip)
{
    double bps = 0, rtt_ns = -1;
    cr_expect_eq(cli_parse_goal("900M", &bps, &rtt_ns, &error), TL_OK);
    cr_expect_eq(bps, 900e6);
    cr_expect_eq(rtt_ns, -1, "no round trip was given");
    cr_expect_eq(cli_parse_goal("1.5 Gb/s@80ms", &bps, &rtt_ns, &error), TL_OK);
    cr_expect_eq(bps, 1.5e9);
    cr_expect_eq(rtt_ns, 80e6);
}

Test(parse, a_wrong_goal_is_refused_whole)
{
    double bps = 7, rtt_ns = 7;
    char lengthy[600];
    memset(lengthy, '9', sizeof lengthy);
    lengthy[sizeof lengthy - 1] = '\0';
    REFUSED(cli_parse_goal("banana", &bps, &rtt_ns, &error), TL_SYNTAX, "900M");
    REFUSED(cli_parse_goal("", &bps, &rtt_ns, &error), TL_SYNTAX, "900M");
    REFUSED(cli_parse_goal("@80ms", &bps, &rtt_ns, &error), TL_SYNTAX, "900M");
    REFUSED(cli_parse_goal(lengthy, &bps, &rtt_ns, &error), TL_SYNTAX, "900M");
    REFUSED(cli_parse_goal("0", &bps, &rtt_ns, &error), TL_RANGE, "0");
    REFUSED(cli_parse_goal("-5M", &bps, &rtt_ns, &error), TL_RANGE, "-5M");
    REFUSED(cli_parse_goal("1e400", &bps, &rtt_ns, &error), TL_RANGE, "1e400");
    REFUSED(cli_parse_goal("50M@", &bps, &rtt_ns, &error), TL_SYNTAX, "50M@80ms");
    REFUSED(cli_parse_goal("50M@soon", &bps, &rtt_ns, &error), TL_SYNTAX, "80ms");
    REFUSED(cli_parse_goal("50M@80ms@80ms", &bps, &rtt_ns, &error), TL_SYNTAX, "80ms");
    cr_expect_eq(bps, 7);
    cr_expect_eq(rtt_ns, 7);
}

Test(parse, ports_are_whole_numbers_of_sixteen_bits)
{
    uint16_t port = 7;
    static const char *const wrong[] = {"0",  "65536", "99999", "-1",    "+1",
                                        " 1", "x",     "",      "5411x", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        REFUSED(cli_parse_port(wrong[i], &port, &error), TL_RANGE, "1 to 65535");
    cr_expect_eq(port, 7);
    cr_expect_eq(cli_parse_port("1", &port, &error), TL_OK);
    cr_expect_eq(port, 1);
    cr_expect_eq(cli_parse_port("65535", &port, &error), TL_OK);
    cr_expect_eq(port, 65535);
}

Test(parse, directions_are_three_words)
{
    bool download = false, upload = false;
    cr_expect_eq(cli_parse_direction("both", &download, &upload, &error), TL_OK);
    cr_expect(download && upload);
    cr_expect_eq(cli_parse_direction("upload", &download, &upload, &error), TL_OK);
    cr_expect(!download && upload);
    REFUSED(cli_parse_direction("sideways", &download, &upload, &error), TL_USAGE, "both");
    REFUSED(cli_parse_direction("", &download, &upload, &error), TL_USAGE, "both");
    cr_expect(!download && upload);
}

Test(parse, budgets_allow_at_least_one_measurement)
{
    int64_t ns = 7, bytes = 7;
    REFUSED(cli_parse_time_budget("-1", &ns, &error), TL_RANGE, "-1");
    REFUSED(cli_parse_time_budget("2.9s", &ns, &error), TL_RANGE, "3s or more");
    REFUSED(cli_parse_time_budget("soon", &ns, &error), TL_SYNTAX, "soon");
    REFUSED(cli_parse_data_budget("1", &bytes, &error), TL_RANGE, "100kB or more");
    REFUSED(cli_parse_data_budget("-1GB", &bytes, &error), TL_RANGE, "-1GB");
    REFUSED(cli_parse_data_budget("lots", &bytes, &error), TL_SYNTAX, "lots");
    cr_expect(ns == 7 && bytes == 7);
    cr_expect_eq(cli_parse_time_budget("3s", &ns, &error), TL_OK);
    cr_expect_eq(ns, INT64_C(3000000000));
    cr_expect_eq(cli_parse_data_budget("20MB", &bytes, &error), TL_OK);
    cr_expect_eq(bytes, INT64_C(20000000));
}

Test(parse, a_goal_is_also_an_amount_in_a_time)
{
    struct tl_run_goal goal;
    cr_assert_eq(cli_parse_goals("1TB in 3h", &goal, &error), TL_OK);
    cr_expect_float_eq(goal.bps, 1e12 * 8 / 10800, 1);
    cr_expect_float_eq(goal.time_ns, 10800e9, 1);
    cr_assert_eq(cli_parse_goals("900M@80ms", &goal, &error), TL_OK);
    cr_expect_float_eq(goal.bps, 900e6, 1);
    cr_expect_float_eq(goal.rtt_ns, 80e6, 1);
    cr_expect_float_eq(goal.bytes, 0, 0);
}

Test(parse, a_goal_is_also_a_table_of_lines)
{
    struct tl_run_goal goal;
    cr_assert_eq(cli_parse_goals("loss<1e-7,rtt<100ms, mtu>=9000,rate>=2G", &goal, &error), TL_OK);
    cr_expect_float_eq(goal.loss_ratio, 1e-7, 1e-12);
    cr_expect_float_eq(goal.rtt_max_ns, 100e6, 1);
    cr_expect_float_eq(goal.mtu_bytes, 9000, 0.1);
    cr_expect_float_eq(goal.bps, 2e9, 1);
    cr_assert_eq(cli_parse_goals("loss<0.01%", &goal, &error), TL_OK);
    cr_expect_float_eq(goal.loss_ratio, 1e-4, 1e-9);
}

Test(parse, a_wrong_table_is_refused_whole)
{
    struct tl_run_goal goal = {.bps = 1};
    REFUSED(cli_parse_goals("loss>1e-7", &goal, &error), TL_SYNTAX, "loss<1e-7");
    REFUSED(cli_parse_goals("mtu<9000", &goal, &error), TL_SYNTAX, "mtu>=9000");
    REFUSED(cli_parse_goals("jitter<1ms", &goal, &error), TL_SYNTAX, "jitter<1ms");
    REFUSED(cli_parse_goals("loss<2", &goal, &error), TL_SYNTAX, "share of loss");
    REFUSED(cli_parse_goals("loss<", &goal, &error), TL_SYNTAX, "share of loss");
    REFUSED(cli_parse_goals("loss<0", &goal, &error), TL_SYNTAX, "share of loss");
    REFUSED(cli_parse_goals("rtt<soon", &goal, &error), TL_SYNTAX, "soon");
    REFUSED(cli_parse_goals("mtu>=99999", &goal, &error), TL_RANGE, "68 to 65535");
    REFUSED(cli_parse_goals("loss<1e-7,", &goal, &error), TL_SYNTAX, "no line of a goal");
    REFUSED(cli_parse_goals("1TB in ", &goal, &error), TL_SYNTAX, "");
    REFUSED(cli_parse_goals("1TB in 0s", &goal, &error), TL_RANGE, "0s");
    REFUSED(cli_parse_goals(" in 3h", &goal, &error), TL_SYNTAX, "");
    cr_expect_float_eq(goal.bps, 1, 0);
}

Test(parse, a_moment_is_an_age_or_a_date)
{
    const int64_t now = INT64_C(1700000000000000000), hour = INT64_C(3600000000000);
    int64_t ns = 7;
    setenv("TZ", "UTC", 1);
    cr_expect(cli_parse_when("12h", now, &ns, &error) == TL_OK && ns == now - 12 * hour);
    cr_expect(cli_parse_when("30d", now, &ns, &error) == TL_OK && ns == now - 720 * hour);
    cr_expect(cli_parse_when("2023-11-14", now, &ns, &error) == TL_OK &&
                  ns == INT64_C(1699920000000000000),
              "%lld", (long long)ns);
    cr_expect(cli_parse_when("2023-11-14T22:13:20Z", now, &ns, &error) == TL_OK && ns == now);
    ns = 7;
    REFUSED(cli_parse_when("yesterday", now, &ns, &error), TL_SYNTAX, "30d");
    REFUSED(cli_parse_when("-3d", now, &ns, &error), TL_SYNTAX, "30d");
    REFUSED(cli_parse_when("2023-11-14x", now, &ns, &error), TL_SYNTAX, "30d");
    cr_expect_eq(ns, 7);
}

Test(parse, a_count_is_digits)
{
    size_t count = 7;
    cr_expect(cli_parse_count("0", &count, &error) == TL_OK && count == 0);
    cr_expect(cli_parse_count("100000", &count, &error) == TL_OK && count == 100000);
    REFUSED(cli_parse_count("", &count, &error), TL_SYNTAX, "100");
    REFUSED(cli_parse_count("-1", &count, &error), TL_SYNTAX, "100");
    REFUSED(cli_parse_count("1e3", &count, &error), TL_SYNTAX, "100");
    cr_expect_eq(count, 100000);
}
