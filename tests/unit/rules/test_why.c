/* why and why-not: what they say for a verdict, a rival, a cause ruled out, one that cannot be
 * told, one without a rule, and one that does not exist. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "../key_of.h"
#include "tightlink/rules/why.h"

static struct tl_rules *rules;
static struct tl_facts *facts;
static struct tl_findings *findings;
static struct tl_buf page;

static void set_up(void)
{
    struct tl_error error = {.text = ""};
    cr_assert_eq(tl_rules_load_builtin(&rules, &error), TL_OK, "%s", error.text);
    facts = tl_facts_create();
    page = (struct tl_buf)TL_BUF_INIT;
}

static void tear_down(void)
{
    tl_findings_destroy(findings);
    findings = NULL;
    tl_facts_destroy(facts);
    tl_rules_destroy(rules);
    tl_buf_finish(&page);
}

TestSuite(why, .init = set_up, .fini = tear_down);

/* A stream that its window of 162 KiB limits over 50 ms. */
static void set_windowed(void)
{
    static const struct {
        const char *id;
        double value;
    } numbers[] = {{"download.goodput_bps", 25.3e6},    {"download.steady_ns", 5e9},
                   {"download.rtt_mean_ns", 50.3e6},    {"download.rtt_min_ns", 50.1e6},
                   {"download.ledger_rwnd_ratio", .96}, {"download.ledger_sndbuf_ratio", 0},
                   {"download.ledger_app_ratio", .01},  {"download.ledger_network_ratio", .03},
                   {"download.mss_bytes", 1448},        {"download.snd_wnd_max_bytes", 162432},
                   {"download.retrans_ratio", 0},       {"download.retrans_count", 0}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        tl_facts_set_number(facts, key_of(numbers[i].id), numbers[i].value, "");
    tl_facts_set_bool(facts, TL_FLOW(TL_DOWNLOAD, wscale_ok), true, "");
    tl_facts_set_bool(facts, TL_FLOW(TL_DOWNLOAD, sack_ok), true, "");
    tl_facts_set_text(facts, TL_FLOW(TL_DOWNLOAD, cc), "cubic", "");
}

static void judge(double goal)
{
    struct tl_question question = {
        .download = true, .goal_bps = goal, .goal_rtt_ns = NAN, .quality_reason = ""};
    struct tl_error error = {.text = ""};
    tl_facts_derive(facts);
    cr_assert_eq(tl_rules_judge(rules, facts, &question, &findings, &error), TL_OK, "%s",
                 error.text);
}

/* The page without its line breaks, so that a test does not depend on them. */
static bool says(const char *sentence)
{
    static char flat[65536];
    size_t used = 0;
    for (const char *c = tl_buf_text(&page); *c && used + 1 < sizeof flat; c++) {
        bool blank = *c == ' ' || *c == '\n';
        if (blank && (used == 0 || flat[used - 1] == ' '))
            continue;
        flat[used++] = blank ? ' ' : *c;
    }
    flat[used] = '\0';
    return strstr(flat, sentence) != NULL;
}

#define EXPECT_SAYS(sentence)                                                                      \
    cr_expect(says(sentence), "\"%s\" is not said in:\n%s", sentence, tl_buf_text(&page))

Test(why, tells_the_verdict_with_its_tests_and_their_numbers)
{
    set_windowed();
    judge(NAN);
    cr_assert_eq(tl_why(findings, facts, &page), TL_OK);
    EXPECT_SAYS("download: limited by receive-window");
    EXPECT_SAYS("and the measured 25.3 Mb/s agrees with it");
    EXPECT_SAYS("The time ledger gives \"rwnd\" 96.0 % of the time");
    EXPECT_SAYS("No lower rung agrees: it is the verdict.");
    EXPECT_SAYS("download.ledger_rwnd_ratio = 96 %");
    EXPECT_SAYS("<- the verdict");
}

/* The rate scattered between its bounds: a third digit says nothing. */
Test(why, no_number_is_more_exact_than_it_is_known)
{
    set_windowed();
    tl_facts_set_range(facts, key_of("download.goodput_bps"), 25.34e6, 24e6, 26e6, "");
    tl_facts_set_range(facts, key_of("download.rtt_mean_ns"), 50.34e6, 48e6, 53e6, "");
    judge(NAN);
    cr_assert_eq(tl_why(findings, facts, &page), TL_OK);
    EXPECT_SAYS("and the measured 25 Mb/s agrees with it");
    EXPECT_SAYS("download.goodput_bps = 25 Mb/s");
    cr_expect(!says("25.3"), "%s", tl_buf_text(&page));
    cr_expect(!says("50.3 ms"), "%s", tl_buf_text(&page));
}

Test(why, tells_which_stages_would_decide)
{
    set_windowed();
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, ledger_rwnd_ratio), 0, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, ledger_network_ratio), .99, "");
    judge(NAN);
    cr_assert_eq(findings->verdict.state, TL_INCONCLUSIVE);
    cr_assert_eq(tl_why(findings, facts, &page), TL_OK);
    EXPECT_SAYS("download: inconclusive");
    EXPECT_SAYS("download.streams_goodput_bps: not measured; the stage streams measures it");
}

Test(why, a_cause_is_ruled_out_by_tests_with_numbers)
{
    set_windowed();
    judge(NAN);
    cr_assert_eq(tl_why_not(findings, facts, "random-loss", &page), TL_OK);
    EXPECT_SAYS("(rule random-loss): ruled out");
    EXPECT_SAYS("[false] flow.retrans_count > 0: download.retrans_count = 0");
}

Test(why, a_cause_that_cannot_be_told_names_facts_and_stages)
{
    set_windowed();
    judge(NAN);
    cr_assert_eq(tl_why_not(findings, facts, "family-difference", &page), TL_OK);
    EXPECT_SAYS("cannot tell");
    EXPECT_SAYS("the stage family measures it");
}

Test(why, a_rung_that_does_not_agree_tells_by_how_much)
{
    set_windowed();
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 5e6, "");
    judge(NAN);
    cr_assert_eq(tl_why_not(findings, facts, "receive-window", &page), TL_OK);
    EXPECT_SAYS("(rule receive-window): ruled out");
    EXPECT_SAYS("Its rung lies at 25.9 Mb/s (25.6 Mb/s to 25.9 Mb/s), higher than the measured 5 "
                "Mb/s: the two agree from 0.75 of the lower");
}

Test(why, a_found_cause_that_does_not_limit_says_so)
{
    set_windowed();
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, rtt_mean_ns), 400e6, "");
    judge(NAN);
    cr_assert_eq(tl_why_not(findings, facts, "bufferbloat", &page), TL_OK);
    EXPECT_SAYS("found, and not the verdict");
    EXPECT_SAYS("By its nature it contributes and never is the verdict.");
}

Test(why, a_goal_that_is_met_needs_no_cause)
{
    set_windowed();
    judge(20e6);
    cr_assert_eq(findings->verdict.state, TL_GOAL_MET);
    cr_assert_eq(tl_why_not(findings, facts, "receive-window", &page), TL_OK);
    EXPECT_SAYS("the goal is met: no cause needs to be named");
}

Test(why, every_found_rule_says_how_it_stands)
{
    set_windowed();
    judge(NAN);
    bool found = false;
    /* Every found rule says how it stands, and nothing else does without a rung. */
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *finding = &findings->findings[i];
        found |= finding->result == TL_FOUND;
        if (finding->result == TL_FOUND)
            cr_expect(*finding->standing, "%s does not say how it stands", finding->rule);
        else if (isnan(finding->ceiling_bps))
            cr_expect_str_empty(finding->standing, "%s", finding->rule);
    }
    cr_expect(found);
}

Test(why, the_verdict_asked_about_is_said_to_be_it)
{
    set_windowed();
    judge(NAN);
    cr_assert_eq(tl_why_not(findings, facts, "receive-window", &page), TL_OK);
    EXPECT_SAYS("it is the verdict");
}

Test(why, a_cause_without_a_rule_was_not_judged)
{
    set_windowed();
    judge(NAN);
    for (size_t i = 0; i < tl_cause_list_count(); i++) {
        bool ruled = false;
        for (size_t r = 0; r < tl_rules_count(rules); r++)
            ruled |= strcmp(tl_rules_cause_at(rules, r), tl_cause_list_id(i)) == 0;
        page.len = 0;
        cr_assert_eq(tl_why_not(findings, facts, tl_cause_list_id(i), &page), TL_OK);
        cr_expect_eq(says("No rule looks for this cause"), !ruled, "%s", tl_cause_list_id(i));
    }
}

Test(why, no_such_cause)
{
    set_windowed();
    judge(NAN);
    cr_expect_eq(tl_why_not(findings, facts, "banana", &page), TL_UNKNOWN);
    cr_expect_eq(page.len, 0);
}

/* What stands between the words of a rule's own sentence and a fact's id. */
static bool names_a_fact(const char *text)
{
    static const char *const ends[] = {"_bps", "_bytes", "_ns", "_ratio", "_count", "_name"};
    bool named = false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        named |= strstr(text, ends[i]) != NULL;
    return named;
}

Test(why, what_is_not_known_is_told_by_stages_and_reasons_not_by_facts)
{
    size_t open = 0, in_vain = 0;
    set_windowed();
    tl_facts_set_unknown(facts, key_of("download.streams_goodput_bps"), "nobody listened");
    judge(NAN);
    for (size_t i = 0; i < findings->rung_count; i++) {
        const char *why_not = findings->ladder[i].why_not;
        cr_expect(!names_a_fact(why_not), "%s", why_not);
    }
    for (size_t i = 0; i < findings->finding_count; i++)
        for (size_t e = 0; e < findings->findings[i].evidence_count; e++) {
            const struct tl_evidence *evidence = &findings->findings[i].evidence[e];
            if (evidence->truth != TL_UNKNOWN_TRUTH)
                continue;
            cr_expect(!names_a_fact(evidence->say), "%s", evidence->say);
            open += strstr(evidence->say, " would tell") != NULL;
            in_vain += strcmp(evidence->say, "not tested: nobody listened") == 0;
        }
    cr_expect_gt(open, 0);
    cr_expect_gt(in_vain, 0);
}
