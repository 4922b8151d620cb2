/* A stream of which only the receiver tells: what its round trips hold. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "../key_of.h"
#include "received.h"
#include "tightlink/base/time.h"

/* A receiver whose kernel estimates rcv_rtt_ns, with timestamps. */
static struct tl_tcp_result *make_result(double rcv_rtt_ns)
{
    struct tl_tcp_result *result = calloc(1, sizeof *result);
    result->streams = 1;
    result->data_rtt_ns = TL_NS_PER_MS;
    result->steady.receiver.options = TL_TCP_OPT_TIMESTAMPS;
    result->steady.rate = (struct tl_steady_rate){
        .valid = true, .start_ns = 0, .end_ns = TL_NS_PER_S, .goodput_bps = 1e9};
    for (int i = 0; i < 10; i++) {
        struct tl_tcp_sample sample = {.time_ns = i * TL_NS_PER_MS};
        tl_sample_set(&sample, TL_SF_rcv_rtt_ns, (uint64_t)rcv_rtt_ns);
        cr_assert(tl_sample_log_add(&result->receiver.logs[0], &sample, 100) == TL_OK);
    }
    return result;
}

static double mean_rtt(double rcv_rtt_ns, double probes_ns)
{
    struct tl_facts *facts = tl_facts_create();
    struct tl_tcp_result *result = make_result(rcv_rtt_ns);
    if (isfinite(probes_ns))
        tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, loaded_rtt_ns), probes_ns, "");
    tl_received_set(facts, TL_DOWNLOAD, result);
    double rtt_ns = tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, rtt_mean_ns), -1);
    tl_tcp_result_finish(result);
    free(result);
    tl_facts_destroy(facts);
    return rtt_ns;
}

Test(received, a_sender_that_waits_is_no_queue)
{
    cr_expect_eq(mean_rtt(3.6e6, 0.1e6), 0.1e6, "probes beside it saw none");
}

Test(received, a_queue_that_probes_see_is_one)
{
    cr_expect_eq(mean_rtt(30e6, 31e6), 30e6);
}

Test(received, without_probes_the_receivers_estimate_is_what_there_is)
{
    cr_expect_eq(mean_rtt(30e6, (double)NAN), 30e6);
}

/* Neither this kernel nor the path is to blame for what the sender does not tell. */
Test(received, what_the_sender_alone_knows_says_who_would_tell)
{
    static const char *const ids[] = {
        "download.sender_thread_cpu_ratio",
        "download.sender_allowance_rate_count",
        "download.cc",
        "download.retrans_ratio",
        "download.loss_run_mean_count",
        "download.streams_retrans_count",
    };
    struct tl_facts *facts = tl_facts_create();
    struct tl_tcp_result *result = make_result(10e6);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        tl_facts_set_unknown(facts, key_of(ids[i]), "it was not read");
    tl_facts_set_unknown(facts, key_of("download.receiver_thread_cpu_ratio"), "it was not read");
    tl_received_set(facts, TL_DOWNLOAD, result);
    tl_received_set_streams(facts, TL_DOWNLOAD, result);
    struct tl_fact fact;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        tl_facts_get(facts, key_of(ids[i]), &fact);
        cr_expect(tl_far_responder_would(fact.reason), "%s: %s", ids[i], fact.reason);
    }
    tl_facts_get(facts, key_of("download.receiver_thread_cpu_ratio"), &fact);
    cr_expect_str_eq(fact.reason, "it was not read", "this PC's own");
    tl_tcp_result_finish(result);
    free(result);
    tl_facts_destroy(facts);
}

/* 100 segments a reading, of which `ooo` came behind a hole in each tenth. */
static void add_arrivals(struct tl_tcp_result *result, unsigned stream, uint64_t ooo)
{
    for (int i = 0; i <= 100; i++) {
        struct tl_tcp_sample sample = {.time_ns = i * 10 * TL_NS_PER_MS};
        tl_sample_set(&sample, TL_SF_data_segs_in_count, (uint64_t)i * 100);
        tl_sample_set(&sample, TL_SF_rcv_ooopack_count, (uint64_t)(i / 10) * ooo);
        cr_assert(tl_sample_log_add(&result->receiver.logs[stream], &sample, 200) == TL_OK);
    }
}

/* Ten holes in ten thousand segments, 100 of which are a round trip of 10 ms. */
Test(received, holes_tell_how_often_packets_were_lost)
{
    struct tl_facts *facts = tl_facts_create();
    struct tl_tcp_result *result = calloc(1, sizeof *result);
    result->streams = 2;
    result->data_rtt_ns = 10 * TL_NS_PER_MS;
    result->steady.rate = (struct tl_steady_rate){
        .valid = true, .start_ns = 0, .end_ns = TL_NS_PER_S, .goodput_bps = 1e9};
    add_arrivals(result, 0, 100);
    add_arrivals(result, 1, 0);
    tl_received_set(facts, TL_DOWNLOAD, result);
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, streams_loaded_rtt_ns), 10e6, "");
    tl_received_set_streams(facts, TL_DOWNLOAD, result);
    cr_expect_eq(tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, received_segments_count), -1), 10000);
    cr_expect_float_eq(tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, received_loss_count), -1), 10.5,
                       0.6);
    cr_expect_float_eq(tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, received_loss_ratio), -1),
                       0.00105, 0.00006);
    cr_expect_float_eq(
        tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, streams_received_loss_ratio), -1), 0.000525,
        0.00003, "of two streams one lost nothing");
    tl_tcp_result_finish(result);
    free(result);
    tl_facts_destroy(facts);
}

Test(received, the_window_offered_is_known_of_this_pc_alone)
{
    struct tl_tcp_result *result = make_result(30e6);
    struct tl_facts *facts = tl_facts_create();
    result->steady.receiver.rcv_wnd_max_bytes = 3e6;
    tl_received_set_offered(facts, TL_DOWNLOAD, result);
    cr_expect_eq(tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, receiver_offered_bytes), -1), 3e6);
    result->near_sends = true;
    tl_received_set_offered(facts, TL_UPLOAD, result);
    cr_expect_eq(tl_facts_number(facts, TL_FLOW(TL_UPLOAD, receiver_offered_bytes), -1), -1);
    tl_facts_destroy(facts);
    tl_tcp_result_finish(result);
    free(result);
}
