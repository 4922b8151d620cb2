/* Datagrams: proof of an address, probes. Layouts: doc/wire.md. */
#include "tightlink/engine/wire.h"

#include "udp_crc.h"
#include "wire_pack.h"

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

size_t tl_wire_encode_udp_prove(const struct tl_wire_udp_prove *msg,
                                uint8_t ret_datagram[TL_WIRE_UDP_HELLO_SIZE])
{
    struct wire_out out = {ret_datagram};
    put_bytes(&out, udp_magic, sizeof udp_magic);
    put_uint(&out, msg->type, 1);
    put_zero(&out, 3);
    put_bytes(&out, msg->token.bytes, TL_WIRE_TOKEN_SIZE);
    put_bytes(&out, msg->challenge.bytes, TL_WIRE_TOKEN_SIZE);
    put_zero(&out, 24);
    return TL_WIRE_UDP_HELLO_SIZE;
}

enum tl_status tl_wire_decode_udp_prove(const uint8_t *datagram, size_t len,
                                        struct tl_wire_udp_prove *ret_msg, struct tl_error *reterr)
{
    unsigned type = tl_wire_udp_type(datagram, len);
    if (type < TL_WIRE_UDP_HELLO || type > TL_WIRE_UDP_PROVEN || len != TL_WIRE_UDP_HELLO_SIZE)
        return tl_error_set(reterr, TL_PROTOCOL, "a datagram of %zu bytes is no proof", len);
    struct wire_in in = {datagram + 5, datagram + len, false};
    struct tl_wire_udp_prove msg = {.type = (uint8_t)type};
    get_zero(&in, 3);
    memcpy(msg.token.bytes, in.at, TL_WIRE_TOKEN_SIZE);
    in.at += TL_WIRE_TOKEN_SIZE;
    memcpy(msg.challenge.bytes, in.at, TL_WIRE_TOKEN_SIZE);
    in.at += TL_WIRE_TOKEN_SIZE;
    get_zero(&in, 24);
    enum tl_status status = wire_close(&in, "the datagram", reterr);
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}

void tl_wire_seal_udp_probe(const struct tl_wire_udp_probe *msg, uint8_t *datagram, size_t len)
{
    bool reply = msg->type == TL_WIRE_UDP_REPLY;
    struct wire_out out = {datagram};
    put_bytes(&out, udp_magic, sizeof udp_magic);
    put_uint(&out, msg->type, 1);
    put_zero(&out, 1);
    put_uint(&out, reply ? msg->received_bytes : msg->reply_bytes, 2);
    put_uint(&out, msg->cookie, 8);
    put_uint(&out, msg->sequence, 4);
    put_zero(&out, 4);
    put_uint(&out, msg->client_ns, 8);
    put_uint(&out, reply ? msg->receive_ns : 0, 8);
    put_uint(&out, reply ? msg->held_ns : 0, 4);
    put_uint(&out, reply ? msg->damaged_count : 0, 4);
    out.at = datagram + CRC_AT;
    put_uint(&out, wire_udp_crc(datagram, len), 4);
}

enum tl_status tl_wire_decode_udp_probe(const uint8_t *datagram, size_t len,
                                        struct tl_wire_udp_probe *ret_msg, bool *ret_intact,
                                        struct tl_error *reterr)
{
    unsigned type = tl_wire_udp_type(datagram, len);
    if (type < TL_WIRE_UDP_PROBE || type > TL_WIRE_UDP_REPLY || len > TL_WIRE_UDP_DATAGRAM_MAX)
        return tl_error_set(reterr, TL_PROTOCOL, "a datagram of %zu bytes is no probe", len);
    struct wire_in in = {datagram + 5, datagram + len, false};
    struct tl_wire_udp_probe msg = {.type = (uint8_t)type};
    get_uint(&in, 1);
    uint16_t bytes = (uint16_t)get_uint(&in, 2);
    msg.cookie = get_uint(&in, 8);
    msg.sequence = (uint32_t)get_uint(&in, 4);
    uint32_t crc = (uint32_t)get_uint(&in, 4);
    msg.client_ns = get_uint(&in, 8);
    msg.receive_ns = get_uint(&in, 8);
    msg.held_ns = (uint32_t)get_uint(&in, 4);
    msg.damaged_count = (uint32_t)get_uint(&in, 4);
    bool reply = type == TL_WIRE_UDP_REPLY;
    msg.received_bytes = reply ? bytes : 0;
    msg.reply_bytes = reply ? 0 : bytes;
    bool intact = crc == wire_udp_crc(datagram, len);
    if (intact &&
        (datagram[5] != 0 || (!reply && (msg.receive_ns || msg.held_ns || msg.damaged_count))))
        return tl_error_set(reterr, TL_PROTOCOL, "a probe has reserved bits set");
    if (intact && !reply && bytes && (bytes < TL_WIRE_UDP_PROBE_SIZE || bytes > len))
        return tl_error_set(reterr, TL_RANGE, "a probe of %zu bytes asks for %u back", len, bytes);
    *ret_intact = intact;
    *ret_msg = msg;
    return TL_OK;
}
