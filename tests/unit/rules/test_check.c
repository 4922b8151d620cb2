/* rules check on made rules: what can never be found, what overlaps without an order, what no
 * case tests; and that it keeps silent about sound ones. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "folder.h"
#include "tightlink/base/buf.h"
#include "tightlink/rules/rules.h"

static const char *folder;

static void set_up(void)
{
    folder = folder_make();
}

TestSuite(check, .init = set_up, .fini = folder_remove);

static void add_rule(const char *id, const char *cause, const char *conditions, const char *rest)
{
    char name[64], text[4096];
    snprintf(name, sizeof name, "%s.json", id);
    int n = snprintf(text, sizeof text,
                     "{\"format\": \"tightlink.rule/1\", \"id\": \"%s\", \"cause\": \"%s\", "
                     "\"segment\": \"path\", \"title\": \"t\", \"severity\": \"limits\", %s, %s, "
                     "\"sentence\": {\"found\": \"f\", \"ruled_out\": \"r\", \"unsure\": \"u\"}}",
                     id, cause, conditions, rest);
    cr_assert_lt(n, (int)sizeof text);
    folder_add(name, text, strlen(text));
}

#define CEILING "\"ceiling\": {\"bps\": \"3 * flow.goodput_bps\", \"label\": \"l\"}"

static size_t check(struct tl_buf *report)
{
    size_t errors = 99;
    struct tl_error error = {.text = ""};
    cr_assert_eq(tl_rules_check_directory(folder, NULL, report, &errors, &error), TL_OK, "%s",
                 error.text);
    return errors;
}

/* One rule with these conditions: so many faults, and the report has the part. */
static void expect(const char *conditions, size_t errors, const char *part)
{
    struct tl_buf report = TL_BUF_INIT;
    add_rule("made", "capacity", conditions, CEILING);
    size_t found = check(&report);
    cr_expect_eq(found, errors, "%s: %zu faults: %s", conditions, found, tl_buf_text(&report));
    cr_expect(strstr(tl_buf_text(&report), part), "%s: %s", conditions, tl_buf_text(&report));
    tl_buf_finish(&report);
}

#define TEST(id, left, op, right)                                                                  \
    "{\"id\": \"" id "\", \"test\": [\"" left "\", \"" op "\", " right "]}"

Test(check, finds_rules_that_can_never_be_found)
{
    static const char *const contradictions[] = {
        "\"when\": {\"all\": [" TEST("a", "flow.retrans_ratio", ">",
                                     "0.5") ", " TEST("b", "flow.retrans_ratio", "<", "0.4") "]}",
        "\"when\": {\"all\": [" TEST("a", "flow.retrans_count", ">=", "5") ", " TEST(
            "b", "5", ">", "\"flow.retrans_count\"") "]}",
        "\"when\": {\"all\": [" TEST(
            "a", "flow.rtt_mean_ns", ">",
            "\"2 * flow.rtt_min_ns\"") ", " TEST("b", "2 * flow.rtt_min_ns", ">",
                                                 "\"flow.rtt_mean_ns\"") "]}",
        "\"when\": {\"all\": [" TEST("a", "flow.cc", "==", "\"bbr\"") ", " TEST(
            "b", "flow.cc", "in", "[\"cubic\", \"reno\"]") "]}",
        "\"when\": {\"all\": [" TEST("a", "flow.sack_ok", "==", "true") ", " TEST(
            "b", "flow.sack_ok", "==", "false") "]}",
        "\"when\": {\"all\": [" TEST("a", "flow.goodput_bps", ">",
                                     "\"1Mbps\"") ", "
                                                  "{\"not\": {\"is\": \"a\"}}]}",
        "\"applies\": " TEST("a", "flow.retrans_ratio", ">",
                             "0.5") ", "
                                    "\"when\": " TEST("b", "flow.retrans_ratio", "==", "0.1"),
        "\"when\": " TEST("a", "flow.goodput_bps", ">",
                          "\"1Mbps\"") ", "
                                       "\"not_when\": " TEST("b", "flow.goodput_bps", ">",
                                                             "\"1kbps\""),
        "\"when\": " TEST("a", "flow.retrans_count", "<", "0"),
        "\"names\": {\"half\": \"0.5 * flow.retrans_ratio\"}, "
        "\"when\": {\"all\": [" TEST("a", "half", ">", "0.2") ", " TEST(
            "b", "0.5 * flow.retrans_ratio", "<", "0.1") "]}",
        "\"when\": {\"any\": [" TEST("a", "flow.retrans_count", "<", "0") ", {\"all\": [" TEST(
            "b", "flow.retrans_ratio", ">", "0.5") ", " TEST("c", "flow.retrans_ratio", "<",
                                                             "0.4") "]}]}",
    };
    for (size_t i = 0; i < sizeof contradictions / sizeof *contradictions; i++)
        expect(contradictions[i], 1, "unreachable");
}

Test(check, keeps_silent_about_what_may_be_found)
{
    static const char *const sound[] = {
        "\"when\": {\"all\": [" TEST("a", "flow.retrans_ratio", ">",
                                     "0.4") ", " TEST("b", "flow.retrans_ratio", "<", "0.5") "]}",
        "\"when\": {\"all\": [" TEST("a", "flow.retrans_ratio", ">=", "0.5") ", " TEST(
            "b", "flow.retrans_ratio", "<=", "0.5") "]}",
        "\"when\": {\"any\": [" TEST("a", "flow.retrans_ratio", ">",
                                     "0.5") ", " TEST("b", "flow.retrans_ratio", "<", "0.4") "]}",
        "\"when\": {\"all\": [" TEST("a", "flow.cc", "!=", "\"bbr\"") ", " TEST(
            "b", "flow.cc", "in", "[\"bbr\", \"reno\"]") "]}",
        "\"when\": {\"all\": [" TEST("a", "flow.retrans_ratio", ">", "0.5") ", " TEST(
            "b", "flow.loss_event_ratio", "<", "0.4") "]}",
    };
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++)
        expect(sound[i], 0, "");
}

Test(check, finds_rules_that_can_never_be_ruled_out)
{
    expect("\"when\": {\"any\": [" TEST("a", "flow.retrans_ratio", ">", "0.5") ", " TEST(
               "b", "flow.retrans_ratio", "<=", "0.5") "]}",
           1, "never be ruled out");
}

Test(check, finds_parts_that_can_never_be_reached)
{
    struct tl_buf report = TL_BUF_INIT;
    add_rule("made", "bufferbloat", "\"when\": " TEST("a", "flow.retrans_ratio", ">", "0.5"),
             "\"ceiling\": {\"when\": {\"all\": [{\"is\": \"a\"}, {\"not\": {\"is\": \"a\"}}]}, "
             "\"bps\": \"flow.goodput_bps\", \"label\": \"l\"}, "
             "\"remedies\": [{\"where\": \"path\", \"needs\": \"user\", \"do\": \"d\", "
             "\"when\": {\"not\": {\"is\": \"a\"}}}]");
    cr_expect_eq(check(&report), 2, "%s", tl_buf_text(&report));
    cr_expect(strstr(tl_buf_text(&report), "/ceiling/0/when: can never hold"));
    cr_expect(strstr(tl_buf_text(&report), "/remedies/0: can never be given"));
    tl_buf_finish(&report);
}

#define LOSSY      "\"when\": " TEST("a", "flow.retrans_ratio", ">", "0.01")
#define VERY_LOSSY "\"when\": " TEST("a", "flow.retrans_ratio", ">", "0.1")
#define MEASURED   "\"ceiling\": {\"bps\": \"flow.goodput_bps\", \"label\": \"l\"}"

static void expect_overlap(bool overlaps, const char *why)
{
    struct tl_buf report = TL_BUF_INIT;
    size_t errors = check(&report);
    cr_expect_eq(errors, overlaps, "%s: %s", why, tl_buf_text(&report));
    cr_expect_eq(strstr(tl_buf_text(&report), "overlaps") != NULL, overlaps, "%s", why);
    tl_buf_finish(&report);
}

Test(check, finds_rules_that_overlap_without_an_order)
{
    add_rule("wide", "wifi", LOSSY, MEASURED);
    add_rule("narrow", "pause-frames", VERY_LOSSY, MEASURED);
    expect_overlap(true, "the narrow one implies the wide one, at the same rate");
}

Test(check, takes_an_order_by_yielding)
{
    add_rule("wide", "wifi", LOSSY, MEASURED ", \"yields_to\": [\"pause-frames\"]");
    add_rule("narrow", "pause-frames", VERY_LOSSY, MEASURED);
    expect_overlap(false, "the wide one yields");
}

Test(check, takes_an_order_by_the_ladder)
{
    add_rule("wide", "wifi", LOSSY, MEASURED);
    add_rule("narrow", "pause-frames", VERY_LOSSY, CEILING);
    expect_overlap(false, "the lower rung goes first");
}

Test(check, finds_one_cause_named_twice)
{
    add_rule("first", "wifi", LOSSY, MEASURED);
    add_rule("second", "wifi", "\"when\": " TEST("a", "flow.loss_event_ratio", ">", "0.1"),
             MEASURED);
    expect_overlap(true, "both may name wifi");
}

Test(check, lets_one_cause_have_rules_that_exclude_one_another)
{
    add_rule("first", "wifi", LOSSY, MEASURED);
    add_rule("second", "wifi", "\"when\": " TEST("a", "flow.retrans_ratio", "<=", "0.01"),
             MEASURED);
    expect_overlap(false, "never both");
}

/* A user's rule beside the built-in ones; a rule of the same id takes the built-in one's place. */
Test(check, compares_with_the_rules_of_the_program)
{
    struct tl_buf report = TL_BUF_INIT;
    add_rule("my-own", "reordering", LOSSY, MEASURED);
    cr_expect_eq(check(&report), 1, "%s", tl_buf_text(&report));
    cr_expect(strstr(tl_buf_text(&report), "overlaps with reordering (rules/path/"), "%s",
              tl_buf_text(&report));
    tl_buf_finish(&report);
    folder_remove();
    folder = folder_make();
    add_rule("reordering", "reordering", LOSSY, MEASURED);
    expect_overlap(false, "it replaces the built-in one");
}

/* 64 alternatives of 64: the search gives up, and says nothing. */
Test(check, gives_up_on_a_search_without_end)
{
    struct tl_buf conditions = TL_BUF_INIT;
    tl_buf_adds(&conditions, "\"when\": {\"all\": [");
    for (int i = 0; i < 30; i++)
        tl_buf_addf(&conditions,
                    "%s{\"any\": [{\"id\": \"a%d\", \"test\": [\"flow.retrans_count\", \">\", %d]},"
                    "{\"id\": \"b%d\", \"test\": [\"flow.segments_count\", \"<\", %d]}]}",
                    i ? "," : "", i, i, i, 100 - i);
    tl_buf_adds(&conditions, ",{\"id\": \"z\", \"test\": [\"flow.retrans_count\", \"<\", 0]}]}");
    char text[8192];
    int n = snprintf(text, sizeof text,
                     "{\"format\": \"tightlink.rule/1\", \"id\": \"made\", \"cause\": \"capacity\","
                     "\"segment\": \"path\", \"title\": \"t\", \"severity\": \"note\", %s,"
                     "\"sentence\": {\"found\": \"f\", \"ruled_out\": \"r\", \"unsure\": \"u\"}}",
                     tl_buf_text(&conditions));
    tl_buf_finish(&conditions);
    cr_assert_lt(n, (int)sizeof text);
    folder_add("made.json", text, (size_t)n);
    struct tl_buf report = TL_BUF_INIT;
    cr_expect_leq(check(&report), 1);
    tl_buf_finish(&report);
}
