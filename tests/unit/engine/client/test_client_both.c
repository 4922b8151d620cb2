/* Many streams, ladders of them and both directions at once, through a real responder. */
#include <math.h>
#include <string.h>

#include "far_end.h"

static struct tl_tcp_result result; /* large */

static void run(struct tl_client *client, const struct tl_tcp_spec *spec)
{
    struct tl_error error = {0};
    enum tl_status status = tl_client_tcp_test(client, spec, NULL, NULL, &result, &error);
    cr_assert_eq(status, TL_OK, "%s: %s", tl_status_name(status), error.text);
    cr_assert(result.end_signed);
}

/* Both ends know every stream of one direction, which had bytes to move, and time enough. */
static void check_direction(const struct tl_tcp_result *one, unsigned streams, uint64_t bytes)
{
    uint64_t sum = 0;
    /* Streams that got no core have left too few readings. */
    bool starved = is_starved(one);
    cr_assert_eq(one->streams, streams);
    cr_assert_eq(one->end, TL_TCP_END_BYTES, "%d", (int)one->end);
    cr_assert_lt(one->ends_agree_ratio, 0.02, "%g", one->ends_agree_ratio);
    for (unsigned i = 0; i < streams; i++) {
        cr_assert_gt(one->receiver.streams[i].bytes, 0, "stream %u received nothing", i);
        /* On a busy machine the sampler comes late: at least the last one is there. */
        cr_assert_gt(one->sender.logs[i].count, 0);
        cr_assert_gt(one->receiver.logs[i].count, 0);
        for (size_t j = 0; j < one->sender.logs[i].count; j++)
            cr_assert_eq(one->sender.logs[i].samples[j].stream, i);
        sum += one->receiver.streams[i].bytes;
    }
    cr_assert_eq(sum, one->receiver.bytes);
    cr_assert_eq(sum, bytes);
    if (streams > 8 || starved)
        return;
    cr_assert(one->steady.rate.valid && one->steady.sender.ledger.valid);
    double parts = one->steady.sender.ledger.application_ratio +
                   one->steady.sender.ledger.sndbuf_ratio + one->steady.sender.ledger.rwnd_ratio +
                   one->steady.sender.ledger.network_ratio;
    cr_assert_float_eq(parts, 1, 0.01);
}

Test(client_both, a_ladder_of_streams_runs_in_one_session, .timeout = 240)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    struct sockaddr_storage first = tl_client_info(client)->local;
    for (unsigned streams = 1; streams <= 32; streams *= 2) {
        /* At this pace it takes no less than 0.9 s. */
        struct tl_tcp_spec spec = {.streams = streams,
                                   .duration_ns = 50000 * MS,
                                   .max_bytes = 60000000,
                                   .pacing_bps = 500000000};
        spec.direction = streams == 4 ? TL_WIRE_UPLOAD : TL_WIRE_DOWNLOAD;
        run(client, &spec);
        check_direction(&result, streams, 60000000);
        cr_assert_str_empty(result.notes, "%s", result.notes);
        tl_tcp_result_finish(&result);
        /* The same port of ours: the control connection was not made anew. */
        cr_assert_eq(memcmp(&first, &tl_client_info(client)->local, sizeof first), 0);
    }
    tl_client_close(client);
    stop_far(&far);
}

Test(client_both, a_hundred_and_twenty_eight_streams, .timeout = 240)
{
    struct far_end far;
    struct tl_responder_options options = {.max_streams = 128};
    start_far(&far, &options);
    struct tl_client *client = dial(far.port, -1);
    for (int i = 0; i < 2; i++) {
        struct tl_tcp_spec spec = {.direction = i ? TL_WIRE_UPLOAD : TL_WIRE_DOWNLOAD,
                                   .streams = 128,
                                   .duration_ns = 50000 * MS,
                                   .max_bytes = 128000000,
                                   /* Or 256 threads of this program fight for its cores. */
                                   .pacing_bps = 1000000000};
        run(client, &spec);
        check_direction(&result, 128, 128000000);
        tl_tcp_result_finish(&result);
    }
    tl_client_close(client);
    stop_far(&far);
}

Test(client_both, too_many_streams_are_clamped_with_a_note, .timeout = 240)
{
    static const struct {
        uint64_t permitted; /* 0: what an administrator who says nothing permits */
        unsigned asked, granted;
        enum tl_wire_direction direction;
    } cases[] = {{0, 10000, 32, TL_WIRE_DOWNLOAD},
                 {0, UINT32_MAX, 32, TL_WIRE_UPLOAD},
                 {128, 10000, 64, TL_WIRE_BOTH},
                 {3, 3, 1, TL_WIRE_BOTH}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct far_end far;
        struct tl_responder_options options = {.max_streams = cases[i].permitted};
        start_far(&far, &options);
        struct tl_client *client = dial(far.port, -1);
        struct tl_tcp_spec spec = {.direction = cases[i].direction,
                                   .streams = cases[i].asked,
                                   .duration_ns = 400 * MS,
                                   .pacing_bps = 200000000};
        run(client, &spec);
        cr_assert_eq(result.streams, cases[i].granted, "case %zu: %u", i, result.streams);
        cr_assert_not_null(strstr(result.notes, "more are not permitted"), "%s", result.notes);
        tl_tcp_result_finish(&result);
        tl_client_close(client);
        stop_far(&far);
    }
}

Test(client_both, both_ways_have_results_of_their_own, .timeout = 240)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    for (unsigned streams = 1; streams <= 3; streams += 2) {
        /* Paced, so that neither starves the other on a small machine. */
        struct tl_tcp_spec spec = {.direction = TL_WIRE_BOTH,
                                   .streams = streams,
                                   .duration_ns = 50000 * MS,
                                   .max_bytes = 120000000,
                                   .pacing_bps = 400000000};
        run(client, &spec);
        cr_assert_not_null(result.upload);
        cr_assert_not(result.near_sends);
        cr_assert(result.upload->near_sends && result.upload->end_signed);
        check_direction(&result, streams, 60000000);
        check_direction(result.upload, streams, 60000000);
        cr_assert_gt(result.elapsed_ns, 1000 * MS);
        /* Less on a busy machine, never more: of the whole, since what was held up comes later. */
        cr_assert_lt(result.steady.rate.whole_bps, 1.1 * 400e6);
        cr_assert_lt(result.upload->steady.rate.whole_bps, 1.1 * 400e6);
        cr_assert(tl_host_is_known(result.upload->sender.cpu.values[TL_CPU_CORE_BUSY]));
        cr_assert(tl_host_is_known(result.upload->receiver.cpu.values[TL_CPU_CORE_BUSY]));
        tl_tcp_result_finish(&result);
        cr_assert_null(result.upload);
    }
    /* And the session is of use for the next test. */
    struct tl_tcp_spec spec = {.streams = 1, .duration_ns = 300 * MS};
    run(client, &spec);
    cr_assert_null(result.upload);
    tl_tcp_result_finish(&result);
    tl_client_close(client);
    stop_far(&far);
}

Test(client_both, a_byte_cap_holds_for_both_ways_together, .timeout = 240)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    struct tl_tcp_spec spec = {
        .direction = TL_WIRE_BOTH, .streams = 2, .duration_ns = 50000 * MS, .max_bytes = 40000000};
    run(client, &spec);
    cr_assert_eq(result.end, TL_TCP_END_BYTES, "%d", (int)result.end);
    cr_assert_eq(result.receiver.bytes, 20000000);
    cr_assert_eq(result.upload->receiver.bytes, 20000000);
    tl_tcp_result_finish(&result);
    tl_client_close(client);
    stop_far(&far);
}

Test(client_both, a_responder_of_one_stream_says_why_both_ways_cannot_be, .timeout = 120)
{
    struct far_end far;
    struct tl_responder_options options = {.max_streams = 1};
    struct tl_error error;
    start_far(&far, &options);
    struct tl_client *client = dial(far.port, -1);
    struct tl_tcp_spec spec = {.direction = TL_WIRE_BOTH, .streams = 1, .duration_ns = 300 * MS};
    enum tl_status status = tl_client_tcp_test(client, &spec, NULL, NULL, &result, &error);
    cr_assert_neq(status, TL_OK);
    cr_assert_not_null(strstr(error.text, "one direction after the other"), "%s", error.text);
    tl_tcp_result_finish(&result);
    tl_client_close(client);
    stop_far(&far);
}

static void note_rate(void *context, const struct tl_tcp_live *live)
{
    double *rate = context;
    if (live->queued)
        return;
    /* 0 is told, too, where nothing came since the last time: this machine was busy. */
    if (live->rate_bps > 0)
        *rate = live->rate_bps;
}

Test(client_both, the_downloads_rate_is_told_while_it_runs, .timeout = 120)
{
    struct far_end far;
    struct tl_error error;
    double rate = NAN;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    struct tl_tcp_spec spec = {
        .direction = TL_WIRE_BOTH, .streams = 1, .duration_ns = 1500 * MS, .pacing_bps = 200000000};
    cr_assert_eq(tl_client_tcp_test(client, &spec, note_rate, &rate, &result, &error), TL_OK);
    /* What waited in a buffer while this machine was busy comes all at once. */
    bool starved = is_starved(&result);
    cr_assert(rate > 0 && (rate < 1.3 * 200e6 || starved), "%g", rate);
    tl_tcp_result_finish(&result);
    tl_client_close(client);
    stop_far(&far);
}
