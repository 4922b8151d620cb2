/* What steady state tells becomes facts; what it does not tell becomes a reason. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../key_of.h"
#include "flow_facts.h"

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

TestSuite(flow_facts, .init = setup, .fini = teardown);

/* A steady state that knows nothing, as after a test that never began. */
static struct tl_steady unknown_steady(void)
{
    struct tl_steady steady;
    memset(&steady, 0, sizeof steady);
    steady.rate.whole_bps = (double)NAN;
    double *first = &steady.sender.rtt_min_ns;
    for (size_t i = 0;
         i < (sizeof steady.sender - offsetof(struct tl_flow_stats, rtt_min_ns)) / sizeof(double);
         i++)
        first[i] = (double)NAN;
    return steady;
}

Test(flow_facts, nothing_measured_leaves_reasons_and_no_zeros)
{
    static const char *const names[] = {
        "goodput_bps",       "ledger_rwnd_ratio", "retrans_ratio",     "rtt_mean_ns",
        "snd_wnd_max_bytes", "wscale_ok",         "sndbuf_full_ratio", "cc"};
    struct tl_steady steady = unknown_steady();
    tl_flow_set_stream(facts, TL_UPLOAD, &steady, "");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char id[64];
        struct tl_fact fact;
        snprintf(id, sizeof id, "upload.%s", names[i]);
        tl_facts_get(facts, key_of(id), &fact);
        cr_expect(fact.state == TL_FACT_UNKNOWN, "%s", id);
        cr_expect(strlen(fact.reason) > 0, "%s", id);
    }
    cr_expect_eq(tl_facts_status(facts, NULL), TL_OK);
}

Test(flow_facts, a_steady_rate_keeps_its_interval_and_ledger)
{
    struct tl_steady steady = unknown_steady();
    struct tl_fact fact;
    steady.rate.valid = true;
    steady.rate.start_ns = 1000000000;
    steady.rate.end_ns = 5000000000;
    steady.rate.goodput_bps = 48e6;
    steady.rate.low_bps = 47e6;
    steady.rate.high_bps = 49e6;
    steady.sender.rtt_mean_ns = 40e6;
    steady.sender.options = TL_TCP_OPT_WSCALE | TL_TCP_OPT_TIMESTAMPS;
    steady.sender.ledger =
        (struct tl_ledger){.valid = true, .rwnd_ratio = 0.9, .network_ratio = 0.1};
    tl_flow_set_stream(facts, TL_DOWNLOAD, &steady, "cubic");
    tl_facts_get(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), &fact);
    cr_expect(fact.number == 48e6 && fact.low == 47e6 && fact.high == 49e6);
    cr_expect(tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, steady_ns), 0) == 4e9);
    cr_expect_float_eq(tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, steady_rtts_count), 0), 100,
                       1e-9);
    cr_expect(tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, ledger_rwnd_ratio), 0) == 0.9);
    cr_expect(tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, wscale_ok), -1) == 1);
    cr_expect(tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, sack_ok), -1) == 0);
    tl_facts_get(facts, TL_FLOW(TL_DOWNLOAD, cc), &fact);
    cr_expect_str_eq(fact.text, "cubic");
}

Test(flow_facts, counts_of_loss_have_poisson_bounds)
{
    struct tl_fact fact;
    tl_flow_set_loss(facts, TL_DOWNLOAD, TL_FLOW_LOSS(retrans), 0, 1000);
    tl_facts_get(facts, TL_FLOW(TL_DOWNLOAD, retrans_ratio), &fact);
    cr_expect(fact.number == 0 && fact.low == 0);
    cr_expect_float_eq(fact.high, 3.689e-3, 1e-5, "none seen says only below 3.7 in n");
    tl_flow_set_loss(facts, TL_DOWNLOAD, TL_FLOW_LOSS(retrans), 10, 10000);
    tl_facts_get(facts, TL_FLOW(TL_DOWNLOAD, retrans_ratio), &fact);
    cr_expect(fact.low > 4e-4 && fact.low < fact.number && fact.high > fact.number);
    tl_flow_set_loss(facts, TL_DOWNLOAD, TL_FLOW_LOSS(retrans), (double)NAN, 10000);
    tl_facts_get(facts, TL_FLOW(TL_DOWNLOAD, retrans_ratio), &fact);
    cr_expect(fact.state == TL_FACT_UNKNOWN);
}

Test(flow_facts, a_connection_is_named_by_its_port_where_it_is_known)
{
    const struct tl_fact_key key = TL_FLOW(TL_UPLOAD, client_port);
    struct tl_fact fact;
    struct tl_tcp_result result = {.near_ports = {40001, 40003}};
    tl_flow_set_port(facts, key, &result);
    tl_facts_get(facts, key, &fact);
    cr_expect_str_eq(fact.text, "40001");
    result.near_ports[0] = 0;
    tl_flow_set_port(facts, key, &result);
    tl_facts_get(facts, key, &fact);
    cr_expect_eq(fact.state, TL_FACT_UNKNOWN);
}

Test(flow_facts, stages_to_compare_with_use_their_own_names)
{
    static const char *const prefixes[] = {"streams", "window"};
    const struct tl_flow_compared *names[] = {TL_FLOW_COMPARED(streams), TL_FLOW_COMPARED(window)};
    struct tl_steady steady = unknown_steady();
    steady.rate.valid = true;
    steady.rate.goodput_bps = steady.rate.low_bps = steady.rate.high_bps = 93e6;
    steady.sender.retrans_count = 5;
    steady.sender.segments_count = 1000;
    steady.sender.ledger = (struct tl_ledger){.valid = true, .rwnd_ratio = 0.25};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char id[64];
        struct tl_fact fact;
        tl_flow_set_compared(facts, TL_DOWNLOAD, names[i], &steady);
        snprintf(id, sizeof id, "download.%s_goodput_bps", prefixes[i]);
        cr_expect(tl_facts_number(facts, key_of(id), 0) == 93e6, "%s", id);
        snprintf(id, sizeof id, "download.%s_rwnd_ratio", prefixes[i]);
        cr_expect(tl_facts_number(facts, key_of(id), 0) == 0.25, "%s", id);
        snprintf(id, sizeof id, "download.%s_retrans_ratio", prefixes[i]);
        cr_expect(tl_facts_number(facts, key_of(id), 0) == 0.005, "%s", id);
        snprintf(id, sizeof id, "download.%s_rtt_mean_ns", prefixes[i]);
        tl_facts_get(facts, key_of(id), &fact);
        cr_expect(fact.state == TL_FACT_UNKNOWN, "%s", id);
    }
}
