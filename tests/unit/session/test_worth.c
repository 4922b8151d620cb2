/* What a stage could change, from facts and findings made by hand: which of two that show the same
 * is worth its time. */
#include <criterion/criterion.h>
#include <math.h>

#include "plan.h"
#include "worth.h"

static struct tl_facts *facts;

static void setup(void)
{
    facts = tl_facts_create();
    cr_assert(facts != NULL);
}

static void teardown(void)
{
    tl_facts_destroy(facts);
}

TestSuite(worth, .init = setup, .fini = teardown);

/* A stream over a satellite that a receive buffer of 64 KiB holds; a program may ask for 4 MiB. */
static void set_windowed(void)
{
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 5.4e5, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, ledger_rwnd_ratio), 0.99, "");
    tl_facts_set_number(facts, TL_NEAR(tcp_rmem_max_bytes), 65536, "");
    tl_facts_set_number(facts, TL_NEAR(core_rmem_max_bytes), 4194304, "");
    tl_facts_derive(facts);
}

/* Eight connections show no more of the path than eight windows, and the larger buffer still has to
 * be tried behind them. Where it cannot be tried any more they are what is left. */
Test(worth, several_connections_do_not_go_before_a_larger_buffer_that_shows_more)
{
    struct tl_fact_key missing[] = {TL_FLOW(TL_DOWNLOAD, streams_goodput_bps)};
    struct tl_rung ladder[] = {{.essential = true, .missing = missing, .missing_count = 1}};
    struct tl_findings findings = {.verdict = {.state = TL_LIMITED,
                                               .cause = (char *)"receive-window",
                                               .confidence = 0.97,
                                               .fixed_bps = (double)NAN},
                                   .ladder = ladder,
                                   .rung_count = 1};
    struct tl_plan_state state = {
        .download = true, .have = TL_NEEDS_RESPONDER, .facts = facts, .findings = &findings};
    struct tl_worth several, larger;
    set_windowed();
    tl_worth_of(&state, TL_PLAN_STREAMS, TL_DOWNLOAD, &several);
    tl_worth_of(&state, TL_PLAN_WINDOW, TL_DOWNLOAD, &larger);
    cr_expect_lt(several.value, TL_PLAN_WORTH_MIN, "%s", several.what);
    cr_expect_gt(larger.value, TL_PLAN_WORTH_MIN);
    state.done[TL_PLAN_WINDOW][TL_DOWNLOAD] = true;
    tl_worth_of(&state, TL_PLAN_STREAMS, TL_DOWNLOAD, &several);
    cr_expect_gt(several.value, TL_PLAN_WORTH_MIN);
    state.done[TL_PLAN_WINDOW][TL_DOWNLOAD] = false;
    state.skipped[TL_PLAN_WINDOW] = true;
    tl_worth_of(&state, TL_PLAN_STREAMS, TL_DOWNLOAD, &several);
    cr_expect_gt(several.value, TL_PLAN_WORTH_MIN, "skipped by the user");
}
