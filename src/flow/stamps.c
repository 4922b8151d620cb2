/* When timestamps passed, until they come back. */
#include "stamps.h"

#include <stdlib.h>

#define ROOM_FIRST 16u

void stamps_finish(struct stamps *stamps)
{
    free(stamps->ring);
    *stamps = (struct stamps){0};
}

static struct stamp *at(const struct stamps *stamps, uint32_t index)
{
    return &stamps->ring[(stamps->head + index) & (stamps->room - 1)];
}

static void drop_first(struct stamps *stamps)
{
    stamps->head = (stamps->head + 1) & (stamps->room - 1);
    stamps->count--;
}

static bool grow(struct stamps *stamps)
{
    uint32_t room = stamps->room ? 2 * stamps->room : ROOM_FIRST;
    struct stamp *ring = malloc(room * sizeof *ring);
    if (!ring)
        return false;
    for (uint32_t i = 0; i < stamps->count; i++)
        ring[i] = *at(stamps, i);
    free(stamps->ring);
    *stamps = (struct stamps){.ring = ring, .count = stamps->count, .room = room};
    return true;
}

static bool is_before(uint32_t value, uint32_t other)
{
    return (int32_t)(value - other) < 0;
}

void stamps_sent(struct stamps *stamps, uint32_t value, int64_t time_ns)
{
    if (stamps->count && !is_before(at(stamps, stamps->count - 1)->value, value))
        return; /* the same tick, or it was overtaken */
    if (stamps->count == stamps->room && (stamps->room == STAMPS_MAX || !grow(stamps))) {
        if (stamps->count == 0)
            return;
        drop_first(stamps);
    }
    *at(stamps, stamps->count++) = (struct stamp){time_ns, value};
}

int64_t stamps_echoed(struct stamps *stamps, uint32_t value)
{
    while (stamps->count && is_before(at(stamps, 0)->value, value))
        drop_first(stamps);
    return stamps->count && at(stamps, 0)->value == value ? at(stamps, 0)->time_ns : 0;
}
