/* How large the datagrams of a test are. */
#include "datagram.h"

#include <math.h>

#include "tightlink/engine/udp.h"
#include "tightlink/facts/facts.h"

unsigned tl_datagram_bytes(const struct tl_facts *facts, enum tl_direction direction)
{
    double segment = tl_facts_number(facts, TL_FLOW(direction, mss_bytes), TL_UDP_DATAGRAM_BYTES);
    double bytes = fmin(segment, TL_UDP_DATAGRAM_BYTES);
    return (unsigned)fmax(bytes, TL_UDP_DATAGRAM_MIN);
}
