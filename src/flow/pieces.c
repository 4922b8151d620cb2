/* The data packets of a direction that are in flight: a ring in the order of the stream; and what
 * they would leave waiting. */
#include <stdlib.h>

#include "half.h"

/* Faster than the flow by this, so that only what is sent together waits. */
#define LINK_OVER_FLOW 1.5

void pieces_drop_first(struct half *half)
{
    const struct piece *piece = half_piece(half, 0);
    if (piece->state & PIECE_SACKED) /* one that had no room may have left its mark alone */
        half->sacked_bytes -= piece->len < half->sacked_bytes ? piece->len : half->sacked_bytes;
    half->piece_ring.head = (half->piece_ring.head + 1) & (half->piece_ring.room - 1);
    half->piece_ring.count--;
}

static bool grow_pieces(struct half *half)
{
    struct ring *ring = &half->piece_ring;
    uint32_t room = ring->room ? 2 * ring->room : 16;
    struct piece *pieces = malloc(room * sizeof *pieces);
    if (!pieces)
        return false;
    for (uint32_t i = 0; i < ring->count; i++)
        pieces[i] = *half_piece(half, i);
    free(half->pieces);
    half->pieces = pieces;
    half->out->held_bytes += (room - ring->room) * sizeof *pieces;
    ring->head = 0;
    ring->room = room;
    return true;
}

struct piece *pieces_append(struct half *half)
{
    struct ring *ring = &half->piece_ring;
    if (ring->count == ring->room) {
        if (ring->room == HALF_PIECES_MAX)
            pieces_drop_first(half);
        else if (!grow_pieces(half))
            return NULL;
    }
    return half_piece(half, ring->count++);
}

uint32_t pieces_find(const struct half *half, uint64_t byte)
{
    uint32_t low = 0, high = half->piece_ring.count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const struct piece *piece = half_piece(half, middle);
        if (piece->begin + piece->len <= byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pieces_split(struct half *half, uint64_t byte)
{
    uint32_t index = pieces_find(half, byte);
    if (index == half->piece_ring.count || half_piece(half, index)->begin >= byte ||
        !pieces_append(half))
        return;
    if (index + 1 >= half->piece_ring.count) /* the oldest made room for the new one: it was this */
        return;
    half->steps_count += half->piece_ring.count - index;
    for (uint32_t i = half->piece_ring.count - 1; i > index; i--)
        *half_piece(half, i) = *half_piece(half, i - 1);
    struct piece *first = half_piece(half, index), *second = half_piece(half, index + 1);
    uint32_t len = (uint32_t)(byte - first->begin);
    second->begin = byte;
    second->len = first->len - len;
    first->len = len;
}

/* What was jumped over, a segment each. It may have followed at once on what came before: the end
 * of what is sent together is what policers and queues drop. Hence the load is that of then, also
 * where what came next was sent a round trip later. */
void pieces_append_holes(struct half *half, int64_t time_ns, uint64_t end)
{
    int64_t before_ns = half->last_data_ns ? half->last_data_ns : time_ns;
    while (half->next < end) {
        struct piece *piece = pieces_append(half);
        uint64_t len = end - half->next < half_mss(half) ? end - half->next : half_mss(half);
        if (piece)
            *piece = (struct piece){
                .begin = half->next,
                .len = (uint32_t)len,
                .first_ns = time_ns,
                .last_ns = before_ns,
                .rtt_ns = half->last_rtt_ns,
                .flight_bytes = (uint32_t)half_flight(half->next + len, half->data_gone),
                .next_flight_bytes = (uint32_t)half_flight(half->next + len, half->sender_gone),
                .backlog_bytes = pieces_queue(half, before_ns, (uint32_t)len),
                .state = PIECE_HOLE};
        half->next += len;
        half->holes_count++;
        half->steps_count++;
    }
}

uint32_t pieces_queue(struct half *half, int64_t time_ns, uint32_t bytes)
{
    if (half->last_rtt_ns == 0 || half->peak == 0)
        return 0;
    double rate = LINK_OVER_FLOW * (double)half->peak / half->last_rtt_ns;
    double left = half->backlog_bytes - rate * (double)(time_ns - half->backlog_ns);
    half->backlog_bytes = (left > 0 ? left : 0) + bytes;
    half->backlog_ns = time_ns;
    return half->backlog_bytes < UINT32_MAX ? (uint32_t)half->backlog_bytes : UINT32_MAX;
}
