/* The table of connections: readings in, intervals out. What an interval holds: live_interval.c. */
#include "tightlink/flow/live.h"

#include <stdlib.h>
#include <string.h>

#include "live_interval.h"
#include "tightlink/base/grow.h"

struct entry {
    struct tl_live_flow flow;
    struct live_span span; /* what has been read of the interval that is not closed yet */
    uint64_t reading;      /* number of the reading that met it last */
};

struct tl_live {
    struct entry **entries; /* in no order; each is its own allocation, so that pointers stay */
    size_t count, cap;
    size_t *slots; /* hash of cookies: index + 1 into entries, 0 for none; a power of two */
    size_t slot_count;
    uint64_t reading;
    bool first_reading;
    int64_t now_ns, closed_ns;
    struct tl_live_sum sum; /* of the open interval: only short flows and `whole` */
};

#define FIRST_SLOTS 256

struct tl_live *tl_live_create(int64_t now_ns)
{
    struct tl_live *live = calloc(1, sizeof(*live));

    if (!live)
        return NULL;
    live->slots = calloc(FIRST_SLOTS, sizeof(*live->slots));
    if (!live->slots) {
        free(live);
        return NULL;
    }
    live->slot_count = FIRST_SLOTS;
    live->now_ns = live->closed_ns = now_ns;
    live->first_reading = true;
    live->sum.whole = true;
    return live;
}

static void free_entry(struct entry *entry)
{
    free(entry->flow.intervals);
    free(entry);
}

void tl_live_destroy(struct tl_live *live)
{
    if (!live)
        return;
    for (size_t i = 0; i < live->count; i++)
        free_entry(live->entries[i]);
    free(live->entries);
    free(live->slots);
    free(live);
}

/* --- Finding by cookie ---------------------------------------------------------------------- */

/* The kernel counts cookies up: a multiplication spreads them (Knuth, 6.4). */
static size_t slot_of(const struct tl_live *live, uint64_t cookie)
{
    return (size_t)(cookie * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (live->slot_count - 1);
}

static void fill_slot(struct tl_live *live, size_t index)
{
    size_t slot = slot_of(live, live->entries[index]->flow.socket.cookie);

    while (live->slots[slot])
        slot = (slot + 1) & (live->slot_count - 1);
    live->slots[slot] = index + 1;
}

static void fill_slots(struct tl_live *live)
{
    memset(live->slots, 0, live->slot_count * sizeof(*live->slots));
    for (size_t i = 0; i < live->count; i++)
        fill_slot(live, i);
}

static struct entry *find(const struct tl_live *live, uint64_t cookie)
{
    for (size_t slot = slot_of(live, cookie); live->slots[slot];
         slot = (slot + 1) & (live->slot_count - 1)) {
        struct entry *entry = live->entries[live->slots[slot] - 1];
        if (entry->flow.socket.cookie == cookie)
            return entry;
    }
    return NULL;
}

/* Half of the slots stay free, so that a search is short. */
static bool make_room(struct tl_live *live)
{
    if (!tl_grow(&live->entries, live->count, &live->cap, FIRST_SLOTS / 2, sizeof *live->entries))
        return false;
    if (2 * (live->count + 1) > live->slot_count) {
        size_t *slots = calloc(2 * live->slot_count, sizeof(*slots));
        if (!slots)
            return false;
        free(live->slots);
        live->slots = slots;
        live->slot_count *= 2;
        fill_slots(live);
    }
    return true;
}

static struct entry *add(struct tl_live *live, const struct tl_host_socket *socket)
{
    if (live->count == TL_LIVE_FLOWS_MAX || !make_room(live))
        return NULL;
    struct entry *entry = calloc(1, sizeof(*entry));
    if (!entry)
        return NULL;
    entry->flow.socket = *socket;
    entry->flow.first_ns = entry->flow.last_ns = live->now_ns;
    entry->flow.new_here = !live->first_reading;
    entry->flow.first_bytes = socket->acked_bytes + socket->received_bytes;
    live_span_start(&entry->span, socket, entry->flow.new_here ? live->closed_ns : live->now_ns);
    if (entry->flow.new_here) /* all it moved so far, it moved in this interval */
        live_span_from_zero(&entry->span);
    live->entries[live->count++] = entry;
    fill_slot(live, live->count - 1);
    return entry;
}

/* --- Readings --------------------------------------------------------------------------------- */

void tl_live_begin(struct tl_live *live, int64_t now_ns)
{
    live->now_ns = now_ns;
    live->reading++;
}

static void widen(struct tl_live_buffer *buffer, uint32_t bytes)
{
    if (bytes && (!buffer->low_bytes || bytes < buffer->low_bytes))
        buffer->low_bytes = bytes;
    if (bytes > buffer->high_bytes)
        buffer->high_bytes = bytes;
}

enum tl_status tl_live_take(struct tl_live *live, const struct tl_host_socket *socket)
{
    struct entry *entry = find(live, socket->cookie);

    if (!entry)
        entry = add(live, socket);
    if (!entry) {
        live->sum.whole = false;
        return live->count == TL_LIVE_FLOWS_MAX ? TL_LIMIT : TL_NOMEM;
    }
    entry->reading = live->reading;
    entry->flow.socket = *socket;
    entry->flow.last_ns = live->now_ns;
    widen(&entry->flow.rcvbuf, socket->rcvbuf_bytes);
    widen(&entry->flow.sndbuf, socket->sndbuf_bytes);
    live_span_read(&entry->span, socket);
    return TL_OK;
}

/* An aborted connection is told with counters of 0: what was read before stays. */
void tl_live_take_end(struct tl_live *live, const struct tl_host_socket *socket)
{
    struct entry *entry = find(live, socket->cookie);
    uint64_t moved = socket->acked_bytes + socket->received_bytes;

    if (!entry && moved > 0 && !live->first_reading) {
        live->sum.short_count++;
        live->sum.sent_bytes += socket->acked_bytes;
        live->sum.received_bytes += socket->received_bytes;
    } else if (entry && !entry->flow.ended) {
        struct tl_host_socket *last = &entry->flow.socket;
        if (moved >= last->acked_bytes + last->received_bytes)
            live_take_counters(last, socket);
        entry->flow.ended = true;
    }
}

void tl_live_ends_lost(struct tl_live *live)
{
    live->sum.whole = false;
}

/* What no reading meets any more has ended, whether or not that was told. */
void tl_live_end(struct tl_live *live)
{
    for (size_t i = 0; i < live->count; i++)
        if (live->entries[i]->reading != live->reading)
            live->entries[i]->flow.ended = true;
    live->first_reading = false;
}

/* --- Closing an interval --- */

/* Its last interval has been there to be seen, or there never was one. */
static bool is_over(const struct entry *entry)
{
    return entry->span.closed > (entry->flow.intervals ? TL_LIVE_KEEP_ENDED : 0);
}

static void drop_ended(struct tl_live *live)
{
    size_t kept = 0;

    for (size_t i = 0; i < live->count; i++) {
        struct entry *entry = live->entries[i];
        if (is_over(entry))
            free_entry(entry);
        else
            live->entries[kept++] = entry;
    }
    if (kept == live->count)
        return;
    live->count = kept;
    fill_slots(live);
}

/* Most connections of a server are idle: they get room for intervals with their first byte, or when
 * they should move one and do not. */
static void keep_interval(struct tl_live_flow *flow, const struct tl_live_interval *interval)
{
    if (!flow->intervals && tl_live_is_active(interval))
        flow->intervals = calloc(TL_LIVE_INTERVALS, sizeof(*flow->intervals));
    if (flow->intervals)
        flow->intervals[flow->interval_count++ % TL_LIVE_INTERVALS] = *interval;
}

static void close_entry(struct entry *entry, int64_t now_ns, struct tl_live_sum *sum)
{
    struct tl_live_flow *flow = &entry->flow;
    struct tl_live_interval interval;

    entry->span.closed += flow->ended;
    if (entry->span.closed > 1)
        return;
    sum->ended_count += flow->ended;
    live_span_close(&entry->span, &flow->socket, now_ns, &interval);
    keep_interval(flow, &interval);
    sum->sent_bytes += interval.sent_bytes;
    sum->received_bytes += interval.received_bytes;
    sum->flows_count += interval.sent_bytes + interval.received_bytes > 0;
}

void tl_live_close(struct tl_live *live, int64_t now_ns, struct tl_live_sum *ret_sum)
{
    drop_ended(live);
    live->sum.flows_count = live->sum.short_count;
    for (size_t i = 0; i < live->count; i++)
        close_entry(live->entries[i], now_ns, &live->sum);
    *ret_sum = live->sum;
    live->sum = (struct tl_live_sum){.whole = true};
    live->closed_ns = now_ns;
}

/* --- Looking --- */

size_t tl_live_count(const struct tl_live *live)
{
    return live->count;
}

const struct tl_live_flow *tl_live_at(const struct tl_live *live, size_t index)
{
    return &live->entries[index]->flow;
}

const struct tl_live_flow *tl_live_find(const struct tl_live *live, uint64_t cookie)
{
    const struct entry *entry = find(live, cookie);
    return entry ? &entry->flow : NULL;
}
