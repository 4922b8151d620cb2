/* What a run may send by default: by link speed, and on a virtual link by what it carried. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "budget.h"

static const struct tl_session_config config = {.download = true};

static struct tl_facts *facts_of_link(const char *kind, double bps, bool nominal)
{
    struct tl_facts *facts = tl_facts_create();
    cr_assert(facts != NULL);
    tl_facts_set_text(facts, TL_NEAR(link_kind), kind, NULL);
    tl_facts_set_number(facts, TL_NEAR(link_speed_bps), bps, NULL);
    tl_facts_set_bool(facts, TL_NEAR(link_speed_nominal), nominal, NULL);
    return facts;
}

static int64_t bytes_of(const struct tl_facts *facts)
{
    struct tl_budget budget;
    tl_budget_make(&config, facts, &budget);
    return budget.bytes;
}

Test(budget, follows_the_speed_of_a_real_link)
{
    struct tl_facts *slow = facts_of_link("ethernet", 100e6, false);
    struct tl_facts *fast = facts_of_link("ethernet", 10e9, false);
    cr_expect_eq(bytes_of(slow), 1500000000);
    cr_expect_eq(bytes_of(fast), 15000000000);
    tl_facts_set_number(fast, TL_FLOW(TL_DOWNLOAD, best_goodput_bps), 2e9, NULL);
    cr_expect_eq(bytes_of(fast), 15000000000);
    tl_facts_destroy(slow);
    tl_facts_destroy(fast);
}

Test(budget, follows_the_rate_of_a_virtual_link)
{
    struct tl_facts *facts = facts_of_link("veth", 10e9, true);
    int64_t before = bytes_of(facts);
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, best_goodput_bps), 960e6, NULL);
    cr_expect_eq(bytes_of(facts), 1500000000);
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, best_goodput_bps), 8e9, NULL);
    cr_expect_eq(bytes_of(facts), 12000000000);
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, best_goodput_bps), 90e9, NULL);
    cr_expect_eq(bytes_of(facts), before);
    tl_facts_destroy(facts);
}

Test(budget, keeps_time_for_runs_without_a_verdict_unless_a_limit_was_set)
{
    struct tl_facts *facts = facts_of_link("ethernet", 1e9, false);
    struct tl_session_config limited = {.download = true, .time_budget_ns = 60000000000};
    struct tl_budget budget;
    tl_budget_make(&config, facts, &budget);
    cr_expect_eq(budget.time_ns - budget.open_ns, 25000000000);
    cr_expect_eq(budget.time_ns, 45000000000);
    tl_facts_set_number(facts, TL_PATH(rtt_min_ns), 600e6, NULL);
    tl_budget_make(&config, facts, &budget);
    cr_expect_eq(budget.open_ns, 0, "two streams over a satellite take longer");
    cr_expect_gt(budget.time_ns, 45000000000);
    tl_budget_make(&limited, facts, &budget);
    cr_expect(budget.time_ns == 60000000000 && budget.open_ns == 0);
    tl_facts_destroy(facts);
}

Test(budget, is_a_measure_of_what_is_sent_only_where_the_link_is_known)
{
    struct tl_facts *card = facts_of_link("ethernet", 1e9, false);
    struct tl_facts *tunnel = facts_of_link("veth", 10e9, true);
    struct tl_session_config held = {.download = true, .data_budget_bytes = 50000000};
    struct tl_budget budget;
    tl_budget_make(&config, card, &budget);
    cr_expect(!budget.worst_is_open && strstr(budget.sentence, "sends at most 1.50 GB"));
    tl_budget_make(&config, tunnel, &budget);
    cr_expect(budget.worst_is_open);
    cr_expect(
        strstr(budget.sentence, "at most 562 MB on a 100 Mb/s path, and never more than 60 GB"),
        "%s", budget.sentence);
    cr_expect(strlen(budget.sentence) < 200, "consent has room for no more");
    tl_budget_make(&held, tunnel, &budget);
    cr_expect(!budget.worst_is_open && strstr(budget.sentence, "sends at most 50 MB"));
    tl_facts_destroy(card);
    tl_facts_destroy(tunnel);
}

/* One stream is one stream, not a whole diagnosis. */
Test(budget, of_a_trial_is_one_stream_on_this_link)
{
    struct tl_facts *facts = facts_of_link("ethernet", 100e6, false);
    struct tl_budget whole, trial;
    tl_facts_set_number(facts, TL_PATH(rtt_min_ns), 20e6, NULL);
    tl_budget_make(&config, facts, &whole);
    tl_budget_make_trial(&config, facts, 90e6, &trial);
    double seconds = (double)trial.time_ns / 1e9;
    cr_expect(seconds >= 3 && trial.time_ns < whole.time_ns / 2);
    cr_expect(trial.bytes == (int64_t)(100e6 / 8 * seconds) && trial.worst_bytes == trial.bytes);
    cr_expect(strstr(trial.sentence, "90 Mb/s that are predicted") != NULL, "%s", trial.sentence);
    tl_facts_destroy(facts);
}

Test(budget, of_a_trial_on_a_virtual_link_is_not_held_to_what_was_seen)
{
    struct tl_facts *facts = facts_of_link("veth", 10e9, true);
    struct tl_session_config small = {.download = true, .data_budget_bytes = 50000000};
    struct tl_budget trial;
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, best_goodput_bps), 10e6, NULL);
    tl_budget_make_trial(&config, facts, 930e6, &trial);
    cr_expect_eq(trial.bytes, 1500000000);
    tl_budget_make_trial(&small, facts, (double)NAN, &trial);
    cr_expect_eq(trial.bytes, 50000000);
    cr_expect(strstr(trial.sentence, "predicted") == NULL, "%s", trial.sentence);
    tl_facts_destroy(facts);
}

Test(budget, is_not_spent_by_an_outage_but_where_the_user_set_it)
{
    struct tl_session_config set = {.download = true, .time_budget_ns = 20000000000};
    struct tl_probe_outcome whole = {0}, outage = {.interrupted_ns = 8000000000};
    cr_expect_eq(tl_budget_spent_ns(&config, 14000000000, &whole), 14000000000);
    cr_expect_eq(tl_budget_spent_ns(&config, 14000000000, &outage), 6000000000);
    cr_expect_eq(tl_budget_spent_ns(&config, 7000000000, &outage), 0);
    cr_expect_eq(tl_budget_spent_ns(&set, 14000000000, &outage), 14000000000);
}
