/* Datagrams: proof of an address, probes. */
#include "udp_crc.h"
#include "wire_layout.h"

static const uint8_t udp_magic[4] = {'T', 'L', 'U', '1'};

#define CRC_AT WIRE_UDP_CRC_AT

/* Over the whole datagram with its CRC field as zero. */
uint32_t wire_udp_crc(const uint8_t *datagram, size_t len)
{
    static const uint8_t zero[4];
    uint32_t crc = udp_crc32c(UDP_CRC_BEGIN, datagram, CRC_AT);
    crc = udp_crc32c(crc, zero, sizeof zero);
    return ~udp_crc32c(crc, datagram + CRC_AT + 4, len - CRC_AT - 4);
}

unsigned tl_wire_udp_type(const uint8_t *datagram, size_t len)
{
    if (len < TL_WIRE_UDP_PROBE_SIZE || memcmp(datagram, udp_magic, sizeof udp_magic) != 0)
        return 0;
    bool known = datagram[4] <= TL_WIRE_UDP_FEEDBACK ||
                 (datagram[4] >= TL_WIRE_UDP_PATH_PROBE && datagram[4] <= TL_WIRE_UDP_PATH_REPORT);
    return known ? datagram[4] : 0;
}

uint64_t tl_wire_udp_cookie(const struct tl_wire_token *challenge)
{
    struct wire_in in = {challenge->bytes, challenge->bytes + TL_WIRE_TOKEN_SIZE, false};
    return get_uint(&in, 8);
}

/* --- Sealed datagrams ------------------------------------------------------------------------- */

void wire_seal_datagram(const struct wire_layout *layout, const void *msg, uint8_t *datagram,
                        size_t len)
{
    struct wire_out out = {datagram};
    wire_put(layout, msg, &out);
    out.at = datagram + CRC_AT;
    put_uint(&out, wire_udp_crc(datagram, len), 4);
}

static bool is_intact(const uint8_t *datagram, size_t len)
{
    struct wire_in in = {datagram + CRC_AT, datagram + len, false};
    return get_uint(&in, 4) == wire_udp_crc(datagram, len);
}

enum tl_status wire_open_datagram(const struct wire_layout *layout, const uint8_t *datagram,
                                  size_t len, void *msg, struct tl_error *reterr)
{
    struct wire_in in = {datagram, datagram + len, false};
    if (tl_wire_udp_type(datagram, len) != layout->type || len > TL_WIRE_UDP_DATAGRAM_MAX)
        return tl_error_set(reterr, TL_PROTOCOL, "a datagram of %zu bytes is no %s", len,
                            layout->name);
    if (!is_intact(datagram, len))
        return tl_error_set(reterr, TL_PROTOCOL, "a %s was damaged on the way", layout->name);
    enum tl_status status = wire_get(layout, &in, msg, reterr);
    if (status == TL_OK && in.bad)
        status = tl_error_set(reterr, TL_PROTOCOL, "a %s is not well formed", layout->name);
    return status == TL_OK ? wire_check(layout, msg, reterr) : status;
}

/* --- Proof ------------------------------------------------------------------------------------ */

#define MSG tl_wire_udp_prove
static const struct wire_field udp_prove_fields[] = {
    CONST("TLU1"),
    UINT(type, 1, TL_WIRE_UDP_HELLO, TL_WIRE_UDP_PROVEN, "type, 1 to 4"),
    ZERO(3),
    BYTES(token, "token; zero in what the responder sends"),
    BYTES(challenge, "challenge; zero in HELLO"),
    ANY(seal, 8, "seal; zero where datagrams are not sealed"),
    ZERO(16),
};
WIRE_LAYOUT(udp_prove, 0, "proof", NULL)
#undef MSG

size_t tl_wire_encode_udp_prove(const struct tl_wire_udp_prove *msg,
                                uint8_t ret_datagram[TL_WIRE_UDP_HELLO_SIZE])
{
    struct wire_out out = {ret_datagram};
    wire_put(&wire_layout_udp_prove, msg, &out);
    return TL_WIRE_UDP_HELLO_SIZE;
}

enum tl_status tl_wire_decode_udp_prove(const uint8_t *datagram, size_t len,
                                        struct tl_wire_udp_prove *ret_msg, struct tl_error *reterr)
{
    unsigned type = tl_wire_udp_type(datagram, len);
    struct tl_wire_udp_prove msg = {0};
    if (type < TL_WIRE_UDP_HELLO || type > TL_WIRE_UDP_PROVEN)
        return tl_error_set(reterr, TL_PROTOCOL, "a datagram of %zu bytes is no proof", len);
    enum tl_status status = wire_decode(&wire_layout_udp_prove, datagram, len, &msg, reterr);
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}

/* --- Probes ----------------------------------------------------------------------------------- */

#define MSG tl_wire_udp_probe
static const struct wire_field udp_probe_fields[] = {
    CONST("TLU1"),
    UINT(type, 1, TL_WIRE_UDP_PROBE, TL_WIRE_UDP_PROBE, "5"),
    ZERO(1),
    ANY(reply_bytes, 2, "wished length of the reply, 48 to the probe's own; 0 = its own"),
    ANY(cookie, 8, "first half of the challenge"),
    ANY(sequence, 4, "sequence, of the client's choice, back in the reply"),
    CRC("CRC32C (RFC 3720 B.4) of the whole datagram with this field zero"),
    ANY(client_ns, 8, "client's clock at sending, back in the reply"),
    ZERO(16),
};
WIRE_LAYOUT(udp_probe, TL_WIRE_UDP_PROBE, "PROBE", NULL)

static const struct wire_field udp_reply_fields[] = {
    CONST("TLU1"),
    UINT(type, 1, TL_WIRE_UDP_REPLY, TL_WIRE_UDP_REPLY, "6"),
    ZERO(1),
    ANY(received_bytes, 2, "length of the probe as it came"),
    ANY(cookie, 8, "as in the probe"),
    ANY(sequence, 4, "as in the probe"),
    CRC("CRC32C of the whole datagram with this field zero"),
    ANY(client_ns, 8, "as in the probe"),
    ANY(receive_ns, 8,
        "responder's CLOCK_REALTIME when the probe came, ns (the kernel's time stamp)"),
    ANY(held_ns, 4, "from then until the reply was made, ns"),
    ANY(damaged_count, 4, "probes of this tuple so far whose CRC did not fit"),
};
WIRE_LAYOUT(udp_reply, TL_WIRE_UDP_REPLY, "REPLY", NULL)
#undef MSG

static const struct wire_layout *probe_layout(unsigned type)
{
    return type == TL_WIRE_UDP_REPLY ? &wire_layout_udp_reply : &wire_layout_udp_probe;
}

void tl_wire_seal_udp_probe(const struct tl_wire_udp_probe *msg, uint8_t *datagram, size_t len)
{
    wire_seal_datagram(probe_layout(msg->type), msg, datagram, len);
}

/* A damaged one is told as such with what it seems to say: its sender is counted. */
enum tl_status tl_wire_decode_udp_probe(const uint8_t *datagram, size_t len,
                                        struct tl_wire_udp_probe *ret_msg, bool *ret_intact,
                                        struct tl_error *reterr)
{
    unsigned type = tl_wire_udp_type(datagram, len);
    struct wire_in in = {datagram, datagram + len, false};
    struct tl_wire_udp_probe msg = {0};
    if (type < TL_WIRE_UDP_PROBE || type > TL_WIRE_UDP_REPLY || len > TL_WIRE_UDP_DATAGRAM_MAX)
        return tl_error_set(reterr, TL_PROTOCOL, "a datagram of %zu bytes is no probe", len);
    enum tl_status status = wire_get(probe_layout(type), &in, &msg, reterr);
    bool intact = is_intact(datagram, len);
    if (status == TL_OK && intact && in.bad)
        status = tl_error_set(reterr, TL_PROTOCOL, "a probe has reserved bits set");
    if (status == TL_OK && intact && msg.reply_bytes &&
        (msg.reply_bytes < TL_WIRE_UDP_PROBE_SIZE || msg.reply_bytes > len))
        status = tl_error_set(reterr, TL_RANGE, "a probe of %zu bytes asks for %u back", len,
                              msg.reply_bytes);
    if (status != TL_OK)
        return status;
    *ret_intact = intact;
    *ret_msg = msg;
    return TL_OK;
}
