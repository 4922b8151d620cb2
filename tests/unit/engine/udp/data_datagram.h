/* A DATA datagram as a sender makes it, one at a time: for tests of what reads it. */
#ifndef TL_TEST_DATA_DATAGRAM_H
#define TL_TEST_DATA_DATAGRAM_H

#include "udp_datagram.h"

/* Writes the head in front of msg->bytes whose payload is there. */
static inline void seal_data(const struct tl_wire_udp_data *msg, uint8_t *datagram)
{
    udp_head_begin(datagram, msg);
    udp_put64(datagram + 24, msg->sequence);
    udp_put64(datagram + 32, msg->sent_ns);
    uint32_t crc = udp_head_crc(datagram);
    if (!msg->head_crc)
        crc = udp_crc32c(crc, datagram + TL_WIRE_UDP_DATA_HEAD, msg->bytes - TL_WIRE_UDP_DATA_HEAD);
    udp_put32(datagram + UDP_CRC_AT, ~crc);
}

#endif
