/* How large the datagrams of a test are. Private. */
#ifndef TL_PROBES_DATAGRAM_H
#define TL_PROBES_DATAGRAM_H

#include "tightlink/probes/probes.h"

/* Payload in bytes of datagrams that pass wherever the direction's TCP segments do: as much as a
 * segment carries (its head of 20 bytes and more is longer than UDP's 8), at most
 * TL_UDP_DATAGRAM_BYTES. Behind tunnels and other links below 1476 bytes larger ones vanish or come
 * back as too big. Where no segment told, TL_UDP_DATAGRAM_BYTES. */
unsigned tl_datagram_bytes(const struct tl_facts *facts, enum tl_direction direction);

#endif
