/* Tests between two responders: they run when everybody permits them, and only then. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "keyed_far_end.h"
#include "tightlink/base/time.h"

#define MS  INT64_C(1000000)
#define KEY "lab-1 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"

struct pair {
    struct far_end a, b;
    struct tl_keys *keys;
    struct tl_client *to_a, *to_b;
    struct tl_tcp_result result;
    struct tl_error error;
};

static struct pair pair;

/* Keyed responders; permits says which of them names the other one. */
static void begin(bool a_permits, bool b_permits, bool keyed)
{
    memset(&pair, 0, sizeof pair);
    pair.keys = keys_of(KEY);
    far_end_start(&pair.a, KEY, !keyed, a_permits);
    far_end_start(&pair.b, KEY, !keyed, b_permits);
    const struct tl_keys *keys = keyed ? pair.keys : NULL;
    cr_assert_eq(far_end_dial(&pair.a, keys, &pair.to_a, &pair.error), TL_OK, "%s",
                 pair.error.text);
    cr_assert_eq(far_end_dial(&pair.b, keys, &pair.to_b, &pair.error), TL_OK, "%s",
                 pair.error.text);
}

static enum tl_status run(unsigned streams)
{
    /* So many bytes at this pace: half a second that no busy machine makes shorter. */
    struct tl_tcp_spec spec = {.streams = streams,
                               .duration_ns = 50000 * MS,
                               .interval_ns = 20 * MS,
                               .pacing_bps = 40000000,
                               .max_bytes = 2500000};
    return tl_client_peer_test(pair.to_a, pair.to_b, &spec, &pair.result, &pair.error);
}

static void end(void)
{
    tl_tcp_result_finish(&pair.result);
    tl_client_close(pair.to_a);
    tl_client_close(pair.to_b);
    far_end_stop(&pair.a);
    far_end_stop(&pair.b);
    tl_keys_destroy(pair.keys);
}

Test(peers, data_goes_from_one_to_the_other, .timeout = 240)
{
    begin(true, true, true);
    for (unsigned streams = 1; streams <= 4; streams += 3) {
        cr_assert_eq(run(streams), TL_OK, "%s", pair.error.text);
        const struct tl_tcp_result *result = &pair.result;
        cr_expect(result->end_signed);
        cr_expect_eq(result->streams, streams);
        cr_expect_eq(result->end, TL_TCP_END_BYTES, "%d", (int)result->end);
        cr_expect_eq(result->receiver.bytes, 2500000);
        cr_expect_geq(result->sender.bytes, result->receiver.bytes);
        cr_expect_lt(result->ends_agree_ratio, 0.02);
        /* Of thirty; a busy machine takes fewer. */
        cr_expect_gt(result->sender.logs[streams - 1].count, 1);
        cr_expect_gt(result->receiver.logs[streams - 1].count, 1);
        if (streams == 1)
            tl_tcp_result_finish(&pair.result);
    }
    end();
}

Test(peers, the_dialling_end_must_permit_it, .timeout = 240)
{
    begin(false, true, true);
    cr_expect_eq(run(1), TL_DENIED, "%s", pair.error.text);
    cr_expect(strstr(pair.error.text, "--third-party"), "%s", pair.error.text);
    cr_expect_eq(pair.result.receiver.bytes, 0);
    end();
}

Test(peers, the_other_end_must_permit_it, .timeout = 240)
{
    begin(true, false, true);
    cr_expect_eq(run(2), TL_DENIED, "%s", pair.error.text);
    cr_expect(strstr(pair.error.text, "the other responder, 127.0.0.1"), "%s", pair.error.text);
    cr_expect_eq(pair.result.receiver.bytes, 0);
    end();
}

Test(peers, without_a_key_nobody_dials, .timeout = 240)
{
    begin(true, true, false);
    cr_expect_eq(run(1), TL_DENIED, "%s", pair.error.text);
    cr_expect(strstr(pair.error.text, "key"), "%s", pair.error.text);
    end();
}

/* A failed attempt leaves both responders ready for the next test. */
Test(peers, a_dead_peer_is_told_and_leaves_no_mess, .timeout = 240)
{
    begin(true, true, true);
    far_end_stop(&pair.b);
    cr_expect_neq(run(1), TL_OK);
    cr_expect(strlen(pair.error.text) > 0);
    tl_tcp_result_finish(&pair.result);
    far_end_start(&pair.b, KEY, false, true);
    tl_client_close(pair.to_b);
    cr_assert_eq(far_end_dial(&pair.b, pair.keys, &pair.to_b, &pair.error), TL_OK);
    cr_expect_eq(run(1), TL_OK, "%s", pair.error.text);
    end();
}
