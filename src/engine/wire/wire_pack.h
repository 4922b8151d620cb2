/* Big-endian numbers into and out of frames, with bounds. Private to wire*.c.
 *
 * A reader never goes past its end: what is not there reads as 0 and sets `bad`,
 * so that a decoder checks once. */
#ifndef TL_ENGINE_WIRE_PACK_H
#define TL_ENGINE_WIRE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tightlink/engine/wire.h"

struct wire_out {
    uint8_t *at;
};

static inline void put_uint(struct wire_out *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = bytes; i-- > 0;)
        *out->at++ = (uint8_t)(value >> (8 * i));
}

static inline void put_bytes(struct wire_out *out, const void *bytes, size_t len)
{
    memcpy(out->at, bytes, len);
    out->at += len;
}

static inline void put_zero(struct wire_out *out, size_t len)
{
    memset(out->at, 0, len);
    out->at += len;
}

/* A text field of fixed size, filled up with zeros, its last byte always zero. */
static inline void put_text(struct wire_out *out, const char *text, size_t size)
{
    size_t len = strnlen(text, size - 1);
    put_bytes(out, text, len);
    put_zero(out, size - len);
}

struct wire_in {
    const uint8_t *at, *end;
    bool bad; /* ran past the end, or a reserved byte was not zero */
};

static inline const uint8_t *get_bytes(struct wire_in *in, size_t len)
{
    if ((size_t)(in->end - in->at) < len) {
        in->at = in->end;
        in->bad = true;
        return NULL;
    }
    in->at += len;
    return in->at - len;
}

static inline uint64_t get_uint(struct wire_in *in, unsigned bytes)
{
    const uint8_t *p = get_bytes(in, bytes);
    uint64_t value = 0;
    for (unsigned i = 0; p && i < bytes; i++)
        value = value << 8 | p[i];
    return value;
}

static inline void get_zero(struct wire_in *in, size_t len)
{
    const uint8_t *p = get_bytes(in, len);
    for (size_t i = 0; p && i < len; i++)
        in->bad |= p[i] != 0;
}

/* Copies a fixed field of printable ASCII; a byte behind the first zero that is not
 * zero, or no zero at all, is bad: one text has one spelling. */
static inline void get_text(struct wire_in *in, char *ret_text, size_t size)
{
    const uint8_t *p = get_bytes(in, size);
    if (!p)
        return;
    size_t len = strnlen((const char *)p, size);
    for (size_t i = 0; i < len; i++)
        in->bad |= p[i] < 0x20 || p[i] > 0x7e;
    for (size_t i = len; i < size; i++)
        in->bad |= p[i] != 0;
    in->bad |= len == size;
    if (!in->bad)
        memcpy(ret_text, p, size);
}

/* Base-128 numbers, least significant group first (as protobuf and DWARF have them): most
 * counters are small, and samples go out while the path is loaded. */
static inline void put_varint(struct wire_out *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *out->at++ = (uint8_t)(value | 0x80);
    *out->at++ = (uint8_t)value;
}

static inline uint64_t get_varint(struct wire_in *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = get_uint(in, 1);
        uint64_t bits = byte & 0x7f;
        /* The tenth byte has one bit left; a number has one spelling, without zeros behind. */
        in->bad |= (shift == 63 && byte > 1) || (shift > 0 && byte == 0);
        value |= bits << shift;
        if (byte < 0x80 || in->bad)
            return value;
    }
    in->bad = true;
    return value;
}

/* Writes the header in front of a payload that ends at `end`; the frame's length. */
static inline size_t wire_seal_frame(uint8_t *frame, enum tl_wire_type type, const uint8_t *end)
{
    size_t payload_len = (size_t)(end - frame) - TL_WIRE_HEADER_SIZE;
    struct wire_out out = {frame};
    put_uint(&out, payload_len, 2);
    put_uint(&out, type, 1);
    put_zero(&out, 1);
    return payload_len + TL_WIRE_HEADER_SIZE;
}

/* What every decoder of a fixed layout begins with. */
static inline enum tl_status wire_open(const uint8_t *payload, size_t len, size_t size,
                                       const char *name, struct wire_in *ret_in,
                                       struct tl_error *reterr)
{
    *ret_in = (struct wire_in){payload, payload + len, false};
    if (len == size)
        return TL_OK;
    return tl_error_set(reterr, TL_PROTOCOL, "%s has %zu bytes, not %zu", name, len, size);
}

/* And what it ends with. */
static inline enum tl_status wire_close(const struct wire_in *in, const char *name,
                                        struct tl_error *reterr)
{
    if (!in->bad && in->at == in->end)
        return TL_OK;
    return tl_error_set(reterr, TL_PROTOCOL, "%s is not well formed", name);
}

/* wire_udp.c: of a whole datagram with its CRC field, at WIRE_UDP_CRC_AT, as zero. */
#define WIRE_UDP_CRC_AT 20
uint32_t wire_udp_crc(const uint8_t *datagram, size_t len);

#endif
