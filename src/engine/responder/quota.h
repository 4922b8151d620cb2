/* The bytes of a day that the administrator allows: what tests have moved, and what those that
 * run have reserved. Counted in memory, from the start of the program. Pure: the caller brings
 * the clock. */
#ifndef TL_ENGINE_QUOTA_H
#define TL_ENGINE_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialised but for all_bytes: a fresh day. */
struct quota {
    uint64_t all_bytes; /* 0: no quota */
    int64_t day_ns;     /* when the day began, 0: not yet */
    uint64_t moved_bytes, reserved_bytes;
};

/* UINT64_MAX without a quota. now_ns: a clock that goes on during suspend. */
uint64_t quota_left(struct quota *quota, int64_t now_ns);
/* Whether the day's bytes are moved, so that only tomorrow helps; reservations come back. */
bool quota_is_spent(struct quota *quota, int64_t now_ns);
/* Whether so many bytes may still move beside what is reserved: what goes out beside a test is
 * little, and the test's reservation is what it may use, not what it has used. */
bool quota_permits(struct quota *quota, int64_t now_ns, uint64_t bytes);
/* Bytes that moved without a reservation. */
void quota_spend(struct quota *quota, uint64_t bytes);
/* For a test that begins; without a quota 0. */
uint64_t quota_reserve(struct quota *quota, uint64_t bytes);
/* The reservation becomes what was really moved. */
void quota_settle(struct quota *quota, uint64_t reserved_bytes, uint64_t moved_bytes);

#endif
