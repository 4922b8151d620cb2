/* Fair shares of a pool. Counts stand in a hash table of fixed size, open addressing with linear
 * steps; what falls to 0 is taken out by moving up what stands behind it (Knuth, volume 3, 6.4,
 * algorithm R), so that the table never fills with graves. */
#include "share.h"

#include <stdlib.h>
#include <string.h>

#include "tightlink/base/random.h"

#define SLOTS_PER_MEMBER 6 /* up to four keys each, the table never fuller than 2/3 */

struct share_slot {
    uint64_t key;   /* prefix and level, hashed; a collision of two keys makes one share of two */
    uint32_t count; /* 0: free */
};

struct share_pool {
    struct share_slot *slots;
    uint32_t mask; /* slots less one, a power of two */
    uint32_t room, count;
    bool early;
    uint64_t seed; /* nobody can aim at another's slot */
    struct tl_random random;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Bytes of the address that a level looks at, from ::ffff:0:0/96 or ::/0. */
static size_t prefix_bytes(const struct in6_addr *address, enum share_level level)
{
    static const size_t v4[SHARE_LEVELS] = {16, 15}, v6[SHARE_LEVELS] = {8, 7, 6, 4};
    return IN6_IS_ADDR_V4MAPPED(address) ? v4[level] : v6[level];
}

static enum share_level levels_of(const struct in6_addr *address)
{
    return IN6_IS_ADDR_V4MAPPED(address) ? SHARE_SITE : SHARE_LEVELS;
}

uint64_t share_of(const struct in6_addr *address, enum share_level level, uint64_t whole)
{
    const uint64_t parts[SHARE_LEVELS] = {whole / 8, whole / 4, whole / 2, whole - whole / 4};
    return level < levels_of(address) ? parts[level] : UINT64_MAX;
}

uint64_t share_key(const struct in6_addr *address, enum share_level level, uint64_t seed)
{
    uint8_t prefix[16] = {0};
    uint64_t halves[2];
    memcpy(prefix, address->s6_addr, prefix_bytes(address, level));
    memcpy(halves, prefix, sizeof halves);
    return mix(mix(mix(seed + (uint64_t)level) ^ halves[0]) ^ halves[1]);
}

static uint64_t key_of(const struct share_pool *pool, const struct in6_addr *address,
                       enum share_level level)
{
    return share_key(address, level, pool->seed);
}

static uint32_t find(const struct share_pool *pool, uint64_t key)
{
    uint32_t at = (uint32_t)key & pool->mask;
    while (pool->slots[at].count > 0 && pool->slots[at].key != key)
        at = (at + 1) & pool->mask;
    return at;
}

/* Whether count of limit is too much for one more. */
static bool is_dropped(struct share_pool *pool, uint32_t count, uint32_t limit, uint32_t start)
{
    if (count >= limit)
        return true;
    if (!pool->early || count < start)
        return false;
    return tl_random_next(&pool->random) % (limit - start) < count - start;
}

bool share_pool_admits(struct share_pool *pool, const struct in6_addr *address)
{
    if (is_dropped(pool, pool->count, pool->room, pool->room - pool->room / 4))
        return false;
    for (unsigned level = 0; level < levels_of(address); level++) {
        uint32_t slot = find(pool, key_of(pool, address, (enum share_level)level));
        uint32_t share = (uint32_t)share_of(address, (enum share_level)level, pool->room);
        uint32_t limit = share > 0 ? share : 1;
        if (is_dropped(pool, pool->slots[slot].count, limit, limit - limit / 2))
            return false;
    }
    return true;
}

void share_pool_add(struct share_pool *pool, const struct in6_addr *address)
{
    for (unsigned level = 0; level < levels_of(address); level++) {
        uint64_t key = key_of(pool, address, (enum share_level)level);
        struct share_slot *slot = &pool->slots[find(pool, key)];
        slot->key = key;
        slot->count++;
    }
    pool->count++;
}

/* Moves up what would not be found any more behind a free slot. */
static void close_gap(struct share_pool *pool, uint32_t gap)
{
    uint32_t at = gap;
    for (;;) {
        at = (at + 1) & pool->mask;
        if (pool->slots[at].count == 0)
            return;
        uint32_t home = (uint32_t)pool->slots[at].key & pool->mask;
        if (((at - home) & pool->mask) < ((at - gap) & pool->mask))
            continue; /* it begins behind the gap */
        pool->slots[gap] = pool->slots[at];
        pool->slots[at].count = 0;
        gap = at;
    }
}

void share_pool_remove(struct share_pool *pool, const struct in6_addr *address)
{
    for (unsigned level = 0; level < levels_of(address); level++) {
        uint32_t slot = find(pool, key_of(pool, address, (enum share_level)level));
        if (pool->slots[slot].count > 0 && --pool->slots[slot].count == 0)
            close_gap(pool, slot);
    }
    pool->count--;
}

uint32_t share_pool_count(const struct share_pool *pool)
{
    return pool->count;
}

uint32_t share_pool_room(const struct share_pool *pool)
{
    return pool->room;
}

static bool is_same(const struct in6_addr *a, const struct in6_addr *b, enum share_level level)
{
    return level < levels_of(a) && levels_of(a) == levels_of(b) &&
           memcmp(a, b, prefix_bytes(a, level)) == 0;
}

bool share_same_neighbours(const struct in6_addr *a, const struct in6_addr *b)
{
    return is_same(a, b, SHARE_NEIGHBOURS);
}

bool share_same_site(const struct in6_addr *a, const struct in6_addr *b)
{
    return is_same(a, b, SHARE_SITE);
}

bool share_same_provider(const struct in6_addr *a, const struct in6_addr *b)
{
    return is_same(a, b, SHARE_PROVIDER);
}

enum tl_status share_pool_create(uint32_t room, bool early, struct share_pool **ret_pool)
{
    struct share_pool *pool = calloc(1, sizeof *pool);
    uint64_t seeds[2];
    uint32_t size = 64;
    if (!pool)
        return TL_NOMEM;
    while (size < room * SLOTS_PER_MEMBER)
        size *= 2;
    enum tl_status status = tl_random_secure(seeds, sizeof seeds);
    pool->slots = calloc(size, sizeof *pool->slots);
    if (status == TL_OK && !pool->slots)
        status = TL_NOMEM;
    if (status != TL_OK) {
        share_pool_destroy(pool);
        return status;
    }
    pool->mask = size - 1;
    pool->room = room;
    pool->early = early;
    pool->seed = seeds[0];
    tl_random_seed(&pool->random, seeds[1]);
    *ret_pool = pool;
    return TL_OK;
}

void share_pool_destroy(struct share_pool *pool)
{
    if (!pool)
        return;
    free(pool->slots);
    free(pool);
}
