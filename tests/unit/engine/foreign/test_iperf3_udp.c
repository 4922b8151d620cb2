/* UDP tests of the iperf3 client against a strict server, and against one that loses, lies, floods
 * or says nothing: counts that are known are right, what is not known is not a number. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "fake_iperf3.h"
#include "iperf3_json.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/far.h"
#include "udp_iperf3.h"

static struct tl_udp_spec brief(enum tl_wire_direction direction)
{
    return (struct tl_udp_spec){
        .direction = direction, .duration_ns = 300 * TL_NS_PER_MS, .rate_bps = 5000000};
}

static enum tl_status run(enum fake_mood mood, const struct tl_udp_spec *spec,
                          struct fake_iperf3 *fake, struct tl_udp_result *ret_result,
                          struct tl_error *error)
{
    struct tl_far *far;
    fake_iperf3_start(fake, mood);
    struct tl_far_options options = {.reach = {.host = "127.0.0.1",
                                               .port = fake->port,
                                               .timeout_ns = 20 * TL_NS_PER_S,
                                               .cancel_fd = -1},
                                     .resource = ""};
    cr_assert_eq(tl_far_connect(TL_FAR_IPERF3, &options, &far, error), TL_OK, "%s", error->text);
    enum tl_status status = tl_far_udp_test(far, spec, NULL, NULL, ret_result, error);
    tl_udp_result_finish(ret_result);
    tl_far_close(far);
    fake_iperf3_stop(fake);
    return status;
}

Test(iperf3_udp, a_download_is_accounted_for_here, .timeout = 60)
{
    struct fake_iperf3 fake;
    struct tl_udp_result result;
    struct tl_error error = {0};
    struct tl_udp_spec spec = brief(TL_WIRE_DOWNLOAD);
    cr_assert_eq(run(FAKE_PROPER, &spec, &fake, &result, &error), TL_OK, "%s", error.text);
    cr_assert(fake.parameters_fine && fake.results_fine && fake.done_said);
    cr_assert(result.valid && !result.near_sends && !result.receiver.totals_only);
    cr_assert_gt(result.sender.sent_count, 20);
    cr_assert_eq(result.receiver.received_count + result.receiver.local_drop_count,
                 result.sender.sent_count);
    cr_assert_eq(result.receiver.lost_count, 0);
    cr_assert(isfinite(result.receiver.delay.p90_ns) && isfinite(result.sender.achieved_bps));
    cr_assert_eq(result.receiver.crc, TL_UDP_CRC_NONE);
}

Test(iperf3_udp, an_upload_is_counted_by_the_server, .timeout = 60)
{
    struct fake_iperf3 fake;
    struct tl_udp_result result;
    struct tl_error error = {0};
    struct tl_udp_spec spec = brief(TL_WIRE_UPLOAD);
    cr_assert_eq(run(FAKE_PROPER, &spec, &fake, &result, &error), TL_OK, "%s", error.text);
    cr_assert(fake.parameters_fine && fake.results_fine && fake.done_said);
    cr_assert(result.valid && result.near_sends && result.receiver.totals_only);
    cr_assert_eq(fake.odd_datagrams, 0, "all of one length, numbered from 1 without a gap");
    cr_assert_gt(result.sender.sent_count, 20);
    cr_assert_eq(result.receiver.received_count, result.sender.sent_count);
    cr_assert_float_eq(result.receiver.delay.jitter_ns, 125000, 1);
    cr_assert(isnan(result.receiver.delay.p90_ns), "a server tells no delays");
    cr_assert(isfinite(result.wait_behind_ns));
}

Test(iperf3_udp, what_is_lost_is_counted_in_both_directions, .timeout = 60)
{
    for (int i = 0; i < 2; i++) {
        struct fake_iperf3 fake;
        struct tl_udp_result result;
        struct tl_error error = {0};
        struct tl_udp_spec spec = brief(i ? TL_WIRE_UPLOAD : TL_WIRE_DOWNLOAD);
        cr_assert_eq(run(FAKE_UDP_LOSES, &spec, &fake, &result, &error), TL_OK, "%s", error.text);
        cr_assert_eq(result.receiver.lost_count + result.receiver.local_drop_count,
                     result.sender.sent_count / 10, "direction %d", i);
        cr_assert_gt(result.receiver.lost_count, 1);
        if (!i)
            cr_assert_gt(result.receiver.runs.run_count, 1);
    }
}

Test(iperf3_udp, a_number_that_the_servers_kernel_refused_was_not_lost, .timeout = 60)
{
    struct fake_iperf3 fake;
    struct tl_udp_result result;
    struct tl_error error = {0};
    struct tl_udp_spec spec = brief(TL_WIRE_DOWNLOAD);
    cr_assert_eq(run(FAKE_UDP_SKIPS, &spec, &fake, &result, &error), TL_OK, "%s", error.text);
    cr_assert_gt(result.sender.local_drop_count, 1);
    cr_assert_eq(result.receiver.lost_count, 0);
}

Test(iperf3_udp, a_lost_hello_begins_the_test_anew, .timeout = 60)
{
    struct fake_iperf3 fake;
    struct tl_udp_result result;
    struct tl_error error = {0};
    struct tl_udp_spec spec = brief(TL_WIRE_UPLOAD);
    cr_assert_eq(run(FAKE_UDP_DEAF_ONCE, &spec, &fake, &result, &error), TL_OK, "%s", error.text);
    cr_assert_eq(fake.hellos, 2);
    cr_assert_eq(fake.odd_datagrams, 0);
}

static const struct {
    enum fake_mood mood;
    enum tl_wire_direction direction;
    enum tl_status status;
    const char *says;
} bad[] = {
    {FAKE_UDP_DEAF, TL_WIRE_UPLOAD, TL_TIMEOUT, "does not answer although TCP does"},
    {FAKE_UDP_INVENTS, TL_WIRE_UPLOAD, TL_PROTOCOL, "never sent"},
    {FAKE_UDP_INVENTS, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "never sent"},
    {FAKE_UDP_NO_COUNT, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "no count of datagrams"},
    {FAKE_UDP_FLOODS, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "far more than was asked for"},
    {FAKE_ENDLESS_RESULTS, TL_WIRE_DOWNLOAD, TL_PROTOCOL, "announces 4294967295 bytes"},
};

Test(iperf3_udp, a_server_that_breaks_the_protocol_gets_one_sentence, .timeout = 120)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fake_iperf3 fake;
        struct tl_udp_result result;
        struct tl_error error = {0};
        struct tl_udp_spec spec = brief(bad[i].direction);
        if (bad[i].mood == FAKE_UDP_FLOODS)
            spec.rate_bps = 100000, spec.duration_ns = 20 * TL_NS_PER_S;
        int64_t begun_ns = tl_now_ns();
        enum tl_status status = run(bad[i].mood, &spec, &fake, &result, &error);
        cr_assert_eq(status, bad[i].status, "%zu: %s (%s)", i, tl_status_name(status), error.text);
        cr_assert(strstr(error.text, bad[i].says), "%zu: %s", i, error.text);
        cr_assert(!result.valid, "%zu", i);
        cr_assert_lt(tl_now_ns() - begun_ns, 10 * TL_NS_PER_S, "%zu", i);
    }
}

Test(iperf3_udp, trains_are_refused_before_anything_is_sent, .timeout = 60)
{
    struct fake_iperf3 fake;
    struct tl_udp_result result;
    struct tl_error error = {0};
    struct tl_udp_spec spec = {.direction = TL_WIRE_UPLOAD,
                               .duration_ns = 300 * TL_NS_PER_MS,
                               .train_length = 8,
                               .train_count = 8};
    cr_assert_eq(run(FAKE_PROPER, &spec, &fake, &result, &error), TL_UNSUPPORTED);
    cr_assert(strstr(error.text, "cannot send or time trains"), "%s", error.text);
    cr_assert_eq(fake.connections, 1, "the greeting only");
}

Test(iperf3_udp, a_head_is_read_as_it_was_written)
{
    uint8_t head[UDP_IPERF3_HEAD];
    uint64_t sequence;
    int64_t time_ns;
    udp_iperf3_seal(head, 0, 5 * TL_NS_PER_S + 7 * TL_NS_PER_US);
    static const uint8_t wanted[] = {0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1};
    cr_assert_arr_eq(head, wanted, sizeof wanted);
    cr_assert(udp_iperf3_read(head, &sequence, &time_ns));
    cr_assert_eq(sequence, 0);
    cr_assert_eq(time_ns, 5 * TL_NS_PER_S + 7 * TL_NS_PER_US);
    head[15] = 0;
    cr_assert(!udp_iperf3_read(head, &sequence, &time_ns), "numbers begin with 1");
}
