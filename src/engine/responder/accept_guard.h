/* How many connections a neighbourhood may open a second: one token bucket per IPv4 /24 or
 * IPv6 /56, in a table of fixed size. Pure: the caller brings the clock. Private to the
 * responder. */
#ifndef TL_ENGINE_ACCEPT_GUARD_H
#define TL_ENGINE_ACCEPT_GUARD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"

struct guard_bucket {
    uint64_t prefix; /* first 56 bits of IPv6; 24 bits of IPv4 behind a mark; 0 = free */
    int64_t full_ns; /* when the bucket will be full again: GCRA's theoretical arrival time */
};

struct accept_guard {
    struct guard_bucket *buckets; /* size: a power of two; owned */
    uint32_t size;
    uint64_t seed;    /* nobody can aim at a bucket */
    int64_t step_ns;  /* one token comes back in */
    int64_t burst_ns; /* all of them in */
    uint64_t refused; /* so far */
};

/* rate and burst in connections (limits.h: ACCEPT_RATE, ACCEPT_BURST). */
enum tl_status accept_guard_init(struct accept_guard *guard, uint32_t size, int64_t rate,
                                 int64_t burst) TL_WARN_UNUSED;
void accept_guard_finish(struct accept_guard *guard);

/* Takes a token for the address (IPv4 as ::ffff:a.b.c.d); false when there is none. */
bool accept_guard_allows(struct accept_guard *guard, const struct in6_addr *address,
                         int64_t now_ns);

#endif
