/* The quota of a day, and each network's share of it. */
#include "quota.h"

#include <string.h>

#include "share.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

#define DAY_NS (24 * 3600 * TL_NS_PER_S)

enum tl_status quota_init(struct quota *quota, uint64_t all_bytes)
{
    *quota = (struct quota){.all_bytes = all_bytes};
    return tl_random_secure(quota->seeds, sizeof quota->seeds);
}

static void turn_day(struct quota *quota, int64_t now_ns)
{
    if (quota->day_ns == 0)
        quota->day_ns = now_ns;
    if (now_ns - quota->day_ns < DAY_NS)
        return;
    quota->day_ns = now_ns; /* tests that run over midnight count for the new day */
    quota->moved_bytes = 0;
    memset(quota->sums, 0, sizeof quota->sums);
}

/* --- What networks moved ---------------------------------------------------------------------- */

static uint64_t *sum_of(struct quota *quota, unsigned row, const struct in6_addr *address,
                        enum share_level level)
{
    return &quota->sums[row][share_key(address, level, quota->seeds[row]) & (QUOTA_SUMS - 1)];
}

static uint64_t less_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t rest_of(uint64_t whole, uint64_t part)
{
    return part < whole ? whole - part : 0;
}

/* What the networks of an address lack of their shares, the least of them. */
static uint64_t share_left(struct quota *quota, const struct in6_addr *address)
{
    uint64_t least = UINT64_MAX;
    for (enum share_level level = SHARE_HOST; level < SHARE_LEVELS; level++) {
        uint64_t moved =
            less_of(*sum_of(quota, 0, address, level), *sum_of(quota, 1, address, level));
        least = less_of(least, rest_of(share_of(address, level, quota->all_bytes), moved));
    }
    return least;
}

void quota_spend(struct quota *quota, const struct in6_addr *address, uint64_t bytes)
{
    quota->moved_bytes += bytes;
    for (enum share_level level = SHARE_HOST; address && level < SHARE_LEVELS; level++)
        for (unsigned row = 0; row < QUOTA_ROWS; row++)
            *sum_of(quota, row, address, level) += bytes;
}

/* --- What is left ----------------------------------------------------------------------------- */

/* Where so many bytes of the day count as used. */
static uint64_t left_beside(struct quota *quota, const struct in6_addr *address, uint64_t used)
{
    uint64_t left = rest_of(quota->all_bytes, used);
    if (!address)
        return left;
    uint64_t for_all = rest_of(quota->all_bytes / 2, used);
    uint64_t own = less_of(share_left(quota, address), left);
    return for_all > own ? for_all : own;
}

uint64_t quota_left(struct quota *quota, int64_t now_ns, const struct in6_addr *address)
{
    if (quota->all_bytes == 0)
        return UINT64_MAX;
    turn_day(quota, now_ns);
    return left_beside(quota, address, quota->moved_bytes + quota->reserved_bytes);
}

bool quota_permits(struct quota *quota, int64_t now_ns, const struct in6_addr *address,
                   uint64_t bytes)
{
    turn_day(quota, now_ns);
    return quota->all_bytes == 0 || bytes <= left_beside(quota, address, quota->moved_bytes);
}

bool quota_is_spent(struct quota *quota, int64_t now_ns, const struct in6_addr *address)
{
    return !quota_permits(quota, now_ns, address, 1);
}

uint64_t quota_reserve(struct quota *quota, uint64_t bytes)
{
    if (quota->all_bytes == 0)
        return 0;
    quota->reserved_bytes += bytes;
    return bytes;
}

void quota_settle(struct quota *quota, const struct in6_addr *address, uint64_t reserved_bytes,
                  uint64_t moved_bytes)
{
    quota->reserved_bytes -= reserved_bytes;
    quota_spend(quota, address, moved_bytes);
}
