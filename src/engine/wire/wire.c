/* Frames, names of types, tokens. The messages are tables (wire_layout.h) in wire_session.c (hello
 * to bye), wire_test.c, wire_disk.c, udp_wire.c (tests), wire_record.c (records, samples), and the
 * datagrams in wire_udp.c and wire_path.c. */
#include "tightlink/engine/wire.h"

#include "wire_pack.h"

static const uint8_t no_payload[1];

enum tl_status tl_wire_peek(const uint8_t *bytes, size_t len, struct tl_wire_frame *ret_frame,
                            struct tl_error *reterr)
{
    /* One byte is enough to refuse every printable character. */
    if (len >= 1 && bytes[0] > TL_WIRE_PAYLOAD_MAX >> 8)
        return tl_error_set(reterr, TL_PROTOCOL, "these bytes are no tightlink frame");
    size_t payload_len = len >= 2 ? (size_t)bytes[0] << 8 | bytes[1] : 0;
    if (payload_len > TL_WIRE_PAYLOAD_MAX)
        return tl_error_set(reterr, TL_PROTOCOL, "a frame of %zu bytes is too long", payload_len);
    if (len >= 4 && bytes[3] != 0)
        return tl_error_set(reterr, TL_PROTOCOL, "a frame header has a reserved bit set");
    struct tl_wire_frame frame = {.payload = no_payload};
    if (len >= TL_WIRE_HEADER_SIZE && len - TL_WIRE_HEADER_SIZE >= payload_len) {
        frame.type = bytes[2];
        frame.payload = payload_len ? bytes + TL_WIRE_HEADER_SIZE : no_payload;
        frame.payload_len = payload_len;
        frame.frame_len = payload_len + TL_WIRE_HEADER_SIZE;
    }
    *ret_frame = frame;
    return TL_OK;
}

const char *tl_wire_type_name(unsigned type)
{
    switch (type) {
#define TYPE_CASE(name, number)                                                                    \
    case number:                                                                                   \
        return #name;
        TL_WIRE_TYPE_MAP(TYPE_CASE)
#undef TYPE_CASE
    default:
        return "?";
    }
}

const char *tl_wire_error_name(unsigned code)
{
    switch (code) {
#define ERROR_CASE(name, number, lives)                                                            \
    case number:                                                                                   \
        return #name;
        TL_WIRE_ERROR_MAP(ERROR_CASE)
#undef ERROR_CASE
    default:
        return "?";
    }
}

bool tl_wire_error_is_final(unsigned code)
{
    switch (code) {
#define ERROR_CASE(name, number, lives)                                                            \
    case number:                                                                                   \
        return !lives;
        TL_WIRE_ERROR_MAP(ERROR_CASE)
#undef ERROR_CASE
    default:
        return true;
    }
}

bool tl_wire_token_equal(const struct tl_wire_token *a, const struct tl_wire_token *b)
{
    unsigned differ = 0;
    for (size_t i = 0; i < TL_WIRE_TOKEN_SIZE; i++)
        differ |= (unsigned)(a->bytes[i] ^ b->bytes[i]);
    return differ == 0;
}

size_t tl_wire_encode_empty(enum tl_wire_type type, uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    return wire_seal_frame(ret_frame, type, ret_frame + TL_WIRE_HEADER_SIZE);
}
