/* What the rates of several far ends say together. */
#include "tightlink/app/beside.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct tl_app_beside_row row(const char *name, double one_bps, double best_bps,
                                    double rtt_ns, const char *segment, const char *cause)
{
    struct tl_app_beside_row made = {.one_bps = one_bps,
                                     .best_bps = best_bps,
                                     .low_bps = best_bps,
                                     .high_bps = best_bps,
                                     .one_low_bps = one_bps,
                                     .one_high_bps = one_bps,
                                     .turns = best_bps > 0,
                                     .rtt_ns = rtt_ns};
    snprintf(made.name, sizeof made.name, "%s", name);
    snprintf(made.segment, sizeof made.segment, "%s", segment);
    snprintf(made.cause, sizeof made.cause, "%s", cause);
    return made;
}

static void expect(const struct tl_app_beside_row *rows, size_t count, const char *part)
{
    char text[512];
    tl_app_beside_say(rows, count, text, sizeof text);
    cr_expect(strstr(text, part) != NULL, "\"%s\" lacks \"%s\"", text, part);
}

Test(beside, what_is_slow_to_all_is_shared)
{
    struct tl_app_beside_row rows[] = {row("a", 90e6, 94e6, 2e7, "path", "capacity"),
                                       row("b", 80e6, 93e6, 4e7, "path", "capacity"),
                                       row("c", 91e6, 91e6, 1e7, "", "")};
    expect(rows, 3, "All 3 get about the same, 94 Mb/s at most: what they share");
}

Test(beside, what_is_slow_to_one_is_that_ones)
{
    struct tl_app_beside_row rows[] = {row("slow", 10e6, 11e6, 2e7, "", ""),
                                       row("quick", 90e6, 94e6, 2e7, "", "")};
    expect(rows, 2, "slow gets 11 Mb/s where this PC and its access carry 94 Mb/s (with quick)");
}

Test(beside, a_server_that_holds_each_connection_is_not_excused_by_several)
{
    struct tl_app_beside_row rows[] = {row("held", 16.6e6, 96.1e6, 3e7, "", ""),
                                       row("quick", 96.2e6, 96.2e6, 3e7, "path", "capacity")};
    expect(rows, 2, "One connection to held gets 16.6 Mb/s where one to quick gets 96.2 Mb/s");
    expect(rows, 2, "what holds each connection lies there or on the way to it");
    rows[0].rtt_ns = 1.7e8; /* one window of this PC would do that */
    expect(rows, 2, "cannot tell");
    snprintf(rows[0].segment, sizeof rows[0].segment, "near-host");
    snprintf(rows[0].cause, sizeof rows[0].cause, "receive-window");
    expect(rows, 2, "each is held here (receive buffer)");
}

Test(beside, a_cause_that_lies_here_stays_here)
{
    struct tl_app_beside_row rows[] = {
        row("far away", 10e6, 11e6, 2e8, "near-host", "receive-window"),
        row("near by", 90e6, 94e6, 2e7, "", "")};
    expect(rows, 2, "still the cause is here (receive buffer)");
}

Test(beside, one_window_over_two_ways_proves_nothing)
{
    struct tl_app_beside_row rows[] = {row("far away", 10e6, 11e6, 2e8, "", ""),
                                       row("near by", 94e6, 94e6, 2e7, "", "")};
    expect(rows, 2, "Cannot tell");
}

Test(beside, one_that_answers_alone_is_compared_with_nothing)
{
    struct tl_app_beside_row rows[] = {row("a", 10e6, 11e6, 2e8, "", ""),
                                       row("gone", NAN, NAN, NAN, "", "")};
    expect(rows, 2, "only one of them");
    expect(rows + 1, 1, "none of them");
}

Test(beside, what_changes_between_turns_accuses_nobody)
{
    struct tl_app_beside_row rows[] = {row("asked", 20e6, 20e6, 2e7, "", ""),
                                       row("other", 90e6, 90e6, 2e7, "", "")};
    struct tl_app_beside_row again[] = {row("asked", 85e6, 85e6, 2e7, "", ""),
                                        row("other", 80e6, 80e6, 2e7, "", "")};
    expect(rows, 2, "asked gets 20 Mb/s");
    tl_app_beside_again(&rows[0], &again[0]);
    tl_app_beside_again(&rows[1], &again[1]);
    expect(rows, 2, "Cannot tell: by turns asked gets 20 Mb/s to 85 Mb/s and other 80 Mb/s to 90");
}

Test(beside, what_is_slow_in_every_turn_stays_slow)
{
    struct tl_app_beside_row rows[] = {row("asked", 20e6, 20e6, 2e7, "", ""),
                                       row("other", 90e6, 90e6, 2e7, "", "")};
    struct tl_app_beside_row again[] = {row("asked", 30e6, 30e6, 1e7, "", ""),
                                        row("other", 80e6, 80e6, 2e7, "", "")};
    tl_app_beside_again(&rows[0], &again[0]);
    tl_app_beside_again(&rows[1], &again[1]);
    cr_expect_float_eq(rows[0].best_bps, 25e6, 1);
    cr_expect_float_eq(rows[0].rtt_ns, 1e7, 1);
    expect(rows, 2, "asked gets 25 Mb/s where this PC and its access carry 85 Mb/s (with other)");
}

Test(beside, a_turn_that_failed_counts_for_nothing)
{
    struct tl_app_beside_row first = row("a", 20e6, 20e6, 2e7, "", "");
    struct tl_app_beside_row gone = row("a", NAN, NAN, NAN, "", "");
    tl_app_beside_again(&first, &gone);
    cr_expect_eq(first.turns, 1);
    cr_expect_float_eq(first.best_bps, 20e6, 1);
    tl_app_beside_again(&gone, &first);
    cr_expect_float_eq(gone.best_bps, 20e6, 1);
}
