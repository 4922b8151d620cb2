/* Messages of a session: hello to bye. Layouts: doc/wire.md. */
#include "tightlink/engine/wire.h"

#include "tightlink/engine/limits.h"
#include "wire_pack.h"

#define WELCOME_SIZE  88 /* HELLO has as much: see wire.h */
#define DATA_OK_SIZE  8
#define PING_SIZE     8
#define PONG_SIZE     16
#define HOST_END_SIZE 2
#define DIAL_SIZE     44
#define DIALLED_SIZE  4

static const uint8_t magic[8] = {'T', 'G', 'H', 'T', 'L', 'I', 'N', 'K'};

/* The version stands right behind the magic in every version to come. */
static enum tl_status get_magic(struct wire_in *in, uint16_t *ret_version, struct tl_error *reterr)
{
    const uint8_t *p = get_bytes(in, sizeof magic);
    if (!p || memcmp(p, magic, sizeof magic) != 0)
        return tl_error_set(reterr, TL_PROTOCOL, "the first frame does not name tightlink");
    *ret_version = (uint16_t)get_uint(in, 2);
    if (in->bad)
        return tl_error_set(reterr, TL_PROTOCOL, "the first frame ends early");
    if (*ret_version != TL_WIRE_VERSION)
        return tl_error_set(reterr, TL_VERSION,
                            "the other end speaks version %u of the protocol, this one version %u",
                            *ret_version, TL_WIRE_VERSION);
    return TL_OK;
}

static void get_token(struct wire_in *in, struct tl_wire_token *ret_token)
{
    const uint8_t *p = get_bytes(in, TL_WIRE_TOKEN_SIZE);
    if (p)
        memcpy(ret_token->bytes, p, TL_WIRE_TOKEN_SIZE);
}

size_t tl_wire_encode_hello(const struct tl_wire_hello *msg, uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_bytes(&out, magic, sizeof magic);
    put_uint(&out, msg->version, 2);
    put_zero(&out, 2);
    put_bytes(&out, msg->nonce.bytes, TL_WIRE_TOKEN_SIZE);
    put_text(&out, msg->program, sizeof msg->program);
    put_zero(&out, 28);
    return wire_seal_frame(ret_frame, TL_WIRE_HELLO, out.at);
}

enum tl_status tl_wire_decode_hello(const uint8_t *payload, size_t len,
                                    struct tl_wire_hello *ret_msg, struct tl_error *reterr)
{
    /* The version is looked at before the length: another version may have another one. */
    struct wire_in in = {payload, payload + len, false};
    struct tl_wire_hello msg = {0};
    enum tl_status status = get_magic(&in, &msg.version, reterr);
    if (status != TL_OK)
        return status;
    get_zero(&in, 2);
    get_token(&in, &msg.nonce);
    get_text(&in, msg.program, sizeof msg.program);
    get_zero(&in, 28);
    status = wire_close(&in, "HELLO", reterr);
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}

size_t tl_wire_encode_welcome(const struct tl_wire_welcome *msg,
                              uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->version, 2);
    put_uint(&out, msg->flags, 2);
    put_bytes(&out, msg->token.bytes, TL_WIRE_TOKEN_SIZE);
    put_bytes(&out, msg->nonce.bytes, TL_WIRE_TOKEN_SIZE);
    put_uint(&out, msg->max_seconds, 2);
    put_uint(&out, msg->max_streams, 2);
    put_uint(&out, msg->rate_cap_bps, 8);
    put_uint(&out, msg->quota_left_bytes, 8);
    put_text(&out, msg->program, sizeof msg->program);
    return wire_seal_frame(ret_frame, TL_WIRE_WELCOME, out.at);
}

enum tl_status tl_wire_decode_welcome(const uint8_t *payload, size_t len,
                                      struct tl_wire_welcome *ret_msg, struct tl_error *reterr)
{
    struct wire_in in = {payload, payload + len, false};
    struct tl_wire_welcome msg = {0};
    msg.version = (uint16_t)get_uint(&in, 2);
    if (!in.bad && msg.version != TL_WIRE_VERSION)
        return tl_error_set(reterr, TL_VERSION, "the responder speaks version %u, this program %u",
                            msg.version, TL_WIRE_VERSION);
    enum tl_status status = wire_open(payload, len, WELCOME_SIZE, "WELCOME", &in, reterr);
    if (status != TL_OK)
        return status;
    get_uint(&in, 2);
    msg.flags = (uint16_t)get_uint(&in, 2);
    get_token(&in, &msg.token);
    get_token(&in, &msg.nonce);
    msg.max_seconds = (uint16_t)get_uint(&in, 2);
    msg.max_streams = (uint16_t)get_uint(&in, 2);
    msg.rate_cap_bps = get_uint(&in, 8);
    msg.quota_left_bytes = get_uint(&in, 8);
    get_text(&in, msg.program, sizeof msg.program);
    status = wire_close(&in, "WELCOME", reterr);
    if (status != TL_OK)
        return status;
    if (msg.flags & ~TL_WIRE_WELCOME_KEYED || msg.max_seconds == 0 ||
        !tl_limit_holds(TL_LIMIT_DURATION_MS, (uint64_t)msg.max_seconds * 1000) ||
        msg.max_streams == 0 || !tl_limit_holds(TL_LIMIT_STREAMS, msg.max_streams) ||
        !tl_limit_holds(TL_LIMIT_RATE_CAP_BPS, msg.rate_cap_bps))
        return tl_error_set(reterr, TL_RANGE, "WELCOME promises what no responder can");
    *ret_msg = msg;
    return TL_OK;
}

size_t tl_wire_encode_error(const struct tl_wire_error *msg, uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->code, 2);
    put_bytes(&out, msg->text, strnlen(msg->text, sizeof msg->text - 1));
    return wire_seal_frame(ret_frame, TL_WIRE_ERROR, out.at);
}

enum tl_status tl_wire_decode_error(const uint8_t *payload, size_t len,
                                    struct tl_wire_error *ret_msg, struct tl_error *reterr)
{
    struct tl_wire_error msg = {0};
    if (len < 2 || len - 2 >= sizeof msg.text)
        return tl_error_set(reterr, TL_PROTOCOL, "ERROR has %zu bytes", len);
    struct wire_in in = {payload, payload + len, false};
    msg.code = (uint16_t)get_uint(&in, 2);
    memcpy(msg.text, in.at, len - 2);
    if (memchr(msg.text, 0, len - 2))
        return tl_error_set(reterr, TL_PROTOCOL, "the text of ERROR has a zero byte");
    *ret_msg = msg;
    return TL_OK;
}

static size_t encode_data_hello(const struct tl_wire_data_hello *msg, enum tl_wire_type type,
                                uint8_t *ret_frame)
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_bytes(&out, magic, sizeof magic);
    put_uint(&out, msg->version, 2);
    put_uint(&out, msg->stream, 2);
    put_uint(&out, msg->test_id, 4);
    put_bytes(&out, msg->token.bytes, TL_WIRE_TOKEN_SIZE);
    return wire_seal_frame(ret_frame, type, out.at);
}

static enum tl_status decode_data_hello(const uint8_t *payload, size_t len, const char *name,
                                        struct tl_wire_data_hello *ret_msg, struct tl_error *reterr)
{
    struct wire_in in = {payload, payload + len, false};
    struct tl_wire_data_hello msg = {0};
    enum tl_status status = get_magic(&in, &msg.version, reterr);
    if (status != TL_OK)
        return status;
    msg.stream = (uint16_t)get_uint(&in, 2);
    msg.test_id = (uint32_t)get_uint(&in, 4);
    get_token(&in, &msg.token);
    status = wire_close(&in, name, reterr);
    if (status != TL_OK)
        return status;
    if (msg.stream >= TL_WIRE_STREAMS_MAX || msg.test_id == 0)
        return tl_error_set(reterr, TL_RANGE, "%s names stream %u of test %u", name, msg.stream,
                            msg.test_id);
    *ret_msg = msg;
    return TL_OK;
}

size_t tl_wire_encode_data_hello(const struct tl_wire_data_hello *msg,
                                 uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    return encode_data_hello(msg, TL_WIRE_DATA_HELLO, ret_frame);
}

enum tl_status tl_wire_decode_data_hello(const uint8_t *payload, size_t len,
                                         struct tl_wire_data_hello *ret_msg,
                                         struct tl_error *reterr)
{
    return decode_data_hello(payload, len, "DATA_HELLO", ret_msg, reterr);
}

size_t tl_wire_encode_peer_hello(const struct tl_wire_peer_hello *msg,
                                 uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    return encode_data_hello(&msg->hello, TL_WIRE_PEER_HELLO, ret_frame);
}

enum tl_status tl_wire_decode_peer_hello(const uint8_t *payload, size_t len,
                                         struct tl_wire_peer_hello *ret_msg,
                                         struct tl_error *reterr)
{
    return decode_data_hello(payload, len, "PEER_HELLO", &ret_msg->hello, reterr);
}

size_t tl_wire_encode_dial(const struct tl_wire_dial *msg, uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->test_id, 4);
    put_uint(&out, msg->peer_test_id, 4);
    put_bytes(&out, msg->peer_token.bytes, TL_WIRE_TOKEN_SIZE);
    put_bytes(&out, msg->peer_address, sizeof msg->peer_address);
    put_uint(&out, msg->peer_port, 2);
    put_zero(&out, 2);
    return wire_seal_frame(ret_frame, TL_WIRE_DIAL, out.at);
}

enum tl_status tl_wire_decode_dial(const uint8_t *payload, size_t len,
                                   struct tl_wire_dial *ret_msg, struct tl_error *reterr)
{
    struct wire_in in;
    struct tl_wire_dial msg = {0};
    enum tl_status status = wire_open(payload, len, DIAL_SIZE, "DIAL", &in, reterr);
    if (status != TL_OK)
        return status;
    msg.test_id = (uint32_t)get_uint(&in, 4);
    msg.peer_test_id = (uint32_t)get_uint(&in, 4);
    get_token(&in, &msg.peer_token);
    const uint8_t *address = get_bytes(&in, sizeof msg.peer_address);
    if (address)
        memcpy(msg.peer_address, address, sizeof msg.peer_address);
    msg.peer_port = (uint16_t)get_uint(&in, 2);
    get_zero(&in, 2);
    status = wire_close(&in, "DIAL", reterr);
    if (status != TL_OK)
        return status;
    if (msg.test_id == 0 || msg.peer_test_id == 0 || msg.peer_port == 0)
        return tl_error_set(reterr, TL_RANGE, "DIAL names no test or no port");
    *ret_msg = msg;
    return TL_OK;
}

size_t tl_wire_encode_dialled(const struct tl_wire_dialled *msg,
                              uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->test_id, 4);
    return wire_seal_frame(ret_frame, TL_WIRE_DIALLED, out.at);
}

enum tl_status tl_wire_decode_dialled(const uint8_t *payload, size_t len,
                                      struct tl_wire_dialled *ret_msg, struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, DIALLED_SIZE, "DIALLED", &in, reterr);
    if (status != TL_OK)
        return status;
    uint32_t test_id = (uint32_t)get_uint(&in, 4);
    status = wire_close(&in, "DIALLED", reterr);
    if (status == TL_OK)
        ret_msg->test_id = test_id;
    return status;
}

size_t tl_wire_encode_data_ok(const struct tl_wire_data_ok *msg,
                              uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->test_id, 4);
    put_uint(&out, msg->stream, 2);
    put_zero(&out, 2);
    return wire_seal_frame(ret_frame, TL_WIRE_DATA_OK, out.at);
}

enum tl_status tl_wire_decode_data_ok(const uint8_t *payload, size_t len,
                                      struct tl_wire_data_ok *ret_msg, struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, DATA_OK_SIZE, "DATA_OK", &in, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_data_ok msg = {0};
    msg.test_id = (uint32_t)get_uint(&in, 4);
    msg.stream = (uint16_t)get_uint(&in, 2);
    get_zero(&in, 2);
    status = wire_close(&in, "DATA_OK", reterr);
    if (status != TL_OK)
        return status;
    if (msg.stream >= TL_WIRE_STREAMS_MAX || msg.test_id == 0)
        return tl_error_set(reterr, TL_RANGE, "DATA_OK names stream %u of test %u", msg.stream,
                            msg.test_id);
    *ret_msg = msg;
    return TL_OK;
}

size_t tl_wire_encode_ping(const struct tl_wire_ping *msg, uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->cookie, 8);
    return wire_seal_frame(ret_frame, TL_WIRE_PING, out.at);
}

enum tl_status tl_wire_decode_ping(const uint8_t *payload, size_t len, struct tl_wire_ping *ret_msg,
                                   struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, PING_SIZE, "PING", &in, reterr);
    if (status == TL_OK)
        ret_msg->cookie = get_uint(&in, 8);
    return status;
}

size_t tl_wire_encode_pong(const struct tl_wire_pong *msg, uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->cookie, 8);
    put_uint(&out, msg->answered_ns, 8);
    return wire_seal_frame(ret_frame, TL_WIRE_PONG, out.at);
}

enum tl_status tl_wire_decode_pong(const uint8_t *payload, size_t len, struct tl_wire_pong *ret_msg,
                                   struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, PONG_SIZE, "PONG", &in, reterr);
    if (status != TL_OK)
        return status;
    ret_msg->cookie = get_uint(&in, 8);
    ret_msg->answered_ns = get_uint(&in, 8);
    return TL_OK;
}

size_t tl_wire_encode_host_end(const struct tl_wire_host_end *msg,
                               uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->records, 2);
    return wire_seal_frame(ret_frame, TL_WIRE_HOST_END, out.at);
}

enum tl_status tl_wire_decode_host_end(const uint8_t *payload, size_t len,
                                       struct tl_wire_host_end *ret_msg, struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, HOST_END_SIZE, "HOST_END", &in, reterr);
    if (status != TL_OK)
        return status;
    uint16_t records = (uint16_t)get_uint(&in, 2);
    if (records > TL_WIRE_RECORDS_MAX)
        return tl_error_set(reterr, TL_RANGE, "HOST_END counts %u records", records);
    ret_msg->records = records;
    return TL_OK;
}
