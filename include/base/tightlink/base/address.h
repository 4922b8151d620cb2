/* Addresses as they are kept everywhere here: IPv6 throughout, IPv4 as ::ffff:a.b.c.d (RFC 4291,
 * section 2.5.5.2). Pure. */
#ifndef TL_BASE_ADDRESS_H
#define TL_BASE_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>

/* "192.0.2.1" or "2001:db8::1". */
void tl_address_text(const struct in6_addr *address, char ret_text[INET6_ADDRSTRLEN]);
/* ::1 and all of 127.0.0.0/8. */
bool tl_address_is_loopback(const struct in6_addr *address);

#endif
