/* The quota of a day. */
#include "quota.h"

#include "tightlink/base/time.h"

#define DAY_NS (24 * 3600 * TL_NS_PER_S)

uint64_t quota_left(struct quota *quota, int64_t now_ns)
{
    if (quota->all_bytes == 0)
        return UINT64_MAX;
    if (quota->day_ns == 0)
        quota->day_ns = now_ns;
    if (now_ns - quota->day_ns >= DAY_NS) { /* tests that run over midnight count for the new day */
        quota->day_ns = now_ns;
        quota->moved_bytes = 0;
    }
    uint64_t used = quota->moved_bytes + quota->reserved_bytes;
    return used < quota->all_bytes ? quota->all_bytes - used : 0;
}

bool quota_is_spent(struct quota *quota, int64_t now_ns)
{
    return quota_left(quota, now_ns) == 0 && quota->moved_bytes >= quota->all_bytes;
}

bool quota_permits(struct quota *quota, int64_t now_ns, uint64_t bytes)
{
    (void)quota_left(quota, now_ns); /* turns the day */
    return quota->all_bytes == 0 || quota->moved_bytes + bytes <= quota->all_bytes;
}

void quota_spend(struct quota *quota, uint64_t bytes)
{
    quota->moved_bytes += bytes;
}

uint64_t quota_reserve(struct quota *quota, uint64_t bytes)
{
    if (quota->all_bytes == 0)
        return 0;
    quota->reserved_bytes += bytes;
    return bytes;
}

void quota_settle(struct quota *quota, uint64_t reserved_bytes, uint64_t moved_bytes)
{
    quota->reserved_bytes -= reserved_bytes;
    quota->moved_bytes += moved_bytes;
}
