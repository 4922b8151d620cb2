/* The accept limit. GCRA (ITU-T I.371 annex A) needs one time per bucket, and a bucket
 * that is full again may be forgotten: that makes eviction free of harm, as only a bucket
 * in use has something to remember. */
#include "accept_guard.h"

#include <stdlib.h>

#include "gcra.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

#define WAYS 8 /* places where a prefix may lie */

enum tl_status accept_guard_init(struct accept_guard *guard, uint32_t size, int64_t rate,
                                 int64_t burst)
{
    struct accept_guard new = {
        .size = size, .step_ns = TL_NS_PER_S / rate, .burst_ns = TL_NS_PER_S / rate * burst};
    enum tl_status status = tl_random_secure(&new.seed, sizeof new.seed);
    if (status != TL_OK)
        return status;
    new.buckets = calloc(size, sizeof *new.buckets);
    if (!new.buckets)
        return TL_NOMEM;
    *guard = new;
    return TL_OK;
}

void accept_guard_finish(struct accept_guard *guard)
{
    free(guard->buckets);
    guard->buckets = NULL;
}

static uint64_t prefix_of(const struct in6_addr *address)
{
    const uint8_t *a = address->s6_addr;
    uint64_t prefix = 0;
    if (IN6_IS_ADDR_V4MAPPED(address))
        return UINT64_C(0xff) << 56 | (uint64_t)a[12] << 16 | (uint64_t)a[13] << 8 | a[14];
    for (int i = 0; i < 7; i++)
        prefix = prefix << 8 | a[i];
    return prefix | UINT64_C(0x80) << 56;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The prefix's bucket, or the one among its places that is full soonest. */
static struct guard_bucket *find(struct accept_guard *guard, uint64_t prefix)
{
    uint64_t hash = mix(prefix ^ guard->seed);
    struct guard_bucket *best = NULL;
    for (uint32_t i = 0; i < WAYS; i++) {
        struct guard_bucket *bucket = &guard->buckets[(hash + i) & (guard->size - 1)];
        if (bucket->prefix == prefix)
            return bucket;
        if (!best || bucket->full_ns < best->full_ns)
            best = bucket;
    }
    *best = (struct guard_bucket){.prefix = prefix};
    return best;
}

bool accept_guard_allows(struct accept_guard *guard, const struct in6_addr *address, int64_t now_ns)
{
    struct guard_bucket *bucket = find(guard, prefix_of(address));
    bool allowed = gcra_take(&bucket->full_ns, now_ns, guard->step_ns, guard->burst_ns);
    guard->refused += !allowed;
    return allowed;
}
