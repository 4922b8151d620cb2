/* Addresses of either version: IPv4 ones are mapped into IPv6 (RFC 4291 section 2.5.5.2). */
#include <arpa/inet.h>
#include <string.h>

#include "decode_private.h"

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool tl_flow_address_is_v4(const struct tl_flow_address *address)
{
    return memcmp(address->bytes, mapped, sizeof mapped) == 0;
}

void tl_flow_address_format(const struct tl_flow_address *address,
                            char ret_text[TL_FLOW_ADDRESS_SIZE])
{
    bool v4 = tl_flow_address_is_v4(address);
    inet_ntop(v4 ? AF_INET : AF_INET6, address->bytes + (v4 ? 12 : 0), ret_text,
              TL_FLOW_ADDRESS_SIZE);
}

void address_from_v4(struct tl_flow_address *address, const uint8_t *bytes)
{
    memcpy(address->bytes, mapped, sizeof mapped);
    memcpy(address->bytes + 12, bytes, 4);
}
