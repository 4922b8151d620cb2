/* A capture file being read: what both formats share. Private to src/flow. */
#ifndef TL_FLOW_CAPTURE_PRIVATE_H
#define TL_FLOW_CAPTURE_PRIVATE_H

#include "cursor.h"
#include "input.h"
#include "tightlink/flow/capture.h"

/* Of a pcapng section. */
struct capture_interface {
    uint16_t link_type;
    uint32_t snap_bytes; /* 0: unlimited */
    int64_t offset_ns;   /* added to each time */
    bool binary;         /* ticks are 2^-exponent of a second, else 10^-exponent */
    uint8_t exponent;
    uint64_t dropped_count; /* by its last statistics block */
};

struct tl_capture {
    struct input input;
    bool swapped; /* the file's numbers are in the other byte order */
    enum tl_status (*next)(struct tl_capture *capture, struct tl_packet *ret_packet,
                           struct tl_error *reterr);
    struct tl_capture_info info;
    /* pcap */
    uint16_t link_type;
    uint32_t record_header_bytes, tick_ns;
    /* pcapng */
    struct capture_interface *interfaces; /* of this section */
    unsigned interface_count;
    size_t interface_room;
    unsigned interface_base; /* those of earlier sections */
};

static inline uint16_t capture16(const struct tl_capture *capture, const uint8_t *bytes)
{
    uint16_t value = load16_host(bytes);
    return capture->swapped ? __builtin_bswap16(value) : value;
}

static inline uint32_t capture32(const struct tl_capture *capture, const uint8_t *bytes)
{
    uint32_t value = load32_host(bytes);
    return capture->swapped ? __builtin_bswap32(value) : value;
}

static inline uint64_t capture_offset(const struct tl_capture *capture)
{
    return capture->input.taken;
}

static inline void capture_note_snap(struct tl_capture *capture, uint32_t snap_bytes)
{
    uint64_t *least = &capture->info.snap_bytes;
    if (snap_bytes != 0 && (*least == 0 || snap_bytes < *least))
        *least = snap_bytes;
}

/* Read the file's first header and set next; the magic number is there. */
enum tl_status pcap_begin(struct tl_capture *capture, struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status pcapng_begin(struct tl_capture *capture, struct tl_error *reterr) TL_WARN_UNUSED;

#define PCAP_MAGIC_US       0xa1b2c3d4u
#define PCAP_MAGIC_NS       0xa1b23c4du
#define PCAP_MAGIC_MODIFIED 0xa1b2cd34u /* longer record headers (libpcap, sf-pcap.c) */
#define PCAPNG_MAGIC        0x0a0d0d0au /* the same in either byte order */

#endif
