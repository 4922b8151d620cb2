/* A cursor over foreign bytes that never reads outside of them. Private to src/flow.
 *
 * A header is taken whole or not at all: cursor_take() returns NULL where it is cut. The loads
 * below are of bytes that a take has covered. */
#ifndef TL_FLOW_CURSOR_H
#define TL_FLOW_CURSOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
    const uint8_t *at, *end;
};

static inline size_t cursor_left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

/* The next count bytes, or NULL; the cursor moves only where they are there. */
static inline const uint8_t *cursor_take(struct cursor *cursor, size_t count)
{
    if (cursor_left(cursor) < count)
        return NULL;
    const uint8_t *taken = cursor->at;
    cursor->at += count;
    return taken;
}

/* The same without moving. */
static inline const uint8_t *cursor_peek(const struct cursor *cursor, size_t count)
{
    return cursor_left(cursor) < count ? NULL : cursor->at;
}

static inline uint16_t load16(const uint8_t *bytes) /* big-endian, as on the wire */
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t load32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* In the byte order of this machine, as files are written. */
static inline uint16_t load16_host(const uint8_t *bytes)
{
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline uint32_t load32_host(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

#endif
