/* Addresses as the responder keeps them. */
#include "address.h"

#include <string.h>

#include "tightlink/base/address.h"

void address_normalise(struct sockaddr_in6 *address)
{
    if (address->sin6_family != AF_INET)
        return;
    struct sockaddr_in v4;
    memcpy(&v4, address, sizeof v4);
    *address = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = v4.sin_port};
    address->sin6_addr.s6_addr[10] = address->sin6_addr.s6_addr[11] = 0xff;
    memcpy(&address->sin6_addr.s6_addr[12], &v4.sin_addr, 4);
}

void address_plain(const struct in6_addr *address, uint16_t port,
                   struct sockaddr_storage *ret_address, socklen_t *ret_len)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = *address};
    bool is_v4 = IN6_IS_ADDR_V4MAPPED(address);
    memcpy(&v4.sin_addr, &address->s6_addr[12], sizeof v4.sin_addr);
    *ret_len = is_v4 ? sizeof v4 : sizeof v6;
    memcpy(ret_address, is_v4 ? (void *)&v4 : (void *)&v6, *ret_len);
}

void address_network_text(const struct in6_addr *address, char ret_text[INET6_ADDRSTRLEN + 4])
{
    struct in6_addr network = *address;
    bool v4 = IN6_IS_ADDR_V4MAPPED(&network);
    memset(network.s6_addr + (v4 ? 15 : 7), 0, v4 ? 1 : 9);
    tl_address_text(&network, ret_text);
    strcat(ret_text, v4 ? "/24" : "/56");
}

bool address_same_peer(const struct in6_addr *a, const struct in6_addr *b)
{
    bool v4 = IN6_IS_ADDR_V4MAPPED(a);
    return memcmp(a, b, v4 || IN6_IS_ADDR_V4MAPPED(b) ? 16 : 8) == 0;
}
