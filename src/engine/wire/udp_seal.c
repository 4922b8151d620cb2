/* SipHash-2-4 over the heads of datagrams. */
#include "udp_seal.h"

#include <endian.h>
#include <string.h>

#include "udp_datagram.h"

#define COVERED_MAX 64 /* of a datagram that is no DATA: all that its layout names */

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_rounds(v, 2);
    v[0] ^= word;
}

static uint64_t little64(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return le64toh(word);
}

void udp_seal_init(struct udp_seal *ret_seal, const uint8_t key[UDP_SEAL_KEY_SIZE])
{
    *ret_seal = (struct udp_seal){.on = true, .key = {little64(key), little64(key + 8)}};
}

uint64_t udp_seal_of(const struct udp_seal *seal, const uint8_t *bytes, size_t len)
{
    uint64_t v[4] = {
        seal->key[0] ^ UINT64_C(0x736f6d6570736575), seal->key[1] ^ UINT64_C(0x646f72616e646f6d),
        seal->key[0] ^ UINT64_C(0x6c7967656e657261), seal->key[1] ^ UINT64_C(0x7465646279746573)};
    uint8_t last[8] = {0};
    size_t whole = len / 8 * 8;
    if (!seal->on)
        return 0;
    for (size_t at = 0; at < whole; at += 8)
        sip_word(v, little64(bytes + at));
    memcpy(last, bytes + whole, len - whole);
    last[7] = (uint8_t)len;
    sip_word(v, little64(last));
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint32_t udp_seal_mask(const struct udp_seal *seal, const uint8_t *datagram, size_t len)
{
    uint8_t head[COVERED_MAX];
    if (!seal->on)
        return 0;
    size_t most = datagram[4] == TL_WIRE_UDP_DATA ? TL_WIRE_UDP_DATA_HEAD : sizeof head;
    size_t covered = len < most ? len : most;
    memcpy(head, datagram, covered);
    memset(head + UDP_CRC_AT, 0, 4);
    return (uint32_t)udp_seal_of(seal, head, covered);
}

void udp_seal_turn(const struct udp_seal *seal, uint8_t *datagram, size_t len)
{
    if (!seal->on || len < TL_WIRE_UDP_DATA_HEAD)
        return;
    uint8_t *crc = datagram + UDP_CRC_AT;
    udp_put32(crc, udp_get32(crc) ^ udp_seal_mask(seal, datagram, len));
}

static uint64_t prove_seal(const struct udp_seal *seal, const uint8_t *datagram)
{
    return udp_seal_of(seal, datagram, TL_WIRE_UDP_PROOF_SEALED);
}

size_t udp_seal_encode_prove(const struct udp_seal *seal, const struct tl_wire_udp_prove *msg,
                             uint8_t ret_datagram[TL_WIRE_UDP_HELLO_SIZE])
{
    struct tl_wire_udp_prove sealed = *msg;
    (void)tl_wire_encode_udp_prove(&sealed, ret_datagram);
    sealed.seal = prove_seal(seal, ret_datagram);
    return tl_wire_encode_udp_prove(&sealed, ret_datagram);
}

bool udp_seal_fits_prove(const struct udp_seal *seal, const struct tl_wire_udp_prove *msg,
                         const uint8_t datagram[TL_WIRE_UDP_HELLO_SIZE])
{
    return msg->seal == prove_seal(seal, datagram);
}
