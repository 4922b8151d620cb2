/* UDP tests of the iperf3 client against a strict server, and against one that loses, lies, floods
 * or says nothing: counts that are known are right, what is not known is not a number. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake_iperf3.h"
#include "iperf3_json.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/far.h"
#include "udp_iperf3.h"

static struct tl_udp_spec brief(enum tl_wire_direction direction)
{
    /* An upload ends at its bytes, however long a busy machine takes for them. */
    bool upload = direction == TL_WIRE_UPLOAD;
    return (struct tl_udp_spec){.direction = direction,
                                .duration_ns = upload ? 20 * TL_NS_PER_S : 300 * TL_NS_PER_MS,
                                .max_bytes = upload ? 130 * TL_UDP_DATAGRAM_BYTES : 0,
                                .rate_bps = 5000000};
}

/* The result is the caller's to finish. */
static enum tl_status run_open(enum fake_mood mood, const struct tl_udp_spec *spec,
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
    tl_far_close(far);
    fake_iperf3_stop(fake);
    return status;
}

static enum tl_status run(enum fake_mood mood, const struct tl_udp_spec *spec,
                          struct fake_iperf3 *fake, struct tl_udp_result *ret_result,
                          struct tl_error *error)
{
    enum tl_status status = run_open(mood, spec, fake, ret_result, error);
    tl_udp_result_finish(ret_result);
    return status;
}

/* What a test of trains told of them. */
struct train_times {
    unsigned whole;  /* sent and received in full, in order */
    int64_t left_ns; /* the middle one: its first to its last datagram, as they bear it */
};

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void time_trains(enum fake_mood mood, const struct tl_udp_spec *spec,
                        struct fake_iperf3 *fake, struct train_times *ret_times)
{
    struct tl_udp_result result;
    struct tl_error error = {0};
    int64_t left_ns[TL_UDP_TRAINS_MAX];
    *ret_times = (struct train_times){0};
    cr_assert_eq(run_open(mood, spec, fake, &result, &error), TL_OK, "%s", error.text);
    cr_assert_eq(result.train_count, spec->train_count);
    for (unsigned i = 0; i < result.train_count; i++) {
        const struct tl_udp_train *train = &result.trains[i];
        ret_times->whole += train->sent_count == spec->train_length && train->in_order;
        left_ns[i] = train->sent_ns;
    }
    qsort(left_ns, result.train_count, sizeof left_ns[0], compare);
    ret_times->left_ns = left_ns[result.train_count / 2];
    tl_udp_result_finish(&result);
}

Test(iperf3_udp, a_download_is_accounted_for_here, .timeout = 240)
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

Test(iperf3_udp, a_server_that_counts_no_numbers_is_believed_its_bytes, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_udp_result result;
    struct tl_error error = {0};
    struct tl_udp_spec spec = brief(TL_WIRE_DOWNLOAD);
    cr_assert_eq(run(FAKE_UDP_COUNTS_NONE, &spec, &fake, &result, &error), TL_OK, "%s", error.text);
    cr_assert_gt(result.sender.sent_count, 20);
    cr_assert_eq(result.sender.local_drop_count, 0);
    cr_assert_eq(result.receiver.lost_count, 0);
}

Test(iperf3_udp, an_upload_is_counted_by_the_server, .timeout = 240)
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

Test(iperf3_udp, what_is_lost_is_counted_in_both_directions, .timeout = 240)
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

Test(iperf3_udp, a_number_that_the_servers_kernel_refused_was_not_lost, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_udp_result result;
    struct tl_error error = {0};
    struct tl_udp_spec spec = brief(TL_WIRE_DOWNLOAD);
    cr_assert_eq(run(FAKE_UDP_SKIPS, &spec, &fake, &result, &error), TL_OK, "%s", error.text);
    cr_assert_gt(result.sender.local_drop_count, 1);
    cr_assert_eq(result.receiver.lost_count, 0);
}

Test(iperf3_udp, a_lost_hello_begins_the_test_anew, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_udp_result result;
    struct tl_error error = {0};
    struct tl_udp_spec spec = brief(TL_WIRE_UPLOAD);
    cr_assert_eq(run(FAKE_UDP_DEAF_ONCE, &spec, &fake, &result, &error), TL_OK, "%s", error.text);
    cr_assert_geq(fake.hellos, 2, "the client, or a busy machine, may lose patience once more");
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

static struct tl_udp_spec trains(enum tl_wire_direction direction)
{
    return (struct tl_udp_spec){.direction = direction,
                                .duration_ns = 300 * TL_NS_PER_MS,
                                .train_length = 8,
                                .train_count = 8,
                                .train_gap_ns = 20 * TL_NS_PER_MS};
}

Test(iperf3_udp, trains_of_an_upload_are_refused_before_anything_is_sent, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct tl_udp_result result;
    struct tl_error error = {0};
    struct tl_udp_spec spec = trains(TL_WIRE_UPLOAD);
    cr_assert_eq(run(FAKE_PROPER, &spec, &fake, &result, &error), TL_UNSUPPORTED);
    cr_assert(strstr(error.text, "cannot time trains"), "%s", error.text);
    cr_assert_eq(fake.connections, 1, "the greeting only");
}

Test(iperf3_udp, trains_of_a_download_are_bursts_with_their_own_times, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct train_times times;
    struct tl_udp_spec spec = trains(TL_WIRE_DOWNLOAD);
    time_trains(FAKE_PROPER, &spec, &fake, &times);
    cr_assert(fake.parameters_fine);
    cr_assert_eq(times.whole, spec.train_count);
    cr_assert_lt(times.left_ns, spec.train_gap_ns / 2, "left within %lld ns",
                 (long long)times.left_ns);
}

/* Then the trains tell no rate (tl_udp_train_rate): they left no faster than they came. */
Test(iperf3_udp, a_server_without_bursts_is_seen_to_send_evenly, .timeout = 240)
{
    struct fake_iperf3 fake;
    struct train_times times;
    struct tl_udp_spec spec = trains(TL_WIRE_DOWNLOAD);
    time_trains(FAKE_UDP_EVEN, &spec, &fake, &times);
    cr_assert_eq(times.whole, spec.train_count);
    cr_assert_gt(times.left_ns, spec.train_gap_ns / 2, "left within %lld ns",
                 (long long)times.left_ns);
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
