/* The iperf3 client against a strict server, and against one that breaks the protocol in every way
 * that matters: one sentence each, nothing that hangs, nothing that counts as a measurement. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fake_iperf3.h"
#include "iperf3_json.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/far.h"

static enum tl_status reach(const struct fake_iperf3 *fake, int cancel_fd, struct tl_far **ret_far,
                            struct tl_error *reterr)
{
    struct tl_far_options options = {.reach = {.host = "127.0.0.1",
                                               .port = fake->port,
                                               .timeout_ns = 20 * TL_NS_PER_S,
                                               .cancel_fd = cancel_fd},
                                     .resource = ""};
    return tl_far_connect(TL_FAR_IPERF3, &options, ret_far, reterr);
}

/* One test against a server in this mood; the caller finishes the result. */
static enum tl_status run_kept(enum fake_mood mood, struct tl_tcp_spec spec,
                               struct fake_iperf3 *fake, struct tl_tcp_result *result,
                               struct tl_error *error)
{
    struct tl_far *far;
    fake_iperf3_start(fake, mood);
    cr_assert_eq(reach(fake, -1, &far, error), TL_OK, "%s", error->text);
    enum tl_status status = tl_far_tcp_test(far, &spec, NULL, NULL, result, error);
    tl_far_close(far);
    fake_iperf3_stop(fake);
    return status;
}

static enum tl_status run(enum fake_mood mood, struct tl_tcp_spec spec, struct fake_iperf3 *fake,
                          struct tl_tcp_result *result, struct tl_error *error)
{
    enum tl_status status = run_kept(mood, spec, fake, result, error);
    tl_tcp_result_finish(result);
    return status;
}

/* The two ends' counts do, or a stream had too few readings to tell. */
static bool agrees(const struct tl_tcp_result *result)
{
    bool was_brief = false;
    for (unsigned i = 0; i < result->streams; i++)
        was_brief = was_brief || result->sender.logs[i].count < 3;
    return isnan(result->ends_agree_ratio) ? was_brief : result->ends_agree_ratio < 0.02;
}

static struct tl_tcp_spec brief(enum tl_wire_direction direction)
{
    /* Paced, so that the bytes of a loopback fit into any count. */
    return (struct tl_tcp_spec){.direction = direction,
                                .streams = 2,
                                .duration_ns = 400 * TL_NS_PER_MS,
                                .pacing_bps = direction == TL_WIRE_UPLOAD ? 80000000 : 0};
}

/* As much, however long it takes: what a busy machine moves in a given time is nobody's to say. */
static struct tl_tcp_spec bytes_of(enum tl_wire_direction direction, uint64_t bytes)
{
    struct tl_tcp_spec spec = brief(direction);
    spec.max_bytes = bytes;
    spec.duration_ns = 50 * TL_NS_PER_S;
    return spec;
}

Test(iperf3, an_upload_counts_what_the_server_received, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    cr_assert_eq(run_kept(FAKE_PROPER, brief(TL_WIRE_UPLOAD), &fake, &result, &error), TL_OK, "%s",
                 error.text);
    cr_assert(fake.parameters_fine && fake.results_fine && fake.done_said);
    cr_assert(result.end_signed && result.near_sends);
    cr_assert_eq(result.end, TL_TCP_END_DEADLINE);
    cr_assert_eq(result.receiver.bytes, fake.received_bytes);
    cr_assert(agrees(&result), "%g", result.ends_agree_ratio);
    tl_tcp_result_finish(&result);
}

Test(iperf3, an_upload_of_so_many_bytes_arrives, .timeout = 120)
{
    struct fake_iperf3 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    struct tl_tcp_spec spec = bytes_of(TL_WIRE_UPLOAD, 20000000);
    cr_assert_eq(run_kept(FAKE_PROPER, spec, &fake, &result, &error), TL_OK, "%s", error.text);
    cr_assert_eq(result.end, TL_TCP_END_BYTES);
    cr_assert_eq(result.receiver.bytes, fake.received_bytes);
    cr_assert_leq(result.receiver.bytes, result.sender.bytes);
    cr_assert_leq(result.sender.bytes, spec.max_bytes + spec.streams);
    for (unsigned i = 0; i < spec.streams; i++)
        cr_assert_gt(result.receiver.streams[i].bytes, 0);
    cr_assert(agrees(&result), "%g", result.ends_agree_ratio);
    tl_tcp_result_finish(&result);
}

Test(iperf3, a_download_counts_what_arrived_here, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    cr_assert_eq(run(FAKE_PROPER, brief(TL_WIRE_DOWNLOAD), &fake, &result, &error), TL_OK, "%s",
                 error.text);
    cr_assert(fake.done_said && result.end_signed && !result.near_sends);
    cr_assert_leq(result.receiver.bytes, fake.received_bytes);
    cr_assert_str_eq(result.sender.congestion, "cubic");
    cr_assert_eq(result.sender.logs[0].count, 0, "the sender told nothing");
}

Test(iperf3, both_directions_at_once_have_a_result_each, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_far *far;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    struct tl_tcp_spec spec = brief(TL_WIRE_BOTH);
    spec.pacing_bps = 80000000;
    fake_iperf3_start(&fake, FAKE_PROPER);
    cr_assert_eq(reach(&fake, -1, &far, &error), TL_OK, "%s", error.text);
    cr_assert_eq(tl_far_tcp_test(far, &spec, NULL, NULL, &result, &error), TL_OK, "%s", error.text);
    const struct tl_tcp_result *upload = result.upload;
    cr_assert_not_null(upload);
    cr_assert(fake.parameters_fine && fake.results_fine && fake.done_said);
    cr_assert(!result.near_sends && upload->near_sends);
    cr_assert(result.end_signed && upload->end_signed);
    cr_assert(result.streams == 2 && upload->streams == 2);
    cr_assert_eq(result.end, TL_TCP_END_DEADLINE);
    cr_assert_eq(upload->end, TL_TCP_END_DEADLINE);
    cr_assert_eq(upload->receiver.bytes, fake.received_bytes);
    cr_assert_eq(result.sender.bytes, fake.sent_bytes);
    cr_assert_leq(result.receiver.bytes, fake.sent_bytes);
    tl_tcp_result_finish(&result);
    tl_far_close(far);
    fake_iperf3_stop(&fake);
}

Test(iperf3, a_budget_holds_for_both_directions_together, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    struct tl_tcp_spec spec = bytes_of(TL_WIRE_BOTH, 20000000);
    struct tl_far *far;
    spec.pacing_bps = 80000000; /* the upload is not over before the download begins */
    fake_iperf3_start(&fake, FAKE_PROPER);
    cr_assert_eq(reach(&fake, -1, &far, &error), TL_OK, "%s", error.text);
    cr_assert_eq(tl_far_tcp_test(far, &spec, NULL, NULL, &result, &error), TL_OK, "%s", error.text);
    cr_assert_eq(result.end, TL_TCP_END_BYTES);
    cr_assert_leq(result.receiver.bytes + fake.received_bytes, spec.max_bytes + 2 * spec.streams);
    for (unsigned i = 0; i < spec.streams; i++) { /* its word stands at the streams that it is of */
        cr_assert_eq(result.upload->receiver.streams[i].bytes, fake.told_bytes[i]);
        cr_assert_eq(result.sender.streams[i].bytes, fake.told_bytes[spec.streams + i]);
        cr_assert_leq(result.receiver.streams[i].bytes, result.sender.streams[i].bytes);
    }
    cr_assert_gt(result.receiver.bytes, 0);
    tl_tcp_result_finish(&result);
    tl_far_close(far);
    fake_iperf3_stop(&fake);
}

Test(iperf3, a_server_of_one_direction_is_told_from_one_that_fails, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    struct tl_tcp_spec spec = brief(TL_WIRE_BOTH);
    spec.pacing_bps = 80000000;
    cr_assert_eq(run(FAKE_ONE_WAY, spec, &fake, &result, &error), TL_UNSUPPORTED, "%s", error.text);
    cr_assert(strstr(error.text, "before 3.7"), "%s", error.text);
}

Test(iperf3, the_bytes_of_a_budget_hold, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    struct tl_tcp_spec spec = bytes_of(TL_WIRE_DOWNLOAD, 20000000);
    cr_assert_eq(run(FAKE_PROPER, spec, &fake, &result, &error), TL_OK, "%s", error.text);
    cr_assert_eq(result.end, TL_TCP_END_BYTES);
    cr_assert_leq(result.receiver.bytes, spec.max_bytes + spec.streams);
    /* It is ended ahead of them, at two fifths of them where they come at once, by the stream that
     * got most: the other may hardly have begun. */
    uint64_t most_bytes = 0;
    for (unsigned i = 0; i < spec.streams; i++)
        if (result.receiver.streams[i].bytes > most_bytes)
            most_bytes = result.receiver.streams[i].bytes;
    cr_assert_gt(spec.streams * most_bytes, spec.max_bytes / 4);
}

Test(iperf3, a_stream_that_gets_most_ends_the_test_before_its_share_does, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    struct tl_tcp_spec spec = bytes_of(TL_WIRE_DOWNLOAD, 400000000);
    spec.streams = 4;
    cr_assert_eq(run(FAKE_FAVOURS, spec, &fake, &result, &error), TL_OK, "%s", error.text);
    cr_expect_eq(result.end, TL_TCP_END_BYTES);
    cr_expect_lt(result.receiver.bytes, spec.max_bytes / 2);
}

Test(iperf3, a_busy_server_is_asked_again_with_pauses, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    cr_assert_eq(run(FAKE_BUSY_TWICE, brief(TL_WIRE_UPLOAD), &fake, &result, &error), TL_OK, "%s",
                 error.text);
    cr_assert_geq(result.queued_ns, 2 * TL_NS_PER_S);
    cr_assert_eq(fake.connections, 4, "the greeting, two refusals, the test");
}

Test(iperf3, a_server_that_stays_busy_is_left_alone, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    struct tl_tcp_spec spec = brief(TL_WIRE_UPLOAD);
    spec.queue_wait_ns = 3 * TL_NS_PER_S;
    cr_assert_eq(run(FAKE_BUSY, spec, &fake, &result, &error), TL_BUSY, "%s", error.text);
    cr_assert(strstr(error.text, "busy with another client"), "%s", error.text);
    cr_assert_leq(fake.connections, 3);
}

static const struct {
    enum fake_mood mood;
    enum tl_status status;
    const char *says;
} bad[] = {
    {FAKE_DENIES_USER, TL_AUTH, "wants a user"},
    {FAKE_DENIES_BY_ANOTHERS, TL_AUTH, "want a user"},
    {FAKE_REFUSES_LENGTH, TL_DENIED, "takes no test of this length"},
    {FAKE_HAS_NO_SOCKETS, TL_DENIED, "data connections of the test; its system says: Too many"},
    {FAKE_HAS_A_NEW_ERROR, TL_DENIED, "refuses the test (its error 999)"},
    {FAKE_STOPS, TL_CLOSED, "closed the connection"},
    {FAKE_TERMINATES, TL_CLOSED, "was ended"},
    {FAKE_ENDLESS_RESULTS, TL_PROTOCOL, "announces 4294967295 bytes"},
    {FAKE_HTML_RESULTS, TL_PROTOCOL, "make no sense"},
    {FAKE_NEGATIVE_RESULTS, TL_PROTOCOL, "make no sense: /streams/0/bytes"},
};

Test(iperf3, a_server_that_breaks_the_protocol_gets_one_sentence, .timeout = 120)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fake_iperf3 fake;
        struct tl_tcp_result result;
        struct tl_error error = {0};
        int64_t begun_ns = tl_now_ns();
        struct tl_tcp_spec spec = brief(TL_WIRE_UPLOAD);
        if (bad[i].mood == FAKE_STOPS || bad[i].mood == FAKE_TERMINATES)
            spec.duration_ns = 50 * TL_NS_PER_S; /* it breaks off before that, held up or not */
        enum tl_status status = run(bad[i].mood, spec, &fake, &result, &error);
        cr_assert_eq(status, bad[i].status, "mood %d: %s (%s)", bad[i].mood, tl_status_name(status),
                     error.text);
        cr_assert(strstr(error.text, bad[i].says), "mood %d: %s", bad[i].mood, error.text);
        cr_assert(!result.end_signed, "mood %d", bad[i].mood);
        cr_assert_lt(tl_now_ns() - begun_ns, 20 * TL_NS_PER_S, "mood %d", bad[i].mood);
    }
}

Test(iperf3, a_server_that_counts_what_was_never_sent_disagrees, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    cr_assert_eq(run(FAKE_INFLATED_RESULTS, brief(TL_WIRE_UPLOAD), &fake, &result, &error), TL_OK,
                 "%s", error.text);
    cr_assert_gt(result.ends_agree_ratio, 0.5, "%g", result.ends_agree_ratio);
}

/* A window that was shut before the first reading tells nothing of what stands unread behind it. */
static bool shut_before_it_was_read(const struct tl_tcp_result *result)
{
    for (unsigned i = 0; i < result->streams; i++) {
        const struct tl_sample_log *log = &result->sender.logs[i];
        const struct tl_tcp_sample *last = log->count ? &log->samples[log->count - 1] : NULL;
        if (last && tl_sample_has(last, TL_SF_snd_wnd_bytes) &&
            last->snd_wnd_bytes < last->snd_mss_bytes)
            return isnan(result->ends_agree_ratio);
    }
    return false;
}

Test(iperf3, what_a_late_reader_leaves_unread_is_no_disagreement, .timeout = 240)
{
    static const int64_t durations_ns[] = {15 * TL_NS_PER_MS, 400 * TL_NS_PER_MS};
    for (size_t i = 0; i < sizeof durations_ns / sizeof *durations_ns; i++) {
        struct fake_iperf3 fake;
        struct tl_tcp_result result;
        struct tl_error error = {0};
        struct tl_tcp_spec spec = brief(TL_WIRE_UPLOAD);
        spec.duration_ns = durations_ns[i];
        cr_assert_eq(run_kept(FAKE_READS_LATE, spec, &fake, &result, &error), TL_OK, "%s",
                     error.text);
        cr_assert_gt(result.receiver.bytes, 0);
        cr_assert(agrees(&result) || shut_before_it_was_read(&result), "%g",
                  result.ends_agree_ratio);
        tl_tcp_result_finish(&result);
    }
}

Test(iperf3, another_program_is_told_from_iperf3, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_far *far;
    struct tl_error error = {0};
    fake_iperf3_start(&fake, FAKE_OTHER_PROGRAM);
    cr_assert_eq(reach(&fake, -1, &far, &error), TL_PROTOCOL);
    cr_assert(strstr(error.text, "does not speak iperf3"), "%s", error.text);
    fake_iperf3_stop(&fake);
}

struct canceller {
    int fd;
    int64_t at_ns;
};

static void *cancel_later(void *context)
{
    struct canceller *canceller = context;
    struct timespec wait = {.tv_nsec = 300000000};
    nanosleep(&wait, NULL);
    canceller->at_ns = tl_now_ns();
    (void)eventfd_write(canceller->fd, 1);
    return NULL;
}

Test(iperf3, a_cancel_ends_it_at_once_in_every_state, .timeout = 120)
{
    static const enum fake_mood moods[] = {FAKE_PROPER, FAKE_SILENT, FAKE_BUSY};
    for (size_t i = 0; i < sizeof moods / sizeof *moods; i++) {
        struct fake_iperf3 fake;
        struct tl_far *far;
        struct tl_tcp_result result;
        struct tl_error error = {0};
        struct tl_tcp_spec spec = brief(TL_WIRE_DOWNLOAD);
        struct canceller canceller = {.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
        pthread_t thread;
        spec.duration_ns = 20 * TL_NS_PER_S;
        fake_iperf3_start(&fake, moods[i]);
        cr_assert_eq(reach(&fake, canceller.fd, &far, &error), TL_OK, "%s", error.text);
        cr_assert_eq(pthread_create(&thread, NULL, cancel_later, &canceller), 0);
        enum tl_status status = tl_far_tcp_test(far, &spec, NULL, NULL, &result, &error);
        int64_t ended_ns = tl_now_ns();
        pthread_join(thread, NULL);
        cr_assert_eq(status, TL_CANCELLED, "mood %d: %s", moods[i], error.text);
        /* Long before its time, and before any patience with a server. */
        cr_assert_lt(ended_ns - canceller.at_ns, 8 * TL_CLIENT_CANCEL_NS, "mood %d", moods[i]);
        tl_tcp_result_finish(&result);
        tl_far_close(far);
        fake_iperf3_stop(&fake);
        close(canceller.fd);
    }
}

Test(iperf3, what_it_cannot_make_true_is_refused_before_anything_is_sent, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    struct tl_tcp_spec spec = brief(TL_WIRE_UPLOAD);
    spec.rcvbuf_bytes = 1 << 20;
    cr_assert_eq(run(FAKE_PROPER, spec, &fake, &result, &error), TL_UNSUPPORTED);
    cr_assert(strstr(error.text, "cannot enlarge its receive buffer"), "%s", error.text);
    cr_assert_eq(fake.connections, 1, "the greeting only");
}

Test(iperf3, results_of_old_servers_write_minus_one_as_a_huge_number)
{
    static const char text[] =
        "{\"streams\":[{\"id\":1,\"bytes\":7,\"retransmits\":18446744073709551615}]}";
    struct iperf3_results results;
    struct tl_error error = {0};
    cr_assert_eq(iperf3_read_results(text, sizeof text - 1, 1, &results, &error), TL_OK, "%s",
                 error.text);
    cr_assert_eq(results.totals[0].bytes, 7);
    cr_assert_eq(results.totals[0].retransmits, -1);
    cr_assert_eq(iperf3_read_results(text, sizeof text - 1, 2, &results, &error), TL_PROTOCOL,
                 "a stream is missing");
}
