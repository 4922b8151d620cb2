/* Messages and datagrams of a UDP test. Layouts: doc/wire.md. */
#include "tightlink/engine/udp_wire.h"

#include <assert.h>

#include "tightlink/engine/limits.h"
#include "udp_datagram.h"
#include "wire_pack.h"

#define TEST_UDP_SIZE  48
#define UDP_START_SIZE 16
#define REPORT_HEAD    8
#define SERIES_HEAD    8
#define TEST_GRO       1u
#define TEST_HEAD_CRC  2u
/* count, presence, at most ten bytes a number */
#define FIELDS_SIZE(count) (1 + ((count) + 7) / 8 + 10 * (count))

static_assert(TL_US_COUNT <= TL_UDP_FIELDS_MAX && TL_UR_COUNT <= TL_UDP_FIELDS_MAX &&
                  TL_UI_COUNT <= TL_UDP_FIELDS_MAX && TL_UT_COUNT <= TL_UDP_FIELDS_MAX,
              "one bit a field");
static_assert(REPORT_HEAD + FIELDS_SIZE(TL_UR_COUNT) <= TL_WIRE_PAYLOAD_MAX, "a report fits");
static_assert(SERIES_HEAD + TL_UDP_SERIES_MAX * FIELDS_SIZE(TL_UI_COUNT) <= TL_WIRE_PAYLOAD_MAX &&
                  SERIES_HEAD + TL_UDP_SERIES_MAX * FIELDS_SIZE(TL_UT_COUNT) <= TL_WIRE_PAYLOAD_MAX,
              "a series fits");

size_t tl_wire_encode_test_udp(const struct tl_wire_test_udp *msg,
                               uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->direction, 1);
    put_uint(&out, (msg->gro ? TEST_GRO : 0) | (msg->head_crc ? TEST_HEAD_CRC : 0), 1);
    put_uint(&out, msg->datagram_bytes, 2);
    put_uint(&out, msg->duration_ms, 4);
    put_uint(&out, msg->max_bytes, 8);
    put_uint(&out, msg->rate_bps, 8);
    put_uint(&out, msg->burst_count, 2);
    put_uint(&out, msg->gso_segments, 1);
    put_uint(&out, msg->dscp, 1);
    put_uint(&out, msg->interval_us, 4);
    put_uint(&out, msg->rcvbuf_bytes, 4);
    put_uint(&out, msg->train_length, 2);
    put_uint(&out, msg->train_count, 2);
    put_uint(&out, msg->train_gap_us, 4);
    put_uint(&out, msg->grace_ms, 2);
    put_zero(&out, 2);
    return wire_seal_frame(ret_frame, TL_WIRE_TEST_UDP, out.at);
}

/* What cannot be moved into a limit without becoming another test is refused. */
static enum tl_status check_test_udp(const struct tl_wire_test_udp *msg, struct tl_error *reterr)
{
    if (msg->datagram_bytes < TL_UDP_DATAGRAM_MIN || msg->datagram_bytes > TL_UDP_DATAGRAM_MAX)
        return tl_error_set(reterr, TL_RANGE, "datagrams of %u bytes are not %d to %d",
                            msg->datagram_bytes, TL_UDP_DATAGRAM_MIN, TL_UDP_DATAGRAM_MAX);
    if (msg->burst_count > TL_UDP_BURST_MAX || msg->gso_segments > TL_UDP_GSO_MAX || msg->dscp > 63)
        return tl_error_set(reterr, TL_RANGE, "bursts of %u, %u segments or DSCP %u",
                            msg->burst_count, msg->gso_segments, msg->dscp);
    bool trains = msg->train_length >= 2 && msg->train_length <= TL_UDP_TRAIN_MAX &&
                  msg->train_count >= 1 && msg->train_count <= TL_UDP_TRAINS_MAX;
    bool none = msg->train_length == 0 && msg->train_count == 0;
    if (!trains && !none)
        return tl_error_set(reterr, TL_RANGE, "%u trains of %u datagrams", msg->train_count,
                            msg->train_length);
    return TL_OK;
}

enum tl_status tl_wire_decode_test_udp(const uint8_t *payload, size_t len,
                                       struct tl_wire_test_udp *ret_msg, struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, TEST_UDP_SIZE, "TEST_UDP", &in, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_test_udp msg = {0};
    unsigned direction = (unsigned)get_uint(&in, 1), flags = (unsigned)get_uint(&in, 1);
    msg.gro = flags & TEST_GRO;
    msg.head_crc = flags & TEST_HEAD_CRC;
    in.bad |= (flags & ~(TEST_GRO | TEST_HEAD_CRC)) != 0;
    msg.datagram_bytes = (uint16_t)get_uint(&in, 2);
    msg.duration_ms = (uint32_t)get_uint(&in, 4);
    msg.max_bytes = get_uint(&in, 8);
    msg.rate_bps = get_uint(&in, 8);
    msg.burst_count = (uint16_t)get_uint(&in, 2);
    msg.gso_segments = (uint8_t)get_uint(&in, 1);
    msg.dscp = (uint8_t)get_uint(&in, 1);
    msg.interval_us = (uint32_t)get_uint(&in, 4);
    msg.rcvbuf_bytes = (uint32_t)get_uint(&in, 4);
    msg.train_length = (uint16_t)get_uint(&in, 2);
    msg.train_count = (uint16_t)get_uint(&in, 2);
    msg.train_gap_us = (uint32_t)get_uint(&in, 4);
    msg.grace_ms = (uint16_t)get_uint(&in, 2);
    get_zero(&in, 2);
    status = wire_close(&in, "TEST_UDP", reterr);
    if (status == TL_OK && direction > TL_WIRE_UPLOAD)
        status = tl_error_set(reterr, TL_RANGE, "%u is no direction", direction);
    msg.direction = (enum tl_wire_direction)direction;
    if (status == TL_OK)
        status = check_test_udp(&msg, reterr);
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}

size_t tl_wire_encode_udp_start(const struct tl_wire_udp_start *msg,
                                uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->test_id, 4);
    put_zero(&out, 4);
    put_uint(&out, msg->cookie, 8);
    return wire_seal_frame(ret_frame, TL_WIRE_UDP_START, out.at);
}

enum tl_status tl_wire_decode_udp_start(const uint8_t *payload, size_t len,
                                        struct tl_wire_udp_start *ret_msg, struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, UDP_START_SIZE, "UDP_START", &in, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_udp_start msg = {.test_id = (uint32_t)get_uint(&in, 4)};
    get_zero(&in, 4);
    msg.cookie = get_uint(&in, 8);
    status = wire_close(&in, "UDP_START", reterr);
    if (status == TL_OK && msg.test_id == 0)
        status = tl_error_set(reterr, TL_RANGE, "UDP_START names test 0");
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}

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

size_t tl_wire_encode_udp_report(const struct tl_wire_udp_report *msg,
                                 uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->test_id, 4);
    put_uint(&out, msg->role, 1);
    put_uint(&out, msg->is_final, 1);
    put_zero(&out, 2);
    put_fields(&out, &msg->fields,
               msg->role == TL_UDP_ROLE_SENDER ? (unsigned)TL_US_COUNT : (unsigned)TL_UR_COUNT);
    return wire_seal_frame(ret_frame, TL_WIRE_UDP_REPORT, out.at);
}

enum tl_status tl_wire_decode_udp_report(const uint8_t *payload, size_t len,
                                         struct tl_wire_udp_report *ret_msg,
                                         struct tl_error *reterr)
{
    struct wire_in in = {payload, payload + len, false};
    struct tl_wire_udp_report msg = {.test_id = (uint32_t)get_uint(&in, 4)};
    unsigned role = (unsigned)get_uint(&in, 1), final = (unsigned)get_uint(&in, 1);
    get_zero(&in, 2);
    if (!in.bad && (msg.test_id == 0 || role > TL_UDP_ROLE_RECEIVER || final > 1))
        return tl_error_set(reterr, TL_RANGE, "UDP_REPORT of test %u, role %u", msg.test_id, role);
    msg.role = (enum tl_udp_role)role;
    msg.is_final = final;
    get_fields(&in, &msg.fields,
               role == TL_UDP_ROLE_SENDER ? (unsigned)TL_US_COUNT : (unsigned)TL_UR_COUNT);
    enum tl_status status = wire_close(&in, "UDP_REPORT", reterr);
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
    put_uint(&out, msg->test_id, 4);
    put_uint(&out, msg->kind, 1);
    put_uint(&out, msg->count, 1);
    put_zero(&out, 2);
    for (unsigned i = 0; i < msg->count; i++)
        put_fields(&out, &msg->records[i], series_fields(msg->kind));
    return wire_seal_frame(ret_frame, TL_WIRE_UDP_SERIES, out.at);
}

enum tl_status tl_wire_decode_udp_series(const uint8_t *payload, size_t len,
                                         struct tl_wire_udp_series *ret_msg,
                                         struct tl_error *reterr)
{
    struct wire_in in = {payload, payload + len, false};
    struct tl_wire_udp_series msg = {.test_id = (uint32_t)get_uint(&in, 4)};
    unsigned kind = (unsigned)get_uint(&in, 1);
    msg.count = (uint8_t)get_uint(&in, 1);
    get_zero(&in, 2);
    if (!in.bad && (msg.test_id == 0 || kind > TL_UDP_SERIES_TRAINS || msg.count == 0 ||
                    msg.count > TL_UDP_SERIES_MAX))
        return tl_error_set(reterr, TL_RANGE, "UDP_SERIES of test %u with %u records", msg.test_id,
                            msg.count);
    msg.kind = (enum tl_udp_series_kind)kind;
    for (unsigned i = 0; i < msg.count && !in.bad; i++)
        get_fields(&in, &msg.records[i], series_fields(msg.kind));
    enum tl_status status = wire_close(&in, "UDP_SERIES", reterr);
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}

/* --- Datagrams ---------------------------------------------------------------------------- */

static uint32_t data_crc(const uint8_t *datagram, size_t len, bool head_alone)
{
    uint32_t crc = udp_head_crc(datagram);
    if (!head_alone)
        crc = udp_crc32c(crc, datagram + TL_WIRE_UDP_DATA_HEAD, len - TL_WIRE_UDP_DATA_HEAD);
    return ~crc;
}

void tl_wire_seal_udp_data(const struct tl_wire_udp_data *msg, uint8_t *datagram, size_t len)
{
    udp_head_begin(datagram, msg);
    udp_put64(datagram + 24, msg->sequence);
    udp_put64(datagram + 32, msg->sent_ns);
    udp_put32(datagram + UDP_CRC_AT, data_crc(datagram, len, msg->head_crc));
}

enum tl_status tl_wire_decode_udp_data(const uint8_t *datagram, size_t len,
                                       struct tl_wire_udp_data *ret_msg, bool *ret_intact,
                                       struct tl_error *reterr)
{
    if (len < TL_UDP_DATAGRAM_MIN || len > TL_UDP_DATAGRAM_MAX ||
        tl_wire_udp_type(datagram, len) != TL_WIRE_UDP_DATA)
        return tl_error_set(reterr, TL_PROTOCOL, "a datagram of %zu bytes is no data", len);
    struct tl_wire_udp_data msg = {
        .head_crc = datagram[5] & UDP_FLAG_HEAD_CRC,
        .bytes = (uint16_t)((unsigned)datagram[6] << 8 | datagram[7]),
        .cookie = udp_get64(datagram + 8),
        .test_id = udp_get32(datagram + 16),
        .sequence = udp_get64(datagram + 24),
        .sent_ns = udp_get64(datagram + 32),
    };
    *ret_intact = msg.bytes == len && !(datagram[5] & ~UDP_FLAG_HEAD_CRC) &&
                  udp_get32(datagram + UDP_CRC_AT) == data_crc(datagram, len, msg.head_crc);
    *ret_msg = msg;
    return TL_OK;
}

/* The same places as in DATA up to the CRC. */
size_t tl_wire_encode_udp_feedback(const struct tl_wire_udp_feedback *msg,
                                   uint8_t ret_datagram[TL_WIRE_UDP_FEEDBACK_SIZE])
{
    struct wire_out out = {ret_datagram};
    put_bytes(&out, "TLU1", 4);
    put_uint(&out, TL_WIRE_UDP_FEEDBACK, 1);
    put_zero(&out, 3);
    put_uint(&out, msg->cookie, 8);
    put_uint(&out, msg->test_id, 4);
    put_zero(&out, 4);
    put_uint(&out, msg->received_count, 8);
    put_uint(&out, msg->received_bytes, 8);
    put_uint(&out, msg->next_sequence, 8);
    put_uint(&out, msg->elapsed_ns, 8);
    put_zero(&out, 8);
    uint32_t crc = ~udp_crc32c(UDP_CRC_BEGIN, ret_datagram, TL_WIRE_UDP_FEEDBACK_SIZE);
    udp_put32(ret_datagram + UDP_CRC_AT, crc);
    return TL_WIRE_UDP_FEEDBACK_SIZE;
}

enum tl_status tl_wire_decode_udp_feedback(const uint8_t *datagram, size_t len,
                                           struct tl_wire_udp_feedback *ret_msg,
                                           struct tl_error *reterr)
{
    if (len != TL_WIRE_UDP_FEEDBACK_SIZE || tl_wire_udp_type(datagram, len) != TL_WIRE_UDP_FEEDBACK)
        return tl_error_set(reterr, TL_PROTOCOL, "a datagram of %zu bytes is no feedback", len);
    uint32_t crc = udp_head_crc(datagram);
    crc = ~udp_crc32c(crc, datagram + TL_WIRE_UDP_DATA_HEAD, len - TL_WIRE_UDP_DATA_HEAD);
    if (crc != udp_get32(datagram + UDP_CRC_AT))
        return tl_error_set(reterr, TL_PROTOCOL, "a feedback datagram was damaged on the way");
    struct wire_in in = {datagram + 5, datagram + len, false};
    struct tl_wire_udp_feedback msg = {0};
    get_zero(&in, 3);
    msg.cookie = get_uint(&in, 8);
    msg.test_id = (uint32_t)get_uint(&in, 4);
    (void)get_uint(&in, 4);
    msg.received_count = get_uint(&in, 8);
    msg.received_bytes = get_uint(&in, 8);
    msg.next_sequence = get_uint(&in, 8);
    msg.elapsed_ns = get_uint(&in, 8);
    get_zero(&in, 8);
    enum tl_status status = wire_close(&in, "the feedback", reterr);
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}
