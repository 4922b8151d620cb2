/* The head of a DATA datagram, packed and read at line rate: inline, no loops.
 *
 *     0 "TLU1"   4 type 7   5 flags   6 length   8 cookie   16 test id   20 CRC32C
 *    24 sequence 32 sent_ns 40 payload */
#ifndef TL_ENGINE_UDP_DATAGRAM_H
#define TL_ENGINE_UDP_DATAGRAM_H

#include <endian.h>
#include <string.h>

#include "tightlink/engine/udp_wire.h"
#include "udp_crc.h"
#include "udp_seal.h"

#define UDP_FLAG_HEAD_CRC 1u
#define UDP_CRC_AT        20
#define UDP_VARIES_AT     20 /* in front of it all datagrams of a test are alike */

static inline void udp_put64(uint8_t *at, uint64_t value)
{
    value = htobe64(value);
    memcpy(at, &value, sizeof value);
}

static inline uint64_t udp_get64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return be64toh(value);
}

static inline void udp_put32(uint8_t *at, uint32_t value)
{
    value = htobe32(value);
    memcpy(at, &value, sizeof value);
}

static inline uint32_t udp_get32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return be32toh(value);
}

/* The part that does not change, and a zero where the CRC comes. */
static inline void udp_head_begin(uint8_t *head, const struct tl_wire_udp_data *msg)
{
    memcpy(head, "TLU1", 4);
    head[4] = TL_WIRE_UDP_DATA;
    head[5] = msg->head_crc ? UDP_FLAG_HEAD_CRC : 0;
    head[6] = (uint8_t)(msg->bytes >> 8);
    head[7] = (uint8_t)msg->bytes;
    udp_put64(head + 8, msg->cookie);
    udp_put32(head + 16, msg->test_id);
    udp_put32(head + UDP_CRC_AT, 0);
}

/* The register over a head as it is when its CRC field is read as zero. */
static inline uint32_t udp_head_crc(const uint8_t *head)
{
    uint8_t copy[TL_WIRE_UDP_DATA_HEAD];
    memcpy(copy, head, sizeof copy);
    memset(copy + UDP_CRC_AT, 0, 4);
    return udp_crc32c(UDP_CRC_BEGIN, copy, sizeof copy);
}

/* Of a datagram's first covered bytes (>= TL_WIRE_UDP_DATA_HEAD), which the CRC stands for: whether
 * it fits beneath its seal, and what changes from one to the next. */
static inline bool udp_head_read(const uint8_t *datagram, unsigned covered,
                                 const struct udp_seal *seal, uint64_t *ret_sequence,
                                 uint64_t *ret_sent_ns)
{
    uint32_t crc = udp_head_crc(datagram);
    crc = udp_crc32c(crc, datagram + TL_WIRE_UDP_DATA_HEAD, covered - TL_WIRE_UDP_DATA_HEAD);
    *ret_sequence = udp_get64(datagram + 24);
    *ret_sent_ns = udp_get64(datagram + 32);
    return (~crc ^ udp_seal_mask(seal, datagram, covered)) == udp_get32(datagram + UDP_CRC_AT);
}

#endif
