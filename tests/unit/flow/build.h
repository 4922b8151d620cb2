/* Captures made for tests: exact bytes, exact times. */
#ifndef TL_TESTS_FLOW_BUILD_H
#define TL_TESTS_FLOW_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/buf.h"
#include "tightlink/flow/capture.h"

/* One TCP segment. Hosts are numbers: 10.0.0.N, or fd00::N for IPv6. */
struct build_segment {
    int64_t time_ns;
    unsigned from, to; /* hosts */
    uint16_t from_port, to_port, window, ip_id;
    uint32_t seq, ack, payload_bytes;
    uint8_t flags, ecn;
    bool v6;
    uint16_t mss_bytes; /* 0: no option */
    int wscale;         /* -1: no option */
    bool sack_permitted, timestamps;
    uint32_t tsval, tsecr;
    unsigned sack_count;
    uint32_t sacks[4][2];
};

/* Adds the IP packet; its payload are zeros. */
void build_ip(struct tl_buf *buf, const struct build_segment *segment);
/* An Ethernet header of that type. */
void build_ether(struct tl_buf *buf, uint16_t type);
void build_bytes(struct tl_buf *buf, const char *hex); /* "08 00 45" */
void build16(struct tl_buf *buf, unsigned value);      /* big-endian */
void build32(struct tl_buf *buf, uint32_t value);

/* A pcap file in this machine's byte order, times in ns. */
void build_pcap_begin(struct tl_buf *file, uint16_t link_type);
void build_pcap_record(struct tl_buf *file, int64_t time_ns, const void *bytes, size_t captured,
                       size_t length);
/* The segment in Ethernet as a record, cut at snap bytes (0: whole). */
void build_pcap_segment(struct tl_buf *file, const struct build_segment *segment, size_t snap);

void build_pcapng_block(struct tl_buf *file, uint32_t type, const void *body, size_t len);
void build_pcapng_begin(struct tl_buf *file, uint16_t link_type);

/* Opens the bytes as a capture; NULL with the error filled. */
struct tl_capture *build_open(const void *bytes, size_t len, struct tl_error *ret_error);

#endif
