/* The HTTP/2 client against a proper server, and against one that breaks the protocol in every way
 * that matters: one sentence each, nothing that hangs, nothing that counts as a measurement. */
#include <criterion/criterion.h>
#include <string.h>

#include "../loopback.h"
#include "fake_http2.h"
#include "http2.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/far.h"

static enum tl_status reach(const struct fake_http2 *fake, bool http1, struct tl_far **ret_far,
                            struct tl_error *reterr)
{
    struct tl_far_options options = {
        .reach = {.host = "127.0.0.1",
                  .port = fake->port,
                  .timeout_ns = (fake->mood == HTTP2_SILENT ? 1 : 20) * TL_NS_PER_S,
                  .cancel_fd = -1},
        .resource = "/b/garbage.php?ckSize=1000",
        .http1 = http1};
    return tl_far_connect(TL_FAR_HTTPS, &options, ret_far, reterr);
}

static enum tl_status run_for(int64_t duration_ns, uint64_t max_bytes, unsigned streams,
                              enum fake_http2_mood mood, enum tl_wire_direction direction,
                              struct fake_http2 *fake, struct tl_tcp_result *ret_result,
                              struct tl_error *error)
{
    struct tl_far *far = NULL;
    struct tl_tcp_spec spec = {.direction = direction,
                               .streams = streams,
                               .duration_ns = duration_ns,
                               .max_bytes = max_bytes};
    fake_http2_start(fake, mood);
    cr_assert_eq(reach(fake, false, &far, error), TL_OK, "%s", error->text);
    cr_assert_str_eq(tl_far_info(far)->http_spoken, "HTTP/2");
    enum tl_status status = tl_far_tcp_test(far, &spec, NULL, NULL, ret_result, error);
    tl_far_close(far);
    fake_http2_stop(fake);
    return status;
}

static enum tl_status run(enum fake_http2_mood mood, enum tl_wire_direction direction,
                          struct fake_http2 *fake, struct tl_tcp_result *ret_result,
                          struct tl_error *error)
{
    return run_for(500 * TL_NS_PER_MS, 0, 1, mood, direction, fake, ret_result, error);
}

/* The budget counts what waits in the socket as well: more than any receive buffer. */
#define ENOUGH_BYTES 160000000

Test(http2, a_server_that_chooses_it_is_asked_by_it, .timeout = 240)
{
    struct fake_http2 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    cr_assert_eq(run_for(30 * TL_NS_PER_S, ENOUGH_BYTES, 1, HTTP2_PROPER, TL_WIRE_DOWNLOAD, &fake,
                         &result, &error),
                 TL_OK, "%s", error.text);
    cr_assert(fake.request_fine && result.end_signed && !result.near_sends);
    cr_assert_eq(fake.requests, 2, "one byte, then the file");
    cr_assert_gt(result.receiver.bytes, 1000000);
    cr_assert_gt(result.receiver.logs[0].count, 0);
    cr_assert_neq(result.near_ports[0], 0);
    tl_tcp_result_finish(&result);
}

Test(http2, several_streams_are_connections_of_their_own_with_a_part_each, .timeout = 240)
{
    struct fake_http2 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    cr_assert_eq(run_for(30 * TL_NS_PER_S, 2 * ENOUGH_BYTES, 4, HTTP2_PROPER, TL_WIRE_DOWNLOAD,
                         &fake, &result, &error),
                 TL_OK, "%s", error.text);
    cr_assert_eq(fake.connections, 5);
    cr_assert_eq(fake.most_at_once, 1);
    cr_assert_eq(fake.last_from % 249999999, 0, "%llu", (unsigned long long)fake.last_from);
    for (unsigned i = 0; i < 4; i++)
        cr_assert_gt(result.receiver.streams[i].bytes, 0);
    tl_tcp_result_finish(&result);
}

Test(http2, http_1_is_spoken_to_a_server_that_knows_nothing_else, .timeout = 240)
{
    struct fake_http2 fake;
    struct tl_error error = {0};
    struct tl_far *far;
    fake_http2_start(&fake, HTTP2_ONLY_OLD);
    cr_assert_eq(reach(&fake, false, &far, &error), TL_OK, "%s", error.text);
    cr_assert_str_eq(tl_far_info(far)->http_spoken, "HTTP/1.1");
    cr_assert_null(tl_far_info(far)->http_offered);
    tl_far_close(far);
    fake_http2_stop(&fake);
}

Test(http2, a_file_that_ends_before_the_test_is_asked_for_again, .timeout = 240)
{
    struct fake_http2 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    cr_assert_eq(run_for(30 * TL_NS_PER_S, ENOUGH_BYTES / 2, 1, HTTP2_IN_BODIES, TL_WIRE_DOWNLOAD,
                         &fake, &result, &error),
                 TL_OK, "%s", error.text);
    cr_assert_gt(fake.requests, 3);
    cr_assert_eq(fake.connections, 2);
    tl_tcp_result_finish(&result);
}

Test(http2, what_is_posted_arrives_one_body_behind_the_other, .timeout = 240)
{
    struct fake_http2 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    cr_assert_eq(
        run_for(30 * TL_NS_PER_S, 8000000, 1, HTTP2_PROPER, TL_WIRE_UPLOAD, &fake, &result, &error),
        TL_OK, "%s", error.text);
    cr_assert(fake.request_fine && result.near_sends);
    cr_assert_gt(fake.received_bytes, 100000);
    cr_assert_leq(fake.received_bytes, result.sender.bytes);
    cr_assert_gt(result.http2_window_bytes, 0);
    tl_tcp_result_finish(&result);
}

Test(http2, a_server_whose_window_holds_an_upload_is_told_with_its_size, .timeout = 240)
{
    struct fake_http2 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    /* Long beside what a busy processor adds to a beginning and to each of the server's waits. */
    cr_assert_eq(
        run_for(2 * TL_NS_PER_S, 0, 1, HTTP2_SMALL_WINDOW, TL_WIRE_UPLOAD, &fake, &result, &error),
        TL_OK, "%s", error.text);
    cr_assert_eq(result.http2_window_bytes, 65535, "%f", result.http2_window_bytes);
    cr_assert_gt(result.http2_held_ratio, 0.5);
    cr_assert_lt(result.receiver.bytes, 65535 * 30);
    tl_tcp_result_finish(&result);
}

Test(http2, a_download_tells_no_window_of_an_upload, .timeout = 240)
{
    struct fake_http2 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    cr_assert_eq(run(HTTP2_PROPER, TL_WIRE_DOWNLOAD, &fake, &result, &error), TL_OK, "%s",
                 error.text);
    cr_assert(result.http2_window_bytes != result.http2_window_bytes, "unknown is no number");
    tl_tcp_result_finish(&result);
}

Test(http2, what_is_refused_or_breaks_the_rules_is_one_sentence_and_no_measurement, .timeout = 120)
{
    static const struct {
        enum fake_http2_mood mood;
        enum tl_wire_direction direction;
        enum tl_status status;
        const char *says;
    } cases[] = {
        {HTTP2_REFUSES, TL_WIRE_UPLOAD, TL_DENIED, "answers 413 to an upload of 20 MB"},
        {HTTP2_TINY_BODIES, TL_WIRE_DOWNLOAD, TL_CLOSED, "ended the file after 100 bytes"},
        {HTTP2_TOO_SHORT, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "is not as long as it says"},
        {HTTP2_TOO_LONG, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "is not as long as it says"},
        {HTTP2_PINGS, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "says more than anybody can"},
        {HTTP2_SETTINGS, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "says more than anybody can"},
        {HTTP2_EMPTY_DATA, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "says more than anybody can"},
        {HTTP2_PADDING, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "says more than anybody can"},
        {HTTP2_WINDOWS, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "says more than anybody can"},
        {HTTP2_CONTINUES, TL_WIRE_DOWNLOAD, TL_PROTOCOL, ""},
        {HTTP2_LONG_HEADERS, TL_WIRE_DOWNLOAD, TL_PROTOCOL, ""},
        {HTTP2_PUSHES, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "breaks the rules"},
        {HTTP2_RESETS, TL_WIRE_DOWNLOAD, TL_PROTOCOL,
         "breaks off a request (HTTP/2: ENHANCE_YOUR_CALM)"},
        {HTTP2_GOES_AWAY, TL_WIRE_DOWNLOAD, TL_PROTOCOL,
         "ends the connection (HTTP/2: ENHANCE_YOUR_CALM)"},
        {HTTP2_HANGS_UP, TL_WIRE_DOWNLOAD, TL_CLOSED, "closed the connection"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_http2 fake;
        struct tl_tcp_result result;
        struct tl_error error = {0};
        enum tl_status status = run_for(30 * TL_NS_PER_S, 0, 1, cases[i].mood, cases[i].direction,
                                        &fake, &result, &error);
        cr_expect_eq(status, cases[i].status, "%zu: %d %s", i, status, error.text);
        cr_expect(error.text[0] && strstr(error.text, cases[i].says), "%zu: %s", i, error.text);
        cr_expect_null(strchr(error.text, '\n'), "%zu: %s", i, error.text);
        cr_expect(!result.end_signed, "%zu", i);
        tl_tcp_result_finish(&result);
    }
}

Test(http2, a_server_with_no_file_is_told_at_the_first_look, .timeout = 240)
{
    static const struct {
        enum fake_http2_mood mood;
        const char *says;
    } cases[] = {
        {HTTP2_MISSING, "answers 404: name a file"},
        {HTTP2_PAGE, "answers with a page (HTML)"},
        {HTTP2_NO_FRAMES, "HTTP/2"},
        {HTTP2_SILENT, "does not answer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_http2 fake;
        struct tl_error error = {0};
        struct tl_far *far = NULL;
        fake_http2_start(&fake, cases[i].mood);
        cr_expect_neq(reach(&fake, false, &far, &error), TL_OK, "%zu", i);
        cr_expect(strstr(error.text, cases[i].says), "%zu: %s", i, error.text);
        tl_far_close(far);
        fake_http2_stop(&fake);
    }
}

Test(http2, http_1_is_measured_where_the_user_wants_it, .timeout = 240)
{
    struct fake_http2 fake;
    struct tl_error error = {0};
    struct tl_far *far;
    fake_http2_start(&fake, HTTP2_PROPER);
    cr_assert_eq(reach(&fake, true, &far, &error), TL_OK, "%s", error.text);
    cr_assert_str_eq(tl_far_info(far)->http_spoken, "HTTP/1.1");
    cr_assert_str_eq(tl_far_info(far)->http_offered, "HTTP/2");
    tl_far_close(far);
    fake_http2_stop(&fake);
}
