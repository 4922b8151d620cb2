/* The responder's UDP port: datagrams in, answers out, and sockets of tests on the same port, each
 * with the datagrams that carry its cookie. Knows neither sessions nor what datagrams mean. */
#ifndef TL_ENGINE_UDP_PORT_H
#define TL_ENGINE_UDP_PORT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

struct udp_port;

/* A datagram as it came. */
struct arrival {
    struct sockaddr_in6 from; /* as the kernel filled it in: see address_normalise() */
    uint8_t *bytes;           /* the port's, until the next datagram; room for
                               * TL_WIRE_UDP_DATAGRAM_MAX, behind len are others' bytes */
    size_t len;
    int64_t realtime_ns; /* the kernel's, or ours where it gives none */
    struct in6_pktinfo to6;
    struct in_pktinfo to4;
    bool has_to6, has_to4;
    int traffic_class, ttl; /* -1: not told */
};

/* How an answer leaves: 0 for the kernel's own. */
struct departure {
    uint8_t traffic_class, ttl;
};

/* Sets the options of a socket that is bound and stays the caller's. */
enum tl_status udp_port_create(int fd, struct udp_port **ret_port) TL_WARN_UNUSED;
void udp_port_destroy(struct udp_port *port); /* NULL is fine */

int udp_port_fd(const struct udp_port *port);
/* False: none is waiting. */
bool udp_port_receive(struct udp_port *port, struct arrival *ret_arrival);
/* Sends from the address that was asked; 0 or the errno of sendmsg(). */
int udp_port_reply(struct udp_port *port, const struct arrival *to, const struct departure *how,
                   const uint8_t *bytes, size_t len);

/* A socket for the datagrams with this cookie; leave() closes it. */
enum tl_status udp_port_join(struct udp_port *port, uint64_t cookie, int *ret_fd,
                             struct tl_error *reterr) TL_WARN_UNUSED;
void udp_port_leave(struct udp_port *port, int fd);

#endif
