/* How exact a rate is told: as it was measured, by its bounds, as predictions are. */
#include <criterion/criterion.h>
#include <math.h>

#include "tightlink/rules/findings.h"

static struct tl_facts *facts;

static void set_up(void)
{
    facts = tl_facts_create();
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 96.1e6, 95.1e6, 97.1e6, "test");
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, streams_goodput_bps), 768e6, 760e6, 776e6,
                       "test");
}

static void tear_down(void)
{
    tl_facts_destroy(facts);
}

TestSuite(told, .init = set_up, .fini = tear_down);

static const struct tl_verdict verdict = {
    .direction = TL_DOWNLOAD, .ceiling_bps = 99.9e6, .fixed_bps = 930e6};

static double doubt(enum tl_direction direction, double bps, double low_bps, double high_bps)
{
    return tl_told_doubt(facts, &verdict, direction, bps, low_bps, high_bps);
}

Test(told, a_measured_rate_is_as_exact_as_it_was_measured_whatever_else_it_is)
{
    cr_expect_float_eq(doubt(TL_DOWNLOAD, 96.1e6, 80e6, 120e6), 1e6, 1);
    cr_expect_float_eq(doubt(TL_DOWNLOAD, 768e6, NAN, NAN), 8e6, 1);
    cr_expect_float_eq(doubt(TL_UPLOAD, 96.1e6, 80e6, 120e6), 20e6, 1, "measured the other way");
}

Test(told, another_by_its_bounds)
{
    cr_expect_float_eq(doubt(TL_DOWNLOAD, 99.9e6, 90e6, 104e6), 7e6, 1);
    cr_expect(isnan(doubt(TL_DOWNLOAD, 99.9e6, NAN, NAN)), "nobody knows");
}

Test(told, what_comes_after_the_fix_no_better_than_predictions_are)
{
    cr_expect_float_eq(doubt(TL_DOWNLOAD, 930e6, 930e6, 930e6), 46.5e6, 1);
    cr_expect_float_eq(doubt(TL_DOWNLOAD, 930e6, 700e6, 930e6), 115e6, 1,
                       "and no better than it is");
    cr_expect_float_eq(doubt(TL_UPLOAD, 930e6, 930e6, 930e6), 0, 1);
    cr_expect_float_eq(tl_told_doubt(facts, NULL, TL_DOWNLOAD, 930e6, 930e6, 930e6), 0, 1,
                       "before there is a verdict");
}

Test(told, the_verdicts_own_rung_is_no_prediction)
{
    const struct tl_verdict same = {
        .direction = TL_DOWNLOAD, .ceiling_bps = 941e6, .fixed_bps = 941e6};
    cr_expect_float_eq(tl_told_doubt(facts, &same, TL_DOWNLOAD, 941e6, 941e6, 941e6), 0, 1);
}

Test(told, what_a_shell_takes_is_told_from_words)
{
    cr_expect(tl_remedy_is_command("sysctl -w net.ipv4.tcp_sack=1"));
    cr_expect(tl_remedy_is_command("Set-NetAdapter -Name x"));
    cr_expect_not(
        tl_remedy_is_command("Let the program read with O_DIRECT, several blocks at once."));
    cr_expect_not(tl_remedy_is_command("[Link] GenericReceiveOffload=yes in a .link file"));
    cr_expect_not(tl_remedy_is_command(""));
    cr_expect_not(tl_remedy_is_command(NULL));
}
