/* Where the headers of a packet end. Foreign bytes: each read lies within len. */
#include "trim.h"

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define PROTOCOL_TCP   6
#define IPV6_BYTES     40
#define PORTS_BYTES    8
#define TCP_LEAST      20

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t capture_header_bytes(const uint8_t *bytes, size_t len, size_t link_bytes, unsigned protocol)
{
    size_t ip = link_bytes, transport = ip;
    unsigned carried = 0;
    if (protocol == ETHERTYPE_IPV4 && len >= ip + 20) {
        transport = ip + (size_t)(bytes[ip] & 15) * 4;
        carried = bytes[ip + 9];
    } else if (protocol == ETHERTYPE_IPV6 && len >= ip + IPV6_BYTES) {
        transport = ip + IPV6_BYTES;
        carried = bytes[ip + 6];
    }
    if (transport < ip + 20) /* no IP, or cut, or a length that cannot be */
        return least(len, ip);
    if (carried != PROTOCOL_TCP || len < transport + TCP_LEAST)
        return least(len, transport + PORTS_BYTES);
    size_t header = (size_t)(bytes[transport + 12] >> 4) * 4;
    return least(len, transport + (header < TCP_LEAST ? TCP_LEAST : header));
}
