/* The stage table against the facts' table and against itself. */
#include <criterion/criterion.h>
#include <string.h>

#include "plan.h"

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

TestSuite(stages, .init = setup, .fini = teardown);

Test(stages, every_row_has_an_id_that_finds_it)
{
    for (int i = 0; i < TL_PLAN_COUNT; i++) {
        const struct tl_stage *stage = tl_stage_at((enum tl_plan_stage)i);
        cr_assert(stage->id && stage->why && stage->cost);
        cr_expect_eq((int)tl_stage_find(stage->id), i);
        cr_expect(strlen(stage->id) < sizeof((struct tl_stage_record *)0)->id);
        cr_expect(!(stage->light && stage->load), "%s has two probes", stage->id);
    }
    cr_expect_eq(tl_stage_find("bogus"), TL_PLAN_COUNT);
}

Test(stages, every_measured_fact_names_a_stage_of_the_table)
{
    for (int i = 0; i < TL_FACT_COUNT; i++) {
        const struct tl_fact_def *def = tl_fact_def((enum tl_fact_name)i);
        /* No stages of the plan: "via" follows where responders on the way were named, "mover"
         * is a program of the user's that was watched. */
        bool known = strcmp(def->stage, "derived") == 0 || strcmp(def->stage, "via") == 0 ||
                     strcmp(def->stage, "mover") == 0 || tl_stage_find(def->stage) != TL_PLAN_COUNT;
        cr_expect(known, "%s names the stage %s", def->name, def->stage);
    }
}

Test(stages, what_loads_the_path_waits_for_consent)
{
    for (int i = 0; i < TL_PLAN_COUNT; i++) {
        const struct tl_stage *stage = tl_stage_at((enum tl_plan_stage)i);
        cr_expect(!(stage->loads && stage->when == TL_WHEN_ALWAYS), "%s", stage->id);
        cr_expect(!(stage->when == TL_WHEN_ALWAYS && stage->load), "%s", stage->id);
    }
}

/* A stage goes a little over its bytes, and a budget may shrink below what was sent. */
Test(stages, no_cost_is_negative_when_the_budget_is_overdrawn)
{
    struct tl_plan_state state = {
        .time_left_ns = 25000000000, .bytes_left = -41106200, .facts = facts};
    for (int i = 0; i < TL_PLAN_COUNT; i++) {
        struct tl_stage_cost cost = {-1, -1, -1};
        tl_stage_at((enum tl_plan_stage)i)->cost(&state, TL_UPLOAD, &cost);
        cr_expect(cost.bytes >= 0, "%s", tl_stage_at((enum tl_plan_stage)i)->id);
        cr_expect(cost.expected_ns >= 0 && cost.expected_ns <= cost.time_ns);
    }
}

Test(stages, cost_stays_within_sight_with_nothing_known)
{
    struct tl_plan_state state = {
        .time_left_ns = 25000000000, .bytes_left = 1500000000, .facts = facts};
    for (int i = 0; i < TL_PLAN_COUNT; i++) {
        struct tl_stage_cost cost = {-1, -1, -1};
        tl_stage_at((enum tl_plan_stage)i)->cost(&state, TL_UPLOAD, &cost);
        cr_expect(cost.time_ns > 0 && cost.time_ns <= 60000000000, "%s",
                  tl_stage_at((enum tl_plan_stage)i)->id);
        cr_expect(cost.bytes >= 0 && cost.bytes <= state.bytes_left);
    }
}

/* One packet in a hundred in bursts of five, at 330 packets a second: six seconds meet bursts, two
 * do not. */
Test(stages, packets_lost_together_are_one_chance_to_see_any)
{
    struct tl_plan_state state = {
        .time_left_ns = 25000000000, .bytes_left = 1500000000, .facts = facts};
    struct tl_stage_cost single, bursts;
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, goodput_bps), 7.6e6, "");
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, mss_bytes), 1428, "");
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, retrans_ratio), 0.01, "");
    tl_stage_at(TL_PLAN_PACED)->cost(&state, TL_UPLOAD, &single);
    cr_expect_lt(single.time_ns, 4000000000);
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, loss_event_ratio), 0.002, "");
    tl_stage_at(TL_PLAN_PACED)->cost(&state, TL_UPLOAD, &bursts);
    cr_expect_geq(bursts.time_ns, 6000000000);
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, queue_standing_ratio), 0.9, "");
    tl_stage_at(TL_PLAN_PACED)->cost(&state, TL_UPLOAD, &bursts);
    cr_expect_eq(bursts.time_ns, single.time_ns, "its own queue lost them together");
}

/* Both end as soon as their rate tells; the window needs no trains. */
Test(stages, what_a_buffer_held_is_told_sooner_by_a_larger_one_than_by_several)
{
    struct tl_plan_state state = {
        .time_left_ns = 25000000000, .bytes_left = 1500000000, .facts = facts};
    struct tl_stage_cost window, streams;
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 75e6, "");
    tl_stage_at(TL_PLAN_WINDOW)->cost(&state, TL_DOWNLOAD, &window);
    cr_expect_eq(window.expected_ns, 0, "no buffer held it: nothing ends a larger window early");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, ledger_sndbuf_ratio), 0.65, "");
    tl_stage_at(TL_PLAN_WINDOW)->cost(&state, TL_DOWNLOAD, &window);
    tl_stage_at(TL_PLAN_STREAMS)->cost(&state, TL_DOWNLOAD, &streams);
    cr_expect_gt(window.expected_ns, 2250000000);
    cr_expect_lt(window.expected_ns, streams.expected_ns);
    cr_expect_lt(streams.expected_ns, streams.time_ns);
}

/* Whatever the kind of far end, each is run once, and a companion never before its partner. */
Test(stages, every_light_stage_has_its_turn)
{
    for (int far = 0; far < TL_FAR_KIND_COUNT; far++) {
        int turns[TL_PLAN_COUNT] = {0}, count = 0;
        const enum tl_plan_stage *next = tl_stage_light_order((enum tl_far_kind)far);
        for (; *next != TL_PLAN_COUNT; next++) {
            cr_expect_eq(tl_stage_at(*next)->when, TL_WHEN_ALWAYS);
            turns[*next] = ++count;
        }
        for (int i = 0; i < TL_PLAN_COUNT; i++) {
            enum tl_plan_stage stage = (enum tl_plan_stage)i,
                               companion = tl_stage_companion(stage, (enum tl_far_kind)far);
            cr_expect_eq(turns[i] > 0, tl_stage_at(stage)->when == TL_WHEN_ALWAYS, "%s",
                         tl_plan_stage_id(stage));
            if (companion == TL_PLAN_COUNT)
                continue;
            cr_expect_lt(turns[i], turns[companion], "%s", tl_plan_stage_id(stage));
            cr_expect(tl_stage_at(stage)->light && tl_stage_at(companion)->light);
        }
    }
}

/* It answers few datagrams a second: what asks it, or the routers, has the way for itself. */
Test(stages, a_stranger_is_asked_by_one_stage_at_a_time)
{
    cr_expect_eq(tl_stage_companion(TL_PLAN_PATH, TL_FAR_TIGHTLINK), TL_PLAN_HOPS);
    cr_expect_eq(tl_stage_companion(TL_PLAN_PATH, TL_FAR_IPERF3), TL_PLAN_COUNT);
    cr_expect_eq(tl_stage_companion(TL_PLAN_MTU, TL_FAR_IPERF3), TL_PLAN_CALIBRATE);
    cr_expect_eq(tl_stage_companion(TL_PLAN_STREAM, TL_FAR_TIGHTLINK), TL_PLAN_COUNT);
}
