/* Which end's delay is which, which series becomes which fact, and what stays unknown. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "../../recorded/read.h"
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

TestSuite(flow_series, .init = setup, .fini = teardown);

static double number(const char *id)
{
    return tl_facts_number(facts, key_of(id), (double)NAN);
}

Test(flow_series, the_data_goes_back_in_a_download_and_forth_in_an_upload)
{
    struct tl_echo_load load = {.rtt_median_ns = 60e6,
                                .rtt_mean_ns = 61e6,
                                .forward_growth_ns = 1e6,
                                .backward_growth_ns = 39e6};
    struct tl_flow_stats sender = {.rtt_mean_ns = 100e6};
    tl_flow_set_loaded(facts, TL_DOWNLOAD, &load);
    tl_flow_set_loaded(facts, TL_UPLOAD, &load);
    cr_assert_eq(number("download.loaded_data_delay_ns"), 39e6);
    cr_assert_eq(number("download.loaded_ack_delay_ns"), 1e6);
    cr_assert_eq(number("upload.loaded_data_delay_ns"), 1e6);
    cr_assert_eq(number("upload.loaded_ack_delay_ns"), 39e6);
    tl_flow_set_responsiveness(facts, TL_UPLOAD, &sender, &load);
    cr_assert_eq(number("upload.streams_loaded_ack_delay_ns"), 39e6);
    cr_assert_float_eq(number("upload.responsiveness_tcp_rpm"), 600, 1e-6);
    cr_assert_float_eq(number("upload.responsiveness_rpm"), 60e9 / 61e6, 1e-6);
}

Test(flow_series, probes_without_answers_leave_reasons)
{
    struct tl_echo_load load = {.rtt_median_ns = (double)NAN,
                                .rtt_mean_ns = (double)NAN,
                                .forward_growth_ns = (double)NAN,
                                .backward_growth_ns = (double)NAN};
    struct tl_fact fact;
    tl_flow_set_loaded(facts, TL_DOWNLOAD, &load);
    tl_facts_get(facts, TL_FLOW(TL_DOWNLOAD, loaded_ack_delay_ns), &fact);
    cr_assert(fact.state == TL_FACT_UNKNOWN && strlen(fact.reason) > 0);
}

Test(flow_series, a_recorded_boost_becomes_facts)
{
    static struct recorded recorded;
    struct tl_steady_rate rate = {.valid = true, .start_ns = 500000000, .end_ns = 6000000000};
    cr_assert(recorded_read(TL_RECORDED_DIR "/shaper.tsv", &recorded));
    tl_flow_set_series(facts, TL_DOWNLOAD, &recorded.senders[0], &rate);
    cr_assert_gt(number("download.rate_change_ratio"), 5);
    cr_assert_gt(number("download.rate_change_rtt_rise_ns"), 1e8);
    cr_assert_gt(number("download.slow_start_bytes"), 1e4);
    recorded_finish(&recorded);
}

Test(flow_series, no_readings_leave_every_fact_unknown)
{
    struct tl_sample_log log = {0};
    struct tl_steady_rate rate = {.valid = false};
    tl_flow_set_series(facts, TL_DOWNLOAD, &log, &rate);
    cr_assert(isnan(number("download.rate_change_ratio")));
    cr_assert(isnan(number("download.slow_start_bytes")));
}

/* One reading of a stream with that rate so far. */
static void add(struct tl_sample_log *log, int64_t time_ns, double bps, double lost)
{
    struct tl_tcp_sample sample = {.time_ns = time_ns};
    double bytes = bps / 8e9 * (double)time_ns;
    tl_sample_set(&sample, TL_SF_app_bytes, (uint64_t)bytes);
    tl_sample_set(&sample, TL_SF_data_segs_out_count, (uint64_t)(bytes / 1448));
    tl_sample_set(&sample, TL_SF_total_retrans_count, (uint64_t)(lost * bytes / 1448));
    cr_assert_eq(tl_sample_log_add(log, &sample, 100), TL_OK);
}

Test(flow_series, slow_streams_are_named_by_their_ports)
{
    static struct tl_tcp_result result;
    struct tl_fact fact;
    result.streams = 8;
    result.steady.rate =
        (struct tl_steady_rate){.valid = true, .start_ns = 0, .end_ns = 4000000000};
    for (unsigned i = 0; i < 8; i++) {
        bool bad = i == 2 || i == 5;
        result.near_ports[i] = (uint16_t)(50000 + i);
        for (int64_t t = 0; t <= 4000000000; t += 500000000) {
            add(&result.sender.logs[i], t, bad ? 2e6 : 12e6, bad ? 0.04 : 0.0001);
            add(&result.receiver.logs[i], t, bad ? 2e6 : 12e6, 0);
        }
    }
    tl_flow_set_members(facts, TL_DOWNLOAD, &result);
    cr_assert_eq(number("download.streams_slow_count"), 2);
    tl_facts_get(facts, TL_FLOW(TL_DOWNLOAD, streams_slow_ports), &fact);
    cr_assert_str_eq(fact.text, "50002 50005");
    cr_assert_float_eq(number("download.streams_fast_bps"), 12e6, 1e5);
    for (unsigned i = 0; i < 8; i++) {
        tl_sample_log_finish(&result.sender.logs[i]);
        tl_sample_log_finish(&result.receiver.logs[i]);
    }
}
