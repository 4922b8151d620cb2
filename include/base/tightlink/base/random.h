/* Randomness: payload that does not compress, tokens nobody guesses, run ids,
 * and a seeded generator for emulation that can be repeated. */
#ifndef TL_BASE_RANDOM_H
#define TL_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

/* From the kernel (getrandom); for tokens and seeds. */
enum tl_status tl_random_secure(void *ret_bytes, size_t len) TL_WARN_UNUSED;

/* xoshiro256** (Blackman, Vigna 2018): fast, not for secrets. Plain data, one per thread. */
struct tl_random {
    uint64_t s[4];
};

void tl_random_seed(struct tl_random *rng, uint64_t seed);
uint64_t tl_random_next(struct tl_random *rng);
/* Uniform in [0, 1). */
double tl_random_unit(struct tl_random *rng);
/* Fills a payload buffer. */
void tl_random_fill(struct tl_random *rng, void *ret_bytes, size_t len);

/* A ULID of now: 26 characters of Crockford's base 32, sortable by time, and a NUL. */
#define TL_ULID_SIZE 27
enum tl_status tl_ulid_make(char ret_text[TL_ULID_SIZE]) TL_WARN_UNUSED;

#endif
