/* Which stage comes next, from facts and findings made by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "plan.h"

static struct tl_facts *facts;
static struct tl_findings findings;
static struct tl_finding finding;
static char missing_id[] = "download.streams_goodput_bps";
static char *missing[] = {missing_id};

static void setup(void)
{
    facts = tl_facts_create();
    cr_assert(facts != NULL);
    finding = (struct tl_finding){
        .direction = TL_DOWNLOAD, .result = TL_CANNOT_TELL, .missing = missing, .missing_count = 1};
    findings = (struct tl_findings){.findings = &finding, .finding_count = 1};
    findings.verdict = (struct tl_verdict){.state = TL_INCONCLUSIVE, .fixed_bps = (double)NAN};
}

static void teardown(void)
{
    tl_facts_destroy(facts);
}

TestSuite(plan, .init = setup, .fini = teardown);

static struct tl_plan_state after_stream(void)
{
    struct tl_plan_state state = {.download = true,
                                  .time_left_ns = 20000000000,
                                  .bytes_left = 1000000000,
                                  .facts = facts,
                                  .findings = &findings};
    state.done[TL_PLAN_STREAM][TL_DOWNLOAD] = true;
    return state;
}

Test(plan, one_stream_in_each_direction_comes_first)
{
    struct tl_plan_state state = {.download = true,
                                  .upload = true,
                                  .time_left_ns = 20000000000,
                                  .bytes_left = 1000,
                                  .facts = facts};
    struct tl_plan_step step;
    cr_assert(tl_plan_next(&state, &step));
    cr_expect(step.stage == TL_PLAN_STREAM && step.direction == TL_DOWNLOAD);
    cr_expect_eq(step.bytes, 1000);
    state.done[TL_PLAN_STREAM][TL_DOWNLOAD] = true;
    cr_assert(tl_plan_next(&state, &step));
    cr_expect(step.stage == TL_PLAN_STREAM && step.direction == TL_UPLOAD);
}

Test(plan, the_stage_of_a_missing_fact_is_run)
{
    struct tl_plan_state state = after_stream();
    struct tl_plan_step step;
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_STREAMS);
    state.done[TL_PLAN_STREAMS][TL_DOWNLOAD] = true;
    cr_expect(!tl_plan_next(&state, &step), "nothing else is missing");
    cr_expect(strlen(step.why) > 0);
}

Test(plan, a_limiting_buffer_asks_for_a_larger_one_first)
{
    struct tl_plan_state state = after_stream();
    struct tl_plan_step step;
    tl_facts_set_number(facts, "download.ledger_rwnd_ratio", 0.9, "");
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_WINDOW);
}

Test(plan, a_sure_verdict_with_its_next_rung_ends_it)
{
    struct tl_plan_state state = after_stream();
    struct tl_plan_step step;
    findings.verdict = (struct tl_verdict){
        .state = TL_LIMITED, .direction = TL_DOWNLOAD, .confidence = 0.95, .fixed_bps = 9e8};
    cr_expect(!tl_plan_next(&state, &step));
    findings.verdict.fixed_bps = (double)NAN;
    cr_expect(tl_plan_next(&state, &step), "the next rung is worth a stage");
}

Test(plan, spent_budgets_end_it_and_say_so)
{
    struct tl_plan_state state = after_stream();
    struct tl_plan_step step;
    state.bytes_left = 0;
    cr_expect(!tl_plan_next(&state, &step));
    cr_expect(strstr(step.why, "data") != NULL);
    state = after_stream();
    state.time_left_ns = 1000000000;
    cr_expect(!tl_plan_next(&state, &step));
    cr_expect(strstr(step.why, "time") != NULL);
}

Test(plan, long_paths_get_longer_streams)
{
    cr_expect(tl_plan_stream_ns(10e6) >= 5000000000);
    cr_expect(tl_plan_stream_ns(600e6) >= 20 * 600000000LL);
    cr_expect(tl_plan_stream_ns(5e9) <= 60000000000);
    cr_expect(tl_plan_stream_ns((double)NAN) > 0);
}
