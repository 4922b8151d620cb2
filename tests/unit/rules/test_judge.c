/* The judge beyond single rules: two directions, the ladder, the ledger, order, sameness. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../key_of.h"
#include "judge.h"
#include "tightlink/base/far.h"
#include "tightlink/rules/rules.h"

static struct tl_rules *rules;
static struct tl_facts *facts;

static void set_up(void)
{
    struct tl_error error = {.text = ""};
    cr_assert_eq(tl_rules_load_builtin(&rules, &error), TL_OK, "%s", error.text);
    facts = tl_facts_create();
}

static void tear_down(void)
{
    tl_facts_destroy(facts);
    tl_rules_destroy(rules);
}

TestSuite(judge, .init = set_up, .fini = tear_down);

static void set(const char *scope, const char *name, double value)
{
    char id[128];
    snprintf(id, sizeof id, "%s.%s", scope, name);
    tl_facts_set_number(facts, key_of(id), value, "");
}

static void set_bool(const char *scope, const char *name, bool value)
{
    char id[128];
    snprintf(id, sizeof id, "%s.%s", scope, name);
    tl_facts_set_bool(facts, key_of(id), value, "");
}

/* A stream that its window limits: 25.3 Mb/s of 25.9. */
static void set_windowed(const char *flow)
{
    char id[128];
    set(flow, "goodput_bps", 25.3e6);
    set(flow, "steady_ns", 5e9);
    set(flow, "rtt_mean_ns", 50.3e6);
    set(flow, "rtt_min_ns", 50.1e6);
    set(flow, "ledger_rwnd_ratio", 0.96);
    set(flow, "ledger_sndbuf_ratio", 0);
    set(flow, "ledger_app_ratio", 0.01);
    set(flow, "ledger_network_ratio", 0.03);
    set(flow, "snd_wnd_max_bytes", 162432);
    set(flow, "mss_bytes", 1448);
    set(flow, "retrans_ratio", 0);
    set(flow, "retrans_count", 0);
    set(flow, "sender_thread_cpu_ratio", 0.1);
    set(flow, "receiver_thread_cpu_ratio", 0.1);
    set_bool(flow, "wscale_ok", true);
    set_bool(flow, "sack_ok", true);
    snprintf(id, sizeof id, "%s.cc", flow);
    tl_facts_set_text(facts, key_of(id), "cubic", "");
}

/* A stream on a full path. */
static void set_full(const char *flow, double bps)
{
    set_windowed(flow);
    set(flow, "goodput_bps", bps);
    set(flow, "rtt_mean_ns", 90e6);
    set(flow, "ledger_rwnd_ratio", 0);
    set(flow, "ledger_network_ratio", 0.99);
    set(flow, "snd_wnd_max_bytes", 6e6);
    set(flow, "streams_count", 8);
    set(flow, "streams_goodput_bps", bps * 1.01);
    set(flow, "streams_rtt_mean_ns", 95e6);
    set(flow, "streams_retrans_ratio", 0.002);
}

static const char *stranger; /* of the next judgements */

static struct tl_findings *judge(bool download, bool upload, double goal)
{
    struct tl_question question = {.download = download,
                                   .upload = upload,
                                   .stranger = stranger,
                                   .goal_bps = goal,
                                   .goal_rtt_ns = NAN,
                                   .quality_reason = ""};
    struct tl_findings *findings = NULL;
    struct tl_error error = {.text = ""};
    cr_assert_eq(tl_rules_judge(rules, facts, &question, &findings, &error), TL_OK, "%s",
                 error.text);
    return findings;
}

Test(judge, the_slower_direction_is_the_verdict_of_the_run)
{
    set_windowed("download");
    set_full("upload", 10e6);
    struct tl_findings *findings = judge(true, true, NAN);
    cr_expect_str_eq(findings->verdict.cause, "capacity");
    cr_expect_eq(findings->verdict.direction, TL_UPLOAD);
    cr_expect_eq(findings->ledger_count, 2);
    cr_expect_eq(findings->finding_count, 2 * tl_rules_count(rules));
    tl_findings_destroy(findings);
}

Test(judge, a_goal_that_only_one_direction_misses_names_that_one)
{
    set_windowed("download");
    set_full("upload", 10e6);
    struct tl_findings *findings = judge(true, true, 5e6);
    cr_expect_eq(findings->verdict.state, TL_GOAL_MET);
    tl_findings_destroy(findings);
    findings = judge(true, true, 20e6);
    cr_expect_eq(findings->verdict.state, TL_LIMITED);
    cr_expect_eq(findings->verdict.direction, TL_UPLOAD);
    tl_findings_destroy(findings);
}

Test(judge, a_direction_that_was_not_measured_does_not_hide_the_other)
{
    set_windowed("upload");
    struct tl_findings *findings = judge(true, true, NAN);
    cr_expect_eq(findings->verdict.state, TL_LIMITED);
    cr_expect_eq(findings->verdict.direction, TL_UPLOAD);
    cr_expect_str_eq(findings->verdict.segment, "far-host");
    tl_findings_destroy(findings);
}

Test(judge, the_ladder_is_in_order_and_marks_the_verdict)
{
    set_windowed("download");
    set("download", "streams_goodput_bps", 190e6);
    set("download", "window_goodput_bps", 186e6);
    set("download", "streams_rtt_mean_ns", 90e6);
    set("download", "streams_retrans_ratio", 0.001);
    struct tl_findings *findings = judge(true, false, NAN);
    size_t limiting = 0;
    bool untested = false;
    double last = 0;
    for (size_t i = 0; i < findings->rung_count; i++) {
        const struct tl_rung *rung = &findings->ladder[i];
        limiting += rung->limits;
        if (!rung->tested) {
            untested = true;
            cr_expect(rung->why_not[0], "%s does not say why not", rung->cause);
            cr_expect(isnan(rung->bps));
            continue;
        }
        cr_expect_not(untested, "a tested rung after an untested one");
        cr_expect_geq(rung->bps, last);
        cr_expect_leq(rung->low_bps, rung->bps);
        cr_expect_geq(rung->high_bps, rung->bps);
        cr_expect_str_empty(rung->why_not);
        last = rung->bps;
    }
    cr_expect_eq(limiting, 1);
    cr_expect(findings->ladder[0].limits);
    cr_expect_str_eq(findings->verdict.next_cause, "capacity");
    cr_expect_float_eq(findings->verdict.fixed_bps, 190e6, 1e6);
    tl_findings_destroy(findings);
}

/* A host's own limit goes away with its setting; a path's only as far as the path was seen to
 * carry more. */
Test(judge, a_gain_is_promised_for_a_host_and_not_for_a_path_that_was_not_seen_to_carry_it)
{
    set_windowed("download");
    set("download", "streams_goodput_bps", 190e6);
    set("download", "window_goodput_bps", 186e6);
    set("download", "streams_rtt_mean_ns", 90e6);
    set("download", "streams_retrans_ratio", 0.001);
    struct tl_findings *findings = judge(true, false, NAN);
    cr_assert_str_eq(findings->verdict.segment, "near-host");
    cr_assert(findings->verdict.fixed_bps > 0);
    cr_expect(findings->verdict.fixed_promised);
    cr_assert_gt(findings->findings[0].remedy_count, 0);
    cr_expect(findings->findings[0].remedies[0].promised);
    tl_findings_destroy(findings);
    set_full("download", 10e6);
    set("near", "link_speed_bps", 1e9);
    set("download", "best_goodput_bps", 10.1e6);
    findings = judge(true, false, NAN);
    cr_assert_str_eq(findings->verdict.segment, "path");
    cr_expect_not(findings->verdict.fixed_promised);
    tl_findings_destroy(findings);
}

/* What several connections got while each was held by its window bounds nothing from above. */
Test(judge, a_rate_seen_with_many_streams_is_a_lower_bound_of_a_larger_buffer)
{
    set_windowed("download");
    set("download", "streams_count", 8);
    set("download", "streams_goodput_bps", 200e6);
    set("download", "best_goodput_bps", 200e6);
    set("download", "trains_bps", 900e6);
    struct tl_findings *findings = judge(true, false, NAN);
    cr_assert_str_eq(findings->verdict.cause, "receive-window");
    cr_expect_float_eq(findings->verdict.fixed_bps, 200e6, 1);
    cr_expect(findings->verdict.fixed_at_least);
    cr_expect_str_eq(findings->verdict.fixed_stage, "window");
    cr_assert_gt(findings->findings[0].remedy_count, 0);
    cr_expect(isinf(findings->findings[0].remedies[0].predicted.high_bps));
    tl_findings_destroy(findings);
}

/* A stage is named as telling more only where it can: 208 KiB asked for are 416 KiB, which
 * carry 1.6 times what 256 KiB do, less than eight connections got; and what datagrams reach bounds
 * no transfer. */
Test(judge, no_stage_is_said_to_tell_what_it_cannot)
{
    set_windowed("download");
    set("near", "tcp_rmem_max_bytes", 262144);
    set("near", "core_rmem_max_bytes", 212992);
    set("download", "streams_count", 8);
    set("download", "streams_goodput_bps", 200e6);
    set("download", "streams_rtt_mean_ns", 90e6);
    set("download", "streams_retrans_ratio", 0.001);
    tl_facts_derive(facts);
    struct tl_findings *findings = judge(true, false, NAN);
    cr_assert_str_eq(findings->verdict.cause, "receive-window");
    cr_expect(findings->verdict.fixed_at_least);
    cr_expect_null(findings->verdict.fixed_stage, "%s", findings->verdict.fixed_stage);
    tl_findings_destroy(findings);
    set("near", "core_rmem_max_bytes", 4194304);
    tl_facts_derive(facts);
    findings = judge(true, false, NAN);
    cr_expect_str_eq(findings->verdict.fixed_stage, "window", "16 times as much as 256 KiB");
    tl_findings_destroy(findings);
    set("download", "window_goodput_bps", 150e6);
    tl_facts_derive(facts);
    findings = judge(true, false, NAN);
    cr_expect(findings->verdict.fixed_at_least);
    cr_expect_null(findings->verdict.fixed_stage, "%s", findings->verdict.fixed_stage);
    tl_findings_destroy(findings);
}

static const struct tl_remedy *first_remedy(const struct tl_findings *findings)
{
    cr_assert_gt(findings->findings[0].remedy_count, 0);
    return &findings->findings[0].remedies[0];
}

/* A buffer that carries what is known at least, and no more, would be the next limit. */
Test(judge, a_buffer_is_made_for_the_goal_where_only_a_lower_bound_is_known)
{
    set_windowed("download");
    set("near", "tcp_rmem_min_bytes", 4096);
    set("near", "tcp_rmem_default_bytes", 131072);
    set("near", "tcp_rmem_max_bytes", 262144);
    set("download", "streams_count", 8);
    set("download", "streams_goodput_bps", 200e6);
    set("download", "best_goodput_bps", 200e6);
    set("download", "trains_bps", 900e6);
    struct tl_findings *bound = judge(true, false, NAN), *goal = judge(true, false, 2e9);
    /* Twice a BDP of 50.1 ms: 12.5 MB at 1 Gb/s, 25 MB at 2 Gb/s (2.5 MB at 200 Mb/s). */
    cr_expect_float_eq(first_remedy(bound)->trial.value, 16777216, 1, "%s: %g",
                       first_remedy(bound)->does, first_remedy(bound)->trial.value);
    cr_expect_float_eq(first_remedy(goal)->trial.value, 33554432, 1);
    cr_expect(strstr(first_remedy(bound)->why, "at least 200 Mb/s"), "%s",
              first_remedy(bound)->why);
    tl_findings_destroy(bound);
    tl_findings_destroy(goal);
}

/* One connection with large buffers that did not hold it back is the remedy, tried. */
Test(judge, a_rate_seen_with_a_larger_buffer_is_what_it_brings)
{
    set_windowed("download");
    set("download", "window_goodput_bps", 150e6);
    set("download", "window_snd_wnd_max_bytes", 6e6);
    set("download", "window_rwnd_ratio", 0);
    set("download", "window_sndbuf_ratio", 0);
    set("download", "best_goodput_bps", 150e6);
    struct tl_findings *findings = judge(true, false, NAN);
    cr_expect_float_eq(findings->verdict.fixed_bps, 150e6, 1);
    cr_expect_not(findings->verdict.fixed_at_least);
    tl_findings_destroy(findings);
    set("download", "window_rwnd_ratio", 0.9);
    findings = judge(true, false, NAN);
    cr_expect(findings->verdict.fixed_at_least, "the larger buffer was full, too");
    tl_findings_destroy(findings);
    set("download", "window_rwnd_ratio", 0);
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, window_goodput_bps), 150e6, 75e6, 225e6, "");
    findings = judge(true, false, NAN);
    cr_expect(findings->verdict.fixed_at_least, "it was still rising when its time was over");
    tl_findings_destroy(findings);
}

Test(judge, evidence_carries_resolved_values)
{
    set_windowed("upload");
    struct tl_findings *findings = judge(false, true, NAN);
    const struct tl_finding *first = &findings->findings[0];
    cr_assert_str_eq(first->rule, "receive-window");
    bool seen = false;
    for (size_t i = 0; i < first->evidence_count; i++)
        for (size_t v = 0; v < first->evidence[i].value_count; v++)
            if (tl_fact_key_is(first->evidence[i].values[v].key,
                               TL_FLOW(TL_UPLOAD, ledger_rwnd_ratio)))
                seen = first->evidence[i].values[v].known &&
                       first->evidence[i].values[v].number == 0.96 && first->evidence[i].is_for &&
                       first->evidence[i].truth == TL_TRUE;
    cr_expect(seen);
    tl_findings_destroy(findings);
}

Test(judge, nothing_known_gives_no_verdict_and_no_crash)
{
    struct tl_findings *findings = judge(true, true, NAN);
    cr_expect_eq(findings->verdict.state, TL_INCONCLUSIVE);
    cr_expect_null(findings->verdict.cause);
    cr_expect_eq(findings->ledger_count, 0);
    for (size_t i = 0; i < findings->finding_count; i++)
        cr_expect_neq(findings->findings[i].result, TL_FOUND);
    tl_findings_destroy(findings);
}

Test(judge, no_direction_is_a_usage_error)
{
    struct tl_question question = {.quality_reason = ""};
    struct tl_findings *findings = NULL;
    cr_expect_eq(tl_rules_judge(rules, facts, &question, &findings, NULL), TL_USAGE);
    cr_expect_null(findings);
}

Test(judge, the_same_facts_give_the_same_findings)
{
    set_windowed("download");
    struct tl_findings *a = judge(true, false, NAN), *b = judge(true, false, NAN);
    cr_expect_str_eq(a->verdict.sentence, b->verdict.sentence);
    cr_expect_eq(a->verdict.confidence, b->verdict.confidence);
    for (size_t i = 0; i < a->finding_count; i++) {
        cr_expect_str_eq(a->findings[i].rule, b->findings[i].rule);
        cr_expect_str_eq(a->findings[i].sentence, b->findings[i].sentence);
    }
    tl_findings_destroy(a);
    tl_findings_destroy(b);
}

Test(judge, confidence_is_what_was_counted_and_no_more_than_its_doubts)
{
    set_windowed("download");
    struct tl_findings *findings = judge(true, false, NAN);
    const struct tl_verdict *verdict = &findings->verdict;
    cr_expect_eq(verdict->state, TL_LIMITED);
    cr_expect_gt(verdict->confidence, 0);
    cr_expect_leq(verdict->confidence, tl_counted_levels[tl_counted_level_count - 1].low);
    cr_expect(strstr(verdict->confidence_reasons, "emulated paths") ||
                  verdict->confidence <= TL_UNCOUNTED_MAX,
              "%s", verdict->confidence_reasons);
    tl_findings_destroy(findings);
}

Test(judge, counted_levels_rise_and_tell_no_more_than_they_hold)
{
    cr_assert_gt(tl_counted_level_count, 0);
    for (size_t i = 0; i < tl_counted_level_count; i++) {
        const struct tl_counted_level *level = &tl_counted_levels[i];
        cr_expect_lt(level->low, (double)level->right / level->verdicts);
        cr_expect(i == 0 || level->score > level[-1].score);
        cr_expect(i == 0 || level->low > level[-1].low);
    }
}

Test(judge, deciding_facts_are_known_to_the_table_and_unknown_to_the_store)
{
    set_windowed("download");
    set("download", "ledger_rwnd_ratio", 0);
    set("download", "ledger_network_ratio", 0.99);
    set("download", "retrans_count", 20);
    set("download", "segments_count", 11000);
    struct tl_findings *findings = judge(true, false, NAN);
    cr_expect_eq(findings->verdict.state, TL_INCONCLUSIVE);
    cr_expect_gt(findings->verdict.deciding_count, 0);
    for (size_t i = 0; i < findings->verdict.deciding_count; i++) {
        struct tl_fact fact;
        tl_facts_get(facts, findings->verdict.deciding[i], &fact);
        cr_expect_eq(fact.state, TL_FACT_UNKNOWN);
    }
    tl_findings_destroy(findings);
}

/* A stream that its send buffer held, which a larger one or several streams would prove. */
static struct tl_findings *judge_held(void)
{
    set_windowed("download");
    set("download", "goodput_bps", 11e6);
    set("download", "ledger_rwnd_ratio", 0);
    set("download", "ledger_sndbuf_ratio", 0.9);
    set("download", "ledger_network_ratio", 0.09);
    set("download", "rtt_mean_ns", 70e6);
    set("download", "snd_wnd_max_bytes", 6e6);
    set("download", "inflight_mean_bytes", 96000);
    set("download", "inflight_max_bytes", 128000);
    return judge(true, false, NAN);
}

static bool names(const struct tl_findings *findings, const char *part)
{
    return strstr(findings->verdict.sentence, part) != NULL;
}

/* At a stranger's server: what is left, and who would bring what decides it. */
Test(judge, cannot_tell_at_a_stranger_names_what_is_left_and_who_would_tell)
{
    const enum tl_direction download = TL_DOWNLOAD;
    tl_findings_destroy(judge_held());
    stranger = "a web server";
    tl_facts_explain_stage(facts, "hosts", NULL, "a reason of this PC's");
    tl_facts_explain_stage(facts, "stream", &download, "it cannot: " TL_FAR_WOULD);
    tl_facts_explain_stage(facts, "streams", &download, "it cannot: " TL_FAR_WOULD);
    tl_facts_explain_stage(facts, "window", &download, "it cannot: " TL_FAR_WOULD);
    struct tl_findings *findings = judge_held();
    cr_assert_eq(findings->verdict.state, TL_INCONCLUSIVE);
    cr_expect(names(findings, "Not ruled out: send buffer; full line; network memory; "), "%s",
              findings->verdict.sentence);
    cr_expect(names(findings, "The window, streams and stream stages lack what a web server cannot "
                              "tell: a tightlink responder there (tightlink serve) would."),
              "%s", findings->verdict.sentence);
    cr_expect(!names(findings, "this PC's"), "%s", findings->verdict.sentence);
    cr_expect(!names(findings, "None of"), "%s", findings->verdict.sentence);
    tl_findings_destroy(findings);
    stranger = NULL;
}

Test(judge, cannot_tell_names_stages_that_can_still_be_run)
{
    const enum tl_direction download = TL_DOWNLOAD;
    const char *all = "The window, streams, stream and hosts stages would decide.";
    struct tl_findings *findings = judge_held();
    cr_assert_eq(findings->verdict.state, TL_INCONCLUSIVE, "%s", findings->verdict.sentence);
    cr_expect(names(findings, all), "%s", findings->verdict.sentence);
    tl_findings_destroy(findings);
    tl_facts_explain_stage(facts, "hosts", NULL, "a reason");
    tl_facts_explain_stage(facts, "stream", &download, "a reason");
    tl_facts_explain_stage(facts, "window", &download, "no larger buffer is permitted");
    findings = judge_held();
    cr_expect(names(findings, "The streams stage would decide. What the window stage measures "
                              "would also decide, but is not to be had here: no larger buffer is "
                              "permitted."),
              "%s", findings->verdict.sentence);
    tl_findings_destroy(findings);
    tl_facts_explain_stage(facts, "streams", &download, "the stage was run in vain");
    findings = judge_held();
    cr_expect(!names(findings, "stage would decide."), "%s", findings->verdict.sentence);
    cr_expect(names(findings, "window stage measures would decide, but is not to be had here: no "
                              "larger buffer is permitted. What the streams stage measures would "
                              "also decide, but is not to be had here: the stage was run in vain."),
              "%s", findings->verdict.sentence);
    cr_expect(names(findings, "None of the causes that were tested explains it."),
              "what cannot be had is no explanation: %s", findings->verdict.sentence);
    tl_findings_destroy(findings);
}
