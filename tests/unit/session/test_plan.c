/* Which stage comes next, from facts and findings made by hand: one table of situations. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "plan_made.h"

TestSuite(plan, .init = plan_made_setup, .fini = plan_made_teardown);

/* --- what is expected of it --- */

/* A known rate makes several streams short: they come before a paced one, which they may spare. */
Test(plan, a_stage_costs_what_it_is_expected_to_take)
{
    struct tl_finding list[] = {open_cause("capacity", streams_missing, 3),
                                open_cause("shallow-buffer", paced_missing, 1)};
    struct tl_findings findings = findings_of(list, 2, unknown());
    struct tl_plan_state state = after_stream(&findings);
    struct tl_plan_step step;
    tl_facts_set_number(facts, TL_PATH(rtt_min_ns), 8e6, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, mss_bytes), 1448, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, retrans_ratio), 0.01, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, best_goodput_bps), 5e7, "");
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 5e7, 3.5e7, 6.5e7, "");
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_PACED, "the cheaper one first");
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 5e7, 4.9e7, 5.1e7, "");
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_STREAMS, "they will agree or not within four seconds");
    cr_expect_gt(step.duration_ns, 6000000000, "and may take their whole time if not");
}

/* --- what comes first --- */

Test(plan, one_stream_in_each_direction_comes_first)
{
    struct tl_plan_state state = {.download = true,
                                  .upload = true,
                                  .have = TL_NEEDS_RESPONDER,
                                  .time_left_ns = 20000000000,
                                  .bytes_left = 1000,
                                  .facts = facts};
    struct tl_plan_step step;
    cr_assert(tl_plan_next(&state, &step));
    cr_expect(step.stage == TL_PLAN_STREAM && step.direction == TL_DOWNLOAD);
    cr_expect_eq(step.bytes, 1000);
    state.done[TL_PLAN_STREAM][TL_DOWNLOAD] = true;
    struct tl_finding list[] = {open_cause("capacity", streams_missing, 3)};
    struct tl_findings findings = findings_of(list, 1, unknown());
    state.findings = &findings;
    cr_assert(tl_plan_next(&state, &step));
    cr_expect(step.stage == TL_PLAN_STREAM && step.direction == TL_UPLOAD);
}

/* --- situations --- */

Test(plan, situations)
{
    struct tl_finding open_capacity = open_cause("capacity", streams_missing, 2);
    struct tl_finding open_loss = open_cause("random-loss", paced_missing, 2);
    struct tl_finding weak_policer = open_cause("policer", udp_missing, 0);
    struct tl_finding noted = open_cause("random-loss", paced_missing, 3);
    struct tl_finding hardly_noted = open_cause("random-loss", paced_missing, 0);
    noted.severity = hardly_noted.severity = TL_NOTE;
    const struct {
        const char *name;
        struct tl_finding finding;
        struct tl_verdict verdict;
        double rwnd_ratio;
        enum tl_plan_stage next; /* TL_PLAN_COUNT: none */
    } rows[] = {
        {"no verdict, a cause is open", open_capacity, unknown(), 0, TL_PLAN_STREAMS},
        {"no verdict, loss is open", open_loss, unknown(), 0, TL_PLAN_PACED},
        {"a sure verdict with its next rung", open_capacity, limited(0.97, 9e8), 0.9,
         TL_PLAN_COUNT},
        {"a sure verdict, weak doubts", weak_policer, limited(0.9, 9e8), 0.9, TL_PLAN_COUNT},
        {"an unsure verdict, a strong rival", open_capacity, limited(0.6, 9e8), 0, TL_PLAN_STREAMS},
        {"a buffer hides the next rung", open_capacity, limited(0.95, NONE), 0.9, TL_PLAN_WINDOW},
        {"of the next rung only a lower bound is known", open_capacity,
         (struct tl_verdict){.state = TL_LIMITED,
                             .cause = (char *)"receive-window",
                             .confidence = 0.95,
                             .measured_bps = 2.5e7,
                             .fixed_bps = 2e8,
                             .fixed_at_least = true},
         0.9, TL_PLAN_WINDOW},
        {"what is worth a note", noted, limited(0.97, 9e8), 0, TL_PLAN_PACED},
        {"what is hardly worth a note", hardly_noted, limited(0.97, 9e8), 0, TL_PLAN_COUNT},
        {"the goal is met",
         open_capacity,
         {.state = TL_GOAL_MET, .measured_bps = 9e7, .fixed_bps = NONE},
         0,
         TL_PLAN_COUNT},
        {"the run is spoiled",
         open_capacity,
         {.state = TL_VERDICT_INVALID, .fixed_bps = NONE},
         0,
         TL_PLAN_COUNT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tl_finding list[] = {rows[i].finding};
        struct tl_findings findings = findings_of(list, 1, rows[i].verdict);
        struct tl_plan_state state = after_stream(&findings);
        struct tl_plan_step step;
        tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, ledger_rwnd_ratio), rows[i].rwnd_ratio, "");
        bool some = tl_plan_next(&state, &step);
        cr_expect_eq(some ? step.stage : TL_PLAN_COUNT, rows[i].next, "%s: %s (%s)", rows[i].name,
                     some ? tl_plan_stage_id(step.stage) : "none", step.why);
        cr_expect(strlen(step.why) > 0);
    }
}

/* A receive window that was confirmed with larger buffers needs no datagrams. */
Test(plan, a_black_hole_that_stops_transfers_ends_them)
{
    struct tl_finding list[] = {open_cause("capacity", streams_missing, 3)};
    struct tl_findings findings = findings_of(list, 1, unknown());
    struct tl_plan_state state = {.download = true,
                                  .have = TL_NEEDS_RESPONDER,
                                  .time_left_ns = 20000000000,
                                  .bytes_left = 1000000,
                                  .facts = facts,
                                  .findings = &findings};
    struct tl_plan_step step;
    state.done[TL_PLAN_STREAM][TL_DOWNLOAD] = true;
    cr_expect(tl_plan_next(&state, &step) && step.stage == TL_PLAN_STREAMS);
    tl_facts_set_bool(facts, TL_FLOW(TL_DOWNLOAD, stalled), true, "");
    cr_expect(!tl_plan_next(&state, &step) || !tl_stage_at(step.stage)->loads);
}

Test(plan, a_confirmed_window_ends_the_run)
{
    struct tl_finding list[] = {open_cause("policer", udp_missing, 1),
                                open_cause("capacity", streams_missing, 1),
                                open_cause("random-loss", paced_missing, 1)};
    struct tl_findings findings = findings_of(list, 3, limited(0.97, 1.93e8));
    struct tl_plan_state state = after_stream(&findings);
    struct tl_plan_weight weights[TL_PLAN_WEIGHTS_MAX];
    struct tl_plan_step step;
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, ledger_rwnd_ratio), 0.99, "");
    state.done[TL_PLAN_WINDOW][TL_DOWNLOAD] = true;
    cr_expect(!tl_plan_next(&state, &step), "%s", step.why);
    size_t count = tl_plan_weigh(&state, weights);
    for (size_t i = 0; i < count; i++)
        cr_expect(weights[i].worth < TL_PLAN_WORTH_MIN && weights[i].why[0]);
}

/* A test of the verdict's own cause that nobody made yet: of a stage that was not run. */
Test(plan, a_test_more_is_made_where_verdicts_like_it_were_wrong)
{
    struct tl_evidence_value value = {.key = udp_missing[0]};
    struct tl_evidence unmade = {.truth = TL_UNKNOWN_TRUTH, .values = &value, .value_count = 1};
    struct tl_finding found = {.cause = (char *)"receive-window",
                               .result = TL_FOUND,
                               .severity = TL_LIMITS,
                               .evidence = &unmade,
                               .evidence_count = 1};
    const struct {
        double confidence;
        enum tl_plan_stage next;
    } rows[] = {{0.62, TL_PLAN_UDP}, {0.75, TL_PLAN_UDP}, {0.93, TL_PLAN_COUNT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tl_findings findings = findings_of(&found, 1, limited(rows[i].confidence, 9e8));
        struct tl_plan_state state = after_stream(&findings);
        struct tl_plan_step step;
        bool some = tl_plan_next(&state, &step);
        cr_expect_eq(some ? step.stage : TL_PLAN_COUNT, rows[i].next, "%g: %s", rows[i].confidence,
                     step.why);
    }
}

/* The path's own rung lacks facts of datagrams; several streams told what the path carries. */
Test(plan, datagrams_tell_what_a_fix_brings_only_without_several_streams)
{
    struct tl_rung path = {.essential = true, .missing = udp_missing, .missing_count = 1};
    struct tl_findings findings = findings_of(NULL, 0, limited(0.97, NONE));
    struct tl_plan_state state = after_stream(&findings);
    struct tl_plan_step step;
    findings.ladder = &path;
    findings.rung_count = 1;
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_UDP);
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, streams_goodput_bps), 5e7, "");
    cr_expect(!tl_plan_next(&state, &step), "%s", step.why);
}

/* A stream of 25 Mb/s that its receive window holds, on hosts that say what they permit. */
static void set_windowed(double tuned_bytes, double permitted_bytes)
{
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 2.5e7, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, ledger_rwnd_ratio), 0.99, "");
    tl_facts_set_number(facts, TL_NEAR(tcp_rmem_max_bytes), tuned_bytes, "");
    tl_facts_set_number(facts, TL_NEAR(core_rmem_max_bytes), permitted_bytes, "");
    tl_facts_derive(facts);
}

/* 256 KiB tuned, 208 KiB permitted to a program (416 KiB as the kernel counts): 1.6 times as much,
 * where eight connections get up to eight times. With 4 MiB permitted it is 32 times. */
Test(plan, what_reaches_further_shows_what_is_behind_a_buffer)
{
    struct tl_finding list[] = {open_cause("capacity", streams_missing, 3)};
    struct tl_findings findings = findings_of(list, 1, limited(0.97, NONE));
    struct tl_plan_state state = after_stream(&findings);
    struct tl_plan_step step;
    set_windowed(262144, 212992);
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_STREAMS, "%s", step.why);
    set_windowed(262144, 4194304);
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_WINDOW, "%s", step.why);
}

/* Behind several connections: a larger buffer that could not reach what they got, and one that
 * could where they were held by none, show nothing more. */
Test(plan, a_larger_buffer_is_not_tried_where_it_could_show_no_more)
{
    struct tl_verdict verdict = limited(0.97, 2e8);
    verdict.fixed_at_least = true;
    struct tl_rung path = {.essential = true, .missing = window_missing, .missing_count = 1};
    struct tl_findings findings = findings_of(NULL, 0, verdict);
    struct tl_plan_state state = after_stream(&findings);
    struct tl_plan_step step;
    findings.ladder = &path;
    findings.rung_count = 1;
    state.done[TL_PLAN_STREAMS][TL_DOWNLOAD] = true;
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, streams_goodput_bps), 2e8, "");
    set_windowed(262144, 212992);
    cr_expect(!tl_plan_next(&state, &step), "%s", step.why);
    set_windowed(262144, 4194304);
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_WINDOW, "32 times 25 Mb/s is more than 200 Mb/s");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, streams_rwnd_ratio), 0.1, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, streams_sndbuf_ratio), 0, "");
    cr_expect(!tl_plan_next(&state, &step), "%s", step.why);
}

/* What only the network does is asked later where a buffer held the sender for most of its time. */
Test(plan, a_sender_held_by_a_buffer_raises_few_doubts_about_the_network)
{
    struct tl_finding list[] = {open_cause("send-buffer", streams_missing, 2),
                                open_cause("policer", paced_missing, 1)};
    struct tl_findings findings = findings_of(list, 2, unknown());
    struct tl_plan_state state = after_stream(&findings);
    struct tl_plan_step step;
    tl_facts_set_number(facts, TL_PATH(rtt_min_ns), 8e6, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, best_goodput_bps), 5e7, "");
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 5e7, 3.5e7, 6.5e7, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, mss_bytes), 1448, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, retrans_ratio), 0.01, "");
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_PACED, "the cheaper one first");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, ledger_network_ratio), 0.3, "");
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_STREAMS);
}

Test(plan, of_equal_worth_the_cheaper_stage_comes_first)
{
    struct tl_finding list[] = {open_cause("capacity", streams_missing, 2),
                                open_cause("random-loss", paced_missing, 2)};
    struct tl_findings findings = findings_of(list, 2, unknown());
    struct tl_plan_state state = after_stream(&findings);
    struct tl_plan_step step;
    /* With this loss three seconds of paced stream suffice; several streams take six. */
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 5e7, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, mss_bytes), 1448, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, retrans_ratio), 0.01, "");
    tl_facts_derive(facts);
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_PACED);
    /* With rare loss the paced stream takes ten. */
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, retrans_ratio), 1e-5, "");
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_STREAMS);
}

/* A disturbed run is told as no more than medium, however much is measured. */
Test(plan, what_a_disturbance_took_is_not_sought)
{
    struct tl_finding list[] = {open_cause("policer", paced_missing, 2)};
    struct tl_findings findings = findings_of(list, 1, limited(0.8, 9e8));
    struct tl_plan_state state = after_stream(&findings);
    struct tl_plan_step step;
    cr_assert(tl_plan_next(&state, &step));
    cr_expect_eq(step.stage, TL_PLAN_PACED, "a doubt of the verdict's own");
    findings.verdict.undisturbed = 0.98;
    cr_expect(!tl_plan_next(&state, &step), "%s", step.why);
}

Test(plan, the_same_state_gives_the_same_plan)
{
    struct tl_finding list[] = {open_cause("capacity", streams_missing, 2),
                                open_cause("receive-window", window_missing, 2)};
    struct tl_findings findings = findings_of(list, 2, unknown());
    struct tl_plan_state state = after_stream(&findings);
    struct tl_plan_step once, again;
    cr_assert(tl_plan_next(&state, &once) && tl_plan_next(&state, &again));
    cr_expect(once.stage == again.stage && once.worth == again.worth &&
              strcmp(once.why, again.why) == 0);
}
