/* Captures made for tests. */
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void add8(struct tl_buf *buf, unsigned value)
{
    uint8_t byte = (uint8_t)value;
    tl_buf_add(buf, &byte, 1);
}

void build16(struct tl_buf *buf, unsigned value)
{
    add8(buf, value >> 8);
    add8(buf, value);
}

void build32(struct tl_buf *buf, uint32_t value)
{
    build16(buf, value >> 16);
    build16(buf, value & 0xffff);
}

static void host16(struct tl_buf *buf, unsigned value)
{
    uint16_t number = (uint16_t)value;
    tl_buf_add(buf, &number, sizeof number);
}

static void host32(struct tl_buf *buf, uint32_t value)
{
    tl_buf_add(buf, &value, sizeof value);
}

void build_bytes(struct tl_buf *buf, const char *hex)
{
    for (char *end; *hex; hex = end) {
        unsigned long value = strtoul(hex, &end, 16);
        if (end == hex)
            return;
        add8(buf, (unsigned)value);
    }
}

void build_ether(struct tl_buf *buf, uint16_t type)
{
    build_bytes(buf, "02 00 00 00 00 01 02 00 00 00 00 02");
    build16(buf, type);
}

static void add_options(struct tl_buf *buf, const struct build_segment *segment)
{
    if (segment->mss_bytes) {
        build_bytes(buf, "02 04");
        build16(buf, segment->mss_bytes);
    }
    if (segment->sack_permitted)
        build_bytes(buf, "01 01 04 02");
    if (segment->timestamps) {
        build_bytes(buf, "01 01 08 0a");
        build32(buf, segment->tsval);
        build32(buf, segment->tsecr);
    }
    if (segment->wscale >= 0) {
        build_bytes(buf, "01 03 03");
        add8(buf, (unsigned)segment->wscale);
    }
    if (segment->sack_count) {
        build_bytes(buf, "01 01 05");
        add8(buf, 2 + 8 * segment->sack_count);
    }
    for (unsigned i = 0; i < segment->sack_count; i++) {
        build32(buf, segment->sacks[i][0]);
        build32(buf, segment->sacks[i][1]);
    }
}

static void add_address(struct tl_buf *buf, const struct build_segment *segment, unsigned host)
{
    if (segment->v6)
        build_bytes(buf, "fd 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
    else
        build_bytes(buf, "0a 0 0");
    add8(buf, host);
}

void build_ip(struct tl_buf *buf, const struct build_segment *segment)
{
    struct tl_buf options = TL_BUF_INIT;
    add_options(&options, segment);
    size_t tcp = 20 + options.len + segment->payload_bytes;
    if (segment->v6) {
        build32(buf, 0x60000000u | (uint32_t)segment->ecn << 20);
        build16(buf, (unsigned)tcp);
        build16(buf, 0x0640);
    } else {
        build16(buf, 0x4500u | segment->ecn);
        build16(buf, (unsigned)(tcp + 20));
        build16(buf, segment->ip_id);
        build_bytes(buf, "40 0 40 6 0 0");
    }
    add_address(buf, segment, segment->from);
    add_address(buf, segment, segment->to);
    build16(buf, segment->from_port);
    build16(buf, segment->to_port);
    build32(buf, segment->seq);
    build32(buf, segment->ack);
    build16(buf, (unsigned)((20 + options.len) / 4) << 12 | segment->flags);
    build16(buf, segment->window);
    build32(buf, 0x12340000);
    tl_buf_add(buf, tl_buf_text(&options), options.len);
    tl_buf_finish(&options);
    static const char zeros[65536];
    tl_buf_add(buf, zeros, segment->payload_bytes);
}

void build_pcap_begin(struct tl_buf *file, uint16_t link_type)
{
    host32(file, 0xa1b23c4d);
    host16(file, 2);
    host16(file, 4);
    host32(file, 0);
    host32(file, 0);
    host32(file, 262144);
    host32(file, link_type);
}

void build_pcap_record(struct tl_buf *file, int64_t time_ns, const void *bytes, size_t captured,
                       size_t length)
{
    host32(file, (uint32_t)(time_ns / 1000000000));
    host32(file, (uint32_t)(time_ns % 1000000000));
    host32(file, (uint32_t)captured);
    host32(file, (uint32_t)length);
    tl_buf_add(file, bytes, captured);
}

void build_pcap_segment(struct tl_buf *file, const struct build_segment *segment, size_t snap)
{
    struct tl_buf frame = TL_BUF_INIT;
    build_ether(&frame, segment->v6 ? 0x86dd : 0x0800);
    build_ip(&frame, segment);
    size_t captured = snap && snap < frame.len ? snap : frame.len;
    build_pcap_record(file, segment->time_ns, frame.data, captured, frame.len);
    tl_buf_finish(&frame);
}

void build_pcapng_block(struct tl_buf *file, uint32_t type, const void *body, size_t len)
{
    uint32_t padded = (uint32_t)(len + 3) & ~3u;
    host32(file, type);
    host32(file, padded + 12);
    tl_buf_add(file, body, len);
    tl_buf_add(file, "\0\0\0", padded - len);
    host32(file, padded + 12);
}

void build_pcapng_begin(struct tl_buf *file, uint16_t link_type)
{
    struct tl_buf body = TL_BUF_INIT;
    host32(&body, 0x1a2b3c4d);
    host32(&body, 1);
    host32(&body, UINT32_MAX);
    host32(&body, UINT32_MAX);
    build_pcapng_block(file, 0x0a0d0d0a, body.data, body.len);
    tl_buf_finish(&body);
    host32(&body, link_type);
    host32(&body, 96);
    host16(&body, 9); /* if_tsresol */
    host16(&body, 1);
    build_bytes(&body, "09 0 0 0");
    host32(&body, 0);
    build_pcapng_block(file, 1, body.data, body.len);
    tl_buf_finish(&body);
}

struct tl_capture *build_open(const void *bytes, size_t len, struct tl_error *ret_error)
{
    char path[64];
    struct tl_capture *capture = NULL;
    int fd = memfd_create("capture", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, len) != (ssize_t)len) {
        (void)tl_error_set(ret_error, TL_IO, "no memory file");
        return NULL;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (tl_capture_open(path, &capture, ret_error) != TL_OK)
        capture = NULL;
    close(fd);
    return capture;
}
