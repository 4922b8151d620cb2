/* Messages and datagrams of a UDP test. */
#include "tightlink/engine/udp_wire.h"

#include <assert.h>

#include "wire_layout.h"

#define MSG tl_wire_test_udp
/* What cannot be moved into a limit without becoming another test is refused. */
static const char *refuse_test_udp(const void *msg)
{
    const struct MSG *test = msg;
    bool trains = test->train_length >= 2 && test->train_count >= 1;
    bool none = test->train_length == 0 && test->train_count == 0;
    return trains || none ? NULL : "asks for trains without length or number";
}

static const struct wire_field test_udp_fields[] = {
    UINT(direction, 1, 0, TL_WIRE_UPLOAD, "direction: 0 download (the responder sends), 1 upload"),
    FLAGS(gro, head_crc,
          "flags: bit 0 = the receiver may take several datagrams as one (UDP_GRO), bit 1 = CRCs "
          "cover the heads alone; others zero"),
    UINT(datagram_bytes, 2, TL_UDP_DATAGRAM_MIN, TL_UDP_DATAGRAM_MAX,
         "UDP payload of a datagram, 48 to 9216 bytes"),
    ANY(duration_ms, 4, "longest duration, ms; 0 = 10 s; moved into the limits"),
    ANY(max_bytes, 8, "most bytes of UDP payload; 0 = no cap of the client's"),
    ANY(rate_bps, 8, "rate, bit/s of UDP payload; 0 = as fast as possible"),
    UINT(burst_count, 2, 0, TL_UDP_BURST_MAX,
         "datagrams that leave back to back, 0 to 1024; 0 and 1: none"),
    UINT(gso_segments, 1, 0, TL_UDP_GSO_MAX,
         "datagrams that the sender's kernel may get as one (UDP_SEGMENT), 0 to 64; 0 and 1: none"),
    UINT(dscp, 1, 0, 63, "DSCP, 0 to 63"),
    ANY(interval_us, 4, "interval of the series, us; 0 = 50,000"),
    ANY(rcvbuf_bytes, 4, "SO_RCVBUF of the receiver; 0 = 4 MiB"),
    UINT(train_length, 2, 0, TL_UDP_TRAIN_MAX,
         "datagrams of a train, 2 to 64; 0 = a test at a rate"),
    UINT(train_count, 2, 0, TL_UDP_TRAINS_MAX, "trains, 1 to 256; 0 with train length 0"),
    ANY(train_gap_us, 4, "from one train's begin to the next, us; at least 100"),
    ANY(grace_ms, 2, "grace, ms; 0 = 100, at most 3,000"),
    ZERO(2),
};
WIRE_FRAME(test_udp, TEST_UDP, refuse_test_udp)
#undef MSG

#define MSG tl_wire_udp_start
static const struct wire_field udp_start_fields[] = {
    UINT(test_id, 4, 1, UINT32_MAX, "test id"),
    ZERO(4),
    ANY(cookie, 8, "first half of the tuple's challenge"),
};
WIRE_FRAME(udp_start, UDP_START, NULL)
#undef MSG

/* --- Sets of numbers --------------------------------------------------------------------- */

static void put_fields(struct wire_out *out, const struct tl_udp_fields *fields, unsigned count)
{
    put_uint(out, count, 1);
    for (unsigned i = 0; i < (count + 7) / 8; i++)
        put_uint(out, fields->present >> 8 * i & 255, 1);
    for (unsigned i = 0; i < count; i++)
        if (tl_udp_field_has(fields, i))
            put_varint(out, fields->values[i]);
}

/* Numbers behind the last one that this program knows are read and forgotten. */
static void get_fields(struct wire_in *in, struct tl_udp_fields *fields, unsigned known)
{
    unsigned count = (unsigned)get_uint(in, 1);
    const uint8_t *present = get_bytes(in, (count + 7) / 8);
    in->bad |= present && count % 8 && present[count / 8] >> count % 8;
    for (unsigned i = 0; i < count && !in->bad; i++) {
        if (!(present[i / 8] >> i % 8 & 1))
            continue;
        uint64_t value = get_varint(in);
        if (!in->bad && i < known)
            tl_udp_field_set(fields, i, value);
    }
}

/* --- Accounts --------------------------------------------------------------------------------- */

#define MSG tl_wire_udp_report
static const struct wire_field udp_report_fields[] = {
    UINT(test_id, 4, 1, UINT32_MAX, "test id"),
    UINT(role, 1, 0, TL_UDP_ROLE_RECEIVER, "role: 0 sender, 1 receiver"),
    UINT(is_final, 1, 0, 1, "1 = final"),
    ZERO(2),
};
WIRE_LAYOUT(udp_report, TL_WIRE_UDP_REPORT, "UDP_REPORT", NULL)
#undef MSG

#define MSG tl_wire_udp_series
static const struct wire_field udp_series_fields[] = {
    UINT(test_id, 4, 1, UINT32_MAX, "test id"),
    UINT(kind, 1, 0, TL_UDP_SERIES_TRAINS, "kind: 0 intervals, 1 trains"),
    UINT(count, 1, 1, TL_UDP_SERIES_MAX, "number of records, 1 to 32"),
    ZERO(2),
};
WIRE_LAYOUT(udp_series, TL_WIRE_UDP_SERIES, "UDP_SERIES", NULL)
#undef MSG

#define HEAD 8 /* of both */
/* count, presence, at most ten bytes a number */
#define FIELDS_SIZE(count) (1 + ((count) + 7) / 8 + 10 * (count))

static_assert(TL_US_COUNT <= TL_UDP_FIELDS_MAX && TL_UR_COUNT <= TL_UDP_FIELDS_MAX &&
                  TL_UI_COUNT <= TL_UDP_FIELDS_MAX && TL_UT_COUNT <= TL_UDP_FIELDS_MAX,
              "one bit a field");
static_assert(HEAD + FIELDS_SIZE(TL_UR_COUNT) <= TL_WIRE_PAYLOAD_MAX, "a report fits");
static_assert(HEAD + TL_UDP_SERIES_MAX * FIELDS_SIZE(TL_UI_COUNT) <= TL_WIRE_PAYLOAD_MAX &&
                  HEAD + TL_UDP_SERIES_MAX * FIELDS_SIZE(TL_UT_COUNT) <= TL_WIRE_PAYLOAD_MAX,
              "a series fits");

static unsigned report_fields(enum tl_udp_role role)
{
    return role == TL_UDP_ROLE_SENDER ? (unsigned)TL_US_COUNT : (unsigned)TL_UR_COUNT;
}

size_t tl_wire_encode_udp_report(const struct tl_wire_udp_report *msg,
                                 uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    wire_put(&wire_layout_udp_report, msg, &out);
    put_fields(&out, &msg->fields, report_fields(msg->role));
    return wire_seal_frame(ret_frame, TL_WIRE_UDP_REPORT, out.at);
}

enum tl_status tl_wire_decode_udp_report(const uint8_t *payload, size_t len,
                                         struct tl_wire_udp_report *ret_msg,
                                         struct tl_error *reterr)
{
    struct wire_in in = {payload, payload + len, false};
    struct tl_wire_udp_report msg = {0};
    enum tl_status status = wire_get_head(&wire_layout_udp_report, &in, &msg, reterr);
    if (status != TL_OK)
        return status;
    get_fields(&in, &msg.fields, report_fields(msg.role));
    status = wire_close(&in, "UDP_REPORT", reterr);
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}

static unsigned series_fields(enum tl_udp_series_kind kind)
{
    return kind == TL_UDP_SERIES_INTERVALS ? (unsigned)TL_UI_COUNT : (unsigned)TL_UT_COUNT;
}

size_t tl_wire_encode_udp_series(const struct tl_wire_udp_series *msg,
                                 uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    wire_put(&wire_layout_udp_series, msg, &out);
    for (unsigned i = 0; i < msg->count; i++)
        put_fields(&out, &msg->records[i], series_fields(msg->kind));
    return wire_seal_frame(ret_frame, TL_WIRE_UDP_SERIES, out.at);
}

enum tl_status tl_wire_decode_udp_series(const uint8_t *payload, size_t len,
                                         struct tl_wire_udp_series *ret_msg,
                                         struct tl_error *reterr)
{
    struct wire_in in = {payload, payload + len, false};
    struct tl_wire_udp_series msg = {0};
    enum tl_status status = wire_get_head(&wire_layout_udp_series, &in, &msg, reterr);
    if (status != TL_OK)
        return status;
    for (unsigned i = 0; i < msg.count && !in.bad; i++)
        get_fields(&in, &msg.records[i], series_fields(msg.kind));
    status = wire_close(&in, "UDP_SERIES", reterr);
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}

/* --- Datagrams ---------------------------------------------------------------------------- */

#define MSG tl_wire_udp_data
/* Packed and read by hand (udp_datagram.h), since it goes out at line rate; a test holds the two
 * to each other. */
static const struct wire_field udp_data_fields[] = {
    CONST("TLU1"),
    TYPE(TL_WIRE_UDP_DATA),
    FLAG(head_crc, "bit 0 = the CRC covers the first 40 bytes alone; others zero"),
    ANY(bytes, 2, "length of the datagram"),
    ANY(cookie, 8, "first half of the challenge"),
    ANY(test_id, 4, "test id"),
    CRC("CRC32C of the datagram, or of its first 40 bytes, with this field zero"),
    ANY(sequence, 8, "sequence, from 0; one that the sender's kernel refused is used again"),
    ANY(sent_ns, 8, "departure, ns since the sender's start, its monotonic clock"),
};
WIRE_LAYOUT(udp_data, TL_WIRE_UDP_DATA, "DATA", NULL)
#undef MSG

#define MSG tl_wire_udp_feedback
/* The same places as in DATA up to the CRC. */
static const struct wire_field udp_feedback_fields[] = {
    CONST("TLU1"),
    TYPE(TL_WIRE_UDP_FEEDBACK),
    ZERO(3),
    ANY(cookie, 8, "first half of the challenge"),
    ANY(test_id, 4, "test id"),
    CRC("CRC32C of the 64 bytes with this field zero"),
    ANY(received_count, 8, "unique datagrams so far"),
    ANY(received_bytes, 8, "their UDP payload, bytes"),
    ANY(next_sequence, 8, "one more than the highest sequence that came"),
    ANY(elapsed_ns, 8, "receiver's time since its start, ns"),
    ZERO(8),
};
WIRE_LAYOUT(udp_feedback, TL_WIRE_UDP_FEEDBACK, "FEEDBACK", NULL)
#undef MSG

size_t tl_wire_encode_udp_feedback(const struct tl_wire_udp_feedback *msg,
                                   uint8_t ret_datagram[TL_WIRE_UDP_FEEDBACK_SIZE])
{
    wire_seal_datagram(&wire_layout_udp_feedback, msg, ret_datagram, TL_WIRE_UDP_FEEDBACK_SIZE);
    return TL_WIRE_UDP_FEEDBACK_SIZE;
}

enum tl_status tl_wire_decode_udp_feedback(const uint8_t *datagram, size_t len,
                                           struct tl_wire_udp_feedback *ret_msg,
                                           struct tl_error *reterr)
{
    struct tl_wire_udp_feedback msg = {0};
    if (len != TL_WIRE_UDP_FEEDBACK_SIZE)
        return tl_error_set(reterr, TL_PROTOCOL, "a datagram of %zu bytes is no feedback", len);
    enum tl_status status =
        wire_open_datagram(&wire_layout_udp_feedback, datagram, len, &msg, reterr);
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}
