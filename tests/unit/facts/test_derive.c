/* Derived facts: each formula once with numbers worked out by hand, and its gaps. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "../key_of.h"
#include "tightlink/facts/facts.h"

static struct tl_facts *facts;

static void set_up(void)
{
    facts = tl_facts_create();
    cr_assert(facts);
}

static void tear_down(void)
{
    tl_facts_destroy(facts);
}

TestSuite(derive, .init = set_up, .fini = tear_down);

static void put(const char *id, double value)
{
    tl_facts_set_number(facts, key_of(id), value, NULL);
}

static void expect(const char *id, double wanted)
{
    tl_facts_derive(facts);
    double value = tl_facts_number(facts, key_of(id), (double)NAN);
    cr_expect(fabs(value - wanted) <= 1e-9 * fabs(wanted), "%s = %.12g, not %.12g", id, value,
              wanted);
}

static void expect_unknown(const char *id, const char *reason)
{
    struct tl_fact fact;
    tl_facts_derive(facts);
    tl_facts_get(facts, key_of(id), &fact);
    cr_expect(fact.state == TL_FACT_UNKNOWN, "%s", id);
    cr_expect_str_eq(fact.reason, reason);
}

Test(derive, nothing_measured_gives_nothing)
{
    expect_unknown("download.bdp_bytes", "needs download.goodput_bps (not measured)");
    expect_unknown("path.rtt_min_ns", "needs path.rtt_idle_min_ns (not measured)");
    expect_unknown("upload.sender_cpu_ratio",
                   "needs upload.sender_thread_cpu_ratio (not measured)");
    expect_unknown("near.link_payload_bps", "needs near.link_speed_bps (not measured)");
}

Test(derive, the_smallest_round_trip_time_is_the_least_of_all)
{
    put("path.connect_rtt_ns", 30e6);
    expect("path.rtt_min_ns", 30e6); /* only where nothing else is known */
    put("path.rtt_idle_min_ns", 42e6);
    expect("path.rtt_min_ns", 42e6);
    put("download.rtt_min_ns", 41e6);
    put("upload.rtt_min_ns", 41.5e6);
    expect("path.rtt_min_ns", 41e6);
}

Test(derive, an_unknown_input_is_named_with_its_own_reason)
{
    put("download.goodput_bps", 100e6);
    tl_facts_set_unknown(facts, TL_FLOW(TL_DOWNLOAD, streams_goodput_bps), "skipped by you");
    expect_unknown("download.streams_scale_ratio",
                   "needs download.streams_goodput_bps (skipped by you)");
    put("download.streams_goodput_bps", 100e6);
    put("download.goodput_bps", 0);
    expect_unknown("download.streams_scale_ratio", "download.goodput_bps is zero");
}

Test(derive, rates_are_compared_and_the_best_is_kept)
{
    put("upload.goodput_bps", 96e6);
    expect("upload.best_goodput_bps", 96e6);
    put("upload.streams_goodput_bps", 768e6);
    put("upload.window_goodput_bps", 912e6);
    expect("upload.streams_scale_ratio", 8);
    expect("upload.window_scale_ratio", 9.5);
    expect("upload.best_goodput_bps", 912e6);
    put("path.rtt_idle_min_ns", 40e6);
    expect("upload.bdp_bytes", 4560000);
    expect_unknown("download.best_goodput_bps", "needs download.goodput_bps (not measured)");
}

Test(derive, queues_are_time_above_the_empty_path)
{
    put("path.rtt_idle_min_ns", 20e6);
    put("download.rtt_mean_ns", 39e6);
    expect("download.queue_delay_ns", 19e6);
    put("download.streams_rtt_mean_ns", 61e6);
    expect("download.queue_delay_ns", 41e6);
}

Test(derive, a_thread_that_waits_for_a_core_is_at_its_limit)
{
    put("download.sender_thread_cpu_ratio", 0.15);
    expect("download.sender_cpu_ratio", 0.15);
    put("download.sender_cpu_wait_ratio", 0.84); /* throttled by a quota of 15 % */
    expect("download.sender_cpu_ratio", 0.99);
    put("download.sender_cpu_wait_ratio", 0.9);
    expect("download.sender_cpu_ratio", 1);
    put("download.sender_cpu_wait_ratio", 0.05);
    put("download.sender_quota_used_ratio", 0.97);
    expect("download.sender_cpu_ratio", 0.97);
}

Test(derive, a_core_that_is_busy_with_other_work_does_not_count)
{
    put("upload.receiver_thread_cpu_ratio", 0.3);
    put("upload.receiver_core_busy_ratio", 1.0);
    put("upload.receiver_softirq_ratio", 0.1);
    expect("upload.receiver_cpu_ratio", 0.3);
    put("upload.receiver_softirq_ratio", 0.8); /* receive processing fills it */
    expect("upload.receiver_cpu_ratio", 1);
}

Test(derive, the_payload_share_of_ethernet)
{
    put("download.mss_bytes", 1448);
    put("path.mtu_bytes", 1500);
    expect("download.payload_ratio", 1448.0 / 1538); /* the well-known 94.1 % */
    put("download.mss_bytes", 1428);
    expect("download.payload_ratio", 1428.0 / 1538); /* IPv6 */
    put("download.mss_bytes", 900); /* clamped on the way: the packets are smaller too */
    expect("download.payload_ratio", 900.0 / 990);
    put("download.mss_bytes", 8948);
    put("path.mtu_bytes", 9000);
    expect("download.payload_ratio", 8948.0 / 9038);
}

Test(derive, a_link_carries_its_speed_less_the_framing)
{
    put("near.link_speed_bps", 1e9);
    expect_unknown("near.link_payload_bps", "needs download.mss_bytes (not measured)");
    put("upload.mss_bytes", 1448);
    put("path.mtu_bytes", 1500);
    expect("near.link_payload_bps", 1e9 * 1448 / 1538);
    tl_facts_set_bool(facts, TL_NEAR(link_speed_nominal), true, NULL);
    expect_unknown("near.link_payload_bps", "the interface's speed is only a name");
}

static void expect_every_derived_fact_set(struct tl_fact_key key, const struct tl_fact *fact,
                                          void *context)
{
    (void)key;
    if (strcmp(fact->stage, "derived") == 0)
        ++*(size_t *)context;
}

Test(derive, every_fact_of_the_stage_is_formed)
{
    size_t wanted = 0, seen = 0;
    for (int i = 0; i < TL_FACT_COUNT; i++)
        if (strcmp(tl_fact_def((enum tl_fact_name)i)->stage, "derived") == 0)
            wanted += tl_fact_def((enum tl_fact_name)i)->subject == TL_SUBJECT_PATH ? 1 : 2;
    tl_facts_derive(facts);
    tl_facts_derive(facts);
    tl_facts_each(facts, expect_every_derived_fact_set, &seen);
    cr_expect(seen == wanted, "%zu of %zu", seen, wanted);
}

Test(derive, the_usable_window_holds_whole_segments)
{
    put("download.snd_wnd_max_bytes", 3710);
    expect("download.usable_window_bytes", 3710); /* segments not known */
    put("download.mss_bytes", 1448);
    expect("download.usable_window_bytes", 2896);
    put("download.snd_wnd_max_bytes", 700); /* less than one: better than nothing */
    expect("download.usable_window_bytes", 700);
    put("download.snd_wnd_max_bytes", 1448000);
    expect("download.usable_window_bytes", 1448000);
}

/* As measured in the lab: 25.97 Mb/s by 256 KiB, and 41.6 Mb/s with the 208 KiB that a program may
 * ask for there; the end whose buffer held the connection longer counts. */
Test(derive, a_larger_buffer_reaches_as_far_as_a_program_may_ask)
{
    put("upload.goodput_bps", 25.97e6);
    put("upload.ledger_rwnd_ratio", 0.99);
    put("upload.ledger_sndbuf_ratio", 0);
    put("far.tcp_rmem_max_bytes", 262144);
    put("near.tcp_wmem_max_bytes", 65536);
    expect_unknown("upload.window_reach_bps", "needs far.core_rmem_max_bytes (not measured)");
    put("far.core_rmem_max_bytes", 212992);
    put("near.core_wmem_max_bytes", 65536);
    expect("upload.window_reach_bps", 42.20125e6);
    put("upload.ledger_sndbuf_ratio", 1);
    expect("upload.window_reach_bps", 51.94e6);
    put("near.tcp_wmem_max_bytes", 0);
    expect_unknown("upload.window_reach_bps", "near.tcp_wmem_max_bytes is zero");
}

Test(derive, idle_probes_like_those_under_load_were_not_disturbed)
{
    put("download.idle_data_delay_ns", 1.7e6); /* jitter of 3 to 5 ms, before and beside a load */
    put("download.idle_data_delay_p75_ns", 3.5e6);
    put("download.loaded_data_delay_ns", 1.4e6);
    expect("download.data_scatter_ns", 1.5 * 3.5e6);
}

Test(derive, a_hiccup_in_a_quarter_of_the_idle_probes_hides_no_queue)
{
    put("download.idle_data_delay_ns", 0.1e6);
    put("download.idle_data_delay_p75_ns", 60e6);
    put("download.loaded_data_delay_ns", 20e6);
    expect("download.data_scatter_ns", 10e6);
}

Test(derive, what_waits_for_a_grant_scatters_although_a_load_is_let_through)
{
    put("upload.idle_data_delay_ns", 2.3e6);
    put("upload.idle_data_delay_p75_ns", 3e6);
    put("upload.idle_ack_delay_ns", 6e4);
    put("upload.idle_ack_delay_p75_ns", 1.2e5);
    put("upload.loaded_data_delay_ns", 0.39e6);
    expect("upload.data_scatter_ns", 1.5 * 3e6);
}

Test(derive, probes_without_directions_scatter_by_their_round_trips)
{
    put("path.rtt_idle_min_ns", 20e6);
    put("path.rtt_idle_p75_ns", 24e6);
    expect("path.rtt_scatter_ns", 1.5 * 4e6);
    put("download.idle_data_delay_ns", 0.5e6); /* what tells the directions goes before it */
    put("download.idle_data_delay_p75_ns", 1e6);
    put("download.idle_ack_delay_ns", 0.5e6);
    put("download.idle_ack_delay_p75_ns", 2e6);
    expect("path.rtt_scatter_ns", 1.5 * 3e6);
}
