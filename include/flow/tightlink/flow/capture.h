/* Capture files: packets with their times, one after the other.
 *
 * Reads pcap (both byte orders, microseconds and nanoseconds, the "modified" format with longer
 * headers) and pcapng (several sections and interfaces, time resolutions and offsets), plain or
 * compressed with gzip or zstd, in one pass: memory does not depend on the length of the file.
 * A file may be hostile: each length is checked before it is used, a record larger than
 * TL_CAPTURE_BLOCK_MAX is refused.
 *
 * What was read before a fault is good: the error names the byte at which the file breaks, and
 * the caller keeps its results. One thread at a time. */
#ifndef TL_FLOW_CAPTURE_H
#define TL_FLOW_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

/* Largest record or pcapng block: what libpcap takes, too. */
#define TL_CAPTURE_BLOCK_MAX ((size_t)16 << 20)
/* Interfaces of one pcapng section. */
#define TL_CAPTURE_INTERFACES_MAX 1024

/* One packet. The bytes stay valid until the next call with the same capture. */
struct tl_packet {
    int64_t time_ns;         /* since 1970, as the capturing machine's clock had it */
    uint32_t captured_bytes; /* that are in the file */
    uint32_t length_bytes;   /* that were on the wire */
    const uint8_t *data;
    uint16_t link_type; /* LINKTYPE_… (tcpdump.org/linktypes.html) */
    uint16_t interface; /* 0 in a pcap file; counted over all sections of a pcapng file */
    uint64_t number;    /* of the packet, from 1 */
};

/* What the file says of itself. */
struct tl_capture_info {
    char format[16];      /* "pcap", "pcapng" */
    char compression[16]; /* "none", "gzip", "zstd" */
    uint64_t packets_count;
    uint64_t offset_bytes;  /* of the uncompressed file, read so far */
    uint64_t snap_bytes;    /* the smallest snap length of an interface; 0: none is given */
    uint64_t dropped_count; /* that the capturing system says it dropped (pcapng statistics) */
    bool dropped_known;
    unsigned interfaces_count;
    unsigned skipped_count; /* pcapng packets of an interface that was never described */
};

struct tl_capture;

/* Opens a file, "-" for standard input, and reads its first header. TL_IO with the system's reason,
 * TL_SYNTAX where it is no capture. *ret_capture is the caller's. */
enum tl_status tl_capture_open(const char *path, struct tl_capture **ret_capture,
                               struct tl_error *reterr) TL_WARN_UNUSED;

/* The next packet. TL_CLOSED (without an error text) behind the last one. TL_SYNTAX, TL_LIMIT or
 * TL_IO where the file breaks: the text has the offset, no further packet can be read. */
enum tl_status tl_capture_next(struct tl_capture *capture, struct tl_packet *ret_packet,
                               struct tl_error *reterr) TL_WARN_UNUSED;

void tl_capture_info(const struct tl_capture *capture, struct tl_capture_info *ret_info);

void tl_capture_close(struct tl_capture *capture); /* NULL is fine */

/* Whether bytes begin as a file of either format does, unpacked. */
bool tl_capture_is(const void *bytes, size_t len);

#endif
