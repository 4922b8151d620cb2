/* The bytes of a day that the administrator allows: what tests have moved, and what those that
 * run have reserved. Counted in memory, from the start of the program. Pure: the caller brings
 * the clock.
 *
 * The first half of a day is for whoever comes. Of the rest a network gets what it lacks of its
 * share of the whole day (share.h: a host an eighth, a neighbourhood a quarter, a site a half, a
 * provider three quarters), so that nobody uses up the day of the others. What a network has moved
 * is kept in two rows of sums under its hashed prefix (Cormode, Muthukrishnan 2005), of which the
 * lesser counts: room for any number of networks, and only who shares both sums with a large one is
 * taken for larger than he is. */
#ifndef TL_ENGINE_QUOTA_H
#define TL_ENGINE_QUOTA_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"

#define QUOTA_ROWS 2
#define QUOTA_SUMS 1024u /* a power of two; in all 16 KiB */

/* quota_init() or zero: a fresh day without a quota. */
struct quota {
    uint64_t all_bytes; /* 0: no quota */
    int64_t day_ns;     /* when the day began, 0: not yet */
    uint64_t moved_bytes, reserved_bytes;
    uint64_t seeds[QUOTA_ROWS]; /* nobody can aim at another's sums */
    uint64_t sums[QUOTA_ROWS][QUOTA_SUMS];
};

/* TL_IO: no random numbers. */
enum tl_status quota_init(struct quota *quota, uint64_t all_bytes) TL_WARN_UNUSED;

/* Addresses are IPv6 throughout, IPv4 as ::ffff:a.b.c.d; NULL: of somebody whom shares do not
 * concern, as the holder of a key. now_ns: a clock that goes on during suspend. */

/* What that address may still move; UINT64_MAX without a quota. */
uint64_t quota_left(struct quota *quota, int64_t now_ns, const struct in6_addr *address);
/* Whether that is nothing even when all reservations come back, so that only tomorrow helps. */
bool quota_is_spent(struct quota *quota, int64_t now_ns, const struct in6_addr *address);
/* Whether so many bytes may still move beside what is reserved: what goes out beside a test is
 * little, and the test's reservation is what it may use, not what it has used. */
bool quota_permits(struct quota *quota, int64_t now_ns, const struct in6_addr *address,
                   uint64_t bytes);
/* Bytes that moved without a reservation. */
void quota_spend(struct quota *quota, const struct in6_addr *address, uint64_t bytes);
/* For a test that begins; without a quota 0. */
uint64_t quota_reserve(struct quota *quota, uint64_t bytes);
/* The reservation becomes what was really moved. */
void quota_settle(struct quota *quota, const struct in6_addr *address, uint64_t reserved_bytes,
                  uint64_t moved_bytes);

#endif
