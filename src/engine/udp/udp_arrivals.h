/* Datagrams that arrive at a receiver, one by one: whose each is, and what it tells the account.
 * Touches no socket. Private to this room. */
#ifndef TL_ENGINE_UDP_ARRIVALS_H
#define TL_ENGINE_UDP_ARRIVALS_H

#include "udp_datagram.h"
#include "udp_flow.h"

struct udp_arrivals {
    struct udp_flow *flow;
    uint8_t prefix[UDP_VARIES_AT]; /* what all datagrams of this test begin with */
    int64_t base_ns;               /* of the sender's clock: UDP_DIALECT_IPERF3 */
};

void udp_arrivals_begin(struct udp_arrivals *arrivals, struct udp_flow *flow);
/* A datagram of len bytes, of which seen are there. own_time: the first of what the kernel handed
 * over with one time of arrival. */
void udp_arrivals_take(struct udp_arrivals *arrivals, const uint8_t *datagram, unsigned len,
                       unsigned seen, int64_t arrival_ns, bool own_time);
/* With our cookie, but from another address: the client's was changed on the way, if the datagram
 * is of this test. */
void udp_arrivals_take_elsewhere(struct udp_arrivals *arrivals, const uint8_t *datagram,
                                 size_t seen);

#endif
