/* Messages of a TCP test: asked for, granted or queued, started, stopped, ended.
 * Layouts: doc/wire.md. */
#include "tightlink/engine/wire.h"

#include "tightlink/engine/limits.h"
#include "wire_pack.h"

#define TEST_TCP_SIZE  64
#define READY_SIZE     48
#define BUSY_SIZE      8
#define ID_SIZE        4 /* START, STOP */
#define STARTED_SIZE   12
#define TEST_END_HEAD  40
#define TEST_END_TOTAL 32

/* Names of congestion controls as the kernel's modules have them; nothing else reaches
 * setsockopt. */
static enum tl_status get_congestion(struct wire_in *in, char ret_name[TL_WIRE_NAME_SIZE],
                                     struct tl_error *reterr)
{
    get_text(in, ret_name, TL_WIRE_NAME_SIZE);
    if (!in->bad && ret_name[strspn(ret_name, "abcdefghijklmnopqrstuvwxyz0123456789_-")])
        return tl_error_set(reterr, TL_RANGE, "no congestion control has such a name");
    return TL_OK;
}

size_t tl_wire_encode_test_tcp(const struct tl_wire_test_tcp *msg,
                               uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->direction, 1);
    put_uint(&out, msg->discard, 1);
    put_uint(&out, msg->streams, 2);
    put_uint(&out, msg->duration_ms, 4);
    put_uint(&out, msg->max_bytes, 8);
    put_uint(&out, msg->rcvbuf_bytes, 4);
    put_uint(&out, msg->sndbuf_bytes, 4);
    put_uint(&out, msg->pacing_bps, 8);
    put_uint(&out, msg->sample_interval_us, 4);
    put_uint(&out, msg->dscp, 1);
    put_uint(&out, msg->send_path, 1);
    put_zero(&out, 2);
    put_uint(&out, msg->notsent_lowat_bytes, 4);
    put_zero(&out, 4);
    put_text(&out, msg->congestion, sizeof msg->congestion);
    return wire_seal_frame(ret_frame, TL_WIRE_TEST_TCP, out.at);
}

static enum tl_status check_test_tcp(const struct tl_wire_test_tcp *msg, unsigned direction,
                                     unsigned flags, struct tl_error *reterr)
{
    if (direction > TL_WIRE_BOTH)
        return tl_error_set(reterr, TL_RANGE, "%u is no direction", direction);
    if (flags > 1)
        return tl_error_set(reterr, TL_RANGE, "TEST_TCP has unknown flags %#x", flags);
    if (msg->streams == 0)
        return tl_error_set(reterr, TL_RANGE, "a test without a stream");
    if (msg->dscp > 63)
        return tl_error_set(reterr, TL_RANGE, "DSCP %u is not 0 to 63", msg->dscp);
    if (msg->send_path >= TL_SEND_PATH_COUNT)
        return tl_error_set(reterr, TL_RANGE, "%u is no way of sending", msg->send_path);
    return TL_OK;
}

enum tl_status tl_wire_decode_test_tcp(const uint8_t *payload, size_t len,
                                       struct tl_wire_test_tcp *ret_msg, struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, TEST_TCP_SIZE, "TEST_TCP", &in, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_test_tcp msg = {0};
    unsigned direction = (unsigned)get_uint(&in, 1);
    unsigned flags = (unsigned)get_uint(&in, 1);
    msg.streams = (uint16_t)get_uint(&in, 2);
    msg.duration_ms = (uint32_t)get_uint(&in, 4);
    msg.max_bytes = get_uint(&in, 8);
    msg.rcvbuf_bytes = (uint32_t)get_uint(&in, 4);
    msg.sndbuf_bytes = (uint32_t)get_uint(&in, 4);
    msg.pacing_bps = get_uint(&in, 8);
    msg.sample_interval_us = (uint32_t)get_uint(&in, 4);
    msg.dscp = (uint8_t)get_uint(&in, 1);
    msg.send_path = (uint8_t)get_uint(&in, 1);
    get_zero(&in, 2);
    msg.notsent_lowat_bytes = (uint32_t)get_uint(&in, 4);
    get_zero(&in, 4);
    status = get_congestion(&in, msg.congestion, reterr);
    if (status == TL_OK)
        status = wire_close(&in, "TEST_TCP", reterr);
    if (status == TL_OK)
        status = check_test_tcp(&msg, direction, flags, reterr);
    if (status != TL_OK)
        return status;
    msg.direction = (enum tl_wire_direction)direction;
    msg.discard = flags != 0;
    *ret_msg = msg;
    return TL_OK;
}

size_t tl_wire_encode_ready(const struct tl_wire_ready *msg, uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->test_id, 4);
    put_uint(&out, msg->streams, 2);
    put_zero(&out, 2);
    put_uint(&out, msg->duration_ms, 4);
    put_uint(&out, msg->sample_interval_us, 4);
    put_uint(&out, msg->max_bytes, 8);
    put_uint(&out, msg->pacing_bps, 8);
    put_text(&out, msg->congestion, sizeof msg->congestion);
    return wire_seal_frame(ret_frame, TL_WIRE_READY, out.at);
}

enum tl_status tl_wire_decode_ready(const uint8_t *payload, size_t len,
                                    struct tl_wire_ready *ret_msg, struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, READY_SIZE, "READY", &in, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_ready msg = {0};
    msg.test_id = (uint32_t)get_uint(&in, 4);
    msg.streams = (uint16_t)get_uint(&in, 2);
    get_zero(&in, 2);
    msg.duration_ms = (uint32_t)get_uint(&in, 4);
    msg.sample_interval_us = (uint32_t)get_uint(&in, 4);
    msg.max_bytes = get_uint(&in, 8);
    msg.pacing_bps = get_uint(&in, 8);
    status = get_congestion(&in, msg.congestion, reterr);
    if (status == TL_OK)
        status = wire_close(&in, "READY", reterr);
    if (status != TL_OK)
        return status;
    if (msg.test_id == 0 || msg.streams == 0 || !tl_limit_holds(TL_LIMIT_STREAMS, msg.streams) ||
        msg.duration_ms == 0 || !tl_limit_holds(TL_LIMIT_DURATION_MS, msg.duration_ms) ||
        msg.sample_interval_us == 0 ||
        !tl_limit_holds(TL_LIMIT_SAMPLE_INTERVAL_US, msg.sample_interval_us) ||
        msg.max_bytes == 0 || !tl_limit_holds(TL_LIMIT_TEST_BYTES, msg.max_bytes) ||
        !tl_limit_holds(TL_LIMIT_PACING_BPS, msg.pacing_bps))
        return tl_error_set(reterr, TL_RANGE, "READY grants what no responder can");
    *ret_msg = msg;
    return TL_OK;
}

size_t tl_wire_encode_busy(const struct tl_wire_busy *msg, uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->place, 2);
    put_zero(&out, 2);
    put_uint(&out, msg->wait_ms, 4);
    return wire_seal_frame(ret_frame, TL_WIRE_BUSY, out.at);
}

enum tl_status tl_wire_decode_busy(const uint8_t *payload, size_t len, struct tl_wire_busy *ret_msg,
                                   struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, BUSY_SIZE, "BUSY", &in, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_busy msg = {0};
    msg.place = (uint16_t)get_uint(&in, 2);
    get_zero(&in, 2);
    msg.wait_ms = (uint32_t)get_uint(&in, 4);
    status = wire_close(&in, "BUSY", reterr);
    if (status != TL_OK)
        return status;
    if (msg.place == 0 || msg.place > tl_limit_row(TL_LIMIT_SESSIONS)->max ||
        !tl_limit_holds(TL_LIMIT_QUEUE_WAIT_MS, msg.wait_ms))
        return tl_error_set(reterr, TL_RANGE, "BUSY names place %u and %u ms", msg.place,
                            msg.wait_ms);
    *ret_msg = msg;
    return TL_OK;
}

static enum tl_status decode_id(const uint8_t *payload, size_t len, const char *name,
                                uint32_t *ret_id, struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, ID_SIZE, name, &in, reterr);
    if (status != TL_OK)
        return status;
    uint32_t id = (uint32_t)get_uint(&in, 4);
    if (id == 0)
        return tl_error_set(reterr, TL_RANGE, "%s names test 0", name);
    *ret_id = id;
    return TL_OK;
}

size_t tl_wire_encode_start(const struct tl_wire_start *msg, uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->test_id, 4);
    return wire_seal_frame(ret_frame, TL_WIRE_START, out.at);
}

enum tl_status tl_wire_decode_start(const uint8_t *payload, size_t len,
                                    struct tl_wire_start *ret_msg, struct tl_error *reterr)
{
    return decode_id(payload, len, "START", &ret_msg->test_id, reterr);
}

size_t tl_wire_encode_stop(const struct tl_wire_stop *msg, uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->test_id, 4);
    return wire_seal_frame(ret_frame, TL_WIRE_STOP, out.at);
}

enum tl_status tl_wire_decode_stop(const uint8_t *payload, size_t len, struct tl_wire_stop *ret_msg,
                                   struct tl_error *reterr)
{
    return decode_id(payload, len, "STOP", &ret_msg->test_id, reterr);
}

size_t tl_wire_encode_started(const struct tl_wire_started *msg,
                              uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->test_id, 4);
    put_uint(&out, msg->responder_ns, 8);
    return wire_seal_frame(ret_frame, TL_WIRE_STARTED, out.at);
}

enum tl_status tl_wire_decode_started(const uint8_t *payload, size_t len,
                                      struct tl_wire_started *ret_msg, struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, STARTED_SIZE, "STARTED", &in, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_started msg = {0};
    msg.test_id = (uint32_t)get_uint(&in, 4);
    msg.responder_ns = get_uint(&in, 8);
    if (msg.test_id == 0)
        return tl_error_set(reterr, TL_RANGE, "STARTED names test 0");
    *ret_msg = msg;
    return TL_OK;
}

size_t tl_wire_encode_test_end(const struct tl_wire_test_end *msg,
                               uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_bytes(&out, msg->token.bytes, TL_WIRE_TOKEN_SIZE);
    put_uint(&out, msg->test_id, 4);
    put_uint(&out, msg->reason, 1);
    put_uint(&out, msg->count, 1);
    put_uint(&out, msg->first, 2);
    put_uint(&out, msg->duration_ns, 8);
    put_uint(&out, msg->samples_dropped, 4);
    put_uint(&out, msg->streams, 2);
    put_uint(&out, msg->send_path, 1);
    put_uint(&out, msg->discarded, 1);
    for (unsigned i = 0; i < msg->count; i++) {
        put_uint(&out, msg->totals[i].bytes, 8);
        put_uint(&out, msg->totals[i].duration_ns, 8);
        put_uint(&out, msg->totals[i].cpu_ns, 8);
        put_uint(&out, msg->totals[i].run_delay_ns, 8);
    }
    return wire_seal_frame(ret_frame, TL_WIRE_TEST_END, out.at);
}

static enum tl_status get_totals(struct wire_in *in, struct tl_wire_test_end *msg,
                                 struct tl_error *reterr)
{
    /* No test lasts longer than its grant and the grace behind it, with room for clocks. */
    uint64_t longest_ns = (uint64_t)(tl_limit_row(TL_LIMIT_DURATION_MS)->max +
                                     2 * tl_limit_row(TL_LIMIT_GRACE_MS)->max) *
                          1000000;
    if (msg->duration_ns > longest_ns)
        return tl_error_set(reterr, TL_RANGE, "TEST_END names an impossible duration");
    for (unsigned i = 0; i < msg->count; i++) {
        struct tl_wire_stream_total *total = &msg->totals[i];
        total->bytes = get_uint(in, 8);
        total->duration_ns = get_uint(in, 8);
        total->cpu_ns = get_uint(in, 8);
        total->run_delay_ns = get_uint(in, 8);
        if (total->duration_ns > longest_ns || total->cpu_ns > longest_ns ||
            total->bytes > (uint64_t)1 << 60)
            return tl_error_set(reterr, TL_RANGE, "TEST_END names impossible totals");
    }
    return TL_OK;
}

enum tl_status tl_wire_decode_test_end(const uint8_t *payload, size_t len,
                                       struct tl_wire_test_end *ret_msg, struct tl_error *reterr)
{
    struct wire_in in = {payload, payload + len, false};
    struct tl_wire_test_end msg = {0};
    const uint8_t *token = get_bytes(&in, TL_WIRE_TOKEN_SIZE);
    if (token)
        memcpy(msg.token.bytes, token, TL_WIRE_TOKEN_SIZE);
    msg.test_id = (uint32_t)get_uint(&in, 4);
    msg.reason = (uint8_t)get_uint(&in, 1);
    msg.count = (uint8_t)get_uint(&in, 1);
    msg.first = (uint16_t)get_uint(&in, 2);
    msg.duration_ns = get_uint(&in, 8);
    msg.samples_dropped = (uint32_t)get_uint(&in, 4);
    msg.streams = (uint16_t)get_uint(&in, 2);
    msg.send_path = (uint8_t)get_uint(&in, 1);
    unsigned discarded = (unsigned)get_uint(&in, 1);
    if (in.bad || len != TEST_END_HEAD + (size_t)msg.count * TEST_END_TOTAL || discarded > 1)
        return tl_error_set(reterr, TL_PROTOCOL, "TEST_END is not well formed");
    msg.discarded = discarded != 0;
    if (msg.test_id == 0 || msg.reason > TL_WIRE_END_REBOUND || msg.count == 0 ||
        msg.count > TL_WIRE_TOTALS_MAX || msg.streams > TL_WIRE_STREAMS_MAX ||
        msg.first + msg.count > msg.streams || msg.send_path >= TL_SEND_PATH_COUNT)
        return tl_error_set(reterr, TL_RANGE,
                            "TEST_END of test %u, reason %u, %u totals from %u of %u streams",
                            msg.test_id, msg.reason, msg.count, msg.first, msg.streams);
    enum tl_status status = get_totals(&in, &msg, reterr);
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}
