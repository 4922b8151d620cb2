/* How much of a packet is headers; private to src/capture. */
#ifndef TL_CAPTURE_TRIM_H
#define TL_CAPTURE_TRIM_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the packet up to the end of its TCP header, at most len: what lies behind is payload and
 * is left out. link_bytes is the length of the link header, protocol its EtherType. What is neither
 * TCP nor understood keeps its IP header and 8 bytes (ports, ICMP type). */
size_t capture_header_bytes(const uint8_t *bytes, size_t len, size_t link_bytes, unsigned protocol);

#endif
