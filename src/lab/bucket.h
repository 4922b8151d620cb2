/* A token bucket. Tokens are bytes; they may be owed (negative) by a shaper, never
 * by a policer. */
#ifndef TL_LAB_BUCKET_H
#define TL_LAB_BUCKET_H

#include <stdint.h>

struct tl_lab_bucket {
    double bytes_per_ns; /* 0: no bucket */
    double burst_bytes;
    double tokens_bytes;
    int64_t filled_ns;
};

static inline void tl_lab_bucket_init(struct tl_lab_bucket *bucket, double bps, int64_t burst_bytes)
{
    bucket->bytes_per_ns = bps / 8e9;
    bucket->burst_bytes = (double)burst_bytes;
    bucket->tokens_bytes = bucket->burst_bytes;
    bucket->filled_ns = 0;
}

static inline void tl_lab_bucket_fill(struct tl_lab_bucket *bucket, int64_t now_ns)
{
    bucket->tokens_bytes += (double)(now_ns - bucket->filled_ns) * bucket->bytes_per_ns;
    bucket->filled_ns = now_ns;
    if (bucket->tokens_bytes > bucket->burst_bytes)
        bucket->tokens_bytes = bucket->burst_bytes;
}

#endif
