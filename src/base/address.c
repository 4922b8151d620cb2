/* Addresses, IPv4 as IPv6. */
#include "tightlink/base/address.h"

#include <arpa/inet.h>

void tl_address_text(const struct in6_addr *address, char ret_text[INET6_ADDRSTRLEN])
{
    bool v4 = IN6_IS_ADDR_V4MAPPED(address);
    if (!inet_ntop(v4 ? AF_INET : AF_INET6, address->s6_addr + (v4 ? 12 : 0), ret_text,
                   INET6_ADDRSTRLEN))
        ret_text[0] = '\0';
}

bool tl_address_is_loopback(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}
