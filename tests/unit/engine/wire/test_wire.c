/* One test per message: it comes back as it went, at no other length, and a value out of
 * its range is refused. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/engine/limits.h"
#include "tightlink/engine/wire.h"

/* Bytes written into a good payload that must make it a bad one. */
struct bad {
    size_t at;
    const char *bytes;
    size_t len;
};
#define BAD(offset, text)                                                                          \
    {                                                                                              \
        offset, text, sizeof text - 1                                                              \
    }

typedef enum tl_status decode_fn(const uint8_t *, size_t, void *, struct tl_error *);
typedef size_t encode_fn(const void *, uint8_t *);

struct kind {
    enum tl_wire_type type;
    size_t size, payload_len;
    encode_fn *encode;
    decode_fn *decode;
    bool any_length; /* a text that ends with the frame */
};

#define KIND(name, NAME, len, any)                                                                 \
    static size_t encode_##name(const void *msg, uint8_t *frame)                                   \
    {                                                                                              \
        return tl_wire_encode_##name(msg, frame);                                                  \
    }                                                                                              \
    static enum tl_status decode_##name(const uint8_t *p, size_t n, void *msg, struct tl_error *e) \
    {                                                                                              \
        return tl_wire_decode_##name(p, n, msg, e);                                                \
    }                                                                                              \
    static const struct kind name##_kind = {                                                       \
        TL_WIRE_##NAME, sizeof(struct tl_wire_##name), len, encode_##name, decode_##name, any};

KIND(hello, HELLO, 88, false)
KIND(welcome, WELCOME, 88, false)
KIND(error, ERROR, 14, true)
KIND(test_tcp, TEST_TCP, 64, false)
KIND(ready, READY, 48, false)
KIND(busy, BUSY, 8, false)
KIND(data_hello, DATA_HELLO, 32, false)
KIND(data_ok, DATA_OK, 8, false)
KIND(start, START, 4, false)
KIND(started, STARTED, 12, false)
KIND(stop, STOP, 4, false)
KIND(test_end, TEST_END, 40 + 2 * 32, false)
KIND(ping, PING, 8, false)
KIND(pong, PONG, 16, false)
KIND(host_end, HOST_END, 2, false)
KIND(dial, DIAL, 44, false)
KIND(dialled, DIALLED, 4, false)

static void expect_refused(const struct kind *kind, const uint8_t *payload, size_t len,
                           const char *what, size_t detail)
{
    static uint8_t untouched[sizeof(struct tl_wire_test_end)], msg[sizeof untouched];
    memset(untouched, 0xa5, sizeof untouched);
    memset(msg, 0xa5, sizeof msg);
    struct tl_error error = {0};
    /* An exact copy, so that a sanitizer sees a read past the end. */
    uint8_t *copy = malloc(len ? len : 1);
    memcpy(copy, payload, len);
    cr_expect(kind->decode(copy, len, msg, &error) != TL_OK, "%s: %s %zu passed",
              tl_wire_type_name(kind->type), what, detail);
    cr_expect(memcmp(msg, untouched, sizeof msg) == 0, "%s wrote its output on failure",
              tl_wire_type_name(kind->type));
    cr_expect(error.text[0] != '\0');
    free(copy);
}

static void expect_round_trip(const struct kind *kind, const void *msg, const struct bad *bad,
                              size_t bad_count)
{
    uint8_t frame[TL_WIRE_FRAME_MAX + 1] = {0}, again[TL_WIRE_FRAME_MAX];
    size_t len = kind->encode(msg, frame);
    cr_assert_eq(len, kind->payload_len + TL_WIRE_HEADER_SIZE, "%s is %zu long",
                 tl_wire_type_name(kind->type), len);
    struct tl_wire_frame seen;
    cr_assert_eq(tl_wire_peek(frame, len, &seen, NULL), TL_OK);
    cr_assert(seen.type == kind->type && seen.frame_len == len);
    static uint8_t back[sizeof(struct tl_wire_test_end)];
    memset(back, 0, sizeof back);
    struct tl_error error = {0};
    cr_assert_eq(kind->decode(seen.payload, seen.payload_len, back, &error), TL_OK, "%s",
                 error.text);
    cr_expect_eq(memcmp(back, msg, kind->size), 0, "%s came back different",
                 tl_wire_type_name(kind->type));
    cr_expect(kind->encode(back, again) == len && memcmp(frame, again, len) == 0);
    for (size_t cut = 0; cut < kind->payload_len && (!kind->any_length || cut < 2); cut++)
        expect_refused(kind, frame + TL_WIRE_HEADER_SIZE, cut, "length", cut);
    if (!kind->any_length)
        expect_refused(kind, frame + TL_WIRE_HEADER_SIZE, kind->payload_len + 1, "length",
                       kind->payload_len + 1);
    for (size_t i = 0; i < bad_count; i++) {
        memcpy(again, frame, len);
        memcpy(again + TL_WIRE_HEADER_SIZE + bad[i].at, bad[i].bytes, bad[i].len);
        cr_assert(memcmp(again, frame, len) != 0, "bad value %zu changes nothing", i);
        expect_refused(kind, again + TL_WIRE_HEADER_SIZE, kind->payload_len, "bad value", i);
    }
}

#define ROUND_TRIP(name, msg, bad)                                                                 \
    expect_round_trip(&name##_kind, msg, bad, sizeof bad / sizeof *bad)

static const struct tl_wire_token token = {"0123456789abcde"};

Test(wire, hello)
{
    struct tl_wire_hello msg;
    memset(&msg, 0, sizeof msg);
    msg.version = TL_WIRE_VERSION;
    msg.nonce = token;
    strcpy(msg.program, "tightlink 0.1.0");
    static const struct bad bad[] = {
        BAD(0, "t"),    /* magic */
        BAD(8, "\0\2"), /* version */
        BAD(10, "\1"),
        BAD(11, "\1"),                               /* reserved */
        BAD(28, "\x1b"),                             /* an escape sequence in the program's name */
        BAD(50, "x"),                                /* behind its end */
        BAD(28, "0123456789abcdef0123456789abcdef"), /* without an end */
        BAD(60, "\1"),
        BAD(87, "\1"),
    };
    ROUND_TRIP(hello, &msg, bad);
}

Test(wire, hello_of_another_version_says_so_at_any_length)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_hello msg = {.version = 7}, out;
    tl_wire_encode_hello(&msg, frame);
    struct tl_error error;
    for (size_t len = 10; len < 100; len++)
        cr_expect_eq(tl_wire_decode_hello(frame + 4, len, &out, &error), TL_VERSION);
    cr_expect(strstr(error.text, "7"), "%s", error.text);
}

Test(wire, welcome_is_no_longer_than_hello)
{
    struct tl_wire_welcome msg;
    memset(&msg, 0, sizeof msg);
    msg = (struct tl_wire_welcome){.version = TL_WIRE_VERSION,
                                   .token = token,
                                   .max_seconds = 60,
                                   .max_streams = 32,
                                   .rate_cap_bps = 1000000,
                                   .quota_left_bytes = UINT64_MAX};
    strcpy(msg.program, "tightlinkd 0.1.0");
    static const struct bad bad[] = {
        BAD(0, "\0\2"),  BAD(2, "\x80"),
        BAD(3, "\2"), /* version, flags */
        BAD(36, "\0\0"), BAD(36, "\0\75"),
        BAD(36, "\xff"),                              /* seconds: 0, 61, many */
        BAD(38, "\0\0"), BAD(38, "\0\201"),           /* streams: 0, 129 */
        BAD(40, "\x80"), BAD(40, "\0\0\0\0\0\0\0\1"), /* rate cap */
        BAD(56, "\n"),   BAD(87, "x"),
    };
    ROUND_TRIP(welcome, &msg, bad);
    cr_expect_eq(hello_kind.payload_len, welcome_kind.payload_len);
}

Test(wire, error)
{
    struct tl_wire_error msg;
    memset(&msg, 0, sizeof msg);
    msg.code = TL_WIRE_E_CONGESTION;
    strcpy(msg.text, "no such cc:)");
    static const struct bad bad[] = {BAD(5, "\0")};
    ROUND_TRIP(error, &msg, bad);
    uint8_t payload[2 + TL_WIRE_ERROR_SIZE];
    memset(payload, 'x', sizeof payload);
    expect_refused(&error_kind, payload, sizeof payload, "length", sizeof payload);
}

Test(wire, codes_say_whether_the_session_lives)
{
    cr_expect(!tl_wire_error_is_final(TL_WIRE_E_CONGESTION));
    cr_expect(!tl_wire_error_is_final(TL_WIRE_E_QUOTA));
    cr_expect(tl_wire_error_is_final(TL_WIRE_E_PROTOCOL));
    cr_expect(tl_wire_error_is_final(999));
    cr_expect_str_eq(tl_wire_error_name(TL_WIRE_E_TOKEN), "TOKEN");
    cr_expect_str_eq(tl_wire_error_name(0), "?");
}

Test(wire, test_tcp)
{
    struct tl_wire_test_tcp msg;
    memset(&msg, 0, sizeof msg);
    msg.direction = TL_WIRE_BOTH;
    msg.discard = true;
    msg.streams = 10000; /* passes like the next: the responder grants less */
    msg.duration_ms = 0x80000000u;
    msg.max_bytes = UINT64_MAX;
    msg.rcvbuf_bytes = 262144;
    msg.sndbuf_bytes = 131072;
    msg.pacing_bps = 1000000000000u;
    msg.sample_interval_us = 50000;
    msg.dscp = 63;
    msg.send_path = 3;
    msg.notsent_lowat_bytes = 16384;
    strcpy(msg.congestion, "cubic");
    static const struct bad bad[] = {
        BAD(0, "\3"),     BAD(0, "\xff"),  BAD(1, "\2"),  BAD(1, "\xff"), /* direction, flags */
        BAD(2, "\0\0"),                                                   /* streams */
        BAD(36, "\100"),  BAD(37, "\4"),                                  /* DSCP, way of sending */
        BAD(38, "\1"),    BAD(44, "\1"),   BAD(47, "\1"), BAD(48, "/"),
        BAD(48, "Cubic"), BAD(48, "\xc3"), BAD(58, "x"),  BAD(48, "abcdefghijklmnop"),
    };
    ROUND_TRIP(test_tcp, &msg, bad);
}

Test(wire, ready)
{
    struct tl_wire_ready msg;
    memset(&msg, 0, sizeof msg);
    msg.test_id = 7;
    msg.streams = 1;
    msg.duration_ms = 10000;
    msg.sample_interval_us = 50000;
    msg.max_bytes = 1 << 30;
    strcpy(msg.congestion, "bbr");
    static const struct bad bad[] = {
        BAD(0, "\0\0\0\0"),  BAD(4, "\0\0"),     BAD(4, "\0\201"),
        BAD(6, "\1"),        BAD(8, "\0\0\0\0"), BAD(8, "\0\0\xea\x61"),
        BAD(8, "\x80"), /* 60,001 ms, 2^31 */
        BAD(12, "\0\0\0\0"), BAD(12, "\1"),      BAD(16, "\0\0\0\0\0\0\0\0"),
        BAD(16, "\x80"),     BAD(24, "\x80"),    BAD(31, "\1"),
        BAD(32, "B"),
    };
    ROUND_TRIP(ready, &msg, bad);
}

Test(wire, busy)
{
    struct tl_wire_busy msg;
    memset(&msg, 0, sizeof msg);
    msg.place = 3;
    msg.wait_ms = 20000;
    static const struct bad bad[] = {BAD(0, "\0\0"), BAD(0, "\xff"), BAD(2, "\1"), BAD(4, "\xff")};
    ROUND_TRIP(busy, &msg, bad);
}

Test(wire, data_hello)
{
    struct tl_wire_data_hello msg;
    memset(&msg, 0, sizeof msg);
    msg.version = TL_WIRE_VERSION;
    msg.stream = 127;
    msg.test_id = 7;
    msg.token = token;
    static const struct bad bad[] = {BAD(7, "k"), BAD(8, "\1"), BAD(10, "\0\200"),
                                     BAD(10, "\xff\xff"), BAD(12, "\0\0\0\0")};
    ROUND_TRIP(data_hello, &msg, bad);
}

Test(wire, data_ok)
{
    struct tl_wire_data_ok msg;
    memset(&msg, 0, sizeof msg);
    msg.test_id = 7;
    msg.stream = 127;
    static const struct bad bad[] = {BAD(0, "\0\0\0\0"), BAD(4, "\0\200"), BAD(7, "\1")};
    ROUND_TRIP(data_ok, &msg, bad);
}

Test(wire, start_started_stop)
{
    static const struct bad bad[] = {BAD(0, "\0\0\0\0")};
    struct tl_wire_start start = {.test_id = 7};
    ROUND_TRIP(start, &start, bad);
    struct tl_wire_stop stop = {.test_id = 7};
    ROUND_TRIP(stop, &stop, bad);
    struct tl_wire_started started;
    memset(&started, 0, sizeof started);
    started.test_id = 7;
    started.responder_ns = UINT64_MAX;
    ROUND_TRIP(started, &started, bad);
}

Test(wire, test_end)
{
    struct tl_wire_test_end msg;
    memset(&msg, 0, sizeof msg);
    msg.token = token;
    msg.test_id = 7;
    msg.reason = TL_WIRE_END_UNHEARD;
    msg.first = 64;
    msg.count = 2;
    msg.streams = 128;
    msg.send_path = 2;
    msg.discarded = true;
    msg.duration_ns = 10000000000;
    msg.samples_dropped = 3;
    for (int i = 0; i < 2; i++)
        msg.totals[i] = (struct tl_wire_stream_total){1 << 30, 9999999999, 5555, 66};
    static const struct bad bad[] = {
        BAD(16, "\0\0\0\0"), BAD(20, "\7"),       BAD(21, "\0"),   BAD(21, "\101"), BAD(21, "\3"),
        BAD(22, "\0\177"),   BAD(22, "\xff\xff"), BAD(24, "\1"),   /* first, duration */
        BAD(36, "\0\101"),   BAD(36, "\0\201"),   BAD(36, "\0\0"), /* connections */
        BAD(38, "\4"),       BAD(39, "\2"),       BAD(40, "\xff"), BAD(48, "\1"),   BAD(56, "\1"),
        BAD(72, "\x80"),
    };
    ROUND_TRIP(test_end, &msg, bad);
}

Test(wire, ping_pong_host_end)
{
    static const struct bad none[1];
    struct tl_wire_ping ping = {UINT64_MAX};
    expect_round_trip(&ping_kind, &ping, none, 0);
    struct tl_wire_pong pong = {1, 2};
    expect_round_trip(&pong_kind, &pong, none, 0);
    struct tl_wire_host_end end = {1024};
    static const struct bad bad[] = {BAD(0, "\4\1"), BAD(0, "\xff\xff")};
    ROUND_TRIP(host_end, &end, bad);
}

Test(wire, dial_and_dialled)
{
    struct tl_wire_dial msg = {.test_id = 7,
                               .peer_test_id = 9,
                               .peer_token = token,
                               .peer_address = {[15] = 1},
                               .peer_port = 5411};
    static const struct bad bad[] = {
        BAD(0, "\0\0\0\0"), BAD(4, "\0\0\0\0"), BAD(40, "\0\0"), BAD(42, "\1"), BAD(43, "\1"),
    };
    ROUND_TRIP(dial, &msg, bad);
    static const struct bad none[1];
    struct tl_wire_dialled dialled = {7};
    expect_round_trip(&dialled_kind, &dialled, none, 0);
}

Test(wire, strangers_are_told_apart_by_their_first_bytes)
{
    static const char *const strangers[] = {"GET / HTTP/1.1\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
                                            "\x16\x03\x01\x02\x00", "HELO nuttcp v6.1.2\n",
                                            "2bcdefghijklmnopqrstuvwxyz234567abcd"};
    struct tl_wire_frame frame;
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        cr_expect_eq(tl_wire_peek((const uint8_t *)strangers[i], 1, &frame, NULL), TL_PROTOCOL,
                     "%s", strangers[i]);
}

Test(wire, frames_are_found_one_byte_at_a_time)
{
    uint8_t bytes[TL_WIRE_FRAME_MAX];
    size_t len = tl_wire_encode_ping(&(struct tl_wire_ping){5}, bytes);
    struct tl_wire_frame frame;
    for (size_t n = 0; n < len; n++) {
        cr_expect_eq(tl_wire_peek(bytes, n, &frame, NULL), TL_OK);
        cr_expect_eq(frame.frame_len, 0, "%zu bytes made a frame", n);
    }
    cr_expect_eq(tl_wire_peek(bytes, len, &frame, NULL), TL_OK);
    cr_expect(frame.frame_len == len && frame.type == TL_WIRE_PING);
    bytes[3] = 1;
    cr_expect_eq(tl_wire_peek(bytes, len, &frame, NULL), TL_PROTOCOL);
    static const uint8_t longest[2] = {0x0f, 0xfc}, too_long[2] = {0x0f, 0xfd};
    cr_expect_eq(tl_wire_peek(longest, 2, &frame, NULL), TL_OK);
    cr_expect_eq(tl_wire_peek(too_long, 2, &frame, NULL), TL_PROTOCOL);
}

Test(wire, empty_frames_and_names)
{
    uint8_t bytes[TL_WIRE_FRAME_MAX];
    cr_expect_eq(tl_wire_encode_empty(TL_WIRE_BYE, bytes), 4);
    struct tl_wire_frame frame;
    cr_expect_eq(tl_wire_peek(bytes, 4, &frame, NULL), TL_OK);
    cr_expect(frame.type == TL_WIRE_BYE && frame.payload_len == 0 && frame.payload);
    cr_expect_str_eq(tl_wire_type_name(TL_WIRE_TEST_END), "TEST_END");
    cr_expect_str_eq(tl_wire_type_name(0), "?");
    cr_expect_str_eq(tl_wire_type_name(255), "?");
}

Test(wire, tokens_are_compared_whole)
{
    struct tl_wire_token other = token;
    cr_expect(tl_wire_token_equal(&token, &other));
    for (int i = 0; i < TL_WIRE_TOKEN_SIZE; i++) {
        other = token;
        other.bytes[i] ^= 0x80;
        cr_expect(!tl_wire_token_equal(&token, &other), "byte %d is not compared", i);
    }
}

Test(limits, every_number_from_outside_ends_inside_its_row)
{
    static const uint64_t hostile[] = {1,
                                       2,
                                       UINT64_C(1) << 31,
                                       UINT64_C(0xffffffff),
                                       UINT64_C(1) << 63,
                                       UINT64_MAX,
                                       UINT64_C(0x7ff8000000000000) /* the bits of NaN */};
    for (int id = 0; id < TL_LIMIT_COUNT; id++) {
        const struct tl_limit_row *row = tl_limit_row((enum tl_limit)id);
        cr_assert(row->min > 0 && row->min <= row->max);
        cr_expect(row->standard == 0 || (row->standard >= row->min && row->standard <= row->max),
                  "%s", row->id);
        cr_expect_eq(tl_limit_clamp((enum tl_limit)id, 0), row->standard);
        cr_expect(tl_limit_holds((enum tl_limit)id, 0));
        cr_expect(tl_limit_holds((enum tl_limit)id, (uint64_t)row->max));
        cr_expect(!tl_limit_holds((enum tl_limit)id, (uint64_t)row->max + 1));
        for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
            int64_t granted = tl_limit_clamp((enum tl_limit)id, hostile[i]);
            cr_expect(granted >= row->min && granted <= row->max, "%s lets %llu through", row->id,
                      (unsigned long long)hostile[i]);
        }
    }
    cr_expect_eq(tl_limit_clamp(TL_LIMIT_DURATION_MS, 5), 100);
    cr_expect_eq(tl_limit_clamp(TL_LIMIT_DURATION_MS, 7000), 7000);
    cr_expect_eq(tl_limit_clamp(TL_LIMIT_DURATION_MS, (uint64_t)-1), 60000);
    cr_expect_null(tl_limit_row(TL_LIMIT_COUNT));
}
