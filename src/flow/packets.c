/* The table of connections: which there are, and which of them are followed. */
#include "tightlink/flow/packets.h"

#include <stdlib.h>
#include <string.h>

#include "connection.h"

#define CHUNK      1024u
#define NONE       UINT32_MAX
#define CANDIDATES 8 /* looked at when one has to make room */
/* Payload from which a connection that had to make room is worth following again. */
#define WORTH_BYTES 65536u

/* A connection in brief. The ends are in the order of the key; client says which one is which. */
struct entry {
    struct tl_flow_address addresses[2];
    uint16_t ports[2];
    uint8_t client; /* index into the above */
    bool client_known;
    bool given_up;    /* made too much work: not followed again */
    uint32_t tracked; /* NONE: not followed */
    int64_t first_ns, last_ns;
    uint64_t payload_bytes[2], wire_bytes;
    uint64_t packets_count[2];
};

struct slot {
    uint32_t tag, entry; /* entry NONE: free */
};

struct tl_packets {
    struct entry **chunks;
    uint32_t chunk_count, entry_count;
    struct slot *slots;
    uint32_t slot_mask, slot_used;
    struct connection **tracked;
    uint32_t tracked_count;
    uint64_t held_bytes; /* by those that are followed */
    int64_t steps_left;  /* for all that are */
    uint64_t random, left_out;
    uint32_t *order; /* after finish */
};

struct tl_packets *tl_packets_create(void)
{
    struct tl_packets *packets = calloc(1, sizeof *packets);
    if (!packets)
        return NULL;
    packets->slot_mask = 255;
    packets->random = 0x9e3779b97f4a7c15u;
    packets->steps_left = TL_PACKETS_STEPS_FIRST;
    packets->slots = malloc((packets->slot_mask + 1) * sizeof *packets->slots);
    if (!packets->slots) {
        tl_packets_destroy(packets);
        return NULL;
    }
    memset(packets->slots, 0xff, (packets->slot_mask + 1) * sizeof *packets->slots);
    return packets;
}

void tl_packets_destroy(struct tl_packets *packets)
{
    if (!packets)
        return;
    for (uint32_t i = 0; i < packets->tracked_count; i++) {
        connection_finish(packets->tracked[i]);
        free(packets->tracked[i]);
    }
    for (uint32_t i = 0; i < packets->chunk_count; i++)
        free(packets->chunks[i]);
    free(packets->chunks);
    free(packets->slots);
    free(packets->tracked);
    free(packets->order);
    free(packets);
}

/* A list of pointers that doubles: a length that is a power of two is full. */
static bool grow_list(void *list, uint32_t count)
{
    void **old;
    memcpy(&old, list, sizeof old);
    if ((count & (count - 1)) != 0)
        return true;
    void **grown = realloc(old, (count ? 2 * (size_t)count : 1) * sizeof *grown);
    if (!grown)
        return false;
    memcpy(list, &grown, sizeof grown);
    return true; /* cppcheck-suppress memleak ; *list has it */
}

static struct entry *entry_at(const struct tl_packets *packets, uint32_t index)
{
    return &packets->chunks[index / CHUNK][index % CHUNK];
}

static uint64_t mix(uint64_t value) /* Stafford's mix 13 */
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

static uint64_t mix_end(const struct tl_flow_address *address, uint16_t port)
{
    uint64_t words[2];
    memcpy(words, address, sizeof words);
    uint64_t value = (words[1] ^ port) * 0xbf58476d1ce4e5b9u; /* the last word of IPv4 ends in 0 */
    return (value ^ value >> 32 ^ words[0]) * 0x94d049bb133111ebu;
}

uint32_t tl_packets_hash(const struct tl_segment *segment)
{
    uint64_t from = mix_end(&segment->from, segment->from_port),
             to = mix_end(&segment->to, segment->to_port);
    return (uint32_t)(((from ^ from >> 29) + (to ^ to >> 29)) * 0x9e3779b97f4a7c15u >> 32);
}

/* Whether the sender is the first end of a new entry: by the numbers, not by who was seen first. */
static bool is_first(const struct tl_segment *segment)
{
    uint64_t from[2], to[2];
    memcpy(from, &segment->from, sizeof from);
    memcpy(to, &segment->to, sizeof to);
    return from[1] != to[1]   ? from[1] < to[1]
           : from[0] != to[0] ? from[0] < to[0]
                              : segment->from_port <= segment->to_port;
}

static bool is_end(const struct entry *entry, int end, const struct tl_flow_address *address,
                   uint16_t port)
{
    uint64_t own[2], other[2];
    memcpy(own, &entry->addresses[end], sizeof own);
    memcpy(other, address, sizeof other);
    return ((own[0] ^ other[0]) | (own[1] ^ other[1])) == 0 && entry->ports[end] == port;
}

static bool is_from(const struct entry *entry, int end, const struct tl_segment *segment)
{
    return is_end(entry, end, &segment->from, segment->from_port) &&
           is_end(entry, 1 - end, &segment->to, segment->to_port);
}

/* That of the segment's connection, or a free one. *ret_from is the index of the sender. */
static struct slot *find_slot(const struct tl_packets *packets, uint32_t tag,
                              const struct tl_segment *segment, int *ret_from)
{
    for (uint32_t at = tag & packets->slot_mask;; at = (at + 1) & packets->slot_mask) {
        struct slot *slot = &packets->slots[at];
        if (slot->entry != NONE && slot->tag != tag)
            continue;
        if (slot->entry == NONE)
            *ret_from = is_first(segment) ? 0 : 1;
        else if (is_from(entry_at(packets, slot->entry), 0, segment))
            *ret_from = 0;
        else if (is_from(entry_at(packets, slot->entry), 1, segment))
            *ret_from = 1;
        else
            continue;
        return slot;
    }
}

static bool grow_slots(struct tl_packets *packets)
{
    uint32_t mask = 2 * packets->slot_mask + 1;
    struct slot *slots = malloc(((size_t)mask + 1) * sizeof *slots);
    if (!slots)
        return false;
    memset(slots, 0xff, ((size_t)mask + 1) * sizeof *slots);
    for (uint32_t i = 0; i <= packets->slot_mask; i++) {
        const struct slot *old = &packets->slots[i];
        uint32_t at = old->tag & mask;
        while (old->entry != NONE && slots[at].entry != NONE)
            at = (at + 1) & mask;
        if (old->entry != NONE)
            slots[at] = *old;
    }
    free(packets->slots);
    packets->slots = slots;
    packets->slot_mask = mask;
    return true;
}

/* --- Following ------------------------------------------------------------------------------ */

/* Of some, the one with the least payload. */
static uint32_t choose_victim(struct tl_packets *packets)
{
    uint32_t best = NONE;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < CANDIDATES; i++) {
        packets->random = mix(packets->random + 1);
        uint32_t index = (uint32_t)(packets->random % packets->tracked_count);
        const struct entry *entry = entry_at(packets, packets->tracked[index]->entry);
        uint64_t bytes = entry->payload_bytes[0] + entry->payload_bytes[1];
        if (bytes < least) {
            least = bytes;
            best = index;
        }
    }
    return best;
}

static void let_go(struct tl_packets *packets, uint32_t place)
{
    struct connection *connection = packets->tracked[place];
    entry_at(packets, connection->entry)->tracked = NONE;
    packets->held_bytes -= connection->held_bytes;
    connection_finish(connection);
}

/* Out of the list, whose last one takes the place. */
static void stop_tracking(struct tl_packets *packets, uint32_t place)
{
    let_go(packets, place);
    free(packets->tracked[place]);
    struct connection *last = packets->tracked[--packets->tracked_count];
    if (place == packets->tracked_count)
        return;
    packets->tracked[place] = last;
    entry_at(packets, last->entry)->tracked = place;
}

/* The one whose packets have made the most work so far. */
static uint32_t find_costliest(const struct tl_packets *packets)
{
    uint32_t worst = 0;
    for (uint32_t i = 1; i < packets->tracked_count; i++)
        if (packets->tracked[i]->steps_count > packets->tracked[worst]->steps_count)
            worst = i;
    return worst;
}

/* After a packet of a connection: what that made it hold and cost. */
static void settle_costs(struct tl_packets *packets, uint32_t index)
{
    struct connection *connection = packets->tracked[entry_at(packets, index)->tracked];
    uint64_t held = connection_held_bytes(connection), steps = connection_steps(connection);
    packets->held_bytes += held - connection->held_bytes;
    packets->steps_left -= (int64_t)(steps - connection->steps_count);
    connection->held_bytes = held;
    connection->steps_count = steps;
    if (packets->steps_left < 0) {
        uint32_t worst = find_costliest(packets);
        entry_at(packets, packets->tracked[worst]->entry)->given_up = true;
        stop_tracking(packets, worst);
    }
    while (packets->held_bytes > TL_PACKETS_DETAIL_BYTES_MAX)
        stop_tracking(packets, choose_victim(packets));
}

/* Begins to follow: in new memory, or in that of one that moved less than bytes. */
static struct connection *begin_tracking(struct tl_packets *packets, uint32_t index, uint64_t bytes)
{
    uint32_t place = packets->tracked_count;
    bool has_room = packets->held_bytes + sizeof(struct connection) <= TL_PACKETS_DETAIL_BYTES_MAX;
    if (place == 0 || (place < TL_PACKETS_TRACKED_MAX && has_room)) {
        if (!grow_list(&packets->tracked, place))
            return NULL;
        packets->tracked[place] = malloc(sizeof *packets->tracked[place]);
        if (!packets->tracked[place])
            return NULL;
        packets->tracked_count++;
    } else {
        place = choose_victim(packets);
        struct entry *victim = entry_at(packets, packets->tracked[place]->entry);
        if (bytes && victim->payload_bytes[0] + victim->payload_bytes[1] >= bytes / 2)
            return NULL;
        let_go(packets, place);
    }
    entry_at(packets, index)->tracked = place;
    return packets->tracked[place];
}

static int client_of(const struct entry *entry, int key_end)
{
    return key_end == entry->client ? TL_CLIENT : TL_SERVER;
}

static void track(struct tl_packets *packets, uint32_t index, const struct tl_segment *segment,
                  int from)
{
    struct entry *entry = entry_at(packets, index);
    uint64_t bytes = entry->payload_bytes[0] + entry->payload_bytes[1];
    bool again = entry->packets_count[0] + entry->packets_count[1] > 1;
    if (entry->given_up || (again && bytes < WORTH_BYTES))
        return;
    struct connection *connection = begin_tracking(packets, index, again ? bytes : 0);
    if (!connection)
        return;
    connection_init(connection, segment, client_of(entry, from));
    connection->entry = index;
}

/* --- Adding --------------------------------------------------------------------------------- */

/* Who opened it: the sender of a SYN, the receiver of its answer; else, for a guess, the end with
 * the higher port is the client. */
static void guess_client(struct entry *entry, const struct tl_segment *segment, int from)
{
    bool syn = segment->flags & TL_TCP_SYN, ack = segment->flags & TL_TCP_ACK;
    entry->client_known = syn;
    if (syn)
        entry->client = (uint8_t)(ack ? 1 - from : from);
    else
        entry->client = entry->ports[0] >= entry->ports[1] ? 0 : 1;
}

static uint32_t new_entry(struct tl_packets *packets, const struct tl_segment *segment, int from)
{
    uint32_t index = packets->entry_count;
    if (index == TL_PACKETS_FLOWS_MAX)
        return NONE;
    if (index % CHUNK == 0 && index / CHUNK == packets->chunk_count) {
        if (!grow_list(&packets->chunks, packets->chunk_count))
            return NONE;
        packets->chunks[packets->chunk_count] = malloc(CHUNK * sizeof(struct entry));
        if (!packets->chunks[packets->chunk_count])
            return NONE;
        packets->chunk_count++;
    }
    struct entry *entry = entry_at(packets, index);
    *entry = (struct entry){.tracked = NONE, .first_ns = segment->time_ns};
    entry->addresses[from] = segment->from;
    entry->addresses[1 - from] = segment->to;
    entry->ports[from] = segment->from_port;
    entry->ports[1 - from] = segment->to_port;
    guess_client(entry, segment, from);
    packets->entry_count++;
    return index;
}

/* The same ports again: a SYN with another number behind data is another connection. */
static bool begins_anew(const struct tl_packets *packets, const struct entry *entry,
                        const struct tl_segment *segment, int from)
{
    if ((segment->flags & (TL_TCP_SYN | TL_TCP_ACK)) != TL_TCP_SYN || entry->tracked == NONE)
        return false;
    const struct connection *connection = packets->tracked[entry->tracked];
    const struct half *half = &connection->halves[client_of(entry, from)];
    bool old = connection->flow.fin_seen || connection->flow.rst_seen ||
               entry->payload_bytes[0] + entry->payload_bytes[1] > 0;
    return old && half->started && (uint32_t)half->first != segment->seq + 1;
}

enum tl_status tl_packets_add(struct tl_packets *packets, const struct tl_segment *segment,
                              uint32_t tag)
{
    int from;
    struct slot *slot = find_slot(packets, tag, segment, &from);
    bool fresh = slot->entry == NONE;
    if (!fresh && begins_anew(packets, entry_at(packets, slot->entry), segment, from))
        fresh = true;
    if (fresh) {
        uint32_t index = new_entry(packets, segment, from);
        if (index == NONE) {
            packets->left_out++;
            return packets->entry_count == TL_PACKETS_FLOWS_MAX ? TL_OK : TL_NOMEM;
        }
        packets->slot_used += slot->entry == NONE;
        *slot = (struct slot){tag, index};
    }
    uint32_t index = slot->entry;
    struct entry *entry = entry_at(packets, index);
    entry->last_ns = segment->time_ns;
    entry->payload_bytes[from] += segment->payload_bytes;
    entry->packets_count[from]++;
    entry->wire_bytes += segment->packet_bytes;
    if (entry->tracked == NONE)
        track(packets, index, segment, from);
    packets->steps_left += TL_PACKETS_STEPS_EACH;
    if (entry->tracked != NONE) {
        connection_add(packets->tracked[entry->tracked], segment, client_of(entry, from));
        settle_costs(packets, index);
    }
    if (fresh && packets->slot_used > packets->slot_mask / 4 * 3 && !grow_slots(packets))
        return TL_NOMEM;
    return TL_OK;
}

void tl_packets_add_too_big(struct tl_packets *packets, const struct tl_segment *quoted,
                            const struct tl_too_big *too_big)
{
    int from;
    struct slot *slot = find_slot(packets, tl_packets_hash(quoted), quoted, &from);
    if (slot->entry == NONE || entry_at(packets, slot->entry)->tracked == NONE)
        return;
    struct tl_packet_flow *flow = &packets->tracked[entry_at(packets, slot->entry)->tracked]->flow;
    flow->too_big_count++;
    flow->router_mtu_bytes = too_big->mtu_bytes;
}

/* --- Reading -------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right, void *context)
{
    const struct entry *a = entry_at(context, *(const uint32_t *)left),
                       *b = entry_at(context, *(const uint32_t *)right);
    uint64_t bytes_a = a->payload_bytes[0] + a->payload_bytes[1],
             bytes_b = b->payload_bytes[0] + b->payload_bytes[1];
    if (bytes_a != bytes_b)
        return bytes_a > bytes_b ? -1 : 1;
    return *(const uint32_t *)left < *(const uint32_t *)right ? -1 : 1;
}

void tl_packets_finish(struct tl_packets *packets)
{
    for (uint32_t i = 0; i < packets->tracked_count; i++)
        connection_end(packets->tracked[i]);
    packets->order = malloc(((size_t)packets->entry_count + 1) * sizeof *packets->order);
    if (!packets->order)
        return;
    for (uint32_t i = 0; i < packets->entry_count; i++)
        packets->order[i] = i;
    qsort_r(packets->order, packets->entry_count, sizeof *packets->order, compare, packets);
}

size_t tl_packets_count(const struct tl_packets *packets)
{
    return packets->entry_count;
}

uint64_t tl_packets_left_out(const struct tl_packets *packets)
{
    return packets->left_out;
}

bool tl_packets_at(const struct tl_packets *packets, size_t index,
                   struct tl_packet_brief *ret_brief)
{
    if (index >= packets->entry_count)
        return false;
    const struct entry *entry =
        entry_at(packets, packets->order ? packets->order[index] : (uint32_t)index);
    int client = entry->client, server = 1 - client;
    *ret_brief = (struct tl_packet_brief){
        .addresses = {entry->addresses[client], entry->addresses[server]},
        .ports = {entry->ports[client], entry->ports[server]},
        .first_ns = entry->first_ns,
        .last_ns = entry->last_ns,
        .payload_bytes = {entry->payload_bytes[client], entry->payload_bytes[server]},
        .packets_count = {entry->packets_count[client], entry->packets_count[server]},
        .wire_bytes = entry->wire_bytes,
        .client_known = entry->client_known,
        .flow = entry->tracked == NONE ? NULL : &packets->tracked[entry->tracked]->flow,
    };
    return true;
}
