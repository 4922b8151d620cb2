/* Watched transfers: when a cause has moved, and what a person may name. */
#include <criterion/criterion.h>
#include <string.h>

#include "live_private.h"

static void take(struct live_opinion *opinion, const char *cause, int times)
{
    while (times-- > 0)
        live_opinion_take(opinion, cause);
}

Test(live, a_cause_moves_once_another_stands)
{
    struct live_opinion opinion = {0};
    take(&opinion, "receive-window", 5);
    cr_expect(!opinion.moved, "the first one is no move");
    take(&opinion, "sender-app", 2);
    cr_expect(!opinion.moved && strcmp(opinion.cause, "sender-app") == 0);
    take(&opinion, "sender-app", 1);
    cr_expect(opinion.moved);
    cr_expect_str_eq(opinion.was, "receive-window");
    opinion.moved = false; /* told */
    take(&opinion, "sender-app", 9);
    cr_expect(!opinion.moved);
}

Test(live, a_verdict_that_changes_back_and_forth_is_no_news)
{
    struct live_opinion opinion = {0};
    take(&opinion, "receive-window", 3);
    for (int i = 0; i < 20; i++) {
        take(&opinion, i % 2 ? "" : "sender-app", 2);
        cr_expect(!opinion.moved);
    }
    take(&opinion, "receive-window", 3);
    cr_expect(!opinion.moved, "the same one stands again");
}

Test(live, a_number_is_a_process_or_a_port_and_addresses_are_hosts)
{
    struct tl_app_live_what what = {0};
    struct tl_error error = {0};
    cr_expect(tl_app_live_parse("pid:1", &what, &error) == TL_OK && what.pid == 1);
    what = (struct tl_app_live_what){0};
    cr_expect(tl_app_live_parse(":443", &what, &error) == TL_OK && what.port == 443);
    what = (struct tl_app_live_what){0};
    cr_expect(tl_app_live_parse("::1", &what, &error) == TL_OK && !strcmp(what.host, "::1"));
    cr_expect(tl_app_live_parse("port:0", &what, &error) == TL_USAGE && error.text[0]);
    cr_expect(tl_app_live_parse("pid:4194305", &what, &error) == TL_USAGE);
}

Test(live, a_number_that_is_a_process_and_may_be_a_port_is_both)
{
    struct tl_app_live_what what = {0};
    struct tl_error error = {0};
    cr_expect_eq(tl_app_live_parse("1", &what, &error), TL_OK);
    cr_expect_eq(what.pid, 1);
    cr_expect_eq(what.port, 1);
    cr_expect(what.pid_or_port);
}

/* Who watches wants what can still be helped. */
Test(live, what_has_ended_stands_below_what_runs)
{
    struct tl_app_live_row crawls = {.held_ratio = 0.5, .mean_bps = 1e6};
    struct tl_app_live_row trickle = {.held_ratio = 0, .mean_bps = 1e9};
    struct tl_app_live_row ended = {.held_ratio = 1, .mean_bps = 1e9, .ended = true};
    cr_expect(live_by_loss(&crawls, &trickle) < 0 && live_by_loss(&trickle, &crawls) > 0);
    cr_expect(live_by_loss(&trickle, &ended) < 0 && live_by_loss(&ended, &trickle) > 0);
    cr_expect(live_by_loss(&ended, &ended) == 0);
}
