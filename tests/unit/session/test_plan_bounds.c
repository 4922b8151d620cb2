/* What budgets, skips, wishes and the far end's abilities do to the plan. */
#include <criterion/criterion.h>
#include <string.h>

#include "plan_made.h"

TestSuite(plan_bounds, .init = plan_made_setup, .fini = plan_made_teardown);

/* --- budgets --- */

Test(plan_bounds, spent_budgets_end_it_and_say_so)
{
    struct tl_finding list[] = {open_cause("capacity", streams_missing, 2)};
    struct tl_findings findings = findings_of(list, 1, unknown());
    struct tl_plan_state state = after_stream(&findings);
    struct tl_plan_step step;
    state.bytes_left = 0;
    cr_expect(!tl_plan_next(&state, &step));
    cr_expect(strstr(step.why, "data") != NULL);
    state = after_stream(&findings);
    state.time_left_ns = 1000000000;
    cr_expect(!tl_plan_next(&state, &step));
    cr_expect(strstr(step.why, "time") != NULL);
}

/* Time that is kept for runs without a sure verdict is not spent on one. */
Test(plan_bounds, a_verdict_leaves_what_only_an_open_run_may_spend)
{
    struct tl_finding list[] = {open_cause("capacity", streams_missing, 2)};
    struct tl_findings open = findings_of(list, 1, unknown());
    struct tl_findings possible = findings_of(list, 1, limited(0.35, NONE));
    struct tl_findings settled = findings_of(list, 1, limited(0.62, NONE));
    struct tl_plan_state state = after_stream(&open);
    struct tl_plan_step step;
    state.open_ns = state.time_left_ns;
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_gt(step.duration_ns, 4000000000);
    state.findings = &possible;
    cr_assert(tl_plan_next(&state, &step), "a mere possibility settles nothing");
    cr_expect_gt(step.duration_ns, 4000000000);
    state.findings = &settled;
    cr_expect(!tl_plan_next(&state, &step));
    cr_expect(strstr(step.why, "time") != NULL);
    state.open_ns -= 4000000000;
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.duration_ns, 4000000000);
}

Test(plan_bounds, a_stage_gets_no_more_than_is_left)
{
    struct tl_finding list[] = {open_cause("capacity", streams_missing, 2)};
    struct tl_findings findings = findings_of(list, 1, unknown());
    struct tl_plan_state state = after_stream(&findings);
    struct tl_plan_step step;
    state.time_left_ns = 4000000000;
    state.bytes_left = 5000000;
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.duration_ns, 4000000000);
    cr_expect_eq(step.bytes, 5000000);
}

Test(plan_bounds, long_paths_get_longer_streams)
{
    cr_expect(tl_plan_stream_ns(10e6) >= 5000000000);
    cr_expect(tl_plan_stream_ns(600e6) >= 20 * 600000000LL);
    cr_expect(tl_plan_stream_ns(5e9) <= 60000000000);
    cr_expect(tl_plan_stream_ns(NONE) > 0);
}

/* --- what the user wants --- */

Test(plan_bounds, what_is_skipped_is_never_run)
{
    struct tl_finding list[] = {open_cause("capacity", streams_missing, 2)};
    struct tl_findings findings = findings_of(list, 1, unknown());
    struct tl_plan_state state = after_stream(&findings);
    struct tl_plan_step step;
    state.skipped[TL_PLAN_STREAMS] = true;
    cr_expect(!tl_plan_next(&state, &step));
    state.forced[TL_PLAN_STREAMS] = true;
    cr_expect(!tl_plan_next(&state, &step), "a skip goes before a wish");
}

Test(plan_bounds, what_is_forced_is_run_in_a_clear_case_too)
{
    struct tl_findings findings = findings_of(NULL, 0, limited(0.97, 9e8));
    struct tl_plan_state state = after_stream(&findings);
    struct tl_plan_step step;
    cr_expect(!tl_plan_next(&state, &step));
    state.forced[TL_PLAN_PACED] = true;
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_PACED);
    state.done[TL_PLAN_STREAM][TL_DOWNLOAD] = false;
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_STREAM, "the first stream is first");
}

Test(plan_bounds, named_stages_keep_the_others_out)
{
    struct tl_plan_state state = {.download = true,
                                  .only_forced = true,
                                  .have = TL_NEEDS_RESPONDER,
                                  .time_left_ns = 20000000000,
                                  .bytes_left = 1000000,
                                  .facts = facts};
    struct tl_plan_step step;
    state.forced[TL_PLAN_STREAMS] = true;
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_STREAMS);
    state.done[TL_PLAN_STREAMS][TL_DOWNLOAD] = true;
    cr_expect(!tl_plan_next(&state, &step));
}

Test(plan_bounds, what_lacks_something_says_what)
{
    struct tl_finding list[] = {open_cause("capacity", streams_missing, 2)};
    struct tl_findings findings = findings_of(list, 1, unknown());
    struct tl_plan_state state = after_stream(&findings);
    struct tl_plan_weight weights[TL_PLAN_WEIGHTS_MAX];
    struct tl_plan_step step;
    state.have = 0;
    cr_expect(!tl_plan_next(&state, &step));
    size_t count = tl_plan_weigh(&state, weights);
    for (size_t i = 0; i < count; i++)
        if (weights[i].stage == TL_PLAN_STREAMS)
            cr_expect(strstr(weights[i].why, "responder") != NULL);
}

Test(plan_bounds, a_stage_is_offered_only_where_the_far_end_can)
{
    struct tl_plan_state state = {.have = TL_NEEDS_RESPONDER, .far = TL_FAR_TIGHTLINK};
    char why[TL_PLAN_LACK_SIZE] = "";
    for (int i = 0; i < TL_PLAN_COUNT; i++) {
        enum tl_plan_stage stage = (enum tl_plan_stage)i;
        if (tl_stage_at(stage)->needs == TL_NEEDS_RESPONDER)
            cr_assert(!tl_plan_lacks(&state, stage, TL_DOWNLOAD, why), "%s: %s",
                      tl_plan_stage_id(stage), why);
    }
    state.far = TL_FAR_HTTP; /* can no datagrams, now or later */
    cr_assert(tl_plan_lacks(&state, TL_PLAN_UDP, TL_DOWNLOAD, why));
    cr_assert_str_eq(why,
                     "a web server cannot tell what became of datagrams: a tightlink responder "
                     "there (tightlink serve) would");
}
