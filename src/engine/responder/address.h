/* Addresses as the responder keeps them: IPv6 throughout, IPv4 as ::ffff:a.b.c.d. Pure. */
#ifndef TL_ENGINE_ADDRESS_H
#define TL_ENGINE_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

/* Turns an AF_INET address as accept() and recvmsg() fill it in into ::ffff:a.b.c.d. */
void address_normalise(struct sockaddr_in6 *address);
/* The other way round: as a socket of the address's own family wants it. */
void address_plain(const struct in6_addr *address, uint16_t port,
                   struct sockaddr_storage *ret_address, socklen_t *ret_len);
/* Its /24 or /56: "192.0.2.0/24". */
void address_network_text(const struct in6_addr *address, char ret_text[INET6_ADDRSTRLEN + 4]);
/* The same peer for the limit of sessions: one IPv4 address or one IPv6 /64. */
bool address_same_peer(const struct in6_addr *a, const struct in6_addr *b);

#endif
