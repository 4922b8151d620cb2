/* What a middlebox changes in headers on their way: the segment size and options of
 * TCP's SYN, the traffic class. Checksums are mended, so that ends notice nothing. */
#ifndef TL_LAB_MANGLE_H
#define TL_LAB_MANGLE_H

#include <stdbool.h>
#include <stddef.h>

#include "tightlink/lab/config.h"

/* Whether this link changes headers at all. */
bool tl_lab_mangles(const struct tl_lab_link_config *link);

/* Changes one IP packet in place; its length stays. Packets that are cut short or
 * malformed, and later fragments, keep what cannot be read. */
void tl_lab_mangle(unsigned char *packet, size_t len, const struct tl_lab_link_config *link);

/* Congestion experienced (RFC 3168): what a queue says instead of dropping. */
void tl_lab_mangle_mark(unsigned char *packet, size_t len);

/* Completes the TCP or UDP checksum of a packet that its sender left to the NIC. */
void tl_lab_mangle_checksum(unsigned char *packet, size_t len);

#endif
