/* The seal of datagrams: who reads the path of a keyed session knows its tokens and challenges,
 * but not the key by which both ends seal, and so makes no datagram that is taken. The key is of
 * the channel's own secret (secure_seal()); without one nothing is sealed and every call here is
 * for nothing. SipHash-2-4 (Aumasson and Bernstein 2012): made for short words, 50 ns a head.
 *
 * A seal is no encryption and costs no byte: it stands in a field that datagrams had before. */
#ifndef TL_ENGINE_UDP_SEAL_H
#define TL_ENGINE_UDP_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/engine/wire.h"

#define UDP_SEAL_KEY_SIZE 16

struct udp_seal {
    bool on;
    uint64_t key[2];
};

/* What the datagrams of a proven tuple say, and how they are sealed. */
struct udp_pass {
    uint64_t cookie;
    struct udp_seal seal;
};

/* As made of a channel, or of random bytes. */
void udp_seal_init(struct udp_seal *ret_seal, const uint8_t key[UDP_SEAL_KEY_SIZE]);

/* SipHash-2-4 of some bytes, 0 where seal is off. */
uint64_t udp_seal_of(const struct udp_seal *seal, const uint8_t *bytes, size_t len);

/* Of a whole datagram with a CRC (>= 40 bytes): what its CRC field is XORed with. It covers the
 * 40 bytes of a DATA's head, the first 64 bytes of others, in each the CRC field as zero. */
uint32_t udp_seal_mask(const struct udp_seal *seal, const uint8_t *datagram, size_t len);

/* Seals one whose CRC stands, opens one that is sealed. One that was not sealed so, or is too
 * short for it, has a wrong CRC behind it. */
void udp_seal_turn(const struct udp_seal *seal, uint8_t *datagram, size_t len);

/* HELLO to PROVEN have no CRC but a field for the seal: one with it, and whether it fits. */
size_t udp_seal_encode_prove(const struct udp_seal *seal, const struct tl_wire_udp_prove *msg,
                             uint8_t ret_datagram[TL_WIRE_UDP_HELLO_SIZE]);
bool udp_seal_fits_prove(const struct udp_seal *seal, const struct tl_wire_udp_prove *msg,
                         const uint8_t datagram[TL_WIRE_UDP_HELLO_SIZE]);

#endif
