/* The head of an iperf3 datagram with 64-bit counters: inline, no loops. Big-endian.
 *
 *     0 seconds   4 microseconds   8 number, from 1   16 payload
 *
 * The times are of the sender's monotonic clock. There is no mark of a test and no sum: whatever
 * has the right length is taken, and the kernel's UDP checksum stands for the content. */
#ifndef TL_ENGINE_UDP_IPERF3_H
#define TL_ENGINE_UDP_IPERF3_H

#include "tightlink/base/time.h"
#include "udp_datagram.h"

#define UDP_IPERF3_HEAD 16

static inline void udp_iperf3_seal(uint8_t *head, uint64_t sequence, int64_t time_ns)
{
    udp_put32(head, (uint32_t)(time_ns / TL_NS_PER_S));
    udp_put32(head + 4, (uint32_t)(time_ns % TL_NS_PER_S / TL_NS_PER_US));
    udp_put64(head + 8, sequence + 1);
}

/* The number counts from 0 here; false where it is none. */
static inline bool udp_iperf3_read(const uint8_t *head, uint64_t *ret_sequence, int64_t *ret_ns)
{
    uint64_t number = udp_get64(head + 8);
    uint32_t us = udp_get32(head + 4);
    *ret_sequence = number - 1;
    *ret_ns = (int64_t)udp_get32(head) * TL_NS_PER_S + (int64_t)us * TL_NS_PER_US;
    return number > 0 && us < 1000000;
}

#endif
