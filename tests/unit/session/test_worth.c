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

/* A download whose verdict waits for one fact that would decide one cause. */
struct undecided {
    struct tl_fact_key missing;
    struct tl_finding open;
    struct tl_findings findings;
    struct tl_plan_state state;
};

static void set_undecided(struct undecided *ret_undecided, const char *cause,
                          struct tl_fact_key missing)
{
    struct undecided *one = ret_undecided;
    *one = (struct undecided){.missing = missing};
    one->open = (struct tl_finding){.cause = (char *)cause,
                                    .result = TL_CANNOT_TELL,
                                    .severity = TL_LIMITS,
                                    .missing = &one->missing,
                                    .missing_count = 1};
    one->findings =
        (struct tl_findings){.findings = &one->open,
                             .finding_count = 1,
                             .verdict = {.state = TL_INCONCLUSIVE, .fixed_bps = (double)NAN}};
    one->state = (struct tl_plan_state){
        .download = true, .have = TL_NEEDS_RESPONDER, .facts = facts, .findings = &one->findings};
}

/* A queue that stood all the time explains what it dropped. Several connections tell whether the
 * link is full, and spare the slow stream; where they cannot be run it tells by itself. */
Test(worth, a_slow_stream_waits_for_several_where_a_queue_explains_the_losses)
{
    struct undecided one;
    struct tl_worth before, waiting, alone;
    set_undecided(&one, "shallow-buffer", TL_FLOW(TL_DOWNLOAD, paced_retrans_ratio));
    tl_worth_of(&one.state, TL_PLAN_PACED, TL_DOWNLOAD, &before);
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, queue_standing_ratio), 1, "");
    tl_worth_of(&one.state, TL_PLAN_PACED, TL_DOWNLOAD, &waiting);
    one.state.done[TL_PLAN_STREAMS][TL_DOWNLOAD] = true;
    tl_worth_of(&one.state, TL_PLAN_PACED, TL_DOWNLOAD, &alone);
    cr_expect_lt(waiting.value, before.value / 3);
    cr_expect_float_eq(alone.value, before.value, 1e-9);
}

/* A loss ended slow start early. Datagrams tell what drops, another congestion control only how it
 * gets along with that: it waits for them, where they can be sent. */
Test(worth, another_congestion_control_waits_for_datagrams_where_something_was_lost)
{
    struct undecided one;
    struct tl_worth lossless, waiting, behind;
    set_undecided(&one, "congestion-control", TL_FLOW(TL_DOWNLOAD, microscope_goodput_bps));
    tl_worth_of(&one.state, TL_PLAN_MICROSCOPE, TL_DOWNLOAD, &lossless);
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, first_loss_ns), 6.5e8, "");
    tl_worth_of(&one.state, TL_PLAN_MICROSCOPE, TL_DOWNLOAD, &waiting);
    one.state.done[TL_PLAN_UDP][TL_DOWNLOAD] = true;
    tl_worth_of(&one.state, TL_PLAN_MICROSCOPE, TL_DOWNLOAD, &behind);
    cr_expect_lt(waiting.value, lossless.value / 3);
    cr_expect_gt(waiting.value, 0);
    cr_expect_float_eq(behind.value, lossless.value, 1e-9);
}

/* All causes are ruled out, one for want of what datagrams would tell: they are sent. Not where a
 * cause is open that a stage still to come could settle: that one comes first. */
Test(worth, what_nothing_explains_is_measured_further)
{
    struct tl_fact_key missing[] = {TL_FLOW(TL_DOWNLOAD, paced_retrans_ratio)};
    struct tl_evidence_value knee = {.key = TL_FLOW(TL_DOWNLOAD, udp_knee_bps)};
    struct tl_evidence lacking = {.truth = TL_FALSE, .values = &knee, .value_count = 1};
    struct tl_finding found[] = {{.cause = (char *)"policer",
                                  .result = TL_RULED_OUT,
                                  .severity = TL_LIMITS,
                                  .evidence = &lacking,
                                  .evidence_count = 1},
                                 {.cause = (char *)"shallow-buffer",
                                  .result = TL_CANNOT_TELL,
                                  .severity = TL_LIMITS,
                                  .missing = missing,
                                  .missing_count = 1}};
    struct tl_findings findings = {.findings = found,
                                   .finding_count = 2,
                                   .verdict = {.state = TL_INCONCLUSIVE, .fixed_bps = (double)NAN}};
    struct tl_plan_state state = {
        .download = true, .have = TL_NEEDS_RESPONDER, .facts = facts, .findings = &findings};
    struct tl_worth worth;
    tl_worth_of(&state, TL_PLAN_UDP, TL_DOWNLOAD, &worth);
    cr_expect_lt(worth.value, TL_PLAN_WORTH_MIN, "%s", worth.what);
    state.done[TL_PLAN_PACED][TL_DOWNLOAD] = true;
    tl_worth_of(&state, TL_PLAN_UDP, TL_DOWNLOAD, &worth);
    cr_expect_geq(worth.value, TL_PLAN_WORTH_MIN);
    knee.known = true;
    tl_worth_of(&state, TL_PLAN_UDP, TL_DOWNLOAD, &worth);
    cr_expect_lt(worth.value, TL_PLAN_WORTH_MIN, "%s", worth.what);
}

/* A send buffer was found in the way, and for want of a trial with a larger one not what it costs:
 * that trial comes before what no cause asks for. With a ceiling nothing is left to tell. */
Test(worth, what_was_found_without_a_ceiling_is_tried_first)
{
    struct tl_evidence_value larger = {.key = TL_FLOW(TL_DOWNLOAD, window_goodput_bps)};
    struct tl_evidence_value knee = {.key = TL_FLOW(TL_DOWNLOAD, udp_knee_bps)};
    struct tl_evidence lacking[] = {{.truth = TL_TRUE, .values = &larger, .value_count = 1},
                                    {.truth = TL_FALSE, .values = &knee, .value_count = 1}};
    struct tl_finding found[] = {{.cause = (char *)"send-buffer",
                                  .result = TL_FOUND,
                                  .severity = TL_NOTE,
                                  .ceiling_bps = (double)NAN,
                                  .evidence = lacking,
                                  .evidence_count = 1},
                                 {.cause = (char *)"policer",
                                  .result = TL_RULED_OUT,
                                  .severity = TL_LIMITS,
                                  .evidence = &lacking[1],
                                  .evidence_count = 1}};
    struct tl_findings findings = {.findings = found,
                                   .finding_count = 2,
                                   .verdict = {.state = TL_INCONCLUSIVE, .fixed_bps = (double)NAN}};
    struct tl_plan_state state = {
        .download = true, .have = TL_NEEDS_RESPONDER, .facts = facts, .findings = &findings};
    struct tl_worth trial, datagrams;
    tl_worth_of(&state, TL_PLAN_WINDOW, TL_DOWNLOAD, &trial);
    tl_worth_of(&state, TL_PLAN_UDP, TL_DOWNLOAD, &datagrams);
    cr_expect_gt(trial.value, 2 * datagrams.value, "%s", trial.what);
    found[0].ceiling_bps = 2.7e7;
    tl_worth_of(&state, TL_PLAN_WINDOW, TL_DOWNLOAD, &trial);
    cr_expect_lt(trial.value, TL_PLAN_WORTH_MIN, "%s", trial.what);
}

/* Nothing else explains a sender whose buffer had no room to send again what was lost. */
Test(worth, a_larger_buffer_is_tried_early_where_nothing_could_be_sent_again)
{
    struct undecided one;
    struct tl_worth before, after;
    set_undecided(&one, "send-buffer", TL_FLOW(TL_DOWNLOAD, window_goodput_bps));
    tl_worth_of(&one.state, TL_PLAN_WINDOW, TL_DOWNLOAD, &before);
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, sender_tcp_wqueue_too_big_count), 0, "");
    tl_worth_of(&one.state, TL_PLAN_WINDOW, TL_DOWNLOAD, &after);
    cr_expect_eq(after.value, before.value);
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, sender_tcp_wqueue_too_big_count), 128, "");
    tl_worth_of(&one.state, TL_PLAN_WINDOW, TL_DOWNLOAD, &after);
    cr_expect_geq(after.value, fmin(1, 4 * before.value), "%g, before %g", after.value,
                  before.value);
}
