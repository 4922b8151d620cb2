/* An address of either family as sockets take it: its port and its length. */
#ifndef TL_ENGINE_SOCKET_ADDRESS_H
#define TL_ENGINE_SOCKET_ADDRESS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

static inline socklen_t socket_address_len(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                          : sizeof(struct sockaddr_in);
}

/* 0: any, of a socket that is to be bound. */
static inline void socket_address_set_port(struct sockaddr_storage *address, uint16_t port)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)address)->sin_port = htons(port);
}

#endif
