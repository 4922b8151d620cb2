/* The ndt7 client against a strict server, and against one that breaks the protocol in every way
 * that matters: one sentence each, nothing that hangs, nothing that counts as a measurement. */
#include <criterion/criterion.h>
#include <string.h>

#include "../loopback.h"
#include "fake_ndt7.h"
#include "ndt7_greet.h"
#include "ndt7_locate.h"
#include "ndt7_text.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/far.h"

static enum tl_status reach_by(const struct fake_ndt7 *fake, const char *resource,
                               struct tl_far **ret_far, struct tl_error *reterr)
{
    struct tl_far_options options = {.reach = {.host = "127.0.0.1",
                                               .port = fake->port,
                                               .timeout_ns = 20 * TL_NS_PER_S,
                                               .cancel_fd = -1},
                                     .resource = resource};
    return tl_far_connect(TL_FAR_NDT7, &options, ret_far, reterr);
}

static enum tl_status reach(const struct fake_ndt7 *fake, struct tl_far **ret_far,
                            struct tl_error *reterr)
{
    return reach_by(fake, "", ret_far, reterr);
}

/* More than any receive buffer, what waits in it is counted too: what is left of it the server
 * accompanies with words. */
#define ENOUGH_BYTES 160000000

/* As much as that, however long a busy machine takes; or (0) until the server breaks off. */
static enum tl_status run_by(unsigned streams, uint64_t max_bytes, enum fake_ndt7_mood mood,
                             enum tl_wire_direction direction, struct fake_ndt7 *fake,
                             struct tl_tcp_result *ret_result, struct tl_error *error)
{
    struct tl_far *far;
    struct tl_tcp_spec spec = {.direction = direction,
                               .streams = streams,
                               .duration_ns = 10 * TL_NS_PER_S,
                               .max_bytes = max_bytes};
    fake_ndt7_start(fake, mood);
    cr_assert_eq(reach(fake, &far, error), TL_OK, "%s", error->text);
    enum tl_status status = tl_far_tcp_test(far, &spec, NULL, NULL, ret_result, error);
    tl_far_close(far);
    fake_ndt7_stop(fake);
    return status;
}

static enum tl_status run(enum fake_ndt7_mood mood, enum tl_wire_direction direction,
                          struct fake_ndt7 *fake, struct tl_tcp_result *ret_result,
                          struct tl_error *error)
{
    return run_by(1, ENOUGH_BYTES, mood, direction, fake, ret_result, error);
}

Test(ndt7, several_connections_are_as_many_tests_at_once, .timeout = 240)
{
    static const enum tl_wire_direction ways[] = {TL_WIRE_DOWNLOAD, TL_WIRE_UPLOAD};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        struct fake_ndt7 fake;
        struct tl_tcp_result result;
        struct tl_error error = {0};
        uint64_t sum = 0;
        cr_assert_eq(run_by(4, ENOUGH_BYTES, NDT7_PROPER, ways[w], &fake, &result, &error), TL_OK,
                     "%s", error.text);
        cr_assert_eq(result.streams, 4);
        for (unsigned i = 0; i < 4; i++) {
            cr_assert_gt(result.receiver.streams[i].bytes, 0, "%zu %u", w, i);
            cr_assert_gt(result.sender.logs[i].count, 1, "%zu %u", w, i);
            cr_assert_neq(result.near_ports[i], 0);
            sum += result.receiver.streams[i].bytes;
        }
        cr_assert_eq(result.receiver.bytes, sum);
        cr_assert(result.end_signed && fake.masked_all);
        tl_tcp_result_finish(&result);
    }
}

Test(ndt7, more_connections_than_a_guest_opens_are_refused_before_anything_is_sent, .timeout = 240)
{
    struct fake_ndt7 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    cr_assert_eq(run_by(9, 0, NDT7_PROPER, TL_WIRE_DOWNLOAD, &fake, &result, &error), TL_RANGE);
    cr_assert_eq(fake.received_bytes, 0);
    tl_tcp_result_finish(&result);
}

Test(ndt7, a_server_that_hangs_up_on_one_of_several_ends_the_test, .timeout = 240)
{
    struct fake_ndt7 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    cr_assert_eq(run_by(4, 0, NDT7_HANGS_UP, TL_WIRE_DOWNLOAD, &fake, &result, &error), TL_CLOSED);
    cr_assert(strstr(error.text, "ended the test after"), "%s", error.text);
    cr_assert(!result.end_signed);
    tl_tcp_result_finish(&result);
}

Test(ndt7, a_download_has_the_senders_own_account, .timeout = 240)
{
    static const enum fake_ndt7_mood moods[] = {NDT7_PROPER, NDT7_IN_PIECES};
    for (size_t i = 0; i < sizeof moods / sizeof *moods; i++) {
        struct fake_ndt7 fake;
        struct tl_tcp_result result;
        struct tl_error error = {0};
        cr_assert_eq(run(moods[i], TL_WIRE_DOWNLOAD, &fake, &result, &error), TL_OK, "%s",
                     error.text);
        cr_assert(fake.request_fine && fake.pong_fine && fake.masked_all);
        cr_assert(result.end_signed && !result.near_sends);
        cr_assert_gt(result.receiver.bytes, 0);
        cr_assert_gt(result.sender.logs[0].count, 3);
        const struct tl_tcp_sample *sample = &result.sender.logs[0].samples[1];
        cr_assert_eq(tl_sample_get(sample, TL_SF_rtt_ns), 42000000);
        cr_assert_eq(tl_sample_get(sample, TL_SF_rwnd_limited_ns), 600000);
        cr_assert_eq(tl_sample_get(sample, TL_SF_delivery_rate_bps), 1000);
        cr_assert(sample->time_ns > 0 && sample->time_ns < 60 * TL_NS_PER_S);
        cr_assert_str_eq(result.sender.congestion, "bbr");
        tl_tcp_result_finish(&result);
    }
}

Test(ndt7, an_upload_is_masked_and_arrives, .timeout = 240)
{
    struct fake_ndt7 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    cr_assert_eq(run(NDT7_PROPER, TL_WIRE_UPLOAD, &fake, &result, &error), TL_OK, "%s", error.text);
    cr_assert(fake.request_fine && fake.pong_fine && fake.masked_all);
    cr_assert_gt(fake.received_bytes, 8192);
    cr_assert_leq(fake.received_bytes, result.sender.bytes);
    cr_assert_gt(result.sender.logs[0].count, 3);
    cr_assert_leq(result.ends_agree_ratio, 0.02);
    tl_tcp_result_finish(&result);
}

Test(ndt7, numbers_that_make_no_sense_are_left_out, .timeout = 240)
{
    struct fake_ndt7 fake;
    struct tl_tcp_result result;
    struct tl_error error = {0};
    cr_assert_eq(run(NDT7_ODD_NUMBERS, TL_WIRE_DOWNLOAD, &fake, &result, &error), TL_OK, "%s",
                 error.text);
    cr_assert_gt(result.sender.logs[0].count, 1);
    const struct tl_tcp_sample *sample = &result.sender.logs[0].samples[0];
    cr_assert(!tl_sample_has(sample, TL_SF_rtt_ns) && !tl_sample_has(sample, TL_SF_min_rtt_ns));
    cr_assert(!tl_sample_has(sample, TL_SF_bytes_acked));
    cr_assert(!tl_sample_has(sample, TL_SF_pacing_bps));
    cr_assert_eq(tl_sample_get(sample, TL_SF_snd_cwnd_count), 10);
    tl_tcp_result_finish(&result);
}

static const struct {
    enum fake_ndt7_mood mood;
    enum tl_wire_direction direction;
    enum tl_status status;
    const char *says;
} bad[] = {
    {NDT7_HUGE_FRAME, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "announces a message without end"},
    {NDT7_LONG_TEXT, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "announces a message without end"},
    {NDT7_CHATTER, TL_WIRE_UPLOAD, TL_PROTOCOL, "says more than anybody can read"},
    {NDT7_MASKED, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "no server may send"},
    {NDT7_NO_JSON, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "makes no sense"},
    {NDT7_HANGS_UP, TL_WIRE_DOWNLOAD, TL_CLOSED, "ended the test after"},
    {NDT7_WEB_PAGE, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "is no NDT server: it answers 200"},
    {NDT7_OTHER_ACCEPT, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "not ndt7"},
    {NDT7_WANTS_TOKEN, TL_WIRE_DOWNLOAD, TL_AUTH, "access token"},
    {NDT7_SENDS_BACK, TL_WIRE_UPLOAD, TL_PROTOCOL, "where it is to receive"},
};

Test(ndt7, a_server_that_breaks_the_protocol_gets_one_sentence, .timeout = 120)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fake_ndt7 fake;
        struct tl_tcp_result result;
        struct tl_error error = {0};
        enum tl_status status = run_by(1, 0, bad[i].mood, bad[i].direction, &fake, &result, &error);
        cr_assert_eq(status, bad[i].status, "%zu: %s (%s)", i, tl_status_name(status), error.text);
        cr_assert(strstr(error.text, bad[i].says), "%zu: %s", i, error.text);
        cr_assert(!result.end_signed, "%zu", i);
        tl_tcp_result_finish(&result);
    }
}

Test(ndt7, a_certificate_that_nobody_trusts_ends_it_before_anything_is_asked, .timeout = 240)
{
    struct fake_ndt7 fake;
    struct tl_far *far;
    struct tl_error error = {0};
    fake_ndt7_start(&fake, NDT7_PROPER);
    unsetenv("SSL_CERT_FILE");
    cr_assert_eq(reach(&fake, &far, &error), TL_AUTH, "%s", error.text);
    cr_assert(strstr(error.text, "is not to be trusted"), "%s", error.text);
    fake_ndt7_stop(&fake);
}

Test(ndt7, a_server_whose_greeting_does_not_come_is_told_from_one_that_is_not_there, .timeout = 240)
{
    struct tl_far *far;
    struct tl_error error = {0};
    int port;
    int listener = loopback_listen(NULL, &port); /* its kernel takes connections, nobody speaks */
    struct tl_far_options options = {.reach = {.host = "127.0.0.1",
                                               .port = port,
                                               .timeout_ns = 200 * TL_NS_PER_MS,
                                               .cancel_fd = -1},
                                     .resource = ""};
    cr_assert_eq(tl_far_connect(TL_FAR_NDT7, &options, &far, &error), TL_TIMEOUT, "%s", error.text);
    cr_assert(strstr(error.text, "takes connections, but no greeting by TLS arrives"), "%s",
              error.text);
    close(listener);
}

Test(ndt7, a_measurement_is_an_object_of_few_bytes)
{
    struct ndt7_measurement measurement;
    static const char none[] = "{}", bbr[] = "{\"BBRInfo\":{\"BW\":0}}";
    cr_assert_eq(ndt7_read_measurement(none, strlen(none), &measurement, NULL), TL_OK);
    cr_assert(!measurement.has_sample && !measurement.bbr);
    cr_assert_eq(ndt7_read_measurement(bbr, strlen(bbr), &measurement, NULL), TL_OK);
    cr_assert(!measurement.bbr, "no bandwidth was ever seen");
    cr_assert_eq(ndt7_read_measurement("{", 1, &measurement, NULL), TL_PROTOCOL);
}

/* --- The nearest one -------------------------------------------------------------------------- */

#define DIRECTORY "/v2/nearest/ndt/ndt7"

Test(ndt7, a_directory_names_the_server_and_a_token_for_each_direction, .timeout = 240)
{
    for (int i = 0; i < 2; i++) {
        struct fake_ndt7 fake;
        struct tl_far *far;
        struct tl_tcp_result result;
        struct tl_error error = {0};
        struct tl_tcp_spec spec = {.direction = i ? TL_WIRE_UPLOAD : TL_WIRE_DOWNLOAD,
                                   .streams = 1,
                                   .duration_ns = 500 * TL_NS_PER_MS};
        fake_ndt7_start(&fake, NDT7_DIRECTORY);
        cr_assert_eq(reach_by(&fake, DIRECTORY, &far, &error), TL_OK, "%s", error.text);
        cr_assert_str_eq(tl_far_info(far)->program, "ndt7 at 127.0.0.1");
        cr_assert_eq(tl_far_tcp_test(far, &spec, NULL, NULL, &result, &error), TL_OK, "%s",
                     error.text);
        cr_assert(fake.request_fine, "direction %d: not the token of this direction", i);
        tl_tcp_result_finish(&result);
        tl_far_close(far);
        fake_ndt7_stop(&fake);
    }
}

static const struct {
    enum fake_ndt7_mood mood;
    enum tl_status status;
    const char *says;
} bad_directories[] = {
    {NDT7_DIRECTORY_FULL, TL_BUSY, "no NDT server to spare now (204)"},
    {NDT7_DIRECTORY_PLAIN, TL_PROTOCOL, "no NDT server that uses TLS"},
    {NDT7_DIRECTORY_ENDLESS, TL_PROTOCOL, "answers with more than"},
};

Test(ndt7, a_directory_that_names_nothing_gets_one_sentence, .timeout = 240)
{
    for (size_t i = 0; i < sizeof bad_directories / sizeof *bad_directories; i++) {
        struct fake_ndt7 fake;
        struct tl_far *far;
        struct tl_error error = {0};
        fake_ndt7_start(&fake, bad_directories[i].mood);
        cr_assert_eq(reach_by(&fake, DIRECTORY, &far, &error), bad_directories[i].status, "%zu: %s",
                     i, error.text);
        cr_assert(strstr(error.text, bad_directories[i].says), "%zu: %s", i, error.text);
        fake_ndt7_stop(&fake);
    }
}

#define URLS(down, up)                                                                             \
    "{\"results\":[{\"urls\":{\"wss:///ndt/v7/download\":\"" down                                  \
    "\",\"wss:///ndt/v7/upload\":\"" up "\"}}]}"

Test(ndt7, of_a_directorys_answer_only_whole_and_harmless_places_are_taken)
{
    static const char *const none[] = {
        "{}",
        "{\"results\":[]}",
        "{\"results\":[{\"urls\":{\"wss:///ndt/v7/download\":\"wss://a/ndt/v7/download\"}}]}",
        URLS("wss://a/ndt/v7/download", "wss://b/ndt/v7/upload"),
        URLS("https://a/ndt/v7/download", "https://a/ndt/v7/upload"),
        URLS("wss://a/other", "wss://a/ndt/v7/upload"),
        URLS("wss://a/ndt/v7/download?x=1\\r\\nHost: b", "wss://a/ndt/v7/upload"),
        URLS("wss://me@a/ndt/v7/download", "wss://me@a/ndt/v7/upload"),
        URLS("wss:///ndt/v7/download", "wss:///ndt/v7/upload"),
    };
    struct ndt7_place places[NDT7_PLACES_MAX];
    unsigned count = 7;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_assert_eq(ndt7_read_places(none[i], strlen(none[i]), places, &count, NULL), TL_PROTOCOL,
                     "%s", none[i]);
    cr_assert_eq(count, 7, "an output was touched");
    static const char fine[] = URLS("wss://[2001:db8::1]:4443/ndt/v7/download?a=1",
                                    "wss://[2001:db8::1]:4443/ndt/v7/upload");
    cr_assert_eq(ndt7_read_places(fine, strlen(fine), places, &count, NULL), TL_OK);
    cr_assert_eq(count, 1);
    cr_assert_str_eq(places[0].host, "2001:db8::1");
    cr_assert_eq(places[0].port, 4443);
    cr_assert_str_eq(places[0].download, "?a=1");
    cr_assert_str_eq(places[0].upload, "");
}

/* Behind a host alone one is looked for: no test is begun, and a web server is not taken for one.
 */
Test(ndt7, a_server_is_found_without_a_test, .timeout = 240)
{
    static const struct {
        enum fake_ndt7_mood mood;
        enum tl_status status;
        int greetings;
    } cases[] = {
        {NDT7_PROPER, TL_OK, 2}, {NDT7_WEB_PAGE, TL_REFUSED, 1}, {NDT7_GATE, TL_REFUSED, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_ndt7 fake;
        struct tl_error error = {0};
        fake_ndt7_start(&fake, cases[i].mood);
        struct tl_far_options options = {.reach = {.host = "127.0.0.1",
                                                   .port = fake.port,
                                                   .timeout_ns = 20 * TL_NS_PER_S,
                                                   .cancel_fd = -1}};
        cr_expect_eq(ndt7_greet(&options, &error), cases[i].status, "%zu: %s", i, error.text);
        cr_expect_eq(fake.greetings, cases[i].greetings, "%zu", i);
        cr_expect_eq(fake.received_bytes, 0);
        fake_ndt7_stop(&fake);
        cr_expect_eq(ndt7_greet(&options, &error), TL_REFUSED, "%zu: %s", i, error.text);
    }
}
